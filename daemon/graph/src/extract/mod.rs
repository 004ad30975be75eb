//! From the bytes of a file to its facts.
//!
//! The queries of the language give matches in one pass over the tree; each is read at once into an [`event::Event`]
//! that holds no node, so trees can be dropped, and bodies of macros can be parsed again as items and add their events
//! to the same list. The events, in the order of the text, drive a stack of open definitions and scopes ([`build`]).

mod build;
mod classify;
mod event;
mod expr;
mod imports;
mod macros;
#[cfg(test)]
mod tests;

use std::time::Instant;

use ccd_corpus::{Cancel, Limits, Skipped};
use ccd_grammars::{LanguageId, ParseError, ParseLimits};

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
    while let Some(within) = pending.pop() {
        if within.is_some() && Instant::now() > deadline {
            break;
        }
        let left = limits.parse_deadline.saturating_sub(start.elapsed());
        let parse_limits = ParseLimits { deadline: left, max_depth: limits.max_depth };
        let tree = match ccd_grammars::parse(language, text, within, parse_limits, &|| cancel.is_cancelled()) {
            Ok(tree) => tree,
            Err(ParseError::Cancelled) => return Err(ExtractError::Cancelled),
            // A body that does not parse in time is only not looked into.
            Err(_) if within.is_some() => continue,
            Err(ParseError::TooDeep) => return Err(ExtractError::Skipped(Skipped::TooDeep { depth: limits.max_depth })),
            Err(ParseError::Deadline) => return Err(too_long()),
        };
        let has_error = tree.root_node().has_error();
        if within.is_some() && (has_error || !macros::holds_items(&tree)) {
            continue;
        }
        parse_error |= has_error;
        if let Some((_, start, _, end)) = within {
            // The tokens of this body were scanned for calls; the tree knows better.
            events.retain(|event: &event::Event| !((event.start as usize) >= start && (event.end as usize) <= end));
        }
        match event::read((language, &tree, text), deadline, cancel, &mut events, &mut pending) {
            Ok(()) => {}
            Err(ParseError::Cancelled) => return Err(ExtractError::Cancelled),
            Err(_) => return Err(too_long()),
        }
    }
    Ok(build::build(language, text, events, parse_error, generated))
}
