//! Replacing stretches of a text, found by what stands there or named by their place.

use ccd_text::{LineEnding, LineIndex, Place};

/// Lines told of an ambiguous text.
const MAX_LINES: usize = 20;
/// Bytes of a line that is shown.
const MAX_SHOWN: usize = 400;

/// One replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// Of a text.
    Text {
        /// What stands there.
        old: String,
        /// What is to stand there.
        new: String,
        /// Every occurrence; without it there must be one.
        all: bool,
    },
    /// Of a stretch; the end is exclusive.
    Range {
        /// Its first place.
        start: Place,
        /// The place behind it.
        end: Place,
        /// What is to stand there.
        new: String,
    },
}

/// Why a replacement cannot be made; nothing is changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplaceError {
    /// The text is not there.
    #[error("the text of edit {edit} is not in the file")]
    NotFound {
        /// Of the edit, from 1.
        edit: usize,
        /// The line most like the first one of the text: its number from 1, and what it says.
        nearest: Option<(u32, String)>,
        /// The new text is there.
        already_applied: bool,
    },
    /// The text is there more than once.
    #[error("the text of edit {edit} is in the file {count} times")]
    Ambiguous {
        /// Of the edit, from 1.
        edit: usize,
        /// How often.
        count: usize,
        /// Where it begins, from 1; the first ones.
        lines: Vec<u32>,
    },
    /// No text is sought.
    #[error("the text of edit {edit} is empty")]
    Empty {
        /// Of the edit, from 1.
        edit: usize,
    },
    /// The file has no such place.
    #[error("edit {edit} names a place that the file does not have")]
    NoSuchPlace {
        /// Of the edit, from 1.
        edit: usize,
        /// Lines of the file.
        lines: usize,
    },
}

/// Applies the replacements in order, each on the result of the one before.
pub fn replace(text: &str, replacements: &[Replacement]) -> Result<String, ReplaceError> {
    let mut text = text.to_owned();
    for (at, replacement) in replacements.iter().enumerate() {
        text = one(&text, replacement, at + 1)?;
    }
    Ok(text)
}

fn one(text: &str, replacement: &Replacement, edit: usize) -> Result<String, ReplaceError> {
    match replacement {
        Replacement::Range { start, end, new } => {
            let lines = LineIndex::new(text.as_bytes());
            let offset = |place: Place| lines.offset(text.as_bytes(), place);
            match (offset(*start), offset(*end)) {
                (Some(from), Some(to)) if from <= to => Ok([&text[..from], new, &text[to..]].concat()),
                _ => Err(ReplaceError::NoSuchPlace { edit, lines: lines.lines(text.as_bytes()) }),
            }
        }
        Replacement::Text { old, .. } if old.is_empty() => Err(ReplaceError::Empty { edit }),
        Replacement::Text { old, new, all } => {
            // A caller seldom writes the carriage returns of a file that has them.
            let crlf = LineEnding::of(text.as_bytes()) == LineEnding::Crlf && old.contains('\n') && !old.contains('\r');
            if crlf {
                let with = |text: &str| text.replace('\n', "\r\n");
                return found(text, &with(old), &with(new), *all, edit);
            }
            found(text, old, new, *all, edit)
        }
    }
}

fn found(text: &str, old: &str, new: &str, all: bool, edit: usize) -> Result<String, ReplaceError> {
    let places: Vec<usize> = text.match_indices(old).map(|(at, _)| at).collect();
    match places.as_slice() {
        [] => Err(ReplaceError::NotFound {
            edit,
            nearest: nearest(text, old),
            already_applied: !new.is_empty() && text.contains(new),
        }),
        [_, _, ..] if !all => {
            let lines = LineIndex::new(text.as_bytes());
            Err(ReplaceError::Ambiguous {
                edit,
                count: places.len(),
                lines: places.iter().take(MAX_LINES).map(|&at| lines.place(text.as_bytes(), at).line).collect(),
            })
        }
        _ => Ok(text.replace(old, new)),
    }
}

/// The line most like the first line of a text that says something: alike but for white space and case, else with the
/// most words in common.
fn nearest(text: &str, old: &str) -> Option<(u32, String)> {
    let wanted = old.lines().find(|line| !line.trim().is_empty())?;
    let squeezed = |line: &str| line.split_whitespace().collect::<String>().to_lowercase();
    let key = squeezed(wanted);
    let words: Vec<&str> = words(wanted).collect();
    let mut best: Option<(usize, u32, &str)> = None;
    for (at, line) in text.lines().enumerate() {
        let score =
            if squeezed(line) == key { usize::MAX } else { self::words(line).filter(|word| words.contains(word)).count() };
        if score > 0 && best.is_none_or(|(known, ..)| score > known) {
            best = Some((score, at as u32 + 1, line));
        }
    }
    best.map(|(_, line, text)| (line, ccd_text::clip(text.as_bytes(), MAX_SHOWN)))
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_').filter(|word| word.len() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(old: &str, new: &str) -> Replacement {
        Replacement::Text { old: old.to_owned(), new: new.to_owned(), all: false }
    }

    fn range(start: (u32, u32), end: (u32, u32), new: &str) -> Replacement {
        let place = |(line, column)| Place { line, column };
        Replacement::Range { start: place(start), end: place(end), new: new.to_owned() }
    }

    #[test]
    fn edits_build_on_each_other() {
        let edits = [text("a", "bb"), text("bb", "c"), range((1, 1), (1, 2), "é"), range((1, 2), (1, 2), "!")];
        assert_eq!(replace("a\n", &edits).unwrap(), "é!\n");
        let all = Replacement::Text { old: "x".to_owned(), new: "y".to_owned(), all: true };
        assert_eq!(replace("x x\n", &[all]).unwrap(), "y y\n");
    }

    #[test]
    fn what_cannot_be_found_is_explained() {
        let error = replace("fn a() {\n    let  Total = 1;\n}\n", &[text("a", "b"), text("let total = 1;", "")]).unwrap_err();
        // `a` is there twice: in `a()` and in `Total`.
        assert_eq!(error, ReplaceError::Ambiguous { edit: 1, count: 2, lines: vec![1, 2] });
        let error = replace("fn a() {\n    let  Total = 1;\n}\n", &[text("let total = 1;", "x")]).unwrap_err();
        let nearest = Some((2, "    let  Total = 1;".to_owned()));
        assert_eq!(error, ReplaceError::NotFound { edit: 1, nearest, already_applied: false });
        assert_eq!(replace("a", &[text("", "x")]), Err(ReplaceError::Empty { edit: 1 }));
        assert_eq!(replace("a", &[range((2, 1), (2, 1), "")]), Err(ReplaceError::NoSuchPlace { edit: 1, lines: 1 }));
        assert_eq!(replace("ab", &[range((1, 2), (1, 1), "")]), Err(ReplaceError::NoSuchPlace { edit: 1, lines: 1 }));
    }

    #[test]
    fn carriage_returns_are_kept() {
        assert_eq!(replace("a\r\nb\r\nc\r\n", &[text("a\nb", "x\ny")]).unwrap(), "x\r\ny\r\nc\r\n");
        assert_eq!(replace("a\r\nb\n", &[text("b\n", "c\n")]).unwrap(), "a\r\nc\n");
    }
}
