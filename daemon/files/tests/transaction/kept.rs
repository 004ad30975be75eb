//! What is kept for later: undo, outcomes, late writes; and transactions over several roots.

use std::{fs, io::Write, sync::Arc, time::Duration};

use ccd_files::{Change, Durability, Expect, Limits, Options, Outcome, OutcomeState, Root, State, Transaction, TransactionError};

use crate::{
    races::{go_on, stopped_at},
    world::{World, remove, version, write},
};

fn with_limits(limits: Limits) -> World {
    let mut world = World::new();
    world.state = State::open(&world.state_path(), limits).unwrap();
    world
}

#[test]
fn what_is_written_late_into_the_old_file_is_kept_and_told() {
    let world = World::new();
    world.put("a", "old\n");
    let mut late = fs::File::options().append(true).open(world.path("a")).unwrap();
    let child = stopped_at(&world, "committed", &["write:a:new\n"]);
    late.write_all(b"late\n").unwrap();
    let said = go_on(child);
    assert!(said.starts_with("committed Exchange [LateWrite"), "{said}");
    assert_eq!(world.text("a"), "new\n");
    let kept = world.state_path().join("undo/paused/late-0");
    assert_eq!(fs::read_to_string(kept).unwrap(), "old\nlate\n");
    world.no_litter();
}

#[test]
fn undo_is_bounded_in_bytes_and_time() {
    let world = with_limits(Limits { undo_bytes: 100, ..Limits::default() });
    world.put("a", &"0".repeat(40));
    for round in 1..5 {
        let before = world.text("a");
        let committed =
            world.commit_as(&format!("r{round}"), vec![write("a", &round.to_string().repeat(40), version(&before))]).unwrap();
        assert!(committed.undoable);
    }
    let kept: Vec<bool> = (1..5).map(|round| world.state.undo(&format!("r{round}")).unwrap().is_some()).collect();
    assert_eq!(kept, [false, false, true, true]);
    world.put("big", &"x".repeat(200));
    assert!(!world.commit_as("big", vec![write("big", "y", Expect::Any)]).unwrap().undoable);
    assert!(world.state.undo("big").unwrap().is_none());
    // Another process reads what is there from the folder.
    world.commit_as("last", vec![write("a", "z", Expect::Any)]).unwrap();
    let again = State::open(&world.state_path(), Limits { undo_seconds: 0, ..Limits::default() }).unwrap();
    std::thread::sleep(Duration::from_millis(2100));
    assert!(again.undo("last").unwrap().is_none());
    assert_eq!(fs::read_dir(world.state_path().join("undo")).unwrap().count(), 0);
}

fn outcome(txn_id: &str, state: OutcomeState, result: &[u8]) -> Outcome {
    let time = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    Outcome { txn_id: txn_id.to_owned(), request: Some([3; 16]), state, time, result: result.to_vec() }
}

#[test]
fn outcomes_come_back_as_they_were_stored() {
    let world = with_limits(Limits { outcome_bytes: 700, ..Limits::default() });
    let odd = "an id with / and \n in it, and very long: ".repeat(4);
    for (id, result) in [("plain", &b"\x00\xff\n result"[..]), (odd.as_str(), b"")] {
        let stored = outcome(id, OutcomeState::Committed, result);
        world.state.put_outcome(&stored, Durability::Power).unwrap();
        assert_eq!(world.state.outcome(id).unwrap(), Some(stored));
    }
    assert_eq!(world.state.outcome("other").unwrap(), None);
    // Cut short or changed it is not believed.
    let file = world.state_path().join("outcomes/plain");
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(world.state.outcome("plain").unwrap(), None);
    // The oldest go first.
    for n in 0..10 {
        world.state.put_outcome(&outcome(&format!("n{n}"), OutcomeState::RolledBack, &[0; 30]), Durability::Process).unwrap();
    }
    assert_eq!(world.state.outcome("n0").unwrap(), None);
    assert!(world.state.outcome("n9").unwrap().is_some());
    assert!(fs::read_dir(world.state_path().join("outcomes")).unwrap().count() < 9);
}

#[test]
fn an_id_may_be_any_text() {
    let world = World::new();
    world.put("a", "old\n");
    world.commit_as("../../x y\n", vec![write("a", "new\n", version("old\n"))]).unwrap();
    let entry = world.state.undo("../../x y\n").unwrap().unwrap();
    world.commit(entry.changes).unwrap();
    assert_eq!(world.text("a"), "old\n");
    world.no_litter();
}

#[test]
fn several_roots_change_as_one() {
    let one = World::new();
    let two = World::new();
    one.put("a", "one\n");
    two.put("a", "two\n");
    let commit = |id: &str, second: Expect| {
        let roots: Vec<Arc<Root>> = vec![one.root.clone(), two.root.clone()];
        let keys: Vec<_> = roots.iter().map(|root| root.identity()).collect();
        let locks = one.state.lock(&keys, Duration::from_secs(5)).unwrap();
        let Change::Write { bytes, .. } = write("a", "new\n", Expect::Any) else { unreachable!() };
        let change = |root, expect| Change::Write {
            root,
            rel: "a".into(),
            bytes: bytes.clone(),
            expect,
            metadata_from: None,
            create_parents: false,
        };
        let options = Options { durability: Durability::Process, ..Options::default() };
        let changes = vec![change(0, version("one\n")), change(1, second)];
        Transaction { state: &one.state, txn_id: id.to_owned(), roots, options, changes, memo: None }
            .commit(&locks, &mut |_| Ok(()))
    };
    assert!(matches!(commit("x", Expect::Absent).unwrap_err(), TransactionError::ContentChanged { .. }));
    assert_eq!((one.text("a").as_str(), two.text("a").as_str()), ("one\n", "two\n"));
    commit("y", version("two\n")).unwrap();
    assert_eq!((one.text("a").as_str(), two.text("a").as_str()), ("new\n", "new\n"));
    let entry = one.state.undo("y").unwrap().unwrap();
    assert_eq!(entry.roots.len(), 2);
    one.no_litter();
    two.no_litter();
}

#[test]
fn one_small_file_is_quick() {
    let world = World::new();
    let text = |round: usize| format!("{round}\n").repeat(1000);
    world.put("a", &text(0));
    let mut times: Vec<Duration> = (1..200)
        .map(|round| {
            let start = std::time::Instant::now();
            world.commit(vec![write("a", &text(round), version(&text(round - 1)))]).unwrap();
            start.elapsed()
        })
        .collect();
    times.sort();
    eprintln!("one file of 1000 lines, process: p50 {:?}, p95 {:?}", times[100], times[189]);
    world.commit(vec![remove("a", version(&text(199)))]).unwrap();
}
