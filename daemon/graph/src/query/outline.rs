//! One file's definitions, and one definition in full.

use std::{path::Path, sync::PoisonError};

use ccd_corpus::{Cancel, Looked, Skipped};
use ccd_grammars::LanguageId;

use super::{calls::is_call, views};
use crate::{
    Answer, Outline, QueryError, SymbolDetail, SymbolQuery, SymbolView,
    engine::Graph,
    extract::{self, ExtractError},
    facts::{DefId, Facts},
    layout::Layout,
};

/// Bytes of a doc comment.
const MAX_DOC: usize = 16 * 1024;
/// Symbols of an outline; a file with more is cut, and its total says so.
const MAX_SYMBOLS: usize = 20_000;

impl Graph {
    /// The definitions of a file as a tree of at most `depth` levels. A file that is not indexed yet, or that changed
    /// since, is parsed now.
    pub fn outline(&self, rel: &Path, depth: u32, cancel: &Cancel) -> Result<Answer<Outline>, QueryError> {
        let language = match ccd_corpus::look(&self.root, rel, &self.limits) {
            Looked::Source(entry) => entry.language,
            Looked::Gone => return Err(Skipped::NotFound.into()),
            Looked::Folder => return Err(Skipped::IsDirectory.into()),
            Looked::Skipped(Skipped::Ignored | Skipped::NotRegular { what: "link" }) => {
                // Asked for by name, a file outside the index is read all the same, if it is one of this root.
                ccd_grammars::language_of_path(rel).ok_or(QueryError::Skipped(Skipped::Ignored))?
            }
            Looked::Skipped(skipped) => return Err(skipped.into()),
            Looked::Manifest | Looked::IgnoreFile | Looked::Other => {
                // A link that leads out, a FIFO: that says more than an unknown ending.
                self.root.open_file(rel).map_err(Skipped::from)?;
                return Err(QueryError::LanguageUnsupported { rel: rel.display().to_string() });
            }
        };
        let source = ccd_corpus::read(&self.root, rel, &self.limits)?;
        let contents = self.contents();
        let known = contents.model.file_at(rel).and_then(|id| Some((id, contents.model.file(id)?)));
        let text = rel.to_str().unwrap_or_default();
        let outline = match known {
            Some((id, entry)) if entry.version == source.version => {
                tree(&contents.layout, Some(id), text, language, &entry.facts, depth)
            }
            known => {
                let facts = match extract::extract(language, &source.bytes, source.generated, &self.limits, cancel) {
                    Ok(facts) => facts,
                    Err(ExtractError::Skipped(skipped)) => return Err(skipped.into()),
                    Err(ExtractError::Cancelled) => return Err(QueryError::Cancelled),
                };
                tree(&contents.layout, known.map(|(id, _)| id), text, language, &facts, depth)
            }
        };
        let (symbols, total, parse_error) = outline;
        Ok(self.answer(&contents, Outline { symbols, total, version: source.version, parse_error }))
    }

