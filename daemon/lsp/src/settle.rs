//! Lists of the old text, and waiting until a server has spoken about the new one.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use ccd_diagnostics::{ChangeId, Reads};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use crate::{
    client::RequestError,
    documents::Sent,
    lists::{self, Pulled},
    session::{Of, Phase, Session},
    uri,
};

/// A server that is asked for a list has so long; a write does not wait for it.
const ASK: Duration = Duration::from_secs(60);
/// Between two questions to a server that is not ready to answer.
const PAUSE: Duration = Duration::from_millis(40);
/// After the last end of a checker, its lists may still come.
const AFTER_CHECK: Duration = Duration::from_millis(150);
/// After a file's own list, those of other files may still come.
const OTHERS: Duration = Duration::from_millis(40);
/// A checker that did not begin by then will not.
const BEGIN: Duration = Duration::from_secs(10);

/// How far a server got with a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    /// It has spoken.
    Spoken,
    /// It took the text and was quiet.
    Assumed,
    /// Neither.
    No,
}

impl Session {
    fn is_over(&self) -> bool {
        matches!(*self.phase.borrow(), Phase::Ended { .. })
    }

    /// Waits for something to happen, or for this moment.
    async fn happens(&self, tick: &mut tokio::sync::watch::Receiver<u64>, until: Instant) {
        tokio::select! {
            _ = tick.changed() => {}
            () = sleep_until(until) => {}
        }
    }

    /// Waits for the lists of the old texts, and notes them. What is not there by then comes late.
    pub(crate) async fn take_old(&self, paths: &[PathBuf], others: &[PathBuf], change: Option<ChangeId>, until: Instant) {
        let of = if change.is_some() { Of::Late } else { Of::Before };
        let take = async {
            if self.state().raw {
                for path in paths.iter().chain(others) {
                    if self.ask_raw(path, of).await {
                        self.old_is_known(path);
                    }
                }
                return;
            }
            let mut tick = self.tick.subscribe();
            loop {
                tick.mark_unchanged();
                if self.is_over() {
                    return;
                }
                if self.pulls() {
                    self.wait_quiescent().await;
                    for path in paths {
                        if self.pull(path, of).await == Some(true) {
                            self.old_is_known(path);
                        }
                    }
                    return;
                }
                if !paths.iter().any(|path| self.waits_for_old(path)) {
                    return;
                }
                self.happens(&mut tick, until).await;
            }
        };
        let _ = timeout_at(until, take).await;
    }

    /// Waits until the server has spoken about these texts.
    pub(crate) async fn settle(&self, sent: &[Sent], others: &[PathBuf], change: Option<ChangeId>, checks: u64) -> Settled {
        let of = Of::Now(change);
        if self.state().raw {
            let mut all = true;
            for file in sent {
                all &= self.ask_raw(&file.path, of).await;
            }
            for path in others {
                // One that is in no project has no answer.
                self.ask_raw(path, of).await;
            }
            return if all { Settled::Spoken } else { Settled::No };
        }
        if sent.is_empty() {
            return Settled::Assumed;
        }
        loop {
            if self.pulls() {
                self.wait_quiescent().await;
                for file in sent {
                    match self.pull(&file.path, of).await {
                        Some(true) => {}
                        Some(false) | None => return Settled::No,
                    }
                }
                return if self.server.checks { self.wait_checked(checks).await } else { Settled::Spoken };
            }
            if let Some(settled) = self.wait_pushed(sent).await {
                return settled;
            }
        }
    }

    /// None if the server wants to be asked from now on.
    async fn wait_pushed(&self, sent: &[Sent]) -> Option<Settled> {
        let mut tick = self.tick.subscribe();
        let mut taken: Option<Instant> = None;
        loop {
            tick.mark_unchanged();
            if self.is_over() {
                return Some(Settled::No);
            }
            if self.pulls() {
                return None;
            }
            let now = Instant::now();
            // All have lists; the last moment that must be waited for.
            let (all, last, versioned) = {
                let state = self.state();
                let mut last: Option<Instant> = None;
                let mut all = true;
                for file in sent {
                    match state.heard.get(&file.path) {
                        Some(heard) if heard.version.is_some_and(|version| version >= file.version) => {}
                        Some(heard) if heard.version.is_none() && heard.count > file.heard => {
                            last = last.max(Some(Instant::from_std(heard.at) + self.server.quiet));
                        }
                        _ => all = false,
                    }
                }
                if all && self.server.project_wide {
                    last = last.max(state.last_heard.map(|at| Instant::from_std(at) + OTHERS));
                }
                (all, last, state.versioned)
            };
            let mut until = now + ASK;
            if all {
                match last {
                    Some(last) if last > now => until = last,
                    _ => return Some(Settled::Spoken),
                }
            } else if versioned == Some(false) || versioned == Some(true) && self.server.silent_if_same {
                // It may have nothing to say. A question sent after the text is answered after it was taken.
                let Some(at) = taken else {
                    let path = &sent.last()?.path;
                    let params = json!({"textDocument": {"uri": uri::of(path)}});
                    match self.request("textDocument/documentSymbol", params).await {
                        Ok(_) | Err(RequestError::Refused { .. }) => taken = Some(Instant::now()),
                        Err(_) => return Some(Settled::No),
                    }
                    continue;
                };
                let heard = self.state().last_heard.map(Instant::from_std);
                let quiet = heard.map_or(at, |heard| heard.max(at)) + self.server.assumed;
                if quiet <= now {
                    return Some(Settled::Assumed);
                }
                until = quiet;
            }
            self.happens(&mut tick, until).await;
        }
    }

