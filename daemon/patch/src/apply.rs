//! One update: the hunks of a section on the bytes of a file.

use std::ops::Range;

use crate::{
    explain::{Explainer, Miss},
    lines::{FileText, after_mark, push_mark},
    seek::{Found, Pass, Seeker},
    syntax::{Hunk, HunkLine},
};

/// A file after its hunks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updated {
    /// The whole file.
    pub bytes: Vec<u8>,
    /// One a hunk, in their order.
    pub matches: Vec<Match>,
}

/// Where and how a hunk was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Index of the hunk in the patch, from 1.
    pub hunk: usize,
    /// From 1, in the file before the update: the first old line, or where pure additions were put.
    pub line: usize,
    /// How many old lines stand there.
    pub old_lines: usize,
    /// The more lenient of what its contexts and its old lines needed.
    pub pass: Pass,
    /// Other places that match in the pass of the old lines, from where the search began; at most 1,000 are counted.
    pub other_matches: usize,
    /// Pure additions stand at the end of the file, and not behind the context that was named.
    pub appended_away_from_context: bool,
}

/// Why an update cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UpdateError {
    /// A patch speaks of text.
    #[error("{detail}")]
    NotText {
        /// In the reference's words.
        detail: String,
    },
    /// All hunks that are not found.
    #[error("{} hunks do not match", .0.len())]
    Misses(Vec<Miss>),
    /// The caller does not want it any more.
    #[error("stopped")]
    Stopped,
}

/// A hunk as the two blocks of lines that it speaks of.
pub(crate) struct Block<'t> {
    pub(crate) old: Vec<&'t str>,
    pub(crate) new: Vec<&'t str>,
    /// Index in `old` and in `new` of each context line: these keep the bytes of the file.
    kept: Vec<(usize, usize)>,
}

impl<'t> Block<'t> {
    pub(crate) fn of(hunk: &Hunk<'t>) -> Self {
        let mut block = Self { old: Vec::new(), new: Vec::new(), kept: Vec::new() };
        for line in &hunk.lines {
            match line {
                HunkLine::Context(text) => {
                    block.kept.push((block.old.len(), block.new.len()));
                    block.old.push(text);
                    block.new.push(text);
                }
                HunkLine::Removed(text) => block.old.push(text),
                HunkLine::Added(text) => block.new.push(text),
            }
        }
        block
    }

    /// Without a last blank line, which models add where the file has none. Not when nothing else is left: removing
    /// a blank line that is nowhere would then "match" anywhere.
    fn without_last_blank(&mut self) -> bool {
        if self.old.len() < 2 || self.old.last() != Some(&"") {
            return false;
        }
        self.old.pop();
        if self.new.last() == Some(&"") {
            self.new.pop();
        }
        let (old, new) = (self.old.len(), self.new.len());
        self.kept.retain(|&(in_old, in_new)| in_old < old && in_new < new);
        true
    }

    /// The runs between the kept lines, as changes of a file in which the block stands at `at`.
    fn changes(&self, at: usize, changes: &mut Vec<Change<'t>>) {
        let (mut old, mut new) = (0, 0);
        for &(kept_old, kept_new) in self.kept.iter().chain([&(self.old.len(), self.new.len())]) {
            if old < kept_old || new < kept_new {
                changes.push(Change { at: at + old..at + kept_old, lines: self.new[new..kept_new].to_vec() });
            }
            (old, new) = (kept_old + 1, kept_new + 1);
        }
    }
}

/// Lines of the file, and what stands there instead.
struct Change<'t> {
    at: Range<usize>,
    lines: Vec<&'t str>,
}

