//! Why a hunk is not found: the place that was probably meant, and the first line that differs there.
//!
//! The place is voted for. Each line of the hunk, compared without white space and case, names the places at which
//! the hunk would begin if that line were right; the most named one wins. When no line of it is in the file, the
//! line most alike its first one is shown. All of it is bounded: a patch with thousands of bad hunks is answered as
//! fast as a good one, only with less said about the last ones.

use std::{cell::OnceCell, collections::HashMap, fmt};

use crate::{
    apply::Block,
    likeness::{Loose, Words, loose},
    lines::FileText,
    seek::{Pass, Seeker},
    syntax::Hunk,
};

/// A hunk that is not found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Miss {
    /// Index of the hunk in the patch, from 1.
    pub hunk: usize,
    /// The line of the patch that is not in the file: of its `@@`, or of the old line that differs. The begin marker is 1.
    pub patch_line: usize,
    /// What of it is not found.
    pub what: Sought,
    /// Old lines that match before the first difference, at the best place.
    pub matched_prefix: usize,
    /// Absent where the old lines do stand in the file, but not where the patch may take them.
    pub first_difference: Option<Difference>,
    /// The line of the file closest to what was meant.
    pub nearby: Option<Nearby>,
    /// Lines of the file, from 1, at which the hunk may begin as well, best first; at most five.
    pub other_candidates: Vec<usize>,
    /// The new lines stand in the file.
    pub already_applied: bool,
}

/// Which part of a hunk is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sought {
    /// The text behind an `@@`.
    Context,
    /// The old lines.
    Lines,
    /// The old lines, which stand at this line (from 1), before the hunk or context that comes first in the patch.
    Order {
        /// From 1.
        line: usize,
    },
    /// The old lines at the end of the file; they stand at this line (from 1), before it.
    EndOfFile {
        /// From 1.
        line: usize,
    },
}

/// Two lines that differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Of the file, from 1; one more than it has when it ended.
    pub line: usize,
    /// As the patch has it.
    pub expected: String,
    /// As the file has it; none behind its end.
    pub found: Option<String>,
    /// How they differ.
    pub kind: DifferenceKind,
}

/// How two lines differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DifferenceKind {
    /// In white space alone.
    Whitespace,
    /// In upper and lower case, and perhaps in white space.
    Case,
    /// In what they say.
    Content,
    /// The file has no such line, nor one like it.
    Missing,
}

impl DifferenceKind {
    /// As one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Whitespace => "whitespace",
            Self::Case => "case",
            Self::Content => "content",
            Self::Missing => "missing",
        }
    }
}

/// A line of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nearby {
    /// From 1.
    pub line: usize,
    /// Whole, cut to [`LONGEST`] bytes.
    pub text: String,
}

/// Lines are shown up to so many bytes.
pub const LONGEST: usize = 400;

/// Votes that are counted for one hunk, and for all hunks of a section but for a few each.
const VOTES: usize = 4096;
const ALL_VOTES: usize = 65_536;
const FEWEST_VOTES: usize = 32;
/// Hunks of a section for which lines that are merely alike are looked for, and how far from where the search began.
const ALIKE: usize = 8;
const FAR: usize = 10_000;
const OTHERS: usize = 5;

pub(crate) struct Explainer<'s> {
    file: &'s FileText<'s>,
    seeker: &'s Seeker<'s>,
    /// Built when the first hunk is missed: most patches need none of it.
    places: OnceCell<HashMap<Loose<'s>, Vec<u32>>>,
    alike: usize,
    votes: usize,
}

impl<'s> Explainer<'s> {
    pub(crate) fn new(file: &'s FileText<'s>, seeker: &'s Seeker<'s>) -> Self {
        Self { file, seeker, places: OnceCell::new(), alike: 0, votes: ALL_VOTES }
    }

    /// The `index`-th context is not there at or behind `from`.
    pub(crate) fn context(&mut self, hunk: &Hunk<'_>, block: &Block<'_>, index: usize, from: usize) -> Miss {
        let context = hunk.contexts[index];
        let mut miss = self.miss(hunk, block, &[context.text], from);
        miss.matched_prefix = 0;
        miss.patch_line = context.line;
        let before = self.seeker.all(&[context.text], OTHERS);
        if let (Some(&first), None) = (before.first(), &miss.first_difference) {
            miss.what = Sought::Order { line: first + 1 };
        } else {
            miss.what = Sought::Context;
        }
        miss
    }

    /// The old lines are not there at or behind `from`.
    pub(crate) fn lines(&mut self, hunk: &Hunk<'_>, block: &Block<'_>, from: usize) -> Miss {
        let elsewhere = self.seeker.all(&block.old, OTHERS + 1);
        let mut miss = self.miss(hunk, block, &block.old, from);
        if let Some(&first) = elsewhere.first() {
            let at = elsewhere.iter().copied().find(|&at| at >= from).unwrap_or(first);
            let line = at + 1;
            miss.what = if at >= from { Sought::EndOfFile { line } } else { Sought::Order { line } };
            miss.matched_prefix = block.old.len();
            miss.patch_line = hunk.lines_from;
            miss.first_difference = None;
            miss.nearby = Some(self.nearby(at));
            miss.other_candidates = elsewhere.iter().filter(|&&other| other != at).map(|at| at + 1).take(OTHERS).collect();
        }
        miss
    }

