//! What is read, forgiven and refused.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use proptest::prelude::*;

use super::*;

/// The patch as one line a part, or the error.
fn shown(text: &str) -> String {
    let patch = match parse(text) {
        Ok(patch) => patch,
        Err(error) => return format!("line {}: {}\n", error.line, error.message),
    };
    let mut out = String::new();
    if let Some(name) = patch.environment {
        let _ = writeln!(out, "environment {name:?}");
    }
    for operation in &patch.operations {
        let (line, path) = (operation.line, operation.path);
        match &operation.action {
            Action::Add { lines } => drop(writeln!(out, "{line} add {path:?} {lines:?}")),
            Action::Delete => drop(writeln!(out, "{line} delete {path:?}")),
            Action::Update { move_to, hunks } => {
                let _ = writeln!(out, "{line} update {path:?}{}", move_to.map(|to| format!(" to {to:?}")).unwrap_or_default());
                for hunk in hunks {
                    let contexts: Vec<_> = hunk.contexts.iter().map(|context| context.text).collect();
                    let _ = write!(out, "  {} hunk {} {contexts:?}", hunk.line, hunk.index);
                    for line in &hunk.lines {
                        let _ = match line {
                            HunkLine::Context(text) => write!(out, " ={text:?}"),
                            HunkLine::Removed(text) => write!(out, " -{text:?}"),
                            HunkLine::Added(text) => write!(out, " +{text:?}"),
                        };
                    }
                    let _ = writeln!(out, "{}", if hunk.end_of_file { " eof" } else { "" });
                }
            }
        }
    }
    if out.is_empty() { "nothing\n".to_owned() } else { out }
}

fn check(text: &str, expected: Expect) {
    expected.assert_eq(&shown(text));
}

/// The lines between the markers.
fn check_body(body: &str, expected: Expect) {
    check(&format!("*** Begin Patch\n{body}\n*** End Patch\n"), expected);
}

