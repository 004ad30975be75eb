//! How a caller names a symbol: an id, a name, or a place in the text.

use std::path::PathBuf;

use ccd_files::FileError;
use ccd_graph::SymbolQuery;
use ccd_protocol::{Position, PositionOrName, RpcError};
use ccd_text::{LineIndex, Place};

use crate::{api::asking::Subject, rpc::params::wrong, workspaces::place::absolute};

/// Bytes of a file in which a place is looked up.
const FILE: u64 = 64 << 20;
/// Bytes of a name.
const NAME: usize = 4096;

/// The path of the first place among these, to find the workspace by.
pub(super) fn first_path(symbols: &[&PositionOrName]) -> Option<(&'static str, String)> {
    symbols.iter().find_map(|symbol| match symbol {
        PositionOrName::Position(position) => Some(("path", position.path.clone())),
        PositionOrName::Name(_) => None,
    })
}

/// A path relative to the workspace. Blocks.
pub(super) fn rel_of(subject: &Subject, field: &str, path: &str) -> Result<PathBuf, RpcError> {
    let path = absolute(field, path)?;
    let workspaces = &subject.daemon.workspaces;
    subject.workspace.root().relative(&path).map_err(|error| match error {
        FileError::Outside { resolved } => workspaces.outside(&subject.workspace, &path, &resolved),
        other => workspaces.file_error(&subject.workspace, &path, &other),
    })
}

/// The question for a symbol as it was named. Blocks: a place is looked up in its file.
pub(super) fn symbol_query(subject: &Subject, field: &str, symbol: &PositionOrName) -> Result<SymbolQuery, RpcError> {
    match symbol {
        PositionOrName::Name(name) if name.trim().is_empty() => Err(wrong(field, "an id, a name or a place, not an empty text")),
        PositionOrName::Name(name) if name.len() > NAME => Err(wrong(field, format!("at most {NAME} bytes"))),
        PositionOrName::Name(name) => Ok(SymbolQuery::Name(name.clone())),
        PositionOrName::Position(position) => {
            let rel = rel_of(subject, &format!("{field}.path"), &position.path)?;
            let file = subject.workspace.root().read(&rel, FILE).map_err(|error| {
                let path = subject.workspace.root().path().join(&rel);
                subject.daemon.workspaces.file_error(&subject.workspace, &path, &error)
            })?;
            let place = locate(field, &file.bytes, position)?;
            Ok(SymbolQuery::Place { rel, place })
        }
    }
}

/// The place in the text. A place that does not fit is an error that shows the line, so that the caller can correct it.
fn locate(field: &str, text: &[u8], position: &Position) -> Result<Place, RpcError> {
    let lines = LineIndex::new(text);
    let Some(line) = lines.line(text, position.line) else {
        return Err(wrong(&format!("{field}.line"), format!("1 to {} (the file has no more lines)", lines.lines(text).max(1))));
    };
    let shown = ccd_text::clip(line, 200);
    let line_text = String::from_utf8_lossy(line);
    match (position.column, &position.text) {
        (Some(column), None) => {
            let place = Place { line: position.line, column };
            match lines.offset(text, place) {
                Some(_) => Ok(place),
                None => Err(wrong(&format!("{field}.column"), format!("a column of line {}, which is `{shown}`", position.line))),
            }
        }
        (None, Some(wanted)) => {
            let (wanted, nth) = occurrence(&line_text, wanted, position.nth);
            let at = nth.checked_sub(1).and_then(|skip| line_text.match_indices(wanted).nth(skip as usize));
            match at {
                Some((at, _)) if !wanted.is_empty() => {
                    let column = line_text[..at].chars().count() + 1;
                    Ok(Place { line: position.line, column: u32::try_from(column).unwrap_or(u32::MAX) })
                }
                _ => Err(wrong(
                    &format!("{field}.text"),
                    format!("occurrence {nth} of a text of line {}, which is `{shown}`", position.line),
                )),
            }
        }
        (Some(_), Some(_)) => Err(wrong(&format!("{field}.column"), "a column or a text, not both")),
        (None, None) => Err(wrong(&format!("{field}.column"), "a column, or the `text` that stands there")),
    }
}

/// `text#2` is the second occurrence of `text`, unless the line holds it as it stands.
fn occurrence<'t>(line: &str, wanted: &'t str, nth: Option<u32>) -> (&'t str, u32) {
    if let Some(nth) = nth {
        return (wanted, nth);
    }
    match wanted.rsplit_once('#').map(|(text, number)| (text, number.parse())) {
        Some((text, Ok(number))) if !line.contains(wanted) => (text, number),
        _ => (wanted, 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: u32, column: Option<u32>, text: Option<&str>, nth: Option<u32>, expected: &str) {
        let position = Position { path: "/p".to_owned(), line, column, text: text.map(str::to_owned), nth };
        let said = match locate("symbol", "fn a() {}\nlet ä = b(b, c#2);\n".as_bytes(), &position) {
            Ok(place) => format!("{}:{}", place.line, place.column),
            Err(error) => error.message,
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn places() {
        check(1, Some(4), None, None, "1:4");
        check(2, None, Some("b"), None, "2:9");
        check(2, None, Some("b"), Some(2), "2:11");
        check(2, None, Some("b#2"), None, "2:11");
        check(2, None, Some("c#2"), None, "2:14");
    }

    #[test]
    fn a_place_that_does_not_fit_shows_the_line() {
        check(1, Some(99), None, None, "The field `symbol.column` is wrong: a column of line 1, which is `fn a() {}`.");
        check(
            1,
            None,
            Some("x"),
            None,
            "The field `symbol.text` is wrong: occurrence 1 of a text of line 1, which is `fn a() {}`.",
        );
        check(9, Some(1), None, None, "The field `symbol.line` is wrong: 1 to 2 (the file has no more lines).");
        check(1, None, None, None, "The field `symbol.column` is wrong: a column, or the `text` that stands there.");
    }
}
