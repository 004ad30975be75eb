//! `edit.*`: from parameters to a request, and back.
//!
//! A call is planned and committed by one job on a worker. From the moment it begins to write it is finished, whoever is
//! gone: its caller may ask `edit.outcome`.

mod outcome;
mod refusal;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use ccd_edit::{Answer, EditError, Observer, Protected, Reach, Replacement, Request, What};
use ccd_files::{HardLinks, MetadataPolicy, Options, OutcomeState, WriteMode};
use ccd_protocol::{ErrorKind, RpcError, edit as wire, events::Topic};
use ccd_text::{Place, Version};
use serde::Serialize;

use crate::{
    config,
    daemon::Daemon,
    rpc::{call::Call, params::wrong, peer::Transport},
    workspaces::{
        Target, Where, gone,
        place::{absolute, shown},
    },
};

pub(crate) use outcome::ledger_limits;

/// Bytes of an id that a client chooses.
const ID: usize = 128;
/// How long an edit waits for another one of the same root, if its own deadline allows it.
const LOCK: Duration = Duration::from_secs(20);
/// Milliseconds that a caller may wait for diagnostics.
pub(super) const MOST_WAIT_MS: u64 = 60_000;

/// The fields that all edits have.
pub(super) struct Common {
    pub(super) run: Option<String>,
    pub(super) txn_id: Option<String>,
    pub(super) expect: BTreeMap<PathBuf, Version>,
    pub(super) force: bool,
    pub(super) dry_run: bool,
    pub(super) allow_protected: bool,
    pub(super) override_readonly: bool,
    pub(super) max_bytes: usize,
    pub(super) diagnostics: wire::DiagnosticsLevel,
    pub(super) remembered: bool,
    pub(super) hash: [u8; 16],
}

macro_rules! common {
    ($call:expr, $params:expr, $path:expr) => {{
        let mut hashed = $params.clone();
        // Not what is asked, but how long it may take.
        hashed.deadline_ms = None;
        hashed.wait_ms = None;
        let hash = ccd_text::Version::of(&serde_json::to_vec(&hashed).unwrap_or_default()).to_bytes();
        if $params.wait_ms.is_some_and(|wait| wait > $crate::api::edit::MOST_WAIT_MS) {
            return Err($crate::rpc::params::wrong("wait_ms", format!("at most {}", $crate::api::edit::MOST_WAIT_MS)));
        }
        $crate::api::edit::Common {
            run: $crate::api::edit::run($call, $params.run_id.as_deref())?,
            txn_id: $crate::api::edit::id("txn_id", $params.txn_id.as_deref())?,
            expect: $crate::api::edit::expectations($path, $params.expect_version.as_deref(), $params.expect_versions.as_ref())?,
            force: $params.force.unwrap_or(false),
            dry_run: $params.dry_run.unwrap_or(false),
            allow_protected: $params.allow_protected.unwrap_or(false),
            override_readonly: $params.override_readonly.unwrap_or(false),
            max_bytes: $crate::api::read::max_bytes($params.max_bytes)?,
            diagnostics: $params.diagnostics.unwrap_or(ccd_protocol::edit::DiagnosticsLevel::Warnings),
            remembered: $params.run_id.is_some() || $call.peer.transport == $crate::rpc::peer::Transport::Lines,
            hash,
        }
    }};
}

pub(super) use common;

pub(super) fn id(field: &str, given: Option<&str>) -> Result<Option<String>, RpcError> {
    match given {
        Some("") => Err(wrong(field, "at least 1 byte")),
        Some(id) if id.len() > ID => Err(wrong(field, format!("at most {ID} bytes"))),
        id => Ok(id.map(str::to_owned)),
    }
}

/// The run of a call: as given, else that of its connection. A request over HTTP has no connection to speak of.
pub(super) fn run(call: &Call, given: Option<&str>) -> Result<Option<String>, RpcError> {
    match id("run_id", given)? {
        Some(run) => Ok(Some(run)),
        None if call.peer.transport == Transport::Lines => Ok(Some(format!("\u{0}connection {}", call.peer.id))),
        None => Ok(None),
    }
}

/// A version as it is told: `b3:` and 32 hexadecimal digits.
fn version(field: &str, text: &str) -> Result<Version, RpcError> {
    let parsed = text.strip_prefix("b3:").filter(|hex| hex.len() == 32 && hex.is_ascii()).and_then(|hex| {
        let mut bytes = [0; 16];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).ok()?;
        }
        Some(Version::from_bytes(bytes))
    });
    parsed.ok_or_else(|| wrong(field, "a `version` as workspace.read or an edit gave it"))
}

pub(super) fn expectations(
    path: Option<&str>,
    one: Option<&str>,
    several: Option<&BTreeMap<String, String>>,
) -> Result<BTreeMap<PathBuf, Version>, RpcError> {
    let mut expected = BTreeMap::new();
    for (path, text) in several.into_iter().flatten() {
        expected.insert(absolute("expect_versions", path)?, version("expect_versions", text)?);
    }
    match (one, path) {
        (Some(text), Some(path)) => {
            expected.insert(absolute("path", path)?, version("expect_version", text)?);
        }
        (Some(_), None) => return Err(wrong("expect_version", "left out: name the files in `expect_versions`")),
        _ => {}
    }
    Ok(expected)
}

