//! C and C++ with one side of each `#if` taken.
//!
//! The grammar wants whole declarations between the lines of the preprocessor. Where two heads share a body, or a brace
//! opens in a branch and closes behind it, it loses its way for the rest of the file. Then the first branch is taken and
//! all lines of the preprocessor are blanked, as a compiler would; what they define is read from the lines themselves, and
//! the other branches are parsed one by one.

use ccd_grammars::DefinitionRole;
use rustc_hash::FxHashSet;

use super::{
    event::{Data, Event, RawDefinition, ValueKind},
    imports::{RawImport, RawImports},
    preprocessor::{alone, comment_end, directive_end, is_capitals, is_word, line_end, quote_end, skip_blank, word_end},
};
use crate::facts::{ImportKind, Join, SiteKind};

/// The pattern of what is read from lines: behind all others.
const LINES: u32 = u32::MAX - 1;

/// A text of the same length with one branch each.
pub(crate) struct Flattened {
    pub(crate) text: Vec<u8>,
    /// The other branches, as byte ranges.
    pub(crate) others: Vec<(usize, usize)>,
    /// What the blanked lines define and include.
    pub(crate) events: Vec<Event>,
}

struct Condition {
    /// The branch under way is left out.
    out: bool,
    /// A branch was taken.
    taken: bool,
    /// Where the branch under way begins.
    begins: usize,
}

/// Takes the first branch of each condition that is not `0`.
pub(crate) fn flattened(text: &[u8]) -> Flattened {
    let mut made = Flattened { text: text.to_vec(), others: Vec::new(), events: Vec::new() };
    let mut open: Vec<Condition> = Vec::new();
    let mut at = 0;
    while at < text.len() {
        match text[at] {
            b'/' if text.get(at + 1) == Some(&b'/') => at = line_end(text, at),
            b'/' if text.get(at + 1) == Some(&b'*') => at = comment_end(text, at),
            b'"' => at = quote_end(text, at),
            b'\'' if at == 0 || !is_word(text[at - 1]) => at = quote_end(text, at),
            b'#' if alone(text, at) => {
                let end = directive_end(text, at);
                made.directive(text, (at, end), &mut open);
                at = end;
            }
            byte if is_word(byte) => {
                let end = word_end(text, at);
                at = made.invocation(text, (at, end)).unwrap_or(end);
            }
            _ => at += 1,
        }
    }
    made
}

impl Flattened {
    fn directive(&mut self, text: &[u8], (at, end): (usize, usize), open: &mut Vec<Condition>) {
        self.text[at..end].fill(b' ');
        let blank = |from: usize| text[from..end].iter().position(|byte| !matches!(byte, b' ' | b'\t')).map_or(end, |n| from + n);
        let word = blank(at + 1);
        let word_end = word_end(text, word).min(end);
        let argument = blank(word_end);
        match &text[word..word_end] {
            b"if" | b"ifdef" | b"ifndef" => {
                let zero = &text[word..word_end] == b"if" && text[argument..end].trim_ascii() == b"0";
                open.push(Condition { out: zero, taken: !zero, begins: end });
            }
            b"else" | b"elif" | b"elifdef" | b"elifndef" => {
                if let Some(condition) = open.last_mut() {
                    let (out, begins) = (condition.out, condition.begins);
                    condition.out = condition.taken;
                    condition.taken = true;
                    condition.begins = end;
                    self.leave_out(text, out, begins, at);
                }
            }
            b"endif" => {
                if let Some(condition) = open.pop() {
                    self.leave_out(text, condition.out, condition.begins, at);
                }
            }
            b"define" => {
                let name = (argument as u32, super::preprocessor::word_end(text, argument).min(end) as u32);
                self.event((at, end), Data::Definition(Box::new(macro_named(name, end))));
            }
            b"include" | b"include_next" | b"import" => self.include(text, (at, end), argument),
            _ => {}
        }
    }

