//! The task of a session: it starts the server, sends what is to be sent, in order, and ends it.

use std::{
    path::PathBuf,
    sync::{Arc, Weak},
    time::Duration,
};

use ccd_diagnostics::ChangeId;
use ccd_process::{Launcher, Spec, Stopped};
use serde_json::{Value, json};
use tokio::{
    sync::{mpsc, oneshot},
    time::{Instant, timeout},
};

use crate::{
    client::{Client, Listener, RequestError},
    detect::Reason,
    documents::OnDisk,
    position::Encoding,
    session::{Phase, Session},
    settle::Settled,
    uri,
};

/// How long a change is followed after the write that made it was answered.
const FOLLOW: Duration = Duration::from_secs(120);

/// A file that a change wrote.
#[derive(Clone, Debug)]
pub(crate) struct FileChange {
    pub(crate) path: PathBuf,
    /// None: it was not there.
    pub(crate) old: Option<Arc<str>>,
    /// None: it is gone.
    pub(crate) new: Option<Arc<str>>,
}

/// Something for a session to do. What holds it (a counter of work under way) is dropped when it is done.
pub(crate) enum Job {
    /// Take the lists of these texts.
    Before { files: Vec<(PathBuf, Arc<str>)>, others: Vec<PathBuf>, until: Instant, done: oneshot::Sender<()> },
    /// These texts are on the disk now.
    Change {
        change: Option<ChangeId>,
        files: Vec<FileChange>,
        others: Vec<PathBuf>,
        done: oneshot::Sender<Settled>,
        held: Box<dyn Send>,
    },
    /// Another program wrote.
    Outside(Vec<(PathBuf, OnDisk)>),
    /// End it, and tell how that went.
    Stop(oneshot::Sender<Option<Stopped>>),
}

/// Runs until the server has ended. What is left in the queue then has no answer: who waits looks at the phase.
pub(crate) async fn run(
    session: Arc<Session>,
    mut jobs: mpsc::Receiver<Job>,
    launcher: Launcher,
    spec: Spec,
    limit: Duration,
    reopen: Vec<(PathBuf, Arc<str>)>,
) {
    let started = timeout(limit, session.start(&launcher, &spec)).await;
    let failed = match started {
        Ok(Ok(())) => None,
        Ok(Err(detail)) => Some(detail),
        Err(_) => Some(format!("no answer to the first request within {} s", limit.as_secs())),
    };
    if let Some(detail) = failed {
        if let Some(client) = session.client.get() {
            client.kill();
        }
        return session.end(Some(Reason::FailedToStart), detail);
    }
    for (path, text) in reopen {
        let _ = session.show_old(&path, &text, None);
    }
    session.phase.send_replace(Phase::Ready);
    session.moved();
    let Some(client) = session.client.get().cloned() else { return };
    loop {
        let job = tokio::select! {
            job = jobs.recv() => job,
            detail = client.wait_ended() => {
                client.kill();
                return session.end(Some(Reason::Crashed), detail);
            }
        };
        match job {
            Some(Job::Stop(done)) => {
                let stopped = client.stop().await;
                session.end(None, "stopped".to_owned());
                let _ = done.send(stopped);
                return;
            }
            Some(job) => session.work(job).await,
            None => {
                client.stop().await;
                return session.end(None, "stopped".to_owned());
            }
        }
    }
}

impl Session {
    pub(crate) fn end(&self, reason: Option<Reason>, detail: String) {
        tracing::info!(server = self.server.id, root = %self.root.display(), detail, "ended");
        self.phase.send_replace(Phase::Ended { reason, detail });
        self.moved();
    }

    async fn start(self: &Arc<Self>, launcher: &Launcher, spec: &Spec) -> Result<(), String> {
        let listener: Weak<dyn Listener> = Arc::downgrade(self) as Weak<dyn Listener>;
        let client = Client::start(launcher, spec, listener).await.map_err(|error| error.to_string())?;
        let client = Arc::clone(self.client.get_or_init(|| client));
        let answer = client.request("initialize", Some(self.hello()), Duration::from_secs(300)).await;
        let answer = answer.map_err(|error| match error {
            RequestError::Ended(detail) => detail,
            other => other.to_string(),
        })?;
        let answer: Value = serde_json::from_str(answer.get()).map_err(|error| error.to_string())?;
        self.announced(&answer["capabilities"]);
        client.notify("initialized", Some(json!({}))).map_err(|error| error.to_string())?;
        if self.server.settings.as_object().is_some_and(|settings| !settings.is_empty()) {
            let settings = json!({"settings": self.server.settings});
            let _ = client.notify("workspace/didChangeConfiguration", Some(settings));
        }
        Ok(())
    }

