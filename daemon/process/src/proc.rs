//! What `/proc` tells about processes.

use std::{
    collections::HashMap,
    fs, io,
    io::Read as _,
    path::{Path, PathBuf},
};

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// More than this of an environment is not read, in bytes; the kernel allows a few MiB.
const ENVIRONMENT: u64 = 8 << 20;

/// A process, by what makes it that one and no later one with the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    /// When it started, in ticks since the machine did.
    pub(crate) started: u64,
    pub(crate) parent: i32,
    /// It has ended, and its parent has not looked.
    pub(crate) zombie: bool,
}

fn folder(pid: i32) -> PathBuf {
    Path::new("/proc").join(pid.to_string())
}

/// The process of that number, if there is one.
pub(crate) fn look(pid: i32) -> Option<Process> {
    let stat = fs::read(folder(pid).join("stat")).ok()?;
    parse(pid, &stat)
}

/// The name may hold anything, brackets and spaces too: fields are counted after its last bracket.
fn parse(pid: i32, stat: &[u8]) -> Option<Process> {
    let after = stat.iter().rposition(|byte| *byte == b')')? + 1;
    let text = str::from_utf8(&stat[after..]).ok()?;
    let mut fields = text.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    // The 22nd field of all, of which three are gone.
    let started = fields.nth(17)?.parse().ok()?;
    Some(Process { pid, started, parent, zombie: matches!(state, "Z" | "X") })
}

/// Every process that we can see.
pub(crate) fn all() -> io::Result<Vec<Process>> {
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let Ok(entry) = entry else { continue };
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        if let Some(process) = pid.and_then(look) {
            found.push(process);
        }
    }
    Ok(found)
}

/// Children by their parent.
pub(crate) struct Family(HashMap<i32, Vec<Process>>);

impl Family {
    pub(crate) fn new(all: Vec<Process>) -> Self {
        let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
        for process in all {
            children.entry(process.parent).or_default().push(process);
        }
        Self(children)
    }

    /// Everything below a process, without itself.
    pub(crate) fn below(&self, root: i32) -> Vec<Process> {
        let mut found: Vec<Process> = Vec::new();
        let mut parents = vec![root];
        while let Some(parent) = parents.pop() {
            for child in self.0.get(&parent).into_iter().flatten() {
                // The list was not read in one moment, and numbers come again: no circle is walked twice.
                if child.pid != root && !found.iter().any(|known| known.pid == child.pid) {
                    found.push(*child);
                    parents.push(child.pid);
                }
            }
        }
        found
    }
}

/// Sends a signal to exactly this process. False if it is gone or not ours to signal.
pub(crate) fn signal(process: Process, signal: Signal) -> bool {
    let Some(pid) = Pid::from_raw(process.pid) else { return false };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    // From here on the handle means one process; whether it is the one we saw is asked now.
    let same = look(process.pid).is_some_and(|now| now.started == process.started && !now.zombie);
    same && pidfd_send_signal(&handle, signal).is_ok()
}

/// The value of a variable in the environment that a process was started with. None if it is not there or not ours to read.
pub(crate) fn variable(pid: i32, name: &str) -> Option<Vec<u8>> {
    let mut environment = Vec::new();
    fs::File::open(folder(pid).join("environ")).ok()?.take(ENVIRONMENT).read_to_end(&mut environment).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    variables.find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"=").map(<[u8]>::to_vec))
}

/// The arguments that a process was started with, the first few KiB of them.
pub(crate) fn arguments(pid: i32) -> Option<Vec<Vec<u8>>> {
    let mut line = Vec::new();
    fs::File::open(folder(pid).join("cmdline")).ok()?.take(8 << 10).read_to_end(&mut line).ok()?;
    Some(line.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect())
}

/// The proportional set size of one process, in bytes.
pub(crate) fn proportional(pid: i32) -> Option<u64> {
    let text = fs::read_to_string(folder(pid).join("smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::{Family, Process, look, parse};

    #[test]
    fn names_with_brackets_are_read_over() {
        let stat = b"12 (a) b) (c) S 7 12 12 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1000 2000 184467";
        assert_eq!(parse(12, stat), Some(Process { pid: 12, started: 98765, parent: 7, zombie: false }));
        assert_eq!(parse(12, b"12 (a"), None);
    }

    #[test]
    fn we_are_found() {
        let own = i32::try_from(std::process::id()).unwrap();
        assert!(look(own).is_some_and(|process| process.pid == own && process.started > 0));
        assert!(Family::new(vec![]).below(own).is_empty());
    }

    #[test]
    fn circles_end() {
        let process = |pid, parent| Process { pid, parent, started: 1, zombie: false };
        let family = Family::new(vec![process(2, 1), process(3, 2), process(2, 3), process(1, 3)]);
        let mut found: Vec<i32> = family.below(1).iter().map(|process| process.pid).collect();
        found.sort_unstable();
        assert_eq!(found, [2, 3]);
    }
}
