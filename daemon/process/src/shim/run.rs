//! The first stage: supervises.

use std::{
    ffi::OsString,
    io::{self, PipeReader, Read as _, Write as _, pipe},
    mem::MaybeUninit,
    os::{
        fd::{AsFd as _, AsRawFd as _, OwnedFd},
        unix::{net::UnixStream, process::CommandExt as _},
    },
    process::{Command, ExitCode},
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg},
    process::{Pid, PidfdFlags, Signal, WaitStatus, getpid, pidfd_open, set_child_subreaper, setsid},
};

use tokio::signal::unix::{SignalKind, signal};

use super::{FLAG, USAGE, exec::OPEN, tree::Tree};
use crate::wire::{BEGIN, BEGIN_LIMIT, GRACE, KILL, Report, Settings, TERMINATE};

/// How often orphans that came to us and ended are taken note of.
const TICK: Duration = Duration::from_secs(2);

/// `run <settings> <folder> <program> [argument…]`, with the leash as stdin.
pub(super) fn run(arguments: Vec<OsString>) -> ExitCode {
    let [settings, command @ ..] = &arguments[..] else { return ExitCode::from(USAGE) };
    let Some(settings) = Settings::from_argument(settings) else { return ExitCode::from(USAGE) };
    // Of a binary that is started through /proc the name would be `exe`.
    let _ = rustix::thread::set_name(c"ccd-shim");
    // The end of a terminal, or of the daemon's group, does not reach us. It fails where we lead a session already.
    let _ = setsid();
    outlive_signals();
    let Ok(leash) = Leash::from_stdin() else { return ExitCode::from(USAGE) };
    match begin(&leash, settings, command) {
        Ok((tree, child)) => supervise(&leash, tree, &child, settings),
        Err(Refused { what, errno }) => leash.tell(&Report::Failed { what: what.to_owned(), errno }),
    }
    ExitCode::SUCCESS
}

/// From now on SIGTERM, SIGINT and SIGHUP do nothing here: they are meant for the daemon, by whoever signals all that is named
/// like it or stands in its cgroup, and a shim that went before its tree would leave it behind. The end of the leash tells
/// us. The child is not touched by it: a handler does not outlive exec.
///
/// The only safe way to a handler at hand is tokio's. The runtime lives for this line, has no thread, and is gone after it;
/// the handlers stay.
fn outlive_signals() {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else { return };
    let _inside = runtime.enter();
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        // Without one we are as every process is.
        let _ = signal(kind);
    }
}

struct Refused {
    what: String,
    errno: i32,
}

impl Refused {
    fn new(what: &str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self { what: what.to_owned(), errno: error.raw_os_error().unwrap_or(0) }
    }
}

/// Our end of the socket pair.
struct Leash(UnixStream);

/// What the daemon wants.
enum Order {
    Terminate,
    Kill,
    /// It is gone.
    Gone,
}

impl Leash {
    fn from_stdin() -> io::Result<Self> {
        let leash = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
        leash.set_nonblocking(true)?;
        Ok(Self(leash))
    }

    /// Tells the daemon. One that is gone, or does not read, must not stop us: what does not go out now is lost.
    fn tell(&self, report: &Report) {
        let _ = (&self.0).write(report.to_line().as_bytes());
    }

