//! Other writers: in the last instant, all the time, and while the process dies.

use std::{
    fs,
    os::unix::process::ExitStatusExt,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use ccd_files::{Expect, OutcomeState, TransactionError};
use ccd_text::Version;

use crate::{
    chaos::driver,
    world::{World, journals, remove, version, write},
};

/// Two writers, one of them by rename, count one file up. Every content that either believes to have written must
/// have been seen by whoever replaced it.
#[test]
fn no_update_is_lost_in_3000_races() {
    const ROUNDS: u64 = 3000;
    let world = World::new();
    let (wins, conflicts, theirs) = (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let lost = AtomicU64::new(0);
    for round in 0..ROUNDS {
        let before = format!("round {round}\n");
        world.put("f", &before);
        let other = world.path("other");
        fs::write(&other, format!("theirs {round}\n")).unwrap();
        let go = AtomicBool::new(false);
        let result = std::thread::scope(|scope| {
            let replacer = scope.spawn(|| {
                while !go.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
                // Spread over the time of a transaction.
                let until = Instant::now() + Duration::from_micros(round % 40 * 12);
                while Instant::now() < until {
                    std::hint::spin_loop();
                }
                // A careful replacer: it does not replace what it has not seen. That is checked with what it took out.
                rustix::fs::renameat_with(
                    rustix::fs::CWD,
                    &other,
                    rustix::fs::CWD,
                    world.path("f"),
                    rustix::fs::RenameFlags::EXCHANGE,
                )
                .unwrap();
                fs::read_to_string(&other).unwrap()
            });
            go.store(true, Ordering::Release);
            let result = world.commit(vec![write("f", &format!("ours {round}\n"), version(&before))]);
            (result, replacer.join().unwrap())
        });
        let (now, (result, taken)) = (world.text("f"), result);
        let (ours, their) = (format!("ours {round}\n"), format!("theirs {round}\n"));
        // Their write is either still there, or was replaced by somebody who had seen it; and we had not.
        if now != their {
            lost.fetch_add(1, Ordering::Relaxed);
        }
        match result {
            Ok(_) => {
                // Theirs came after ours, which is what they took out.
                assert_eq!(taken, ours, "round {round}");
                wins.fetch_add(1, Ordering::Relaxed);
            }
            Err(TransactionError::ContentChanged { paths }) => {
                assert_eq!(paths[0].now, Some(Version::of(their.as_bytes())), "round {round}");
                conflicts.fetch_add(1, Ordering::Relaxed);
                if taken == ours {
                    theirs.fetch_add(1, Ordering::Relaxed);
                }
            }
            Err(other) => panic!("round {round}: {other:?}"),
        }
        assert_eq!(journals(&world.state_path()), [""; 0]);
    }
    let count = |number: &AtomicU64| number.load(Ordering::Relaxed);
    eprintln!("{ROUNDS} races: ours first {}, refused {}, lost {}", count(&wins), count(&conflicts), count(&lost));
    assert_eq!(count(&lost), 0);
    assert!(count(&wins) > 0 && count(&conflicts) > 0, "the race was none");
}

#[test]
fn a_killed_process_leaves_old_or_new() {
    let world = World::new();
    for file in 0..5 {
        world.put(&format!("f{file}"), &format!("state 1 of {file}\n"));
    }
    let start = Instant::now();
    let (mut kills, mut seed) = (0_u64, 0x9e37_79b9_u64);
    while start.elapsed() < Duration::from_secs(4) {
        let mut child = Command::new(driver())
            .arg("flip")
            .args([world.root.path(), &world.state_path()])
            .arg("process")
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        std::thread::sleep(Duration::from_micros(2_000 + (seed >> 33) % 15_000));
        child.kill().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(9));
        world.state.recover(&|path| ccd_files::Root::open(path, None).ok().map(Into::into)).unwrap();
        world.state.recover_root(&world.root, &|_| Some(world.root.clone())).unwrap();
        world.no_litter();
        let states: Vec<String> =
            (0..5).map(|file| world.text(&format!("f{file}")).replace(&format!(" of {file}"), "")).collect();
        assert!(states.iter().all(|state| *state == states[0]), "mixed: {states:?}");
        kills += 1;
    }
    eprintln!("{kills} kills, 0 mixed, 0 litter");
    assert!(kills > 20);
}

/// The driver, stopped at a failpoint. The caller lets it go on, or kills it.
#[expect(clippy::zombie_processes, reason = "the caller waits for it; when it never stops the test has failed")]
pub(crate) fn stopped_at(world: &World, point: &str, specs: &[&str]) -> Child {
    let child = Command::new(driver())
        .arg("apply")
        .args([world.root.path(), &world.state_path()])
        .args(["paused", "process"])
        .args(specs)
        .env("CCD_FAILPOINT", format!("{point}:pause"))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let deadline = Instant::now() + Duration::from_secs(10);
    let pid = rustix::process::Pid::from_child(&child);
    loop {
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap();
        if stat.rsplit(") ").next().unwrap().starts_with('T') {
            return child;
        }
        assert!(Instant::now() < deadline, "it never came to {point}: {stat}");
        std::thread::yield_now();
    }
}

pub(crate) fn go_on(child: Child) -> String {
    rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::CONT).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

/// Two files: the first is written, then somebody changes the second before its turn.
fn second_file(point: &str, meddle: impl Fn(&World)) -> (World, String) {
    let world = World::new();
    world.put("a", "a old\n");
    world.put("b", "b old\n");
    let child = stopped_at(&world, point, &["write:a:a new\n", "write:b:b new\n", "add:d/c:c\n"]);
    meddle(&world);
    let said = go_on(child);
    (world, said)
}

#[test]
fn who_writes_in_the_last_instant_keeps_what_he_wrote() {
    for point in ["planned", "staged", "prepared", "swapped:1"] {
        let (world, said) = second_file(point, |world| {
            fs::write(world.path("their"), "theirs\n").unwrap();
            fs::rename(world.path("their"), world.path("b")).unwrap();
        });
        assert!(said.starts_with("refused ContentChanged") && said.contains("reason: Changed"), "{point}: {said}");
        assert!(said.contains(&format!("{:?}", Version::of(b"theirs\n"))), "{point}: {said}");
        assert_eq!((world.text("a").as_str(), world.text("b").as_str()), ("a old\n", "theirs\n"), "{point}");
        world.no_litter();
        let (world, said) = second_file(point, |world| fs::remove_file(world.path("b")).unwrap());
        assert!(said.starts_with("refused ContentChanged") && said.contains("reason: Removed"), "{point}: {said}");
        assert_eq!(world.tree().len(), 1);
        let (world, said) = second_file(point, |world| world.put("d/c", "theirs\n"));
        assert!(said.starts_with("refused ContentChanged") && said.contains("reason: Created"), "{point}: {said}");
        assert_eq!((world.text("a").as_str(), world.text("d/c").as_str()), ("a old\n", "theirs\n"));
        world.no_litter();
    }
    // Of the same inode and size, between the check and the exchange: only the bytes tell.
    let (world, said) = second_file("checked", |world| fs::write(world.path("a"), "A OLD\n").unwrap());
    assert!(said.starts_with("refused ContentChanged"), "{said}");
    assert_eq!(world.text("a"), "A OLD\n");
    world.no_litter();
}

#[test]
fn a_later_write_to_a_file_that_must_be_undone_is_kept_with_the_old_bytes() {
    let (world, said) = second_file("swapped:1", |world| {
        world.put("a", "their a\n");
        fs::remove_file(world.path("b")).unwrap();
    });
    assert!(said.starts_with("refused Conflict"), "{said}");
    assert_eq!(world.text("a"), "their a\n");
    let open = |_: &std::path::Path| Some(world.root.clone());
    let left = world.state.unsettled(&open).unwrap();
    assert_eq!((left.len(), left[0].state), (1, "conflict"));
    assert_eq!(fs::read_to_string(&left[0].kept[0]).unwrap(), "a old\n");
    // Neither recovery nor the sweep nor other edits touch the only copy.
    world.state.recover(&open).unwrap();
    world.state.recover_root(&world.root, &open).unwrap();
    world.commit(vec![write("z", "z\n", Expect::Absent)]).unwrap();
    assert_eq!(fs::read_to_string(&left[0].kept[0]).unwrap(), "a old\n");
    // The same id is not free as long.
    assert!(matches!(
        world.commit_as("paused", vec![write("y", "", Expect::Absent)]).unwrap_err(),
        TransactionError::RecoveryPending { .. }
    ));
    // Taken away by a person, it is over.
    fs::remove_file(&left[0].kept[0]).unwrap();
    world.state.recover(&open).unwrap();
    assert_eq!(world.state.unsettled(&open).unwrap(), []);
    world.no_litter();
}

#[test]
fn an_edit_between_crash_and_recovery_is_kept() {
    let world = World::new();
    world.put("a", "a old\n");
    world.put("b", "b old\n");
    let mut child = stopped_at(&world, "swapped:2", &["write:a:a new\n", "write:b:b new\n"]);
    child.kill().unwrap();
    child.wait().unwrap();
    world.put("b", "human\n");
    let settled = world.state.recover(&|_| Some(world.root.clone())).unwrap();
    assert_eq!(settled[0].state, OutcomeState::Conflict);
    assert_eq!((world.text("a").as_str(), world.text("b").as_str()), ("a old\n", "human\n"));
    let left = world.state.unsettled(&|_| Some(world.root.clone())).unwrap();
    assert_eq!(fs::read_to_string(&left[0].kept[0]).unwrap(), "b old\n");
    assert_eq!(world.state.outcome("paused").unwrap().unwrap().state, OutcomeState::Conflict);
}

#[test]
fn a_root_that_is_gone_waits_and_a_damaged_journal_is_set_aside() {
    let world = World::new();
    world.put("a", "a old\n");
    let mut child = stopped_at(&world, "swapped:1", &["write:a:a new\n"]);
    child.kill().unwrap();
    child.wait().unwrap();
    let settled = world.state.recover(&|_| None).unwrap();
    assert_eq!(settled[0].state, OutcomeState::RecoveryPending);
    assert_eq!(world.state.unsettled(&|_| None).unwrap()[0].state, "pending");
    // The next edit on the root settles it first.
    world.commit(vec![write("b", "b\n", Expect::Absent)]).unwrap();
    assert_eq!(world.text("a"), "a old\n");
    world.no_litter();

    let mut child = stopped_at(&world, "swapped:1", &["write:a:a new\n"]);
    child.kill().unwrap();
    child.wait().unwrap();
    let journal = world.state_path().join("transactions/paused.prep");
    let text = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, &text[..text.len() - 9]).unwrap();
    let before = world.tree();
    world.state.recover(&|_| Some(world.root.clone())).unwrap();
    world.state.recover_root(&world.root, &|_| Some(world.root.clone())).unwrap();
    assert_eq!(world.tree(), before, "nothing is touched");
    assert_eq!(world.state.unsettled(&|_| None).unwrap()[0].state, "damaged");
}

