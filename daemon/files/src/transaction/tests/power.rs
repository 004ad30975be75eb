//! The power fails: at every point, with every subset of what was not durable.

use std::{collections::BTreeMap, path::PathBuf};

use rustix::io::Errno;

use super::{
    Scene,
    crash::{CrashFs, Event, Model, ROOT},
    fault::{FaultFs, Which},
    left, options, recovered, run, scene, warm,
};
use crate::transaction::{
    change::{Durability, WriteMode},
    outcome::OutcomeState,
    store::{Limits, Store},
};

type Tree = BTreeMap<String, String>;

fn user(fs: &CrashFs) -> Tree {
    fs.tree().into_iter().filter(|(path, _)| path.starts_with("/root/")).collect()
}

fn again(scene: &Scene<CrashFs>) -> Scene<CrashFs> {
    Scene { base: scene.base.clone(), state: scene.state }
}

/// Runs the transaction, and crashes at every point of it. `which` lets a call fail, so that undoing is crashed too.
fn enumerate(
    model: Model,
    mode: WriteMode,
    durability: Durability,
    which: Which,
    plain_renames: bool,
    skip: fn(&Event) -> bool,
    warmed: bool,
) -> Result<u64, String> {
    let fs = CrashFs::new();
    let there = scene(&fs, &ROOT, PathBuf::from("/"));
    Store::open(&fs, &there.state, PathBuf::from("/state"), Limits::default()).unwrap();
    if warmed {
        warm(&fs, &there);
    }
    let start = fs.clone();
    fs.settle();
    let mut faulty = FaultFs::new(&fs, which, Errno::IO);
    faulty.plain_renames = plain_renames;
    let result = run(&faulty, &Scene { base: there.base.clone(), state: there.state }, options(durability, mode));
    fs.told();
    fs.log.borrow_mut().retain(|event| !skip(event));
    let old = user(&start);
    let done = {
        let untouched = start.clone();
        run(&untouched, &again(&there), options(durability, mode)).unwrap();
        user(&untouched)
    };
    let mut crashes = 0;
    let events = fs.log.borrow().len();
    for at in 0..=events {
        let told = fs.log.borrow()[..at].iter().any(|event| matches!(event, Event::Told));
        for disk in CrashFs::crashes(&start, &fs, at, model) {
            crashes += 1;
            let before = disk.tree();
            let state = recovered(&disk, &there).map_err(|errno| format!("{errno:?} at {at} of {events}: {before:#?}"))?;
            let after = user(&disk);
            let tell = || {
                let log = fs.log.borrow();
                format!(
                    "crash at {at} of {events}, after {:?}\nbefore {before:#?}\nafter {after:#?}",
                    &log[at.saturating_sub(3)..at]
                )
            };
            if after != old && after != done {
                return Err(format!("mixed: {}", tell()));
            }
            if told && (after == done) != result.is_ok() {
                return Err(format!("told and lost: {}", tell()));
            }
            if told && result.is_ok() && state != Some(OutcomeState::Committed) {
                return Err(format!("the outcome is lost: {state:?} {}", tell()));
            }
            if after == done && state == Some(OutcomeState::RolledBack) || after == old && state == Some(OutcomeState::Committed)
            {
                return Err(format!("told otherwise: {state:?} {}", tell()));
            }
            if !left(&disk, &there).is_empty() {
                return Err(format!("litter {:?}: {}", left(&disk, &there), tell()));
            }
            let _ = recovered(&disk, &there);
            if user(&disk) != after {
                return Err(format!("not idempotent: {}", tell()));
            }
        }
    }
    Ok(crashes)
}

fn nothing(_: &Event) -> bool {
    false
}

#[test]
fn a_loss_of_power_leaves_old_or_new() {
    for model in [Model::Weak, Model::Ordered] {
        for mode in [WriteMode::Replace, WriteMode::InPlace] {
            let crashes = enumerate(model, mode, Durability::Power, Which::None, false, nothing, false).unwrap();
            eprintln!("{model:?} {mode:?}: {crashes} crashes, 0 violations");
        }
    }
    let crashes = enumerate(Model::Weak, WriteMode::Replace, Durability::Power, Which::None, true, nothing, false).unwrap();
    let warmed = enumerate(Model::Weak, WriteMode::Replace, Durability::Power, Which::None, false, nothing, true).unwrap();
    eprintln!("with a stage that is used again: {warmed} crashes, 0 violations");
    eprintln!("without exchange: {crashes} crashes, 0 violations");
}

#[test]
fn a_loss_of_power_while_undoing_leaves_old() {
    let mut crashes = 0;
    for n in 1..8 {
        let which = Which::Kind("rename", n);
        crashes += enumerate(Model::Weak, WriteMode::Replace, Durability::Power, which, false, nothing, true).unwrap();
        crashes += enumerate(Model::Weak, WriteMode::Replace, Durability::Power, Which::Kind("rename", n), false, nothing, false)
            .unwrap();
        crashes +=
            enumerate(Model::Weak, WriteMode::Replace, Durability::Power, Which::Kind("sync_folder", n), true, nothing, false)
                .unwrap();
        crashes +=
            enumerate(Model::Ordered, WriteMode::InPlace, Durability::Power, Which::Kind("write", n), false, nothing, false)
                .unwrap();
    }
    eprintln!("{crashes} crashes while undoing, 0 violations");
}

/// Each barrier carries weight: without it the model finds a violation. That also shows that the model bites.
#[test]
fn without_a_barrier_the_model_finds_a_violation() {
    let all = enumerate(Model::Weak, WriteMode::Replace, Durability::Process, Which::None, false, nothing, false);
    assert!(all.is_err(), "no syncs at all");
    for (what, skip) in [
        ("files", (|event| matches!(event, Event::SyncFile(_))) as fn(&Event) -> bool),
        ("folders", |event| matches!(event, Event::SyncFolder(_))),
    ] {
        let found = enumerate(Model::Weak, WriteMode::Replace, Durability::Power, Which::None, false, skip, false);
        assert!(found.is_err(), "without the syncs of {what}");
    }
}

#[test]
fn the_end_of_the_process_leaves_old_or_new_without_any_sync() {
    // What a killed process did is all there: the whole log up to the point.
    let fs = CrashFs::new();
    let there = scene(&fs, &ROOT, PathBuf::from("/"));
    let start = fs.clone();
    fs.settle();
    run(&fs, &again(&there), options(Durability::Process, WriteMode::Replace)).unwrap();
    assert!(!fs.log.borrow().iter().any(|event| matches!(event, Event::SyncFile(_) | Event::SyncAll)));
    let (old, done) = (user(&start), user(&fs));
    for at in 0..fs.log.borrow().len() {
        let disks = CrashFs::crashes(&start, &fs, at, Model::Ordered);
        // The subset that keeps everything is the last one in order.
        let disk = disks.last().unwrap();
        recovered(disk, &there).unwrap();
        assert!(user(disk) == old || user(disk) == done, "at {at}");
    }
}
