//! `workspace.*` as text.

use ccd_protocol::workspace::{
    Allowed, CloseResult, Freshness, IndexState, ListResult, OpenResult, ReadResult, StatusResult, TrustResult, TrustState,
    TrustWord, TrustedBy, TrustedRoot, WatchState,
};

use super::{
    Options,
    graph::{count, word},
    page::Page,
};

/// `workspace.open`.
pub fn open(result: &OpenResult, options: Options) -> String {
    let mut page = Page::new(options);
    page.line(format!("{}  index: {}", result.root, state(&result.index)));
    for language in &result.languages {
        page.line(format!("  {}: {}", language.id, count(language.files, "file")));
    }
    page.finish()
}

/// `workspace.status`.
pub fn workspace(result: &StatusResult, options: Options) -> String {
    let mut page = Page::new(options);
    let index = &result.index;
    page.line(format!("{}  index: {}", result.root, state(&index.state)));
    page.line(format!("  {}", trust_words(&result.trust)));
    if let Some(detail) = &result.trust.detail {
        page.line(format!("  {detail}"));
    }
    page.line(format!(
        "  {}, {}, {}, generation {}",
        count(index.files, "file"),
        count(index.symbols, "symbol"),
        count(index.edges, "edge"),
        index.generation
    ));
    if !index.skipped.is_empty() {
        let reasons: Vec<String> = index.skipped.iter().map(|(reason, n)| format!("{n} {reason}")).collect();
        page.line(format!("  skipped: {}", reasons.join(", ")));
    }
    if index.parse_errors > 0 {
        page.line(format!("  {} with syntax errors; indexed around them", count(index.parse_errors, "file")));
    }
    if index.watch != WatchState::On {
        page.line(format!(
            "  watch: {}: {}",
            word(&index.watch),
            index.watch_detail.as_deref().unwrap_or("files are checked before an answer")
        ));
    }
    if let Some(rebuilt) = &index.rebuilt {
        page.line(format!("  the index was set aside and built anew {} s ago: {}", rebuilt.since_s, rebuilt.reason));
    }
    if let Some(error) = &index.last_error {
        page.line(format!("  the last run failed: {error}"));
    }
    page.finish()
}

/// `workspace.trust`.
pub fn trust(result: &TrustResult, options: Options) -> String {
    let mut page = Page::new(options);
    page.line(format!("{}  {}", result.root, trust_words(&result.trust)));
    if !result.changed {
        page.line(if result.trust.by == Some(TrustedBy::Grant) {
            "  it was trusted so already"
        } else {
            "  there was no grant to take back"
        });
    }
    if let Some(detail) = &result.trust.detail {
        page.line(format!("  {detail}"));
    }
    page.foot(format!("{} trusted; `ccctl trust --list` shows them", count(result.trusted.len() as u64, "root")));
    page.finish()
}

/// The grants of `daemon.status`.
pub fn trusted(roots: &[TrustedRoot], options: Options) -> String {
    let mut page = Page::new(options);
    for root in roots {
        page.line(trusted_root(root));
    }
    page.foot(count(roots.len() as u64, "trusted root"));
    page.finish()
}

/// A grant on a line.
pub(super) fn trusted_root(root: &TrustedRoot) -> String {
    let worktrees = if root.worktrees { " and its worktrees" } else { "" };
    format!("{}{worktrees}{}", root.root, allowed(&root.allow))
}

fn trust_words(trust: &TrustState) -> String {
    let from = trust.from.as_deref().unwrap_or_default();
    let how = match (trust.state, trust.by) {
        (TrustWord::Untrusted, _) => return "untrusted".to_owned(),
        (TrustWord::Trusted, Some(TrustedBy::Worktree)) => format!(" as a worktree of {from}"),
        (TrustWord::Trusted, Some(TrustedBy::Config)) => format!(" by the configuration (below {from})"),
        (TrustWord::Trusted, _) => String::new(),
    };
    format!("trusted{how}{}", allowed(&trust.allow))
}

fn allowed(what: &[Allowed]) -> String {
    if what.is_empty() {
        return String::new();
    }
    format!(", with its own {}", what.iter().map(word).collect::<Vec<_>>().join(" and "))
}

/// `workspace.list`.
pub fn list(result: &ListResult, options: Options) -> String {
    let mut page = Page::new(options);
    for workspace in &result.workspaces {
        page.line(format!("{}  index: {}", workspace.root, state(&workspace.index)));
    }
    page.foot(count(result.workspaces.len() as u64, "open workspace"));
    page.finish()
}

/// `workspace.close`.
pub fn close(result: &CloseResult, options: Options) -> String {
    let mut page = Page::new(options);
    page.line(if result.closed { "closed; the index stays in the cache" } else { "it was not open" });
    page.finish()
}

/// `workspace.read`.
pub fn read(result: &ReadResult, options: Options) -> String {
    let mut page = Page::new(options);
    page.text(result.text.strip_suffix('\n').unwrap_or(&result.text));
    if result.truncated {
        page.foot(format!("cut; the file has {}", count(result.total_lines, "line")));
    }
    page.foot(format!("version {}", result.version));
    page.finish()
}

/// The word of an index, with its numbers.
pub(super) fn state(state: &IndexState) -> String {
    match (state.state, state.indexing, state.stale) {
        (Freshness::Indexing, Some(progress), _) => format!("indexing, {} of {} files", progress.done, progress.total),
        (Freshness::Stale, _, Some(stale)) => format!("stale, {}", count(stale.files, "file")),
        (Freshness::NotIndexed, ..) => "not made yet".to_owned(),
        (other, ..) => word(&other),
    }
}
