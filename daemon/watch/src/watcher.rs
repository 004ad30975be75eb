//! The watcher: which folders belong to which root, and the thread that gathers.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
        mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel},
    },
    time::{Duration, Instant},
};

use crate::{
    batch::{Batches, MOST},
    inotify,
    source::{Raw, RawSink, Source, SourceError, StartSource},
};

/// Raw events that wait for the gathering thread; more are lost, which is a rescan.
const WAITING: usize = 16_384;
/// The gathering thread looks up this often when nothing happens.
const IDLE: Duration = Duration::from_secs(60);

/// What the server is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Something changed in this root; exactly one of the others follows.
    Dirty {
        /// Absolute.
        root: PathBuf,
    },
    /// These paths changed.
    Changed {
        /// Absolute.
        root: PathBuf,
        /// Relative to the root, sorted; files and folders, also those that are gone.
        paths: Vec<PathBuf>,
        /// Those of them that are folders and are not watched yet.
        folders: Vec<PathBuf>,
    },
    /// Changes were lost or are too many: the root must be scanned.
    Rescan {
        /// Absolute.
        root: PathBuf,
    },
    /// The root is gone from its place; it is watched no more.
    RootGone {
        /// Absolute.
        root: PathBuf,
    },
}

/// How a root is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Every folder is.
    On,
    /// It is not, and why.
    Degraded {
        /// One sentence.
        why: String,
    },
    /// Nobody asked for it.
    Off,
}

/// Tells the server; never blocks.
type Tell = dyn Fn(Event) + Send + Sync;

/// The watcher of the daemon.
pub struct Watcher(Arc<Inner>);

struct Inner {
    tell: Box<Tell>,
    start: StartSource,
    shared: Mutex<Shared>,
    /// Beside the lock of the watches, which is held while thousands of them are made: asking must not wait for that.
    states: Mutex<BTreeMap<PathBuf, State>>,
    lost: Arc<AtomicBool>,
}

#[derive(Default)]
struct Shared {
    source: Option<Box<dyn Source>>,
    roots: BTreeMap<PathBuf, Root>,
    /// Who wants a folder: nested roots share theirs.
    owners: BTreeMap<PathBuf, BTreeSet<PathBuf>>,
}

#[derive(Default)]
struct Root {
    folders: BTreeSet<PathBuf>,
    degraded: Option<String>,
}

impl Watcher {
    /// A watcher that opens nothing before the first root is watched.
    pub fn new(tell: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self::with_source(Box::new(inotify::start), tell)
    }

    /// The same over another source.
    pub fn with_source(start: StartSource, tell: impl Fn(Event) + Send + Sync + 'static) -> Self {
        Self(Arc::new(Inner {
            tell: Box::new(tell),
            start,
            shared: Mutex::default(),
            states: Mutex::default(),
            lost: Arc::default(),
        }))
    }

    /// Watches exactly these folders of a root (relative; `""` is the root itself; an absolute one is the repository's
    /// own folder of a linked worktree). Blocks for some microseconds a folder.
    pub fn watch(&self, root: &Path, folders: &[PathBuf]) -> State {
        let wanted: BTreeSet<PathBuf> = folders.iter().map(|rel| absolute(root, rel)).collect();
        let mut shared = self.0.lock();
        let known = shared.roots.get(root).map(|known| known.folders.clone()).unwrap_or_default();
        for folder in known.difference(&wanted) {
            shared.release(root, folder);
        }
        shared.roots.insert(root.to_path_buf(), Root { folders: known.intersection(&wanted).cloned().collect(), degraded: None });
        let state = self.0.add(&mut shared, root, wanted.difference(&known).cloned().collect());
        self.0.note(root, state)
    }

    /// Watches further folders of a root that is watched.
    pub fn add(&self, root: &Path, folders: &[PathBuf]) -> State {
        let mut shared = self.0.lock();
        let new = match shared.roots.get(root) {
            None => return State::Off,
            Some(Root { degraded: Some(why), .. }) => return State::Degraded { why: why.clone() },
            Some(known) => {
                folders.iter().map(|rel| absolute(root, rel)).filter(|folder| !known.folders.contains(folder)).collect()
            }
        };
        let state = self.0.add(&mut shared, root, new);
        self.0.note(root, state)
    }

    /// Ends the watches of a root.
    pub fn unwatch(&self, root: &Path) {
        self.0.lock().forget(root);
        self.0.states().remove(root);
    }