/// Tells the graph of a commit, and those who want to hear of it.
struct Observers {
    daemon: Arc<Daemon>,
    runtime: tokio::runtime::Handle,
    root: Arc<str>,
}

impl Observer for Observers {
    fn about_to_change(&self, _: &[(PathBuf, Option<Arc<[u8]>>)]) {
        // The baseline of language servers; there are none.
    }

    fn committed(&self, files: &[PathBuf]) {
        #[derive(Serialize)]
        struct Committed<'a> {
            root: &'a str,
            paths: Vec<String>,
        }
        let _entered = self.runtime.enter();
        self.daemon.workspaces.edited(files);
        let paths = files.iter().map(|path| shown(path)).collect();
        self.daemon.publish(Topic::EditCommitted, Some(&self.root), None, &Committed { root: &self.root, paths });
    }
}

fn options(edit: &config::Edit, override_readonly: bool) -> Options {
    Options {
        durability: match edit.durability {
            config::Durability::Power => ccd_files::Durability::Power,
            config::Durability::Process => ccd_files::Durability::Process,
        },
        write_mode: match edit.write_mode {
            config::WriteMode::Replace => WriteMode::Replace,
            config::WriteMode::InPlace => WriteMode::InPlace,
        },
        metadata: match edit.metadata {
            config::Metadata::Strict => MetadataPolicy::Strict,
            config::Metadata::Warn => MetadataPolicy::Warn,
        },
        hard_links: match edit.hard_links {
            config::HardLinks::Break => HardLinks::Break,
            config::HardLinks::Refuse => HardLinks::Refuse,
        },
        override_readonly,
    }
}

fn protected(edit: &config::Edit) -> Protected {
    let open = edit.unprotected.iter().map(|glob| glob.0.as_str());
    match &edit.protected {
        Some(globs) => Protected::new(globs.iter().map(|glob| glob.0.as_str()), open),
        None => Protected::new(ccd_edit::PROTECTED.iter().copied(), open),
    }
}

pub(super) async fn apply(call: Call, target: Target, what: What, common: Common) -> Result<wire::EditOutcome, RpcError> {
    let daemon = Arc::clone(&call.daemon);
    let observers = Observers {
        daemon: Arc::clone(&daemon),
        runtime: tokio::runtime::Handle::current(),
        root: Arc::clone(&target.workspace.path),
    };
    let control = Arc::clone(&call.control);
    call.publish(move || {
        let workspace = &target.workspace;
        if !workspace.stands() {
            return Err(gone(workspace));
        }
        let edit = daemon.settings().config.edit_of(&workspace.path);
        let write = edit.write_mib.0 << 20;
        let own = [&daemon.paths.state, &daemon.paths.cache, &daemon.paths.runtime, &daemon.paths.config];
        let whole = matches!(what, What::Write { .. } | What::Undo { .. });
        let reach = Reach {
            roots: std::iter::once(workspace.root()).chain(workspace.grants()).collect(),
            protected: protected(&edit),
            allow_protected: common.allow_protected,
            own: own.iter().map(|path| path.to_path_buf()).collect(),
            max_bytes: if whole { write } else { edit.patch_file_mib.0 << 20 },
        };
        for root in &reach.roots {
            daemon.edits.recover_root(root).map_err(|error| refusal::explain(&daemon, workspace, &error))?;
        }
        let request = Request {
            locks: daemon.workspaces.locks_of(&reach.roots),
            lock_wait: LOCK,
            what,
            run: common.run.clone(),
            txn_id: common.txn_id.clone(),
            hash: common.hash,
            expect: common.expect.iter().map(|(path, version)| (reach.real(path), *version)).collect(),
            force: common.force,
            dry_run: common.dry_run,
            options: options(&edit, common.override_readonly),
            max_write: write,
            reach,
        };
        let limits = ledger_limits(&daemon);
        let undo_seconds = edit.undo_hours.0 * 3600;
        let tell = |done: &ccd_edit::EditOutcome| {
            outcome::outcome(done, outcome::report(common.diagnostics, common.remembered), common.max_bytes, undo_seconds)
        };
        let encode = |done: &ccd_edit::EditOutcome| serde_json::to_vec(&tell(done)).unwrap_or_default();
        let answer = daemon.edits.apply(&request, limits, &observers, &encode, &|| control.is_stopped());
        daemon.metrics.counters.edits.add();
        match answer {
            Ok(Answer::Done(done)) => Ok(tell(&done)),
            Ok(Answer::Stored(bytes)) => match serde_json::from_slice::<wire::EditOutcome>(&bytes) {
                Ok(outcome) => Ok(wire::EditOutcome { replayed: true, ..outcome }),
                Err(error) => Err(daemon.internal(&format!("a stored outcome is damaged: {error}"))),
            },
            Err(error) => Err(refusal::explain(&daemon, workspace, &error)),
        }
    })
    .await
}

