//! From a text to a [`Patch`].
//!
//! One walk over the lines; the first fault ends it, because what follows a misread section cannot be read well.
//! How much is forgiven is measured on the reference, so that a patch means the same here and there: markers may be
//! padded, but inside an update only on the right, since there a blank on the left makes a context line.

use crate::syntax::{Action, Context, Hunk, HunkLine, Operation, Patch, SyntaxError};

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const ENVIRONMENT: &str = "*** Environment ID: ";
const END_OF_FILE: &str = "*** End of File";
/// What a shell puts around a patch. No other word: a shell would expand it, or it was never meant as one.
const HEREDOCS: [&str; 3] = ["<<EOF", "<<'EOF'", "<<\"EOF\""];

const HEADERS: &str = "'*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}'";
const IN_ADD: &str = "a line that starts with '+', or '*** Add File: {path}', '*** Delete File: {path}', '*** Update File: {path}', \
                      '*** End Patch'";
const PREFIXES: &str = "a line that starts with ' ' (context line), '+' (added line), or '-' (removed line)";
const AFTER_END_OF_FILE: &str = "'@@', '@@ {context}', the header of another file, or '*** End Patch'";

/// A line of the patch and where it begins in the text.
#[derive(Clone, Copy)]
struct Row<'t> {
    /// From 1, the begin marker.
    number: usize,
    at: usize,
    text: &'t str,
}

/// Reads a patch.
pub fn parse(text: &str) -> Result<Patch<'_>, SyntaxError> {
    let rows = enveloped(rows(text))?;
    let mut reader = Reader { environment: None, operations: Vec::new(), hunks: 0, state: State::Between };
    // The first and the last line are known to be the markers; the last one ends the patch even where its padding
    // would make it a context line.
    for row in &rows[1..rows.len() - 1] {
        reader.read(*row)?;
    }
    reader.close()?;
    Ok(Patch { environment: reader.environment, operations: reader.operations })
}

/// The lines of the trimmed text; one carriage return before a line feed belongs to the line end.
fn rows(text: &str) -> Vec<Row<'_>> {
    let mut at = text.len() - text.trim_start().len();
    let mut rows = Vec::new();
    for (index, piece) in text.trim().split('\n').enumerate() {
        rows.push(Row { number: index + 1, at, text: piece.strip_suffix('\r').unwrap_or(piece) });
        at += piece.len() + 1;
    }
    rows
}

/// Checks the markers around the patch, and takes away a heredoc around these.
fn enveloped(mut rows: Vec<Row<'_>>) -> Result<Vec<Row<'_>>, SyntaxError> {
    let Err(error) = markers(&rows) else { return Ok(rows) };
    let heredoc = rows.len() >= 4 && HEREDOCS.contains(&rows[0].text) && rows[rows.len() - 1].text.ends_with("EOF");
    if !heredoc {
        return Err(error);
    }
    rows.pop();
    rows.remove(0);
    for row in &mut rows {
        row.number -= 1;
    }
    markers(&rows)?;
    Ok(rows)
}

fn markers(rows: &[Row<'_>]) -> Result<(), SyntaxError> {
    let fault = |row: Row<'_>, which: &str, marker: &'static str| SyntaxError {
        line: row.number,
        excerpt: excerpt(row.text),
        expected: marker,
        message: format!("Invalid patch: The {which} line of the patch must be '{marker}'"),
    };
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else {
        unreachable!("splitting a text gives at least one piece")
    };
    if first.text.trim() != BEGIN {
        return Err(fault(*first, "first", BEGIN));
    }
    if last.text.trim() != END {
        return Err(fault(*last, "last", END));
    }
    Ok(())
}

/// What the lines read so far have opened.
enum State<'t> {
    /// Nothing, or a deletion.
    Between,
    Add {
        header: Row<'t>,
        path: &'t str,
        lines: Vec<&'t str>,
    },
    Update {
        header: Row<'t>,
        path: &'t str,
        move_to: Option<&'t str>,
        hunks: Vec<Hunk<'t>>,
    },
    /// An end marker was met.
    Ended,
}

struct Reader<'t> {
    environment: Option<&'t str>,
    operations: Vec<Operation<'t>>,
    /// Opened so far, in the whole patch.
    hunks: usize,
    state: State<'t>,
}

