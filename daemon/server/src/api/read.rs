//! `workspace.read`

use ccd_protocol::{
    RpcError,
    workspace::{LineEnding, ReadParams, ReadResult},
};
use ccd_text::{LineIndex, Version};

use crate::{
    rpc::{call::Call, params::wrong},
    workspaces::{
        Where, gone,
        place::{absolute, shown},
    },
};

/// Bytes of a file that is read at all.
const FILE: u64 = 64 << 20;
const DEFAULT_BYTES: u64 = 64 << 10;
const MOST_BYTES: u64 = 4 << 20;

/// `max_bytes` as asked, within its cap.
pub(super) fn max_bytes(asked: Option<u64>) -> Result<usize, RpcError> {
    match asked {
        Some(0) => Err(wrong("max_bytes", "at least 1")),
        asked => Ok(usize::try_from(asked.unwrap_or(DEFAULT_BYTES).min(MOST_BYTES)).unwrap_or(usize::MAX)),
    }
}

pub(super) async fn read(call: Call, params: ReadParams) -> Result<ReadResult, RpcError> {
    let limit = max_bytes(params.max_bytes)?;
    if params.run_id.as_ref().is_some_and(|run| run.len() > 128) {
        return Err(wrong("run_id", "at most 128 bytes"));
    }
    let first = match params.start_line {
        Some(0) => return Err(wrong("start_line", "at least 1: lines are counted from 1")),
        start => start.unwrap_or(1),
    };
    if params.end_line.is_some_and(|end| end < first) {
        return Err(wrong("end_line", "at least start_line"));
    }
    let path = absolute("path", &params.path)?;
    let target = call.target(Where { workspace: params.workspace, path: Some(("path", params.path)) }).await?;
    let daemon = call.daemon.clone();
    let run = super::edit::run(&call, params.run_id.as_deref())?;
    let result = call.query(move |_| {
        let workspace = &target.workspace;
        if !workspace.stands() {
            return Err(gone(workspace));
        }
        let file =
            workspace.root().read(&target.rel, FILE).map_err(|error| daemon.workspaces.file_error(workspace, &path, &error))?;
        if let Some(run) = &run {
            // Links are followed, as an edit of the same path will.
            let traced = workspace.root().target(&target.rel).unwrap_or_else(|_| target.rel.clone());
            let seen = workspace.root().path().join(traced);
            daemon.edits.ledger.note(run, &seen, Version::of(&file.bytes), super::edit::ledger_limits(&daemon));
        }
        let rel = shown(&target.rel);
        let path = shown(&workspace.root().path().join(&target.rel));
        Ok(cut(path, rel, &file.bytes, first, params.end_line, limit))
    });
    result.await?
}

/// The lines wanted, cut at a line end within `limit` bytes; a first line that is longer is cut at a character.
fn cut(path: String, rel: String, bytes: &[u8], first: u32, last: Option<u32>, limit: usize) -> ReadResult {
    let lines = LineIndex::new(bytes);
    let start = lines.start_of(bytes, first);
    let end = last.and_then(|last| last.checked_add(1)).map_or(bytes.len(), |next| lines.start_of(bytes, next));
    let wanted = &bytes[start..end.max(start)];
    let (kept, truncated) = within(wanted, limit);
    let text = String::from_utf8_lossy(kept).into_owned();
    ReadResult {
        path,
        rel,
        text,
        version: Version::of(bytes).to_string(),
        line_ending: match ccd_text::LineEnding::of(bytes) {
            ccd_text::LineEnding::Lf => LineEnding::Lf,
            ccd_text::LineEnding::Crlf => LineEnding::Crlf,
            ccd_text::LineEnding::Mixed => LineEnding::Mixed,
        },
        encoding_ok: std::str::from_utf8(bytes).is_ok(),
        total_lines: lines.lines(bytes) as u64,
        truncated,
    }
}

fn within(wanted: &[u8], limit: usize) -> (&[u8], bool) {
    if wanted.len() <= limit {
        return (wanted, false);
    }
    let mut end = match memchr::memrchr(b'\n', &wanted[..limit]) {
        Some(at) => at + 1,
        None => limit,
    };
    // Not in the middle of a character; bytes that continue one begin with 10.
    if wanted[end - 1] != b'\n' {
        while end > 1 && wanted[end] & 0xC0 == 0x80 {
            end -= 1;
        }
    }
    (&wanted[..end], true)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], first: u32, last: Option<u32>, limit: usize, text: &str, truncated: bool) {
        let read = cut(String::new(), String::new(), bytes, first, last, limit);
        assert_eq!((read.text.as_str(), read.truncated), (text, truncated));
    }

    #[test]
    fn lines_and_limits() {
        let text = b"one\ntwo\nthree\n";
        check(text, 1, None, 100, "one\ntwo\nthree\n", false);
        check(text, 2, Some(2), 100, "two\n", false);
        check(text, 2, Some(99), 100, "two\nthree\n", false);
        check(text, 9, None, 100, "", false);
        check(text, 1, None, 9, "one\ntwo\n", true);
        check(text, 1, None, 2, "on", true);
        check("äöü".as_bytes(), 1, None, 3, "ä", true);
        check(b"a\xff\n", 1, None, 10, "a\u{fffd}\n", false);
    }

    #[test]
    fn what_the_file_is() {
        let read = cut(String::new(), String::new(), b"a\r\nb\xff", 1, None, 100);
        assert_eq!((read.line_ending, read.encoding_ok, read.total_lines), (LineEnding::Crlf, false, 2));
        let empty = cut(String::new(), String::new(), b"", 1, None, 100);
        assert_eq!((empty.line_ending, empty.encoding_ok, empty.total_lines), (LineEnding::Lf, true, 0));
    }
}
