//! Parsing with a deadline, and the pool of parsers.

use std::{
    ops::ControlFlow,
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use tree_sitter::{ParseOptions, ParseState, Parser, Point, Range, Tree};

use crate::{LANGUAGES, LanguageId};

/// Parsers kept for a language; more are dropped after use.
const POOL: usize = 8;

static PARSERS: [Mutex<Vec<Parser>>; 16] = [const { Mutex::new(Vec::new()) }; 16];
const _: () = assert!(PARSERS.len() >= 10);

/// Bytes from which the depth of a tree is always counted: keywords (`else if`) nest as well as brackets.
const LONG: usize = 64 << 10;

/// What bounds a parse.
#[derive(Clone, Copy, Debug)]
pub struct ParseLimits {
    /// Of this parse.
    pub deadline: Duration,
    /// Of the tree.
    pub max_depth: u32,
}

/// Why there is no tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// The caller's flag is up.
    #[error("cancelled")]
    Cancelled,
    /// It took too long.
    #[error("not parsed within the deadline")]
    Deadline,
    /// The tree is deeper than the limit.
    #[error("the syntax tree is too deep")]
    TooDeep,
}

/// Parses a text, or only the part of it between two byte offsets (`within`); positions are those of the whole text.
pub fn parse(
    language: LanguageId,
    text: &[u8],
    within: Option<(Point, usize, Point, usize)>,
    limits: ParseLimits,
    cancelled: &dyn Fn() -> bool,
) -> Result<Tree, ParseError> {
    let tree = parse_any_depth(language, text, within, limits.deadline, cancelled)?;
    if (text.len() > LONG || may_be_deep(text, limits.max_depth)) && depth_exceeds(&tree, limits.max_depth) {
        return Err(ParseError::TooDeep);
    }
    Ok(tree)
}

/// As [`parse`], for who counts the levels on a walk of his own.
pub(crate) fn parse_any_depth(
    language: LanguageId,
    text: &[u8],
    within: Option<(Point, usize, Point, usize)>,
    deadline: Duration,
    cancelled: &dyn Fn() -> bool,
) -> Result<Tree, ParseError> {
    debug_assert!(LANGUAGES.len() <= PARSERS.len());
    let pool = &PARSERS[usize::from(language.number())];
    let pooled = pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
    let mut parser = pooled.unwrap_or_else(|| {
        let mut parser = Parser::new();
        parser.set_language(language.grammar()).expect("the grammars in the table have this library's version");
        parser
    });
    let ranges: Vec<Range> = within
        .map(|(start_point, start_byte, end_point, end_byte)| Range { start_byte, end_byte, start_point, end_point })
        .into_iter()
        .collect();
    // A parser without ranges takes the whole text; one from the pool may still hold the last ones.
    let _ = parser.set_included_ranges(&ranges);

    let start = Instant::now();
    let mut stopped = None;
    let mut watch = |_: &ParseState| {
        if cancelled() {
            stopped = Some(ParseError::Cancelled);
        } else if start.elapsed() > deadline {
            stopped = Some(ParseError::Deadline);
        }
        if stopped.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let mut read = |at: usize, _: Point| text.get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut read, None, Some(ParseOptions::new().progress_callback(&mut watch)));
    parser.reset();
    let mut parsers = pool.lock().unwrap_or_else(PoisonError::into_inner);
    if parsers.len() < POOL {
        parsers.push(parser);
    }
    drop(parsers);

    tree.ok_or(stopped.unwrap_or(ParseError::Deadline))
}

/// Whether a tree of this text could be deeper than `depth`, by its brackets and by its length: a look at the bytes
/// that spares the walk for all but strange files.
fn may_be_deep(text: &[u8], depth: u32) -> bool {
    let (mut open, mut most) = (0u32, 0u32);
    // Chains (`a + a + a`, `a.b().c()`) nest without brackets: one level for two operators, tokens or lines.
    let mut chain = 0u32;
    for &byte in text {
        match byte {
            b'(' | b'[' | b'{' => {
                open += 1;
                most = most.max(open);
            }
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            b';' => chain = 0,
            b'+' | b'-' | b'*' | b'/' | b'|' | b'&' | b'.' | b'<' | b'>' | b'!' | b'?' | b'=' | b'%' | b'^' | b'~' | b'@' => {
                chain += 1;
                most = most.max(chain);
            }
            _ => {}
        }
    }
    most > depth / 4
}

/// Whether the tree has more levels than `limit`. One walk with a cursor, no recursion.
pub fn depth_exceeds(tree: &Tree, limit: u32) -> bool {
    let mut cursor = tree.walk();
    // Counted here: the cursor would count its way up at every step.
    let mut depth = 0;
    loop {
        if depth > limit {
            return true;
        }
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return false;
            }
            depth -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ParseLimits = ParseLimits { deadline: Duration::from_secs(2), max_depth: 10_000 };

    fn check(language: LanguageId, text: &str, limits: ParseLimits) -> Result<(), ParseError> {
        parse(language, text.as_bytes(), None, limits, &|| false).map(|_| ())
    }

    #[test]
    fn deep_files_are_refused_and_do_not_overflow() {
        for language in LanguageId::all() {
            let nested = format!("x = {}1{}", "(".repeat(100_000), ")".repeat(100_000));
            let chain = format!("x = 1{}", "+1".repeat(100_000));
            for text in [nested, chain] {
                let outcome = check(language, &text, LIMITS);
                assert!(matches!(outcome, Ok(()) | Err(ParseError::TooDeep | ParseError::Deadline)), "{outcome:?}");
            }
        }
    }

    #[test]
    fn a_deadline_and_a_cancel_stop_a_parse() {
        let text = "fn f() { g(1, 2, 3); }\n".repeat(20_000);
        let none = ParseLimits { deadline: Duration::ZERO, max_depth: 10_000 };
        assert_eq!(check(LanguageId::RUST, &text, none), Err(ParseError::Deadline));
        let cancelled = parse(LanguageId::RUST, text.as_bytes(), None, LIMITS, &|| true);
        assert_eq!(cancelled.err(), Some(ParseError::Cancelled));
        assert_eq!(check(LanguageId::RUST, "fn f() {}", LIMITS), Ok(()), "the pool gives a clean parser afterwards");
    }

    #[test]
    fn a_part_of_a_text_keeps_its_positions() {
        let text = b"cfg! { fn f() {} }";
        let within = (Point::new(0, 6), 6, Point::new(0, 17), 17);
        let tree = parse(LanguageId::RUST, text, Some(within), LIMITS, &|| false).unwrap();
        let item = tree.root_node().named_child(0).unwrap();
        assert_eq!((item.kind(), item.start_byte()), ("function_item", 7));
    }
}
