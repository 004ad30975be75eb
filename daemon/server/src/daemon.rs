//! The daemon's state: what every handler can reach. Nothing in it is opened before it is needed.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, OnceLock, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use ccd_files::Root;
use ccd_protocol::{
    daemon::{Memory, MethodsResult},
    events::Topic,
    workspace::TrustState,
};
use ccd_watch::StartSource;
use serde::Serialize;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use crate::{
    api,
    config::{self, Config, ConfigError},
    connections::Connections,
    lifecycle::{Executable, Paths},
    metrics::Metrics,
    rpc::{dispatch::Dispatcher, subscriptions::Published},
    settings::Settings,
    telemetry,
    trust::Trust,
    workers::Pool,
    workspaces::Workspaces,
};

/// Index runs of whole workspaces at once: they take all cores by themselves.
const FULL_RUNS: usize = 2;
/// Index runs of a few paths at once; they must never wait behind queries or whole runs.
const TARGETED_RUNS: usize = 2;
/// Searches of many files at once: they take all cores by themselves.
const SEARCHES: usize = 2;
/// Edits at once: those of one root wait for each other.
const EDITS: usize = 8;
/// The resident size is read from the kernel at most this often.
const RSS_AGE: Duration = Duration::from_secs(1);

/// `version+commit` of this build.
pub(crate) const BUILD: &str = env!("CARGO_PKG_VERSION");

/// The state.
pub(crate) struct Daemon {
    pub(crate) paths: Paths,
    /// Names this run of the daemon.
    pub(crate) instance: String,
    pub(crate) started: Instant,
    settings: RwLock<Arc<Settings>>,
    pub(crate) metrics: Metrics,
    pub(crate) connections: Connections,
    pub(crate) dispatcher: Arc<Dispatcher>,
    /// Threads that answer questions.
    pub(crate) queries: Pool,
    /// Threads that index a few paths.
    pub(crate) targeted: Pool,
    /// Threads that index whole workspaces.
    pub(crate) full_runs: Pool,
    /// Threads that search, each with helpers.
    pub(crate) searches: Pool,
    /// Syntax trees of all workspaces.
    pub(crate) trees: ccd_corpus::Trees,
    /// Searches whose further pages may be asked for.
    pub(crate) results: crate::search::Results,
    pub(crate) workspaces: Workspaces,
    /// The checkouts that a person has trusted.
    pub(crate) trust: Trust,
    /// Threads that write.
    pub(crate) edits_pool: Pool,
    /// The one way to change files of a workspace.
    pub(crate) edits: ccd_edit::Editor,
    /// The caches that all graphs share.
    pub(crate) graphs: Arc<ccd_graph::Shared>,
    executable: Option<Executable>,
    replaced: OnceLock<()>,
    drain: CancellationToken,
    references: AtomicU64,
    rss: Mutex<(Option<Instant>, u64)>,
    /// Made by the first `daemon.methods`.
    pub(crate) methods: OnceLock<MethodsResult>,
}

impl Daemon {
    /// A daemon that serves nothing yet.
    pub(crate) fn new(paths: Paths, config: Config, activated: bool) -> Arc<Self> {
        Self::with_source(paths, config, activated, None)
    }

    /// The same with another source of changes on disk.
    pub(crate) fn with_source(paths: Paths, config: Config, activated: bool, source: Option<StartSource>) -> Arc<Self> {
        let settings = Settings::new(config, activated);
        let graphs = ccd_graph::Shared::new(paths.cache.clone());
        let edit = &settings.config.edit;
        let limits = ccd_files::Limits {
            undo_seconds: edit.undo_hours.0 * 3600,
            undo_bytes: edit.undo_mib.0 << 20,
            outcome_seconds: edit.outcome_hours.0 * 3600,
            ..ccd_files::Limits::default()
        };
        let instance = instance();
        let edits = ccd_edit::Editor::new(paths.state.join("edits"), limits, &instance);
        Arc::new_cyclic(|daemon| Self {
            instance,
            started: Instant::now(),
            metrics: Metrics::new(),
            connections: Connections::default(),
            dispatcher: Arc::new(Dispatcher::new(api::table())),
            queries: Pool::new("query", settings.workers()),
            targeted: Pool::new("index-paths", TARGETED_RUNS),
            full_runs: Pool::new("index", FULL_RUNS),
            searches: Pool::new("search", SEARCHES),
            trees: ccd_corpus::Trees::default(),
            results: crate::search::Results::default(),
            edits_pool: Pool::new("edit", EDITS),
            edits,
            workspaces: Workspaces::new(daemon.clone(), source),
            trust: Trust::new(&paths.state),
            graphs,
            executable: Executable::current(),
            replaced: OnceLock::new(),
            drain: CancellationToken::new(),
            references: AtomicU64::new(0),
            rss: Mutex::new((None, 0)),
            methods: OnceLock::new(),
            settings: RwLock::new(settings),
            paths,
        })
    }

