//! Index runs: from the files on disk to the graph in memory, and to the store.

mod load;
mod read;
mod resolve;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use ccd_corpus::{Cancel, Limits, Looked};
use ccd_files::Root;
use ccd_text::Version;

use crate::{
    Freshness, IndexError, IndexReport, IndexRequest, State, Status,
    layout::{Layout, Manifests},
    model::{FileStamp, Model, stable_hash},
    shared::Shared,
    store::Store,
};

pub(crate) use load::{facts_key, schema};

/// Files that change in one run from which on the workspace counts as another one.
const EPOCH_FILES: u64 = 500;
/// How long to sleep between two tries for the run lock; the wait itself ends with the caller's token.
const RUN_WAIT: Duration = Duration::from_millis(2);

/// A file that is left out because of its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeftOut {
    pub(crate) stamp: FileStamp,
    pub(crate) version: Version,
    pub(crate) reason: &'static str,
}

/// What queries read.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) model: Model,
    pub(crate) layout: Arc<Layout>,
    /// The shape that the layout was made for, and the places of modules.
    laid_out: Option<(u64, u64)>,
    manifests: Manifests,
    pub(crate) left_out: BTreeMap<String, LeftOut>,
    pub(crate) generation: u64,
    pub(crate) epoch: u64,
}

#[derive(Default)]
struct Facade {
    freshness: Option<Freshness>,
    walk_skipped: BTreeMap<&'static str, u64>,
    folders: Vec<PathBuf>,
    manifest_paths: Vec<PathBuf>,
    rebuilt: Option<(String, Instant)>,
    last_error: Option<String>,
    head: Option<Vec<u8>>,
}

/// What one run at a time works with.
#[derive(Default)]
pub(crate) struct Run {
    store: Option<Box<dyn Store>>,
    /// Where it is.
    folder: PathBuf,
    opened: bool,
}