    /// One definition, with its doc comment and, if asked for, at most so many bytes of its text.
    pub fn symbol(
        &self,
        query: &SymbolQuery,
        with_source: Option<usize>,
        cancel: &Cancel,
    ) -> Result<Answer<SymbolDetail>, QueryError> {
        let contents = self.contents();
        self.ready_for_answers(&contents)?;
        if cancel.is_cancelled() {
            return Err(QueryError::Cancelled);
        }
        let symbol = contents.find(query)?;
        let unknown = || QueryError::SymbolUnknown { name: format!("{query:?}"), closest: Vec::new() };
        let (entry, definition) = contents.model.place(symbol).ok_or_else(unknown)?;
        let view = contents.view(symbol).ok_or_else(unknown)?;
        let text = self.texts.lock().unwrap_or_else(PoisonError::into_inner).get(&self.root, &entry.rel);
        let d = &entry.facts.definitions[definition as usize];
        let (start, head, end) = d.bytes;
        let (mut doc, mut source, mut truncated) = (None, None, false);
        if let Some(text) = text {
            let bytes = &text.bytes;
            doc = bytes.get(start as usize..head as usize).and_then(doc_text);
            if entry.language == LanguageId::PYTHON {
                doc = bytes.get(head as usize..end as usize).and_then(docstring).or(doc);
            }
            if let (Some(limit), Some(whole)) = (with_source, bytes.get(start as usize..end as usize)) {
                let mut cut = whole.len();
                if cut > limit {
                    truncated = true;
                    cut = whole[..limit].iter().rposition(|&byte| byte == b'\n').map_or(limit, |at| at + 1);
                }
                source = Some(String::from_utf8_lossy(&whole[..cut]).into_owned());
            }
        }
        let callers = contents.incoming(symbol, |record| is_call(record.kind), 1).len() as u64;
        let callees = contents.outgoing(symbol, |record| is_call(record.kind), 1).len() as u64;
        Ok(self.answer(&contents, SymbolDetail { symbol: view, doc, source, truncated, callers, callees }))
    }
}

fn tree(
    layout: &Layout,
    at: Option<u32>,
    rel: &str,
    language: LanguageId,
    facts: &Facts,
    depth: u32,
) -> (Vec<SymbolView>, u64, bool) {
    let count = facts.definitions.len();
    let mut children: Vec<Vec<DefId>> = vec![Vec::new(); count];
    let mut level = vec![0u32; count];
    for (index, d) in facts.definitions.iter().enumerate().skip(1) {
        children[d.container as usize].push(index as DefId);
        level[index] = level[d.container as usize] + 1;
    }
    // Inner ones first, so that each is whole when it is put into the one around it.
    let mut views: Vec<Option<SymbolView>> = vec![None; count];
    let shown = |index: usize| level[index] <= depth && index <= MAX_SYMBOLS;
    for index in (1..count).rev().filter(|&index| shown(index)) {
        let mut one = views::view(layout, at, rel, language, facts, index as DefId);
        let inner = children[index].iter().filter_map(|&child| views[child as usize].take());
        one.children = inner.collect();
        views[index] = Some(one);
    }
    let top = children[0].iter().filter_map(|&child| views[child as usize].take()).collect();
    (top, count as u64 - 1, facts.parse_error)
}

/// The text of comments before a definition, without their marks; attributes are left out.
fn doc_text(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_DOC)]);
    let mut lines: Vec<&str> = Vec::new();
    let mut in_block = false;
    for line in text.lines() {
        let line = line.trim();
        if in_block || line.starts_with("/*") {
            in_block = !line.ends_with("*/");
            let line = line.trim_start_matches("/*").trim_end_matches("*/").trim_end_matches('*').trim();
            lines.push(line.trim_start_matches(['*', '!']).trim());
        } else if let Some(rest) = line.strip_prefix("//") {
            lines.push(rest.trim_start_matches(['/', '!']).trim());
        } else if let Some(rest) = line.strip_prefix('#')
            && !rest.starts_with('[')
            && !rest.starts_with('!')
        {
            lines.push(rest.trim_start_matches('#').trim());
        }
    }
    let text = lines.join("\n").trim().to_owned();
    (!text.is_empty()).then_some(text)
}

/// The first statement of a body of Python, if it is a string.
fn docstring(bytes: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(MAX_DOC)]);
    // The colon that ends the head is the last on a line that a body follows.
    let body = text.split_once(":\n").or_else(|| text.split_once(":\r\n"))?.1.trim_start();
    let body = body.trim_start_matches(['r', 'R', 'u', 'U']);
    for quote in ["\"\"\"", "'''", "\"", "'"] {
        if let Some(rest) = body.strip_prefix(quote) {
            let inner = rest.split_once(quote)?.0;
            let lines: Vec<&str> = inner.trim().lines().map(str::trim).collect();
            return Some(lines.join("\n"));
        }
    }
    None
}
