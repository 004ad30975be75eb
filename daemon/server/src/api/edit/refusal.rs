//! Edits that were refused, as outward errors: what is wrong, and what to do next.

use std::path::Path;

use ccd_edit::{EditError, ReplaceError, TreeError, normal};
use ccd_files::{Changed, FileError, LockError, Reason, TransactionError};
use ccd_patch::{AmendError, Failure, Fault, Why};
use ccd_protocol::{ErrorKind, RpcError};
use serde_json::{Value, json};

use super::{is_stop, stopped, told};
use crate::{daemon::Daemon, rpc::params::wrong, workspaces::Workspace};

/// Bytes of the JSON of all failing hunks.
const FAILURES: usize = 5_200;
/// Bytes of a line that is shown, the first time and when that is too much.
const LINES: [usize; 4] = [400, 120, 40, 16];

pub(super) fn explain(daemon: &Daemon, workspace: &Workspace, error: &EditError) -> RpcError {
    if is_stop(error) {
        return stopped();
    }
    let say = |kind, path: &Path, message: String| RpcError::new(kind, message).with("path", told(path));
    let refused = match error {
        EditError::Path { path, error } => of_path(daemon, workspace, path, error),
        EditError::NotFound { path, dangling: true } => say(
            ErrorKind::NotFound,
            path,
            format!("{} is a symbolic link that leads to nothing; nothing is written through it.", path.display()),
        ),
        EditError::NotFound { path, .. } => {
            say(ErrorKind::NotFound, path, format!("There is no file {}. Nothing was written.", path.display()))
        }
        EditError::IsDirectory { path } => {
            say(ErrorKind::IsDirectory, path, format!("{} is a folder. Name a file.", path.display()))
        }
        EditError::NotRegular { path, what } => {
            say(ErrorKind::NotRegular, path, format!("{} is a {what}, not a regular file.", path.display())).with("what", *what)
        }
        EditError::NotText { path } => say(
            ErrorKind::NotText,
            path,
            format!("{} is not UTF-8 text, so its lines cannot be changed one by one. Write it whole.", path.display()),
        ),
        EditError::TooLarge { path, size, limit } => say(
            ErrorKind::TooLarge,
            path,
            format!("{size} bytes are more than the {limit} that may be written to {} (edit.write_mib).", path.display()),
        )
        .with("size", *size)
        .with("limit", *limit),
        EditError::Syntax(error) => RpcError::new(ErrorKind::PatchSyntax, format!("{error}. Nothing was written; send the whole patch again."))
            .with("line", error.line)
            .with("excerpt", error.excerpt.clone())
            .with("expected", error.expected),
        EditError::Amend(error) => amended(error),
        EditError::Nothing => RpcError::new(
            ErrorKind::PatchSyntax,
            "The patch has no operation: No files were modified. Put at least one section between the markers.",
        )
        .with("line", 1)
        .with("excerpt", "")
        .with("expected", "a section: *** Add File, *** Update File or *** Delete File"),
        EditError::Refused { faults, failures, failure_id, cwd } if failures.is_empty() => {
            let _ = failure_id;
            fault(daemon, workspace, faults, cwd)
        }
        EditError::Refused { faults, failures, failure_id, cwd } => unmatched(faults, failures, failure_id.as_deref(), cwd),
        EditError::Replace { path, error } => replaced(path, error),
        EditError::UnseenOverwrite { path, version } => say(
            ErrorKind::UnseenOverwrite,
            path,
            format!(
                "This run has not seen {}, which would be overwritten. Read it with workspace.read and write again, or give `expect_version` or `force`.",
                path.display()
            ),
        )
        .with("version", version.to_string()),
        EditError::TxnIdReused { txn_id } => RpcError::new(
            ErrorKind::TxnIdReused,
            format!("The transaction id `{txn_id}` belongs to another request. Choose a new one."),
        )
        .with("txn_id", txn_id.clone()),
        EditError::UnderWay { txn_id } => RpcError::new(
            ErrorKind::Busy,
            format!("The transaction `{txn_id}` is under way. Ask edit.outcome what becomes of it."),
        )
        .with("what", "transaction")
        .with("limit", 1)
        .with("retry_after_ms", 200),
        EditError::FailureUnknown { id, why } => RpcError::new(
            ErrorKind::FailureUnknown,
            format!("The failure `{id}` is not kept ({}). Send the whole patch again with edit.apply_patch.", why.name()),
        )
        .with("id", id.clone())
        .with("why", why.name()),
        EditError::Stage { id, why } => crate::api::ast::stage_refused(daemon, id, why),
        EditError::UndoUnknown { id, why } => RpcError::new(
            ErrorKind::UndoUnknown,
            format!("The transaction `{id}` cannot be undone ({}).", why.name()),
        )
        .with("id", id.clone())
        .with("why", why.name()),
        EditError::Lock(LockError::Busy) => RpcError::new(
            ErrorKind::Busy,
            format!("Another edit of {} did not end in time. Nothing was written; try again.", workspace.path),
        )
        .with("what", "edits of the root")
        .with("limit", 1)
        .with("retry_after_ms", 200),
        EditError::Lock(LockError::Io(error)) => daemon.internal(&error.to_string()),
        EditError::Transaction(error) => transaction(daemon, workspace, error),
        EditError::State(reason) => RpcError::new(
            ErrorKind::Io,
            format!("The state folder {} cannot be used: {reason}. Nothing was written.", daemon.paths.state.display()),
        )
        .with("path", told(&daemon.paths.state))
        .with("os_error", reason.clone()),
        EditError::Cancelled => stopped(),
    };
    daemon.metrics.refused(&refused.data.kind);
    refused
}

