//! Gathering: many raw events become one batch by root.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// A batch is told when nothing more happened for this long.
pub(crate) const QUIET: Duration = Duration::from_millis(10);
/// Under continuous writes a batch is told this long after its first change.
pub(crate) const CEILING: Duration = Duration::from_millis(100);
/// Paths of one batch; more of them are a rescan.
pub(crate) const MOST: usize = 4096;

/// What happened in one root.
#[derive(Debug)]
pub(crate) struct Batch {
    first: Instant,
    last: Instant,
    pub(crate) paths: BTreeSet<PathBuf>,
    pub(crate) maybe_folders: BTreeSet<PathBuf>,
    pub(crate) rescan: bool,
    pub(crate) gone: bool,
}

impl Batch {
    fn new(now: Instant) -> Self {
        Self { first: now, last: now, paths: BTreeSet::new(), maybe_folders: BTreeSet::new(), rescan: false, gone: false }
    }

    fn due(&self) -> Instant {
        (self.last + QUIET).min(self.first + CEILING)
    }
}

/// The batches that are being gathered.
#[derive(Debug, Default)]
pub(crate) struct Batches(BTreeMap<PathBuf, Batch>);

impl Batches {
    /// The batch of a root; `true` if this change begins it.
    pub(crate) fn of(&mut self, root: &Path, now: Instant) -> (&mut Batch, bool) {
        let begins = !self.0.contains_key(root);
        let batch = self.0.entry(root.to_path_buf()).or_insert_with(|| Batch::new(now));
        batch.last = now;
        (batch, begins)
    }

    /// When the next one is to be told.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.0.values().map(Batch::due).min()
    }

    /// Takes those that are due.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<(PathBuf, Batch)> {
        let due: Vec<PathBuf> = self.0.iter().filter(|(_, batch)| batch.due() <= now).map(|(root, _)| root.clone()).collect();
        due.into_iter().filter_map(|root| self.0.remove_entry(&root)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quiet_ends_a_batch_and_so_does_the_ceiling() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut batches = Batches::default();
        assert!(batches.of(Path::new("/p"), at(0)).1);
        assert!(!batches.of(Path::new("/p"), at(5)).1);
        assert!(batches.take_due(at(14)).is_empty());
        assert_eq!(batches.take_due(at(15)).len(), 1);
        for ms in (20..120).step_by(5) {
            batches.of(Path::new("/p"), at(ms));
            assert!(batches.take_due(at(ms)).is_empty());
        }
        batches.of(Path::new("/p"), at(119));
        assert_eq!(batches.take_due(at(120)).len(), 1);
        assert_eq!(batches.next_due(), None);
    }
}
