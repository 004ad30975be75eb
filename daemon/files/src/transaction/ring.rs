//! What is kept in a folder for a while, oldest first: bounded in time and in bytes.

use std::{collections::VecDeque, ffi::OsString};

/// One thing that is kept.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) name: OsString,
    pub(crate) time: u64,
    pub(crate) bytes: u64,
}

/// The order of what is kept. Read from the folder once; a daemon writes many a second and must not list them all.
#[derive(Debug, Default)]
pub(crate) struct Ring {
    pub(crate) loaded: bool,
    entries: VecDeque<Entry>,
    total: u64,
}

impl Ring {
    /// Takes what the folder held.
    pub(crate) fn load(&mut self, mut entries: Vec<Entry>) {
        entries.sort_by_key(|entry| entry.time);
        self.total = entries.iter().map(|entry| entry.bytes).sum();
        self.entries = entries.into();
        self.loaded = true;
    }

    pub(crate) fn push(&mut self, entry: Entry) {
        self.forget(&entry.name.clone());
        self.total += entry.bytes;
        self.entries.push_back(entry);
    }

    pub(crate) fn forget(&mut self, name: &OsString) {
        if let Some(at) = self.entries.iter().position(|entry| entry.name == *name)
            && let Some(entry) = self.entries.remove(at)
        {
            self.total -= entry.bytes;
        }
    }

    /// The next one that has to go.
    pub(crate) fn over(&mut self, now: u64, seconds: u64, bytes: u64) -> Option<OsString> {
        let first = self.entries.front()?;
        if self.total <= bytes && first.time.saturating_add(seconds) >= now {
            return None;
        }
        let entry = self.entries.pop_front()?;
        self.total -= entry.bytes;
        Some(entry.name)
    }
}
