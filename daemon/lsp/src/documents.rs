//! What the server knows of texts: opened, changed, saved, closed, and what changed on the disk.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use ccd_diagnostics::ChangeId;
use serde_json::{Value, json};

use crate::{
    client::RequestError,
    position,
    session::{Document, Old, Session, State},
    uri,
};

/// Texts that are open at one server; the least recently used are closed.
const OPEN: usize = 200;

/// What became of a file on the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnDisk {
    /// It is new.
    Created,
    /// It has another text.
    Changed,
    /// It is gone.
    Deleted,
}

/// A text that went out.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub(crate) path: PathBuf,
    pub(crate) version: i64,
    /// Lists that had come before.
    pub(crate) heard: u64,
}

impl Session {
    /// The old text is open now. True if its list was not known: it is on its way.
    pub(crate) fn show_old(&self, path: &Path, text: &Arc<str>, change: Option<ChangeId>) -> Result<bool, RequestError> {
        let mut state = self.state();
        match state.documents.get_mut(path) {
            Some(document) if document.text == *text => {
                document.used = Instant::now();
                if let Some(old) = &mut document.old {
                    old.change = change;
                    return Ok(true);
                }
                return Ok(false);
            }
            _ => {}
        }
        // Not open, or another program wrote: from here on the server sees this.
        let version = self.show(&mut state, path, text)?;
        if let Some(document) = state.documents.get_mut(path) {
            document.old = Some(Old { text: Arc::clone(text), version, change });
            document.change = None;
        }
        Ok(true)
    }

    /// The list of the old text has come by an answer.
    pub(crate) fn old_is_known(&self, path: &Path) {
        if let Some(document) = self.state().documents.get_mut(path) {
            document.old = None;
        }
    }

    /// Whether the list of the old text is still on its way.
    pub(crate) fn waits_for_old(&self, path: &Path) -> bool {
        self.state().documents.get(path).is_some_and(|document| document.old.is_some())
    }

    /// The new text goes out.
    pub(crate) fn show_new(&self, path: &Path, text: &Arc<str>, change: Option<ChangeId>) -> Result<Sent, RequestError> {
        let mut state = self.state();
        let heard = state.heard.get(path).map_or(0, |heard| heard.count);
        let same = state.documents.get(path).filter(|document| document.text == *text).map(|document| document.version);
        let version = match same {
            Some(version) => version,
            None => self.show(&mut state, path, text)?,
        };
        if let Some(document) = state.documents.get_mut(path) {
            document.change = change;
        }
        state.latest = change;
        Ok(Sent { path: path.to_path_buf(), version, heard })
    }

    /// Opens the file with this text, or changes it to this text. The queue is filled under the lock, so that the order of
    /// what goes out is that of the versions.
    fn show(&self, state: &mut State, path: &Path, text: &Arc<str>) -> Result<i64, RequestError> {
        let client = self.client.get().ok_or_else(|| RequestError::Ended("not started".to_owned()))?;
        state.version += 1;
        let version = state.version;
        let uri = uri::of(path);
        match state.documents.get(path) {
            None => {
                let language = self.server.language_of(path).unwrap_or("plaintext");
                let item = json!({"uri": uri, "languageId": language, "version": version, "text": &**text});
                client.notify("textDocument/didOpen", Some(json!({"textDocument": item})))?;
            }
            Some(document) if state.sync != 0 => {
                let mut change = json!({"text": &**text});
                if state.sync != 1 {
                    // One change over the whole old text: a server was seen to die of one without a range.
                    change["range"] = position::whole(&document.text, state.encoding);
                }
                let params = json!({"textDocument": {"uri": uri, "version": version}, "contentChanges": [change]});
                client.notify("textDocument/didChange", Some(params))?;
            }
            Some(_) => {}
        }
        let old = state.documents.get_mut(path).and_then(|document| document.old.take());
        let used = Instant::now();
        let document = Document { text: Arc::clone(text), version, old, change: None, used };
        state.documents.insert(path.to_path_buf(), document);
        self.close_some(state, path);
        Ok(version)
    }

    fn close_some(&self, state: &mut State, but: &Path) {
        while state.documents.len() > OPEN {
            let others = state.documents.iter().filter(|(path, _)| *path != but);
            let Some(oldest) = others.min_by_key(|(_, document)| document.used).map(|(path, _)| path.clone()) else { return };
            self.close(state, &oldest);
        }
    }

    fn close(&self, state: &mut State, path: &Path) {
        if state.documents.remove(path).is_some()
            && let Some(client) = self.client.get()
        {
            let _ = client.notify("textDocument/didClose", Some(json!({"textDocument": {"uri": uri::of(path)}})));
        }
    }

    /// The file is gone.
    pub(crate) fn hide(&self, path: &Path) {
        self.close(&mut self.state(), path);
    }

    /// The file was written to the disk.
    pub(crate) fn saved(&self, path: &Path) -> Result<(), RequestError> {
        let wanted = {
            let state = self.state();
            state.saves || state.is_registered("textDocument/didSave")
        };
        match self.client.get() {
            Some(client) if wanted => {
                client.notify("textDocument/didSave", Some(json!({"textDocument": {"uri": uri::of(path)}})))
            }
            _ => Ok(()),
        }
    }

    /// What changed on the disk, as far as the server wants to hear of it.
    pub(crate) fn on_disk(&self, changes: &[(PathBuf, OnDisk)]) -> Result<(), RequestError> {
        let wanted: Vec<Value> = {
            let state = self.state();
            let told = |change: &&(PathBuf, OnDisk)| state.watches(&change.0, &self.root);
            let event = |(path, kind): &(PathBuf, OnDisk)| {
                let kind = match kind {
                    OnDisk::Created => 1,
                    OnDisk::Changed => 2,
                    OnDisk::Deleted => 3,
                };
                json!({"uri": uri::of(path), "type": kind})
            };
            changes.iter().filter(told).map(event).collect()
        };
        match self.client.get() {
            Some(client) if !wanted.is_empty() => {
                client.notify("workspace/didChangeWatchedFiles", Some(json!({"changes": wanted})))
            }
            _ => Ok(()),
        }
    }

    /// What is open, for a successor.
    pub(crate) fn open_texts(&self) -> Vec<(PathBuf, Arc<str>)> {
        self.state().documents.iter().map(|(path, document)| (path.clone(), Arc::clone(&document.text))).collect()
    }
}
