//! One open workspace: its root, its graph, its counts.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use ccd_corpus::Limits;
use ccd_files::Root;
use ccd_graph::{Freshness, Graph, State, Status};
use ccd_protocol::{
    daemon::WorkspaceSummary,
    workspace::{IndexState, LanguageCount, TrustState, TrustWord, WatchState},
};
use tokio::sync::{Notify, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::{api::convert, config::WatchMode, daemon::Daemon, trust};

/// Grants of one workspace.
const GRANTS: usize = 64;
/// A run that was cancelled is waited for this long before its graph is closed.
const LEAVING: Duration = Duration::from_secs(2);

/// What waits to be indexed.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pub(super) paths: BTreeSet<PathBuf>,
    pub(super) new_folders: BTreeSet<PathBuf>,
    /// All of it.
    pub(super) full: bool,
    /// The token of the call that asked for a full run.
    pub(super) token: Option<Arc<str>>,
    /// Folders of a walk that was just made, so that the run need not make one only to watch them.
    pub(super) folders: Option<Vec<PathBuf>>,
    /// Batches of the watcher that this answers.
    pub(super) batches: u64,
    /// The root was removed or renamed.
    pub(super) gone: bool,
}

/// Root and graph go together: a root that is removed and made again is another folder with another graph.
struct Core {
    root: Arc<Root>,
    graph: Option<Arc<Graph>>,
    /// Grows with each graph, so that a cursor of an older one is seen.
    incarnation: u64,
}

/// How the graph stands, as its last run left it. Questions hold the graph's own lock for as long as they take, and a
/// run waits for them: whoever answers from memory must not wait with it, so runs leave a copy here.
struct Seen {
    state: State,
    status: Status,
}

/// An open workspace.
pub(crate) struct Workspace {
    daemon: Weak<Daemon>,
    /// Canonical.
    pub(crate) path: Arc<str>,
    core: Mutex<Core>,
    seen: Mutex<Option<Seen>>,
    /// One index run at a time.
    pub(super) gate: Arc<Semaphore>,
    pub(super) queue: Mutex<Queue>,
    pub(super) queued: Notify,
    /// Batches of changes that no run has seen.
    pub(super) pending: watch::Sender<u64>,
    /// Grows with each run that has ended.
    pub(super) runs: watch::Sender<u64>,
    /// The task that works off the queue runs.
    pub(super) tended: AtomicBool,
    /// A run was asked for since the graph was made.
    pub(super) indexed: AtomicBool,
    pub(super) last_full: Mutex<Option<Instant>>,
    pub(super) closed: CancellationToken,
    languages: Mutex<Vec<LanguageCount>>,
    /// As it was when somebody last looked.
    trust: Mutex<TrustState>,
    /// One look at the disk for it at a time, so that an older one never replaces a newer one.
    looking: Mutex<()>,
    /// Further roots that edits may touch.
    grants: Mutex<Vec<Arc<Root>>>,
    made: Instant,
    /// Milliseconds after `made`.
    used: AtomicU64,
}