    fn announced(&self, capabilities: &Value) {
        let mut state = self.state();
        state.encoding = match capabilities["positionEncoding"].as_str() {
            Some("utf-8") => Encoding::Utf8,
            _ => Encoding::Utf16,
        };
        let sync = &capabilities["textDocumentSync"];
        state.sync = sync.as_u64().or_else(|| sync["change"].as_u64()).unwrap_or(2);
        state.saves = matches!(&sync["save"], Value::Bool(true) | Value::Object(_));
        state.pulls = capabilities["diagnosticProvider"].is_object();
        let commands = capabilities["executeCommandProvider"]["commands"].as_array();
        state.raw = commands.into_iter().flatten().any(|command| command == "typescript.tsserverRequest");
    }

    fn hello(&self) -> Value {
        let uri = uri::of(&self.root);
        let name = self.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        json!({
            "processId": std::process::id(),
            "clientInfo": {"name": "ccd"},
            "rootUri": uri,
            "rootPath": self.root.to_string_lossy(),
            "workspaceFolders": [{"uri": uri, "name": name}],
            "initializationOptions": self.server.options,
            "capabilities": {
                "general": {"positionEncodings": ["utf-8", "utf-16"]},
                "window": {"workDoneProgress": true, "showMessage": {}},
                "workspace": {
                    "configuration": true,
                    "workspaceFolders": true,
                    "didChangeConfiguration": {"dynamicRegistration": true},
                    "didChangeWatchedFiles": {"dynamicRegistration": true, "relativePatternSupport": true},
                    "diagnostics": {"refreshSupport": true},
                    "executeCommand": {}
                },
                "textDocument": {
                    "synchronization": {"didSave": true, "dynamicRegistration": true},
                    "publishDiagnostics": {
                        "relatedInformation": true,
                        "versionSupport": true,
                        "codeDescriptionSupport": true,
                        "tagSupport": {"valueSet": [1, 2]}
                    },
                    "diagnostic": {"dynamicRegistration": true, "relatedDocumentSupport": false},
                    "documentSymbol": {"hierarchicalDocumentSymbolSupport": true}
                },
                "experimental": {"serverStatusNotification": true}
            }
        })
    }

    async fn work(self: &Arc<Self>, job: Job) {
        match job {
            Job::Before { files, others, until, done } => {
                let unknown = files.iter().filter(|(path, text)| self.show_old(path, text, None).unwrap_or(false));
                let unknown: Vec<PathBuf> = unknown.map(|(path, _)| path.clone()).collect();
                self.take_old(&unknown, &others, None, until).await;
                let _ = done.send(());
            }
            Job::Change { change, files, others, done, held } => {
                let begun = Instant::now();
                let old = files.iter().filter_map(|file| Some((&file.path, file.old.as_ref()?, file.new.as_ref()?)));
                let unknown = old.filter(|(path, text, _)| self.show_old(path, text, change).unwrap_or(false));
                let unknown: Vec<PathBuf> = unknown.map(|(path, ..)| path.clone()).collect();
                if !unknown.is_empty() {
                    self.take_old(&unknown, &others, change, begun + self.server.first_wait).await;
                }
                let Ok((sent, checks)) = self.send(change, &files) else { return };
                let session = Arc::clone(self);
                tokio::spawn(async move {
                    let settled = timeout(FOLLOW, session.settle(&sent, &others, change, checks)).await;
                    // Who waited may be gone; the lists are with the registry.
                    let _ = done.send(settled.unwrap_or(Settled::No));
                    drop(held);
                });
            }
            Job::Outside(changes) => {
                self.state().latest = None;
                for (path, kind) in &changes {
                    let open = self.state().documents.contains_key(path);
                    match kind {
                        OnDisk::Deleted => self.hide(path),
                        _ if open => {
                            if let Some(text) = self.read(path) {
                                let _ = self.show_new(path, &text, None);
                            }
                        }
                        _ => {}
                    }
                }
                let _ = self.on_disk(&changes);
            }
            // It is done by the loop.
            Job::Stop(_) => {}
        }
    }

    /// All files first; they are waited for together.
    fn send(&self, change: Option<ChangeId>, files: &[FileChange]) -> Result<(Vec<crate::documents::Sent>, u64), RequestError> {
        let mut sent = Vec::new();
        let mut disk = Vec::new();
        for file in files {
            match (&file.old, &file.new) {
                (_, Some(new)) => sent.push(self.show_new(&file.path, new, change)?),
                (_, None) => self.hide(&file.path),
            }
            let kind = match (&file.old, &file.new) {
                (_, None) => OnDisk::Deleted,
                (None, _) => OnDisk::Created,
                _ => OnDisk::Changed,
            };
            disk.push((file.path.clone(), kind));
        }
        let checks = self.state().checks.begun;
        self.on_disk(&disk)?;
        for file in &sent {
            self.saved(&file.path)?;
        }
        Ok((sent, checks))
    }
}
