//! Whole patches over a tree in memory: what is folded, refused and told.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod links;

use std::fmt::Write as _;

use ccd_patch::{Change, MemoryTree, NoteKind, Op, PlanError, Was, Why, parse, plan};
use expect_test::{Expect, expect};

/// The plan as lines, or all that is wrong; then the files afterwards.
fn check(tree: &MemoryTree, body: &str, expected: Expect) {
    let text = format!("*** Begin Patch\n{body}\n*** End Patch");
    let mut tree = tree.clone();
    let before = tree.clone();
    let mut shown = String::new();
    match plan(&parse(&text).unwrap(), &mut tree) {
        Ok(plan) => {
            for target in &plan.targets {
                let what = match &target.change {
                    Change::Write { metadata: Some(from), .. } if *from != target.key => format!("write, metadata of {from}"),
                    Change::Write { metadata: Some(_), .. } => "write".to_owned(),
                    Change::Write { metadata: None, .. } => "new".to_owned(),
                    Change::Delete => "delete".to_owned(),
                };
                let was = if target.was == Was::Link { " link" } else { "" };
                let _ = writeln!(shown, "{what}{was} {}", target.key);
            }
            if !plan.directories.is_empty() {
                let _ = writeln!(shown, "directories {:?}", plan.directories);
            }
            for note in &plan.notes {
                let _ = writeln!(shown, "note {} {}", note.kind.name(), note.detail.as_deref().unwrap_or("-"));
            }
            shown.push_str(plan.summary.strip_prefix("Success. Updated the following files:\n").unwrap());
            tree.carry_out(&plan);
            for (path, bytes) in tree.files() {
                let _ = writeln!(shown, "{path} = {:?}", String::from_utf8_lossy(bytes));
            }
        }
        Err(PlanError::Refused { faults, failures }) => {
            shown.extend(faults.iter().map(|fault| format!("line {}: {fault}\n", fault.patch_line)));
            shown.extend(failures.iter().map(|failure| format!("{failure}\n")));
            assert_eq!(tree, before);
        }
        Err(error) => shown = format!("{error}\n"),
    }
    expected.assert_eq(&shown);
}

fn tree() -> MemoryTree {
    let mut tree = MemoryTree::default();
    tree.file("a", "one\n").file("b", "two\n").file("d/c", "three\n");
    tree
}

