//! A daemon that is killed or stopped, with a tree below it that does what it can to get away.

use std::{
    process::{Child, Command, Stdio},
    time::Duration,
};

use ccd_process::{Instances, sweep};
use rustix::process::Signal;

use crate::world::{ESCAPE, HOST, PATIENCE, await_file, gone, instance, lives, marked, signal, until};

struct Daemon {
    process: Child,
    child: u32,
    shim: u32,
}

/// A daemon with one child: its grandchild has left it by a double fork and a session of its own, and ignores SIGTERM.
fn daemon(instance: &str, ttl: Duration, child: &str) -> Daemon {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("started");
    let ready = folder.path().join("ready");
    let process = Command::new(HOST)
        .args(["daemon", instance, &ttl.as_millis().to_string(), file.to_str().unwrap(), "/usr/bin/env", "python3", "-c"])
        .arg(format!("{ESCAPE}\n{child}"))
        .env("TEST_READY", &ready)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    let text = await_file(&file);
    let (child, shim) = text.split_once(' ').unwrap();
    await_file(&ready);
    // Shim, child, grandchild; the one in between may not have gone yet.
    until("the tree is there", PATIENCE, || marked(instance).len() == 3);
    Daemon { process, child: child.parse().unwrap(), shim: shim.parse().unwrap() }
}

impl Daemon {
    fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[test]
fn a_killed_daemon_leaves_nothing() {
    let instance = instance("killed");
    let mut daemon = daemon(&instance, Duration::ZERO, "time.sleep(60)");
    daemon.kill();
    // The grandchild ignores SIGTERM, so it takes the whole grace of 2 s, and no more.
    gone(&instance, Duration::from_millis(2300));
}

#[test]
fn who_listens_to_sigterm_is_gone_at_once() {
    let instance = instance("gentle");
    let script = "\
import os, signal, time
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork(): os._exit(0)
    os.write(writer, b'x')
    time.sleep(60)
os.read(reader, 1)
open(os.environ['TEST_READY'], 'w').close()
time.sleep(60)
";
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("started");
    let ready = folder.path().join("ready");
    let mut process = Command::new(HOST)
        .env("TEST_READY", &ready)
        .args(["daemon", &instance, "0", file.to_str().unwrap(), "/usr/bin/env", "python3", "-c"])
        .arg(script)
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    await_file(&file);
    await_file(&ready);
    until("the tree is there", PATIENCE, || marked(&instance).len() == 3);
    process.kill().unwrap();
    process.wait().unwrap();
    gone(&instance, Duration::from_millis(400));
}

#[test]
fn a_time_to_live_holds_although_the_daemon_is_stopped() {
    let instance = instance("stopped");
    let daemon = daemon(&instance, Duration::from_secs(2), "time.sleep(60)");
    signal(daemon.process.id(), Signal::STOP);
    gone(&instance, Duration::from_secs(2));
    assert!(lives(daemon.process.id()) && !lives(daemon.child));
    signal(daemon.process.id(), Signal::CONT);
}

#[test]
fn the_next_daemon_sweeps_what_a_dead_one_and_its_shim_left() {
    let folder = tempfile::tempdir().unwrap();
    let instances = Instances::in_folder(folder.path());
    let dead = instances.begin().unwrap();
    let living = instances.begin().unwrap();
    let mut daemon = daemon(dead.id(), Duration::ZERO, "time.sleep(60)");
    let mut other = self::daemon(living.id(), Duration::ZERO, "time.sleep(60)");
    // First the shim, so that nothing but the marker is left; the daemon is stopped, else it would sweep itself.
    signal(daemon.process.id(), Signal::STOP);
    signal(daemon.shim, Signal::KILL);
    daemon.kill();
    let id = dead.id().to_owned();
    drop(dead);
    let dead = id;
    until("the direct child dies with its shim", Duration::from_secs(5), || !lives(daemon.child));
    assert_eq!(marked(&dead).len(), 1, "the grandchild is left");

    assert_eq!(instances.dead().unwrap(), [&*dead]);
    let begun = std::time::Instant::now();
    let swept = sweep(&instances.dead().unwrap());
    println!("{swept:?} in {:?} (promised: 1 s)", begun.elapsed());
    assert_eq!((swept.killed, swept.left, marked(&dead).len()), (1, 0, 0));
    assert!(begun.elapsed() < Duration::from_secs(5));
    instances.forget(&[dead]).unwrap();
    assert_eq!(instances.dead().unwrap(), Vec::<String>::new());
    assert_eq!(marked(living.id()).len(), 3, "what lives is left alone");
    other.kill();
    gone(living.id(), Duration::from_millis(2300));
}

#[test]
fn a_sweep_leaves_a_shim_to_its_work() {
    let instance = instance("early");
    let mut daemon = daemon(&instance, Duration::ZERO, "time.sleep(60)");
    daemon.kill();
    let swept = sweep(&[&instance]);
    println!("{swept:?}");
    assert_eq!((swept.left, marked(&instance).len()), (0, 0));
}
