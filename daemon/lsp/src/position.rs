//! Positions at the border: what a server counts, and what we tell.
//!
//! A server counts lines and columns from 0, columns in UTF-16 or UTF-8 code units, and takes a lone carriage return for a
//! line end. We tell lines that end with a line feed and columns in Unicode scalar values, from 1. What a server says
//! outside of the text is moved to its nearest place.

use ccd_diagnostics::{Position, Range};
use ccd_text::LineIndex;
use serde::Deserialize;
use serde_json::{Value, json};

/// What a column of the server counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Bytes.
    Utf8,
    /// UTF-16 code units: what a server means that says nothing.
    Utf16,
}

/// A place as the wire has it. Numbers that are negative, fractional or absurd are read too: a server may lie.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(crate) struct WirePosition {
    line: f64,
    character: f64,
}

/// A stretch as the wire has it.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq)]
#[serde(default)]
pub(crate) struct WireRange {
    start: WirePosition,
    end: WirePosition,
}

impl WireRange {
    /// From line and column counted from 1, as tsserver does.
    pub(crate) fn from_ones(start: (f64, f64), end: (f64, f64)) -> Self {
        let place = |(line, offset): (f64, f64)| WirePosition { line: line - 1.0, character: offset - 1.0 };
        Self { start: place(start), end: place(end) }
    }

    /// From 1, and else as the server counts: for a text that is not at hand.
    pub(crate) fn unconverted(self) -> Range {
        let place = |place: WirePosition| Position {
            line: (place.line as u32).saturating_add(1),
            column: (place.character as u32).saturating_add(1),
        };
        Range { start: place(self.start), end: place(self.end).max(place(self.start)) }
    }
}

/// A text with its lines, to convert places in it.
pub(crate) struct Places<'t> {
    text: &'t str,
    /// Where the lines of the protocol begin.
    starts: Vec<usize>,
    ours: LineIndex,
    encoding: Encoding,
}

impl<'t> Places<'t> {
    pub(crate) fn new(text: &'t str, encoding: Encoding) -> Self {
        Self { text, starts: starts(text), ours: LineIndex::new(text.as_bytes()), encoding }
    }

    pub(crate) fn range(&self, range: WireRange) -> Range {
        let (start, end) = (self.offset(range.start), self.offset(range.end));
        Range { start: self.place(start), end: self.place(end.max(start)) }
    }

    fn place(&self, offset: usize) -> Position {
        let place = self.ours.place(self.text.as_bytes(), offset);
        Position { line: place.line, column: place.column }
    }

    /// The byte offset, moved into the text and to the beginning of a character.
    fn offset(&self, position: WirePosition) -> usize {
        // Saturating: a negative number, or none, is 0.
        let (line, wanted) = (position.line as usize, position.character as usize);
        let Some(&start) = self.starts.get(line) else { return self.text.len() };
        let end = self.starts.get(line + 1).copied().unwrap_or(self.text.len());
        let content = self.text[start..end].trim_end_matches(['\r', '\n']);
        let mut units = 0;
        for (at, char) in content.char_indices() {
            units += match self.encoding {
                Encoding::Utf8 => char.len_utf8(),
                Encoding::Utf16 => char.len_utf16(),
            };
            if units > wanted {
                return start + at;
            }
        }
        start + content.len()
    }
}

/// Where the lines of the protocol begin: behind LF, CR LF and a lone CR.
fn starts(text: &str) -> Vec<usize> {
    let bytes = text.as_bytes();
    let mut starts = vec![0];
    for (at, &byte) in bytes.iter().enumerate() {
        if byte == b'\n' || byte == b'\r' && bytes.get(at + 1) != Some(&b'\n') {
            starts.push(at + 1);
        }
    }
    starts
}

/// The range of a whole text, as it is sent.
pub(crate) fn whole(text: &str, encoding: Encoding) -> Value {
    let starts = starts(text);
    let last = &text[starts.last().copied().unwrap_or(0)..];
    let character = match encoding {
        Encoding::Utf8 => last.len(),
        Encoding::Utf16 => last.encode_utf16().count(),
    };
    json!({"start": {"line": 0, "character": 0}, "end": {"line": starts.len() - 1, "character": character}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, encoding: Encoding, place: (f64, f64), expected: (u32, u32)) {
        let at = WirePosition { line: place.0, character: place.1 };
        let start = Places::new(text, encoding).range(WireRange { start: at, end: at }).start;
        assert_eq!((start.line, start.column), expected, "{text:?} {encoding:?} {place:?}");
    }

    #[test]
    fn columns_are_told_in_scalar_values() {
        let text = "é = \"😀\"; x\nsecond\n";
        check(text, Encoding::Utf16, (0.0, 9.0), (1, 9));
        check(text, Encoding::Utf8, (0.0, 12.0), (1, 9));
        // In the middle of a character: its beginning.
        check(text, Encoding::Utf16, (0.0, 6.0), (1, 6));
        check(text, Encoding::Utf8, (0.0, 1.0), (1, 1));
    }

    #[test]
    fn what_lies_outside_is_moved_inside() {
        for encoding in [Encoding::Utf8, Encoding::Utf16] {
            check("ab\r\ncd", encoding, (0.0, 99.0), (1, 3));
            check("ab\r\ncd", encoding, (7.0, 0.0), (2, 3));
            check("ab\r\ncd", encoding, (-1.0, -5.0), (1, 1));
            check("ab\r\ncd", encoding, (1e300, f64::NAN), (2, 3));
            check("", encoding, (0.0, 4_294_967_295.0), (1, 1));
        }
    }

    #[test]
    fn crlf_counts_once_and_a_lone_cr_is_a_line_to_the_server_only() {
        check("a\r\nb\r\nc", Encoding::Utf16, (2.0, 0.0), (3, 1));
        check("a\rb\nc", Encoding::Utf16, (1.0, 0.0), (1, 3));
        check("a\rb\nc", Encoding::Utf16, (2.0, 0.0), (2, 1));
    }

    #[test]
    fn a_range_that_runs_backwards_is_empty() {
        let place = |line, character| WirePosition { line, character };
        let range = Places::new("abc\n", Encoding::Utf8).range(WireRange { start: place(0.0, 2.0), end: place(0.0, 1.0) });
        assert_eq!((range.start.column, range.end.column), (3, 3));
    }

    #[test]
    fn the_whole_text_ends_in_the_units_of_the_server() {
        let end = |text, encoding| {
            let range = whole(text, encoding);
            (range["end"]["line"].as_u64().unwrap(), range["end"]["character"].as_u64().unwrap())
        };
        assert_eq!(end("", Encoding::Utf16), (0, 0));
        assert_eq!(end("a\r\nb\n", Encoding::Utf16), (2, 0));
        assert_eq!(end("a\r\né😀", Encoding::Utf16), (1, 3));
        assert_eq!(end("a\r\né😀", Encoding::Utf8), (1, 6));
    }
}