#[test]
fn each_operation_sees_the_ones_before() {
    let tree = tree();
    check(
        &tree,
        "*** Add File: n\n+x\n*** Update File: n\n-x\n+y",
        expect![[r#"
        new n
        A n
        M n
        a = "one\n"
        b = "two\n"
        d/c = "three\n"
        n = "y\n"
    "#]],
    );
    check(
        &tree,
        "*** Update File: a\n*** Move to: m\n-one\n+1\n*** Update File: m\n-1\n+2",
        expect![[r#"
        delete a
        write, metadata of a m
        M m
        M m
        b = "two\n"
        d/c = "three\n"
        m = "2\n"
    "#]],
    );
    check(
        &tree,
        "*** Delete File: a\n*** Add File: a\n+x",
        expect![[r#"
        new a
        A a
        D a
        a = "x\n"
        b = "two\n"
        d/c = "three\n"
    "#]],
    );
    check(
        &tree,
        "*** Update File: a\n*** Move to: t\n one\n*** Update File: b\n*** Move to: a\n two\n*** Update File: t\n*** Move to: b\n one",
        expect![[r#"
            write, metadata of b a
            write, metadata of a b
            M t
            M a
            M b
            a = "two\n"
            b = "one\n"
            d/c = "three\n"
        "#]],
    );
    check(
        &tree,
        "*** Add File: a\n+x\n*** Delete File: a\n*** Delete File: b",
        expect![[r#"
        delete a
        delete b
        note replaced_existing -
        A a
        D a
        D b
        d/c = "three\n"
    "#]],
    );
}

#[test]
fn a_move_carries_the_metadata_and_replaces_what_is_there() {
    check(
        &tree(),
        "*** Update File: a\n*** Move to: x/y/z\n-one\n+1",
        expect![[r#"
        delete a
        write, metadata of a x/y/z
        directories ["x", "x/y"]
        M x/y/z
        b = "two\n"
        d/c = "three\n"
        x/y/z = "1\n"
    "#]],
    );
    check(
        &tree(),
        "*** Update File: a\n*** Move to: b\n-one\n+1",
        expect![[r#"
        delete a
        write, metadata of a b
        M b
        b = "1\n"
        d/c = "three\n"
    "#]],
    );
    check(
        &tree(),
        "*** Update File: a\n*** Move to: d/../q/.././a\n-one\n+1",
        expect![[r#"
        write a
        M d/../q/.././a
        a = "1\n"
        b = "two\n"
        d/c = "three\n"
    "#]],
    );
    check(
        &tree(),
        "*** Update File: a\n*** Move to: d\n-one\n+1",
        expect![[r#"
            line 2: Failed to write file d: it is a directory
        "#]],
    );
    check(
        &tree(),
        "*** Update File: a\n*** Move to: b/x\n-one\n+1",
        expect![[r#"
            line 2: Failed to write file b/x: a part of its path is not a directory
        "#]],
    );
}

#[test]
fn files_and_folders_collide() {
    check(
        &tree(),
        "*** Delete File: a\n*** Add File: a/b\n+x",
        expect![[r#"
        delete a
        new a/b
        directories ["a"]
        A a/b
        D a
        a/b = "x\n"
        b = "two\n"
        d/c = "three\n"
    "#]],
    );
    check(
        &tree(),
        "*** Add File: a/b\n+x",
        expect![[r#"
        line 2: Failed to write file a/b: a part of its path is not a directory
    "#]],
    );
    check(
        &tree(),
        "*** Add File: n/m\n+x\n*** Add File: n\n+x",
        expect![[r#"
        line 4: Failed to write file n: it is a directory
    "#]],
    );
    check(
        &tree(),
        "*** Add File: d\n+x",
        expect![[r#"
        line 2: Failed to write file d: it is a directory
    "#]],
    );
    check(
        &tree(),
        "*** Delete File: d",
        expect![[r#"
        line 2: Failed to delete file d: it is a directory
    "#]],
    );
    check(
        &tree(),
        "*** Add File: n/m/o\n+x\n*** Delete File: n/m/o",
        expect![[r#"
        directories ["n", "n/m"]
        A n/m/o
        D n/m/o
        a = "one\n"
        b = "two\n"
        d/c = "three\n"
    "#]],
    );
    check(
        &tree(),
        "*** Update File: d\n-x",
        expect![[r#"
        line 2: Failed to read file to update d: it is a directory
    "#]],
    );
}

#[test]
fn all_that_is_wrong_is_told_and_nothing_that_follows_from_it() {
    check(
        &tree(),
        "*** Delete File: gone\n*** Update File: gone\n-x\n*** Update File: a\n-x\n+y\n@@\n-z\n*** Update File: d/c\n*** Move to: e\n-x\n*** Update File: e\n-three\n+3\n*** Delete File: d\n*** Add File: ok\n+x",
        expect![[r#"
            line 2: Failed to delete file gone: there is no such file
            line 16: Failed to delete file d: it is a directory
            hunk 2 of a: Failed to find expected lines: `x` is not there
            hunk 3 of a: Failed to find expected lines: `z` is not there
            hunk 4 of d/c: Failed to find expected lines: `x` is not there
        "#]],
    );
    check(
        &tree(),
        "*** Update File: gone\n*** Move to: gone\n-x",
        expect![[r#"
            line 2: Failed to read file to update gone: there is no such file
        "#]],
    );
}

#[test]
fn notes_tell_what_a_careful_reader_should_know() {
    check(
        &tree(),
        "*** Add File: a\n+one",
        expect![[r#"
        note replaced_existing -
        note no_change -
        A a
        a = "one\n"
        b = "two\n"
        d/c = "three\n"
    "#]],
    );
    check(
        &tree(),
        "*** Add File: a\n+1",
        expect![[r#"
        write a
        note replaced_existing -
        A a
        a = "1\n"
        b = "two\n"
        d/c = "three\n"
    "#]],
    );
    check(
        &tree(),
        "*** Update File: a\n one",
        expect![[r#"
        note no_change -
        M a
        a = "one\n"
        b = "two\n"
        d/c = "three\n"
    "#]],
    );
    check(
        &tree(),
        "*** Update File: a\n-  one\n+1",
        expect![[r#"
        write a
        note matched_loosely hunk 1, line 1, pass surrounding_space
        M a
        a = "1\n"
        b = "two\n"
        d/c = "three\n"
    "#]],
    );
    let mut tree = tree();
    tree.file("m", "x\ny\nx\n");
    check(
        &tree,
        "*** Update File: m\n-x\n+1",
        expect![[r#"
        write m
        note ambiguous_match hunk 1 was put at line 1; it fits at 1 more
        M m
        a = "one\n"
        b = "two\n"
        d/c = "three\n"
        m = "1\ny\nx\n"
    "#]],
    );
    check(
        &tree,
        "*** Update File: m\n@@ x\n+1",
        expect![[r#"
        write m
        note appended_away_from_context hunk 1 has no old lines, so its lines were put at the end of the file, line 4
        M m
        a = "one\n"
        b = "two\n"
        d/c = "three\n"
        m = "x\ny\nx\n1\n"
    "#]],
    );
}

#[test]
fn an_empty_patch_is_refused() {
    let patch = parse("*** Begin Patch\n*** End Patch").unwrap();
    let error = plan(&patch, &mut tree()).unwrap_err();
    assert_eq!(error.to_string(), "No files were modified.");
}

#[test]
fn a_plan_is_data() {
    let text = "*** Begin Patch\n*** Update File: a\n*** Move to: n\n- one\n+1\n*** Delete File: b\n*** End Patch";
    let plan = plan(&parse(text).unwrap(), &mut tree()).unwrap();
    let operations: Vec<_> = plan.operations.iter().map(|done| (done.op, done.path.as_str(), done.move_to.as_deref())).collect();
    assert_eq!(operations, [(Op::Move, "a", Some("n")), (Op::Delete, "b", None)]);
    assert_eq!(plan.notes[0].kind, NoteKind::MatchedLoosely);
    assert_eq!(plan.matched(&"a".to_owned(), 1, 1).map(|(pass, others)| (pass.number(), others)), Some((3, 0)));
    assert_eq!(plan.matched(&"a".to_owned(), 5, 1), None);
    assert_eq!(plan.targets.iter().find(|target| target.key == "a").unwrap().before.as_deref(), Some(&b"one\n"[..]));
    let text = "*** Begin Patch\n*** Add File: ../x\n+1\n*** End Patch";
    let Err(PlanError::Refused { faults, .. }) = ccd_patch::plan(&parse(text).unwrap(), &mut tree()) else { panic!("outside") };
    assert!(matches!(&faults[0].why, Why::Tree(ccd_patch::Refused::Outside)));
}
