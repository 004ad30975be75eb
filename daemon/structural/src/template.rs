//! What becomes of a match: text with the names of captures.

use std::ops::Range;

use ccd_grammars::scaffold;

use crate::{
    QueryError,
    meta::{Kind, scan},
    query::Query,
    reading::{Fragment, Source},
    rules::list,
};

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    Text(String),
    One(String),
    Many(String),
}

/// What becomes of a match.
#[derive(Debug)]
pub struct Template {
    /// Line by line, without the ends of lines.
    pub(crate) lines: Vec<Line>,
    /// It is one expression, statement or definition, and so must be what it makes.
    pub(crate) is_one: bool,
}

/// A line of a template.
#[derive(Debug)]
pub(crate) struct Line {
    /// Its indentation.
    pub(crate) indent: String,
    pub(crate) parts: Vec<Part>,
    /// It begins inside a string: it stays as it is.
    pub(crate) in_string: bool,
}

impl Template {
    /// Checks the names of a template against those that the query binds.
    pub fn new(text: &str, query: &Query) -> Result<Self, QueryError> {
        let (metas, _) = scan(text, false);
        let text = text.replace("\r\n", "\n");
        let metas = if text.contains('\r') || metas.is_empty() { metas } else { scan(&text, false).0 };
        let names = query.names();
        let bound: Vec<String> = names.iter().map(|(name, many)| format!("{}{name}", if *many { "$$$" } else { "$" })).collect();
        let mut parts = Vec::new();
        let mut from = 0;
        for meta in metas {
            let written = meta.written();
            match meta.kind {
                // Lower case, or one of a shell: text.
                Kind::Bad(why)
                    if text[meta.at.clone()].trim_start_matches('$').starts_with(|first: char| first.is_ascii_uppercase()) =>
                {
                    return Err(QueryError::Invalid { field: "rewrite", message: format!("{why}.") });
                }
                Kind::Bad(_) => continue,
                _ if meta.bound().is_none() => {
                    return Err(QueryError::Unbound {
                        message: format!(
                            "`{written}` in the rewrite holds nothing: give it a name in the pattern, which binds {}.",
                            list(&bound)
                        ),
                        name: meta.name,
                        bound,
                    });
                }
                _ => {}
            }
            let many = meta.kind == Kind::Many;
            match names.iter().find(|(name, _)| *name == meta.name) {
                None => {
                    return Err(QueryError::Unbound {
                        message: format!(
                            "The rewrite names `{written}`, which the pattern does not bind; it binds {}.",
                            list(&bound)
                        ),
                        name: meta.name,
                        bound,
                    });
                }
                Some((_, is_many)) if *is_many != many => {
                    return Err(QueryError::Unbound {
                        message: format!(
                            "The rewrite names `{written}`, and the pattern binds it the other way; it binds {}.",
                            list(&bound)
                        ),
                        name: meta.name,
                        bound,
                    });
                }
                Some(_) => {}
            }
            parts.push(Part::Text(text[from..meta.at.start].to_owned()));
            parts.push(if many { Part::Many(meta.name) } else { Part::One(meta.name) });
            from = meta.at.end;
        }
        parts.push(Part::Text(text[from..].to_owned()));
        let source = Source::new(query.language, &text);
        let fragment = scaffold(query.language).readings.iter().find_map(|rung| source.read(rung).ok());
        let strings = fragment.as_ref().map_or_else(Vec::new, |fragment| strings(&source, fragment, &text));
        let is_one = fragment.is_some_and(|fragment| is_one(&source, &fragment));
        Ok(Self { lines: lines(parts, &text, &strings), is_one })
    }

    /// Whether matches are deleted.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.iter().all(|line| line.parts.iter().all(|part| matches!(part, Part::Text(text) if text.trim().is_empty())))
    }

    /// The last character.
    pub(crate) fn ends_with(&self, end: &[char]) -> bool {
        let last = self.lines.iter().rev().flat_map(|line| line.parts.iter().rev());
        let mut last = last.filter(|part| !matches!(part, Part::Text(text) if text.trim().is_empty()));
        matches!(last.next(), Some(Part::Text(text)) if text.trim_end().ends_with(end))
    }

    /// The captures that it uses.
    pub(crate) fn uses(&self, name: &str) -> bool {
        let mut parts = self.lines.iter().flat_map(|line| &line.parts);
        parts.any(|part| matches!(part, Part::One(used) | Part::Many(used) if used == name))
    }
}

/// Whether a template is one thing, and neither a run nor a list.
fn is_one(source: &Source, fragment: &Fragment) -> bool {
    let nodes = &fragment.syntax.nodes;
    let [root] = fragment.roots[..] else { return false };
    let is_run = fragment.holes.iter().any(|(hole, meta)| *hole == nodes[root].range() && source.metas[*meta].kind == Kind::Many);
    let (mut is_list, mut at) = (false, root + 1);
    while at < nodes[root].next as usize {
        is_list |= !nodes[at].is_named() && &fragment.text[nodes[at].range()] == ",";
        at = nodes[at].next as usize;
    }
    let kind = source.language.kind_name(nodes[root].kind);
    !is_run && (!is_list || kind.contains("declaration"))
}

fn lines(parts: Vec<Part>, text: &str, strings: &[Range<usize>]) -> Vec<Line> {
    let mut lines = vec![Line { indent: String::new(), parts: Vec::new(), in_string: false }];
    for part in parts {
        let Part::Text(text) = part else {
            lines.last_mut().expect("there is a first line").parts.push(part);
            continue;
        };
        for (at, piece) in text.split('\n').enumerate() {
            if at > 0 {
                lines.push(Line { indent: String::new(), parts: Vec::new(), in_string: false });
            }
            if !piece.is_empty() {
                lines.last_mut().expect("there is a first line").parts.push(Part::Text(piece.to_owned()));
            }
        }
    }
    let mut start = 0;
    for (line, whole) in lines.iter_mut().zip(text.split('\n')) {
        line.in_string = strings.iter().any(|string| string.start < start && start < string.end);
        start += whole.len() + 1;
        if line.in_string {
            continue;
        }
        if let Some(Part::Text(first)) = line.parts.first_mut() {
            let indent = first.len() - first.trim_start().len();
            line.indent = first[..indent].to_owned();
            first.drain(..indent);
            if first.is_empty() {
                line.parts.remove(0);
            }
        }
    }
    lines
}

/// The strings of a template of more than one line, as far as it can be read.
fn strings(source: &Source, fragment: &Fragment, text: &str) -> Vec<Range<usize>> {
    // Blank ends were cut.
    let Some(lead) = text.find(&source.text) else { return Vec::new() };
    // The strings in the file that was read, by the number of their lines.
    let strings = fragment.syntax.nodes.iter().filter(|node| node.is_named() && is_string(source.language.kind_name(node.kind)));
    strings
        .filter(|node| node.start as usize >= fragment.span.start && node.end as usize <= fragment.span.end)
        .map(|node| {
            let line_of = |at: usize| fragment.text[fragment.span.start..at].matches('\n').count();
            let (first, last) = (line_of(node.start as usize), line_of(node.end as usize));
            let starts: Vec<usize> = std::iter::once(0).chain(source.text.match_indices('\n').map(|(at, _)| at + 1)).collect();
            // A line is in the string if it begins in it.
            lead + starts[first]..lead + starts.get(last).map_or(source.text.len(), |start| start + 1)
        })
        .collect()
}

/// Whether nodes of a kind hold text whose blanks count.
pub(crate) fn is_string(kind: &str) -> bool {
    kind.contains("string") || kind.contains("heredoc") || kind.contains("template_literal") || kind == "character_literal"
}
