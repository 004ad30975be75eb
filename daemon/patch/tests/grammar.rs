//! The grammar that models are held to and the parser agree, with Lark itself as the judge of the grammar.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

use std::{
    fmt::Write as _,
    io::Write as _,
    process::{Command, Stdio},
};

use ccd_patch::{Action, GRAMMAR, HunkLine, Patch, parse};
use proptest::{
    prelude::*,
    strategy::ValueTree,
    test_runner::{Config, RngAlgorithm, TestRng, TestRunner},
};

/// Which of the texts the grammar accepts.
fn judged(texts: &[String]) -> Vec<bool> {
    let path = std::env::var_os("CCD_LARK_PYTHONPATH")
        .expect("CCD_LARK_PYTHONPATH names no folder with Python's lark; ./tests/run gets it and sets this");
    let mut judge = Command::new("python3")
        .args(["-B", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/lark/judge.py")])
        .env("PYTHONPATH", path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("python3 is not there; ./tests/run says how to install it");
    let job = serde_json::json!({ "grammar": GRAMMAR, "texts": texts }).to_string();
    judge.stdin.take().unwrap().write_all(job.as_bytes()).unwrap();
    let output = judge.wait_with_output().unwrap();
    assert!(output.status.success(), "Python's lark did not run; ./tests/run gets it");
    serde_json::from_slice(&output.stdout).unwrap()
}

/// So many values, the same in every run.
fn generated<S: Strategy>(strategy: &S, count: usize) -> Vec<S::Value> {
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(Config::default(), rng);
    (0..count).map(|_| strategy.new_tree(&mut runner).unwrap().current()).collect()
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), "[ a@+*-]{1,4}", "[^\\n\\r]{0,5}", Just("*** End Patch".to_owned())]
}

/// Paths, a few of them only blanks, which the parser takes for no path.
fn path() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z./ ]{1,6}", "\\PC{1,4}"]
}

/// One part of an update: any lines in any order, as the grammar has them.
fn change() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        Just("@@".to_owned()),
        text().prop_map(|text| format!("@@ {text}")),
        ("[ +-]", text()).prop_map(|(sign, text)| sign + &text)
    ];
    (proptest::collection::vec(line, 1..6), any::<bool>()).prop_map(|(mut lines, end)| {
        if end {
            lines.push("*** End of File".to_owned());
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    })
}

/// Sections as the grammar has them.
fn section() -> impl Strategy<Value = String> {
    let add = (path(), proptest::collection::vec(text(), 1..4)).prop_map(|(path, lines)| {
        let lines: String = lines.iter().map(|line| format!("+{line}\n")).collect();
        format!("*** Add File: {path}\n{lines}")
    });
    let delete = path().prop_map(|path| format!("*** Delete File: {path}\n"));
    let update = (path(), proptest::option::weighted(0.3, path()), proptest::option::weighted(0.9, change())).prop_map(
        |(path, to, change)| {
            let to = to.map(|to| format!("*** Move to: {to}\n")).unwrap_or_default();
            format!("*** Update File: {path}\n{to}{}", change.unwrap_or_default())
        },
    );
    prop_oneof![add, delete, update]
}

fn patch() -> impl Strategy<Value = String> {
    (proptest::collection::vec(section(), 1..4), any::<bool>()).prop_map(|(sections, last)| {
        format!("*** Begin Patch\n{}*** End Patch{}", sections.concat(), if last { "\n" } else { "" })
    })
}

/// The patch without anything that is merely forgiven.
fn canonical(patch: &Patch<'_>) -> String {
    let mut text = String::from("*** Begin Patch\n");
    for operation in &patch.operations {
        match &operation.action {
            Action::Add { lines } => {
                let _ = writeln!(text, "*** Add File: {}", operation.path);
                for line in lines {
                    let _ = writeln!(text, "+{line}");
                }
            }
            Action::Delete => drop(writeln!(text, "*** Delete File: {}", operation.path)),
            Action::Update { move_to, hunks } => {
                let _ = writeln!(text, "*** Update File: {}", operation.path);
                if let Some(to) = move_to {
                    let _ = writeln!(text, "*** Move to: {to}");
                }
                for hunk in hunks {
                    if hunk.contexts.is_empty() {
                        text.push_str("@@\n");
                    }
                    for context in &hunk.contexts {
                        let _ = writeln!(text, "@@ {}", context.text);
                    }
                    for line in &hunk.lines {
                        let _ = match line {
                            HunkLine::Context(line) => writeln!(text, " {line}"),
                            HunkLine::Removed(line) => writeln!(text, "-{line}"),
                            HunkLine::Added(line) => writeln!(text, "+{line}"),
                        };
                    }
                    if hunk.end_of_file {
                        text.push_str("*** End of File\n");
                    }
                }
            }
        }
    }
    text + "*** End Patch\n"
}

