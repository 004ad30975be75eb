//! Which versions of files each run has seen. In memory; it dies with the daemon.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use ccd_text::Version;
use dashmap::DashMap;

/// Runs kept; the longest unused goes first.
const MAX_RUNS: usize = 1024;

/// The bounds of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LedgerLimits {
    /// After the last use of a run.
    pub keep: Duration,
    /// Of one run.
    pub paths: usize,
}

impl Default for LedgerLimits {
    fn default() -> Self {
        Self { keep: Duration::from_secs(24 * 3600), paths: 10_000 }
    }
}

#[derive(Debug)]
struct Run {
    used: Instant,
    /// Grows with each note; the path with the smallest number is forgotten first.
    clock: u64,
    seen: HashMap<PathBuf, (Version, u64)>,
}

/// The ledger of all runs.
#[derive(Debug, Default)]
pub struct Ledger {
    runs: DashMap<Arc<str>, Run>,
}

impl Ledger {
    /// Notes that a run has seen, or written, a version of a file (absolute path).
    pub fn note(&self, run: &str, path: &Path, version: Version, limits: LedgerLimits) {
        if !self.runs.contains_key(run) {
            self.make_room(limits);
        }
        let mut entry =
            self.runs.entry(run.into()).or_insert_with(|| Run { used: Instant::now(), clock: 0, seen: HashMap::new() });
        let entry = entry.value_mut();
        entry.used = Instant::now();
        entry.clock += 1;
        let clock = entry.clock;
        entry.seen.insert(path.to_path_buf(), (version, clock));
        if entry.seen.len() > limits.paths {
            let oldest = entry.seen.iter().min_by_key(|(_, (_, at))| *at).map(|(path, _)| path.clone());
            if let Some(oldest) = oldest {
                entry.seen.remove(&oldest);
            }
        }
    }

    /// The version of a file that a run has last seen.
    pub fn seen(&self, run: &str, path: &Path, limits: LedgerLimits) -> Option<Version> {
        let mut entry = self.runs.get_mut(run)?;
        if entry.used.elapsed() > limits.keep {
            return None;
        }
        entry.used = Instant::now();
        entry.seen.get(path).map(|(version, _)| *version)
    }

    /// A file is gone.
    pub fn forget(&self, run: &str, path: &Path) {
        if let Some(mut entry) = self.runs.get_mut(run) {
            entry.seen.remove(path);
        }
    }

    fn make_room(&self, limits: LedgerLimits) {
        self.runs.retain(|_, run| run.used.elapsed() <= limits.keep);
        while self.runs.len() >= MAX_RUNS {
            let oldest = self.runs.iter().min_by_key(|entry| entry.used).map(|entry| entry.key().clone());
            match oldest {
                Some(oldest) => self.runs.remove(&oldest),
                None => return,
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_sees_what_it_noted_and_forgets_the_oldest() {
        let ledger = Ledger::default();
        let limits = LedgerLimits { paths: 2, ..LedgerLimits::default() };
        let version = |text: &str| Version::of(text.as_bytes());
        for path in ["/a", "/b", "/a", "/c"] {
            ledger.note("r", Path::new(path), version(path), limits);
        }
        assert_eq!(ledger.seen("r", Path::new("/a"), limits), Some(version("/a")));
        assert_eq!(ledger.seen("r", Path::new("/b"), limits), None, "it was noted before the others");
        assert_eq!(ledger.seen("other", Path::new("/a"), limits), None);
        ledger.forget("r", Path::new("/a"));
        assert_eq!(ledger.seen("r", Path::new("/a"), limits), None);
        let none = LedgerLimits { keep: Duration::ZERO, ..limits };
        assert_eq!(ledger.seen("r", Path::new("/c"), none), None);
    }

    #[test]
    fn the_number_of_runs_is_bounded() {
        let ledger = Ledger::default();
        for at in 0..MAX_RUNS + 10 {
            ledger.note(&format!("r{at}"), Path::new("/a"), Version::of(b""), LedgerLimits::default());
        }
        assert_eq!(ledger.runs.len(), MAX_RUNS);
    }
}
