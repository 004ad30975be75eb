//! Files and hunks, and what comes of them.

use expect_test::{Expect, expect};

use super::*;
use crate::{parse::parse, syntax::Action};

/// The file after the hunks, line ends made visible, and how they were found.
fn check(file: &str, hunks: &str, expected: Expect) {
    let text = format!("*** Begin Patch\n*** Update File: f\n{hunks}\n*** End Patch");
    let patch = parse(&text).unwrap();
    let Action::Update { hunks, .. } = &patch.operations[0].action else { panic!("it is an update") };
    let shown = match apply(file.as_bytes(), hunks) {
        Ok(updated) => {
            let text = String::from_utf8(updated.bytes).unwrap();
            let found: Vec<String> = updated
                .matches
                .iter()
                .map(|found| {
                    let away = if found.appended_away_from_context { " away" } else { "" };
                    format!(
                        "{} line {}+{} {} +{}{away}",
                        found.hunk, found.line, found.old_lines, found.pass, found.other_matches
                    )
                })
                .collect();
            format!("{text:?}\n{}\n", found.join("\n"))
        }
        Err(UpdateError::Misses(misses)) => misses.iter().map(|miss| format!("{}: {miss}\n", miss.hunk)).collect(),
        Err(error) => format!("{error}\n"),
    };
    expected.assert_eq(&shown);
}