impl<'t> Reader<'t> {
    fn read(&mut self, row: Row<'t>) -> Result<(), SyntaxError> {
        match &mut self.state {
            State::Between => {
                let line = row.text.trim();
                if let Some(name) = line.strip_prefix(ENVIRONMENT)
                    && self.environment.is_none()
                    && self.operations.is_empty()
                {
                    self.environment = Some(name);
                    return Ok(());
                }
                if self.marker(row, line)? { Ok(()) } else { Err(not_a_header(row, HEADERS)) }
            }
            State::Add { lines, .. } => {
                if let Some(line) = row.text.strip_prefix('+') {
                    lines.push(line);
                    return Ok(());
                }
                if self.marker(row, row.text.trim())? { Ok(()) } else { Err(not_a_header(row, IN_ADD)) }
            }
            State::Update { .. } => {
                if self.marker(row, row.text.trim_end())? {
                    return Ok(());
                }
                self.read_update(row)
            }
            State::Ended if row.text.trim().is_empty() => Ok(()),
            State::Ended => Err(SyntaxError {
                line: row.number,
                excerpt: excerpt(row.text),
                expected: "nothing after the end marker",
                message: format!(
                    "Invalid patch hunk on line {}: '{}' stands behind '{END}'. Nothing may follow the end marker",
                    row.number,
                    excerpt(row.text)
                ),
            }),
        }
    }

