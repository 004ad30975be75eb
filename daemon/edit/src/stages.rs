//! Prepared changes that wait to be accepted. In memory: they die with the daemon, and their ids say of which they are.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use ccd_text::Version;

/// Stages that wait, of all runs.
const MOST: usize = 1024;
/// Stages that are over and of which it is still known what became of them.
const REMEMBERED: usize = 4096;

/// The bounds of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageLimits {
    /// Bytes of the stages of one run.
    pub run_bytes: usize,
    /// Bytes of all stages.
    pub all_bytes: usize,
}

/// A file of a stage.
#[derive(Clone, Debug)]
pub struct StagedFile {
    /// Absolute, links followed.
    pub path: PathBuf,
    /// Relative to the root of the stage.
    pub rel: PathBuf,
    /// Places that change.
    pub sites: u64,
    /// Of the bytes that the new text was made from.
    pub version: Version,
    /// How many bytes those are.
    pub length: usize,
    /// What the file is to hold.
    pub text: Arc<[u8]>,
}

/// A place that changes.
#[derive(Clone, Debug)]
pub struct StagedSite {
    /// Relative to the root of the stage.
    pub rel: PathBuf,
    /// 1-based.
    pub line: u32,
    /// As it is before the change, perhaps cut.
    pub text: String,
}

/// What is to be staged.
#[derive(Clone, Debug, Default)]
pub struct Draft {
    /// Absolute.
    pub root: String,
    /// Whose it is.
    pub run: Option<String>,
    /// By path.
    pub files: Vec<StagedFile>,
    /// Places that change, in all.
    pub sites: u64,
    /// The first of them.
    pub shown: Vec<StagedSite>,
    /// Matches inside others, which stay.
    pub nested_skipped: u64,
    /// A unified diff of all files.
    pub diff: String,
    /// What a careful reader should know.
    pub warnings: Vec<String>,
    /// Of the workspace when it was made.
    pub epoch: u64,
}

impl Draft {
    fn bytes(&self) -> usize {
        let files: usize = self.files.iter().map(|file| file.text.len() + 2 * file.path.as_os_str().len() + 200).sum();
        files + self.diff.len() + self.shown.iter().map(|site| site.text.len() + 100).sum::<usize>()
    }
}

/// A prepared change.
#[derive(Debug)]
pub struct Stage {
    /// Names it.
    pub id: String,
    /// What it holds.
    pub draft: Draft,
    /// Seconds since 1970.
    pub expires_at: u64,
    expires: Instant,
    bytes: usize,
}

/// Why a stage is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StageError {
    /// No stage of this daemon.
    #[error("no such stage is known")]
    Unknown {
        /// Its id is of an earlier daemon.
        restarted: bool,
    },
    /// It was dropped.
    #[error("the stage was discarded")]
    Discarded,
    /// Its time is over.
    #[error("the time of the stage is over")]
    Expired,
    /// It was accepted.
    #[error("the stage was accepted before")]
    Used {
        /// By this transaction.
        txn_id: String,
        /// Seconds since 1970.
        at: u64,
    },
}

/// There is no room for a further stage.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no room for {bytes} bytes more; the limit is {limit}")]
pub struct StoreFull {
    /// What it would take.
    pub bytes: usize,
    /// Bytes of the run or of all, whichever is reached; stages if there are too many of them.
    pub limit: usize,
    /// The ids of those that take the room.
    pub pending: Vec<String>,
}

#[derive(Debug)]
enum Fate {
    Waits(Arc<Stage>),
    Over(StageError),
}

#[derive(Debug)]
struct Entry {
    root: String,
    fate: Fate,
}

/// The stages of a daemon.
#[derive(Debug)]
pub struct Stages {
    prefix: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    next: u64,
    /// By number, and so in the order in which they were made.
    entries: BTreeMap<u64, Entry>,
}

