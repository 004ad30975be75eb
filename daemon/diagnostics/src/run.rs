//! What one run knows.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::tally::Tally;

/// What a run knows of a file. A file without an entry has not changed since the run touched its root: the run knows
/// all that stands there.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) known: Arc<Tally>,
    /// The serial of the last change of `known`.
    pub(crate) as_of: u64,
    /// The serial of the list that `known` is equal to; none if it is not known to be equal to one.
    pub(crate) equals: Option<u64>,
    /// What went away since the last report, by severity.
    pub(crate) gone: [u64; 4],
    /// For the choice of what is forgotten first.
    pub(crate) used: u64,
}

impl Entry {
    pub(crate) fn new(known: Arc<Tally>, serial: u64) -> Self {
        Self { known, as_of: serial, equals: None, gone: [0; 4], used: serial }
    }

    /// An entry counts although it holds nothing.
    fn weight(&self) -> usize {
        self.known.len().max(1)
    }
}

/// A run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Run {
    pub(crate) roots: BTreeSet<PathBuf>,
    pub(crate) entries: BTreeMap<PathBuf, Entry>,
    /// Something was forgotten.
    pub(crate) partial: bool,
    /// Seconds, on the clock of the registry.
    pub(crate) last_used: u64,
    weight: usize,
}

impl Run {
    /// Whether changes of this file are owed to it.
    pub(crate) fn covers(&self, path: &Path) -> bool {
        self.roots.iter().any(|root| path.starts_with(root))
    }

    pub(crate) fn put(&mut self, path: PathBuf, entry: Entry) {
        self.weight += entry.weight();
        if let Some(old) = self.entries.insert(path, entry) {
            self.weight -= old.weight();
        }
    }

    pub(crate) fn take(&mut self, path: &Path) -> Option<Entry> {
        let entry = self.entries.remove(path)?;
        self.weight -= entry.weight();
        Some(entry)
    }

    /// Forgets files, least recently used first, until it holds no more than `most` keys.
    pub(crate) fn shrink(&mut self, most: usize) {
        if self.weight <= most {
            return;
        }
        let mut by_use: Vec<(u64, PathBuf)> = self.entries.iter().map(|(path, entry)| (entry.used, path.clone())).collect();
        by_use.sort();
        for (_, path) in by_use {
            if self.weight <= most {
                break;
            }
            self.take(&path);
            self.partial = true;
        }
    }

    /// Keys that it holds.
    pub(crate) fn weight(&self) -> usize {
        self.weight
    }
}