    /// A server that says when it is ready answers before that with nothing, which is not clean.
    async fn wait_quiescent(&self) {
        if !self.server.checks {
            return;
        }
        let mut tick = self.tick.subscribe();
        loop {
            tick.mark_unchanged();
            if self.state().quiescent || self.is_over() {
                return;
            }
            self.happens(&mut tick, Instant::now() + ASK).await;
        }
    }

    /// A run of the checker has begun after the text was saved, and ended.
    async fn wait_checked(&self, before: u64) -> Settled {
        let begun = Instant::now();
        let mut tick = self.tick.subscribe();
        loop {
            tick.mark_unchanged();
            if self.is_over() {
                return Settled::No;
            }
            let now = Instant::now();
            let until = {
                let checks = &self.state().checks;
                if checks.begun <= before {
                    begun + BEGIN
                } else if !checks.running.is_empty() {
                    now + ASK
                } else {
                    match checks.ended.map(|at| Instant::from_std(at) + AFTER_CHECK) {
                        Some(end) if end > now => end,
                        _ => return Settled::Spoken,
                    }
                }
            };
            if until <= now {
                return Settled::Assumed;
            }
            self.happens(&mut tick, until).await;
        }
    }

    async fn request(&self, method: &str, params: Value) -> Result<Value, RequestError> {
        let client = self.client.get().ok_or_else(|| RequestError::Ended("not started".to_owned()))?;
        let answer = client.request(method, Some(params), ASK).await?;
        Ok(serde_json::from_str(answer.get()).unwrap_or(Value::Null))
    }

    /// Asks for the list of a file. Some(false): there is no answer that can be used.
    async fn pull(&self, path: &Path, of: Of) -> Option<bool> {
        let until = Instant::now() + ASK;
        let answer = loop {
            let params = json!({"textDocument": {"uri": uri::of(path)}});
            match self.request("textDocument/diagnostic", params).await {
                Ok(answer) => break answer,
                // Cancelled by the server, or the content was modified: asking again works.
                Err(RequestError::Refused { code: -32802..=-32800, .. }) if Instant::now() < until => sleep(PAUSE).await,
                Err(error) => {
                    tracing::debug!(%error, path = %path.display(), "no list");
                    return Some(false);
                }
            }
        };
        let pulled: Pulled = serde_json::from_value(answer).unwrap_or_default();
        match pulled.items {
            // The old list stands.
            None if pulled.kind == "unchanged" => {}
            None => return None,
            Some(items) => {
                let (text, encoding) = (self.text_of(path), self.state().encoding);
                self.give(&self.publisher, path, lists::read(items, &text, encoding), of, Reads::Text);
            }
        }
        Some(true)
    }

    /// Asks tsserver itself: it answers for the text as it was sent, also of files that are not open. Both lists of a file
    /// are one: half of it is never told.
    async fn ask_raw(&self, path: &Path, of: Of) -> bool {
        let ask = |command: &'static str| {
            let file = path.to_string_lossy();
            let params = json!({"command": "typescript.tsserverRequest", "arguments": [command, {"file": file}]});
            self.request("workspace/executeCommand", params)
        };
        let (syntax, semantic) = tokio::join!(ask("syntacticDiagnosticsSync"), ask("semanticDiagnosticsSync"));
        let list = |answer: Result<Value, RequestError>| {
            let answer = answer.ok()?;
            let list = if answer.is_array() { &answer } else { &answer["body"] };
            list.as_array().cloned()
        };
        let (Some(mut all), Some(semantic)) = (list(syntax), list(semantic)) else { return false };
        all.extend(semantic);
        let text: Arc<str> = self.text_of(path);
        self.give(&self.publisher, path, lists::read_raw(&all, &text), of, Reads::Text);
        true
    }
}
