//! Every call fails once, and every call fails from some point on; for each number until the run passes untouched.

use std::{collections::BTreeMap, path::Path};

use rustix::io::Errno;

use super::{
    fault::{FaultFs, Which},
    left, options, recovered, run, scene, warm,
};
use crate::{
    Root,
    transaction::{
        change::{Atomic, Durability, WriteMode},
        fail::TransactionError,
        real::RealFs,
    },
};

type Tree = BTreeMap<String, String>;

fn tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            let text = match std::fs::read_to_string(&path) {
                Ok(text) => text,
                Err(_) => {
                    folders.push(path);
                    "folder".to_owned()
                }
            };
            tree.insert(name, text);
        }
    }
    tree
}

#[derive(Clone, Copy, Debug)]
struct Setup {
    durability: Durability,
    mode: WriteMode,
    plain_renames: bool,
    short: bool,
    /// An earlier transaction left its stage to be used again.
    warm: bool,
}

/// The two states, and how the files come from one to the other without a fault.
fn states(setup: Setup) -> (Tree, Tree, Atomic) {
    let dir = tempfile::tempdir().unwrap();
    let scene = scene(&RealFs, &RealFs::own(dir.path()).unwrap(), dir.path().to_path_buf());
    let old = tree(&dir.path().join("root"));
    let mut fs = FaultFs::new(&RealFs, Which::None, Errno::IO);
    (fs.plain_renames, fs.short) = (setup.plain_renames, setup.short);
    let scene = super::Scene { base: scene.base, state: scene.state };
    let committed = run(&fs, &scene, options(setup.durability, setup.mode)).unwrap();
    assert!(left(&RealFs, &super::Scene { base: scene.base, state: scene.state }).is_empty());
    (old, tree(&dir.path().join("root")), committed.atomic)
}

/// One run with a fault. False when the fault was not met.
fn one(setup: Setup, which: Which, errno: Errno, (old, new): (&Tree, &Tree), counts: &mut [u64; 3]) -> bool {
    let dir = tempfile::tempdir().unwrap();
    let real = scene(&RealFs, &RealFs::own(dir.path()).unwrap(), dir.path().to_path_buf());
    if setup.warm {
        warm(&RealFs, &real);
    }
    let mut fs = FaultFs::new(&RealFs, which, errno);
    (fs.plain_renames, fs.short) = (setup.plain_renames, setup.short);
    let faulty = super::Scene { base: real.base.clone(), state: real.state.clone() };
    let result = run(&fs, &faulty, options(setup.durability, setup.mode));
    if !fs.met() {
        return false;
    }
    let what = format!("{setup:?} {which:?} {errno:?} at {:?}: {result:?}", fs.failed.borrow());
    let visible = |tree: Tree| -> Tree { tree.into_iter().filter(|(path, _)| !path.starts_with(".ccd-tx")).collect() };
    let now = visible(tree(&dir.path().join("root")));
    match &result {
        Ok(_) => {
            assert_eq!(now, *new, "{what}");
            counts[0] += 1;
        }
        Err(TransactionError::RollbackFailed { .. }) => counts[1] += 1,
        Err(error) => {
            assert!(error.rolled_back(), "{what}");
            assert_eq!(now, *old, "{what}");
            counts[2] += 1;
        }
    }
    let state = recovered(&RealFs, &real).unwrap();
    let after = tree(&dir.path().join("root"));
    let expected = if result.is_ok() { new } else { old };
    assert_eq!(after, *expected, "{what}");
    assert!(left(&RealFs, &real).is_empty(), "{what}: {:?}", left(&RealFs, &real));
    let committed = state == Some(crate::OutcomeState::Committed);
    assert_eq!(committed, result.is_ok(), "{what}: {state:?}");
    // A second recovery changes nothing.
    recovered(&RealFs, &real).unwrap();
    assert_eq!(tree(&dir.path().join("root")), after);
    true
}

fn exhaust(setup: Setup, errnos: &[Errno], make: impl Fn(u64) -> Which) {
    let (old, new, atomic) = states(setup);
    let expected = match (setup.mode, setup.plain_renames) {
        (WriteMode::InPlace, _) => Atomic::JournaledInPlace,
        (_, true) => Atomic::Weak,
        (_, false) => Atomic::Exchange,
    };
    assert_eq!(atomic, expected);
    let (mut counts, mut runs) = ([0; 3], 0_u64);
    for errno in errnos {
        let mut n = 0;
        // An interrupted call that cannot be interrupted is no fault: go past it.
        let mut missed = 0;
        while missed < if *errno == Errno::INTR { 60 } else { 1 } {
            if one(setup, make(n), *errno, (&old, &new), &mut counts) {
                (runs, missed) = (runs + 1, 0);
            } else {
                missed += 1;
            }
            n += 1;
        }
    }
    eprintln!("{setup:?}: {runs} faults: {} committed, {} to be recovered, {} refused; 0 mixed", counts[0], counts[1], counts[2]);
    assert!(runs > 30, "the faults were not met");
}

const POWER: Setup =
    Setup { durability: Durability::Power, mode: WriteMode::Replace, plain_renames: false, short: false, warm: true };
const PROCESS: Setup = Setup { durability: Durability::Process, warm: false, ..POWER };

#[test]
fn any_single_call_fails() {
    exhaust(POWER, &[Errno::IO], Which::Nth);
    exhaust(PROCESS, &[Errno::NOSPC, Errno::ACCESS], Which::Nth);
}

#[test]
fn any_single_call_fails_where_names_cannot_be_exchanged() {
    exhaust(Setup { plain_renames: true, ..PROCESS }, &[Errno::IO], Which::Nth);
}

