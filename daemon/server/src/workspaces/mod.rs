//! The open workspaces: which there are, which one a call means, and what is in them.
//!
//! A call that names a root that is not open opens it. A call that names none means the longest open workspace that
//! contains its path. What is asked often is answered from memory: a name under which a root was opened before leads
//! to it without looking at the disk.

mod changes;
mod indexing;
pub(crate) mod place;
#[cfg(test)]
mod tests;
mod workspace;

use std::{
    path::{Path, PathBuf},
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use ccd_files::{FileError, Root, RootError};
use ccd_protocol::{ErrorKind, RpcError, daemon::WorkspaceSummary};
use ccd_watch::{StartSource, Watcher};
use dashmap::DashMap;
use tokio::sync::mpsc;

use crate::{
    daemon::Daemon,
    rpc::call::Call,
    workspaces::place::{absolute, shown},
};

pub(crate) use indexing::RunError;
pub(crate) use workspace::Workspace;

/// Batches of changes that wait to be handed to their workspaces.
const WAITING: usize = 1024;
/// Names under which roots were opened.
const NAMES: usize = 4096;
/// How often idle workspaces are looked for.
const LOOK: Duration = Duration::from_secs(30);
/// A graph that was asked within this is in use, however scarce memory is.
const IN_USE: Duration = Duration::from_secs(60);

/// All open workspaces.
pub(crate) struct Workspaces {
    daemon: Weak<Daemon>,
    open: DashMap<Arc<str>, Arc<Workspace>>,
    /// From a name as it was given to the canonical root.
    names: DashMap<String, Arc<str>>,
    pub(crate) watcher: Watcher,
    changes: std::sync::Mutex<Option<mpsc::Receiver<ccd_watch::Event>>>,
    overrun: Arc<AtomicBool>,
}

/// What a call is about: its workspace, and its path in it.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) workspace: Arc<Workspace>,
    /// Relative to the root; empty if the call has no path.
    pub(crate) rel: PathBuf,
}

/// The fields of a call that say where it belongs.
#[derive(Clone, Debug, Default)]
pub(crate) struct Where {
    /// `workspace`.
    pub(crate) workspace: Option<String>,
    /// The name of the field with the path, and the path.
    pub(crate) path: Option<(&'static str, String)>,
}

impl Workspaces {
    /// None are open; nothing is watched before one is. Tests bring their own source of events.
    pub(crate) fn new(daemon: Weak<Daemon>, source: Option<StartSource>) -> Self {
        let (send, receive) = mpsc::channel(WAITING);
        let overrun = Arc::new(AtomicBool::new(false));
        let lost = Arc::clone(&overrun);
        let tell = move |event| {
            if send.try_send(event).is_err() {
                lost.store(true, Relaxed);
            }
        };
        let watcher = match source {
            Some(source) => Watcher::with_source(source, tell),
            None => Watcher::new(tell),
        };
        Self {
            daemon,
            open: DashMap::new(),
            names: DashMap::new(),
            watcher,
            changes: std::sync::Mutex::new(Some(receive)),
            overrun,
        }
    }

    /// Starts the tasks that hand changes to their workspaces and unload idle ones. Once.
    pub(crate) fn start(&self) {
        let receiver = self.changes.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some(receiver) = receiver {
            tokio::spawn(changes::hand_out(self.daemon.clone(), receiver, Arc::clone(&self.overrun)));
            tokio::spawn(unload_idle(self.daemon.clone()));
        }
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.open.len()
    }

    /// All of them, by root.
    pub(crate) fn all(&self) -> Vec<Arc<Workspace>> {
        let mut all: Vec<Arc<Workspace>> = self.open.iter().map(|entry| Arc::clone(entry.value())).collect();
        all.sort_by(|a, b| a.path.cmp(&b.path));
        all
    }

    /// In short, by root.
    pub(crate) fn summaries(&self) -> Vec<WorkspaceSummary> {
        self.all().iter().map(|workspace| workspace.summary()).collect()
    }

    fn roots(&self) -> Vec<String> {
        self.all().iter().map(|workspace| workspace.path.to_string()).collect()
    }

    /// The open workspace of this name, from memory.
    pub(crate) fn find(&self, name: &str) -> Option<Arc<Workspace>> {
        let trimmed = if name.len() > 1 { name.trim_end_matches('/') } else { name };
        if let Some(found) = self.open.get(trimmed) {
            return Some(Arc::clone(found.value()));
        }
        let canonical = self.names.get(name).map(|canonical| Arc::clone(canonical.value()))?;
        self.open.get(&canonical).map(|found| Arc::clone(found.value()))
    }

