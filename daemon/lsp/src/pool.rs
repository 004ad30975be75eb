//! All servers of all checkouts: one process a key, started by the first who needs it, bounded, stopped when idle.

use std::{
    collections::{BTreeMap, HashMap},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use ccd_diagnostics::Registry;
use ccd_process::{Admission, Caps, Launcher, Population, Prober, Restarts, Spec, Stopped, Verdict, memory};
use tokio::{
    sync::{mpsc, oneshot},
    time::{sleep, timeout},
};

use crate::{
    catalogue::{Override, Server, with_overrides},
    desk::{Job, run},
    detect::{Checkout, Claim, Found, Reason, Unavailable, detect},
    documents::OnDisk,
    session::{Phase, Session},
};

/// Jobs that may wait for one server.
const JOBS: usize = 256;
/// Ends that are remembered; then all are forgotten, and quarantines with them.
const ENDS: usize = 512;
/// How often idle servers and memory are looked at.
const ROUND: Duration = Duration::from_secs(5);
/// A stop is over by then, whatever happens: the ladder has 5 s.
const STOP: Duration = Duration::from_secs(7);

/// What the configuration says.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The user's servers, and changes to known ones.
    pub servers: Vec<(String, Override)>,
    /// A server without requests is stopped after so long.
    pub idle: Duration,
    /// A start that takes longer has failed.
    pub start_limit: Duration,
    /// How many, and how much memory.
    pub caps: Caps,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            servers: Vec::new(),
            idle: Duration::from_secs(600),
            start_limit: Duration::from_secs(20),
            caps: Caps { processes: 16, each: 4096 << 20, total: 8192 << 20 },
        }
    }
}

/// One process is of one server, one root, and one set of program and declared variables.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The server's id.
    pub server: String,
    /// Its root.
    pub root: PathBuf,
    /// The program.
    pub program: PathBuf,
    /// The declared variables that are set.
    pub variables: BTreeMap<String, String>,
}

/// A server as it is shown.
#[derive(Clone, Debug)]
pub struct ServerStatus {
    /// Which.
    pub key: Key,
    /// How far it is.
    pub phase: Phase,
    /// Since when it lives, if it does.
    pub since: Option<Duration>,
    /// How long it was asked nothing.
    pub idle: Duration,
    /// Of its whole tree, in bytes, as last measured.
    pub memory: u64,
    /// The last lines of its stderr.
    pub stderr: Vec<String>,
    /// Why it ended when it last did.
    pub last_error: Option<String>,
}

/// How the stop of a server went.
#[derive(Debug)]
pub struct StoppedServer {
    /// Which.
    pub key: Key,
    /// None if it had ended by itself.
    pub stopped: Option<Stopped>,
}

/// The way to a session.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) session: Arc<Session>,
    pub(crate) jobs: mpsc::Sender<Job>,
}

#[derive(Debug)]
struct State {
    servers: Vec<Arc<Server>>,
    settings: Settings,
    living: HashMap<Key, Entry>,
    restarts: HashMap<Key, Restarts>,
    /// Why it ended, and what was open.
    ends: HashMap<Key, End>,
    population: Population<Key>,
    serial: u64,
}

#[derive(Clone, Debug)]
struct End {
    reason: Option<Reason>,
    detail: String,
    open: Vec<(PathBuf, Arc<str>)>,
}

/// All servers. Cheap to clone; the last clone ends them.
#[derive(Clone, Debug)]
pub struct Pool(pub(crate) Arc<Shared>);

#[derive(Debug)]
pub(crate) struct Shared {
    launcher: Launcher,
    prober: Prober,
    pub(crate) registry: Arc<Mutex<Registry>>,
    state: Mutex<State>,
}