#[test]
fn any_single_call_fails_while_writing_in_place() {
    exhaust(Setup { mode: WriteMode::InPlace, ..PROCESS }, &[Errno::NOSPC], Which::Nth);
}

#[test]
fn interrupted_calls_and_short_writes_change_nothing() {
    let setup = Setup { short: true, ..POWER };
    let (old, new, _) = states(setup);
    let (mut counts, mut met) = ([0; 3], 0);
    for n in 0..400 {
        met += u64::from(one(setup, Which::Nth(n), Errno::INTR, (&old, &new), &mut counts));
    }
    assert!(met > 40 && counts == [met, 0, 0], "{met} interruptions: {counts:?}");
}

#[test]
fn every_call_fails_from_some_point_on() {
    exhaust(PROCESS, &[Errno::IO], Which::From);
    exhaust(Setup { mode: WriteMode::InPlace, ..PROCESS }, &[Errno::IO], Which::From);
}

#[test]
fn every_rename_fails_from_some_point_on() {
    let (old, new, _) = states(PROCESS);
    for kind in ["rename", "unlink", "write", "sync", "sync_folder"] {
        let setup = if kind.starts_with("sync") { POWER } else { PROCESS };
        let (mut counts, mut n) = ([0; 3], 0);
        while one(setup, Which::KindFrom(kind, n), Errno::IO, (&old, &new), &mut counts) {
            n += 1;
        }
        while one(setup, Which::Kind(kind, n), Errno::IO, (&old, &new), &mut counts) {
            n += 1;
        }
        assert!(n > 2, "{kind}");
    }
}

/// A rename that only fails between mounts, or on a mount point, is gone about in another way.
#[test]
fn what_cannot_be_renamed_is_staged_beside_or_written_in_place() {
    let (old, new, _) = states(PROCESS);
    for errno in [Errno::XDEV, Errno::BUSY] {
        let (mut counts, mut n) = ([0; 3], 0);
        while one(PROCESS, Which::Kind("rename", n), errno, (&old, &new), &mut counts) {
            n += 1;
        }
        eprintln!("{errno:?} at each of {n} renames: {counts:?}");
        assert!(counts[0] > 4, "{errno:?}: {counts:?}");
    }
}

/// Recovery itself fails at every call, and is repeated.
#[test]
fn any_call_of_recovery_fails() {
    let (old, new, _) = states(PROCESS);
    let mut runs = 0;
    for broken in ["rename", "unlink"] {
        for from in [3, 4, 5, 6] {
            for n in 0.. {
                let dir = tempfile::tempdir().unwrap();
                let real = scene(&RealFs, &RealFs::own(dir.path()).unwrap(), dir.path().to_path_buf());
                let fs = FaultFs::new(&RealFs, Which::KindFrom(broken, from), Errno::IO);
                let faulty = super::Scene { base: real.base.clone(), state: real.state.clone() };
                let result = run(&fs, &faulty, options(PROCESS.durability, PROCESS.mode));
                let fs = FaultFs::new(&RealFs, Which::Nth(n), Errno::IO);
                let faulty = super::Scene { base: real.base.clone(), state: real.state.clone() };
                let _ = recovered(&fs, &faulty);
                if !fs.met() {
                    break;
                }
                recovered(&RealFs, &real).unwrap();
                let expected = if result.is_ok() { &new } else { &old };
                assert_eq!(
                    tree(&dir.path().join("root")),
                    *expected,
                    "{broken} from {from}, recovery {n}: {:?}",
                    fs.failed.borrow()
                );
                assert!(left(&RealFs, &real).is_empty());
                runs += 1;
            }
        }
    }
    eprintln!("{runs} faults in recovery, 0 mixed");
    assert!(runs > 100);
}

/// A root that is not settled takes no edits, and says which transaction it waits for.
#[test]
fn edits_wait_for_what_cannot_be_undone() {
    let dir = tempfile::tempdir().unwrap();
    let real = scene(&RealFs, &RealFs::own(dir.path()).unwrap(), dir.path().to_path_buf());
    let faulty = super::Scene { base: real.base.clone(), state: real.state.clone() };
    // The intent, the stage, the journal and one exchange, then none.
    let fs = FaultFs::new(&RealFs, Which::KindFrom("rename", 4), Errno::IO);
    let error = run(&fs, &faulty, options(PROCESS.durability, PROCESS.mode)).unwrap_err();
    let TransactionError::RollbackFailed { paths, recovery_files, .. } = &error else { panic!("{error:?}") };
    let states: Vec<_> = paths.iter().map(|(path, state)| (path.file_name().unwrap().to_str().unwrap(), *state)).collect();
    use crate::PathState::{New, Old};
    assert_eq!(states, [("a", New), ("b", Old), ("c", Old), ("gone", Old)]);
    assert_eq!(recovery_files.len(), 1);
    assert_eq!(std::fs::read_to_string(&recovery_files[0]).unwrap(), super::OLD[0].1);
    let fs = FaultFs::new(&RealFs, Which::KindFrom("rename", 0), Errno::IO);
    let error = run(&fs, &faulty, options(PROCESS.durability, PROCESS.mode)).unwrap_err();
    assert_eq!(error, TransactionError::RecoveryPending { root: dir.path().join("root"), txn_id: "txn".to_owned() });
    // And once it can be undone, it is, and the edit goes through.
    run(&RealFs, &real, options(PROCESS.durability, PROCESS.mode)).unwrap();
    let _ = Root::open(&dir.path().join("root"), None).unwrap();
}
