//! One server of one root: its state, and what it says.

use std::{
    collections::{HashMap, HashSet},
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError},
    time::Instant,
};

use ccd_diagnostics::{Cause, ChangeId, Diagnostic, Publish, Reads, Registry};
use globset::GlobMatcher;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::{
    catalogue::Server,
    client::{Client, Listener},
    detect::Reason,
    lists::{self, Published},
    position::Encoding,
    root, uri,
};

/// A closed file that is larger is not read to convert columns.
const READ: u64 = 4 << 20;
/// Files whose lists are counted.
const HEARD: usize = 20_000;
/// Registrations that a server may make.
const REGISTRATIONS: usize = 1000;

/// How far a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It was started and has not answered the first request.
    Starting,
    /// It works.
    Ready,
    /// It is gone.
    Ended {
        /// None if it was stopped because we wanted it.
        reason: Option<Reason>,
        /// `exit 9: ` and its last words.
        detail: String,
    },
}

/// A text that is open at the server.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) text: Arc<str>,
    pub(crate) version: i64,
    /// The text from before the change that is under way, until its list has come.
    pub(crate) old: Option<Old>,
    /// The change that this text is of, until the first list of it has come.
    pub(crate) change: Option<ChangeId>,
    pub(crate) used: Instant,
}

#[derive(Clone, Debug)]
pub(crate) struct Old {
    pub(crate) text: Arc<str>,
    pub(crate) version: i64,
    /// The change that is under way, once it has begun.
    pub(crate) change: Option<ChangeId>,
}

/// What was pushed about a file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Heard {
    pub(crate) count: u64,
    pub(crate) version: Option<i64>,
    pub(crate) at: Instant,
}

/// What the server announced, and what it was told.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) encoding: Encoding,
    /// 0 none, 1 whole texts, 2 changes.
    pub(crate) sync: u64,
    pub(crate) saves: bool,
    pub(crate) pulls: bool,
    /// It passes requests on to tsserver.
    pub(crate) raw: bool,
    pub(crate) documents: HashMap<PathBuf, Document>,
    pub(crate) version: i64,
    pub(crate) heard: HashMap<PathBuf, Heard>,
    pub(crate) last_heard: Option<Instant>,
    /// Whether its lists say of which text they are; unknown before the first.
    pub(crate) versioned: Option<bool>,
    pub(crate) quiescent: bool,
    pub(crate) checks: Checks,
    /// The change that was sent last.
    pub(crate) latest: Option<ChangeId>,
    registrations: HashMap<String, (String, Vec<Watcher>)>,
}

/// Runs of a checker.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    pub(crate) begun: u64,
    pub(crate) running: HashSet<String>,
    pub(crate) ended: Option<Instant>,
}

#[derive(Clone, Debug)]
struct Watcher {
    base: Option<PathBuf>,
    glob: GlobMatcher,
}

/// A server of a root. Its reading task calls it; its own task (see `desk`) sends.
#[derive(Debug)]
pub(crate) struct Session {
    pub(crate) server: Arc<Server>,
    pub(crate) root: PathBuf,
    /// The names of its lists: what it answers and says of its texts, and what a checker in it pushes.
    pub(crate) publisher: Arc<str>,
    pub(crate) checker: Arc<str>,
    pub(crate) registry: Arc<Mutex<Registry>>,
    pub(crate) client: OnceLock<Arc<Client>>,
    pub(crate) phase: watch::Sender<Phase>,
    /// Moves with everything that a waiting task may look for.
    pub(crate) tick: watch::Sender<u64>,
    pub(crate) since: Instant,
    state: Mutex<State>,
}

/// What a list is of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Of {
    /// The old text of a change that has not begun.
    Before,
    /// The old text of a change that has begun.
    Late,
    /// The text as it is; the change that it answers to.
    Now(Option<ChangeId>),
}

