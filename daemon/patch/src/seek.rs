//! Where a block of lines stands in a file.
//!
//! Four passes, each over the whole file for the whole block, from strict to lenient: an exact match far down is
//! better than a loose one near by. So that thousands of hunks do not each read a long file four times, a pass
//! numbers the lines that the patch asks for once, and a search visits only the places of its rarest line; where
//! every line of the block is common it reads the file once, in time linear in both.

use std::{borrow::Cow, cell::OnceCell, collections::HashMap, fmt};

use crate::lines::{FileText, after_mark};

/// How strictly lines were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Pass {
    /// Equal.
    Exact,
    /// Equal but for white space at the end.
    TrailingSpace,
    /// Equal but for white space at both ends.
    SurroundingSpace,
    /// Equal but for white space at both ends, and typographic dashes, quotes and blanks taken as the plain ones.
    Typography,
}

impl Pass {
    /// In the order in which they are tried.
    pub const ALL: [Self; 4] = [Self::Exact, Self::TrailingSpace, Self::SurroundingSpace, Self::Typography];

    /// From 1.
    pub const fn number(self) -> u8 {
        self as u8 + 1
    }

    /// As one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::TrailingSpace => "trailing_space",
            Self::SurroundingSpace => "surrounding_space",
            Self::Typography => "typography",
        }
    }

    /// What this pass compares of a line.
    pub(crate) fn key(self, line: &str) -> Cow<'_, str> {
        match self {
            Self::Exact => Cow::Borrowed(line),
            Self::TrailingSpace => Cow::Borrowed(line.trim_end()),
            Self::SurroundingSpace => Cow::Borrowed(line.trim()),
            Self::Typography => {
                let line = line.trim();
                if line.is_ascii() || !line.chars().any(|c| plain(c) != c) {
                    Cow::Borrowed(line)
                } else {
                    Cow::Owned(line.chars().map(plain).collect())
                }
            }
        }
    }
}

impl fmt::Display for Pass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The keyboard's form of a typographic character. This list and no more: measured on the reference.
fn plain(c: char) -> char {
    match c {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

/// More places than this are not counted: a block that stands a thousand times is ambiguous enough.
pub(crate) const MOST_PLACES: usize = 1000;

/// Stands for every line of the file that the patch does not ask for.
const UNASKED: u32 = u32::MAX;

/// A place of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// Index of its first line.
    pub(crate) at: usize,
    pub(crate) pass: Pass,
    /// In the same pass, from where the search began, at most [`MOST_PLACES`].
    pub(crate) others: usize,
}

/// Answers where blocks of the asked lines stand.
pub(crate) struct Seeker<'s> {
    file: &'s FileText<'s>,
    asked: Vec<&'s str>,
    lookups: [OnceCell<Lookup<'s>>; 4],
}

/// One pass: the asked lines numbered by what the pass compares, and the file in these numbers.
struct Lookup<'s> {
    ids: HashMap<Cow<'s, str>, u32>,
    lines: Vec<u32>,
    /// By number, ascending.
    places: Vec<Vec<u32>>,
    /// The number of the first line with the file's byte-order mark before it; a patch may write that too.
    marked: Option<u32>,
}

impl<'s> Seeker<'s> {
    /// Only blocks of `asked` lines can be sought.
    pub(crate) fn new(file: &'s FileText<'s>, asked: impl Iterator<Item = &'s str>) -> Self {
        Self { file, asked: asked.collect(), lookups: [const { OnceCell::new() }; 4] }
    }

    /// The first place of the block at or behind `from`, in the strictest pass that has one. With `end_of_file` only
    /// the very end is looked at. An empty block stands nowhere: what that means is the caller's to say.
    pub(crate) fn seek(&self, block: &[&str], from: usize, end_of_file: bool) -> Option<Found> {
        let (first, last) = self.starts(block, from, end_of_file)?;
        Pass::ALL.into_iter().find_map(|pass| {
            let places = self.lookup(pass).places(block, pass, first, last, MOST_PLACES + 1);
            places.first().map(|&at| Found { at, pass, others: places.len() - 1 })
        })
    }

    /// All places of the block in the strictest pass that has one, at most `limit`.
    pub(crate) fn all(&self, block: &[&str], limit: usize) -> Vec<usize> {
        let Some((first, last)) = self.starts(block, 0, false) else { return Vec::new() };
        let mut passes = Pass::ALL.into_iter().map(|pass| self.lookup(pass).places(block, pass, first, last, limit));
        passes.find(|places| !places.is_empty()).unwrap_or_default()
    }

