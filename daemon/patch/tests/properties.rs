//! Patches made of random edits give the edited files; long ones take no long time.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

use std::{
    collections::BTreeSet,
    fmt::Write as _,
    time::{Duration, Instant},
};

use ccd_patch::{Action, MemoryTree, PlanError, Replacement, UpdateError, amend, apply, parse, plan};
use proptest::prelude::*;

/// A piece of a file: lines that stay, then lines that become others.
type Piece = (Vec<String>, Vec<String>, Vec<String>);

fn lines(most: usize) -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec("[ab ]{0,3}|[^\\r\\n\u{feff}]{0,6}", 0..most)
}

/// Files of few different lines, so that hunks fit at many places.
fn pieces() -> impl Strategy<Value = Vec<Piece>> {
    proptest::collection::vec((lines(4), lines(3), lines(3)), 1..6)
}

/// The file, the file afterwards and a patch from the one to the other, each hunk with all lines since the last.
fn made(pieces: &[Piece], ending: &str) -> (String, String, String) {
    let (mut old, mut new, mut patch) = (String::new(), String::new(), String::from("*** Begin Patch\n*** Update File: f\n"));
    for (kept, removed, added) in pieces {
        // A hunk without old lines would go to the end of the file.
        if kept.is_empty() && removed.is_empty() {
            continue;
        }
        patch.push_str("@@\n");
        for line in kept {
            let _ = write!(old, "{line}{ending}");
            let _ = write!(new, "{line}{ending}");
            let _ = writeln!(patch, " {line}");
        }
        for line in removed {
            let _ = write!(old, "{line}{ending}");
            let _ = writeln!(patch, "-{line}");
        }
        for line in added {
            let _ = write!(new, "{line}{ending}");
            let _ = writeln!(patch, "+{line}");
        }
    }
    patch.push_str("*** End Patch\n");
    (old, new, patch)
}

proptest! {
    #[test]
    fn edits_give_the_edited_file(pieces in pieces(), crlf in any::<bool>()) {
        let (old, new, patch) = made(&pieces, if crlf { "\r\n" } else { "\n" });
        prop_assume!(patch.contains("@@"));
        let patch = parse(&patch).unwrap();
        let Action::Update { hunks, .. } = &patch.operations[0].action else { panic!("it is an update") };
        // Hunks cover the file without a gap, so each is found exactly where it was made.
        let updated = apply(old.as_bytes(), hunks).unwrap();
        prop_assert_eq!(String::from_utf8(updated.bytes).unwrap(), new);
        prop_assert_eq!(updated.matches.len(), hunks.len());
    }

    #[test]
    fn every_bad_hunk_is_told_and_amending_them_helps(pieces in pieces(), bad in proptest::collection::btree_set(0_usize..5, 1..4)) {
        let (old, new, good) = made(&pieces, "\n");
        prop_assume!(good.contains("@@"));
        let count = parse(&good).unwrap().hunks().count();
        let bad: BTreeSet<usize> = bad.into_iter().filter(|&index| index < count).map(|index| index + 1).collect();
        prop_assume!(!bad.is_empty());
        // A line that is nowhere, at the beginning of each bad hunk.
        let mut spoilt = String::new();
        let mut hunk = 0;
        for line in good.split_inclusive('\n') {
            spoilt.push_str(line);
            if line == "@@\n" {
                hunk += 1;
                if bad.contains(&hunk) {
                    spoilt.push_str(" no such line\n");
                }
            }
        }
        let mut tree = MemoryTree::default();
        tree.file("f", &old);
        let Err(PlanError::Refused { faults, failures }) = plan(&parse(&spoilt).unwrap(), &mut tree) else {
            panic!("it is refused")
        };
        prop_assert!(faults.is_empty());
        let told: BTreeSet<usize> = failures.iter().map(|failure| failure.miss.hunk).collect();
        // One behind a bad one may be missed as well or be found earlier, but no bad one goes untold.
        prop_assert!(told.is_superset(&bad));
        let patch = parse(&good).unwrap();
        let hunks: Vec<_> = patch.hunks().collect();
        let texts: Vec<(usize, &str)> = bad.iter().map(|&index| (index, &good[hunks[index - 1].span.clone()])).collect();
        let replacements: Vec<_> = texts.iter().map(|&(index, text)| Replacement { index, text }).collect();
        let amended = amend(&spoilt, &replacements).unwrap();
        prop_assert_eq!(&amended, &good);
        let plan = plan(&parse(&amended).unwrap(), &mut tree).unwrap();
        tree.carry_out(&plan);
        prop_assert_eq!(tree.get("f").unwrap(), new.as_bytes());
    }

    #[test]
    fn no_hunk_on_no_file_panics(file in "[ab \\r\\n\\t\u{feff}\u{2014}]{0,40}", body in proptest::collection::vec("@@|@@ [ab]{1,2}|[ +-][ab \u{feff}-]{0,2}|\\*\\*\\* End of File|", 1..12)) {
        let text = format!("*** Begin Patch\n*** Update File: f\n{}\n*** End Patch", body.join("\n"));
        let Ok(patch) = parse(&text) else { return Ok(()) };
        let Action::Update { hunks, .. } = &patch.operations[0].action else { panic!("it is an update") };
        match apply(file.as_bytes(), hunks) {
            Ok(updated) => {
                let text = String::from_utf8(updated.bytes).unwrap();
                let text = text.trim_start_matches('\u{feff}');
                prop_assert!(text.is_empty() || text.ends_with(['\n', '\r']));
            }
            Err(UpdateError::Misses(misses)) => prop_assert!(misses.windows(2).all(|pair| pair[0].hunk < pair[1].hunk)),
            Err(UpdateError::NotText { .. } | UpdateError::Stopped) => panic!("it is text, and nobody stops"),
        }
    }
}

