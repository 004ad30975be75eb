//! Index runs of one workspace: one at a time, those of a few paths before those of everything.
//!
//! One task by workspace works off what is queued: changes of the watcher, first runs, rescans. Whatever is queued
//! while a run is under way becomes one run after it. `graph.index` runs by itself, behind the same gate.

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use ccd_corpus::Cancel;
use ccd_files::Root;
use ccd_graph::{Graph, IndexError, IndexReport, IndexRequest};
use ccd_protocol::events::Topic;
use serde::Serialize;

use crate::{
    config::WatchMode,
    daemon::Daemon,
    rpc::call::{Call, CancelOnDrop, Phase},
    workers::WorkError,
    workspaces::workspace::{Queue, Workspace, locked},
};

/// Paths of one targeted run; more are a full one.
const MOST: usize = 4096;
/// How long a question waits for a run that is under way or about to begin.
const PATIENCE: Duration = Duration::from_millis(200);
/// Progress is told at most this often by run.
const PROGRESS: Duration = Duration::from_millis(100);
/// A root that is gone is looked for this often.
const LOOK_FOR_ROOT: Duration = Duration::from_secs(2);
/// Without a watcher, new files are looked for at most this often.
const RESCAN: Duration = Duration::from_secs(5);
/// Without a watcher, files checked before an answer.
const CHECKED: usize = 10_000;

/// Why a run has no report.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// The graph's own.
    #[error("{0}")]
    Index(#[from] IndexError),
    /// No worker, or a panic.
    #[error("{0}")]
    Work(#[from] WorkError),
    /// The workspace was closed.
    #[error("the workspace was closed")]
    Closed,
}

#[derive(Serialize)]
struct ProgressData<'a> {
    root: &'a str,
    done: u64,
    total: u64,
}

#[derive(Serialize)]
struct DoneData<'a> {
    root: &'a str,
    generation: u64,
    files_parsed: u64,
    removed: u64,
}

impl Workspace {
    /// Makes sure that a first run was asked for.
    pub(crate) fn ensure_indexed(self: &Arc<Self>, token: Option<Arc<str>>, folders: Option<Vec<PathBuf>>) {
        let Some(graph) = self.graph() else { return };
        if !self.indexed.swap(true, Relaxed) {
            self.expect_run(&graph);
            self.enqueue(|queue| {
                queue.full = true;
                queue.token = token;
                queue.folders = folders;
            });
        }
    }

    /// Adds to what is to be indexed.
    pub(super) fn enqueue(self: &Arc<Self>, add: impl FnOnce(&mut Queue)) {
        {
            let mut queue = locked(&self.queue);
            add(&mut queue);
            if queue.paths.len() > MOST {
                queue.paths.clear();
                queue.full = true;
            }
        }
        self.queued.notify_one();
        if !self.tended.swap(true, Relaxed) {
            tokio::spawn(tend(Arc::clone(self)));
        }
    }

    /// Queues a run of everything.
    pub(crate) fn rescan(self: &Arc<Self>) {
        if let Some(graph) = self.graph() {
            self.indexed.store(true, Relaxed);
            self.expect_run(&graph);
            self.enqueue(|queue| queue.full = true);
        }
    }

    /// Runs the index now, behind the run that is under way. Dropping the future cancels it.
    pub(crate) async fn run(
        self: &Arc<Self>,
        daemon: &Arc<Daemon>,
        request: IndexRequest,
        token: Option<Arc<str>>,
        began: impl FnOnce(),
    ) -> Result<IndexReport, RunError> {
        let gate = Arc::clone(&self.gate).acquire_owned().await.map_err(|_| RunError::Closed)?;
        let full = request.paths.is_none();
        let pool = if full { &daemon.full_runs } else { &daemon.targeted };
        let turn = pool.turn().await;
        began();
        let graph = self.graph().ok_or(RunError::Closed)?;
        let cancel = Cancel::new();
        let _guard = CancelOnDrop(cancel.clone());
        let (reporter, workspace, token_of_run) = (Arc::clone(daemon), Arc::clone(self), token.clone());
        let running = pool.run(turn, move || {
            // The gate is held by the work and not by the future: a dropped future leaves the work running for a moment.
            let _gate = gate;
            let begin = Instant::now();
            let told = AtomicU64::new(0);
            let progress = |done: u64, total: u64| {
                if full {
                    workspace.see_run(done, total);
                }
                let now = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
                let last = told.load(Relaxed);
                let due = now.saturating_sub(last) >= PROGRESS.as_millis() as u64 || done == total;
                if full && due && told.compare_exchange(last, now, Relaxed, Relaxed).is_ok() {
                    let data = ProgressData { root: &workspace.path, done, total };
                    reporter.publish(Topic::IndexProgress, Some(&workspace.path), token_of_run.as_ref(), &data);
                }
            };
            let report = graph.index(&request, &cancel, &progress);
            let state = workspace.look(&graph);
            report.map(|report| (report, state))
        });
        let report = tokio::select! {
            report = running => report?,
            () = self.closed.cancelled() => return Err(RunError::Closed),
        };
        self.runs.send_modify(|runs| *runs += 1);
        if matches!(report, Err(IndexError::Root(_))) {
            locked(&self.queue).gone = true;
            self.queued.notify_one();
        }
        let (report, state) = report?;
        if full {
            *locked(&self.last_full) = Some(Instant::now());
        } else if report.files_parsed == 0 && report.removed == 0 {
            // Files that are no sources change all the time; nobody wants to hear of them.
            return Ok(report);
        }
        let data = DoneData {
            root: &self.path,
            generation: state.generation,
            files_parsed: report.files_parsed,
            removed: report.removed,
        };
        daemon.publish(Topic::IndexDone, Some(&self.path), token.as_ref(), &data);
        Ok(report)
    }