#[test]
fn failpoints_before_the_commit_refuse_and_after_it_do_not() {
    for (point, old) in [
        ("planned", true),
        ("staged", true),
        ("prepared", true),
        ("checked", true),
        ("swapped:1", true),
        ("swapped:2", true),
        ("synced", true),
        ("committed", false),
        ("cleaned", false),
    ] {
        for action in ["error", "kill"] {
            let world = World::new();
            world.put("a", "a old\n");
            world.put("b", "b old\n");
            let output = Command::new(driver())
                .arg("apply")
                .args([world.root.path(), &world.state_path()])
                .args(["id", "power", "write:a:a new\n", "write:b:b new\n"])
                .env("CCD_FAILPOINT", format!("{point}:{action}"))
                .output()
                .unwrap();
            let said = String::from_utf8_lossy(&output.stdout).into_owned();
            if action == "error" {
                assert_eq!(said.starts_with("refused"), old, "{point}: {said}");
                world.no_litter();
            }
            world.state.recover(&|_| Some(world.root.clone())).unwrap();
            world.state.recover_root(&world.root, &|_| Some(world.root.clone())).unwrap();
            let expected = if old { ("a old\n", "b old\n") } else { ("a new\n", "b new\n") };
            assert_eq!((world.text("a").as_str(), world.text("b").as_str()), expected, "{point}:{action}");
            world.no_litter();
        }
    }
}