    /// A macro that is called where a declaration stands (`DEFINE_FLAG(int, size, 8, "bytes");` at the begin of a line, or
    /// `METHODS(X)` without its semicolon): its arguments are no code. Where it ends, if it is one.
    fn invocation(&mut self, text: &[u8], (at, end): (usize, usize)) -> Option<usize> {
        let begins = at == 0 || text[at - 1] == b'\n';
        if !alone(text, at) || !is_capitals(&text[at..end]) || text.get(end) != Some(&b'(') {
            return None;
        }
        let mut depth = 0u32;
        let mut close = end;
        while close < text.len() {
            match text[close] {
                b'"' | b'\'' => {
                    close = quote_end(text, close);
                    continue;
                }
                b'(' => depth += 1,
                b')' if depth == 1 => break,
                b')' => depth -= 1,
                _ => {}
            }
            close += 1;
        }
        let after = close + 1;
        let rest = text.get(after..line_end(text, after.min(text.len())))?.trim_ascii();
        let next = text.get(skip_blank(text, after));
        // A body makes it the head of a function, and a name behind it is what it declares.
        if next == Some(&b'{') || !(rest.is_empty() || begins && rest.starts_with(b";")) {
            return None;
        }
        let to = after + usize::from(rest.starts_with(b";"));
        for byte in self.text[at..to].iter_mut().filter(|byte| **byte != b'\n') {
            *byte = b' ';
        }
        let name = (at as u32, end as u32);
        self.event((at, end), Data::Site(SiteKind::Call, vec![(Join::Root, name)]));
        Some(to)
    }

    fn leave_out(&mut self, text: &[u8], out: bool, begins: usize, end: usize) {
        if !out {
            return;
        }
        for (byte, original) in self.text[begins..end].iter_mut().zip(&text[begins..end]) {
            if *original != b'\n' {
                *byte = b' ';
            }
        }
        // What is in a branch that is left out is parsed with it.
        self.others.retain(|&(from, _)| from < begins);
        self.others.push((begins, end));
    }

    fn include(&mut self, text: &[u8], (at, end): (usize, usize), argument: usize) {
        let close = match text.get(argument) {
            Some(b'"') => b'"',
            Some(b'<') => b'>',
            _ => return,
        };
        let Some(length) = text[argument + 1..end].iter().position(|&byte| byte == close) else { return };
        let inner = (argument as u32 + 1, (argument + 1 + length) as u32);
        let path = if close == b'>' { (inner.0 - 1, inner.1 + 1) } else { inner };
        let one = RawImport {
            kind: ImportKind::Glob,
            at: argument as u32,
            path: vec![path],
            item: None,
            default_item: false,
            binding: None,
            exported: false,
            only_export: false,
        };
        self.event((at, end), Data::Import(Box::new(RawImports { imports: vec![one], exports: Vec::new() })));
    }

    fn event(&mut self, (start, end): (usize, usize), data: Data) {
        self.events.push(Event { start: start as u32, end: end as u32, pattern: LINES, data });
    }
}

/// Adds the definitions that only the other look at the text found. How far they reach it may not have known, so they hold
/// nothing.
pub(crate) fn add_missing(events: &mut Vec<Event>, found: Vec<Event>) {
    let known: FxHashSet<(u32, u32)> = events
        .iter()
        .filter_map(|event| match &event.data {
            Data::Definition(raw) => Some(raw.names.iter().copied()),
            _ => None,
        })
        .flatten()
        .collect();
    for mut event in found {
        if let Data::Definition(raw) = &event.data
            && !raw.names.iter().any(|name| known.contains(name))
        {
            let name = raw.names.first().map_or(event.start, |&(_, end)| end);
            event.end = event.end.min(raw.head_end.max(name));
            events.push(event);
        }
    }
}

fn macro_named(name: (u32, u32), end: usize) -> RawDefinition {
    RawDefinition {
        role: DefinitionRole::Macro,
        names: vec![name],
        owner: Vec::new(),
        of_trait: Vec::new(),
        value: ValueKind::None,
        head_end: end as u32,
        has_body: false,
        visibility: None,
    }
}
