//! `ast.resolve` and `ast.staged`: what becomes of stages.

use std::{path::Path, sync::Arc};

use ccd_edit::{Stage, StageError, What};
use ccd_protocol::{ErrorKind, RpcError, ast as wire, edit::EditOutcome};

use super::{refusal, view};
use crate::{
    api::edit::{self, Common, common},
    daemon::Daemon,
    rpc::{call::Call, params::wrong},
    workspaces::{Where, place::absolute},
};

/// Stages of one list.
const LISTED: usize = 100;
/// Files of all stages of one list together.
const FILES: usize = 20_000;
/// Of a stage in a list: sites, and bytes of the diff.
const IN_LIST: (usize, usize) = (10, 4 << 10);
/// Bytes of the diff of one stage that is asked for.
const ALONE: usize = 64 << 10;

pub(in crate::api) async fn resolve(call: Call, params: wire::ResolveParams) -> Result<wire::ResolveResult, RpcError> {
    let common = common!(&call, params, None);
    let daemon = Arc::clone(&call.daemon);
    let id = params.stage_id;
    if params.cursor.is_some() && params.action != wire::Action::Preview {
        return Err(wrong("cursor", "left out but with `action: \"preview\"`"));
    }
    let stage = daemon.edits.stages.get(&id);
    if let (Ok(stage), Some(run)) = (&stage, &params.run_id)
        && stage.draft.run.as_ref().is_some_and(|owner| owner != run)
    {
        return Err(refusal::other_run(&daemon, &id));
    }
    if let Some(given) = &params.workspace {
        // A stage of another root is not meant by this call.
        let target = call.target(Where { workspace: Some(given.clone()), path: None }).await?;
        if let Some(root) = daemon.edits.stages.root_of(&id).filter(|root| **root != *target.workspace.path) {
            return Err(wrong("workspace", format!("left out, or {root}, the root of this stage")));
        }
    }
    match params.action {
        wire::Action::Preview => {
            let stage = stage.map_err(|why| refusal::stage(&daemon, &id, &why))?;
            preview(&stage, params.cursor.as_deref(), common.max_bytes).map(wire::ResolveResult::Preview)
        }
        wire::Action::Discard => {
            daemon.edits.stages.discard(&id).map_err(|why| refusal::stage(&daemon, &id, &why))?;
            Ok(wire::ResolveResult::Discarded(wire::Discarded { stage_id: id, discarded: true }))
        }
        wire::Action::Accept => {
            let outcome = accept(call, id, stage.map(|stage| stage.draft.root.clone()), common).await?;
            Ok(wire::ResolveResult::Accepted(Box::new(outcome)))
        }
    }
}

/// Writes a stage, or gives the stored answer of the call that did.
async fn accept(call: Call, id: String, root: Result<String, StageError>, common: Common) -> Result<EditOutcome, RpcError> {
    let daemon = Arc::clone(&call.daemon);
    let root = match root {
        Ok(root) => root,
        Err(why) => {
            let refused = refusal::stage(&daemon, &id, &why);
            // The answer may have been lost: the same call gets it again, also from a later daemon.
            return match common.txn_id.clone() {
                Some(txn_id) => replayed(&call, txn_id, common.hash).await?.ok_or(refused),
                None => Err(refused),
            };
        }
    };
    let target = call.target(Where { workspace: Some(root), path: None }).await?;
    let result = edit::apply(call, target, What::Stage { id: id.clone() }, common).await;
    result.map_err(|error| kept(&daemon, &id, error))
}

async fn replayed(call: &Call, txn_id: String, hash: [u8; 16]) -> Result<Option<EditOutcome>, RpcError> {
    let daemon = Arc::clone(&call.daemon);
    let stored = call.query(move |_| daemon.edits.stored(&txn_id, &hash, Path::new("/")));
    let stored = stored.await?.ok().flatten();
    Ok(stored
        .and_then(|bytes| serde_json::from_slice::<EditOutcome>(&bytes).ok())
        .map(|outcome| EditOutcome { replayed: true, ..outcome }))
}

/// A refusal leaves the stage as it was, and says so.
fn kept(daemon: &Daemon, id: &str, mut error: RpcError) -> RpcError {
    if daemon.edits.stages.get(id).is_err() {
        return error;
    }
    if error.is(ErrorKind::ContentChanged) {
        let files = error.data.fields.get("paths").and_then(|paths| paths.as_array()).map_or(0, Vec::len);
        let what = if files == 1 { "A file is".to_owned() } else { format!("{files} files are") };
        error.message = format!(
            "{what} not what the stage was made from. Nothing was written, and the stage is kept: accept it once the bytes are back, or discard it and stage the rewrite again with ast.edit."
        );
    }
    error.with("stage", "kept")
}

fn preview(stage: &Stage, cursor: Option<&str>, max_bytes: usize) -> Result<wire::Preview, RpcError> {
    let diff = &stage.draft.diff;
    let broken = || wrong("cursor", "the `next_cursor` of the page before, for the same stage");
    let from = match cursor {
        None => 0,
        Some(text) => {
            let at = text.strip_prefix('d').and_then(|hex| usize::from_str_radix(hex, 16).ok()).ok_or_else(broken)?;
            if at >= diff.len() || !diff.is_char_boundary(at) {
                return Err(broken());
            }
            at
        }
    };
    let (text, next) = view::piece(diff, from, max_bytes);
    Ok(wire::Preview {
        stage_id: stage.id.clone(),
        preview: text.to_owned(),
        truncated: text.len() < diff.len(),
        next_cursor: next.map(|at| format!("d{at:x}")),
        total_bytes: diff.len() as u64,
        files: stage.draft.files.len() as u64,
        sites: stage.draft.sites,
        expires_at: stage.expires_at,
    })
}

pub(in crate::api) fn staged(call: &Call, params: wire::StagedParams) -> Result<wire::StagedResult, RpcError> {
    let daemon = &call.daemon;
    let root = match &params.workspace {
        None => None,
        Some(given) => {
            let path = absolute("workspace", given)?;
            let open = daemon.workspaces.find(given).map(|workspace| workspace.path.to_string());
            Some(open.unwrap_or_else(|| path.to_string_lossy().trim_end_matches('/').to_owned()))
        }
    };
    if let Some(id) = &params.stage_id {
        let stage = daemon.edits.stages.get(id).map_err(|why| refusal::stage(daemon, id, &why))?;
        return Ok(wire::StagedResult { stages: vec![view::stage(&stage, ALONE, view::SITES)], total: 1 });
    }
    let mut stages = daemon.edits.stages.pending();
    stages.retain(|stage| root.as_ref().is_none_or(|root| stage.draft.root == *root));
    let (sites, bytes) = IN_LIST;
    let mut files = 0;
    let fits = |stage: &&Arc<Stage>| {
        files += stage.draft.files.len();
        files <= FILES || files == stage.draft.files.len()
    };
    let listed = stages.iter().take(LISTED).take_while(fits).map(|stage| view::stage(stage, bytes, sites));
    Ok(wire::StagedResult { stages: listed.collect(), total: stages.len() as u64 })
}