/// Applies the hunks of one section. Every hunk that is not found is told; the others are sought as if it were absent.
pub fn apply(original: &[u8], hunks: &[Hunk<'_>]) -> Result<Updated, UpdateError> {
    apply_while(original, hunks, &|| false)
}

/// The same, given up between two hunks when `stopped` says so: thousands of hunks in a long file take seconds.
pub(crate) fn apply_while(original: &[u8], hunks: &[Hunk<'_>], stopped: &dyn Fn() -> bool) -> Result<Updated, UpdateError> {
    let file = FileText::cut(original).map_err(|error| UpdateError::NotText { detail: error.to_string() })?;
    let blocks: Vec<Block<'_>> = hunks.iter().map(Block::of).collect();
    let contexts = hunks.iter().flat_map(|hunk| hunk.contexts.iter().map(|context| context.text));
    let seeker = Seeker::new(&file, blocks.iter().flat_map(|block| block.old.iter().copied()).chain(contexts));
    let mut explainer = Explainer::new(&file, &seeker);
    let (mut cursor, mut matches, mut changes, mut misses) = (0, Vec::new(), Vec::new(), Vec::new());
    for (hunk, mut block) in hunks.iter().zip(blocks) {
        if stopped() {
            return Err(UpdateError::Stopped);
        }
        let start = cursor;
        let mut contexts = Contexts { cursor, pass: Pass::Exact };
        if let Err(index) = contexts.follow(&seeker, hunk) {
            misses.push(explainer.context(hunk, &block, index, contexts.cursor));
            continue;
        }
        if block.old.is_empty() {
            let end = file.lines.len();
            block.changes(end, &mut changes);
            matches.push(Match {
                hunk: hunk.index,
                line: end + 1,
                old_lines: 0,
                pass: contexts.pass,
                other_matches: 0,
                appended_away_from_context: !hunk.contexts.is_empty() && contexts.cursor < end,
            });
            cursor = contexts.cursor;
            continue;
        }
        let mut found = seeker.seek(&block.old, contexts.cursor, hunk.end_of_file);
        if found.is_none() {
            let whole = Block::of(hunk);
            if block.without_last_blank() {
                found = seeker.seek(&block.old, contexts.cursor, hunk.end_of_file);
            }
            if found.is_none() {
                misses.push(explainer.lines(hunk, &whole, contexts.cursor));
                cursor = start;
                continue;
            }
        }
        let Some(Found { at, pass, others }) = found else { continue };
        block.changes(at, &mut changes);
        cursor = at + block.old.len();
        matches.push(Match {
            hunk: hunk.index,
            line: at + 1,
            old_lines: block.old.len(),
            pass: pass.max(contexts.pass),
            other_matches: others,
            appended_away_from_context: false,
        });
    }
    if !misses.is_empty() {
        return Err(UpdateError::Misses(misses));
    }
    Ok(Updated { bytes: replaced(&file, original.len(), changes), matches })
}

/// The walk along the `@@` lines of a hunk.
struct Contexts {
    cursor: usize,
    pass: Pass,
}

impl Contexts {
    /// Each is sought behind the one before. The index of the first that is not there is the error.
    fn follow(&mut self, seeker: &Seeker<'_>, hunk: &Hunk<'_>) -> Result<(), usize> {
        for (index, context) in hunk.contexts.iter().enumerate() {
            let found = seeker.seek(&[context.text], self.cursor, false).ok_or(index)?;
            self.cursor = found.at + 1;
            self.pass = self.pass.max(found.pass);
        }
        Ok(())
    }
}

/// The file with all changes made. Every line ends in a line end afterwards.
fn replaced(file: &FileText<'_>, size: usize, mut changes: Vec<Change<'_>>) -> Vec<u8> {
    // Stable: of two additions at one place the earlier hunk's come first.
    changes.sort_by_key(|change| change.at.start);
    let mut bytes = Vec::with_capacity(size + 64);
    if file.mark {
        push_mark(&mut bytes);
    }
    let mut next = 0;
    let keep = |bytes: &mut Vec<u8>, range: Range<usize>| {
        for line in &file.lines[range] {
            bytes.extend_from_slice(line.text.as_bytes());
            bytes.extend_from_slice(if line.ending.is_empty() { file.preferred } else { line.ending }.as_bytes());
        }
    };
    for change in &changes {
        keep(&mut bytes, next..change.at.start);
        next = change.at.end;
        for (index, line) in change.lines.iter().enumerate() {
            // A patch that writes the mark in front of line 1 means the one that is there.
            let line = if file.mark && change.at.start == 0 && index == 0 { after_mark(line).unwrap_or(line) } else { line };
            bytes.extend_from_slice(line.as_bytes());
            bytes.extend_from_slice(file.preferred.as_bytes());
        }
    }
    keep(&mut bytes, next..file.lines.len());
    bytes
}

#[cfg(test)]
mod tests;
