//! `ast.*` as text.

use ccd_protocol::ast::{AstMatch, ExplainResult, GrepResult, Reading, ResolveResult, Stage, StagedResult};

use super::{Options, edit::edit, graph::count, page::Page};

/// Files that are named in a list which is not the answer itself.
const NAMED: usize = 5;

/// `ast.grep`: a line a match, then what was counted and what was not.
pub fn grep(result: &GrepResult, options: Options) -> String {
    let mut page = Page::new(options);
    page.tail(about(result, options.max_bytes / 3));
    for found in &result.matches {
        page.line(match_line(found));
    }
    if let Some(tree) = &result.tree {
        page.line("The pattern was read as");
        page.line(format!("  {tree}"));
    }
    if let Some(cursor) = &result.next_cursor {
        page.foot(format!("next page: --cursor {cursor}"));
    }
    page.finish()
}

/// Counts, readings, what was not searched, hints: it must not be cut off by matches.
fn about(result: &GrepResult, max_bytes: usize) -> String {
    let shown = result.matches.len() as u64;
    let of = if shown == result.total { matches(shown) } else { format!("{shown} of {}", matches(result.total)) };
    let mut page = Page::new(Options::with_max_bytes(max_bytes));
    page.line(format!("{of} in {}; {} searched", count(result.files_matched, "file"), count(result.files_searched, "file")));
    if let Some(readings) = readings(&result.readings) {
        page.line(readings);
    }
    if !result.complete {
        page.line("incomplete: the search was cut off, there may be more");
    }
    if !result.skipped.is_empty() {
        let reasons: Vec<String> = result.skipped.iter().map(|(reason, files)| format!("{reason} {files}")).collect();
        page.line(format!("not searched: {}", reasons.join(", ")));
    }
    if result.parse_errors > 0 {
        let named: Vec<&str> = result.parse_error_files.iter().take(NAMED).map(String::as_str).collect();
        let more = if result.parse_errors > named.len() as u64 { ", …" } else { "" };
        page.line(format!("{} with syntax errors: {}{more}", count(result.parse_errors, "file"), named.join(", ")));
    }
    match result.macro_bodies_not_searched {
        0 => {}
        1 => page.line("1 macro body holds this text and cannot be searched"),
        n => page.line(format!("{n} macro bodies hold this text and cannot be searched")),
    }
    for hint in &result.hints {
        page.line(format!("hint: {hint}"));
    }
    page.finish()
}

/// `path:line:column: the first line of the match`.
fn match_line(found: &AstMatch) -> String {
    let start = found.range.start;
    let mut lines = found.text.lines();
    let first = lines.next().unwrap_or_default();
    let more = if lines.next().is_some() { " …" } else { "" };
    format!("{}:{}:{}: {}{more}", found.rel, start.line, start.column, first.trim_end())
}

fn matches(n: u64) -> String {
    if n == 1 { "1 match".to_owned() } else { format!("{n} matches") }
}

/// How the pattern was read, and how else it can be.
fn readings(readings: &[Reading]) -> Option<String> {
    let name = |reading: &Reading| format!("{} ({})", reading.reading, reading.kind);
    let searched: Vec<String> = readings.iter().filter(|reading| reading.searched).map(name).collect();
    let others: Vec<String> = readings
        .iter()
        .filter(|reading| !reading.searched)
        .map(|reading| match reading.total {
            Some(total) => format!("{}: {}", name(reading), matches(total)),
            None => name(reading),
        })
        .collect();
    if searched.is_empty() {
        return None;
    }
    let also = if others.is_empty() { String::new() } else { format!("; also readable as {}", others.join(", ")) };
    Some(format!("read as {}{also}", searched.join(" and ")))
}

/// `ast.explain`.
pub fn explain(result: &ExplainResult, options: Options) -> String {
    let mut page = Page::new(options);
    for attempt in &result.attempts {
        let place = match (attempt.line, attempt.column) {
            (Some(line), Some(column)) => format!(" ({line}:{column})"),
            _ => String::new(),
        };
        page.line(match &attempt.error {
            Some(error) => format!("{}: {error}{place}", attempt.reading),
            None => format!("{}: holds", attempt.reading),
        });
    }
    page.line(&result.tree);
    if !result.metavariables.is_empty() {
        page.foot(format!("metavariables: {}", result.metavariables.join(", ")));
    }
    for hint in &result.hints {
        page.foot(format!("hint: {hint}"));
    }
    page.finish()
}

/// A stage: its diff, its counts, and how it is resolved.
pub fn stage(result: &Stage, options: Options) -> String {
    let mut about = Page::new(Options::with_max_bytes(options.max_bytes / 3));
    about.line(counts(result));
    for warning in result.warnings.iter().take(NAMED) {
        about.line(format!("warning: {warning}"));
    }
    if result.warnings.len() > NAMED {
        about.line(format!("{} more warnings", result.warnings.len() - NAMED));
    }
    let mut page = Page::new(options);
    // The diff may be long.
    page.tail(about.finish());
    if !result.preview.is_empty() {
        page.text(result.preview.trim_end_matches('\n'));
    }
    if let Some(id) = &result.stage_id {
        if result.truncated {
            page.foot(format!("the diff is cut; `ccctl resolve {id} preview` pages through all of it"));
        }
        page.foot(format!("stage {id}: nothing is written yet; `ccctl resolve {id} accept` writes it, `discard` drops it"));
    }
    page.finish()
}

fn counts(stage: &Stage) -> String {
    let nested = match stage.nested_skipped {
        0 => String::new(),
        1 => "; 1 match inside another stays as it is".to_owned(),
        n => format!("; {n} matches inside others stay as they are"),
    };
    format!("{} in {}{nested}", count(stage.sites, "place"), count(stage.files.len() as u64, "file"))
}

/// `ast.staged`: a line a stage.
pub fn staged(result: &StagedResult, options: Options) -> String {
    let mut page = Page::new(options);
    for stage in &result.stages {
        let run = stage.run_id.as_deref().map(|run| format!(", run {run}")).unwrap_or_default();
        let id = stage.stage_id.as_deref().unwrap_or_default();
        page.line(format!("{id}  {}: {}{run}", stage.root, counts(stage)));
        for file in stage.files.iter().take(NAMED) {
            page.line(format!("  {} ({})", file.rel, count(file.sites, "place")));
        }
        if stage.files.len() > NAMED {
            page.line(format!("  and {} more files", stage.files.len() - NAMED));
        }
    }
    let shown = result.stages.len() as u64;
    page.foot(if shown == result.total { count(shown, "stage") } else { format!("{shown} of {}", count(result.total, "stage")) });
    page.finish()
}

/// `ast.resolve`.
pub fn resolve(result: &ResolveResult, options: Options) -> String {
    let mut page = Page::new(options);
    match result {
        ResolveResult::Accepted(outcome) => return edit(outcome, options),
        ResolveResult::Discarded(discarded) => page.line(format!("discarded {}; nothing was written", discarded.stage_id)),
        ResolveResult::Preview(preview) => {
            page.text(preview.preview.trim_end_matches('\n'));
            page.foot(format!("{} in {}", count(preview.sites, "place"), count(preview.files, "file")));
            if let Some(cursor) = &preview.next_cursor {
                page.foot(format!("next page: --cursor {cursor}"));
            }
        }
    }
    page.finish()
}
