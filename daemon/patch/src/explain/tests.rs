//! Misses and their reasons.

use expect_test::{Expect, expect};

use super::*;
use crate::{UpdateError, apply::apply, parse::parse, syntax::Action};

fn check(file: &str, hunks: &str, expected: Expect) {
    let text = format!("*** Begin Patch\n*** Update File: f\n{hunks}\n*** End Patch");
    let patch = parse(&text).unwrap();
    let Action::Update { hunks, .. } = &patch.operations[0].action else { panic!("it is an update") };
    let Err(UpdateError::Misses(misses)) = apply(file.as_bytes(), hunks) else { panic!("it is refused") };
    let mut shown = String::new();
    for miss in &misses {
        let kind = miss.first_difference.as_ref().map_or("-", |difference| difference.kind.name());
        let near = miss.nearby.as_ref().map(|near| near.line);
        shown += &format!(
            "hunk {} patch line {} prefix {} {kind} near {near:?} others {:?}: {miss}\n",
            miss.hunk, miss.patch_line, miss.matched_prefix, miss.other_candidates
        );
    }
    expected.assert_eq(&shown);
}

const FILE: &str =
    "import os\n\ndef area(w, h):\n\treturn w * h\n\ndef volume(w, h, d):\n\treturn w * h * d\n\nprint(area(2, 3))\n";

#[test]
fn the_first_line_that_differs_is_shown() {
    check(
        FILE,
        " def area(w, h):\n-    return w*h\n+    return h*w",
        expect![[r#"
        hunk 1 patch line 4 prefix 1 whitespace near Some(4) others []: Failed to find expected lines: line 4 is `→return w * h`, not `····return w*h`
    "#]],
    );
    check(
        FILE,
        " def Area(w, h):\n-\treturn w * h\n+\treturn h * w",
        expect![[r#"
        hunk 1 patch line 3 prefix 0 case near Some(3) others []: Failed to find expected lines: line 3 is `def area(w, h):`, not `def Area(w, h):`
    "#]],
    );
    check(
        FILE,
        " def volume(w, h, d):\n-\treturn w * h + d\n+\treturn 0",
        expect![[r#"
        hunk 1 patch line 4 prefix 1 content near Some(7) others []: Failed to find expected lines: line 7 is `	return w * h * d`, not `	return w * h + d`
    "#]],
    );
    check(
        FILE,
        "-print(area(2, 4))\n+print(area(3, 4))",
        expect![[r#"
        hunk 1 patch line 3 prefix 0 content near Some(9) others []: Failed to find expected lines: line 9 is `print(area(2, 3))`, not `print(area(2, 4))`
    "#]],
    );
    check(
        FILE,
        "-qqqq zzzz\n+x",
        expect![[r#"
        hunk 1 patch line 3 prefix 0 missing near None others []: Failed to find expected lines: `qqqq zzzz` is not there
    "#]],
    );
    check(
        FILE,
        " print(area(2, 3))\n-print(1)\n+print(2)",
        expect![[r#"
        hunk 1 patch line 4 prefix 1 missing near Some(9) others []: Failed to find expected lines: `print(1)` is not there
    "#]],
    );
    check(
        "",
        "-a\n+b",
        expect![[r#"
        hunk 1 patch line 3 prefix 0 missing near None others []: Failed to find expected lines: `a` is not there
    "#]],
    );
}

#[test]
fn contexts_that_are_not_there() {
    check(
        FILE,
        "@@ def area\n-x\n+y",
        expect![[r#"
        hunk 1 patch line 3 prefix 0 content near Some(3) others []: Failed to find context 'def area': line 3 is `def area(w, h):`, not `def area`
    "#]],
    );
    check(
        FILE,
        "@@ -3,2 +3,2 @@\n-\treturn w * h\n+\treturn 0",
        expect![[r#"
        hunk 1 patch line 3 prefix 0 missing near None others []: Failed to find context '-3,2 +3,2 @@' (the text behind @@ is sought as a line of the file; line numbers are not read): `-3,2 +3,2 @@` is not there
    "#]],
    );
    check(
        FILE,
        "@@ def volume(w, h, d):\n@@ def area(w, h):\n-\treturn w * h\n+x",
        expect![[r#"
        hunk 1 patch line 4 prefix 0 - near Some(3) others []: stands at line 3, before a hunk or context that comes first in the patch; hunks must be in the order of the file and must not overlap
    "#]],
    );
}

#[test]
fn lines_that_are_there_but_not_where_they_may_be_taken() {
    check(
        FILE,
        "@@\n-print(area(2, 3))\n+print()\n@@\n-import os\n+import sys",
        expect![[r#"
        hunk 2 patch line 7 prefix 1 - near Some(1) others []: stands at line 1, before a hunk or context that comes first in the patch; hunks must be in the order of the file and must not overlap
    "#]],
    );
    check(
        FILE,
        "@@\n-import os\n+import sys\n*** End of File",
        expect![[r#"
        hunk 1 patch line 4 prefix 1 - near Some(1) others []: stands at line 1, which is not the end of the file as '*** End of File' says
    "#]],
    );
}

#[test]
fn what_was_applied_before_is_recognised() {
    check(
        FILE,
        " def area(w, h):\n-\treturn w + h\n+\treturn w * h",
        expect![[r#"
        hunk 1 patch line 4 prefix 1 content near Some(4) others []: Failed to find expected lines: line 4 is `	return w * h`, not `	return w + h`; the new lines are in the file already
    "#]],
    );
    check(
        "a\nc\n",
        " a\n-b\n c",
        expect![[r#"
        hunk 1 patch line 4 prefix 1 content near Some(2) others []: Failed to find expected lines: line 2 is `c`, not `b`; the new lines are in the file already
    "#]],
    );
    check(
        "a\nc\n",
        "-b",
        expect![[r#"
        hunk 1 patch line 3 prefix 0 missing near None others []: Failed to find expected lines: `b` is not there
    "#]],
    );
}

#[test]
fn every_miss_is_told() {
    check(
        "a\nb\nc\n",
        "@@\n-x1\n@@\n-b\n+B\n@@\n-x2\n@@ x3\n-c",
        expect![[r#"
        hunk 1 patch line 4 prefix 0 missing near None others []: Failed to find expected lines: `x1` is not there
        hunk 3 patch line 9 prefix 0 missing near None others []: Failed to find expected lines: `x2` is not there
        hunk 4 patch line 10 prefix 0 missing near None others []: Failed to find context 'x3': `x3` is not there
    "#]],
    );
}

#[test]
fn other_places_are_named() {
    check(
        "a\nb\n1\na\nb\n2\na\nb\n3\n",
        " a\n b\n-4\n+5",
        expect![[r#"
        hunk 1 patch line 5 prefix 2 content near Some(3) others [4, 7]: Failed to find expected lines: line 3 is `1`, not `4`
    "#]],
    );
}

#[test]
fn white_space_is_made_visible() {
    assert_eq!(visible("\t a b \u{a0}"), "→·a b·<00A0>");
}