impl Session {
    pub(crate) fn new(server: Arc<Server>, root: PathBuf, name: &str, registry: Arc<Mutex<Registry>>) -> Self {
        Self {
            server,
            root,
            publisher: name.into(),
            checker: format!("{name}/check").into(),
            registry,
            client: OnceLock::new(),
            phase: watch::channel(Phase::Starting).0,
            tick: watch::channel(0).0,
            since: Instant::now(),
            state: Mutex::new(State {
                encoding: Encoding::Utf16,
                sync: 2,
                saves: false,
                pulls: false,
                raw: false,
                documents: HashMap::new(),
                version: 0,
                heard: HashMap::new(),
                last_heard: None,
                versioned: None,
                quiescent: false,
                checks: Checks::default(),
                latest: None,
                registrations: HashMap::new(),
            }),
        }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn registry(&self) -> MutexGuard<'_, Registry> {
        self.registry.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn publishers(&self) -> Vec<Arc<str>> {
        let mut names = vec![Arc::clone(&self.publisher)];
        if self.server.checks {
            names.push(Arc::clone(&self.checker));
        }
        names
    }

    pub(crate) fn moved(&self) {
        self.tick.send_modify(|tick| *tick += 1);
    }

    /// Whether it is asked for lists.
    pub(crate) fn pulls(&self) -> bool {
        let state = self.state();
        state.pulls || state.is_registered("textDocument/diagnostic")
    }

    /// Hands a list to the registry.
    pub(crate) fn give(&self, publisher: &str, path: &Path, items: Vec<Diagnostic>, of: Of, reads: Reads) {
        let mut registry = self.registry();
        match of {
            Of::Before => registry.note_baseline(publisher, path, items),
            Of::Late => registry.late_baseline(publisher, path, items),
            Of::Now(change) => {
                let cause = change.map_or(Cause::Outside, Cause::Change);
                // Versions were looked at already, and begin anew with each process.
                registry.publish(Publish { publisher, path, version: None, items, cause, reads });
            }
        }
    }

    /// The text of a file for converting columns: as it is open, or as it lies on the disk.
    pub(crate) fn text_of(&self, path: &Path) -> Arc<str> {
        if let Some(document) = self.state().documents.get(path) {
            return Arc::clone(&document.text);
        }
        self.read(path).unwrap_or_else(|| "".into())
    }

    /// A file of the root as it lies on the disk, if it is no larger than 4 MiB.
    pub(crate) fn read(&self, path: &Path) -> Option<Arc<str>> {
        let small = fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() <= READ);
        let bytes = (small && path.starts_with(&self.root)).then(|| fs::read(path).ok()).flatten()?;
        Some(String::from_utf8_lossy(&bytes).into())
    }

    fn published(&self, params: Value) {
        let Ok(published) = serde_json::from_value::<Published>(params) else {
            return tracing::warn!(server = self.server.id, "a list that cannot be read");
        };
        let Some(path) = uri::path(&published.uri).filter(|path| path.starts_with(&self.root)) else { return };
        let pulls = self.pulls();
        let pushed_by_checker = self.server.checks && pulls;
        if pulls && !self.server.checks {
            // It is asked; what it pushes beside that would be told twice.
            return;
        }
        let (text, of, encoding) = {
            let mut state = self.state();
            if state.raw {
                return;
            }
            let now = Instant::now();
            state.last_heard = Some(now);
            if state.heard.len() >= HEARD {
                state.heard.clear();
            }
            let latest = state.latest;
            let encoding = state.encoding;
            let open = state.documents.contains_key(&path);
            if open && !pushed_by_checker {
                state.versioned = Some(published.version.is_some() || state.versioned == Some(true));
            }
            let (text, of, counts) = match state.documents.get_mut(&path) {
                _ if pushed_by_checker => (None, Some(Of::Now(latest)), true),
                None if !self.server.project_wide => (None, None, false),
                None => (None, Some(Of::Now(latest)), true),
                Some(document) => {
                    let version = published.version.unwrap_or(document.version);
                    match document.old.take() {
                        Some(old) if version == old.version => {
                            let of = if old.change.is_some() { Of::Late } else { Of::Before };
                            (Some(Arc::clone(&old.text)), Some(of), document.version == old.version)
                        }
                        // Of a text that is no more.
                        kept if version < document.version => {
                            document.old = kept;
                            (None, None, false)
                        }
                        kept => {
                            document.old = kept;
                            let change = document.change.take().or(latest);
                            (Some(Arc::clone(&document.text)), Some(Of::Now(change)), true)
                        }
                    }
                }
            };
            if counts {
                let count = state.heard.get(&path).map_or(0, |heard| heard.count) + 1;
                state.heard.insert(path.clone(), Heard { count, version: published.version, at: now });
            }
            (text, of, encoding)
        };
        if let Some(of) = of {
            let text = match text {
                Some(text) => text,
                None if published.diagnostics.is_empty() => "".into(),
                None => self.text_of(&path),
            };
            let items = lists::read(published.diagnostics, &text, encoding);
            if pushed_by_checker {
                self.give(&self.checker, &path, items, of, Reads::Disk);
            } else {
                self.give(&self.publisher, &path, items, of, Reads::Text);
            }
        }
        self.moved();
    }