/// The graph of one workspace.
pub struct Graph {
    pub(crate) root: Arc<Root>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) limits: Limits,
    pub(crate) contents: RwLock<Contents>,
    facade: Mutex<Facade>,
    run: Mutex<Run>,
    stale: AtomicU64,
    pub(crate) texts: Mutex<crate::query::Texts>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Graph {
    /// A graph that is not indexed yet. Nothing is opened or read.
    pub fn new(root: Arc<Root>, shared: Arc<Shared>, limits: Limits) -> Self {
        Self {
            root,
            shared,
            limits,
            contents: RwLock::default(),
            facade: Mutex::default(),
            run: Mutex::default(),
            stale: AtomicU64::new(0),
            texts: Mutex::default(),
        }
    }

    /// A run is about to begin: answers say `indexing` from now on.
    pub fn expect_run(&self) {
        let mut facade = locked(&self.facade);
        if facade.freshness.is_none() {
            facade.freshness = Some(Freshness::Indexing { done: 0, total: 0 });
        }
    }

    /// Files are known to have changed that no run has seen; 0 when there are none.
    pub fn mark_stale(&self, files: u64) {
        self.stale.store(files, Ordering::Relaxed);
    }

    /// The folders of the last walk, relative to the root.
    pub fn folders(&self) -> Vec<PathBuf> {
        locked(&self.facade).folders.clone()
    }

    /// How fresh the graph is.
    pub fn state(&self) -> State {
        let contents = self.contents.read().unwrap_or_else(PoisonError::into_inner);
        self.state_of(&contents)
    }

    pub(crate) fn state_of(&self, contents: &Contents) -> State {
        let stale = self.stale.load(Ordering::Relaxed);
        let freshness = match locked(&self.facade).freshness {
            None => Freshness::NotIndexed,
            Some(Freshness::Ready) if stale > 0 => Freshness::Stale { files: stale },
            Some(known) => known,
        };
        State { freshness, generation: contents.generation, epoch: contents.epoch }
    }

    /// How the index stands.
    pub fn status(&self) -> Status {
        let contents = self.contents.read().unwrap_or_else(PoisonError::into_inner);
        let state = self.state_of(&contents);
        let facade = locked(&self.facade);
        let mut skipped = facade.walk_skipped.clone();
        for one in contents.left_out.values() {
            *skipped.entry(one.reason).or_default() += 1;
        }
        Status {
            state,
            files: contents.model.by_path.len() as u64,
            symbols: contents.model.symbol_count,
            edges: contents.model.edge_count,
            skipped,
            parse_errors: contents.model.entries().filter(|(_, entry)| entry.facts.parse_error).count() as u64,
            rebuilt: facade.rebuilt.clone(),
            last_error: facade.last_error.clone(),
        }
    }

    /// Flushes the store and gives back what is held. A run that does not end before `until` is left to itself: it gives
    /// back the store when it ends, and until then no other opener has it.
    pub fn close(&self, until: Instant) {
        let Some(mut run) = self.run_lock(|| Instant::now() >= until) else { return };
        if let Some(store) = run.store.take() {
            let _ = store.flush();
        }
        run.opened = false;
    }

    /// The lock of the run, waited for until it is to be given up.
    fn run_lock(&self, give_up: impl Fn() -> bool) -> Option<MutexGuard<'_, Run>> {
        loop {
            match self.run.try_lock() {
                Ok(run) => return Some(run),
                Err(std::sync::TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
                Err(std::sync::TryLockError::WouldBlock) if give_up() => return None,
                Err(std::sync::TryLockError::WouldBlock) => std::thread::sleep(RUN_WAIT),
            }
        }
    }

    /// Brings the graph up to date. One run at a time; a second caller waits for the first.
    pub fn index(
        &self,
        request: &IndexRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<IndexReport, IndexError> {
        let start = Instant::now();
        let mut run = self.run_lock(|| cancel.is_cancelled()).ok_or(IndexError::Cancelled)?;
        let outcome = self.run(&mut run, request, cancel, progress);
        let mut facade = locked(&self.facade);
        match outcome {
            Ok(mut report) => {
                facade.last_error = None;
                facade.freshness = Some(Freshness::Ready);
                drop(facade);
                report.elapsed = start.elapsed();
                Ok(report)
            }
            Err(error) => {
                // What was done is kept; the next run does the rest.
                if !matches!(error, IndexError::Cancelled) {
                    facade.last_error = Some(error.to_string());
                }
                if matches!(facade.freshness, Some(Freshness::Indexing { .. })) {
                    facade.freshness = None;
                }
                Err(error)
            }
        }
    }

    fn run(
        &self,
        run: &mut Run,
        request: &IndexRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<IndexReport, IndexError> {
        if !self.root.is_current() {
            return Err(IndexError::Root("the folder is gone or was replaced".to_owned()));
        }
        let first = !run.opened;
        if first {
            self.announce(0, 0);
            self.open_store(run);
            self.load(run);
            run.opened = true;
        }
        // Without an index there is nothing that single paths could be added to.
        let plan = match &request.paths {
            Some(paths) if !first => self.plan_paths(paths, cancel)?,
            _ => self.plan_all(cancel)?,
        };
        let whole = plan.whole;
        if whole {
            self.announce(0, plan.entries.len() as u64);
        }
        let report_progress = |done: u64, total: u64| {
            if whole {
                self.announce(done, total);
            }
            progress(done, total);
        };
        let mut report = self.read_entries(run, &plan, request.full, cancel, &report_progress)?;
        report.removed = self.remove(run, &plan.gone);
        if plan.manifests_changed || whole {
            self.read_manifests();
        }
        let resolved = self.resolve_pass(run, cancel)?;
        let changed = report.files_parsed + report.removed;
        {
            let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
            if changed > 0 || resolved > 0 {
                contents.generation += 1;
            }
            let head_moved = whole && self.head_moved();
            if (changed >= EPOCH_FILES && !first) || head_moved {
                contents.epoch += 1;
            }
            report.symbols = contents.model.symbol_count;
            report.edges = contents.model.edge_count;
        }
        if let Some(store) = &run.store
            && (changed > 0 || resolved > 0)
        {
            // After a targeted run the engine's own flush, twice a second, is soon enough.
            if whole && let Err(error) = store.flush() {
                tracing::warn!(%error, "the index could not be written to disk");
            }
            let contents = self.contents.read().unwrap_or_else(PoisonError::into_inner);
            crate::store::expect(&run.folder, (contents.model.by_path.len() + contents.left_out.len()) as u64);
        }
        Ok(report)
    }

    fn announce(&self, done: u64, total: u64) {
        let mut facade = locked(&self.facade);
        // A run on a graph that is ready answers from the old state until it is done.
        if !matches!(facade.freshness, Some(Freshness::Ready)) {
            facade.freshness = Some(Freshness::Indexing { done, total });
        }
    }

    /// A move of HEAD means that another tree may lie here.
    fn head_moved(&self) -> bool {
        let now = ccd_corpus::head(&self.root);
        let mut facade = locked(&self.facade);
        let moved = facade.head.is_some() && facade.head != now;
        facade.head = now;
        moved
    }

    fn plan_all(&self, cancel: &Cancel) -> Result<Plan, IndexError> {
        let walk = ccd_corpus::walk(&self.root, &self.limits, cancel).map_err(|error| match error {
            ccd_corpus::WalkError::Cancelled => IndexError::Cancelled,
            ccd_corpus::WalkError::Root(error) => IndexError::Root(error.to_string()),
        })?;
        let there: BTreeSet<&str> = walk.files.iter().filter_map(|entry| entry.rel.to_str()).collect();
        let gone = {
            let contents = self.contents.read().unwrap_or_else(PoisonError::into_inner);
            let known = contents.model.by_path.keys().map(|rel| &**rel).chain(contents.left_out.keys().map(String::as_str));
            known.filter(|rel| !there.contains(rel)).map(str::to_owned).collect()
        };
        let mut facade = locked(&self.facade);
        facade.walk_skipped = walk.skipped;
        facade.folders = walk.folders;
        facade.manifest_paths = walk.manifests;
        Ok(Plan { entries: walk.files, gone, manifests_changed: true, whole: true })
    }

    /// Only the given paths are looked at; what they leave out stays as it is.
    fn plan_paths(&self, paths: &[PathBuf], cancel: &Cancel) -> Result<Plan, IndexError> {
        let mut plan = Plan::default();
        for rel in paths {
            if cancel.is_cancelled() {
                return Err(IndexError::Cancelled);
            }
            match ccd_corpus::look(&self.root, rel, &self.limits) {
                Looked::Source(entry) => plan.entries.push(entry),
                Looked::Manifest => plan.manifests_changed = true,
                Looked::IgnoreFile => return self.plan_all(cancel),
                Looked::Folder if rel.as_os_str().is_empty() => return self.plan_all(cancel),
                Looked::Folder => {
                    let walk = ccd_corpus::walk_below(&self.root, rel, &self.limits, cancel).map_err(|error| match error {
                        ccd_corpus::WalkError::Cancelled => IndexError::Cancelled,
                        ccd_corpus::WalkError::Root(error) => IndexError::Root(error.to_string()),
                    })?;
                    let there: BTreeSet<&str> = walk.files.iter().filter_map(|entry| entry.rel.to_str()).collect();
                    plan.gone.extend(self.known_below(rel).into_iter().filter(|rel| !there.contains(rel.as_str())));
                    plan.entries.extend(walk.files);
                    plan.manifests_changed |= !walk.manifests.is_empty();
                    let mut facade = locked(&self.facade);
                    facade.folders.extend(walk.folders);
                    facade.folders.sort_unstable();
                    facade.folders.dedup();
                    facade.manifest_paths.extend(walk.manifests);
                    facade.manifest_paths.sort_unstable();
                    facade.manifest_paths.dedup();
                }
                Looked::Skipped(_) | Looked::Gone | Looked::Other => {
                    let known = self.known_below(rel);
                    let mut facade = locked(&self.facade);
                    let before = facade.manifest_paths.len();
                    facade.manifest_paths.retain(|path| !path.starts_with(rel));
                    plan.manifests_changed |= facade.manifest_paths.len() != before;
                    facade.folders.retain(|path| path.as_os_str().is_empty() || !path.starts_with(rel));
                    plan.gone.extend(known);
                }
            }
        }
        plan.entries.sort_unstable_by(|a, b| a.rel.cmp(&b.rel));
        plan.entries.dedup_by(|a, b| a.rel == b.rel);
        Ok(plan)
    }

    /// Files of the index at or below a path.
    fn known_below(&self, rel: &Path) -> Vec<String> {
        let contents = self.contents.read().unwrap_or_else(PoisonError::into_inner);
        let Some(rel) = rel.to_str() else { return Vec::new() };
        if contents.model.by_path.contains_key(rel) || contents.left_out.contains_key(rel) {
            return vec![rel.to_owned()];
        }
        let prefix = format!("{rel}/");
        let known = contents.model.by_path.keys().map(|rel| &**rel).chain(contents.left_out.keys().map(String::as_str));
        known.filter(|path| path.starts_with(&prefix)).map(str::to_owned).collect()
    }

    fn remove(&self, run: &Run, gone: &[String]) -> u64 {
        if gone.is_empty() {
            return 0;
        }
        let mut removed = 0;
        let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        let mut changes = Vec::new();
        for rel in gone {
            removed += u64::from(contents.model.remove(rel));
            contents.left_out.remove(rel);
            changes.push((load::file_key(rel), None));
            changes.push((load::edges_key(rel), None));
        }
        drop(contents);
        self.write(run, changes);
        removed
    }

    fn read_manifests(&self) {
        let paths = locked(&self.facade).manifest_paths.clone();
        let mut manifests = Manifests::new();
        let mut sum = 0u64;
        for path in paths {
            if let (Some(rel), Ok(file)) = (path.to_str(), self.root.read(&path, self.limits.max_file_bytes)) {
                sum = sum.wrapping_add(stable_hash(&[rel.as_bytes(), &Version::of(&file.bytes).to_bytes()]));
                manifests.insert(rel.to_owned(), file.bytes);
            }
        }
        let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        contents.model.manifests = sum;
        contents.manifests = manifests;
    }

    fn write(&self, run: &Run, changes: Vec<(Vec<u8>, Option<Vec<u8>>)>) {
        if let Some(store) = &run.store
            && let Err(error) = store.put(changes)
        {
            tracing::warn!(%error, "the index could not be written to its store");
        }
    }

    /// Without a watcher: looks at the times and sizes of up to `limit` files, indexes those that changed, and says how
    /// many were not looked at.
    pub fn check_fresh(&self, limit: usize, cancel: &Cancel) -> u64 {
        let (changed, rest) = {
            let contents = self.contents.read().unwrap_or_else(PoisonError::into_inner);
            let mut entries: Vec<_> = contents.model.entries().map(|(_, entry)| (entry.rel.clone(), entry.stamp)).collect();
            entries.sort_unstable_by(|a, b| a.0.cmp(&b.0));
            let rest = entries.len().saturating_sub(limit) as u64;
            let changed: Vec<PathBuf> = entries
                .iter()
                .take(limit)
                .filter(|(rel, stamp)| match self.root.link_stat(Path::new(&**rel)) {
                    Ok(stat) => !read::is_same(stamp, &stat),
                    Err(_) => true,
                })
                .map(|(rel, _)| PathBuf::from(&**rel))
                .collect();
            (changed, rest)
        };
        if !changed.is_empty() {
            let request = IndexRequest { paths: Some(changed), full: false };
            let _ = self.index(&request, cancel, &|_, _| {});
        }
        rest
    }
}

/// What a run reads and drops.
#[derive(Debug, Default)]
pub(crate) struct Plan {
    entries: Vec<ccd_corpus::Entry>,
    gone: Vec<String>,
    manifests_changed: bool,
    whole: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_does_not_wait_for_a_run_that_goes_on() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = Root::open(folder.path(), None).expect("a root");
        let graph = Graph::new(Arc::new(root), Shared::new(folder.path().join("cache")), Limits::default());
        let run = locked(&graph.run);
        let begin = Instant::now();
        graph.close(begin + Duration::from_millis(20));
        assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
        drop(run);
        graph.close(begin);
    }
}
