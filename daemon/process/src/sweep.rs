//! Ending what has lost its shim, by the marker that it inherited.

use std::{
    collections::{HashMap, HashSet},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Signal, getpid};

use crate::{
    OWNER,
    proc::{self, Process},
    shim,
};

/// A shim whose daemon is gone ends its tree better than we can: it is given so long. In all, a sweep takes twice that.
const SHIMS: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(20);

/// What a sweep did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Processes that were killed.
    pub killed: u32,
    /// Processes that are still there.
    pub left: u32,
}

/// Kills everything that bears the marker of one of these daemons, which must be dead and ours: ids that
/// [`crate::Instances::dead`] gave. It blocks, for some ms where there is nothing, 6 s at most.
///
/// A number that the kernel has given to another process meanwhile is never signalled: the marker and the time of start are
/// looked at again once the process is held. Processes that we only attached to bear no marker.
#[must_use]
pub fn sweep<I: AsRef<str>>(dead: &[I]) -> Swept {
    let dead: HashSet<&str> = dead.iter().map(AsRef::as_ref).collect();
    run(&|owner| owner.rsplit_once(':').is_some_and(|(instance, _)| dead.contains(instance)), SHIMS)
}

/// Kills everything of one slot whose shim was killed; whatever claims to be its shim is none.
pub(crate) fn sweep_owner(owner: &str) -> Swept {
    run(&|found| found == owner, Duration::ZERO)
}

fn run(is_dead: &dyn Fn(&str) -> bool, shims: Duration) -> Swept {
    let begun = Instant::now();
    let mut killed: HashMap<(i32, u64), ()> = HashMap::new();
    loop {
        let marked = marked(is_dead);
        let spared = |process: &Process| begun.elapsed() < shims && is_shim(process.pid);
        for process in marked.iter().filter(|process| !spared(process)) {
            // The marker again, now that it may be another process of that number.
            if owner(process.pid).is_some_and(|owner| is_dead(&owner)) && proc::signal(*process, Signal::KILL) {
                killed.insert((process.pid, process.started), ());
            }
        }
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        if marked.is_empty() || begun.elapsed() >= SHIMS + shims {
            return Swept { killed: count(killed.len()), left: count(marked.len()) };
        }
        thread::sleep(PAUSE);
    }
}

/// The living processes with the marker of a dead owner. Never ourselves: a daemon that was started below a debugged
/// program bears the marker of another.
fn marked(is_dead: &dyn Fn(&str) -> bool) -> Vec<Process> {
    let own = getpid().as_raw_pid();
    let all = proc::all().unwrap_or_default().into_iter();
    all.filter(|process| process.pid != own && !process.zombie)
        .filter(|process| owner(process.pid).is_some_and(|owner| is_dead(&owner)))
        .collect()
}

fn owner(pid: i32) -> Option<String> {
    String::from_utf8(proc::variable(pid, OWNER)?).ok()
}

fn is_shim(pid: i32) -> bool {
    proc::arguments(pid).is_some_and(|arguments| arguments.get(1).is_some_and(|flag| flag == shim::FLAG.as_bytes()))
}