impl Pool {
    /// None runs. Lists go into this registry as they come. Needs a runtime.
    #[must_use]
    pub fn new(launcher: Launcher, registry: Arc<Mutex<Registry>>, settings: Settings) -> Self {
        let state = State {
            servers: with_overrides(&settings.servers).into_iter().map(Arc::new).collect(),
            population: Population::new(settings.caps),
            settings,
            living: HashMap::new(),
            restarts: HashMap::new(),
            ends: HashMap::new(),
            serial: 0,
        };
        let prober = Prober::new(launcher.clone());
        let shared = Arc::new(Shared { launcher, prober, registry, state: Mutex::new(state) });
        tokio::spawn(look_after(Arc::downgrade(&shared)));
        Self(shared)
    }

    /// Other settings from now on; what runs goes on. Quarantines are lifted.
    pub fn configure(&self, settings: Settings) {
        let mut state = self.0.state();
        state.servers = with_overrides(&settings.servers).into_iter().map(Arc::new).collect();
        state.population.set_caps(settings.caps);
        state.settings = settings;
        state.restarts.clear();
        self.0.prober.forget();
    }

    /// The registry that the lists go into.
    #[must_use]
    pub fn registry(&self) -> Arc<Mutex<Registry>> {
        Arc::clone(&self.0.registry)
    }

    /// Every server that claims this file, in the order of preference, as it is now. Starts none.
    pub async fn claims(&self, checkout: &Checkout, file: &Path) -> Vec<Claim> {
        let servers: Vec<Arc<Server>> = {
            let state = self.0.state();
            state.servers.iter().filter(|server| server.language_of(file).is_some()).cloned().collect()
        };
        let mut claims = Vec::new();
        for server in servers {
            claims.push(detect(&self.0.prober, &server, file, checkout).await);
        }
        claims
    }

    /// ONE function file -> (server, root): the first available server of the file's language, and the linters beside it.
    /// If none is available, the claim that came nearest to it.
    pub async fn serving(&self, checkout: &Checkout, file: &Path) -> Vec<Claim> {
        let (linters, mut servers): (Vec<Claim>, Vec<Claim>) =
            self.claims(checkout, file).await.into_iter().partition(|claim| claim.server.linter);
        let progress = |claim: &Claim| claim.found.as_ref().map_or_else(|error| error.reason, |_| Reason::Quarantined);
        let first = servers.iter().position(|claim| claim.found.is_ok()).or_else(|| {
            let nearest = servers.iter().map(progress).max()?;
            servers.iter().position(|claim| progress(claim) == nearest)
        });
        let mut serving: Vec<Claim> = first.map(|at| servers.swap_remove(at)).into_iter().collect();
        serving.extend(linters.into_iter().filter(|claim| claim.found.is_ok()));
        serving
    }

    /// All that live or have lived.
    #[must_use]
    pub fn status(&self) -> Vec<ServerStatus> {
        let state = self.0.state();
        let mut all: Vec<ServerStatus> = state
            .living
            .iter()
            .map(|(key, entry)| {
                let known = state.population.get(key);
                ServerStatus {
                    key: key.clone(),
                    phase: entry.session.phase.borrow().clone(),
                    since: Some(entry.session.since.elapsed()),
                    idle: known.map_or(Duration::ZERO, |known| known.used.elapsed()),
                    memory: known.map_or(0, |known| known.memory),
                    stderr: entry.session.client.get().map(|client| client.stderr(10)).unwrap_or_default(),
                    last_error: state.ends.get(key).and_then(End::error),
                }
            })
            .collect();
        let dead = state.ends.iter().filter(|(key, _)| !state.living.contains_key(key));
        all.extend(dead.map(|(key, end)| ServerStatus {
            key: key.clone(),
            phase: Phase::Ended { reason: end.reason, detail: end.detail.clone() },
            since: None,
            idle: Duration::ZERO,
            memory: 0,
            stderr: Vec::new(),
            last_error: end.error(),
        }));
        all.sort_by(|one, other| one.key.cmp(&other.key));
        all
    }