    /// The longest open workspace that contains a path, by its name.
    pub(crate) fn containing(&self, path: &Path) -> Option<Arc<Workspace>> {
        path.ancestors().filter_map(Path::to_str).find_map(|folder| self.open.get(folder).map(|found| Arc::clone(found.value())))
    }

    /// Opens a root, or gives the one that is open. Blocks.
    pub(crate) fn open(&self, field: &str, given: &str) -> Result<Arc<Workspace>, RpcError> {
        let found = self.find(given);
        if let Some(found) = found.as_ref().filter(|found| found.stands()) {
            return Ok(Arc::clone(found));
        }
        let path = absolute(field, given)?;
        let daemon = self.daemon.upgrade().ok_or_else(|| RpcError::new(ErrorKind::Retiring, "The daemon is ending."))?;
        let root = Root::open(&path, daemon.home().as_deref()).map_err(|error| match (&error, &found) {
            (RootError::NotFound, Some(lost)) => gone(lost),
            _ => self.refused(field, given, &error),
        })?;
        let canonical: Arc<str> = shown(root.path()).into();
        if self.names.len() >= NAMES {
            self.names.clear();
        }
        self.names.insert(given.to_owned(), Arc::clone(&canonical));
        let made = || Workspace::new(&daemon, Arc::clone(&canonical), Arc::new(root));
        let workspace = Arc::clone(self.open.entry(Arc::clone(&canonical)).or_insert_with(made).value());
        workspace.look_at_trust();
        tracing::info!(root = %canonical, "workspace open");
        Ok(workspace)
    }

    /// Looks again at which open roots are trusted: a grant or the configuration has changed. Blocks.
    pub(crate) fn look_at_trust(&self) {
        for workspace in self.all() {
            workspace.look_at_trust();
        }
    }

    /// A folder, opened as a root but not as a workspace.
    pub(crate) fn root(&self, field: &str, given: &str) -> Result<Root, RpcError> {
        let path = absolute(field, given)?;
        let daemon = self.daemon.upgrade().ok_or_else(|| RpcError::new(ErrorKind::Retiring, "The daemon is ending."))?;
        Root::open(&path, daemon.home().as_deref()).map_err(|error| self.refused(field, given, &error))
    }

    fn refused(&self, field: &str, given: &str, error: &RootError) -> RpcError {
        let refuse = |reason: String| {
            RpcError::new(
                ErrorKind::RootRefused,
                format!("{given} cannot be a workspace: {reason}. Name the folder of a checkout."),
            )
            .with("root", given)
            .with("reason", reason)
        };
        match error {
            RootError::Relative => crate::rpc::params::wrong(field, "an absolute path"),
            RootError::Refused(reason) => refuse((*reason).to_owned()),
            RootError::NotDirectory => refuse("not a directory".to_owned()),
            RootError::NotFound if field == "root" => {
                RpcError::new(ErrorKind::NotFound, format!("There is no folder {given}.")).with("path", given)
            }
            RootError::NotFound => self.unknown(Some(given)),
            RootError::NotUtf8 => {
                RpcError::new(ErrorKind::PathNotUtf8, format!("The path that {given} leads to is not UTF-8.")).with("path", given)
            }
            RootError::Io(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                RpcError::new(ErrorKind::Permission, format!("The system refuses access to {given}.")).with("path", given)
            }
            RootError::Io(error) => refuse(error.to_string()),
        }
    }

    /// Files (absolute) were changed by an edit: the graphs that hold them are brought up to date without waiting for
    /// events. Needs the runtime.
    pub(crate) fn edited(&self, files: &[PathBuf]) {
        for workspace in self.all() {
            let rels: Vec<PathBuf> =
                files.iter().filter_map(|file| file.strip_prefix(&*workspace.path).ok()).map(Path::to_path_buf).collect();
            if !rels.is_empty() && workspace.loaded().is_some() {
                workspace.pending.send_modify(|pending| *pending += 1);
                workspace.see_stale(rels.len() as u64);
                workspace.enqueue(|queue| {
                    queue.batches += 1;
                    queue.paths.extend(rels);
                });
            }
        }
    }

    /// The identities of roots, and of all open roots around and inside them: an edit of one must not meet an edit of
    /// another that holds the same files.
    pub(crate) fn locks_of(&self, roots: &[Arc<Root>]) -> Vec<(u64, u64)> {
        let mut locks: Vec<(u64, u64)> = roots.iter().map(|root| root.identity()).collect();
        for workspace in self.all() {
            let path = Path::new(&*workspace.path);
            if roots.iter().any(|root| root.path().starts_with(path) || path.starts_with(root.path())) {
                locks.push(workspace.root().identity());
            }
        }
        locks.sort_unstable();
        locks.dedup();
        locks
    }

