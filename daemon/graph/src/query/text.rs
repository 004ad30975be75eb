//! Source lines for answers, from a small cache.

use std::{collections::VecDeque, path::Path, sync::Arc};

use ccd_files::Root;
use ccd_text::LineIndex;

/// Of all texts kept.
const MAX_BYTES: usize = 8 << 20;
/// A file larger than this is not read for the sake of one line.
const MAX_FILE: u64 = 4 << 20;
/// Bytes of a line.
const MAX_LINE: usize = 200;

/// A text with its lines.
pub(crate) struct Text {
    pub(crate) bytes: Vec<u8>,
    pub(crate) lines: LineIndex,
    size: u64,
    mtime_ns: i128,
}

impl Text {
    /// A line, trimmed and cut.
    pub(crate) fn line(&self, line: u32) -> String {
        ccd_text::clip(self.lines.line(&self.bytes, line).unwrap_or_default().trim_ascii(), MAX_LINE)
    }
}

/// The texts that were last asked for.
#[derive(Default)]
pub(crate) struct Texts {
    kept: VecDeque<(Arc<str>, Arc<Text>)>,
    bytes: usize,
}

impl Texts {
    /// The text of a file as it is now; none if it is gone.
    pub(crate) fn get(&mut self, root: &Root, rel: &Arc<str>) -> Option<Arc<Text>> {
        let path = Path::new(&**rel);
        let stat = root.stat(path).ok()?;
        if let Some(at) = self.kept.iter().position(|(known, _)| known == rel) {
            let (_, text) = &self.kept[at];
            if text.size == stat.size && text.mtime_ns == stat.mtime_ns {
                return Some(text.clone());
            }
            if let Some((_, old)) = self.kept.remove(at) {
                self.bytes -= old.bytes.len();
            }
        }
        let file = root.read(path, MAX_FILE).ok()?;
        let lines = LineIndex::new(&file.bytes);
        let text = Arc::new(Text { bytes: file.bytes, lines, size: file.stat.size, mtime_ns: file.stat.mtime_ns });
        self.bytes += text.bytes.len();
        self.kept.push_back((rel.clone(), text.clone()));
        while self.bytes > MAX_BYTES {
            let Some((_, old)) = self.kept.pop_front() else { break };
            self.bytes -= old.bytes.len();
        }
        Some(text)
    }
}
