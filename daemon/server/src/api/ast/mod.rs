//! `ast.*`: structural search and staged rewrites.
//!
//! What is wrong with a pattern is said before any file is touched. A search runs on threads of its own, until shortly before
//! the deadline of its call, and then answers what it has.

mod asked;
mod grep;
mod refusal;
mod resolve;
mod rewrite;
mod view;

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

use ccd_corpus::{Cancel, Limits};
use ccd_protocol::{Method, RpcError, ast as wire, events::Topic};
use ccd_structural::Explanation;
use serde::Serialize;

pub(super) use grep::grep;
pub(super) use refusal::stage as stage_refused;
pub(super) use resolve::{resolve, staged};
pub(super) use rewrite::edit;

use crate::{
    api::asking::Subject,
    daemon::Daemon,
    rpc::{call::Call, params::wrong, table::deadline},
    search::{Bounds, Compiled, Scope, ScopeError, Within, scope},
    workspaces::{Target, Workspace, gone},
};

/// Progress is told at most this often by search.
const PROGRESS: Duration = Duration::from_millis(100);
/// Kept free of the deadline at most, for the answer itself; of a short one a quarter.
const ANSWER: Duration = Duration::from_millis(500);

pub(super) fn explain(_: &Call, params: wire::ExplainParams) -> Result<wire::ExplainResult, RpcError> {
    asked::bounded("pattern", Some(&params.pattern))?;
    let mut last: Option<Explanation> = None;
    for language in asked::grammars(&params.language)? {
        let mut explained = ccd_structural::explain(language, &params.pattern);
        if explained.attempts.iter().any(|attempt| attempt.reason.is_none()) {
            if last.is_some() {
                explained.hints.push(format!("Only the grammar of {} can read it.", language.name()));
            }
            last = Some(explained);
            break;
        }
        last.get_or_insert(explained);
    }
    let Some(explained) = last else { return Err(wrong("language", "a language")) };
    let attempts = explained.attempts.into_iter().map(|attempt| {
        let place = attempt.at.map(|at| refusal::place(&params.pattern, at));
        wire::Attempt {
            reading: attempt.reading.to_owned(),
            ok: attempt.reason.is_none(),
            error: attempt.reason,
            line: place.map(|(line, _)| line),
            column: place.map(|(_, column)| column),
        }
    });
    Ok(wire::ExplainResult {
        attempts: attempts.collect(),
        tree: explained.tree,
        metavariables: explained.metavariables,
        hints: explained.hints,
    })
}

/// The caps of a search: those of the index, but for the size, which is that of a rewrite.
fn limits(daemon: &Daemon, workspace: &Workspace) -> Limits {
    let rewritten = daemon.settings().config.edit_of(&workspace.path).patch_file_mib.0 << 20;
    Limits { max_file_bytes: rewritten, ..workspace.index_limits(daemon) }
}

/// When a search ends by itself.
fn until<M: Method>(call: &Call, asked_ms: Option<u64>) -> Result<Instant, RpcError> {
    let allowed = deadline::<M>(call, asked_ms)?;
    Ok(call.control.received + (allowed - ANSWER.min(allowed / 4)))
}

/// The epoch of a workspace, as far as it is known.
fn epoch(workspace: &Workspace) -> u64 {
    workspace.state().map_or(0, |state| state.epoch)
}

/// A search on a thread, with all that it needs.
struct Job<'j> {
    daemon: &'j Arc<Daemon>,
    workspace: &'j Arc<Workspace>,
    limits: Limits,
    cancel: &'j Cancel,
    until: Instant,
}

impl Job<'_> {
    /// The files of a search.
    fn scope(&self, target: &Target, asked: &asked::Asked) -> Result<Scope, RpcError> {
        let workspace = self.workspace;
        if !workspace.stands() {
            return Err(gone(workspace));
        }
        let subject = Subject { daemon: Arc::clone(self.daemon), workspace: Arc::clone(workspace), rel: target.rel.clone() };
        let within = Within {
            languages: asked.languages.clone(),
            glob: asked.glob.clone(),
            paths: asked::below(&subject, asked.paths.as_deref())?,
        };
        scope(&workspace.root(), &within, &self.limits, self.cancel).map_err(|error| match error {
            ScopeError::Cancelled => refusal::cancelled(),
            ScopeError::File(rel, error) => {
                let path = workspace.root().path().join(rel);
                self.daemon.workspaces.file_error(workspace, &path, &error)
            }
        })
    }

    /// Runs work under the bounds of the call, and tells how far it is.
    fn bounded<T>(&self, token: Option<&Arc<str>>, work: impl FnOnce(&Bounds<'_>) -> T) -> T {
        #[derive(Serialize)]
        struct Progress<'a> {
            root: &'a str,
            done: u64,
            total: u64,
        }
        let (begin, told) = (Instant::now(), AtomicU64::new(0));
        let progress = |done: u64, total: u64| {
            let Some(token) = token else { return };
            let now = u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX);
            let last = told.load(Relaxed);
            let due = now.saturating_sub(last) >= PROGRESS.as_millis() as u64 || done == total;
            if due && told.compare_exchange(last, now, Relaxed, Relaxed).is_ok() {
                let data = Progress { root: &self.workspace.path, done, total };
                self.daemon.publish(Topic::SearchProgress, Some(&self.workspace.path), Some(token), &data);
            }
        };
        let workers = self.daemon.settings().workers();
        work(&Bounds { cancel: self.cancel, until: self.until, workers, progress: &progress })
    }

    /// A path as it is told.
    fn shown(&self, rel: &str) -> String {
        PathBuf::from(&*self.workspace.path).join(rel).to_string_lossy().into_owned()
    }
}

/// Compiles on a worker: a pattern may be long. `pattern` is what an error's places count in.
async fn compiled(call: &Call, asked: &asked::Asked) -> Result<Compiled, RpcError> {
    let (languages, spec) = (asked.languages.clone(), asked.spec.clone());
    let pattern = spec.context.clone().or_else(|| spec.pattern.clone()).unwrap_or_default();
    call.query(move |_| Compiled::new(&languages, &spec)).await?.map_err(|error| refusal::query(error, &pattern))
}

/// What is said of grammars that cannot read a pattern which another one of the language reads.
fn unable(compiled: &Compiled) -> Vec<String> {
    let say = |language: ccd_grammars::LanguageId| {
        let extensions: Vec<String> = language.row().extensions.iter().map(|extension| format!(".{extension}")).collect();
        format!(
            "Files with the extension {} were left out: their grammar cannot read the pattern, or lacks a kind that it names.",
            extensions.join(", ")
        )
    };
    compiled.unable.iter().map(|(language, _)| say(*language)).collect()
}