    fn starts(&self, block: &[&str], from: usize, end_of_file: bool) -> Option<(usize, usize)> {
        let last = self.file.lines.len().checked_sub(block.len())?;
        let first = if end_of_file { from.max(last) } else { from };
        (!block.is_empty() && first <= last).then_some((first, last))
    }

    fn lookup(&self, pass: Pass) -> &Lookup<'s> {
        self.lookups[pass as usize].get_or_init(|| Lookup::new(self.file, &self.asked, pass))
    }
}

impl<'s> Lookup<'s> {
    fn new(file: &FileText<'s>, asked: &[&'s str], pass: Pass) -> Self {
        let mut ids = HashMap::new();
        let mut marked = None;
        for &line in asked {
            let next = ids.len() as u32;
            let id = *ids.entry(pass.key(line)).or_insert(next);
            if file.mark
                && let (Some(text), Some(first)) = (after_mark(line), file.lines.first())
                && pass.key(text) == pass.key(first.text)
            {
                marked = Some(id);
            }
        }
        let lines: Vec<u32> =
            file.lines.iter().map(|line| ids.get(pass.key(line.text).as_ref()).copied().unwrap_or(UNASKED)).collect();
        let mut places = vec![Vec::new(); ids.len()];
        for (at, &id) in lines.iter().enumerate() {
            if at == 0
                && let Some(marked) = marked
            {
                places[marked as usize].push(0);
            }
            if id != UNASKED {
                places[id as usize].push(at as u32);
            }
        }
        Self { ids, lines, places, marked }
    }

    /// The starts of the block from `first` to `last`, ascending, at most `limit`.
    fn places(&self, block: &[&str], pass: Pass, first: usize, last: usize, limit: usize) -> Vec<usize> {
        let Some(block) = block.iter().map(|line| self.ids.get(&pass.key(line)).copied()).collect::<Option<Vec<u32>>>() else {
            return Vec::new();
        };
        let Some((offset, rarest)) =
            block.iter().enumerate().map(|(k, &id)| (k, &self.places[id as usize])).min_by_key(|(_, places)| places.len())
        else {
            return Vec::new();
        };
        let from = rarest.partition_point(|&at| (at as usize) < first + offset);
        let to = rarest.partition_point(|&at| at as usize <= last + offset);
        let candidates = &rarest[from.min(to)..to];
        if candidates.len().saturating_mul(block.len()) <= 4 * (last - first + block.len()) {
            let starts = candidates.iter().map(|&at| at as usize - offset);
            starts.filter(|&at| block.iter().enumerate().all(|(k, &id)| self.is(at + k, id))).take(limit).collect()
        } else {
            self.scan(&block, first, last, limit)
        }
    }

    fn is(&self, at: usize, id: u32) -> bool {
        self.lines[at] == id || (at == 0 && self.marked == Some(id))
    }

    /// Knuth, Morris and Pratt: never looks at a line of the file twice, however the block repeats itself.
    fn scan(&self, block: &[u32], first: usize, last: usize, limit: usize) -> Vec<usize> {
        let mut borders = vec![0; block.len()];
        let mut matched = 0;
        for k in 1..block.len() {
            while matched > 0 && block[k] != block[matched] {
                matched = borders[matched - 1];
            }
            matched += usize::from(block[k] == block[matched]);
            borders[k] = matched;
        }
        let mut starts = Vec::new();
        matched = 0;
        for at in first..last + block.len() {
            while matched > 0 && !self.is(at, block[matched]) {
                matched = borders[matched - 1];
            }
            matched += usize::from(self.is(at, block[matched]));
            if matched == block.len() {
                starts.push(at + 1 - block.len());
                if starts.len() == limit {
                    break;
                }
                matched = borders[matched - 1];
            }
        }
        starts
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(file: &str, block: &[&str], from: usize, end_of_file: bool, expected: Option<(usize, Pass, usize)>) {
        let text = FileText::cut(file.as_bytes()).unwrap();
        let seeker = Seeker::new(&text, block.iter().copied());
        let found = seeker.seek(block, from, end_of_file).map(|found| (found.at, found.pass, found.others));
        assert_eq!(found, expected, "{block:?} in {file:?}");
    }

    #[test]
    fn the_strictest_pass_wins_however_far_down() {
        check("a \nb\na\nb\n", &["a", "b"], 0, false, Some((2, Pass::Exact, 0)));
        check("a \nb\n a\nb\n", &["a", "b"], 0, false, Some((0, Pass::TrailingSpace, 0)));
        check("\ta\nb\n", &["a ", " b"], 0, false, Some((0, Pass::SurroundingSpace, 0)));
        check("\u{201c}it\u{2019}s\u{a0}\u{2014}\u{201d}\n", &["\"it's -\""], 0, false, Some((0, Pass::Typography, 0)));
    }

    #[test]
    fn what_is_not_on_the_list_is_not_folded() {
        for text in ["a\u{2026}", "a\u{200b}", "e\u{301}", "a\u{2000}b"] {
            check(text, &["a..."], 0, false, None);
            check(text, &["a"], 0, false, None);
            check(text, &["a b"], 0, false, None);
        }
    }

    #[test]
    fn other_places_are_counted_from_where_the_search_began() {
        check("a\na\na\nb\n", &["a"], 0, false, Some((0, Pass::Exact, 2)));
        check("a\na\na\nb\n", &["a"], 1, false, Some((1, Pass::Exact, 1)));
        check("a\na\na\na\n", &["a", "a"], 0, false, Some((0, Pass::Exact, 2)));
        check("a\nb\n", &["a"], 1, false, None);
    }

    #[test]
    fn the_end_of_the_file_is_only_its_very_end() {
        check("a\nb\na\n", &["a"], 0, true, Some((2, Pass::Exact, 0)));
        check("a\nb\n", &["a"], 0, true, None);
        check("a\nb\na \n", &["a"], 0, true, Some((2, Pass::TrailingSpace, 0)));
        check("a\n", &["a", "b"], 0, true, None);
    }

    #[test]
    fn a_block_that_repeats_itself_is_found() {
        let file = "a\n".repeat(3000) + "b\n";
        let mut block = vec!["a"; 1000];
        block.push("b");
        check(&file, &block, 0, false, Some((2000, Pass::Exact, 0)));
        check(&file, &["a"; 1000], 0, false, Some((0, Pass::Exact, 1000)));
    }

    /// The rule as it is written down, without any thought for time.
    fn plainly(lines: &[&str], block: &[&str], from: usize, end_of_file: bool) -> Option<(usize, Pass, usize)> {
        let last = lines.len().checked_sub(block.len())?;
        let from = if end_of_file { from.max(last) } else { from };
        Pass::ALL.into_iter().find_map(|pass| {
            let fits = |at: &usize| block.iter().zip(&lines[*at..]).all(|(left, right)| pass.key(left) == pass.key(right));
            let places: Vec<usize> = (from..=last).filter(fits).collect();
            places.first().map(|&at| (at, pass, places.len() - 1))
        })
    }

    proptest! {
        #[test]
        fn the_index_finds_what_the_rule_says(
            lines in proptest::collection::vec("[ab]|a | a|\u{2019}|'", 0..40),
            block in proptest::collection::vec("[ab]|a |'", 1..9),
            from in 0_usize..20,
            end_of_file in any::<bool>(),
        ) {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let block: Vec<&str> = block.iter().map(String::as_str).collect();
            check(&lines.join("\n"), &block, from, end_of_file, plainly(&lines, &block, from, end_of_file));
            // The same lines over and over, so that blocks are found as well.
            let file = vec!["a", "a", "b"].into_iter().cycle().take(lines.len() * 3).collect::<Vec<_>>();
            let block: Vec<&str> = block.iter().map(|line| if line.len() > 1 { "b" } else { "a" }).collect();
            check(&file.join("\n"), &block, from, end_of_file, plainly(&file, &block, from, end_of_file));
        }
    }

    #[test]
    fn a_byte_order_mark_counts_only_at_the_start() {
        check("\u{feff}a\nb\n", &["a", "b"], 0, false, Some((0, Pass::Exact, 0)));
        check("\u{feff}a\nb\n", &["\u{feff}a", "b"], 0, false, Some((0, Pass::Exact, 0)));
        check("\u{feff}b\na\n", &["\u{feff}a"], 0, false, None);
        check("a\n", &["\u{feff}a"], 0, false, None);
    }
}
