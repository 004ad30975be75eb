//! The state folder: journals, what can be undone, and what became of earlier calls.

use std::{ffi::OsStr, path::PathBuf, sync::Mutex};

use rustix::io::Errno;

use super::{
    fs::{Fs, Open, again},
    ring::Ring,
};

/// Names of the folders in it.
pub(crate) const JOURNALS: &str = "transactions";
pub(crate) const UNDO: &str = "undo";
pub(crate) const OUTCOMES: &str = "outcomes";
/// Empty stages, each to be used again by its root.
pub(crate) const STAGES_IDLE: &str = "stages";
pub(crate) const LOCKS: &str = "locks";
/// In [`JOURNALS`]: journals that are damaged.
pub(crate) const QUARANTINE: &str = "damaged";

/// The folders, held open.
#[derive(Debug)]
pub(crate) struct Store<F: Fs> {
    pub(crate) path: PathBuf,
    pub(crate) journals: F::Fd,
    pub(crate) undo: F::Fd,
    pub(crate) outcomes: F::Fd,
    pub(crate) idle: F::Fd,
    pub(crate) undo_ring: Mutex<Ring>,
    pub(crate) outcome_ring: Mutex<Ring>,
    pub(crate) limits: Limits,
}

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Seconds for which a transaction can be undone.
    pub undo_seconds: u64,
    /// Bytes of old files kept for that.
    pub undo_bytes: u64,
    /// Seconds for which an outcome is told.
    pub outcome_seconds: u64,
    /// Bytes of outcomes.
    pub outcome_bytes: u64,
    /// Seconds after which the old bytes of a conflict are given up.
    pub conflict_seconds: u64,
}

impl Default for Limits {
    fn default() -> Self {
        const DAY: u64 = 24 * 60 * 60;
        const MIB: u64 = 1024 * 1024;
        Self {
            undo_seconds: DAY,
            undo_bytes: 256 * MIB,
            outcome_seconds: DAY,
            outcome_bytes: 64 * MIB,
            conflict_seconds: 30 * DAY,
        }
    }
}

impl<F: Fs> Store<F> {
    /// Makes the folders in the state folder, where they are missing.
    pub(crate) fn open(fs: &F, state: &F::Fd, path: PathBuf, limits: Limits) -> Result<Self, Errno> {
        let folder = |name: &str| {
            match fs.make_folder(state, OsStr::new(name), 0o700) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(errno) => return Err(errno),
            }
            again(|| fs.open(state, OsStr::new(name), Open::Folder))
        };
        let (journals, undo, outcomes) = (folder(JOURNALS)?, folder(UNDO)?, folder(OUTCOMES)?);
        let idle = folder(STAGES_IDLE)?;
        again(|| fs.sync_folder(state))?;
        let (undo_ring, outcome_ring) = (Mutex::default(), Mutex::default());
        Ok(Self { path, journals, undo, outcomes, idle, undo_ring, outcome_ring, limits })
    }

    /// The folder of the journals, for messages.
    pub(crate) fn journal_path(&self) -> PathBuf {
        self.path.join(JOURNALS)
    }
}

/// Seconds since 1970.
pub(crate) fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
