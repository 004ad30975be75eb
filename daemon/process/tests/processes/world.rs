//! What the tests have in common.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use ccd_process::{Child, Environment, Launcher, OWNER, Spec};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::AsyncReadExt as _;

/// The shim of the tests.
pub(crate) const HOST: &str = env!("CARGO_BIN_EXE_shim-host");

/// Long enough for anything on a busy machine; only a failure takes so long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Starts a child that double-forks into a session of its own, ignores SIGTERM there, and says the number of that
/// grandchild, also in the file `$TEST_READY` if there is one; then goes on as told.
pub(crate) const ESCAPE: &str = r"
import os, signal, sys, time
reader, writer = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(writer, b'%d\n' % os.getpid())
        time.sleep(60)
    os._exit(0)
os.wait()
escaped = os.read(reader, 20).decode().strip()
print(escaped, flush=True)
if 'TEST_READY' in os.environ:
    open(os.environ['TEST_READY'] + '.part', 'w').write(escaped)
    os.rename(os.environ['TEST_READY'] + '.part', os.environ['TEST_READY'])
";

/// An instance id of this test alone.
pub(crate) fn instance(name: &str) -> String {
    format!("{name}-{}", std::process::id())
}

pub(crate) fn launcher(name: &str) -> Launcher {
    Launcher::with_executable(&instance(name), HOST)
}

pub(crate) fn environment() -> Environment {
    Environment::allowed(std::env::vars_os(), &["TEST_*"])
}

pub(crate) fn sh(script: &str) -> Spec {
    Spec::new("/bin/sh", environment()).arguments(["-c", script])
}

pub(crate) fn python(script: &str) -> Spec {
    Spec::new("/usr/bin/env", environment()).arguments(["python3", "-c", script])
}

/// All that the child writes, until the end.
pub(crate) async fn read_all(child: &mut Child) -> String {
    let mut text = String::new();
    let mut output = child.take_output().unwrap();
    tokio::time::timeout(PATIENCE, output.read_to_string(&mut text)).await.expect("the output ends").unwrap();
    text
}

/// The first line that the child writes; the rest is left in the pipe.
pub(crate) async fn read_line(child: &mut Child) -> String {
    let output = child.take_output().unwrap();
    let mut lines = tokio::io::BufReader::new(output);
    let mut line = String::new();
    let read = tokio::io::AsyncBufReadExt::read_line(&mut lines, &mut line);
    tokio::time::timeout(PATIENCE, read).await.expect("a line comes").unwrap();
    line.trim().to_owned()
}

/// The processes with the marker of an instance, without zombies.
pub(crate) fn marked(instance: &str) -> Vec<i32> {
    let marker = format!("{OWNER}={instance}:");
    let pids = fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<i32>().ok());
    let is_ours = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable.starts_with(marker.as_bytes()))
    };
    pids.filter(is_ours).collect()
}

/// Whether a process is there, a zombie not counted.
pub(crate) fn lives(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z"))
}

/// Waits until it is so, and tells how long it took.
pub(crate) fn until(what: &str, limit: Duration, is_so: impl Fn() -> bool) -> Duration {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < limit, "{what}: not within {limit:?}");
        std::thread::sleep(Duration::from_millis(5));
    }
    begun.elapsed()
}

/// Waits until nothing of an instance is left. The promise is asserted with slack, for machines that do other things too.
pub(crate) fn gone(instance: &str, promise: Duration) {
    let took = until(&format!("{:?} of {instance} are gone", marked(instance)), 5 * promise, || marked(instance).is_empty());
    println!("{instance}: nothing left after {took:?} (promised: {promise:?})");
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

/// The text of a file once it is there.
pub(crate) fn await_file(path: &Path) -> String {
    until("the file is there", PATIENCE, || fs::symlink_metadata(path).is_ok());
    fs::read_to_string(path).unwrap()
}
