//! `workspace.*`, but for reading.

use std::{collections::BTreeMap, sync::Arc};

use ccd_corpus::WalkError;
use ccd_protocol::{
    ErrorKind, RpcError,
    workspace::{
        CloseParams, CloseResult, IndexDetail, ListParams, ListResult, OpenParams, OpenResult, Rebuilt, StatusParams,
        StatusResult, TrustParams, TrustResult, TrustWord,
    },
};

use crate::{
    daemon::Daemon,
    rpc::{call::Call, params::wrong},
    trust::{GRANTS, TrustError, untrusted},
    workspaces::place::{absolute, shown},
};

/// Bytes of a token that a client chooses.
pub(super) const TOKEN: usize = 128;

/// A progress token as it is carried.
pub(super) fn token(given: Option<String>) -> Result<Option<Arc<str>>, RpcError> {
    match given {
        Some(token) if token.len() > TOKEN => Err(wrong("progress", format!("at most {TOKEN} bytes"))),
        token => Ok(token.map(Arc::from)),
    }
}

pub(super) async fn open(call: Call, params: OpenParams) -> Result<OpenResult, RpcError> {
    let token = token(params.progress)?;
    let grants = params.grants.unwrap_or_default();
    for grant in &grants {
        absolute("grants", grant)?;
    }
    let daemon = call.daemon.clone();
    let opened = call.query(move |cancel| {
        let mut granted = Vec::new();
        for grant in &grants {
            granted.push(daemon.workspaces.root("grants", grant)?);
        }
        let workspace = daemon.workspaces.open("root", &params.root)?;
        workspace.grant(granted);
        let limits = workspace.index_limits(&daemon);
        match ccd_corpus::walk(&workspace.root(), &limits, cancel) {
            Ok(walk) => {
                workspace.count_languages(&walk);
                let trust = workspace.look_at_trust();
                Ok((workspace, walk.folders, trust))
            }
            Err(WalkError::Cancelled) => Err(RpcError::new(ErrorKind::Cancelled, "The call was cancelled.")),
            Err(WalkError::Root(error)) => {
                let path = workspace.root().path().to_path_buf();
                Err(daemon.workspaces.file_error(&workspace, &path, &error))
            }
        }
    });
    let (workspace, folders, trust) = opened.await??;
    workspace.touch();
    if params.index.unwrap_or(true) {
        workspace.ensure_indexed(token, Some(folders));
    }
    Ok(OpenResult {
        root: workspace.path.to_string(),
        trusted: trust.state == TrustWord::Trusted,
        languages: workspace.languages(),
        index: workspace.index_state(),
        tools: BTreeMap::new(),
    })
}

pub(super) fn status(call: &Call, params: StatusParams) -> Result<StatusResult, RpcError> {
    absolute("workspace", &params.workspace)?;
    let workspace =
        call.daemon.workspaces.find(&params.workspace).ok_or_else(|| not_open(&call.daemon.workspaces, &params.workspace))?;
    let (watch, watch_detail) = workspace.watch_state();
    let status = workspace.status();
    let mut index = IndexDetail {
        state: workspace.index_state(),
        generation: 0,
        files: 0,
        symbols: 0,
        edges: 0,
        skipped: BTreeMap::new(),
        parse_errors: 0,
        watch,
        watch_detail,
        rebuilt: None,
        last_error: None,
    };
    let mut epoch = 0;
    if let Some((state, status)) = status {
        epoch = state.epoch;
        index.generation = state.generation;
        index.files = status.files;
        index.symbols = status.symbols;
        index.edges = status.edges;
        index.skipped = status.skipped.into_iter().map(|(reason, files)| (reason.to_owned(), files)).collect();
        index.parse_errors = status.parse_errors;
        index.rebuilt = status.rebuilt.map(|(reason, when)| Rebuilt { reason, since_s: when.elapsed().as_secs() });
        index.last_error = status.last_error;
    }
    let trust = workspace.trust();
    let trusted = trust.state == TrustWord::Trusted;
    Ok(StatusResult { root: workspace.path.to_string(), epoch, trusted, trust, index, servers: Vec::new() })
}

fn not_open(workspaces: &crate::workspaces::Workspaces, root: &str) -> RpcError {
    let open: Vec<String> = workspaces.all().iter().map(|workspace| workspace.path.to_string()).collect();
    RpcError::new(ErrorKind::WorkspaceUnknown, format!("{root} is not open. workspace.open opens it."))
        .with("root", root)
        .with("open", open)
}

pub(super) fn list(call: &Call, _: ListParams) -> Result<ListResult, RpcError> {
    Ok(ListResult { workspaces: call.daemon.workspaces.summaries() })
}

pub(super) async fn close(call: Call, params: CloseParams) -> Result<CloseResult, RpcError> {
    absolute("workspace", &params.workspace)?;
    let daemon = call.daemon.clone();
    let Some(workspace) = daemon.workspaces.find(&params.workspace) else { return Ok(CloseResult { closed: false }) };
    let closed = call.query(move |_| daemon.workspaces.close(&workspace)).await?;
    Ok(CloseResult { closed })
}

pub(super) async fn trust(call: Call, params: TrustParams) -> Result<TrustResult, RpcError> {
    let path = absolute("root", &params.root)?;
    let peer = call.peer.status();
    let daemon = call.daemon.clone();
    call.query(move |_| {
        let revoke = params.revoke.unwrap_or(false);
        let worktrees = params.worktrees.unwrap_or(true);
        let (root, changed) = match (daemon.workspaces.root("root", &params.root), revoke) {
            (Ok(root), false) => {
                let changed = daemon.trust.grant(&root, worktrees, params.allow.unwrap_or_default());
                (Some(root), changed)
            }
            (Ok(root), true) => {
                let changed = daemon.trust.revoke(root.path());
                (Some(root), changed)
            }
            (Err(error), false) => return Err(error),
            // A folder that is gone, or may not be opened any more, can still be taken back by its name.
            (Err(_), true) => (None, daemon.trust.revoke(&path)),
        };
        daemon.workspaces.look_at_trust();
        let changed = changed.map_err(|error| not_kept(&daemon, &error))?;
        let name = root.as_ref().map_or_else(|| shown(&path), |root| shown(root.path()));
        if changed {
            let client = peer.name.unwrap_or_default();
            let done = if revoke { "trust taken back" } else { "trust granted" };
            tracing::info!(root = %name, worktrees, pid = peer.pid, client, "{done}");
        }
        let trust = root.as_ref().map_or_else(|| untrusted(&path), |root| daemon.trust_of(root));
        Ok(TrustResult { root: name, changed, trust, trusted: daemon.trust.list() })
    })
    .await?
}

fn not_kept(daemon: &Daemon, error: &TrustError) -> RpcError {
    match error {
        TrustError::Full => {
            let message = format!("{error}. Take some back with `ccctl trust --revoke ROOT`; `ccctl trust --list` shows them.");
            RpcError::new(ErrorKind::Busy, message).with("what", "trusted roots").with("limit", GRANTS)
        }
        TrustError::File(error) => {
            let message = format!(
                "Trust cannot be stored safely: {error}. `ccctl trust --list` shows what stands; try again once that is mended."
            );
            RpcError::new(ErrorKind::Io, message).with("path", shown(&daemon.paths.state)).with("os_error", error.to_string())
        }
    }
}