    /// Stops those that this is true of, together; returns when nothing of them is left. They start again when needed.
    pub async fn stop(&self, wanted: impl Fn(&Key) -> bool) -> Vec<StoppedServer> {
        let entries: Vec<(Key, Entry)> = {
            let mut state = self.0.state();
            state.restarts.retain(|key, _| !wanted(key));
            state.living.iter().filter(|(key, _)| wanted(key)).map(|(key, entry)| (key.clone(), entry.clone())).collect()
        };
        let stops: Vec<_> = entries
            .into_iter()
            .map(|(key, entry)| tokio::spawn(async move { StoppedServer { key, stopped: entry.stop().await } }))
            .collect();
        let mut all = Vec::new();
        for stop in stops {
            all.extend(stop.await);
        }
        all
    }

    /// Another program changed these files.
    pub fn changed_outside(&self, changes: &[(PathBuf, OnDisk)]) {
        let entries: Vec<Entry> = self.0.state().living.values().cloned().collect();
        for entry in entries {
            let mine = changes.iter().filter(|(path, _)| path.starts_with(&entry.session.root));
            let mine: Vec<(PathBuf, OnDisk)> = mine.cloned().collect();
            if !mine.is_empty() && entry.jobs.try_send(Job::Outside(mine)).is_err() {
                tracing::warn!(server = entry.session.server.id, "a change on the disk could not be told");
            }
        }
    }
}

impl Entry {
    async fn stop(&self) -> Option<Stopped> {
        let (done, stopped) = oneshot::channel();
        let told = async {
            self.jobs.send(Job::Stop(done)).await.ok()?;
            stopped.await.ok().flatten()
        };
        if let Ok(stopped) = timeout(STOP, told).await {
            return stopped;
        }
        // It is at work on something long: without its ends, nothing holds it.
        match self.session.client.get() {
            Some(client) => client.stop().await,
            None => None,
        }
    }
}

impl End {
    fn error(&self) -> Option<String> {
        self.reason.map(|_| self.detail.clone())
    }
}

/// Work under way; a server with some is not stopped for others.
#[derive(Debug)]
struct Busy {
    shared: Weak<Shared>,
    key: Key,
}