    /// How a root is watched, from memory. While watches are being made it is as it was before.
    pub fn state(&self, root: &Path) -> State {
        self.0.states().get(root).cloned().unwrap_or(State::Off)
    }

    /// Folders watched for a root; waits while watches are being made.
    pub fn folders(&self, root: &Path) -> usize {
        self.0.lock().roots.get(root).map_or(0, |root| root.folders.len())
    }
}

fn absolute(root: &Path, rel: &Path) -> PathBuf {
    // `join("")` would add a slash, and that is another name for the map.
    if rel.as_os_str().is_empty() { root.to_path_buf() } else { root.join(rel) }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn states(&self) -> MutexGuard<'_, BTreeMap<PathBuf, State>> {
        self.states.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, root: &Path, state: State) -> State {
        self.states().insert(root.to_path_buf(), state.clone());
        state
    }

    fn add(self: &Arc<Self>, shared: &mut Shared, root: &Path, folders: Vec<PathBuf>) -> State {
        if shared.source.is_none() {
            match self.start() {
                Ok(source) => shared.source = Some(source),
                Err(error) => return shared.degrade(root, format!("inotify cannot be used: {error}")),
            }
        }
        for folder in folders {
            let Some(source) = shared.source.as_mut() else { break };
            let first = !shared.owners.contains_key(&folder);
            match if first { source.watch(&folder) } else { Ok(()) } {
                Ok(()) => {
                    shared.owners.entry(folder.clone()).or_default().insert(root.to_path_buf());
                    if let Some(known) = shared.roots.get_mut(root) {
                        known.folders.insert(folder);
                    }
                }
                // Removed in between; its parent tells that.
                Err(SourceError::NotFound) if folder != root => {}
                Err(SourceError::Limit) => {
                    let allowed = inotify::max_user_watches().map_or_else(String::new, |limit| format!(" ({limit})"));
                    return shared.degrade(
                        root,
                        format!("the system's limit of watched folders{allowed} is reached; raise fs.inotify.max_user_watches"),
                    );
                }
                Err(error) => return shared.degrade(root, format!("{} cannot be watched: {error}", folder.display())),
            }
        }
        State::On
    }

    /// Starts the source and the thread that gathers its events.
    fn start(self: &Arc<Self>) -> Result<Box<dyn Source>, SourceError> {
        let (send, receive) = sync_channel(WAITING);
        let source = (self.start)(sink(send, Arc::clone(&self.lost)))?;
        let inner = Arc::downgrade(self);
        std::thread::Builder::new()
            .name("watch".to_owned())
            .stack_size(512 << 10)
            .spawn(move || gather(&inner, &receive))
            .map_err(|error| SourceError::Other(error.to_string()))?;
        Ok(source)
    }
}

/// Hands raw events to the gathering thread. The system's own thread must not wait, or the kernel's queue overflows.
fn sink(send: SyncSender<Raw>, lost: Arc<AtomicBool>) -> RawSink {
    Box::new(move |raw| {
        if raw == Raw::Lost || send.try_send(raw).is_err() {
            lost.store(true, Relaxed);
            // Wakes the thread; with a full channel it is awake.
            let _ = send.try_send(Raw::Lost);
        }
    })
}

impl Shared {
    fn release(&mut self, root: &Path, folder: &Path) {
        if let Some(owners) = self.owners.get_mut(folder) {
            owners.remove(root);
            if owners.is_empty() {
                self.owners.remove(folder);
                if let Some(source) = &mut self.source {
                    source.unwatch(folder);
                }
            }
        }
    }

    fn forget(&mut self, root: &Path) {
        if let Some(known) = self.roots.remove(root) {
            for folder in &known.folders {
                self.release(root, folder);
            }
        }
    }

    /// Half a set of watches says nothing reliable, and the others need them: all of this root's are given back.
    fn degrade(&mut self, root: &Path, why: String) -> State {
        self.forget(root);
        self.roots.insert(root.to_path_buf(), Root { folders: BTreeSet::new(), degraded: Some(why.clone()) });
        State::Degraded { why }
    }

    /// The roots that want what happens at this path.
    fn owners_of(&self, path: &Path) -> Vec<PathBuf> {
        path.parent().and_then(|parent| self.owners.get(parent)).map(|roots| roots.iter().cloned().collect()).unwrap_or_default()
    }