    /// A run of everything that a caller waits for: it sets up the watches like a queued one. Dropping the future cancels
    /// it; a first run is then queued, because the state of the graph already says that one is coming.
    pub(crate) async fn run_everything(
        self: &Arc<Self>,
        daemon: &Arc<Daemon>,
        full: bool,
        token: Option<Arc<str>>,
        began: impl FnOnce(),
    ) -> Result<IndexReport, RunError> {
        let graph = self.graph().ok_or(RunError::Closed)?;
        self.indexed.store(true, Relaxed);
        self.expect_run(&graph);
        let mut unfinished = Unfinished(Some(Arc::clone(self)));
        watch(daemon, self, Folders::Walk).await;
        let report = self.run(daemon, IndexRequest { paths: None, full }, token, began).await;
        unfinished.0 = None;
        watch(daemon, self, Folders::OfGraph(graph)).await;
        report
    }

    /// Before a question: a first run is begun, a run that is about to end is waited for, and without a watcher files are
    /// checked.
    pub(crate) async fn prepare(self: &Arc<Self>, call: &Call) -> Result<(), ccd_protocol::RpcError> {
        self.ensure_indexed(None, None);
        let (mut pending, mut runs) = (self.pending.subscribe(), self.runs.subscribe());
        if *pending.borrow() > 0 || self.is_indexing() {
            call.control.enter(Phase::Indexing);
            let fresh = async {
                // A closed channel is a closed workspace: nothing to wait for.
                let _ = pending.wait_for(|batches| *batches == 0).await;
                while self.is_indexing() && runs.changed().await.is_ok() {}
            };
            let _ = tokio::time::timeout(PATIENCE, fresh).await;
        }
        let watched = matches!(self.watch_state().0, ccd_protocol::workspace::WatchState::On);
        if !watched
            && !self.is_indexing()
            && let Some(graph) = self.graph()
        {
            if locked(&self.last_full).is_some_and(|last| last.elapsed() >= RESCAN) {
                self.enqueue(|queue| queue.full = true);
            }
            let unchecked = call.query({
                let graph = Arc::clone(&graph);
                move |cancel| graph.check_fresh(CHECKED, cancel)
            });
            self.see_stale(unchecked.await?);
        }
        Ok(())
    }

    fn is_indexing(&self) -> bool {
        self.state().is_some_and(|state| matches!(state.freshness, ccd_graph::Freshness::Indexing { .. }))
    }
}

/// Queues a run in place of one that was cancelled.
struct Unfinished(Option<Arc<Workspace>>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        // Without a runtime the daemon is ending.
        if let Some(workspace) = self.0.take()
            && tokio::runtime::Handle::try_current().is_ok()
        {
            workspace.rescan();
        }
    }
}

/// Works off the queue of one workspace until it is closed.
async fn tend(workspace: Arc<Workspace>) {
    loop {
        let gone = locked(&workspace.queue).gone;
        tokio::select! {
            () = workspace.closed.cancelled() => return,
            () = workspace.queued.notified() => {}
            () = tokio::time::sleep(LOOK_FOR_ROOT), if gone => {}
        }
        let Some(daemon) = workspace.daemon() else { return };
        let gone = locked(&workspace.queue).gone;
        if gone {
            look_for_root(&daemon, &workspace).await;
        }
        let work = {
            let mut queue = locked(&workspace.queue);
            let gone = queue.gone;
            let mut work = std::mem::take(&mut *queue);
            if gone {
                // Nothing can be read; what was queued is part of the full run when the root is back.
                queue.gone = true;
                work = Queue { batches: work.batches, ..Queue::default() };
            }
            work
        };
        let batches = work.batches;
        tokio::select! {
            () = workspace.closed.cancelled() => return,
            () = work_off(&daemon, &workspace, work) => {}
        }
        let mut left = 0;
        workspace.pending.send_modify(|pending| {
            *pending = pending.saturating_sub(batches);
            left = *pending;
        });
        workspace.see_stale(left);
    }
}

