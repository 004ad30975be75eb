//! `edit.*` as text.

use ccd_protocol::edit::{Atomic, EditOutcome, FileChange, GrammarResult, Note, OutcomeResult, Report, TransactionState};
use serde_json::Value;

use super::{Options, graph::seconds, page::Page};

/// What an edit did: the summary, deviations, the diff, what the language servers say.
pub fn edit(result: &EditOutcome, options: Options) -> String {
    let mut page = Page::new(options);
    if result.replayed {
        page.line("This was done by an earlier call of the same txn_id; nothing was written now.");
    }
    // The diff may be long; what became of the code must not be cut off by it.
    page.tail(diagnostics(&result.diagnostics, Options { max_bytes: options.max_bytes / 3 }));
    whole(&mut page, result);
    page.finish()
}

/// `edit.outcome`.
pub fn outcome(result: &OutcomeResult, options: Options) -> String {
    let mut page = Page::new(options);
    page.line(match result.state {
        TransactionState::Unknown => "unknown: nothing was written under this id, or it is forgotten by now",
        TransactionState::Preparing => "preparing: it is under way",
        TransactionState::Committed => "committed",
        TransactionState::RolledBack => "rolled_back: all is as it was",
        TransactionState::RollbackFailed => "rollback_failed: it could not be taken back whole; look at the files",
        TransactionState::RecoveryPending => "recovery_pending: it is settled when its root is there again",
        TransactionState::Conflict => {
            "conflict: another writer came between; its bytes are in the file, those from before the edit are kept"
        }
    });
    if let Some(outcome) = &result.outcome {
        whole(&mut page, outcome);
    }
    page.finish()
}

/// `edit.grammar`.
pub fn grammar(result: &GrammarResult, options: Options) -> String {
    let mut page = Page::new(options);
    page.text(result.definition.trim_end_matches('\n'));
    page.finish()
}

fn whole(page: &mut Page, result: &EditOutcome) {
    if !result.applied {
        page.line("dry run: nothing was written, and this is what would be");
    }
    page.text(result.summary.trim_end());
    for note in &result.notes {
        page.line(note_line(note, &result.files));
    }
    match result.atomic {
        Atomic::Exchange => {}
        Atomic::JournaledInPlace => page.line("note: written in place, under a journal: the file could not be replaced"),
        Atomic::Weak => {
            page.line("note: this file system cannot exchange files: a write of another program at the same moment may be lost")
        }
    }
    if !result.diff.is_empty() {
        page.text(result.diff.trim_end_matches('\n'));
    }
    if result.truncated {
        page.foot("the diff was cut by the daemon: more bytes can be asked for");
    }
    if result.applied && result.undo_until.is_some() {
        page.foot(format!("txn {} (`ccctl undo {}` takes it back)", result.txn_id, result.txn_id));
    } else if result.applied {
        page.foot(format!("txn {}", result.txn_id));
    }
}

fn note_line(note: &Note, files: &[FileChange]) -> String {
    let path = note.path.as_deref().map(|path| {
        let rel = files.iter().find(|file| file.path == path).map(|file| file.rel.as_str());
        format!(" {}", rel.unwrap_or(path))
    });
    let detail = note.detail.as_deref().map(|detail| format!(": {detail}"));
    format!("note: {}{}{}", note.kind, path.unwrap_or_default(), detail.unwrap_or_default())
}

/// Nothing where nobody was asked.
fn diagnostics(report: &Report, options: Options) -> String {
    if ["unavailable", "off"].contains(&report.state.as_str()) {
        return String::new();
    }
    let mut page = Page::new(options);
    let lists = [
        (&report.new, "new"),
        (&report.elsewhere, "new in other files"),
        (&report.unattributed, "perhaps older than this write"),
        (&report.carried_over, "of earlier writes"),
    ];
    let mut parts: Vec<String> = lists
        .iter()
        .filter(|(list, what)| !list.is_empty() || *what == "new")
        .map(|(list, what)| format!("{} {what}", list.len()))
        .collect();
    if report.fixed > 0 {
        parts.push(format!("{} fixed", report.fixed));
    }
    if report.suppressed > 0 {
        parts.push(format!("{} known before", report.suppressed));
    }
    page.line(format!("diagnostics: {} ({})", parts.join(", "), meaning(report)));
    for (list, what) in lists {
        if !list.is_empty() && what != "new" {
            page.line(format!("{what}:"));
        }
        for diagnostic in list {
            page.line(format!("  {}", diagnostic_line(diagnostic)));
        }
    }
    page.finish()
}

fn meaning(report: &Report) -> String {
    match report.state.as_str() {
        "timed_out" => format!("timed out after {}: more may come", seconds(report.waited_ms)),
        "none_claims" => "no language server claims these files".to_owned(),
        other => other.to_owned(),
    }
}

/// `path:line:col severity code: message`, of what is there.
fn diagnostic_line(diagnostic: &Value) -> String {
    let text = |name: &str| diagnostic.get(name).and_then(Value::as_str);
    let place = diagnostic.pointer("/range/start").map(|start| {
        let number = |name: &str| start.get(name).and_then(Value::as_u64).unwrap_or_default();
        format!(":{}:{}", number("line"), number("column"))
    });
    let Some(rel) = text("rel").or_else(|| text("path")) else { return diagnostic.to_string() };
    let code = match diagnostic.get("code") {
        Some(Value::String(code)) => format!(" {code}"),
        Some(code @ Value::Number(_)) => format!(" {code}"),
        _ => String::new(),
    };
    let severity = text("severity").unwrap_or("error");
    format!("{rel}{} {severity}{code}: {}", place.unwrap_or_default(), text("message").unwrap_or_default())
}