    /// A folder below which nothing can be watched any more.
    fn folder_gone(&mut self, folder: &Path) {
        let below: Vec<PathBuf> = self
            .owners
            .range(folder.to_path_buf()..)
            .map(|(path, _)| path.clone())
            .take_while(|path| path.starts_with(folder))
            .collect();
        for gone in below {
            if let Some(source) = &mut self.source {
                source.unwatch(&gone);
            }
            for root in self.owners.remove(&gone).unwrap_or_default() {
                if let Some(known) = self.roots.get_mut(&root) {
                    known.folders.remove(&gone);
                }
            }
        }
    }
}

/// What is told of a repository's own folder, which changes all the time: whether there is one, which commit is checked
/// out, and what it ignores. The folder of a linked worktree lies elsewhere; its HEAD is told as if it lay in `.git`.
pub const REPOSITORY: [&str; 4] = [".git", ".git/HEAD", ".git/info", ".git/info/exclude"];

/// A path as it is told to a root; none if the root does not want to know.
fn told(root: &Path, path: &Path) -> Option<PathBuf> {
    let rel = match path.strip_prefix(root) {
        Ok(rel) => rel.to_path_buf(),
        Err(_) => Path::new(".git").join(path.file_name()?),
    };
    (!rel.starts_with(".git") || REPOSITORY.iter().any(|part| rel == Path::new(part))).then_some(rel)
}

fn gather(inner: &std::sync::Weak<Inner>, receive: &Receiver<Raw>) {
    let mut batches = Batches::default();
    loop {
        let wait = batches.next_due().map_or(IDLE, |due| due.saturating_duration_since(Instant::now()));
        let raw = match receive.recv_timeout(wait) {
            Ok(raw) => Some(raw),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return,
        };
        let Some(inner) = inner.upgrade() else { return };
        let now = Instant::now();
        let mut begun = Vec::new();
        if let Some(raw) = raw {
            inner.take(raw, &mut batches, now, &mut begun);
        }
        if inner.lost.swap(false, Relaxed) {
            let roots: Vec<PathBuf> = inner.lock().roots.keys().cloned().collect();
            for root in roots {
                let (batch, begins) = batches.of(&root, now);
                batch.rescan = true;
                if begins {
                    begun.push(root);
                }
            }
        }
        for root in begun {
            (inner.tell)(Event::Dirty { root });
        }
        for (root, batch) in batches.take_due(now) {
            let event = inner.finish(root, batch);
            (inner.tell)(event);
        }
    }
}

impl Inner {
    fn take(&self, raw: Raw, batches: &mut Batches, now: Instant, begun: &mut Vec<PathBuf>) {
        let mut shared = self.lock();
        let (paths, may_be_new_folder) = match raw {
            Raw::Lost => return,
            Raw::Touched { paths, may_be_new_folder } => (paths, may_be_new_folder),
            Raw::FolderGone(path) => {
                if shared.roots.contains_key(&path) {
                    let (batch, begins) = batches.of(&path, now);
                    batch.gone = true;
                    if begins {
                        begun.push(path.clone());
                    }
                }
                let owners = shared.owners_of(&path);
                shared.folder_gone(&path);
                for root in owners.into_iter().filter(|root| told(root, &path).is_some()) {
                    note(batches, &root, &path, false, now, begun);
                }
                return;
            }
        };
        for path in &paths {
            for root in shared.owners_of(path).into_iter().filter(|root| told(root, path).is_some()) {
                note(batches, &root, path, may_be_new_folder, now, begun);
            }
        }
    }

    fn finish(&self, root: PathBuf, batch: crate::batch::Batch) -> Event {
        if batch.gone {
            self.lock().forget(&root);
            self.states().remove(&root);
            return Event::RootGone { root };
        }
        if batch.rescan || batch.paths.len() > MOST {
            return Event::Rescan { root };
        }
        let relative = |path: &PathBuf| told(&root, path);
        let folders = batch
            .maybe_folders
            .iter()
            .filter(|path| std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir()))
            .filter_map(relative)
            .collect();
        Event::Changed { paths: batch.paths.iter().filter_map(relative).collect(), folders, root }
    }
}

fn note(batches: &mut Batches, root: &Path, path: &Path, may_be_new_folder: bool, now: Instant, begun: &mut Vec<PathBuf>) {
    let (batch, begins) = batches.of(root, now);
    // One more than are told, so that "too many" can be seen.
    if batch.paths.len() <= MOST {
        batch.paths.insert(path.to_path_buf());
        if may_be_new_folder {
            batch.maybe_folders.insert(path.to_path_buf());
        }
    }
    if begins {
        begun.push(root.to_path_buf());
    }
}