#[test]
fn the_envelope_is_forgiven_white_space_and_a_heredoc() {
    check(
        "*** Begin Patch\n*** End Patch",
        expect![[r#"
        nothing
    "#]],
    );
    check(
        "\u{3000}\n *** Begin Patch \r\n*** Delete File: a\r\n\t*** End Patch \n\n",
        expect![[r#"
        2 delete "a"
    "#]],
    );
    check(
        "<<'EOF'\n*** Begin Patch\n*** Delete File: a\n*** End Patch\nEOF\n",
        expect![[r#"
        2 delete "a"
    "#]],
    );
    check(
        "<<\"EOF\"\n*** Begin Patch\n*** End Patch\nmy EOF",
        expect![[r#"
        nothing
    "#]],
    );
    check(
        "<<EOF\n*** Begin Patch\n*** End Patch\nEOF",
        expect![[r#"
        nothing
    "#]],
    );
    check(
        "*** Begin Patch\n*** Delete File: a\n*** End Patch\n\n  \n*** End Patch",
        expect![[r#"
        2 delete "a"
    "#]],
    );
}

#[test]
fn the_envelope_is_not_forgiven_other_text() {
    check(
        "",
        expect![[r#"
        line 1: Invalid patch: The first line of the patch must be '*** Begin Patch'
    "#]],
    );
    check(
        "*** Begin Patch",
        expect![[r#"
        line 1: Invalid patch: The last line of the patch must be '*** End Patch'
    "#]],
    );
    check(
        "Sure:\n*** Begin Patch\n*** End Patch",
        expect![[r#"
        line 1: Invalid patch: The first line of the patch must be '*** Begin Patch'
    "#]],
    );
    check(
        "*** Begin Patch\n*** End Patch\nDone.",
        expect![[r#"
        line 3: Invalid patch: The last line of the patch must be '*** End Patch'
    "#]],
    );
    check(
        "\u{feff}*** Begin Patch\n*** End Patch",
        expect![[r#"
        line 1: Invalid patch: The first line of the patch must be '*** Begin Patch'
    "#]],
    );
    check(
        "*** begin patch\n*** End Patch",
        expect![[r#"
        line 1: Invalid patch: The first line of the patch must be '*** Begin Patch'
    "#]],
    );
    check(
        "*** Begin Patch ***\n*** End Patch",
        expect![[r#"
        line 1: Invalid patch: The first line of the patch must be '*** Begin Patch'
    "#]],
    );
    check(
        "apply_patch <<'EOF'\n*** Begin Patch\n*** End Patch\nEOF",
        expect![[r#"
        line 1: Invalid patch: The first line of the patch must be '*** Begin Patch'
    "#]],
    );
    check(
        "<<'EOF\"\n*** Begin Patch\n*** End Patch\nEOF",
        expect![[r#"
        line 1: Invalid patch: The first line of the patch must be '*** Begin Patch'
    "#]],
    );
    check(
        "<<END\n*** Begin Patch\n*** End Patch\nEND",
        expect![[r#"
        line 1: Invalid patch: The first line of the patch must be '*** Begin Patch'
    "#]],
    );
    check(
        "<<EOF\n*** End Patch\nEOF",
        expect![[r#"
        line 1: Invalid patch: The first line of the patch must be '*** Begin Patch'
    "#]],
    );
    check(
        "*** Begin Patch\n*** End Patch\nx\n*** End Patch",
        expect![[r#"
        line 3: Invalid patch hunk on line 3: 'x' stands behind '*** End Patch'. Nothing may follow the end marker
    "#]],
    );
}

#[test]
fn headers() {
    check_body(
        "  *** Add File:  a b  \n+\n++x\n*** Delete File: c",
        expect![[r#"
        2 add " a b" ["", "+x"]
        5 delete "c"
    "#]],
    );
    check_body(
        "*** Add File: a",
        expect![[r#"
        2 add "a" []
    "#]],
    );
    check_body(
        "*** Environment ID: e1\n*** Delete File: a",
        expect![[r#"
        environment "e1"
        3 delete "a"
    "#]],
    );
    check_body(
        "*** Environment ID: e1\n*** Environment ID: e2",
        expect![[r#"
        line 3: Invalid patch hunk on line 3: '*** Environment ID: e2' is not a valid hunk header. Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'
    "#]],
    );
    check_body(
        "*** Delete File: a\n*** Environment ID: e1",
        expect![[r#"
        line 3: Invalid patch hunk on line 3: '*** Environment ID: e1' is not a valid hunk header. Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'
    "#]],
    );
    check_body(
        "*** Environment ID: ",
        expect![[r#"
        line 2: Invalid patch hunk on line 2: '*** Environment ID:' is not a valid hunk header. Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'
    "#]],
    );
    check_body(
        "*** Frobnicate File: foo",
        expect![[r#"
        line 2: Invalid patch hunk on line 2: '*** Frobnicate File: foo' is not a valid hunk header. Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'
    "#]],
    );
    check_body(
        "*** Add File:a",
        expect![[r#"
        line 2: Invalid patch hunk on line 2: '*** Add File:a' is not a valid hunk header. Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'
    "#]],
    );
    check_body(
        "*** Add File: ",
        expect![[r#"
        line 2: Invalid patch hunk on line 2: '*** Add File:' is not a valid hunk header. Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'
    "#]],
    );
    check_body(
        "",
        expect![[r#"
        line 2: Invalid patch hunk on line 2: '' is not a valid hunk header. Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'
    "#]],
    );
    check_body(
        "*** Delete File: a\n\n*** Delete File: b",
        expect![[r#"
        line 3: Invalid patch hunk on line 3: '' is not a valid hunk header. Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'
    "#]],
    );
    check_body(
        "*** Add File: a\n+x\n\n*** Delete File: b",
        expect![[r#"
        line 4: Invalid patch hunk on line 4: '' is not a valid hunk header. Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'
    "#]],
    );
    check_body(
        "*** Add File: a\nx",
        expect![[r#"
        line 3: Invalid patch hunk on line 3: 'x' is not a valid hunk header. Valid hunk headers: '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'
    "#]],
    );
}

#[test]
fn updates() {
    check_body(
        "*** Update File: a\n*** Move to: b\n@@ f\n a\n-b\n+c\n\n@@\n+d\n*** End of File",
        expect![[r#"
        2 update "a" to "b"
          4 hunk 1 ["f"] ="a" -"b" +"c" =""
          9 hunk 2 [] +"d" eof
    "#]],
    );
    check_body(
        "*** Update File: a\n-b\n+c\n*** Update File: d\n\n-e",
        expect![[r#"
        2 update "a"
          3 hunk 1 [] -"b" +"c"
        5 update "d"
          6 hunk 2 [] ="" -"e"
    "#]],
    );
    check_body(
        "*** Update File: a\n@@ class A\n@@\n@@   def b \n-c\n@@ \n-d",
        expect![[r#"
        2 update "a"
          3 hunk 1 ["class A", "  def b"] -"c"
          7 hunk 2 [] -"d"
    "#]],
    );
    check_body(
        "*** Update File: a\n *** Delete File: b\n *** End of File\n @@\n-x\n *** End Patch",
        expect![[r#"
        2 update "a"
          3 hunk 1 [] ="*** Delete File: b" ="*** End of File" ="@@" -"x" ="*** End Patch"
    "#]],
    );
    check_body(
        "*** Update File: a\n@@\n-x\n*** End of File\n\n   \n@@\n-y",
        expect![[r#"
        2 update "a"
          3 hunk 1 [] -"x" eof
          8 hunk 2 [] -"y"
    "#]],
    );
    check_body(
        "*** Update File: a\n*** End of File\n-x",
        expect![[r#"
        2 update "a"
          4 hunk 1 [] -"x"
    "#]],
    );
    check(
        "*** Begin Patch\n*** Update File: a\n-x\n  *** End Patch",
        expect![[r#"
        2 update "a"
          3 hunk 1 [] -"x"
    "#]],
    );
    check(
        "*** Begin Patch\n*** Update File: a\n-x\0\u{85}\r\n*** End Patch",
        expect![[r#"
        2 update "a"
          3 hunk 1 [] -"x\0\u{85}"
    "#]],
    );
}

#[test]
fn updates_that_are_none() {
    check_body(
        "*** Update File: a",
        expect![[r#"
        line 2: Invalid patch hunk on line 2: Update file hunk for path 'a' is empty
    "#]],
    );
    check_body(
        "*** Update File: a\n*** Move to: b",
        expect![[r#"
        line 2: Invalid patch hunk on line 2: Update file hunk for path 'a' is empty
    "#]],
    );
    check_body(
        "*** Update File: a\n@@ f",
        expect![[r#"
        line 3: Invalid patch hunk on line 3: Update hunk does not contain any lines
    "#]],
    );
    check_body(
        "*** Update File: a\n@@\n*** End of File",
        expect![[r#"
        line 3: Invalid patch hunk on line 3: Update hunk does not contain any lines
    "#]],
    );
    check_body(
        "*** Update File: a\n@@\n-a\n@@ g\n*** Delete File: b",
        expect![[r#"
        line 5: Invalid patch hunk on line 5: Update hunk does not contain any lines
    "#]],
    );
    check_body(
        "*** Update File: a\n*** End of File",
        expect![[r#"
        line 2: Invalid patch hunk on line 2: Update file hunk for path 'a' is empty
    "#]],
    );
    check_body(
        "*** Update File: a\n@@text\n-a",
        expect![[r#"
        line 3: Invalid patch hunk on line 3: Unexpected line found in update hunk: '@@text'. Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)
    "#]],
    );
    check_body(
        "*** Update File: a\n@@@\n-a",
        expect![[r#"
        line 3: Invalid patch hunk on line 3: Unexpected line found in update hunk: '@@@'. Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)
    "#]],
    );
    check_body(
        "*** Update File: a\n-a\n@@text",
        expect![[r#"
        line 4: Invalid patch hunk on line 4: Unexpected line found in update hunk: '@@text'. Expected update hunk to start with a @@ context marker, or a line of the hunk to start with ' ' (context line), '+' (added line), or '-' (removed line)
    "#]],
    );
    check_body(
        "*** Update File: a\n-a\n*** Move to: b",
        expect![[r#"
        line 4: Invalid patch hunk on line 4: Unexpected line found in update hunk: '*** Move to: b'. Expected update hunk to start with a @@ context marker, or a line of the hunk to start with ' ' (context line), '+' (added line), or '-' (removed line)
    "#]],
    );
    check_body(
        "*** Update File: a\n*** Move to: b\n*** Move to: c\n-a",
        expect![[r#"
        line 4: Invalid patch hunk on line 4: Unexpected line found in update hunk: '*** Move to: c'. Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)
    "#]],
    );
    check_body(
        "*** Update File: a\n-a\n*** End of File\n-b",
        expect![[r#"
        line 5: Invalid patch hunk on line 5: Unexpected line found in update hunk: '-b'. Expected update hunk to start with a @@ context marker
    "#]],
    );
    check_body(
        "*** Update File: a\n\tx",
        expect![[r#"
        line 3: Invalid patch hunk on line 3: Unexpected line found in update hunk: '	x'. Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)
    "#]],
    );
}

#[test]
fn an_error_says_what_could_stand_there() {
    let error = parse("*** Begin Patch\n*** Update File: a\n-a\nb\n*** End Patch").unwrap_err();
    assert_eq!((error.line, error.excerpt.as_str()), (4, "b"));
    assert!(error.expected.contains("'@@'") && error.expected.contains("'-'"));
    let long = "x".repeat(5000);
    let error = parse(&format!("*** Begin Patch\n{long}\n*** End Patch")).unwrap_err();
    assert!(error.message.len() < 600, "the patch is not echoed");
}

fn line() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("*** Begin Patch"),
        Just("*** End Patch"),
        Just("*** Add File: a"),
        Just("*** Delete File: b"),
        Just("*** Update File: c"),
        Just("*** Move to: d"),
        Just("*** End of File"),
        Just("*** Environment ID: e"),
        Just("<<EOF"),
        Just("@@"),
        Just("@@ f"),
        Just(" g"),
        Just("-h"),
        Just("+i"),
        Just(""),
        Just(" "),
        Just("\r"),
    ]
    .prop_map(str::to_owned)
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "\\PC*|[*@ +\\-\\s]*") {
        let _ = parse(&text);
    }

    #[test]
    fn no_lines_make_it_panic(lines in proptest::collection::vec(line(), 0..20)) {
        let body = lines.join("\n");
        for text in [body.clone(), format!("*** Begin Patch\n{body}\n*** End Patch")] {
            if let Ok(patch) = parse(&text) {
                for (at, hunk) in patch.hunks().enumerate() {
                    prop_assert_eq!(hunk.index, at + 1);
                    prop_assert!(!hunk.lines.is_empty());
                    prop_assert!(hunk.span.start <= hunk.body && hunk.body <= hunk.span.end);
                    // The span is the hunk: cut out and read alone, it is the same.
                    let alone = format!("*** Begin Patch\n*** Update File: c\n{}\n*** End Patch", &text[hunk.span.clone()]);
                    let alone = parse(&alone).expect("a hunk is a hunk");
                    prop_assert_eq!(&alone.hunks().next().expect("it is there").lines, &hunk.lines);
                }
            }
        }
    }
}