#[test]
fn locks_keep_two_processes_apart() {
    let world = World::new();
    world.put("a", "a old\n");
    let child = stopped_at(&world, "swapped:1", &["write:a:a new\n"]);
    assert!(matches!(world.state.lock(&[world.root.identity()], Duration::from_millis(20)), Err(ccd_files::LockError::Busy)));
    assert!(go_on(child).starts_with("committed"));
    world.commit(vec![remove("a", version("a new\n"))]).unwrap();
}

/// A folder changes places with a link that leads out of the root, all the time.
#[test]
fn nothing_is_ever_written_outside_the_root() {
    let world = World::new();
    let outside = world.dir.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("f"), "outside\n").unwrap();
    world.put("d/f", "inside 0\n");
    std::os::unix::fs::symlink(&outside, world.path("link")).unwrap();
    let end = AtomicBool::new(false);
    let (mut written, mut refused) = (0_u64, 0_u64);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            while !end.load(Ordering::Relaxed) {
                rustix::fs::renameat_with(rustix::fs::CWD, world.path("d"), rustix::fs::CWD, world.path("link"), flags).unwrap();
            }
        });
        for round in 0..2000 {
            let changes = [
                write("d/f", &format!("inside {round}\n"), Expect::Any),
                write("d/new", "x", Expect::Any),
                remove("d/new2", Expect::Any),
            ];
            match world.commit(changes[..1 + round % 2].to_vec()) {
                Ok(_) => written += 1,
                Err(_) => refused += 1,
            }
        }
        end.store(true, Ordering::Relaxed);
    });
    eprintln!("{written} written inside, {refused} refused, 0 outside");
    assert_eq!(fs::read_dir(&outside).unwrap().count(), 1);
    assert_eq!(fs::read_to_string(outside.join("f")).unwrap(), "outside\n");
    assert!(written > 0 && refused > 0);
}