fn of_path(daemon: &Daemon, workspace: &Workspace, path: &Path, error: &TreeError) -> RpcError {
    match error {
        TreeError::Outside { resolved } => daemon.workspaces.outside(workspace, path, resolved),
        TreeError::Protected => RpcError::new(
            ErrorKind::ProtectedPath,
            format!(
                "{} decides what other programs run, so it is protected. If it is meant to be changed, send `allow_protected: true`.",
                path.display()
            ),
        )
        .with("path", told(path))
        .with("allow", "allow_protected"),
        TreeError::Own => RpcError::new(
            ErrorKind::ProtectedPath,
            format!("{} belongs to the daemon itself and is never written by an edit.", path.display()),
        )
        .with("path", told(path)),
        TreeError::NotUtf8 => {
            RpcError::new(ErrorKind::PathNotUtf8, format!("The name of {} is not UTF-8.", path.display())).with("path", told(path))
        }
        TreeError::File(error) => daemon.workspaces.file_error(workspace, path, error),
    }
}

/// An operation that cannot be done: the first says which kind of error it is, all of them are told.
fn fault(daemon: &Daemon, workspace: &Workspace, faults: &[Fault<TreeError>], cwd: &Path) -> RpcError {
    let Some(first) = faults.first() else {
        return RpcError::new(ErrorKind::PatchSyntax, "The patch cannot be applied.");
    };
    let path = normal(cwd, &first.path);
    let next = match &first.why {
        Why::NotFound | Why::DanglingLink => " Look for its path; `*** Add File: ` makes a new file.",
        Why::IsDirectory | Why::NotRegular(_) | Why::BelowFile => " Name a regular file, and leave this section out otherwise.",
        Why::NotText(_) => " Write it as a whole with edit.write, or outside of ccd.",
        _ => "",
    };
    let message = format!("{first}. Nothing was written.{next}");
    let say = |kind| RpcError::new(kind, message.clone()).with("path", told(&path));
    let error = match &first.why {
        Why::NotFound | Why::DanglingLink | Why::BelowFile => say(ErrorKind::NotFound),
        Why::IsDirectory => say(ErrorKind::IsDirectory),
        Why::NotRegular(what) => say(ErrorKind::NotRegular).with("what", *what),
        Why::ThroughDeletedLink => say(ErrorKind::NotFound),
        Why::Stopped => say(ErrorKind::Cancelled),
        Why::NotText(_) => say(ErrorKind::NotText),
        Why::SameFile { other } => say(ErrorKind::SameFile).with("what", told(&normal(cwd, other))),
        Why::Tree(error) => of_path(daemon, workspace, &path, error),
    };
    error.with("faults", told_faults(faults, cwd))
}

fn told_faults(faults: &[Fault<TreeError>], cwd: &Path) -> Vec<Value> {
    let told = faults.iter().take(20).map(|fault| {
        json!({"path": told(&normal(cwd, &fault.path)), "op": fault.op.name(), "patch_line": fault.patch_line, "why": fault.why.to_string()})
    });
    told.collect()
}

