//! Outcomes, as they stand on the wire.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ccd_edit::{EditOutcome, FileOp, LedgerLimits};
use ccd_files::Atomic;
use ccd_patch::{Op, Pass};
use ccd_protocol::{edit as wire, workspace::LineEnding};

use super::told;
use crate::daemon::Daemon;

/// Hunks told of one edit.
const HUNKS: usize = 200;

/// The bounds of the ledger, as configured.
pub(crate) fn ledger_limits(daemon: &Daemon) -> LedgerLimits {
    let runs = &daemon.settings().config.runs;
    LedgerLimits { keep: Duration::from_secs(runs.hours.0 * 3600), paths: runs.paths.0 as usize }
}

/// The report of an edit while there are no language servers.
pub(super) fn report(level: wire::DiagnosticsLevel, remembered: bool) -> wire::Report {
    let off = level == wire::DiagnosticsLevel::Off;
    wire::Report {
        new: Vec::new(),
        elsewhere: Vec::new(),
        unattributed: Vec::new(),
        fixed: 0,
        carried_over: Vec::new(),
        suppressed: 0,
        remembered,
        baseline: wire::Baseline::Unknown,
        state: if off { "off" } else { "unavailable" }.to_owned(),
        reason: (!off).then(|| "disabled".to_owned()),
        servers: Vec::new(),
        waited_ms: 0,
    }
}

fn line_ending(ending: ccd_text::LineEnding) -> LineEnding {
    match ending {
        ccd_text::LineEnding::Lf => LineEnding::Lf,
        ccd_text::LineEnding::Crlf => LineEnding::Crlf,
        ccd_text::LineEnding::Mixed => LineEnding::Mixed,
    }
}

fn operation(op: FileOp) -> wire::FileOperation {
    match op {
        FileOp::Add => wire::FileOperation::Add,
        FileOp::Update => wire::FileOperation::Update,
        FileOp::Delete => wire::FileOperation::Delete,
        FileOp::Move => wire::FileOperation::Move,
    }
}

fn pass(pass: Pass) -> wire::MatchPass {
    match pass {
        Pass::Exact => wire::MatchPass::Exact,
        Pass::TrailingSpace => wire::MatchPass::TrimmedEnd,
        Pass::SurroundingSpace => wire::MatchPass::Trimmed,
        Pass::Typography => wire::MatchPass::Folded,
    }
}

/// An outcome as it is told; diff and hunks are bounded by `max_bytes`.
pub(super) fn outcome(done: &EditOutcome, report: wire::Report, max_bytes: usize, undo_seconds: u64) -> wire::EditOutcome {
    let mut truncated = false;
    let mut diff = done.diff.clone();
    if diff.len() > max_bytes {
        let cut = diff.as_bytes()[..max_bytes].iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        diff.truncate(cut);
        truncated = true;
    }
    let mut left = max_bytes;
    let mut hunks = Vec::new();
    for one in &done.hunks {
        let bytes = one.hunk.old_text.len() + one.hunk.new_text.len();
        if hunks.len() >= HUNKS || bytes > left {
            truncated = true;
            break;
        }
        left -= bytes;
        hunks.push(wire::HunkView {
            path: told(&one.path),
            old_text: one.hunk.old_text.clone(),
            new_text: one.hunk.new_text.clone(),
            old_line: one.hunk.old_line as u64,
            new_line: one.hunk.new_line as u64,
            match_pass: one.matched.map(|(found, _)| pass(found)),
            other_matches: one.matched.map_or(0, |(_, others)| others as u64),
        });
    }
    let files = done.files.iter().map(|file| wire::FileChange {
        path: told(&file.path),
        rel: told(&file.key.rel),
        op: operation(file.op),
        from: file.from.as_deref().map(told),
        version: file.version.map(|version| version.to_string()),
        line_ending: line_ending(file.line_ending),
        added: file.added as u64,
        removed: file.removed as u64,
    });
    let operations = done.operations.as_ref().map(|operations| {
        let of = |op| match op {
            Op::Add => wire::FileOperation::Add,
            Op::Update => wire::FileOperation::Update,
            Op::Delete => wire::FileOperation::Delete,
            Op::Move => wire::FileOperation::Move,
        };
        operations
            .iter()
            .map(|one| wire::PatchOperation { op: of(one.op), path: one.path.clone(), move_to: one.move_to.clone() })
            .collect()
    });
    let notes = done.notes.iter().map(|note| wire::Note {
        kind: note.kind.to_owned(),
        path: note.path.as_deref().map(told),
        detail: note.detail.clone(),
    });
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    wire::EditOutcome {
        txn_id: done.txn_id.clone(),
        applied: done.applied,
        replayed: false,
        summary: done.summary.clone(),
        files: files.collect(),
        diff,
        hunks,
        operations,
        diagnostics: report,
        atomic: match done.atomic {
            Atomic::Exchange => wire::Atomic::Exchange,
            Atomic::Weak => wire::Atomic::Weak,
            Atomic::JournaledInPlace => wire::Atomic::JournaledInPlace,
        },
        notes: notes.collect(),
        undo_until: done.undoable.then_some(now + undo_seconds),
        truncated,
    }
}