#[test]
fn lines_keep_their_own_endings_and_new_ones_take_the_first() {
    check(
        "a\r\nb\nc\rd\r\r\ne",
        " a\n-b\n+B\n+BB\n c\n d",
        expect![[r#"
        "a\r\nB\r\nBB\r\nc\rd\r\r\ne\r\n"
        1 line 1+4 exact +0
    "#]],
    );
    check(
        "a\rb\r",
        "-b\n+c",
        expect![[r#"
        "a\rc\r"
        1 line 2+1 exact +0
    "#]],
    );
    check(
        "a\u{2028}b\u{85}c\u{b}d\n",
        "-a\u{2028}b\u{85}c\u{b}d\n+e",
        expect![[r#"
        "e\n"
        1 line 1+1 exact +0
    "#]],
    );
    check(
        "a\nb",
        "-b\n+c",
        expect![[r#"
        "a\nc\n"
        1 line 2+1 exact +0
    "#]],
    );
    check(
        "a",
        " a",
        expect![[r#"
        "a\n"
        1 line 1+1 exact +0
    "#]],
    );
    check(
        "a\n\n\n",
        "-a\n+b",
        expect![[r#"
        "b\n\n\n"
        1 line 1+1 exact +0
    "#]],
    );
    check(
        "a\nb\n",
        "-a\n-b",
        expect![[r#"
        ""
        1 line 1+2 exact +0
    "#]],
    );
    check(
        "",
        "+a",
        expect![[r#"
        "a\n"
        1 line 1+0 exact +0
    "#]],
    );
}

#[test]
fn a_byte_order_mark_is_kept_and_never_doubled() {
    check(
        "\u{feff}a\nb\n",
        "-a\n+A",
        expect![[r#"
        "\u{feff}A\nb\n"
        1 line 1+1 exact +0
    "#]],
    );
    check(
        "\u{feff}a\nb\n",
        "-\u{feff}a\n+\u{feff}A\n b",
        expect![[r#"
        "\u{feff}A\nb\n"
        1 line 1+2 exact +0
    "#]],
    );
    check(
        "\u{feff}a\n",
        "-a",
        expect![[r#"
        "\u{feff}"
        1 line 1+1 exact +0
    "#]],
    );
}

#[test]
fn context_keeps_its_bytes_when_it_was_found_loosely() {
    check(
        "\tif (x)  \n\t\ty();\n",
        " if (x)\n-y();\n+z();",
        expect![[r#"
        "\tif (x)  \nz();\n"
        1 line 1+2 surrounding_space +0
    "#]],
    );
    check(
        "\u{201c}a\u{201d}\nb\n",
        " \"a\"\n-b\n+c",
        expect![[r#"
        "“a”\nc\n"
        1 line 1+2 typography +0
    "#]],
    );
}

#[test]
fn hunks_are_sought_in_order() {
    check(
        "a\nb\na\nb\n",
        "@@\n-a\n+1\n@@\n-a\n+2",
        expect![[r#"
        "1\nb\n2\nb\n"
        1 line 1+1 exact +1
        2 line 3+1 exact +0
    "#]],
    );
    check(
        "a\nb\nc\n",
        "@@\n-c\n+C\n@@\n-a\n+A",
        expect![[r#"
        2: stands at line 1, before a hunk or context that comes first in the patch; hunks must be in the order of the file and must not overlap
    "#]],
    );
    check(
        "a\nb\nc\n",
        "@@\n a\n-b\n+B\n@@\n b\n-c",
        expect![[r#"
        2: stands at line 2, before a hunk or context that comes first in the patch; hunks must be in the order of the file and must not overlap
    "#]],
    );
    check(
        "x\na\nx\nb\n",
        "@@ a\n-x\n+y",
        expect![[r#"
        "x\na\ny\nb\n"
        1 line 3+1 exact +0
    "#]],
    );
    check(
        "class A\n f\n 1\nclass B\n f\n 1\n",
        "@@ class B\n@@  f\n- 1\n+ 2",
        expect![[r#"
        "class A\n f\n 1\nclass B\n f\n 2\n"
        1 line 6+1 exact +0
    "#]],
    );
    check(
        "class A\n f\n 1\nclass B\n",
        "@@ class B\n@@  f\n- 1\n+ 2",
        expect![[r#"
        1: stands at line 2, before a hunk or context that comes first in the patch; hunks must be in the order of the file and must not overlap
    "#]],
    );
}

#[test]
fn additions_alone_go_to_the_end() {
    check(
        "a\nb\n",
        "+c",
        expect![[r#"
        "a\nb\nc\n"
        1 line 3+0 exact +0
    "#]],
    );
    check(
        "a\nb\n",
        "@@ a\n+c",
        expect![[r#"
        "a\nb\nc\n"
        1 line 3+0 exact +0 away
    "#]],
    );
    check(
        "a\nb\n",
        "@@ b\n+c",
        expect![[r#"
        "a\nb\nc\n"
        1 line 3+0 exact +0
    "#]],
    );
    check(
        "a\nb\n",
        "@@\n+c\n@@\n-b\n+B\n@@\n+d",
        expect![[r#"
        "a\nB\nc\nd\n"
        1 line 3+0 exact +0
        2 line 2+1 exact +0
        3 line 3+0 exact +0
    "#]],
    );
}

#[test]
fn the_end_of_the_file() {
    check(
        "a\nb\na\n",
        "-a\n+c\n*** End of File",
        expect![[r#"
        "a\nb\nc\n"
        1 line 3+1 exact +0
    "#]],
    );
    check(
        "a\nb\n",
        "-a\n+c\n*** End of File",
        expect![[r#"
        1: stands at line 1, which is not the end of the file as '*** End of File' says
    "#]],
    );
}

#[test]
fn a_last_blank_line_that_is_not_there_is_dropped() {
    check(
        "a\nb\n",
        " a\n-b\n+c\n",
        expect![[r#"
        "a\nc\n"
        1 line 1+2 exact +0
    "#]],
    );
    check(
        "a\nb\n",
        "-a\n-\n+x\n+",
        expect![[r#"
        "x\nb\n"
        1 line 1+1 exact +0
    "#]],
    );
    check(
        "a\nb\n",
        " a\n \n+x",
        expect![[r#"
        "a\n\nx\nb\n"
        1 line 1+1 exact +0
    "#]],
    );
    check(
        "a\nb\n",
        "-\n+x",
        expect![[r#"
        1: Failed to find expected lines: `` is not there
    "#]],
    );
    check(
        "",
        "-\n+x",
        expect![[r#"
        1: Failed to find expected lines: `` is not there
    "#]],
    );
    check(
        "a\n\nb\n",
        "-\n+x",
        expect![[r#"
        "a\nx\nb\n"
        1 line 2+1 exact +0
    "#]],
    );
}

#[test]
fn what_is_no_utf_8_is_refused() {
    let patch = parse("*** Begin Patch\n*** Update File: f\n-a\n*** End Patch").unwrap();
    let Action::Update { hunks, .. } = &patch.operations[0].action else { panic!("it is an update") };
    expect!["invalid utf-8 sequence of 1 bytes from index 2"].assert_eq(&apply(b"ab\xff\n", hunks).unwrap_err().to_string());
    assert_eq!(apply(b"a\nb\0\n", hunks).unwrap().bytes, b"b\0\n");
}