/// A patch that the grammar has no words for: no section, an addition without lines, a hunk behind the end of a file.
fn beyond_grammar(patch: &Patch<'_>) -> bool {
    patch.operations.is_empty()
        || patch.operations.iter().any(|operation| match &operation.action {
            Action::Add { lines } => lines.is_empty(),
            Action::Delete => false,
            Action::Update { hunks, .. } => hunks.iter().rev().skip(1).any(|hunk| hunk.end_of_file),
        })
}

#[test]
fn the_parser_reads_what_the_grammar_accepts() {
    let texts = generated(&patch(), 1500);
    let mut read = 0;
    for (text, accepted) in texts.iter().zip(judged(&texts)) {
        assert!(accepted, "the grammar refuses a patch of its own language: {text:?}");
        match parse(text) {
            Ok(_) => read += 1,
            // What a grammar of this kind cannot say: an update has a change, a change has lines, a path has a letter.
            Err(error) => {
                let known = ["is empty", "does not contain any lines"].iter().any(|words| error.message.contains(words));
                let blank = text
                    .lines()
                    .any(|line| ["*** Add File:", "*** Delete File:", "*** Update File:", "*** Move to:"].contains(&line.trim()));
                assert!(known || blank, "{text:?}: {error}");
            }
        }
    }
    assert!(read > texts.len() / 3, "only {read} of {} patches are real ones", texts.len());
}

#[test]
fn the_grammar_accepts_what_the_parser_reads_without_forgiving() {
    let line = prop_oneof![
        Just("*** Begin Patch".to_owned()),
        Just("*** End Patch".to_owned()),
        Just("*** End of File".to_owned()),
        Just("*** Environment ID: e".to_owned()),
        "\\*\\*\\* (Add File|Delete File|Update File|Move to): ?[ab ]{0,3}",
        "[ +-][ab]{0,2}",
        "@@( [ab])?|@@@|@@a",
        "[ab \\t]{0,2}",
    ];
    // Patches with one line changed, lost or added: near the border of the language, on both sides.
    let changed = (patch(), proptest::option::of(line), any::<proptest::sample::Index>(), any::<bool>()).prop_map(
        |(text, line, at, replace)| {
            let mut lines: Vec<&str> = text.split('\n').collect();
            let at = at.index(lines.len());
            if replace {
                lines.remove(at);
            }
            if let Some(line) = &line {
                lines.insert(at, line);
            }
            lines.join("\n")
        },
    );
    let texts = generated(&changed, 3000);
    let accepted = judged(&texts);
    let read: Vec<Option<Patch<'_>>> = texts.iter().map(|text| parse(text).ok()).collect();
    let canonicals: Vec<String> = read.iter().map(|patch| patch.as_ref().map(canonical).unwrap_or_default()).collect();
    let (mut both, mut forgiven) = (0, 0);
    for (((text, accepted), patch), (canonical, expressible)) in
        texts.iter().zip(accepted).zip(&read).zip(canonicals.iter().zip(judged(&canonicals)))
    {
        let Some(patch) = patch else { continue };
        assert_eq!(expressible, !beyond_grammar(patch), "{text:?}: {canonical:?}");
        if accepted {
            both += 1;
        } else {
            assert!(beyond_grammar(patch) || patch.environment.is_some() || text.trim_end() != canonical.trim_end(), "{text:?}");
            forgiven += 1;
        }
    }
    assert!(both > 200 && forgiven > 100, "{both} accepted by both, {forgiven} only forgiven");
}
