//! `graph.*` as text.

use ccd_protocol::{
    graph::{
        Confidence, DigestResult, Edge, EdgesResult, ImpactResult, IndexResult, OutlineResult, PathResult, SearchResult, State,
        Symbol, SymbolRef, SymbolResult,
    },
    workspace::Freshness,
};

use super::{Options, page::Page};

/// Which end of an edge is of interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Who leads here: callers, importers.
    In,
    /// Where it leads: callees, imports.
    Out,
}

/// `graph.index`.
pub fn index(result: &IndexResult, options: Options) -> String {
    let mut page = Page::new(options);
    page.line(format!(
        "indexed in {}: {} parsed, {} unchanged, {} removed",
        seconds(result.elapsed_ms),
        count(result.files_parsed, "file"),
        result.unchanged,
        result.removed
    ));
    page.line(format!("{}, {}", count(result.symbols, "symbol"), count(result.edges, "edge")));
    state(&mut page, &result.state);
    page.finish()
}

/// `graph.search`.
pub fn search(result: &SearchResult, options: Options) -> String {
    let mut page = Page::new(options);
    for symbol in &result.symbols {
        page.line(format!("{}  {}", symbol_line(symbol), symbol.signature));
    }
    totals(&mut page, result.symbols.len(), result.total, "symbol", result.hidden, result.next_cursor.as_deref());
    state(&mut page, &result.state);
    page.finish()
}

/// `graph.outline`.
pub fn outline(result: &OutlineResult, options: Options) -> String {
    let mut page = Page::new(options);
    page.line(&result.rel);
    // An explicit stack: the depth comes from the wire.
    let mut rest: Vec<(usize, &Symbol)> = result.symbols.iter().rev().map(|symbol| (1, symbol)).collect();
    let mut shown = 0;
    while let Some((depth, symbol)) = rest.pop() {
        shown += 1;
        let start = symbol.name_range.start;
        page.line(format!(
            "{}{}:{} {} {}  {}",
            "  ".repeat(depth),
            start.line,
            start.column,
            word(&symbol.kind),
            symbol.name,
            symbol.signature
        ));
        rest.extend(symbol.children.iter().rev().map(|child| (depth + 1, child)));
    }
    totals(&mut page, shown, result.total, "symbol", None, None);
    if result.parse_error {
        page.foot("the file has a syntax error: what stands around it is listed");
    }
    page.foot(format!("version {}", result.version));
    page.finish()
}

/// `graph.symbol`.
pub fn symbol(result: &SymbolResult, options: Options) -> String {
    let mut page = Page::new(options);
    page.line(symbol_line(&result.symbol));
    page.line(format!("  {}", result.signature));
    page.line(format!("  id: {}", result.symbol.id));
    page.line(format!("  {}, {}", count(result.callers_count, "caller"), count(result.callees_count, "callee")));
    if let Some(doc) = &result.doc {
        page.line("");
        page.text(doc.trim_end());
    }
    if let Some(source) = &result.source {
        let range = result.symbol.range;
        page.line("");
        page.line(format!("{}:{}-{}", result.symbol.rel, range.start.line, range.end.line));
        page.text(source.trim_end_matches('\n'));
    }
    if result.truncated {
        page.foot("the source is cut; ask for more bytes");
    }
    state(&mut page, &result.state);
    page.finish()
}

/// `graph.callers`, `callees`, `imports`, `importers`; `what` names one of them.
pub fn edges(result: &EdgesResult, direction: Direction, what: &str, options: Options) -> String {
    let mut page = Page::new(options);
    let deep = result.edges.iter().any(|edge| edge.distance > 1);
    let mut distance = 0;
    for edge in &result.edges {
        if deep && edge.distance != distance {
            distance = edge.distance;
            page.line(format!("distance {distance}:"));
        }
        page.line(edge_line(edge, direction));
    }
    totals(&mut page, result.edges.len(), result.total, what, result.hidden, result.next_cursor.as_deref());
    state(&mut page, &result.state);
    page.finish()
}

/// `graph.impact`.
pub fn impact(result: &ImpactResult, options: Options) -> String {
    let mut page = Page::new(options);
    for level in &result.by_distance {
        page.line(format!("distance {}:", level.distance));
        for (n, symbol) in level.symbols.iter().enumerate() {
            let via = level.via.get(n).map(|edge| format!("  {} {} ({})", word(&edge.kind), edge.to.qualified, sureness(edge)));
            page.line(format!("  {}{}", short(symbol), via.unwrap_or_default()));
        }
    }
    if !result.tests.is_empty() {
        page.line("tests:");
        for test in &result.tests {
            page.line(format!("  {}", short(test)));
        }
    }
    if !result.files.is_empty() {
        page.line("files:");
        for file in &result.files {
            page.line(format!("  {file}"));
        }
    }
    page.foot(format!(
        "{} in {}, {}",
        count(result.total, "symbol"),
        count(result.files.len() as u64, "file"),
        count(result.tests.len() as u64, "test")
    ));
    if result.truncated {
        page.foot("not all are listed: a higher limit, or a lower depth, shows more");
    }
    state(&mut page, &result.state);
    page.finish()
}

