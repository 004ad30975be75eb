//! A diagnostic, and what makes two of them the same one.

use std::{fmt, path::PathBuf};

/// How bad it is; the worst is the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// It does not compile, or will fail.
    Error,
    /// It is probably wrong.
    Warning,
    /// It is worth knowing.
    Information,
    /// It could be nicer. The notes that a check of cargo tells as diagnostics of their own are hints too.
    Hint,
}

impl Severity {
    /// All of them, worst first.
    pub const ALL: [Self; 4] = [Self::Error, Self::Warning, Self::Information, Self::Hint];

    /// As it is told.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Information => "information",
            Self::Hint => "hint",
        }
    }

    pub(crate) fn index(self) -> usize {
        self as usize
    }
}

/// Which severities are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// None.
    Off,
    /// Errors.
    Errors,
    /// Errors and warnings.
    Warnings,
    /// All.
    All,
}

impl Level {
    /// Whether this severity is told.
    pub fn includes(self, severity: Severity) -> bool {
        match self {
            Self::Off => false,
            Self::Errors => severity == Severity::Error,
            Self::Warnings => severity <= Severity::Warning,
            Self::All => true,
        }
    }
}

/// A place in a text: line and column from 1, columns in Unicode scalar values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: u32,
}

/// A stretch of a text; the end is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Range {
    /// Its first character.
    pub start: Position,
    /// Behind its last character.
    pub end: Position,
}

impl Range {
    /// Whether it has a part in one of these stretches of lines (from 1, both ends inclusive).
    pub fn touches(&self, lines: &[(u32, u32)]) -> bool {
        lines.iter().any(|&(first, last)| self.start.line <= last && self.end.line >= first)
    }
}

/// Another place that a diagnostic speaks of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Related {
    /// Absolute.
    pub path: PathBuf,
    /// Where.
    pub range: Range,
    /// What is there.
    pub message: String,
}

/// What a server says of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is; a server that says nothing means an error.
    pub severity: Severity,
    /// A number is given in decimal.
    pub code: Option<String>,
    /// Who found it, in the server's words: `rustc`, `Pyright`, `ts`.
    pub source: Option<String>,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub range: Range,
    /// Further places.
    pub related: Vec<Related>,
}

impl Diagnostic {
    /// Its identity.
    pub fn key(&self) -> Key {
        Key::of(self.severity, self.code.as_deref(), &self.message)
    }
}

/// The identity of a diagnostic: a hash of severity, code and message. The position has no part in it, because every
/// line that is written above would make it another one; nor has the source, which is a name and not a fault.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; 12]);

impl Key {
    /// The key of these.
    pub fn of(severity: Severity, code: Option<&str>, message: &str) -> Self {
        let mut hasher = blake3::Hasher::new();
        // Lengths before contents: no two triples are written alike.
        hasher.update(&[severity as u8, u8::from(code.is_some())]);
        let code = code.unwrap_or_default();
        hasher.update(&(code.len() as u64).to_le_bytes());
        hasher.update(code.as_bytes());
        hasher.update(message.as_bytes());
        let mut short = [0; 12];
        short.copy_from_slice(&hasher.finalize().as_bytes()[..12]);
        Self(short)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn severity_code_and_message_make_the_key_and_nothing_else_does() {
        let place = |line| Position { line, column: 1 };
        let at = |line| Diagnostic {
            severity: Severity::Error,
            code: Some("E1".to_owned()),
            source: Some("rustc".to_owned()),
            message: "m".to_owned(),
            range: Range { start: place(line), end: place(line) },
            related: Vec::new(),
        };
        let key = at(1).key();
        assert_eq!(key, at(9).key());
        assert_eq!(key, Diagnostic { source: None, ..at(1) }.key());
        assert_ne!(key, Diagnostic { severity: Severity::Warning, ..at(1) }.key());
        assert_ne!(key, Diagnostic { code: None, ..at(1) }.key());
        assert_ne!(key, Diagnostic { message: "n".to_owned(), ..at(1) }.key());
        assert_ne!(Key::of(Severity::Error, Some("ab"), "c"), Key::of(Severity::Error, Some("a"), "bc"));
        assert_ne!(Key::of(Severity::Error, Some(""), "c"), Key::of(Severity::Error, None, "c"));
        assert_eq!(key.to_string().len(), 24);
    }

    #[test]
    fn levels_cut_by_severity() {
        let told = |level: Level| Severity::ALL.iter().filter(|severity| level.includes(**severity)).count();
        assert_eq!([Level::Off, Level::Errors, Level::Warnings, Level::All].map(told), [0, 1, 2, 4]);
    }

    #[test]
    fn a_range_touches_lines_that_it_shares() {
        let range = Range { start: Position { line: 3, column: 1 }, end: Position { line: 5, column: 1 } };
        assert!(range.touches(&[(1, 3)]) && range.touches(&[(5, 9)]) && range.touches(&[(4, 4)]));
        assert!(!range.touches(&[(1, 2), (6, 6)]) && !range.touches(&[]));
    }
}