    fn miss(&mut self, hunk: &Hunk<'_>, block: &Block<'_>, sought: &[&str], from: usize) -> Miss {
        let mut starts = self.vote(sought, from);
        if starts.is_empty()
            && self.alike < ALIKE
            && let Some(start) = self.most_alike(sought, from)
        {
            starts.push(start);
        }
        let mut miss = Miss {
            hunk: hunk.index,
            patch_line: hunk.lines_from,
            what: Sought::Lines,
            matched_prefix: 0,
            first_difference: None,
            nearby: None,
            other_candidates: starts.iter().skip(1).filter(|&&at| at >= 0).map(|&at| at as usize + 1).take(OTHERS).collect(),
            already_applied: self.already_applied(block),
        };
        match starts.first() {
            Some(&start) => {
                let index = self.first_difference(sought, start);
                if let Some(&expected) = sought.get(index) {
                    let at = start.saturating_add_unsigned(index).max(0) as usize;
                    let found = self.file.lines.get(at).map(|line| line.text);
                    miss.matched_prefix = index;
                    miss.patch_line += old_line_offset(hunk, index);
                    miss.first_difference = Some(Difference {
                        line: at.min(self.file.lines.len()) + 1,
                        expected: shown(expected),
                        found: found.map(shown),
                        kind: found.map_or(DifferenceKind::Missing, |found| kind_of(expected, found)),
                    });
                }
                let near = start.saturating_add_unsigned(index.min(sought.len().saturating_sub(1))).max(0) as usize;
                miss.nearby = (!self.file.lines.is_empty()).then(|| self.nearby(near));
            }
            None => {
                miss.patch_line += old_line_offset(hunk, 0);
                miss.first_difference = Some(Difference {
                    line: from.min(self.file.lines.len()) + 1,
                    expected: shown(sought.first().copied().unwrap_or_default()),
                    found: None,
                    kind: DifferenceKind::Missing,
                });
            }
        }
        miss
    }

    /// Where the block may begin, most lines first; may be before the first line of the file.
    fn vote(&mut self, block: &[&str], from: usize) -> Vec<isize> {
        let limit = VOTES.min(self.votes / 8).max(FEWEST_VOTES);
        let places = self.places();
        let mut named: Vec<(usize, &[u32])> = Vec::new();
        for (index, line) in block.iter().enumerate() {
            let key = loose(line);
            if !key.is_empty()
                && let Some(at) = places.get(&key)
            {
                named.push((index, at));
            }
        }
        // The rarest lines say most.
        named.sort_by_key(|(index, at)| (at.len(), *index));
        let mut votes: HashMap<isize, usize> = HashMap::new();
        let pairs = named.iter().flat_map(|(index, at)| at.iter().map(move |&at| at as isize - *index as isize));
        let mut spent = 0;
        for start in pairs.take(limit) {
            *votes.entry(start).or_default() += 1;
            spent += 1;
        }
        self.votes = self.votes.saturating_sub(spent);
        let mut starts: Vec<(isize, usize)> = votes.into_iter().collect();
        starts.sort_by_key(|&(start, count)| (std::cmp::Reverse(count), start < from as isize, start));
        let Some(&(_, most)) = starts.first() else { return Vec::new() };
        starts.truncate(OTHERS + 1);
        starts.retain(|&(_, count)| count * 2 >= most);
        // Of places with equal votes the one whose beginning is right is easier to understand.
        let equal = starts.iter().filter(|&&(_, count)| count == most).count();
        starts[..equal].sort_by_key(|&(start, _)| std::cmp::Reverse(self.first_difference(block, start)));
        starts.into_iter().map(|(start, _)| start).collect()
    }