/// `graph.path`.
pub fn paths(result: &PathResult, options: Options) -> String {
    let mut page = Page::new(options);
    for (n, path) in result.paths.iter().enumerate() {
        page.line(format!("way {} ({}):", n + 1, count(path.len() as u64, "step")));
        for edge in path {
            page.line(format!("  {}", edge_line(edge, Direction::Out)));
        }
    }
    page.foot(match (result.total, result.truncated) {
        (0, true) => "none found, but the search was cut: a way may exist".to_owned(),
        (0, false) => "no way over calls".to_owned(),
        (total, _) => count(total, "way"),
    });
    state(&mut page, &result.state);
    page.finish()
}

/// `graph.digest`.
pub fn digest(result: &DigestResult, options: Options) -> String {
    let mut page = Page::new(options);
    page.line(&result.digest);
    page.foot(format!("{}, {}", count(result.symbols, "symbol"), count(result.edges, "edge")));
    state(&mut page, &result.state);
    page.finish()
}

/// `path:line:col kind name`.
pub(super) fn symbol_line(symbol: &Symbol) -> String {
    let start = symbol.name_range.start;
    format!("{}:{}:{} {} {}", symbol.rel, start.line, start.column, word(&symbol.kind), symbol.qualified)
}

/// `path:line kind name`, or the name and where it leads for what lies outside.
fn short(symbol: &SymbolRef) -> String {
    let kind = symbol.kind.map(|kind| format!("{} ", word(&kind))).unwrap_or_default();
    match (&symbol.rel, symbol.line) {
        (Some(rel), Some(line)) => format!("{rel}:{line} {kind}{}", symbol.qualified),
        (Some(rel), None) => format!("{rel} {kind}{}", symbol.qualified),
        _ => format!("{kind}{}", symbol.qualified),
    }
}

/// The site, the symbol at the end of interest, how sure, and the line of source.
fn edge_line(edge: &Edge, direction: Direction) -> String {
    let end = match direction {
        Direction::In => {
            let kind = edge.from.kind.map(|kind| format!("{} ", word(&kind))).unwrap_or_default();
            format!("{kind}{}", edge.from.qualified)
        }
        Direction::Out => format!("{} -> {}", edge.from.qualified, short(&edge.to)),
    };
    format!(
        "{}:{}:{} {end}  ({}, {})  {}",
        edge.site.rel,
        edge.site.line,
        edge.site.column,
        word(&edge.kind),
        sureness(edge),
        edge.site.text
    )
}

fn sureness(edge: &Edge) -> String {
    match (edge.confidence, edge.of) {
        (Confidence::Candidate, Some(of)) => format!("candidate, one of {of}"),
        (confidence, _) => word(&confidence),
    }
}

fn totals(page: &mut Page, shown: usize, total: u64, what: &str, hidden: Option<u64>, cursor: Option<&str>) {
    page.foot(if shown as u64 == total { count(total, what) } else { format!("{shown} of {}", count(total, what)) });
    if let Some(hidden) = hidden.filter(|hidden| *hidden > 0) {
        page.foot(format!("{hidden} left out: their files are gone"));
    }
    if let Some(cursor) = cursor {
        page.foot(format!("next page: --cursor {cursor}"));
    }
}

/// Says what the answer does not cover; nothing where it is fresh and complete.
fn state(page: &mut Page, state: &State) {
    match state.state {
        Freshness::Ready => {}
        Freshness::NotIndexed => page.foot("state: not indexed yet; `ccctl index` makes the index"),
        Freshness::Indexing => page.foot(match state.indexing {
            Some(progress) => format!("state: indexing, {} of {} files; more may come", progress.done, progress.total),
            None => "state: indexing; more may come".to_owned(),
        }),
        Freshness::Stale => page.foot(match state.stale {
            Some(stale) => {
                format!("state: stale, {} changed or not checked since the index was made", count(stale.files, "file"))
            }
            None => "state: stale".to_owned(),
        }),
    }
}

/// An enum of the wire by its word there.
pub(super) fn word<T: serde::Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

/// `1 file`, `2 files`, `0 files`; `2 matches` never comes up.
pub(super) fn count(n: u64, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// `850 ms`, `12.3 s`.
pub(super) fn seconds(ms: u64) -> String {
    if ms < 1000 { format!("{ms} ms") } else { format!("{}.{} s", ms / 1000, ms % 1000 / 100) }
}
