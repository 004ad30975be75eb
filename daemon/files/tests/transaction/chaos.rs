//! Every system call of a transaction, killed at, or failing, one after the other. Black box: a small program under
//! `strace -e inject`, and then recovery.

use std::{
    fs,
    path::PathBuf,
    process::{Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use ccd_files::{Limits, OutcomeState, State, private_folder};

use crate::world::{Tree, journals, tree};

const CALLS: [&str; 24] = [
    "openat",
    "openat2",
    "mkdirat",
    "write",
    "pwrite64",
    "pread64",
    "read",
    "fchmod",
    "fchown",
    "fsetxattr",
    "flistxattr",
    "fgetxattr",
    "fsync",
    "syncfs",
    "renameat",
    "renameat2",
    "unlinkat",
    "utimensat",
    "statx",
    "close",
    "getdents64",
    "flock",
    "faccessat2",
    "ftruncate",
];

pub(crate) fn driver() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let driver = test.parent().unwrap().parent().unwrap().join("examples/tx_driver");
    assert!(
        fs::symlink_metadata(&driver).is_ok(),
        "{} is missing; run ./tests/run, or cargo build --examples -p ccd-files",
        driver.display()
    );
    driver
}

fn need_strace() {
    let found = Command::new("strace").arg("-V").stdout(Stdio::null()).stderr(Stdio::null()).status();
    assert!(found.is_ok_and(|status| status.success()), "strace is missing; ./tests/run says how to install it");
}

struct Ground {
    dir: tempfile::TempDir,
}

impl Ground {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let ground = Self { dir };
        fs::create_dir_all(ground.root().join("d")).unwrap();
        for (name, text) in [("a", "a old\n"), ("d/b", "b old\n"), ("gone", "gone\n"), ("e", "e old\n")] {
            fs::write(ground.root().join(name), text).unwrap();
        }
        private_folder(&ground.state()).unwrap();
        ground
    }

    /// One on which a transaction was before: its stage is used again.
    fn used() -> Self {
        let ground = Self::new();
        let output = Command::new(driver())
            .arg("apply")
            .args([ground.root(), ground.state()])
            .args(["txn-0", "process", "write:e:other", "write:a:other"])
            .stdin(Stdio::null())
            .output();
        assert!(output.unwrap().status.success());
        fs::write(ground.root().join("e"), "e old\n").unwrap();
        fs::write(ground.root().join("a"), "a old\n").unwrap();
        ground
    }

    fn root(&self) -> PathBuf {
        self.dir.path().join("root")
    }

    fn state(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    fn specs(in_place: bool) -> Vec<&'static str> {
        if in_place {
            return vec!["inplace:a:a new, and longer than before\n", "inplace:d/b:b\n", "inplace:e:e new\n"];
        }
        vec!["write:a:a new\n", "write:d/b:b new\n", "add:new/deep/c:c\n", "remove:gone", "write:e:e new\n"]
    }

    fn apply(&self, command: &mut Command, durability: &str, in_place: bool) -> String {
        let output = command
            .arg("apply")
            .args([self.root(), self.state()])
            .args(["txn-1", durability])
            .args(Self::specs(in_place))
            .stdin(Stdio::null())
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    fn recover(&self) -> String {
        let output = Command::new(driver()).arg("recover").args([self.root(), self.state()]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }
}

/// Those that need room.
const GROWING: [&str; 10] =
    ["openat2", "mkdirat", "write", "pwrite64", "fsync", "renameat", "renameat2", "fsetxattr", "ftruncate", "utimensat"];

#[derive(Default)]
struct Counts {
    hits: AtomicUsize,
    old: AtomicUsize,
    new: AtomicUsize,
    recovered: AtomicUsize,
}

/// The fault, against what the transaction holds, and whether files are written in place.
type Tampering = (&'static str, &'static str, bool);

/// One run with one fault. False when the fault was never met.
fn one(call: &str, n: usize, (fault, durability, in_place): Tampering, old: &Tree, new: &Tree, counts: &Counts) -> bool {
    let ground = if durability == "power" { Ground::used() } else { Ground::new() };
    let log = ground.dir.path().join("strace");
    let inject = format!("inject={call}:{fault}:when={n}");
    let mut command = Command::new("strace");
    command.args(["-f", "-qq", "-e", &format!("trace={call}"), "-e", &inject, "-o"]).arg(&log).arg(driver());
    let said = ground.apply(&mut command, durability, in_place);
    let log = fs::read_to_string(&log).unwrap();
    if !log.contains("INJECTED") && !log.contains("killed by SIGKILL") {
        return false;
    }
    let what = format!("{inject} {durability} in_place={in_place}: {said}");
    let user = |tree: Tree| -> Tree { tree.into_iter().filter(|(path, _)| !path.starts_with(".ccd-tx")).collect() };
    if said.starts_with("committed") {
        assert_eq!(user(tree(&ground.root())), *new, "{what}");
    } else if said.starts_with("refused") && !said.contains("RollbackFailed") {
        assert_eq!(user(tree(&ground.root())), *old, "{what}");
    }
    let told = ground.recover();
    let after = tree(&ground.root());
    assert!(after == *old || after == *new, "mixed or litter: {what}\n{told}\n{after:#?}");
    assert_eq!(journals(&ground.state()), [""; 0], "{what}");
    assert_eq!(ground.recover(), "", "{what}");
    assert_eq!(tree(&ground.root()), after, "a second recovery changes something: {what}");
    let state = State::open(&ground.state(), Limits::default()).unwrap();
    let outcome = state.outcome("txn-1").unwrap().map(|outcome| outcome.state);
    if after == *new {
        assert!(!said.starts_with("refused"), "an error after the commit point: {what}");
        assert_eq!(outcome, Some(OutcomeState::Committed), "{what}");
        counts.new.fetch_add(1, Ordering::Relaxed);
    } else {
        assert!(matches!(outcome, None | Some(OutcomeState::RolledBack)), "{what}: {outcome:?}");
        counts.old.fetch_add(1, Ordering::Relaxed);
    }
    if !told.is_empty() {
        counts.recovered.fetch_add(1, Ordering::Relaxed);
    }
    counts.hits.fetch_add(1, Ordering::Relaxed);
    true
}

fn tamper(calls: &[&'static str], fault: &'static str, durability: &'static str, in_place: bool) {
    need_strace();
    let ground = Ground::new();
    let old = tree(&ground.root());
    assert!(ground.apply(&mut Command::new(driver()), durability, in_place).starts_with("committed"));
    let new = tree(&ground.root());
    let (counts, queue) = (Counts::default(), Mutex::new(calls.to_vec()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(call) = queue.lock().unwrap().pop() else { return };
                    let mut n = 1;
                    while one(call, n, (fault, durability, in_place), &old, &new, &counts) {
                        n += 1;
                    }
                }
            });
        }
    });
    eprintln!(
        "{fault} {durability} in_place={in_place}: {} hits, {} old, {} new, {} recovered, 0 mixed",
        counts.hits.load(Ordering::Relaxed),
        counts.old.load(Ordering::Relaxed),
        counts.new.load(Ordering::Relaxed),
        counts.recovered.load(Ordering::Relaxed),
    );
    assert!(counts.hits.load(Ordering::Relaxed) > 30, "the faults were not met");
    assert!(counts.new.load(Ordering::Relaxed) > 3 && counts.old.load(Ordering::Relaxed) > 10);
}

#[test]
fn killed_at_every_system_call() {
    tamper(&CALLS, "signal=KILL", "power", false);
}

#[test]
fn killed_at_every_system_call_while_writing_in_place() {
    tamper(&CALLS, "signal=KILL", "process", true);
}

#[test]
fn no_space_at_every_system_call() {
    tamper(&GROWING, "error=ENOSPC", "process", false);
}

#[test]
fn an_input_output_error_at_every_system_call() {
    tamper(&CALLS, "error=EIO", "power", false);
}
