//! A file as lines that keep their own endings.

use std::str::Utf8Error;

const MARK: &str = "\u{feff}";

/// The text of a file, cut at CR LF, lone CR and LF.
pub(crate) struct FileText<'f> {
    /// A byte-order mark stood before the first line. Readers hide it, so it is no part of any line.
    pub(crate) mark: bool,
    pub(crate) lines: Vec<Line<'f>>,
    /// The first ending of the file; what added lines get.
    pub(crate) preferred: &'static str,
}

#[derive(Clone, Copy)]
pub(crate) struct Line<'f> {
    pub(crate) text: &'f str,
    /// Empty for an unterminated last line.
    pub(crate) ending: &'static str,
}

impl<'f> FileText<'f> {
    pub(crate) fn cut(bytes: &'f [u8]) -> Result<Self, Utf8Error> {
        let text = str::from_utf8(bytes)?;
        let (mark, mut rest) = match text.strip_prefix(MARK) {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let mut lines = Vec::new();
        while !rest.is_empty() {
            let at = rest.bytes().position(|byte| byte == b'\n' || byte == b'\r').unwrap_or(rest.len());
            let ending = match rest.as_bytes()[at..] {
                [b'\r', b'\n', ..] => "\r\n",
                [b'\r', ..] => "\r",
                [b'\n', ..] => "\n",
                _ => "",
            };
            lines.push(Line { text: &rest[..at], ending });
            rest = &rest[at + ending.len()..];
        }
        let preferred = lines.first().map(|line| line.ending).filter(|ending| !ending.is_empty()).unwrap_or("\n");
        Ok(Self { mark, lines, preferred })
    }
}

/// The text behind a byte-order mark.
pub(crate) fn after_mark(text: &str) -> Option<&str> {
    text.strip_prefix(MARK)
}

/// Writes a mark.
pub(crate) fn push_mark(bytes: &mut Vec<u8>) {
    bytes.extend_from_slice(MARK.as_bytes());
}
