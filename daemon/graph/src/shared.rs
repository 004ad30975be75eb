//! What all graphs of a daemon share: the facts by content hash, and the counters.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use ccd_grammars::LanguageId;
use ccd_text::Version;

use crate::{
    Counters,
    engine::schema,
    store::{self, Store, StoreError},
};

/// Of the facts on disk; above it they are begun anew, which costs one parse of what is in use.
const MAX_FACTS_BYTES: u64 = 1 << 30;
/// Threads of one run at most.
const MAX_WORKERS: usize = 16;

#[derive(Default)]
enum Facts {
    #[default]
    Closed,
    Open(Arc<dyn Store>),
    /// It cannot be opened; the graphs do without.
    Failed,
}

/// The caches of a daemon. One for each cache folder.
pub struct Shared {
    cache: PathBuf,
    facts: Mutex<Facts>,
    notices: Mutex<Vec<String>>,
    files_parsed: AtomicU64,
    bytes_read: AtomicU64,
    resolve_runs: AtomicU64,
    files_resolved: AtomicU64,
}

impl Shared {
    /// The caches in a folder. Nothing is opened before it is needed.
    pub fn new(cache: PathBuf) -> Arc<Self> {
        Arc::new(Self {
            cache,
            facts: Mutex::default(),
            notices: Mutex::default(),
            files_parsed: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
            resolve_runs: AtomicU64::new(0),
            files_resolved: AtomicU64::new(0),
        })
    }

    /// Counts since the start.
    pub fn counters(&self) -> Counters {
        Counters {
            files_parsed: self.files_parsed.load(Ordering::Relaxed),
            bytes_read: self.bytes_read.load(Ordering::Relaxed),
            resolve_runs: self.resolve_runs.load(Ordering::Relaxed),
            files_resolved: self.files_resolved.load(Ordering::Relaxed),
        }
    }

    /// What is not as it should be, one sentence each.
    pub fn notices(&self) -> Vec<String> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Flushes and closes the facts.
    pub fn close(&self) {
        let mut facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Facts::Open(store) = std::mem::take(&mut *facts) {
            let _ = store.flush();
        }
    }

    /// Makes folders of the cache, each in the one before, or checks that they are ours alone.
    pub(crate) fn private(&self, below: &[&str]) -> Result<(), StoreError> {
        let mut folder = self.cache.clone();
        for name in std::iter::once("").chain(below.iter().copied()) {
            if !name.is_empty() {
                folder.push(name);
            }
            ccd_files::private_folder(&folder).map_err(|error| StoreError::Failed(error.to_string()))?;
        }
        Ok(())
    }

    pub(crate) fn cache(&self) -> &Path {
        &self.cache
    }

    pub(crate) fn workers(&self) -> usize {
        std::thread::available_parallelism().map_or(1, usize::from).min(MAX_WORKERS)
    }

    pub(crate) fn count_parsed(&self) {
        self.files_parsed.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn count_read(&self, bytes: u64) {
        self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn count_resolved(&self, files: u64) {
        self.resolve_runs.fetch_add(1, Ordering::Relaxed);
        self.files_resolved.fetch_add(files, Ordering::Relaxed);
    }

    fn store(&self) -> Option<Arc<dyn Store>> {
        let mut facts = self.facts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Facts::Closed = *facts {
            *facts = self.open();
        }
        match &*facts {
            Facts::Open(store) => Some(store.clone()),
            _ => None,
        }
    }

    fn open(&self) -> Facts {
        let folder = self.cache.join("facts").join("db");
        let note = |text: String| {
            tracing::warn!("{text}");
            self.notices.lock().unwrap_or_else(PoisonError::into_inner).push(text);
        };
        let opened = self.private(&["facts"]).and_then(|()| store::open(&folder, &schema())).and_then(|opened| {
            if opened.store.size() <= MAX_FACTS_BYTES {
                return Ok(opened);
            }
            drop(opened);
            let aside = store::set_aside(&folder);
            aside.map_err(|error| StoreError::Failed(error.to_string()))?;
            store::open(&folder, &schema())
        });
        match opened {
            Ok(opened) => {
                if let Some(reason) = opened.rebuilt {
                    note(format!("The shared facts: {reason}."));
                }
                Facts::Open(Arc::from(opened.store))
            }
            Err(error) => {
                note(format!("Facts are not kept on disk: {error}."));
                Facts::Failed
            }
        }
    }

    /// The packed facts of a content, if they are known.
    pub(crate) fn facts(&self, version: Version, language: LanguageId) -> Option<Vec<u8>> {
        self.store()?.get(&crate::engine::facts_key(version, language)).ok().flatten()
    }

    pub(crate) fn put_facts(&self, changes: Vec<(Vec<u8>, Option<Vec<u8>>)>) {
        if changes.is_empty() {
            return;
        }
        if let Some(store) = self.store()
            && let Err(error) = store.put(changes)
        {
            tracing::warn!(%error, "facts could not be written to their store");
        }
    }
}