impl Stages {
    /// Those of the daemon with this name.
    pub fn new(instance: &str) -> Self {
        Self { prefix: format!("st-{instance}-"), state: Mutex::default() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a change for a time, or refuses: an earlier one is never dropped for it.
    pub fn put(&self, draft: Draft, keep: Duration, limits: StageLimits) -> Result<Arc<Stage>, StoreFull> {
        let bytes = draft.bytes();
        let mut state = self.lock();
        state.expire();
        let of_run: Vec<&Arc<Stage>> = state.waiting().filter(|stage| stage.draft.run == draft.run).collect();
        let all: Vec<&Arc<Stage>> = state.waiting().collect();
        let sum = |stages: &[&Arc<Stage>]| stages.iter().map(|stage| stage.bytes).sum::<usize>();
        let full = |stages: &[&Arc<Stage>], limit: usize| StoreFull {
            bytes,
            limit,
            pending: stages.iter().map(|stage| stage.id.clone()).collect(),
        };
        if sum(&of_run) + bytes > limits.run_bytes {
            return Err(full(&of_run, limits.run_bytes));
        }
        if sum(&all) + bytes > limits.all_bytes {
            return Err(full(&all, limits.all_bytes));
        }
        if all.len() >= MOST {
            return Err(full(&all, MOST));
        }
        state.next += 1;
        let number = state.next;
        let stage = Arc::new(Stage {
            id: format!("{}{number:x}", self.prefix),
            expires_at: seconds() + keep.as_secs(),
            expires: Instant::now() + keep,
            bytes,
            draft,
        });
        let entry = Entry { root: stage.draft.root.clone(), fate: Fate::Waits(Arc::clone(&stage)) };
        state.entries.insert(number, entry);
        state.forget();
        Ok(stage)
    }

    /// A stage that waits, or what became of it.
    pub fn get(&self, id: &str) -> Result<Arc<Stage>, StageError> {
        let mut state = self.lock();
        state.expire();
        match self.number(id).and_then(|number| state.entries.get(&number)) {
            Some(Entry { fate: Fate::Waits(stage), .. }) => Ok(Arc::clone(stage)),
            Some(Entry { fate: Fate::Over(why), .. }) => Err(why.clone()),
            None => Err(StageError::Unknown { restarted: self.is_of_another(id) }),
        }
    }

    /// The root of a stage, also of one that is over.
    pub fn root_of(&self, id: &str) -> Option<String> {
        let state = self.lock();
        state.entries.get(&self.number(id)?).map(|entry| entry.root.clone())
    }

    /// Whether a stage was not accepted, discarded or forgotten; one that expired while it is being accepted counts.
    pub(crate) fn unused(&self, id: &str) -> Result<(), StageError> {
        match self.get(id) {
            Ok(_) | Err(StageError::Expired) => Ok(()),
            Err(why) => Err(why),
        }
    }

    /// It was accepted.
    pub(crate) fn used(&self, id: &str, txn_id: &str) {
        self.end(id, StageError::Used { txn_id: txn_id.to_owned(), at: seconds() });
    }

    /// Drops a stage that waits.
    pub fn discard(&self, id: &str) -> Result<Arc<Stage>, StageError> {
        let stage = self.get(id)?;
        self.end(id, StageError::Discarded);
        Ok(stage)
    }

    fn end(&self, id: &str, why: StageError) {
        let mut state = self.lock();
        if let Some(entry) = self.number(id).and_then(|number| state.entries.get_mut(&number)) {
            entry.fate = Fate::Over(why);
        }
    }

    /// Those that wait, oldest first.
    pub fn pending(&self) -> Vec<Arc<Stage>> {
        let mut state = self.lock();
        state.expire();
        state.waiting().cloned().collect()
    }

    /// Whether a stage is over because of its time. Called when that is so: its bytes go.
    pub fn expired(&self, id: &str) -> bool {
        let mut state = self.lock();
        state.expire();
        let entry = self.number(id).and_then(|number| state.entries.get(&number));
        entry.is_some_and(|entry| matches!(entry.fate, Fate::Over(StageError::Expired)))
    }

    fn number(&self, id: &str) -> Option<u64> {
        u64::from_str_radix(id.strip_prefix(&self.prefix)?, 16).ok()
    }

    fn is_of_another(&self, id: &str) -> bool {
        let parts: Vec<&str> = id.split('-').collect();
        parts.len() > 2 && parts[0] == "st" && !id.starts_with(&self.prefix)
    }
}

impl State {
    fn waiting(&self) -> impl Iterator<Item = &Arc<Stage>> {
        self.entries.values().filter_map(|entry| match &entry.fate {
            Fate::Waits(stage) => Some(stage),
            Fate::Over(_) => None,
        })
    }

    fn expire(&mut self) {
        let now = Instant::now();
        for entry in self.entries.values_mut() {
            if matches!(&entry.fate, Fate::Waits(stage) if stage.expires <= now) {
                entry.fate = Fate::Over(StageError::Expired);
            }
        }
    }

    /// Those that are over longest are forgotten.
    fn forget(&mut self) {
        let over: Vec<u64> =
            self.entries.iter().filter(|(_, entry)| matches!(entry.fate, Fate::Over(_))).map(|(number, _)| *number).collect();
        for number in over.iter().take(over.len().saturating_sub(REMEMBERED)) {
            self.entries.remove(number);
        }
    }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: StageLimits = StageLimits { run_bytes: 2000, all_bytes: 3000 };
    const KEEP: Duration = Duration::from_secs(60);

    fn draft(run: &str, bytes: usize) -> Draft {
        Draft { run: Some(run.to_owned()), root: "/p".to_owned(), diff: "x".repeat(bytes), ..Draft::default() }
    }

    #[test]
    fn a_stage_waits_until_it_is_used_or_discarded() {
        let stages = Stages::new("i");
        let first = stages.put(draft("r", 10), KEEP, LIMITS).unwrap();
        let second = stages.put(draft("r", 10), KEEP, LIMITS).unwrap();
        assert_eq!(stages.pending().len(), 2);
        stages.used(&first.id, "t");
        assert!(matches!(stages.get(&first.id), Err(StageError::Used { txn_id, .. }) if txn_id == "t"));
        stages.discard(&second.id).unwrap();
        assert_eq!(stages.discard(&second.id).unwrap_err(), StageError::Discarded);
        assert!(stages.pending().is_empty());
        assert_eq!(stages.root_of(&first.id).as_deref(), Some("/p"), "also when it is over");
        assert_eq!(stages.get("st-i-99").unwrap_err(), StageError::Unknown { restarted: false });
        assert_eq!(stages.get("st-j-1").unwrap_err(), StageError::Unknown { restarted: true });
        assert_eq!(stages.get("nonsense").unwrap_err(), StageError::Unknown { restarted: false });
    }

    #[test]
    fn a_full_store_refuses_the_new_one() {
        let stages = Stages::new("i");
        let first = stages.put(draft("r", 1500), KEEP, LIMITS).unwrap();
        let full = stages.put(draft("r", 1000), KEEP, LIMITS).unwrap_err();
        assert_eq!((full.limit, full.pending), (LIMITS.run_bytes, vec![first.id.clone()]));
        let other = stages.put(draft("q", 1000), KEEP, LIMITS).unwrap();
        let full = stages.put(draft("p", 1000), KEEP, LIMITS).unwrap_err();
        assert_eq!((full.limit, full.pending), (LIMITS.all_bytes, vec![first.id.clone(), other.id.clone()]));
        stages.discard(&first.id).unwrap();
        stages.put(draft("r", 1000), KEEP, LIMITS).unwrap();
        assert!(stages.get(&other.id).is_ok());
    }

    #[test]
    fn time_ends_a_stage_and_its_bytes() {
        let stages = Stages::new("i");
        let stage = stages.put(draft("r", 1500), Duration::ZERO, LIMITS).unwrap();
        assert_eq!(stages.get(&stage.id).unwrap_err(), StageError::Expired);
        assert!(stages.expired(&stage.id) && stages.unused(&stage.id).is_ok());
        stages.put(draft("r", 1500), KEEP, LIMITS).unwrap();
    }
}