/// All failing hunks. Lines are shortened until the whole is small enough for a model to read.
fn unmatched(faults: &[Fault<TreeError>], failures: &[Failure], failure_id: Option<&str>, cwd: &Path) -> RpcError {
    let first = &failures[0];
    let place = match &first.miss.first_difference {
        Some(difference) => {
            // A difference that cannot be seen is shown.
            let blank = difference.kind == ccd_patch::DifferenceKind::Whitespace;
            let line = |text: &str| short(&if blank { ccd_patch::visible(text) } else { text.to_owned() }, 120);
            match &difference.found {
                Some(found) => format!("line {} is `{}`, not `{}`", difference.line, line(found), line(&difference.expected)),
                None => format!("the line `{}` is not there", line(&difference.expected)),
            }
        }
        None => match first.miss.to_string() {
            text if text.starts_with("stands ") => format!("it {text}"),
            text => text,
        },
    };
    let next = if !faults.is_empty() {
        "What `faults` lists cannot be done either: read the files again and send the patch anew.".to_owned()
    } else if first.miss.already_applied {
        "Its new lines are already there: leave this hunk out.".to_owned()
    } else {
        "Read the file again and resend only the failing hunks with edit.amend.".to_owned()
    };
    let hunks = match failures.len() {
        1 => String::new(),
        count => format!(" {count} hunks do not match."),
    };
    let message = format!(
        "Hunk {} of {} does not match the file: {place}.{hunks} Nothing was written. {next}",
        first.miss.hunk, first.path
    );
    let mut listed = Vec::new();
    for bytes in LINES {
        listed = failures.iter().map(|failure| told_failure(failure, cwd, bytes)).collect::<Vec<Value>>();
        if serde_json::to_string(&listed).map_or(0, |text| text.len()) <= FAILURES {
            break;
        }
    }
    // More hunks than fit in any form: the rest is counted.
    let all = listed.len();
    while listed.len() > 1 && serde_json::to_string(&listed).map_or(0, |text| text.len()) > FAILURES {
        listed.pop();
    }
    let mut error = RpcError::new(ErrorKind::ContextNotFound, message).with("failures", listed.clone());
    if listed.len() < all {
        error = error.with("more_failures", all - listed.len());
    }
    if !faults.is_empty() {
        error = error.with("faults", told_faults(faults, cwd));
    }
    match failure_id {
        Some(id) => error.with("failure_id", id),
        None => error,
    }
}

fn told_failure(failure: &Failure, cwd: &Path, bytes: usize) -> Value {
    let miss = &failure.miss;
    let mut value = json!({
        "path": told(&normal(cwd, &failure.path)),
        "hunk": miss.hunk,
        "patch_line": miss.patch_line,
        "matched_prefix": miss.matched_prefix,
        "other_candidates": miss.other_candidates,
        "already_applied": miss.already_applied,
    });
    if let Some(difference) = &miss.first_difference {
        value["first_difference"] = json!({
            "line": difference.line,
            "expected": short(&difference.expected, bytes),
            "kind": difference.kind.name(),
        });
        if let Some(found) = &difference.found {
            value["first_difference"]["found"] = json!(short(found, bytes));
        }
    }
    if let Some(nearby) = &miss.nearby {
        value["nearby"] = json!({"line": nearby.line, "text": short(&nearby.text, bytes)});
    }
    value
}

fn short(text: &str, bytes: usize) -> String {
    ccd_text::clip(text.as_bytes(), bytes)
}

fn amended(error: &AmendError) -> RpcError {
    match error {
        AmendError::Syntax(error) => RpcError::new(ErrorKind::PatchSyntax, format!("{error}. Nothing was written."))
            .with("line", error.line)
            .with("excerpt", error.excerpt.clone())
            .with("expected", error.expected),
        other => wrong("hunks", other.to_string()),
    }
}

fn replaced(path: &Path, error: &ReplaceError) -> RpcError {
    let name = path.display();
    match error {
        ReplaceError::NotFound { edit, nearest, already_applied } => {
            let hint = match nearest {
                _ if *already_applied => "The new text is there already.".to_owned(),
                Some((line, text)) => format!("The nearest line is {line}: `{}`.", short(text, 120)),
                None => "Read the file again.".to_owned(),
            };
            let error = RpcError::new(
                ErrorKind::OldTextNotFound,
                format!("The old text of edit {edit} is not in {name}. {hint} Nothing was written."),
            )
            .with("path", told(path))
            .with("edit", *edit)
            .with("count", 0)
            .with("lines", Vec::<u32>::new())
            .with("already_applied", *already_applied);
            match nearest {
                Some((line, text)) => error.with("nearest", json!({"line": line, "text": text})),
                None => error,
            }
        }
        ReplaceError::Ambiguous { edit, count, lines } => RpcError::new(
            ErrorKind::OldTextAmbiguous,
            format!(
                "The old text of edit {edit} is in {name} {count} times (lines {}). Add lines around it until it is unique, or send `all: true`. Nothing was written.",
                lines.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
            ),
        )
        .with("path", told(path))
        .with("edit", *edit)
        .with("count", *count)
        .with("lines", lines.clone()),
        ReplaceError::Empty { edit } => wrong(&format!("edits[{}].old", edit - 1), "at least one character"),
        ReplaceError::NoSuchPlace { edit, lines } => {
            wrong(&format!("edits[{}].range", edit - 1), format!("places of the file, which has {lines} lines, in order"))
        }
    }
}