    /// No workspace of this name, or none that contains the path.
    pub(crate) fn unknown(&self, root: Option<&str>) -> RpcError {
        let open = self.roots();
        let message = match root {
            Some(root) => format!("There is no folder {root} to open as a workspace. Give the absolute root of a checkout."),
            None => "No open workspace is meant by this call. Give `workspace`, the absolute root of a checkout; it is opened by that.".to_owned(),
        };
        let error = RpcError::new(ErrorKind::WorkspaceUnknown, message).with("open", open);
        match root {
            Some(root) => error.with("root", root),
            None => error,
        }
    }

    /// What a call is about, from memory; none if the disk has to be looked at.
    fn resolve_fast(&self, at: &Where, cwd: Option<&Path>) -> Option<Result<Target, RpcError>> {
        let path = match &at.path {
            Some((field, text)) => match absolute(field, text) {
                Ok(path) => Some(path),
                Err(error) => return Some(Err(error)),
            },
            None => None,
        };
        let workspace = match (&at.workspace, &path) {
            (Some(name), _) => self.find(name)?,
            (None, Some(path)) => self.containing(path)?,
            (None, None) => self.containing(cwd?)?,
        };
        let rel = match path {
            None => PathBuf::new(),
            Some(path) => {
                let rel = path.strip_prefix(&*workspace.path).ok()?;
                if rel.components().any(|part| !matches!(part, std::path::Component::Normal(_))) {
                    return None;
                }
                rel.components().collect()
            }
        };
        Some(Ok(Target { workspace, rel }))
    }

    /// What a call is about. Opens the named root; resolves links. Blocks.
    fn resolve_slow(&self, at: &Where, cwd: Option<&Path>) -> Result<Target, RpcError> {
        let path = match &at.path {
            Some((field, text)) => Some(absolute(field, text)?),
            None => None,
        };
        let workspace = match (&at.workspace, &path) {
            (Some(name), _) => self.open("workspace", name)?,
            (None, Some(path)) => self.containing_real(path).ok_or_else(|| self.unknown(None))?,
            (None, None) => cwd.and_then(|cwd| self.containing_real(cwd)).ok_or_else(|| self.unknown(None))?,
        };
        if !workspace.stands() {
            return Err(gone(&workspace));
        }
        let rel = match &path {
            None => PathBuf::new(),
            Some(path) => match workspace.root().relative(path) {
                Ok(rel) => rel,
                Err(FileError::Outside { resolved }) => return Err(self.outside(&workspace, path, &resolved)),
                Err(error) => return Err(self.file_error(&workspace, path, &error)),
            },
        };
        Ok(Target { workspace, rel })
    }

    /// The longest open workspace that contains what a path leads to.
    fn containing_real(&self, path: &Path) -> Option<Arc<Workspace>> {
        self.containing(path).or_else(|| {
            // The last part may not be there yet, or be a file; its folder says enough.
            path.ancestors().find_map(|folder| std::fs::canonicalize(folder).ok()).and_then(|real| self.containing(&real))
        })
    }

    /// The path leads out of the workspace.
    pub(crate) fn outside(&self, workspace: &Workspace, path: &Path, resolved: &Path) -> RpcError {
        let owner = self.containing(resolved).filter(|owner| owner.path != workspace.path);
        let hint = match &owner {
            Some(owner) => format!("It lies in the workspace {}; name that one.", owner.path),
            None => "Name a path inside it, or the workspace that it belongs to.".to_owned(),
        };
        let error = RpcError::new(
            ErrorKind::OutsideWorkspace,
            format!("{} leads out of the workspace {}. {hint}", path.display(), workspace.path),
        )
        .with("path", shown(path))
        .with("resolved", shown(resolved))
        .with("roots", vec![workspace.path.to_string()]);
        match owner {
            Some(owner) => error.with("owner", owner.path.to_string()),
            None => error,
        }
    }