    fn places(&self) -> &HashMap<Loose<'s>, Vec<u32>> {
        self.places.get_or_init(|| {
            let mut places: HashMap<Loose<'s>, Vec<u32>> = HashMap::new();
            for (at, line) in self.file.lines.iter().enumerate() {
                places.entry(loose(line.text)).or_default().push(at as u32);
            }
            places
        })
    }

    /// The start that puts the first line that says something at the line of the file most alike it.
    fn most_alike(&mut self, block: &[&str], from: usize) -> Option<isize> {
        self.alike += 1;
        let (index, line) = block.iter().enumerate().find(|(_, line)| !line.trim().is_empty())?;
        let words = Words::of(line)?;
        let near = |at: usize| (at < from, at.abs_diff(from));
        let window = from.saturating_sub(FAR)..self.file.lines.len().min(from.saturating_add(FAR));
        let alike = window.filter_map(|at| Some((words.likeness(self.file.lines[at].text)?, at)));
        let best = alike.min_by_key(|&(likeness, at)| (std::cmp::Reverse(likeness), near(at)))?;
        Some(best.1 as isize - index as isize)
    }

    /// Index of the first line of the block that the most lenient pass would not take at `start`; the length of the
    /// block if there is none. What lies before the file is passed over.
    fn first_difference(&self, block: &[&str], start: isize) -> usize {
        let skipped = start.min(0).unsigned_abs();
        let pass = Pass::Typography;
        let differs = |(index, line): (usize, &&str)| {
            let at = (start + index as isize) as usize;
            let same = self.file.lines.get(at).is_some_and(|found| pass.key(found.text) == pass.key(line));
            (!same).then_some(index)
        };
        let first = block.iter().enumerate().skip(skipped).find_map(differs);
        if skipped > 0 { first.unwrap_or(0) } else { first.unwrap_or(block.len()) }
    }

    /// The new lines stand in the file. Nothing is said of lines that were only removed, or that are all blank.
    fn already_applied(&self, block: &Block<'_>) -> bool {
        let new = &block.new;
        let Some((offset, rarest)) = new
            .iter()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
            .map(|(index, line)| (index, self.places().get(&loose(line)).map(Vec::as_slice).unwrap_or_default()))
            .min_by_key(|(_, places)| places.len())
        else {
            return false;
        };
        let pass = Pass::TrailingSpace;
        let starts = rarest.iter().take(FEWEST_VOTES).filter_map(|&at| (at as usize).checked_sub(offset));
        starts.into_iter().any(|start| {
            let here = self.file.lines.get(start..start + new.len());
            here.is_some_and(|here| here.iter().zip(new).all(|(line, new)| pass.key(line.text) == pass.key(new)))
        })
    }

    fn nearby(&self, at: usize) -> Nearby {
        let at = at.min(self.file.lines.len().saturating_sub(1));
        Nearby { line: at + 1, text: self.file.lines.get(at).map(|line| shown(line.text)).unwrap_or_default() }
    }
}

/// From the first line of the hunk's body to its `index`-th old line.
fn old_line_offset(hunk: &Hunk<'_>, index: usize) -> usize {
    use crate::syntax::HunkLine::{Added, Context, Removed};
    let old = hunk.lines.iter().enumerate().filter(|(_, line)| match line {
        Context(_) | Removed(_) => true,
        Added(_) => false,
    });
    old.map(|(offset, _)| offset).nth(index).unwrap_or(0)
}

fn kind_of(expected: &str, found: &str) -> DifferenceKind {
    let squeezed = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>();
    if squeezed(expected) == squeezed(found) {
        DifferenceKind::Whitespace
    } else if loose(expected) == loose(found) {
        DifferenceKind::Case
    } else {
        DifferenceKind::Content
    }
}

fn shown(line: &str) -> String {
    ccd_text::clip(line.as_bytes(), LONGEST)
}

/// The line with its white space made visible: `→` is a tab, `·` a blank at either end, others by their code.
pub fn visible(line: &str) -> String {
    let inner = line.trim();
    let begin = line.len() - line.trim_start().len();
    let end = begin + inner.len();
    let mut text = String::with_capacity(line.len());
    for (at, c) in line.char_indices() {
        match c {
            '\t' => text.push('→'),
            ' ' if at < begin || at >= end => text.push('·'),
            ' ' => text.push(' '),
            c if c.is_whitespace() || c.is_control() || c == '\u{feff}' || c == '\u{200b}' => {
                text.push_str(&format!("<{:04X}>", c as u32));
            }
            c => text.push(c),
        }
    }
    text
}

impl fmt::Display for Miss {
    /// A clause that follows the name of the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.what, &self.first_difference) {
            (Sought::Order { line }, _) => {
                return write!(
                    f,
                    "stands at line {line}, before a hunk or context that comes first in the patch; hunks must be in the order \
                     of the file and must not overlap"
                );
            }
            (Sought::EndOfFile { line }, _) => {
                return write!(f, "stands at line {line}, which is not the end of the file as '*** End of File' says");
            }
            (Sought::Context, Some(difference)) => {
                write!(f, "Failed to find context '{}'", difference.expected)?;
                if difference.expected.ends_with("@@") {
                    f.write_str(" (the text behind @@ is sought as a line of the file; line numbers are not read)")?;
                }
            }
            (Sought::Context, None) => return f.write_str("Failed to find its context"),
            (Sought::Lines, _) => f.write_str("Failed to find expected lines")?,
        }
        if let Some(Difference { line, expected, found, kind }) = &self.first_difference {
            match (kind, found) {
                (DifferenceKind::Whitespace, Some(found)) => {
                    write!(f, ": line {line} is `{}`, not `{}`", visible(found), visible(expected))?;
                }
                (_, Some(found)) => write!(f, ": line {line} is `{found}`, not `{expected}`")?,
                (_, None) => write!(f, ": `{expected}` is not there")?,
            }
        }
        if self.already_applied {
            f.write_str("; the new lines are in the file already")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
