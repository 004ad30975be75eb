//! What a transaction does when nothing is in its way, and what it keeps.

use std::{fs, os::unix::fs::PermissionsExt};

use ccd_files::{Atomic, Change, Durability, Expect, Note, Reason, TransactionError, WriteMode};

use crate::world::{World, moved, remove, version, write};

fn five(world: &World) -> Vec<Change> {
    world.put("a", "a old\n");
    world.put("d/b", "b old\n");
    world.put("gone", "gone\n");
    world.put("from", "from\n");
    let mut changes = vec![
        write("a", "a new\n", version("a old\n")),
        write("d/b", "b new\n", version("b old\n")),
        write("new/deep/c", "c\n", Expect::Absent),
        remove("gone", version("gone\n")),
    ];
    changes.extend(moved("from", "to", "to\n", "from\n"));
    changes
}

#[test]
fn all_kinds_of_changes_happen_at_once() {
    for durability in [Durability::Power, Durability::Process] {
        let mut world = World::new();
        world.options.durability = durability;
        let changes = five(&world);
        fs::set_permissions(world.path("from"), fs::Permissions::from_mode(0o755)).unwrap();
        let committed = world.commit(changes).unwrap();
        assert_eq!((committed.atomic, committed.no_change, committed.undoable), (Atomic::Exchange, false, true));
        assert_eq!(committed.notes, []);
        assert_eq!(committed.made_dirs, [world.path("new"), world.path("new/deep")]);
        let names: Vec<_> = world.tree().into_keys().map(|path| path.to_str().unwrap().to_owned()).collect();
        assert_eq!(names, ["a", "d", "d/b", "new", "new/deep", "new/deep/c", "to"]);
        assert_eq!((world.text("a"), world.text("d/b"), world.text("to")), ("a new\n".into(), "b new\n".into(), "to\n".into()));
        assert_eq!(world.tree()[std::path::Path::new("to")].1, 0o755);
        world.no_litter();
    }
}

#[test]
fn in_place_keeps_the_inode() {
    use std::os::unix::fs::MetadataExt;
    let mut world = World::new();
    world.options.write_mode = WriteMode::InPlace;
    for (before, after) in [("long old text\n", "new\n"), ("s\n", "a longer new text\n")] {
        world.put("a", before);
        let inode = fs::metadata(world.path("a")).unwrap().ino();
        let committed = world.commit(vec![write("a", after, version(before))]).unwrap();
        assert_eq!(committed.atomic, Atomic::JournaledInPlace);
        assert_eq!((world.text("a").as_str(), fs::metadata(world.path("a")).unwrap().ino()), (after, inode));
        world.no_litter();
    }
}

#[test]
fn what_changed_is_told_for_all_files_and_nothing_is_written() {
    let world = World::new();
    let mut changes = five(&world);
    world.put("a", "other\n");
    fs::remove_file(world.path("gone")).unwrap();
    changes.push(write("from2", "x", Expect::Absent));
    world.put("from2", "there\n");
    let TransactionError::ContentChanged { paths } = world.refused(changes) else { panic!("another error") };
    let told: Vec<_> = paths.iter().map(|path| (path.path.file_name().unwrap().to_str().unwrap(), path.reason)).collect();
    assert_eq!(told, [("a", Reason::Changed), ("gone", Reason::Removed), ("from2", Reason::Created)]);
}

#[test]
fn no_change_writes_nothing() {
    let world = World::new();
    world.put("a", "a\n");
    let before = fs::metadata(world.path("a")).unwrap().modified().unwrap();
    let committed = world.commit(vec![write("a", "a\n", Expect::Any)]).unwrap();
    assert!(committed.no_change && !committed.files[0].written);
    assert_eq!(fs::metadata(world.path("a")).unwrap().modified().unwrap(), before);
}

#[test]
fn a_folder_takes_the_place_of_a_file() {
    let world = World::new();
    world.put("a", "file\n");
    world.commit(vec![remove("a", version("file\n")), write("a/b", "b\n", Expect::Absent)]).unwrap();
    assert_eq!(world.text("a/b"), "b\n");
    world.no_litter();
    // And when it fails, the file is back.
    world.put("c", "file\n");
    world.put("x", "x\n");
    let changes = vec![remove("c", version("file\n")), write("c/b", "b\n", Expect::Absent), write("x/y", "", Expect::Absent)];
    assert!(matches!(world.refused(changes), TransactionError::NotDirectory { .. }));
}

#[test]
fn an_undo_restores_bytes_modes_links_and_absence() {
    let world = World::new();
    let changes = five(&world);
    fs::set_permissions(world.path("gone"), fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("d/b", world.path("link")).unwrap();
    let before = world.tree();
    let mut changes = changes;
    changes.push(remove("link", Expect::Any));
    world.commit_as("first", changes).unwrap();
    let entry = world.state.undo("first").unwrap().unwrap();
    world.commit_as("second", entry.changes).unwrap();
    let mut after = world.tree();
    // Folders stay.
    after.retain(|path, _| !path.starts_with("new"));
    assert_eq!(after, before);
    // An undo can be undone.
    let entry = world.state.undo("second").unwrap().unwrap();
    world.commit(entry.changes).unwrap();
    assert_eq!(world.text("a"), "a new\n");
    // And is refused where somebody else wrote.
    world.put("a", "theirs\n");
    let entry = world.state.undo("first").unwrap().unwrap();
    assert!(matches!(world.commit(entry.changes).unwrap_err(), TransactionError::ContentChanged { .. }));
    world.no_litter();
}

#[test]
fn hard_links_are_broken_and_told() {
    let mut world = World::new();
    world.put("a", "old\n");
    fs::hard_link(world.path("a"), world.path("b")).unwrap();
    let committed = world.commit(vec![write("a", "new\n", version("old\n"))]).unwrap();
    assert_eq!(committed.notes, [Note::HardlinkBroken { path: world.path("a"), count: 2 }]);
    assert_eq!((world.text("a"), world.text("b")), ("new\n".into(), "old\n".into()));
    // The kept bytes are not the other name's file: a write there does not change them.
    fs::write(world.path("b"), "else\n").unwrap();
    let entry = world.state.undo("t1").unwrap().unwrap();
    world.commit(entry.changes).unwrap();
    assert_eq!(world.text("a"), "old\n");
    fs::hard_link(world.path("a"), world.path("c")).unwrap();
    world.options.hard_links = ccd_files::HardLinks::Refuse;
    assert!(matches!(world.refused(vec![write("a", "x", Expect::Any)]), TransactionError::HardLinked { count: 2, .. }));
    world.no_litter();
}

#[test]
fn a_move_onto_a_file_replaces_it_also_where_files_are_written_in_place() {
    let mut world = World::new();
    world.options.write_mode = WriteMode::InPlace;
    world.put("from", "from\n");
    world.put("to", "to\n");
    fs::set_permissions(world.path("from"), fs::Permissions::from_mode(0o751)).unwrap();
    let committed = world.commit(moved("from", "to", "moved\n", "from\n").to_vec()).unwrap();
    assert_eq!(committed.atomic, Atomic::Exchange);
    let tree = world.tree();
    assert_eq!(tree.len(), 1);
    assert_eq!(tree[std::path::Path::new("to")], ("moved\n".to_owned(), 0o751));
    world.no_litter();
}
