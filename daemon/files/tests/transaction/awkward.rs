//! Targets that are no plain file of ours: links, special files, rights, mounts.

use std::{
    fs,
    os::unix::{
        fs::{MetadataExt, PermissionsExt, symlink},
        net::UnixListener,
    },
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ccd_files::{Change, Expect, Note, TransactionError};
use rustix::fs::{
    CWD, FileType, Gid, IFlags, Mode, Uid, XattrFlags, chownat, getxattr, ioctl_getflags, ioctl_setflags, mknodat, setxattr,
};

use crate::world::{World, moved, remove, version, write};

#[test]
fn a_link_in_the_root_is_kept_and_its_target_written() {
    let world = World::new();
    world.put("d/real", "old\n");
    symlink("d/real", world.path("link")).unwrap();
    symlink(world.path("link"), world.path("absolute")).unwrap();
    let committed = world.commit(vec![write("absolute", "new\n", version("old\n"))]).unwrap();
    assert_eq!(committed.files[0].rel, Path::new("d/real"));
    assert_eq!(world.text("d/real"), "new\n");
    assert_eq!(fs::read_link(world.path("link")).unwrap(), Path::new("d/real"));
    assert_eq!(world.root.target(Path::new("absolute")).unwrap(), Path::new("d/real"));
    // Both names at once are one file.
    let both = vec![write("link", "1", Expect::Any), write("d/real", "2", Expect::Any)];
    assert_eq!(world.refused(both), TransactionError::SameFile { path: world.path("d/real"), other: world.path("link") });
    world.no_litter();
}

#[test]
fn links_out_of_the_root_and_to_nothing_are_refused() {
    let world = World::new();
    let outside = world.dir.path().join("outside");
    fs::write(&outside, "out\n").unwrap();
    symlink(&outside, world.path("out")).unwrap();
    symlink("../outside", world.path("out2")).unwrap();
    symlink("..", world.path("up")).unwrap();
    symlink("nothing", world.path("dangling")).unwrap();
    symlink("nowhere/at/all", world.path("deep")).unwrap();
    symlink("round", world.path("round")).unwrap();
    for name in ["out", "out2", "up/outside", "../outside"] {
        let error = world.refused(vec![write(name, "in\n", Expect::Any)]);
        assert!(matches!(error, TransactionError::Outside { .. }), "{name}: {error:?}");
    }
    for name in ["dangling", "deep"] {
        let error = world.refused(vec![write(name, "in\n", Expect::Absent)]);
        assert!(matches!(error, TransactionError::DanglingLink { .. }), "{name}: {error:?}");
    }
    assert!(matches!(world.refused(vec![write("round", "", Expect::Any)]), TransactionError::LinkLoop { .. }));
    assert_eq!(fs::read_to_string(&outside).unwrap(), "out\n");
    // Deleting takes the link and leaves the target.
    world.commit(vec![remove("out", Expect::Any), remove("dangling", Expect::Any)]).unwrap();
    assert_eq!(fs::read_to_string(&outside).unwrap(), "out\n");
    assert!(fs::symlink_metadata(world.path("out")).is_err());
    let plain = Change::Remove { root: 0, rel: "out2".into(), expect: Expect::Any, link_itself: false };
    assert!(matches!(world.refused(vec![plain]), TransactionError::NotRegular { what: "symbolic link", .. }));
    world.no_litter();
}

#[test]
fn special_files_are_refused_at_once() {
    let world = World::new();
    mknodat(CWD, world.path("fifo"), FileType::Fifo, Mode::from_raw_mode(0o644), 0).unwrap();
    let _socket = UnixListener::bind(world.path("socket")).unwrap();
    symlink("fifo", world.path("to-fifo")).unwrap();
    fs::create_dir(world.path("folder")).unwrap();
    let start = Instant::now();
    for (name, what) in [("fifo", "FIFO"), ("socket", "socket"), ("to-fifo", "FIFO")] {
        let error = world.refused(vec![write(name, "", Expect::Any)]);
        assert!(matches!(error, TransactionError::NotRegular { what: is, .. } if is == what), "{error:?}");
        if name != "to-fifo" {
            let error = world.refused(vec![remove(name, Expect::Any)]);
            assert!(matches!(error, TransactionError::NotRegular { what: is, .. } if is == what), "{error:?}");
        }
    }
    match mknodat(CWD, world.path("device"), FileType::CharacterDevice, Mode::from_raw_mode(0o644), rustix::fs::makedev(1, 5)) {
        Ok(()) => {
            let error = world.refused(vec![remove("device", Expect::Any)]);
            assert!(matches!(error, TransactionError::NotRegular { what: "device", .. }), "{error:?}");
        }
        Err(errno) => eprintln!("a device cannot be made here: {errno}"),
    }
    for change in [write("folder", "", Expect::Any), remove("folder", Expect::Any)] {
        assert!(matches!(world.refused(vec![change]), TransactionError::IsDirectory { .. }));
    }
    assert!(start.elapsed() < Duration::from_millis(1500), "it blocks");
}

#[test]
fn mode_owner_group_attributes_and_acl_are_kept() {
    let world = World::new();
    world.put("a", "old\n");
    world.put("other", "other\n");
    let path = world.path("a");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o751)).unwrap();
    let root = rustix::process::geteuid().is_root();
    if root {
        chownat(CWD, &path, Some(Uid::from_raw(12)), Some(Gid::from_raw(34)), rustix::fs::AtFlags::empty()).unwrap();
    } else {
        eprintln!("not root: owners are not given away here");
    }
    setxattr(&path, "user.note", b"kept", XattrFlags::empty()).unwrap();
    // Version 2; user::rwx, user:1:r-x, group::r-x, mask::r-x, other::--x.
    let entry = |tag: u16, rights: u16, id: u32| [&tag.to_le_bytes()[..], &rights.to_le_bytes(), &id.to_le_bytes()].concat();
    let none = u32::MAX;
    let acl = [
        2_u32.to_le_bytes().to_vec(),
        entry(1, 7, none),
        entry(2, 5, 1),
        entry(4, 5, none),
        entry(16, 5, none),
        entry(32, 1, none),
    ]
    .concat();
    let has_acl = match setxattr(&path, "system.posix_acl_access", &acl, XattrFlags::empty()) {
        Ok(()) => true,
        Err(errno) => {
            eprintln!("no ACLs here: {errno}");
            false
        }
    };
    let state = || {
        let meta = fs::metadata(&path).unwrap();
        let attribute = |name| {
            let mut buffer = [0; 256];
            getxattr(&path, name, &mut buffer).map(|size| buffer[..size].to_vec()).ok()
        };
        (meta.mode(), meta.uid(), meta.gid(), attribute("user.note"), attribute("system.posix_acl_access"))
    };
    let before = state();
    assert_eq!(before.4.is_some(), has_acl);
    let failing = vec![write("a", "new\n", version("old\n")), write("other", "x", version("not so\n"))];
    world.refused(failing);
    assert_eq!(state(), before);
    world.commit(vec![write("a", "new\n", version("old\n"))]).unwrap();
    assert_eq!((state(), world.text("a").as_str()), (before.clone(), "new\n"));
    // A move takes them along, and an undo brings them back.
    world.commit_as("move", moved("a", "b", "moved\n", "new\n").to_vec()).unwrap();
    let entry = world.state.undo("move").unwrap().unwrap();
    world.commit(entry.changes).unwrap();
    assert_eq!((state(), world.text("a").as_str()), (before, "new\n"));
    world.no_litter();
}

