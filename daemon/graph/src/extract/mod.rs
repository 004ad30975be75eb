//! From the bytes of a file to its facts.
//!
//! The queries of the language give matches in one pass over the tree; each is read at once into an [`event::Event`]
//! that holds no node, so trees can be dropped, and bodies of macros can be parsed again as items and add their events
//! to the same list. The events, in the order of the text, drive a stack of open definitions and scopes ([`build`]).

mod branches;
mod build;
mod classify;
mod declarator;
mod event;
mod expr;
mod imports;
mod macros;
mod preprocessor;
#[cfg(test)]
mod tests;

use std::time::Instant;

use ccd_corpus::{Cancel, Limits, Skipped};
use ccd_grammars::{LanguageId, ParseError, ParseLimits, Point, Tree};

use ccd_text::LineIndex;

use crate::facts::Facts;

/// Why there are no facts.
pub(crate) enum ExtractError {
    Skipped(Skipped),
    Cancelled,
}

/// The facts of a source text.
pub(crate) fn extract(
    language: LanguageId,
    text: &[u8],
    generated: bool,
    limits: &Limits,
    cancel: &Cancel,
) -> Result<Facts, ExtractError> {
    let language = ccd_grammars::grammar_of(language, text);
    // Read without what the grammar trips over; every offset is the same in both.
    let cleared = preprocessor::cleared(language, text);
    let read = cleared.as_deref().unwrap_or(text);
    let start = Instant::now();
    let deadline = start + limits.parse_deadline;
    let too_long = || {
        let deadline_ms = u64::try_from(limits.parse_deadline.as_millis()).unwrap_or(u64::MAX);
        ExtractError::Skipped(Skipped::ParseDeadline { deadline_ms })
    };
    let mut events = Vec::new();
    let mut parse_error = false;
    // The whole file first, then the bodies of macros that hold items; a body may hold further macros.
    let mut pending = vec![None];
    let mut flat = None;
    let mut left_out = Vec::new();
    while let Some(within) = pending.pop() {
        if within.is_some() && Instant::now() > deadline {
            break;
        }
        let left = limits.parse_deadline.saturating_sub(start.elapsed());
        let parse_limits = ParseLimits { deadline: left, max_depth: limits.max_depth };
        let mut parsed = ccd_grammars::parse(language, read, within, parse_limits, &|| cancel.is_cancelled());
        let mut source = read;
        let mut second: Option<(Tree, &[u8])> = None;
        if within.is_none()
            && let Ok(tree) = &parsed
            && language.family() == LanguageId::C
            && tree.root_node().has_error()
        {
            let made = flat.insert(branches::flattened(read));
            let limits = ParseLimits { deadline: limits.parse_deadline.saturating_sub(start.elapsed()), ..parse_limits };
            let other = ccd_grammars::parse(language, &made.text, None, limits, &|| cancel.is_cancelled());
            match other {
                Ok(other) if wrong_bytes(&other) < wrong_bytes(tree) => {
                    second = std::mem::replace(&mut parsed, Ok(other)).ok().map(|tree| (tree, read));
                    source = &made.text;
                    events.append(&mut made.events);
                    let lines = LineIndex::new(text);
                    let point = |offset: usize| {
                        let line = lines.place(text, offset).line;
                        Point::new(line as usize - 1, offset - lines.start_of(text, line))
                    };
                    pending.extend(made.others.iter().map(|&(start, end)| Some((point(start), start, point(end), end))));
                }
                Ok(other) => {
                    left_out.append(&mut made.events);
                    second = Some((other, &made.text));
                }
                Err(_) => {}
            }
        }
        let tree = match parsed {
            Ok(tree) => tree,
            Err(ParseError::Cancelled) => return Err(ExtractError::Cancelled),
            // A body that does not parse in time is only not looked into.
            Err(_) if within.is_some() => continue,
            Err(ParseError::TooDeep) => return Err(ExtractError::Skipped(Skipped::TooDeep { depth: limits.max_depth })),
            Err(ParseError::Deadline) => return Err(too_long()),
        };
        let has_error = tree.root_node().has_error();
        let in_macro = within.is_some() && language == LanguageId::RUST;
        if within.is_some() && has_error || in_macro && !macros::holds_items(&tree) {
            continue;
        }
        parse_error |= has_error;
        if let Some((_, start, _, end)) = within {
            // The tokens of this body were scanned for calls; the tree knows better.
            events.retain(|event: &event::Event| !((event.start as usize) >= start && (event.end as usize) <= end));
        }
        match event::read((language, &tree, source), deadline, cancel, &mut events, &mut pending) {
            Ok(()) => {}
            Err(ParseError::Cancelled) => return Err(ExtractError::Cancelled),
            Err(_) => return Err(too_long()),
        }
        if let Some((tree, source)) = second {
            match event::read((language, &tree, source), deadline, cancel, &mut left_out, &mut pending) {
                Ok(()) => {}
                Err(ParseError::Cancelled) => return Err(ExtractError::Cancelled),
                Err(_) => return Err(too_long()),
            }
        }
    }
    branches::add_missing(&mut events, left_out);
    Ok(build::build(language, text, events, parse_error, generated))
}

/// How much of a text the parser could not make sense of: bytes, and one for each node that it put in.
fn wrong_bytes(tree: &Tree) -> usize {
    let mut cursor = tree.walk();
    let mut wrong = 0;
    loop {
        let node = cursor.node();
        wrong += if node.is_error() { node.byte_range().len() + 1 } else { usize::from(node.is_missing()) };
        if !node.is_error() && node.has_error() && cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return wrong;
            }
        }
    }
}