pub(super) async fn write(call: Call, params: wire::WriteParams) -> Result<wire::EditOutcome, RpcError> {
    let common = common!(&call, params, Some(params.path.as_str()));
    let path = absolute("path", &params.path)?;
    let what = What::Write {
        path,
        content: params.content,
        create: params.create.unwrap_or(true),
        overwrite: params.overwrite.unwrap_or(true),
    };
    let target = call.target(Where { workspace: params.workspace, path: Some(("path", params.path)) }).await?;
    apply(call, target, what, common).await
}

pub(super) async fn edit(call: Call, params: wire::EditParams) -> Result<wire::EditOutcome, RpcError> {
    let common = common!(&call, params, Some(params.path.as_str()));
    let path = absolute("path", &params.path)?;
    if params.edits.is_empty() {
        return Err(wrong("edits", "at least one edit"));
    }
    let mut replacements = Vec::with_capacity(params.edits.len());
    for (at, edit) in params.edits.into_iter().enumerate() {
        replacements.push(match (edit.old, edit.range) {
            (Some(old), None) => Replacement::Text { old, new: edit.new, all: edit.all.unwrap_or(false) },
            (None, Some(range)) => {
                let place = |at: ccd_protocol::TextPosition| Place { line: at.line, column: at.column };
                Replacement::Range { start: place(range.start), end: place(range.end), new: edit.new }
            }
            _ => return Err(wrong(&format!("edits[{at}]"), "either `old` or `range`")),
        });
    }
    let target = call.target(Where { workspace: params.workspace, path: Some(("path", params.path)) }).await?;
    apply(call, target, What::Edit { path, replacements }, common).await
}

pub(super) async fn apply_patch(call: Call, params: wire::ApplyPatchParams) -> Result<wire::EditOutcome, RpcError> {
    let common = common!(&call, params, None);
    let at = match (&params.workspace, &params.cwd) {
        (None, Some(cwd)) => Where { workspace: None, path: Some(("cwd", cwd.clone())) },
        (workspace, _) => Where { workspace: workspace.clone(), path: None },
    };
    let target = call.target(at).await?;
    let cwd = match &params.cwd {
        Some(cwd) => absolute("cwd", cwd)?,
        None => PathBuf::from(&*target.workspace.path),
    };
    apply(call, target, What::Patch { text: params.patch, cwd }, common).await
}

pub(super) async fn amend(call: Call, params: wire::AmendParams) -> Result<wire::EditOutcome, RpcError> {
    let common = common!(&call, params, None);
    if params.hunks.is_empty() {
        return Err(wrong("hunks", "at least one hunk"));
    }
    let hunks = params.hunks.into_iter().map(|hunk| (hunk.index as usize, hunk.text)).collect();
    let target = call.target(Where { workspace: params.workspace, path: None }).await?;
    apply(call, target, What::Amend { failure_id: params.failure_id, hunks }, common).await
}

pub(super) async fn undo(call: Call, params: wire::UndoParams) -> Result<wire::EditOutcome, RpcError> {
    let common = common!(&call, params, None);
    let target = call.target(Where { workspace: params.workspace, path: None }).await?;
    apply(call, target, What::Undo { txn_id: params.undo_txn_id }, common).await
}

pub(super) fn outcome(call: &Call, params: wire::OutcomeParams) -> Result<wire::OutcomeResult, RpcError> {
    use wire::TransactionState as S;
    let Some(known) = call.daemon.edits.known(&params.txn_id) else {
        // What an earlier process left is being settled.
        return Ok(wire::OutcomeResult { state: S::RecoveryPending, outcome: None });
    };
    let known = known.map_err(|error| call.daemon.internal(&error.to_string()))?;
    let Some(known) = known else { return Ok(wire::OutcomeResult { state: S::Unknown, outcome: None }) };
    let state = match known.state {
        OutcomeState::Preparing => S::Preparing,
        OutcomeState::Committed => S::Committed,
        OutcomeState::RolledBack => S::RolledBack,
        OutcomeState::RollbackFailed => S::RollbackFailed,
        OutcomeState::RecoveryPending => S::RecoveryPending,
        OutcomeState::Conflict => S::Conflict,
    };
    Ok(wire::OutcomeResult { state, outcome: serde_json::from_slice(&known.result).ok() })
}

pub(super) fn grammar(_: &Call, _: wire::GrammarParams) -> Result<wire::GrammarResult, RpcError> {
    Ok(wire::GrammarResult {
        syntax: "lark".to_owned(),
        definition: ccd_patch::GRAMMAR.to_owned(),
        description: ccd_patch::DESCRIPTION.to_owned(),
    })
}

/// An edit that was stopped before it wrote anything.
pub(super) fn stopped() -> RpcError {
    RpcError::new(ErrorKind::Cancelled, "The call was cancelled; nothing was written.").with("phase", "preparing")
}

/// Whether an error says so.
pub(super) fn is_stop(error: &EditError) -> bool {
    matches!(error, EditError::Cancelled)
}

/// A path as it is told.
fn told(path: &Path) -> String {
    shown(path)
}