    /// The settings in force.
    pub(crate) fn settings(&self) -> Arc<Settings> {
        Arc::clone(&self.settings.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Reads the configuration again: all of it comes into force, or nothing. Blocks.
    pub(crate) fn reload(&self) -> Result<(Vec<String>, Vec<String>), ConfigError> {
        let config = config::load(&self.paths.config_file())?;
        let old = self.settings();
        let changed = config::changes(&old.config, &config);
        telemetry::set_level(config.log.level.0);
        *self.settings.write().unwrap_or_else(PoisonError::into_inner) = old.with(config);
        self.workspaces.look_at_trust();
        tracing::info!(applied = ?changed.0, needs_restart = ?changed.1, "configuration read again");
        Ok(changed)
    }

    /// Makes graphs anew whose caps, ignore rules or watches a reload has changed. Needs the runtime.
    pub(crate) fn settle(&self, applied: &[String]) {
        if applied.iter().any(|key| ["index.", "roots.", "watch."].iter().any(|section| key.starts_with(section))) {
            self.workspaces.settings_changed();
        }
    }

    /// Whether it takes no more work.
    pub(crate) fn is_draining(&self) -> bool {
        self.drain.is_cancelled()
    }

    /// Resolves when it begins to drain.
    pub(crate) async fn draining(&self) {
        self.drain.cancelled().await;
    }

    /// Begins to end: subscribers are told, nothing new is taken, what is under way goes on.
    pub(crate) fn begin_drain(&self, reason: &str) {
        if self.is_draining() {
            return;
        }
        tracing::info!(reason, "draining");
        #[derive(Serialize)]
        struct Retiring<'a> {
            reason: &'a str,
        }
        self.publish(Topic::DaemonRetiring, None, None, &Retiring { reason });
        self.drain.cancel();
    }

    /// Hands an event to all subscriptions that want it; never waits.
    pub(crate) fn publish(&self, topic: Topic, root: Option<&Arc<str>>, token: Option<&Arc<str>>, data: &impl Serialize) {
        let Ok(data) = serde_json::value::to_raw_value(data) else { return };
        let data: Arc<RawValue> = data.into();
        let event = Published { topic, root: root.cloned(), token: token.cloned(), data };
        for peer in self.connections.peers() {
            let (taken, dropped) = peer.subscriptions.publish(&event);
            self.metrics.counters.events.add_many(taken);
            self.metrics.counters.events_dropped.add_many(dropped);
            if taken + dropped > 0 {
                peer.wake.notify_one();
            }
        }
    }

    /// A name under which a fault is found in the log.
    pub(crate) fn next_reference(&self) -> String {
        format!("{}-{}", self.instance, self.references.fetch_add(1, Relaxed) + 1)
    }

    /// Resident bytes, at most a second old, and the limit.
    pub(crate) fn memory(&self) -> Memory {
        let mut rss = self.rss.lock().unwrap_or_else(PoisonError::into_inner);
        if rss.0.is_none_or(|read| read.elapsed() >= RSS_AGE) {
            *rss = (Some(Instant::now()), resident().unwrap_or(rss.1));
        }
        Memory { rss: rss.1, limit: self.settings().memory_limit() }
    }

    /// What is not as it should be.
    pub(crate) fn notices(&self) -> Vec<String> {
        let mut notices = self.graphs.notices();
        notices.extend(self.trust.notice());
        if self.replaced.get().is_some() {
            notices.push(
                "The file of this daemon was replaced by another build; it goes on with the old one until it is retired."
                    .to_owned(),
            );
        }
        notices
    }

    /// Looks whether the file of this program was replaced.
    pub(crate) fn check_executable(&self) {
        if self.executable.as_ref().is_some_and(Executable::was_replaced) && self.replaced.set(()).is_ok() {
            tracing::info!("the file of this daemon was replaced");
        }
    }

    /// Calls and whole index runs under way, for those who ask whether it is idle. The asking call is instant and no part.
    pub(crate) fn busy_with(&self) -> Vec<String> {
        let calls: u32 = self.connections.peers().iter().map(|peer| peer.in_flight()).sum();
        let mut busy = Vec::new();
        if calls > 0 {
            busy.push(format!("{calls} {} under way", if calls == 1 { "call" } else { "calls" }));
        }
        busy
    }

    /// The Prometheus text of `GET /metrics`.
    pub(crate) fn prometheus(&self) -> String {
        let gauges = [
            ("up_seconds", self.started.elapsed().as_secs()),
            ("connections", u64::from(self.connections.count())),
            ("workspaces", self.workspaces.count() as u64),
            ("resident_bytes", self.memory().rss),
        ];
        self.metrics.prometheus(&self.counters(), &gauges)
    }

    /// All counters: the server's and the graph's.
    pub(crate) fn counters(&self) -> std::collections::BTreeMap<String, u64> {
        let mut counters = self.metrics.counters();
        let graph = self.graphs.counters();
        counters.extend([
            ("graph_files_parsed".to_owned(), graph.files_parsed),
            ("graph_bytes_read".to_owned(), graph.bytes_read),
            ("graph_resolve_runs".to_owned(), graph.resolve_runs),
            ("graph_files_resolved".to_owned(), graph.files_resolved),
        ]);
        counters
    }

    /// Whether a root is trusted now. Blocks.
    pub(crate) fn trust_of(&self, root: &Root) -> TrustState {
        let settings = self.settings();
        let folders = settings.config.trust.folders.iter().map(|folder| folder.0.as_str());
        self.trust.of(root, folders, self.paths.home.as_deref())
    }

    /// The home folder, which is no workspace.
    pub(crate) fn home(&self) -> Option<PathBuf> {
        self.paths.home.clone()
    }
}

/// Time and process make it unlike any other on this machine.
fn instance() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}-{:x}", now.as_micros(), std::process::id())
}

fn resident() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = text.split(' ').nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}