async fn work_off(daemon: &Arc<Daemon>, workspace: &Arc<Workspace>, mut work: Queue) {
    let token = work.token.take();
    let result = if work.full {
        watch(daemon, workspace, work.folders.take().map_or(Folders::Walk, Folders::Given)).await;
        let result = workspace.run(daemon, IndexRequest::default(), token, || ()).await;
        // The run has its own walk; a folder that was made in between is in it.
        if let Some(graph) = workspace.loaded() {
            watch(daemon, workspace, Folders::OfGraph(graph)).await;
        }
        result
    } else if work.paths.is_empty() {
        return;
    } else {
        watch_new(daemon, workspace, work.new_folders).await;
        let request = IndexRequest { paths: Some(work.paths.into_iter().collect()), full: false };
        workspace.run(daemon, request, token, || ()).await
    };
    match result {
        Ok(report) => tracing::debug!(root = %workspace.path, ?report, "indexed"),
        Err(RunError::Index(IndexError::Root(reason))) => {
            tracing::warn!(root = %workspace.path, reason, "the root cannot be read");
        }
        Err(error) => tracing::warn!(root = %workspace.path, %error, "an index run failed"),
    }
}

/// Which folders are to be watched.
enum Folders {
    /// Those of a walk made for it.
    Walk,
    /// Those of a walk that was just made.
    Given(Vec<PathBuf>),
    /// Those of the last run's walk.
    OfGraph(Arc<Graph>),
}

/// Watches the folders that matter.
async fn watch(daemon: &Arc<Daemon>, workspace: &Arc<Workspace>, folders: Folders) {
    if daemon.settings().config.watch.mode != WatchMode::Auto {
        daemon.workspaces.watcher.unwatch(Path::new(&*workspace.path));
        return;
    }
    let (daemon_of_job, workspace_of_job) = (Arc::clone(daemon), Arc::clone(workspace));
    let turn = daemon.targeted.turn().await;
    let done = daemon.targeted.run(turn, move || {
        let (daemon, workspace) = (daemon_of_job, workspace_of_job);
        let known = match folders {
            Folders::Walk => Vec::new(),
            Folders::Given(folders) => folders,
            Folders::OfGraph(graph) => graph.folders(),
        };
        let mut folders = match known.is_empty() {
            false => known,
            true => {
                let limits = workspace.index_limits(&daemon);
                match ccd_corpus::walk(&workspace.root(), &limits, &Cancel::new()) {
                    Ok(walk) => {
                        workspace.count_languages(&walk);
                        walk.folders
                    }
                    // The run that follows says what is wrong.
                    Err(_) => return,
                }
            }
        };
        let root = workspace.root();
        let is_folder = |rel: &&str| root.stat(Path::new(rel)).is_ok_and(|stat| stat.is_dir);
        folders.extend([".git", ".git/info"].into_iter().filter(is_folder).map(PathBuf::from));
        folders.extend(ccd_corpus::git_folder(&root));
        let state = daemon.workspaces.watcher.watch(Path::new(&*workspace.path), &folders);
        if let ccd_watch::State::Degraded { why } = state {
            tracing::warn!(root = %workspace.path, why, "the workspace is not watched");
        }
    });
    if let Err(error) = done.await {
        tracing::error!(root = %workspace.path, %error, "the workspace could not be watched");
    }
}

/// Watches folders that are new, with those below them, as far as the ignore rules let a walk go there.
async fn watch_new(daemon: &Arc<Daemon>, workspace: &Arc<Workspace>, new: std::collections::BTreeSet<PathBuf>) {
    if new.is_empty() {
        return;
    }
    let (daemon_of_job, workspace_of_job) = (Arc::clone(daemon), Arc::clone(workspace));
    let turn = daemon.targeted.turn().await;
    let done = daemon.targeted.run(turn, move || {
        let (daemon, workspace) = (daemon_of_job, workspace_of_job);
        let limits = workspace.index_limits(&daemon);
        for folder in new {
            if let Ok(walk) = ccd_corpus::walk_below(&workspace.root(), &folder, &limits, &Cancel::new()) {
                daemon.workspaces.watcher.add(Path::new(&*workspace.path), &walk.folders);
            }
        }
    });
    if let Err(error) = done.await {
        tracing::error!(root = %workspace.path, %error, "new folders could not be watched");
    }
}

/// Looks whether the root is at its place again; then its graph begins anew.
async fn look_for_root(daemon: &Arc<Daemon>, workspace: &Arc<Workspace>) {
    let (home, path) = (daemon.home(), PathBuf::from(&*workspace.path));
    let turn = daemon.targeted.turn().await;
    let found = daemon.targeted.run(turn, move || Root::open(&path, home.as_deref()).ok()).await;
    let Ok(Some(root)) = found else { return };
    if root.path() != Path::new(&*workspace.path) {
        return;
    }
    tracing::info!(root = %workspace.path, "the root is back");
    workspace.replace_root(root);
    if let Some(graph) = workspace.graph() {
        workspace.expect_run(&graph);
    }
    workspace.indexed.store(true, Relaxed);
    let mut queue = locked(&workspace.queue);
    queue.gone = false;
    queue.full = true;
    queue.folders = None;
}
