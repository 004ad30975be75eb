//! Links, and what is neither a file nor a folder.

use expect_test::expect;

use crate::{check, tree};

#[test]
fn links_are_followed_for_writing_and_not_for_deleting() {
    let mut tree = tree();
    tree.link("l", "a").link("dangling", "nowhere").link("loop", "loop").link("out", "../x").link("folder", "d");
    check(
        &tree,
        "*** Update File: l\n-one\n+1",
        expect![[r#"
        write a
        M l
        a = "1\n"
        b = "two\n"
        d/c = "three\n"
    "#]],
    );
    check(
        &tree,
        "*** Update File: l\n-one\n+1\n*** Update File: a\n-1\n+2",
        expect![[r#"
        write a
        M l
        M a
        a = "2\n"
        b = "two\n"
        d/c = "three\n"
    "#]],
    );
    check(
        &tree,
        "*** Add File: l\n+x",
        expect![[r#"
        write a
        note replaced_existing -
        A l
        a = "x\n"
        b = "two\n"
        d/c = "three\n"
    "#]],
    );
    check(
        &tree,
        "*** Delete File: l",
        expect![[r#"
        delete link l
        D l
        a = "one\n"
        b = "two\n"
        d/c = "three\n"
    "#]],
    );
    check(
        &tree,
        "*** Delete File: l\n*** Add File: l\n+x",
        expect![[r#"
        new link l
        A l
        D l
        a = "one\n"
        b = "two\n"
        d/c = "three\n"
        l = "x\n"
    "#]],
    );
    check(
        &tree,
        "*** Update File: l\n*** Move to: m\n-one\n+1",
        expect![[r#"
        delete link l
        write, metadata of a m
        M m
        a = "one\n"
        b = "two\n"
        d/c = "three\n"
        m = "1\n"
    "#]],
    );
    check(
        &tree,
        "*** Update File: l\n*** Move to: a\n-one\n+1",
        expect![[r#"
        delete link l
        write a
        M a
        a = "1\n"
        b = "two\n"
        d/c = "three\n"
    "#]],
    );
    check(
        &tree,
        "*** Update File: a\n*** Move to: l\n-one\n+1",
        expect![[r#"
        write a
        M l
        a = "1\n"
        b = "two\n"
        d/c = "three\n"
    "#]],
    );
    check(
        &tree,
        "*** Add File: dangling\n+x",
        expect![[r#"
        line 2: Failed to write file dangling: it is a symbolic link that leads to nothing
    "#]],
    );
    check(
        &tree,
        "*** Update File: dangling\n-x",
        expect![[r#"
        line 2: Failed to read file to update dangling: it is a symbolic link that leads to nothing
    "#]],
    );
    check(
        &tree,
        "*** Delete File: dangling",
        expect![[r#"
        delete link dangling
        D dangling
        a = "one\n"
        b = "two\n"
        d/c = "three\n"
    "#]],
    );
    check(
        &tree,
        "*** Update File: folder/c\n-three\n+3\n*** Update File: d/c\n-3\n+4",
        expect![[r#"
        write d/c
        M folder/c
        M d/c
        a = "one\n"
        b = "two\n"
        d/c = "4\n"
    "#]],
    );
    check(
        &tree,
        "*** Delete File: folder\n*** Add File: folder/c\n+x",
        expect![[r#"
        line 3: Failed to write file folder/c: its path leads through a symbolic link that the patch deletes
    "#]],
    );
    check(
        &tree,
        "*** Update File: loop\n-x",
        expect![[r#"
        line 2: Failed to read file to update loop: its links lead in a circle
    "#]],
    );
    check(
        &tree,
        "*** Add File: out\n+x",
        expect![[r#"
        line 2: Failed to write file out: it leads out of the workspace
    "#]],
    );
    check(
        &tree,
        "*** Add File: ../x\n+x",
        expect![[r#"
        line 2: Failed to write file ../x: it leads out of the workspace
    "#]],
    );
}

#[test]
fn what_is_no_regular_file_is_left_alone() {
    let mut tree = tree();
    tree.special("pipe", "FIFO").hard_link("h", "a").file("bin", b"\xff\n");
    check(
        &tree,
        "*** Delete File: pipe",
        expect![[r#"
        line 2: Failed to delete file pipe: it is a FIFO, not a regular file
    "#]],
    );
    check(
        &tree,
        "*** Add File: pipe\n+x",
        expect![[r#"
        line 2: Failed to write file pipe: it is a FIFO, not a regular file
    "#]],
    );
    check(
        &tree,
        "*** Update File: a\n-one\n+1\n*** Delete File: h",
        expect![[r#"
        line 5: Failed to delete file h: it is the same file as a, by a hard link; name it once
    "#]],
    );
    check(
        &tree,
        "*** Update File: h\n-one\n+1",
        expect![[r#"
        write h
        M h
        a = "one\n"
        b = "two\n"
        bin = "�\n"
        d/c = "three\n"
        h = "1\n"
    "#]],
    );
    check(
        &tree,
        "*** Update File: bin\n-x",
        expect![[r#"
        line 2: Failed to read file to update bin: invalid utf-8 sequence of 1 bytes from index 0
    "#]],
    );
    check(
        &tree,
        "*** Delete File: bin",
        expect![[r#"
        delete bin
        D bin
        a = "one\n"
        b = "two\n"
        d/c = "three\n"
        h = "one\n"
    "#]],
    );
    check(
        &tree,
        "*** Add File: bin\n+x",
        expect![[r#"
        write bin
        note replaced_existing -
        A bin
        a = "one\n"
        b = "two\n"
        bin = "x\n"
        d/c = "three\n"
        h = "one\n"
    "#]],
    );
}
