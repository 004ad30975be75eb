//! What structural search and its stages refuse, as outward errors.

use ccd_edit::{StageError, StoreFull};
use ccd_protocol::{ErrorKind, RpcError};
use ccd_structural::{Attempt, QueryError};
use ccd_text::LineIndex;
use serde_json::{Value, json};

use crate::{daemon::Daemon, rpc::params::wrong};

/// Bytes of a tree that is told with an error.
const TREE: usize = 4 << 10;
/// Stages named by an error.
const PENDING: usize = 20;

/// Why a spec cannot be searched for. `pattern` is what its offsets count in.
pub(super) fn query(error: QueryError, pattern: &str) -> RpcError {
    match error {
        QueryError::Unparsable { message, attempts, tree } => {
            let attempts: Vec<Value> = attempts.iter().map(|attempt| told(attempt, pattern)).collect();
            RpcError::new(ErrorKind::PatternUnparsable, message)
                .with("attempts", attempts)
                .with("tree", ccd_text::clip(tree.as_bytes(), TREE))
        }
        QueryError::BadSelector { message, selector, closest } => RpcError::new(ErrorKind::BadSelector, message.clone())
            .with("selector", selector)
            .with("why", message)
            .with("kinds", closest),
        QueryError::Invalid { field, message } => {
            RpcError { message: message.clone(), ..wrong(field, message.trim_end_matches('.')) }
        }
        QueryError::Unbound { message, name, bound } => {
            let bound: Vec<&str> = bound.iter().map(|name| name.trim_start_matches('$')).collect();
            RpcError::new(ErrorKind::UnboundMetavariable, message).with("name", name).with("bound", bound)
        }
    }
}

/// The place of a byte of a pattern.
pub(super) fn place(pattern: &str, at: usize) -> (u32, u32) {
    let place = LineIndex::new(pattern.as_bytes()).place(pattern.as_bytes(), at);
    (place.line, place.column)
}

fn told(attempt: &Attempt, pattern: &str) -> Value {
    let mut value = json!({"reading": attempt.reading, "reason": attempt.reason.as_deref().unwrap_or("it holds")});
    if let Some(at) = attempt.at {
        let (line, column) = place(pattern, at);
        value["line"] = json!(line);
        value["column"] = json!(column);
    }
    value
}

fn pending(daemon: &Daemon) -> Vec<String> {
    daemon.edits.stages.pending().iter().rev().take(PENDING).map(|stage| stage.id.clone()).collect()
}

/// Why a stage is not there.
pub(in crate::api) fn stage(daemon: &Daemon, id: &str, why: &StageError) -> RpcError {
    let id = ccd_text::clip(id.as_bytes(), 100);
    let again = "Stage the rewrite again with ast.edit.";
    let error = match why {
        StageError::Unknown { restarted: true } => RpcError::new(
            ErrorKind::StageUnknown,
            format!("The stage `{id}` is gone: the daemon was restarted, and stages live in its memory. Nothing was written. {again}"),
        )
        .with("why", "daemon_restarted"),
        StageError::Unknown { restarted: false } => {
            RpcError::new(ErrorKind::StageUnknown, format!("There is no stage `{id}`. ast.staged lists those that wait."))
                .with("why", "unknown")
        }
        StageError::Discarded => RpcError::new(
            ErrorKind::StageUnknown,
            format!("The stage `{id}` was discarded. Nothing was written. {again}"),
        )
        .with("why", "discarded"),
        StageError::Expired => {
            RpcError::new(ErrorKind::StageExpired, format!("The time of the stage `{id}` is over. Nothing was written. {again}"))
        }
        StageError::Used { txn_id, at } => RpcError::new(
            ErrorKind::StageUsed,
            format!("The stage `{id}` was accepted before, by the transaction `{txn_id}`. edit.outcome tells it, edit.undo takes it back."),
        )
        .with("txn_id", txn_id.clone())
        .with("at", *at),
    };
    error.with("stage_id", id).with("pending", pending(daemon))
}

/// The stage is of another run.
pub(super) fn other_run(daemon: &Daemon, id: &str) -> RpcError {
    RpcError::new(
        ErrorKind::StageUnknown,
        format!("The stage `{id}` belongs to another run. Only that run, or a call without `run_id`, resolves it."),
    )
    .with("stage_id", id)
    .with("why", "other_run")
    .with("pending", pending(daemon))
}

/// There is no room for a stage.
pub(super) fn full(error: StoreFull) -> RpcError {
    let what = match error.pending.len() {
        0 => "Narrow it with `paths` or `path_glob`, and rewrite in several steps.".to_owned(),
        waiting => format!("{waiting} of them wait: accept or discard some with ast.resolve."),
    };
    let pending: Vec<String> = error.pending.into_iter().take(PENDING).collect();
    RpcError::new(
        ErrorKind::StageStoreFull,
        format!("There is no room for a stage of {} bytes beside the others (the limit is {}). {what}", error.bytes, error.limit),
    )
    .with("limit", error.limit)
    .with("pending", pending)
}

/// Not all files could be searched.
pub(super) fn incomplete(reason: &str, done: u64, total: u64) -> RpcError {
    let next = match reason {
        "deadline" => "Give a larger `deadline_ms`, or narrow it with `paths` or `path_glob`.",
        _ => "Try again when the files are at rest.",
    };
    RpcError::new(
        ErrorKind::SearchIncomplete,
        format!("Only {done} of {total} files were searched ({reason}). Nothing was staged. {next}"),
    )
    .with("reason", reason)
    .with("done", done)
    .with("total", total)
}

/// The search of a file ran into its budget.
pub(super) fn budget(path: String, steps: u64) -> RpcError {
    RpcError::new(
        ErrorKind::BudgetExceeded,
        format!("The search of {path} took more than {steps} steps. Make the pattern narrower, with fewer `$$$`."),
    )
    .with("path", path)
    .with("steps", steps)
}

/// A file nests too deep.
pub(super) fn too_deep(path: String, depth: u32) -> RpcError {
    RpcError::new(
        ErrorKind::TooDeep,
        format!("{path} nests deeper than {depth} levels (index.max_depth) and cannot be searched. Leave it out with `paths` or `path_glob`."),
    )
    .with("path", path)
    .with("depth", depth)
}

/// The caller is gone.
pub(super) fn cancelled() -> RpcError {
    RpcError::new(ErrorKind::Cancelled, "The call was cancelled while running.").with("phase", "running")
}