impl Drop for Busy {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.state().population.end(&self.key, Instant::now());
        }
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn key(claim: &Claim, found: &Found, checkout: &Checkout) -> Option<Key> {
        Some(Key {
            server: claim.server.id.clone(),
            root: claim.root.clone()?,
            program: found.program.clone(),
            variables: checkout.declared(&claim.server),
        })
    }

    /// The session of this key if it lives and works.
    pub(crate) fn ready(&self, key: &Key) -> Option<Entry> {
        let entry = self.state().living.get(key).cloned()?;
        let ready = *entry.session.phase.borrow() == Phase::Ready;
        ready.then_some(entry)
    }

    pub(crate) fn busy(self: &Arc<Self>, key: &Key) -> Box<dyn Send> {
        self.state().population.begin(key, Instant::now());
        Box::new(Busy { shared: Arc::downgrade(self), key: key.clone() })
    }

    /// The session of this key, started if there is none. Who comes meanwhile gets the same one.
    pub(crate) fn session(
        self: &Arc<Self>,
        key: &Key,
        claim: &Claim,
        found: &Found,
        checkout: &Checkout,
    ) -> Result<Entry, Unavailable> {
        let now = Instant::now();
        let mut state = self.state();
        if let Some(entry) = state.living.get(key) {
            return Ok(entry.clone());
        }
        let end = state.ends.get(key).cloned();
        let refuse = |reason: Reason, detail: String| Unavailable {
            reason,
            detail,
            fix: format!("repair what it says, then call lsp.restart for {}", key.server),
        };
        let said = end.as_ref().map(|end| end.detail.clone()).unwrap_or_default();
        match state.restarts.entry(key.clone()).or_default().verdict(now) {
            Verdict::Start => {}
            Verdict::Wait(_) => {
                return Err(refuse(end.as_ref().and_then(|end| end.reason).unwrap_or(Reason::Crashed), said));
            }
            Verdict::Quarantined => return Err(refuse(Reason::Quarantined, said)),
        }
        match state.population.admit() {
            Admission::Yes => {}
            Admission::After(victims) => {
                for victim in victims {
                    if let Some(entry) = state.living.remove(&victim) {
                        state.population.remove(&victim);
                        tokio::spawn(async move { entry.stop().await });
                    }
                }
            }
            Admission::Full => {
                return Err(refuse(Reason::FailedToStart, "all servers that may run are at work".to_owned()));
            }
        }
        state.restarts.entry(key.clone()).or_default().started(now);
        state.population.add(key.clone(), now);
        state.serial += 1;
        // A name of its own for each process: the lists of a dead one cannot be taken for those of its successor.
        let name = format!("{}#{}", key.server, state.serial);
        let session = Session::new(Arc::clone(&claim.server), key.root.clone(), &name, Arc::clone(&self.registry));
        let session = Arc::new(session);
        let (jobs, queue) = mpsc::channel(JOBS);
        let entry = Entry { session: Arc::clone(&session), jobs };
        state.living.insert(key.clone(), entry.clone());
        let spec = Spec::new(&found.program, checkout.environment(&claim.server)).arguments(&found.arguments);
        let spec = spec.folder(&key.root);
        let (launcher, limit) = (self.launcher.clone(), state.settings.start_limit);
        let reopen = end.filter(|end| end.reason == Some(Reason::Crashed)).map(|end| end.open).unwrap_or_default();
        let (shared, key) = (Arc::downgrade(self), key.clone());
        tokio::spawn(async move {
            run(Arc::clone(&session), queue, launcher, spec, limit, reopen).await;
            if let Some(shared) = shared.upgrade() {
                shared.over(&key, &session);
            }
        });
        Ok(entry)
    }

    fn over(&self, key: &Key, session: &Arc<Session>) {
        let Phase::Ended { reason, detail } = session.phase.borrow().clone() else { return };
        {
            let mut registry = session.registry();
            session.publishers().iter().for_each(|publisher| registry.stopped(publisher));
        }
        let mut state = self.state();
        if state.living.get(key).is_some_and(|entry| Arc::ptr_eq(&entry.session, session)) {
            state.living.remove(key);
            state.population.remove(key);
        }
        let restarts = state.restarts.entry(key.clone()).or_default();
        match reason {
            Some(_) => {
                // Any number from 0 to 1 does.
                let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
                let chance = f64::from(now.subsec_micros() % 1000) / 1000.0;
                restarts.crashed(Instant::now(), chance);
            }
            None => restarts.stopped(),
        }
        let open = if reason == Some(Reason::Crashed) { session.open_texts() } else { Vec::new() };
        if state.ends.len() >= ENDS {
            state.ends.clear();
            let State { restarts, living, .. } = &mut *state;
            restarts.retain(|key, _| living.contains_key(key));
        }
        state.ends.insert(key.clone(), End { reason, detail, open });
    }
}

/// Stops who is idle and who uses too much, as long as the pool lives.
async fn look_after(shared: Weak<Shared>) {
    loop {
        sleep(ROUND).await;
        let Some(shared) = shared.upgrade() else { return };
        let living: Vec<(Key, u32)> = {
            let state = shared.state();
            let pid = |entry: &Entry| entry.session.client.get().map_or(0, |client| client.shim_pid());
            state.living.iter().map(|(key, entry)| (key.clone(), pid(entry))).collect()
        };
        let shims: Vec<u32> = living.iter().map(|(_, pid)| *pid).collect();
        // Reading /proc blocks.
        let measured = tokio::task::spawn_blocking(move || memory::of_trees(&shims)).await;
        let victims: Vec<Entry> = {
            let mut state = shared.state();
            if let Ok(Ok(measured)) = measured {
                for ((key, _), tree) in living.iter().zip(measured) {
                    state.population.measured(key, tree.bytes);
                }
            }
            let mut victims = state.population.over();
            let idle = state.settings.idle;
            let is_idle =
                |key: &Key| state.population.get(key).is_some_and(|known| known.busy == 0 && known.used.elapsed() >= idle);
            victims.extend(state.living.keys().filter(|key| is_idle(key)).cloned());
            victims.iter().filter_map(|key| state.living.get(key).cloned()).collect()
        };
        drop(shared);
        for entry in victims {
            tokio::spawn(async move { entry.stop().await });
        }
    }
}