fn transaction(daemon: &Daemon, workspace: &Workspace, error: &TransactionError) -> RpcError {
    let say = |kind, path: &Path, message: String| RpcError::new(kind, message).with("path", told(path));
    let failed = |kind, failure: &ccd_files::Failure, what: &str| {
        say(kind, &failure.path, format!("{what} at {} ({}). All is as it was.", failure.path.display(), failure.os_error))
            .with("os_error", failure.os_error.clone())
            .with("rolled_back", true)
    };
    match error {
        TransactionError::ContentChanged { paths } => content_changed(paths),
        TransactionError::NoSpace(failure) => failed(ErrorKind::NoSpace, failure, "The disk is full"),
        TransactionError::Io(failure) => failed(ErrorKind::Io, failure, "The disk failed"),
        TransactionError::CommitFailed(failure) => failed(ErrorKind::CommitFailed, failure, "The system refused to write"),
        TransactionError::ReadOnly { path } => say(
            ErrorKind::ReadOnly,
            path,
            format!(
                "{} is read-only. If it is meant to be changed, send `override_readonly: true`. Nothing was written.",
                path.display()
            ),
        ),
        TransactionError::NotRegular { path, what } => {
            say(ErrorKind::NotRegular, path, format!("{} is a {what}, not a regular file.", path.display())).with("what", *what)
        }
        TransactionError::IsDirectory { path } => {
            say(ErrorKind::IsDirectory, path, format!("{} is a folder. Name a file.", path.display()))
        }
        TransactionError::NotDirectory { path } => {
            say(ErrorKind::NotFound, path, format!("{} is no folder, so nothing can be put below it.", path.display()))
        }
        TransactionError::NotFound { path } => say(ErrorKind::NotFound, path, format!("There is no {}.", path.display())),
        TransactionError::DanglingLink { path, target } => say(
            ErrorKind::NotFound,
            path,
            format!("{} is a link to {}, which is not there; nothing is written through it.", path.display(), target.display()),
        ),
        TransactionError::Metadata { path, what } => say(
            ErrorKind::Metadata,
            path,
            format!("The {what} of {} cannot be kept, so it was not replaced. Nothing was written.", path.display()),
        )
        .with("what", *what),
        TransactionError::SameFile { path, other } => {
            say(ErrorKind::SameFile, path, format!("{} and {} are the same file; name it once.", path.display(), other.display()))
                .with("what", told(other))
        }
        TransactionError::HardLinked { path, count } => say(
            ErrorKind::Metadata,
            path,
            format!("{} has {count} names, and edit.hard_links says to leave such files alone.", path.display()),
        )
        .with("what", "hard links"),
        TransactionError::Outside { path, resolved } => daemon.workspaces.outside(workspace, path, resolved),
        TransactionError::LinkLoop { path } => daemon.workspaces.file_error(workspace, path, &FileError::LinkLoop),
        TransactionError::Conflict { cause, paths } => {
            let listed: Vec<Value> =
                paths.iter().map(|kept| json!({"path": told(&kept.path), "kept": kept.kept.as_deref().map(told)})).collect();
            transaction(daemon, workspace, cause).with("conflicts", listed)
        }
        TransactionError::RollbackFailed { cause, paths, recovery_files } => {
            let states: Vec<Value> = paths
                .iter()
                .map(|(path, state)| json!({"path": told(path), "state": format!("{state:?}").to_lowercase()}))
                .collect();
            RpcError::new(
                ErrorKind::RollbackFailed,
                format!("{cause}; and it could not be taken back whole. Do not repeat it: look at the files, or restart the daemon to let it try again."),
            )
            .with("paths", states)
            .with("recovery_files", recovery_files.iter().map(|path| told(path)).collect::<Vec<_>>())
        }
        TransactionError::RecoveryPending { root, txn_id } => RpcError::new(
            ErrorKind::RecoveryPending,
            format!(
                "The transaction `{txn_id}` on {} is not settled; edits wait for it. daemon.status lists it.",
                root.display()
            ),
        )
        .with("root", told(root))
        .with("txn_id", txn_id.clone()),
    }
}

fn content_changed(paths: &[Changed]) -> RpcError {
    let names: Vec<String> = paths.iter().take(3).map(|one| one.path.display().to_string()).collect();
    let listed: Vec<Value> = paths
        .iter()
        .map(|one| {
            let mut value = json!({"path": told(&one.path), "reason": reason(one.reason)});
            if let Some(expected) = one.expected {
                value["expected"] = json!(expected.to_string());
            }
            if let Some(now) = one.now {
                value["now"] = json!(now.to_string());
            }
            value
        })
        .collect();
    RpcError::new(
        ErrorKind::ContentChanged,
        format!("{} changed since it was read. Nothing was written; read it again and repeat the edit.", names.join(", ")),
    )
    .with("paths", listed)
}

fn reason(reason: Reason) -> &'static str {
    match reason {
        Reason::Created => "created",
        Reason::Changed => "changed",
        Reason::Removed => "removed",
    }
}