#[test]
fn a_new_file_is_like_any_new_file_of_its_folder() {
    let world = World::new();
    fs::create_dir(world.path("shared")).unwrap();
    if rustix::process::geteuid().is_root() {
        chownat(CWD, world.path("shared"), None, Some(Gid::from_raw(34)), rustix::fs::AtFlags::empty()).unwrap();
    }
    fs::set_permissions(world.path("shared"), fs::Permissions::from_mode(0o2775)).unwrap();
    fs::write(world.path("shared/plain"), "").unwrap();
    fs::write(world.path("plain"), "").unwrap();
    world.commit(vec![write("shared/ours", "x", Expect::Absent), write("ours", "x", Expect::Absent)]).unwrap();
    for (ours, plain) in [("shared/ours", "shared/plain"), ("ours", "plain")] {
        let (ours, plain) = (fs::metadata(world.path(ours)).unwrap(), fs::metadata(world.path(plain)).unwrap());
        assert_eq!((ours.mode(), ours.gid()), (plain.mode(), plain.gid()));
    }
    world.no_litter();
}

#[test]
fn rights_of_the_file_are_not_passed_on() {
    let world = World::new();
    world.put("a", "old\n");
    for mode in [0o4755, 0o2755] {
        fs::set_permissions(world.path("a"), fs::Permissions::from_mode(mode)).unwrap();
        let error = world.refused(vec![write("a", "new\n", Expect::Any)]);
        assert!(matches!(error, TransactionError::Metadata { what: "suid", .. }));
    }
}