    fn progressed(&self, params: &Value) {
        let Some(token) = params["token"].as_str().filter(|token| token.starts_with("rust-analyzer/flycheck")) else { return };
        let all_ended = {
            let checks = &mut self.state().checks;
            match params["value"]["kind"].as_str() {
                Some("begin") => {
                    checks.begun += 1;
                    checks.running.insert(token.to_owned());
                    false
                }
                Some("end") => {
                    checks.running.remove(token);
                    checks.ended = Some(Instant::now());
                    checks.running.is_empty()
                }
                _ => return,
            }
        };
        if all_ended {
            self.registry().covers(&self.checker);
        }
        self.moved();
    }
}

impl State {
    pub(crate) fn is_registered(&self, method: &str) -> bool {
        self.registrations.values().any(|(registered, _)| registered == method)
    }

    /// Whether the server wants to hear of this file. One that registered nothing hears of all.
    pub(crate) fn watches(&self, path: &Path, root: &Path) -> bool {
        let mut watched = self.registrations.values().filter(|(method, _)| method == WATCH).peekable();
        if watched.peek().is_none() {
            return true;
        }
        let hit = |watcher: &Watcher| match &watcher.base {
            Some(base) => path.strip_prefix(base).is_ok_and(|relative| watcher.glob.is_match(relative)),
            None => watcher.glob.is_match(path) || path.strip_prefix(root).is_ok_and(|path| watcher.glob.is_match(path)),
        };
        watched.any(|(_, watchers)| watchers.iter().any(hit))
    }

    fn register(&mut self, params: &Value) {
        for one in params["registrations"].as_array().into_iter().flatten() {
            let (Some(id), Some(method)) = (one["id"].as_str(), one["method"].as_str()) else { continue };
            if self.registrations.len() >= REGISTRATIONS {
                return tracing::warn!("a server registers without end");
            }
            let watchers = one["registerOptions"]["watchers"].as_array().into_iter().flatten().filter_map(watcher).collect();
            self.registrations.insert(id.to_owned(), (method.to_owned(), watchers));
        }
    }

    fn unregister(&mut self, params: &Value) {
        // The protocol misspells it, and servers write it both ways.
        let both = ["unregisterations", "unregistrations"].map(|key| params[key].as_array());
        for one in both.into_iter().flatten().flatten() {
            if let Some(id) = one["id"].as_str() {
                self.registrations.remove(id);
            }
        }
    }
}

const WATCH: &str = "workspace/didChangeWatchedFiles";

fn watcher(value: &Value) -> Option<Watcher> {
    let pattern = &value["globPattern"];
    if let Some(pattern) = pattern.as_str() {
        return Some(Watcher { base: None, glob: root::glob(pattern)? });
    }
    let base = pattern["baseUri"].as_str().or_else(|| pattern["baseUri"]["uri"].as_str())?;
    Some(Watcher { base: Some(uri::path(base)?), glob: root::glob(pattern["pattern"].as_str()?)? })
}

impl Listener for Session {
    fn notified(&self, method: &str, params: Value) {
        match method {
            "textDocument/publishDiagnostics" => self.published(params),
            "$/progress" => self.progressed(&params),
            "experimental/serverStatus" => {
                self.state().quiescent = params["quiescent"].as_bool().unwrap_or(false);
                self.moved();
            }
            "window/showMessage" | "window/logMessage" => {
                let words = params["message"].as_str().map(lists::plain).unwrap_or_default();
                tracing::debug!(server = self.server.id, words, "said");
            }
            _ => {}
        }
    }

    fn asked(&self, method: &str, params: &Value) -> Option<Value> {
        let answer = match method {
            "workspace/configuration" => {
                let items = params["items"].as_array().map(Vec::as_slice).unwrap_or_default();
                let known = |item: &Value| {
                    let section = item["section"].as_str().unwrap_or_default();
                    self.server.settings.get(section).cloned().unwrap_or(Value::Null)
                };
                Value::Array(items.iter().map(known).collect())
            }
            "client/registerCapability" => {
                self.state().register(params);
                self.moved();
                Value::Null
            }
            "client/unregisterCapability" => {
                self.state().unregister(params);
                self.moved();
                Value::Null
            }
            "workspace/workspaceFolders" => json!([{"uri": uri::of(&self.root), "name": "root"}]),
            "workspace/applyEdit" => json!({"applied": false, "failureReason": "no edit was asked for"}),
            "window/workDoneProgress/create"
            | "window/showMessageRequest"
            | "workspace/diagnostic/refresh"
            | "workspace/semanticTokens/refresh"
            | "workspace/inlayHint/refresh"
            | "workspace/codeLens/refresh"
            | "workspace/inlineValue/refresh"
            | "workspace/foldingRange/refresh" => Value::Null,
            "window/showDocument" => json!({"success": false}),
            _ => return None,
        };
        Some(answer)
    }
}