    /// A file that cannot be had.
    pub(crate) fn file_error(&self, workspace: &Workspace, path: &Path, error: &FileError) -> RpcError {
        let name = path.display();
        let with_path = |kind, message: String| RpcError::new(kind, message).with("path", shown(path));
        match error {
            FileError::NotFound => with_path(ErrorKind::NotFound, format!("There is no file {name}.")),
            FileError::Outside { resolved } => self.outside(workspace, path, resolved),
            FileError::IsDirectory => with_path(ErrorKind::IsDirectory, format!("{name} is a folder. Name a file.")),
            FileError::NotRegular { what } => {
                with_path(ErrorKind::NotRegular, format!("{name} is a {what}, not a regular file.")).with("what", *what)
            }
            FileError::Permission => with_path(ErrorKind::Permission, format!("The system refuses access to {name}.")),
            FileError::TooLarge { size, limit } => {
                with_path(ErrorKind::TooLarge, format!("{name} has {size} bytes, the limit is {limit}."))
                    .with("size", *size)
                    .with("limit", *limit)
            }
            FileError::LinkLoop => {
                with_path(ErrorKind::NotRegular, format!("The links of {name} lead in a circle.")).with("what", "link loop")
            }
            FileError::Io { name: os_error } => {
                with_path(ErrorKind::Io, format!("{name} cannot be read: {os_error}.")).with("os_error", os_error.as_str())
            }
        }
    }

    /// Closes a workspace; false if it is not open. Blocks while the graph is written out.
    pub(crate) fn close(&self, workspace: &Arc<Workspace>) -> bool {
        let removed = self.open.remove(&workspace.path).is_some();
        self.names.retain(|_, canonical| *canonical != workspace.path);
        self.watcher.unwatch(Path::new(&*workspace.path));
        workspace.close();
        removed
    }

    /// The caps of the index may be others now: graphs are made anew, those that were indexed are indexed again.
    pub(crate) fn settings_changed(&self) {
        for workspace in self.all().into_iter().filter(|workspace| workspace.loaded().is_some()) {
            tokio::spawn(async move {
                workspace.renew().await;
            });
        }
    }

    /// Closes all of them, at the end. A run that does not heed its token is not waited for: the process ends it.
    pub(crate) fn close_all(&self, within: Duration) {
        let until = Instant::now() + within;
        let all = self.all();
        for workspace in &all {
            workspace.end();
        }
        for workspace in all {
            self.watcher.unwatch(Path::new(&*workspace.path));
            workspace.close_by(until);
        }
    }
}

/// The root of an open workspace is not at its place.
pub(crate) fn gone(workspace: &Workspace) -> RpcError {
    RpcError::new(
        ErrorKind::NotFound,
        format!("The root {} is gone: it was removed or renamed. Calls are answered again when it is back.", workspace.path),
    )
    .with("path", workspace.path.to_string())
}

impl Call {
    /// What the call is about.
    pub(crate) async fn target(&self, at: Where) -> Result<Target, RpcError> {
        let cwd = self.peer.greeting().cwd;
        let known = self.daemon.workspaces.resolve_fast(&at, cwd.as_deref()).transpose()?;
        let daemon = Arc::clone(&self.daemon);
        let found = self.query(move |_| match known {
            // One look at the disk, or what is answered may be of a folder that lies elsewhere by now.
            Some(target) if target.workspace.stands() => Ok(target),
            _ => daemon.workspaces.resolve_slow(&at, cwd.as_deref()),
        });
        let target = found.await??;
        target.workspace.touch();
        Ok(target)
    }
}

/// Unloads graphs that nobody has asked for long enough; over the memory limit those that are idle longest go first.
async fn unload_idle(daemon: Weak<Daemon>) {
    loop {
        tokio::time::sleep(LOOK).await;
        let Some(daemon) = daemon.upgrade() else { return };
        daemon.trees.sweep();
        daemon.results.sweep();
        let memory = daemon.memory();
        let mut scarce = memory.rss > memory.limit;
        let mut all = daemon.workspaces.all();
        all.sort_by_key(|workspace| std::cmp::Reverse(workspace.idle()));
        for workspace in all.into_iter().filter(|workspace| workspace.loaded().is_some()) {
            let limit = Duration::from_secs(daemon.settings().config.index_of(&workspace.path).unload_idle_s.0);
            let idle = workspace.idle();
            if idle < limit && !(scarce && idle >= IN_USE) {
                continue;
            }
            // One at a time: what it gave back is seen at the next look.
            scarce = false;
            let daemon = Arc::clone(&daemon);
            // Writing the graph out may take a moment.
            tokio::task::spawn_blocking(move || {
                if workspace.unload() {
                    daemon.workspaces.watcher.unwatch(Path::new(&*workspace.path));
                    tracing::info!(root = %workspace.path, "an idle graph was unloaded");
                }
            });
        }
    }
}