#[test]
fn read_only_is_meant() {
    let mut world = World::new();
    world.put("a", "old\n");
    fs::set_permissions(world.path("a"), fs::Permissions::from_mode(0o444)).unwrap();
    for change in [write("a", "new\n", Expect::Any), remove("a", Expect::Any)] {
        assert!(matches!(world.refused(vec![change]), TransactionError::ReadOnly { .. }));
    }
    world.options.override_readonly = true;
    world.commit(vec![write("a", "new\n", Expect::Any)]).unwrap();
    assert_eq!(fs::metadata(world.path("a")).unwrap().mode() & 0o7777, 0o444);

    world.put("fixed", "old\n");
    let file = fs::File::open(world.path("fixed")).unwrap();
    match ioctl_getflags(&file).and_then(|flags| ioctl_setflags(&file, flags | IFlags::IMMUTABLE)) {
        Err(errno) => eprintln!("no file can be made immutable here: {errno}"),
        Ok(()) => {
            let errors =
                [world.commit(vec![write("fixed", "new\n", Expect::Any)]), world.commit(vec![remove("fixed", Expect::Any)])];
            let flags = ioctl_getflags(&file).unwrap();
            ioctl_setflags(&file, flags - IFlags::IMMUTABLE).unwrap();
            for error in errors {
                assert!(matches!(error.unwrap_err(), TransactionError::ReadOnly { .. }));
            }
        }
    }
    world.no_litter();
}

#[test]
fn two_names_of_one_file_and_missing_folders_are_refused() {
    let world = World::new();
    world.put("a", "old\n");
    fs::hard_link(world.path("a"), world.path("b")).unwrap();
    let error = world.refused(vec![write("a", "1", Expect::Any), write("b", "2", Expect::Any)]);
    assert_eq!(error, TransactionError::SameFile { path: world.path("b"), other: world.path("a") });
    let below = world.refused(vec![write("a/c", "1", Expect::Absent)]);
    assert_eq!(below, TransactionError::NotDirectory { path: world.path("a") });
    let no_parents = Change::Write {
        root: 0,
        rel: "x/y".into(),
        bytes: Vec::new(),
        expect: Expect::Absent,
        metadata_from: None,
        create_parents: false,
    };
    assert_eq!(world.refused(vec![no_parents]), TransactionError::NotFound { path: world.path("x") });
    assert_eq!(world.refused(vec![remove("x", Expect::Any)]), TransactionError::NotFound { path: world.path("x") });
}

#[test]
fn an_entry_of_the_stage_s_name_in_a_checkout_is_left_alone() {
    let world = World::new();
    world.put("a", "old\n");
    let outside = world.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    symlink(&outside, world.path(".ccd-tx")).unwrap();
    assert!(matches!(world.refused(vec![write("a", "new\n", Expect::Any)]), TransactionError::CommitFailed(_)));
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 0);
    fs::remove_file(world.path(".ccd-tx")).unwrap();
    assert!(matches!(world.refused(vec![write(".ccd-tx/x", "", Expect::Any)]), TransactionError::ReadOnly { .. }));
}

#[test]
fn names_of_any_bytes_and_many_files() {
    use std::os::unix::ffi::OsStrExt;
    let mut world = World::new();
    for durability in [ccd_files::Durability::Process, ccd_files::Durability::Power] {
        world.options.durability = durability;
        let odd = PathBuf::from(std::ffi::OsStr::from_bytes(b"odd \xff\n%name"));
        fs::write(world.root.path().join(&odd), "old\n").unwrap();
        let mut changes: Vec<_> = (0..101).map(|n| write(&format!("d{}/f{n}", n % 12), "x\n", Expect::Any)).collect();
        changes.push(Change::Write {
            root: 0,
            rel: odd.clone(),
            bytes: b"new\n".to_vec(),
            expect: version("old\n"),
            metadata_from: None,
            create_parents: false,
        });
        let start = Instant::now();
        let committed = world.commit(changes).unwrap();
        eprintln!("102 files, {durability:?}: {:?}", start.elapsed());
        assert_eq!(committed.files.len(), 102);
        assert_eq!(fs::read_to_string(world.root.path().join(&odd)).unwrap(), "new\n");
        world.no_litter();
        fs::remove_dir_all(world.path("d3")).unwrap();
    }
}

#[test]
fn a_committed_file_is_newer_than_the_last_build() {
    let world = World::new();
    world.put("a", "old\n");
    let old = std::time::SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000);
    fs::File::options().write(true).open(world.path("a")).unwrap().set_modified(old).unwrap();
    let before = std::time::SystemTime::now() - Duration::from_secs(1);
    world.commit(vec![write("a", "new\n", Expect::Any)]).unwrap();
    assert!(fs::metadata(world.path("a")).unwrap().modified().unwrap() > before);
}

#[test]
fn a_writer_who_still_holds_the_old_file_loses_nothing() {
    // The pre-image is looked at once more when it is put away.
    let world = World::new();
    world.put("a", "old\n");
    let mut late = fs::File::options().append(true).open(world.path("a")).unwrap();
    let committed = world.commit(vec![write("a", "new\n", Expect::Any)]).unwrap();
    assert_eq!(committed.notes, [] as [Note; 0]);
    std::io::Write::write_all(&mut late, b"late\n").unwrap();
    // Written after the end of the call, it is not in the undo either.
    assert!(world.state.undo("t1").unwrap().is_none_or(|entry| entry.changes.is_empty()));
    assert_eq!(world.text("a"), "new\n");
}