pub(super) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Workspace {
    pub(super) fn new(daemon: &Arc<Daemon>, path: Arc<str>, root: Arc<Root>) -> Arc<Self> {
        let untrusted = trust::untrusted(root.path());
        Arc::new(Self {
            daemon: Arc::downgrade(daemon),
            path,
            core: Mutex::new(Core { root, graph: None, incarnation: 0 }),
            seen: Mutex::default(),
            gate: Arc::new(Semaphore::new(1)),
            queue: Mutex::default(),
            queued: Notify::new(),
            pending: watch::Sender::new(0),
            runs: watch::Sender::new(0),
            tended: AtomicBool::new(false),
            indexed: AtomicBool::new(false),
            last_full: Mutex::new(None),
            closed: CancellationToken::new(),
            languages: Mutex::default(),
            trust: Mutex::new(untrusted),
            looking: Mutex::default(),
            grants: Mutex::default(),
            made: Instant::now(),
            used: AtomicU64::new(0),
        })
    }

    pub(super) fn daemon(&self) -> Option<Arc<Daemon>> {
        self.daemon.upgrade()
    }

    /// The root's folder.
    pub(crate) fn root(&self) -> Arc<Root> {
        Arc::clone(&locked(&self.core).root)
    }

    /// Whether it is trusted, as it was when it was last opened, or trust last changed. From memory: what starts a
    /// process asks [`Workspace::look_at_trust`].
    pub(crate) fn trust(&self) -> TrustState {
        locked(&self.trust).clone()
    }

    /// Whether it is trusted now. Blocks.
    pub(crate) fn look_at_trust(&self) -> TrustState {
        let Some(daemon) = self.daemon() else { return trust::untrusted(Path::new(&*self.path)) };
        let _one = locked(&self.looking);
        let seen = daemon.trust_of(&self.root());
        locked(&self.trust).clone_from(&seen);
        seen
    }

    /// Further roots that edits of this workspace may touch.
    pub(crate) fn grants(&self) -> Vec<Arc<Root>> {
        let home = self.daemon().and_then(|daemon| daemon.home());
        let mut grants = locked(&self.grants);
        for root in grants.iter_mut().filter(|root| !root.is_current()) {
            // Granted was a path; the folder that was there may lie elsewhere by now.
            if let Ok(new) = Root::open(root.path(), home.as_deref())
                && new.path() == root.path()
            {
                *root = Arc::new(new);
            }
        }
        grants.iter().filter(|root| root.is_current()).cloned().collect()
    }

    /// Grants further roots; those of earlier calls stay.
    pub(crate) fn grant(&self, roots: Vec<Root>) {
        let mut grants = locked(&self.grants);
        for root in roots {
            if grants.len() < GRANTS && !grants.iter().any(|known| known.identity() == root.identity()) {
                grants.push(Arc::new(root));
            }
        }
    }

    /// The graph; made anew if it was unloaded. Making one opens nothing.
    pub(crate) fn graph(&self) -> Option<Arc<Graph>> {
        self.root_and_graph().map(|(_, graph)| graph)
    }

    /// The graph with the root that it is of.
    pub(crate) fn root_and_graph(&self) -> Option<(Arc<Root>, Arc<Graph>)> {
        let daemon = self.daemon().filter(|_| !self.closed.is_cancelled())?;
        let mut core = locked(&self.core);
        if let Some(graph) = &core.graph {
            return Some((Arc::clone(&core.root), Arc::clone(graph)));
        }
        let limits = self.index_limits(&daemon);
        let graph = Arc::new(Graph::new(Arc::clone(&core.root), Arc::clone(&daemon.graphs), limits));
        core.graph = Some(Arc::clone(&graph));
        *locked(&self.seen) = None;
        core.incarnation += 1;
        self.indexed.store(false, Relaxed);
        Some((Arc::clone(&core.root), graph))
    }

    /// Which graph of this workspace it is, for cursors.
    pub(crate) fn incarnation(&self) -> u64 {
        locked(&self.core).incarnation
    }

    /// The caps of the index as configured for this root.
    pub(crate) fn index_limits(&self, daemon: &Daemon) -> Limits {
        let index = daemon.settings().config.index_of(&self.path);
        Limits {
            max_file_bytes: index.max_file_kib.0 << 10,
            parse_deadline: Duration::from_millis(index.parse_deadline_ms.0),
            max_depth: u32::try_from(index.max_depth.0).unwrap_or(u32::MAX),
            ignore: index.ignore.into_iter().map(|glob| glob.0).collect(),
        }
    }

    /// It is used now.
    pub(crate) fn touch(&self) {
        self.used.store(u64::try_from(self.made.elapsed().as_millis()).unwrap_or(u64::MAX), Relaxed);
    }

    /// How long nobody has used it.
    pub(crate) fn idle(&self) -> Duration {
        self.made.elapsed().saturating_sub(Duration::from_millis(self.used.load(Relaxed)))
    }

    /// The state of the graph, from memory; none if it was not asked for.
    pub(crate) fn state(&self) -> Option<State> {
        locked(&self.seen).as_ref().map(|seen| seen.state)
    }

    /// How the index stands, from memory; none if it was not asked for.
    pub(crate) fn status(&self) -> Option<(State, Status)> {
        locked(&self.seen).as_ref().map(|seen| (seen.state, seen.status.clone()))
    }

    /// Looks at the graph after a run. Waits for questions that are being answered: for workers only.
    pub(super) fn look(&self, graph: &Arc<Graph>) -> State {
        let status = graph.status();
        let state = status.state;
        let core = locked(&self.core);
        // A graph of a root that was replaced meanwhile says nothing of the one that is here now.
        if core.graph.as_ref().is_some_and(|current| Arc::ptr_eq(current, graph)) {
            *locked(&self.seen) = Some(Seen { state, status });
        }
        state
    }

    /// A run is coming, or is this far.
    pub(super) fn see_run(&self, done: u64, total: u64) {
        let mut seen = locked(&self.seen);
        let freshness = Freshness::Indexing { done, total };
        match seen.as_mut() {
            Some(seen) => seen.state.freshness = freshness,
            None => {
                let state = State { freshness, generation: 0, epoch: 0 };
                *seen = Some(Seen { state, status: nothing(state) });
            }
        }
    }

    /// Says to the graph, and to whoever asks, that a run is coming.
    pub(crate) fn expect_run(&self, graph: &Graph) {
        graph.expect_run();
        self.see_run(0, 0);
    }

    /// So many files are known to have changed since the last run.
    pub(super) fn see_stale(&self, files: u64) {
        if let Some(graph) = self.loaded() {
            graph.mark_stale(files);
        }
        if let Some(seen) = locked(&self.seen).as_mut() {
            match (&seen.state.freshness, files) {
                (Freshness::Ready | Freshness::Stale { .. }, 0) => seen.state.freshness = Freshness::Ready,
                (Freshness::Ready | Freshness::Stale { .. }, files) => seen.state.freshness = Freshness::Stale { files },
                _ => {}
            }
        }
    }

    /// The graph as it is, without making one.
    pub(crate) fn loaded(&self) -> Option<Arc<Graph>> {
        locked(&self.core).graph.clone()
    }

    /// How the index stands.
    pub(crate) fn index_state(&self) -> IndexState {
        self.state().map_or_else(convert::not_indexed, |state| convert::index_state(&state))
    }

    /// In short.
    pub(crate) fn summary(&self) -> WorkspaceSummary {
        WorkspaceSummary {
            root: self.path.to_string(),
            trusted: self.trust().state == TrustWord::Trusted,
            index: self.index_state(),
        }
    }

    /// How changes on disk are seen, and why not better.
    pub(crate) fn watch_state(&self) -> (WatchState, Option<String>) {
        let Some(daemon) = self.daemon() else { return (WatchState::Off, None) };
        match daemon.settings().config.watch.mode {
            WatchMode::Off => return (WatchState::Off, Some("watch.mode is off".to_owned())),
            WatchMode::Poll => {
                return (WatchState::Off, Some("watch.mode is poll: files are checked before an answer".to_owned()));
            }
            WatchMode::Auto => {}
        }
        if locked(&self.queue).gone {
            return (
                WatchState::Degraded,
                Some("the root was removed or renamed; it is looked for every two seconds".to_owned()),
            );
        }
        match daemon.workspaces.watcher.state(Path::new(&*self.path)) {
            ccd_watch::State::On => (WatchState::On, None),
            ccd_watch::State::Degraded { why } => (WatchState::Degraded, Some(why)),
            ccd_watch::State::Off => (WatchState::Off, Some("it is watched from its first index run on".to_owned())),
        }
    }

    /// The languages of the last walk, most files first.
    pub(crate) fn languages(&self) -> Vec<LanguageCount> {
        locked(&self.languages).clone()
    }

    /// Counts the languages of a walk.
    pub(crate) fn count_languages(&self, walk: &ccd_corpus::Walk) {
        let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
        for file in &walk.files {
            *counts.entry(file.language.name()).or_default() += 1;
        }
        let mut languages: Vec<LanguageCount> =
            counts.into_iter().map(|(id, files)| LanguageCount { id: id.to_owned(), files }).collect();
        languages.sort_by(|a, b| b.files.cmp(&a.files).then_with(|| a.id.cmp(&b.id)));
        *locked(&self.languages) = languages;
    }

    /// Makes the graph anew, behind the run that is under way.
    pub(super) async fn renew(self: &Arc<Self>) {
        let Ok(gate) = Arc::clone(&self.gate).acquire_owned().await else { return };
        let workspace = Arc::clone(self);
        let unloaded = tokio::task::spawn_blocking(move || {
            let _gate = gate;
            workspace.drop_graph(Instant::now())
        });
        if unloaded.await.unwrap_or(false) {
            self.rescan();
        }
    }

    /// Gives the memory of the graph back; false if there is none, or a run is under way. Blocks.
    pub(super) fn unload(&self) -> bool {
        // A run that is under way uses it.
        let Ok(_gate) = Arc::clone(&self.gate).try_acquire_owned() else { return false };
        self.drop_graph(Instant::now())
    }

    fn drop_graph(&self, until: Instant) -> bool {
        let graph = locked(&self.core).graph.take();
        *locked(&self.seen) = None;
        self.indexed.store(false, Relaxed);
        match graph {
            Some(graph) => {
                graph.close(until);
                true
            }
            None => false,
        }
    }

    /// Whether the folder at the root's path is the one that is held open. One that was put there in its place is taken
    /// up, with an empty graph; if there is none, the root counts as gone until it is back. The watcher alone cannot tell:
    /// it hears nothing when a folder above the root is renamed. Blocks.
    pub(crate) fn stands(&self) -> bool {
        let Some(daemon) = self.daemon() else { return false };
        if !locked(&self.queue).gone && self.root().is_current() {
            return true;
        }
        // What is watched are the folders that were moved away.
        daemon.workspaces.watcher.unwatch(Path::new(&*self.path));
        match Root::open(Path::new(&*self.path), daemon.home().as_deref()) {
            Ok(root) if root.path() == Path::new(&*self.path) => {
                tracing::info!(root = %self.path, "the root was replaced");
                locked(&self.queue).gone = false;
                self.replace_root(root);
                true
            }
            _ => {
                locked(&self.queue).gone = true;
                // The task that works off the queue looks for it from now on.
                self.queued.notify_one();
                false
            }
        }
    }

    /// The root was made again: another folder, another graph.
    pub(super) fn replace_root(&self, root: Root) {
        let mut core = locked(&self.core);
        core.root = Arc::new(root);
        core.graph = None;
        *locked(&self.seen) = None;
        self.indexed.store(false, Relaxed);
        drop(core);
        // Trust is of a folder, and this is another one.
        self.look_at_trust();
    }

    /// Resolves when it is closed.
    pub(crate) async fn closed(&self) {
        self.closed.cancelled().await;
    }

    /// Ends its task and its run, without waiting for them.
    pub(super) fn end(&self) {
        self.closed.cancel();
    }

    /// Ends its task and its run, and writes the graph out. Blocks for [`LEAVING`] at most.
    pub(super) fn close(&self) {
        self.close_by(Instant::now() + LEAVING);
    }

    /// The same until a moment; a run that goes on after it keeps its graph.
    pub(super) fn close_by(&self, until: Instant) {
        self.end();
        // The token of the run is set by that; it looks at it after each file.
        while self.gate.available_permits() == 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.drop_graph(until);
    }
}

/// The status of a graph whose first run has not ended.
fn nothing(state: State) -> Status {
    Status { state, files: 0, symbols: 0, edges: 0, skipped: BTreeMap::new(), parse_errors: 0, rebuilt: None, last_error: None }
}