    /// Reads a header or the end marker, which close what is open. `line` is the row, trimmed as its state allows.
    fn marker(&mut self, row: Row<'t>, line: &'t str) -> Result<bool, SyntaxError> {
        if line == END {
            self.close()?;
            self.state = State::Ended;
        } else if let Some(path) = line.strip_prefix(ADD) {
            self.close()?;
            self.state = State::Add { header: row, path, lines: Vec::new() };
        } else if let Some(path) = line.strip_prefix(DELETE) {
            self.close()?;
            self.operations.push(Operation { line: row.number, path, action: Action::Delete });
        } else if let Some(path) = line.strip_prefix(UPDATE) {
            self.close()?;
            self.state = State::Update { header: row, path, move_to: None, hunks: Vec::new() };
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Ends the open section.
    fn close(&mut self) -> Result<(), SyntaxError> {
        match std::mem::replace(&mut self.state, State::Between) {
            State::Between | State::Ended => {}
            State::Add { header, path, lines } => {
                self.operations.push(Operation { line: header.number, path, action: Action::Add { lines } });
            }
            State::Update { header, path, move_to, hunks } => {
                match hunks.last() {
                    None => {
                        let message =
                            format!("Invalid patch hunk on line {}: Update file hunk for path '{path}' is empty", header.number);
                        return Err(SyntaxError {
                            line: header.number,
                            excerpt: excerpt(header.text),
                            expected: PREFIXES,
                            message,
                        });
                    }
                    Some(hunk) if hunk.lines.is_empty() => return Err(no_lines(hunk)),
                    Some(_) => {}
                }
                self.operations.push(Operation { line: header.number, path, action: Action::Update { move_to, hunks } });
            }
        }
        Ok(())
    }

    /// A line inside an update that is no header.
    fn read_update(&mut self, row: Row<'t>) -> Result<(), SyntaxError> {
        let State::Update { move_to, hunks, .. } = &mut self.state else { return Ok(()) };
        let line = row.text.trim_end();
        let context = if line == "@@" { Some("") } else { line.strip_prefix("@@ ") };
        let end = row.at + row.text.len();
        if let Some(hunk) = hunks.last_mut()
            && hunk.end_of_file
            && context.is_none()
        {
            if !line.is_empty() {
                return Err(unexpected(row, AFTER_END_OF_FILE, "Expected update hunk to start with a @@ context marker"));
            }
            // Blank only because of the mark: without it this would be a context line.
            hunk.span.end = end;
            return Ok(());
        }
        if hunks.is_empty()
            && move_to.is_none()
            && let Some(path) = line.strip_prefix(MOVE)
        {
            *move_to = Some(path);
            return Ok(());
        }
        if let Some(text) = context {
            // A context right behind another one belongs to the same hunk: class, then method.
            if hunks.last().is_none_or(|hunk| !hunk.lines.is_empty()) {
                self.hunks += 1;
                hunks.push(opened(self.hunks, row));
            }
            let hunk = hunks.last_mut().expect("one was opened, or was open");
            if !text.is_empty() {
                hunk.contexts.push(Context { line: row.number, text });
            }
            hunk.span.end = end;
            hunk.body = end;
            return Ok(());
        }
        if line == END_OF_FILE {
            if let Some(hunk) = hunks.last_mut() {
                if hunk.lines.is_empty() {
                    return Err(no_lines(hunk));
                }
                hunk.end_of_file = true;
                hunk.span.end = end;
            }
            return Ok(());
        }
        let read = match row.text.as_bytes().first() {
            None => HunkLine::Context(""),
            Some(b' ') => HunkLine::Context(&row.text[1..]),
            Some(b'+') => HunkLine::Added(&row.text[1..]),
            Some(b'-') => HunkLine::Removed(&row.text[1..]),
            Some(_) if hunks.last().is_some_and(|hunk| !hunk.lines.is_empty()) => {
                return Err(unexpected(
                    row,
                    "'@@', '@@ {context}', a header, or a line that starts with ' ', '+' or '-'",
                    "Expected update hunk to start with a @@ context marker, or a line of the hunk to start with ' ' (context \
                     line), '+' (added line), or '-' (removed line)",
                ));
            }
            Some(_) => {
                return Err(unexpected(
                    row,
                    PREFIXES,
                    "Every line should start with ' ' (context line), '+' (added line), or '-' (removed line)",
                ));
            }
        };
        if hunks.is_empty() {
            self.hunks += 1;
            hunks.push(opened(self.hunks, row));
        }
        let hunk = hunks.last_mut().expect("one was opened, or was open");
        if hunk.lines.is_empty() {
            hunk.lines_from = row.number;
            hunk.body = row.at;
        }
        hunk.lines.push(read);
        hunk.span.end = end;
        Ok(())
    }
}

fn opened<'t>(index: usize, row: Row<'t>) -> Hunk<'t> {
    Hunk {
        index,
        line: row.number,
        contexts: Vec::new(),
        lines: Vec::new(),
        end_of_file: false,
        span: row.at..row.at,
        body: row.at,
        lines_from: row.number,
    }
}

/// The line, short enough for a message.
fn excerpt(line: &str) -> String {
    ccd_text::clip(line.as_bytes(), 200)
}

fn not_a_header(row: Row<'_>, expected: &'static str) -> SyntaxError {
    let message = format!(
        "Invalid patch hunk on line {}: '{}' is not a valid hunk header. Valid hunk headers: {HEADERS}",
        row.number,
        excerpt(row.text.trim())
    );
    SyntaxError { line: row.number, excerpt: excerpt(row.text), expected, message }
}

fn unexpected(row: Row<'_>, expected: &'static str, rule: &str) -> SyntaxError {
    let message = format!(
        "Invalid patch hunk on line {}: Unexpected line found in update hunk: '{}'. {rule}",
        row.number,
        excerpt(row.text)
    );
    SyntaxError { line: row.number, excerpt: excerpt(row.text), expected, message }
}

fn no_lines(hunk: &Hunk<'_>) -> SyntaxError {
    let text = match hunk.contexts.last() {
        Some(context) => format!("@@ {}", context.text),
        None => "@@".to_owned(),
    };
    SyntaxError {
        line: hunk.line,
        excerpt: excerpt(&text),
        expected: PREFIXES,
        message: format!("Invalid patch hunk on line {}: Update hunk does not contain any lines", hunk.line),
    }
}

#[cfg(test)]
mod tests;
