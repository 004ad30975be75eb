//! Patches that were refused, so that only their bad hunks have to be sent again. In memory.

use std::{
    collections::VecDeque,
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use crate::request::Missing;

/// How long a patch is kept.
const KEEP: Duration = Duration::from_secs(600);
/// Bytes of one run's patches.
const RUN_BYTES: usize = 4 << 20;
/// Patches of all runs; ids of used ones are remembered as long.
const MOST: usize = 4096;

#[derive(Clone, Debug)]
pub(crate) struct Refused {
    pub(crate) text: String,
    pub(crate) cwd: PathBuf,
}

#[derive(Debug)]
struct Entry {
    id: String,
    run: Option<String>,
    at: Instant,
    /// None once it was used.
    patch: Option<Refused>,
}

/// The refused patches.
#[derive(Debug, Default)]
pub(crate) struct Failures {
    entries: Mutex<VecDeque<Entry>>,
    count: AtomicU64,
}

impl Failures {
    /// Keeps a patch and names it.
    pub(crate) fn keep(&self, run: Option<&str>, patch: Refused) -> String {
        let number = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        // The process counts too: an id of an earlier daemon must not name a patch of this one.
        let id = format!("f{:x}-{number:x}", std::process::id());
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.push_back(Entry { id: id.clone(), run: run.map(str::to_owned), at: Instant::now(), patch: Some(patch) });
        while entries.len() > MOST {
            entries.pop_front();
        }
        // The oldest of this run go first.
        let mut bytes = 0;
        for entry in entries.iter_mut().rev().filter(|entry| entry.run.as_deref() == run) {
            bytes += entry.patch.as_ref().map_or(0, |patch| patch.text.len());
            if bytes > RUN_BYTES && entry.id != id {
                entry.patch = None;
            }
        }
        id
    }

    /// The patch of an id.
    pub(crate) fn get(&self, id: &str) -> Result<Refused, Missing> {
        let entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = entries.iter().find(|entry| entry.id == id).ok_or(Missing::Unknown)?;
        if entry.at.elapsed() > KEEP {
            return Err(Missing::Expired);
        }
        entry.patch.clone().ok_or(Missing::Used)
    }

    /// It was applied.
    pub(crate) fn used(&self, id: &str) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(entry) = entries.iter_mut().find(|entry| entry.id == id) {
            entry.patch = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_patch_is_kept_until_it_is_used() {
        let failures = Failures::default();
        let refused = |text: &str| Refused { text: text.to_owned(), cwd: PathBuf::from("/") };
        let id = failures.keep(Some("r"), refused("a"));
        assert_eq!(failures.get(&id).unwrap().text, "a");
        failures.used(&id);
        assert_eq!(failures.get(&id).unwrap_err(), Missing::Used);
        assert_eq!(failures.get("f0").unwrap_err(), Missing::Unknown);
        let first = failures.keep(Some("r"), refused(&"x".repeat(RUN_BYTES)));
        let second = failures.keep(Some("r"), refused("y"));
        assert!(failures.get(&first).is_err() && failures.get(&second).is_ok(), "a run's oldest goes first");
    }
}