/// Builds without optimisation, on a busy machine: far more than it takes, far less than anything quadratic would.
const LONG: Duration = Duration::from_secs(8);

fn timed(name: &str, file: &str, body: &str) {
    let text = format!("*** Begin Patch\n*** Update File: f\n{body}*** End Patch\n");
    let mut tree = MemoryTree::default();
    tree.file("f", file);
    let start = Instant::now();
    let patch = parse(&text).unwrap();
    let planned = plan(&patch, &mut tree);
    let took = start.elapsed();
    assert!(took < LONG, "{name} took {took:?}");
    if std::env::var_os("CCD_SHOW_TIMES").is_some() {
        let outcome = match planned {
            Ok(plan) => format!("{} found", plan.matches.len()),
            Err(PlanError::Refused { failures, .. }) => format!("{} missed", failures.len()),
            Err(error) => error.to_string(),
        };
        let _ = std::io::Write::write_all(&mut std::io::stderr(), format!("{name}: {took:?}, {outcome}\n").as_bytes());
    }
}

#[test]
fn long_files_and_long_patches_take_linear_time() {
    let file: String = (0..100_000).map(|line| format!("line {line}\n")).collect();
    let hunks = |make: &dyn Fn(usize) -> String| (0..5_000).map(|hunk| make(hunk * 20)).collect::<String>();
    timed("exact", &file, &hunks(&|at| format!("@@\n line {at}\n-line {}\n+changed\n", at + 1)));
    timed("loose", &file, &hunks(&|at| format!("@@\n   line {at}\n-line {}  \n+changed\n", at + 1)));
    timed("missed", &file, &hunks(&|at| format!("@@\n line {at}\n-line {}x\n+changed\n", at + 1)));
    timed("nowhere", &file, &hunks(&|at| format!("@@\n nothing {at}\n-of this\n+changed\n")));
    timed("without context", &file, &hunks(&|at| format!("@@ nothing {at}\n-line {at}\n+changed\n")));
    let same = "same\n".repeat(100_000);
    timed("all alike", &same, &hunks(&|_| "@@\n same\n-same\n+changed\n".to_owned()));
    timed("all alike and missed", &same, &hunks(&|_| "@@\n same\n same\n-same\n*** End of File\n@@\n-same\n".to_owned()));
    let two = "a\nb\n".repeat(50_000);
    let long = " a\n b\n".repeat(500);
    timed("repeats itself", &two, &(0..50).map(|_| format!("@@\n{long}-b\n")).collect::<String>());
}
