//! Everything below this process: signalled, killed, reaped.

use std::{
    collections::HashSet,
    thread,
    time::{Duration, Instant},
};

use rustix::{
    io::Errno,
    process::{Pid, Signal, WaitOptions, WaitStatus, getpid, wait},
};

use crate::{
    proc::{self, Family, Process},
    wire::KILL_LIMIT,
};

/// How often is looked whether they are gone.
const PAUSE: Duration = Duration::from_millis(5);

/// The descendants of this process, which must be a subreaper: then none can leave.
pub(super) struct Tree {
    child: Pid,
    /// How the direct child ended, once it has.
    pub(super) status: Option<WaitStatus>,
    killed: HashSet<(i32, u64)>,
}

impl Tree {
    pub(super) fn new(child: Pid) -> Self {
        Self { child, status: None, killed: HashSet::new() }
    }

    /// Takes note of all who have ended. True while there are children: a subreaper without children has no descendants.
    pub(super) fn reap(&mut self) -> bool {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some((pid, status))) if pid == self.child => self.status = Some(status),
                Ok(Some(_)) | Err(Errno::INTR) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    fn living() -> Vec<Process> {
        let all = proc::all().unwrap_or_default();
        let below = Family::new(all).below(getpid().as_raw_pid());
        below.into_iter().filter(|process| !process.zombie).collect()
    }

    /// Signals all of them once. Those who were told how to end are counted.
    pub(super) fn signal(&mut self, signal: Signal) {
        for process in Self::living() {
            if proc::signal(process, signal) {
                self.killed.insert((process.pid, process.started));
            }
        }
    }

    /// Waits for their end. False if there are some when the time is over.
    pub(super) fn wait(&mut self, limit: Duration) -> bool {
        let end = Instant::now() + limit;
        while self.reap() {
            if Instant::now() >= end {
                return false;
            }
            thread::sleep(PAUSE);
        }
        true
    }

    /// Kills all of them, again and again, for they may start others in between. How many were signalled in all, and how many are left.
    pub(super) fn kill(&mut self) -> (u32, u32) {
        let end = Instant::now() + KILL_LIMIT;
        let mut pause = PAUSE;
        while self.reap() && Instant::now() < end {
            self.signal(Signal::KILL);
            if self.wait(pause) {
                break;
            }
            pause = (pause * 2).min(Duration::from_millis(50));
        }
        let left = if self.reap() { Self::living().len() } else { 0 };
        (u32::try_from(self.killed.len()).unwrap_or(u32::MAX), u32::try_from(left).unwrap_or(u32::MAX))
    }
}
