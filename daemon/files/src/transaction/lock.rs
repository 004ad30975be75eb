//! One transaction a root at a time, across processes: a daemon that drains and its successor must not interleave.
//!
//! A lock is an advisory lock on a file in the state folder, one for each root, taken in the order of device and inode.
//! A transaction on a root that lies in another one takes the locks of both.

use std::{
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    fs::{FlockOperation, Mode, OFlags, flock, openat},
    io::Errno,
};

/// Why a lock was not had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Somebody else had it all the time.
    #[error("another edit of the same workspace did not end in time")]
    Busy,
    /// The lock file cannot be used.
    #[error("the lock file cannot be used: {0}")]
    Io(#[from] std::io::Error),
}

/// The locks of some roots, until dropped.
#[derive(Debug)]
pub struct RootLocks {
    keys: Vec<(u64, u64)>,
    _files: Vec<OwnedFd>,
}

/// Between two tries. A caller has its own queue for its own edits; this is for another process.
const PAUSE: Duration = Duration::from_millis(2);

impl RootLocks {
    pub(crate) fn take(folder: &OwnedFd, keys: &[(u64, u64)], wait: Duration) -> Result<Self, LockError> {
        let deadline = Instant::now() + wait;
        let mut keys = keys.to_vec();
        keys.sort_unstable();
        keys.dedup();
        let mut files = vec![lock(folder, "all", FlockOperation::NonBlockingLockShared, deadline)?];
        for (dev, ino) in &keys {
            files.push(lock(folder, &format!("{dev}-{ino}"), FlockOperation::NonBlockingLockExclusive, deadline)?);
        }
        Ok(Self { keys, _files: files })
    }

    /// Whether a root is locked.
    pub fn holds(&self, identity: (u64, u64)) -> bool {
        self.keys.contains(&identity)
    }
}

/// The lock that says that no transaction is under way anywhere; none when one is.
pub(crate) fn quiet(folder: &OwnedFd) -> Option<OwnedFd> {
    lock(folder, "all", FlockOperation::NonBlockingLockExclusive, Instant::now()).ok()
}

fn lock(folder: &OwnedFd, name: &str, how: FlockOperation, deadline: Instant) -> Result<OwnedFd, LockError> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC | OFlags::NOFOLLOW;
    let file = openat(folder, name, flags, Mode::from_raw_mode(0o600)).map_err(std::io::Error::from)?;
    loop {
        match flock(&file, how) {
            Ok(()) => return Ok(file),
            Err(Errno::WOULDBLOCK | Errno::INTR) if Instant::now() < deadline => std::thread::sleep(PAUSE),
            Err(Errno::WOULDBLOCK | Errno::INTR) => return Err(LockError::Busy),
            Err(errno) => return Err(LockError::Io(errno.into())),
        }
    }
}