    /// The child's stdin, stdout and stderr.
    fn pipes(&self) -> io::Result<[OwnedFd; 3]> {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
        let mut ancillary = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let end = Instant::now() + BEGIN_LIMIT;
        wait_readable(&[self.0.as_fd()], end.saturating_duration_since(Instant::now()))?;
        recvmsg(&self.0, &mut [io::IoSliceMut::new(&mut byte)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
        let mut pipes = Vec::new();
        for message in ancillary.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                pipes.extend(rights);
            }
        }
        let pipes = <[OwnedFd; 3]>::try_from(pipes);
        pipes.ok().filter(|_| byte == [BEGIN]).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// What the daemon said, if it said anything: the last and strongest of it.
    fn order(&self) -> Option<Order> {
        let mut bytes = [0; 64];
        match (&self.0).read(&mut bytes) {
            Ok(0) => Some(Order::Gone),
            Ok(count) if bytes[..count].contains(&KILL) => Some(Order::Kill),
            Ok(count) if bytes[..count].contains(&TERMINATE) => Some(Order::Terminate),
            Err(error) if !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Some(Order::Gone),
            _ => None,
        }
    }
}

/// Waits until one of them can be read, or has ended. False if the time is over.
fn wait_readable(sources: &[std::os::fd::BorrowedFd<'_>], limit: Duration) -> io::Result<bool> {
    let mut polled: Vec<PollFd<'_>> = sources.iter().map(|source| PollFd::from_borrowed_fd(*source, PollFlags::IN)).collect();
    let limit = Timespec { tv_sec: i64::try_from(limit.as_secs()).unwrap_or(i64::MAX), tv_nsec: limit.subsec_nanos().into() };
    match poll(&mut polled, Some(&limit)) {
        Ok(ready) => Ok(ready > 0),
        Err(Errno::INTR) => Ok(true),
        Err(error) => Err(error.into()),
    }
}

/// Starts the child: the tree, and the handle of its root.
fn begin(leash: &Leash, settings: Settings, command: &[OsString]) -> Result<(Tree, OwnedFd), Refused> {
    set_child_subreaper(Some(getpid())).map_err(io::Error::from).map_err(Refused::new("supervise"))?;
    let [stdin, stdout, stderr] = leash.pipes().map_err(Refused::new("supervise"))?;
    let (report, ours) = pipe().map_err(Refused::new("supervise"))?;
    let place = format!("{}:{}", getpid().as_raw_pid(), ours.as_raw_fd());
    let mut second = Command::new("/proc/self/exe");
    second.arg0("ccd").args([FLAG, "exec", &place]).arg(settings.to_argument()).args(command);
    // A group of its own: `kill 0` in the child must not reach us.
    second.stdin(stdin).stdout(stdout).stderr(stderr).process_group(0);
    let started = second.spawn().map_err(Refused::new("fork"))?;
    // The pipes must end when the child does, so they are closed here.
    drop(second);
    let child = i32::try_from(started.id()).ok().and_then(Pid::from_raw).expect("a process that was started has a number");
    let mut tree = Tree::new(child);
    let outcome = pidfd_open(child, PidfdFlags::empty())
        .map_err(io::Error::from)
        .map_err(Refused::new("supervise"))
        .and_then(|handle| await_program(report, ours, &handle).map(|()| handle));
    match outcome {
        Ok(handle) => {
            // We hold no folder of anybody's.
            let _ = std::env::set_current_dir("/");
            leash.tell(&Report::Started { pid: child.as_raw_pid() });
            Ok((tree, handle))
        }
        Err(refused) => {
            tree.kill();
            Err(refused)
        }
    }
}

/// Waits until the second stage has become the program: then the report ends without a word.
fn await_program(mut report: PipeReader, ours: io::PipeWriter, child: &OwnedFd) -> Result<(), Refused> {
    let end = Instant::now() + BEGIN_LIMIT;
    let refused = |errno: Errno| Refused { what: "exec".to_owned(), errno: errno.raw_os_error() };
    let left = || end.saturating_duration_since(Instant::now());
    // The child too: one that died before it opened the report leaves ours as the only writer.
    if !wait_readable(&[report.as_fd(), child.as_fd()], left()).map_err(Refused::new("exec"))? {
        return Err(refused(Errno::TIMEDOUT));
    }
    drop(ours);
    let mut said = Vec::new();
    loop {
        if !wait_readable(&[report.as_fd()], left()).map_err(Refused::new("exec"))? {
            return Err(refused(Errno::TIMEDOUT));
        }
        let mut bytes = [0; 64];
        match report.read(&mut bytes).map_err(Refused::new("exec"))? {
            0 => break,
            count => said.extend_from_slice(&bytes[..count]),
        }
    }
    match said.split_first() {
        Some((&OPEN, [])) => Ok(()),
        Some((&OPEN, rest)) => {
            let text = String::from_utf8_lossy(rest);
            let (what, errno) = text.trim().split_once(' ').unwrap_or(("exec", "0"));
            Err(Refused { what: what.to_owned(), errno: errno.parse().unwrap_or(0) })
        }
        _ => Err(refused(Errno::CHILD)),
    }
}

fn supervise(leash: &Leash, mut tree: Tree, child: &OwnedFd, settings: Settings) {
    let end = (settings.ttl_ms > 0).then(|| Instant::now() + Duration::from_millis(settings.ttl_ms));
    loop {
        let left = end.map(|end| end.saturating_duration_since(Instant::now()));
        // Poll of valid descriptors fails for want of memory only; then it is tried again.
        let _ = wait_readable(&[leash.0.as_fd(), child.as_fd()], left.map_or(TICK, |left| left.min(TICK)));
        tree.reap();
        if tree.status.is_some() {
            break;
        }
        match leash.order() {
            Some(Order::Kill) => break,
            Some(Order::Terminate) => tree.signal(Signal::TERM),
            Some(Order::Gone) => {
                tree.signal(Signal::TERM);
                tree.wait(GRACE);
                break;
            }
            None => {}
        }
        if end.is_some_and(|end| Instant::now() >= end) {
            leash.tell(&Report::Expired);
            break;
        }
    }
    // Told before the rest is killed: whoever waits for an answer of the child learns at once that none will come.
    let told = tell_exit(leash, tree.status);
    let (killed, left) = tree.kill();
    if !told {
        tell_exit(leash, tree.status);
    }
    leash.tell(&Report::Gone { killed, left });
}

fn tell_exit(leash: &Leash, status: Option<WaitStatus>) -> bool {
    let Some(status) = status else { return false };
    let report = status.exit_status().map(Report::Code).or_else(|| status.terminating_signal().map(Report::Signal));
    if let Some(report) = &report {
        leash.tell(report);
    }
    report.is_some()
}
