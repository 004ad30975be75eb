//! Searching: first every file is counted, then the page that is wanted is found again, in the few files it is of.
//!
//! So a search of a hundred thousand matches holds a number a file, and further pages cost no new search.

use std::{collections::BTreeMap, time::Duration};

use ccd_corpus::{Entry, Limits, Skipped, Trees};
use ccd_files::{Root, Stat};
use ccd_grammars::{LanguageId, ParseError, ParseLimits};
use ccd_structural::{FindError, Match, Query};
use ccd_text::Version;

use super::{Bounds, Compiled, KeptFile, each};

/// Bytes of the texts of one page, about; it ends early then.
const PAGE: usize = 4 << 20;

/// What became of one file.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Outcome {
    /// Its bytes cannot hold a match.
    Passed,
    /// It was searched.
    Searched { version: Version, stat: Stat, matches: usize, macro_bodies: usize, has_errors: bool },
    /// It was left out.
    Skipped(&'static str),
    /// The step budget ran out.
    Budget(u64),
    /// It went away, or is a header of another language.
    Gone,
    /// There was no time for it.
    Late,
}

/// What was counted.
#[derive(Debug, Default)]
pub(crate) struct Counted {
    /// With at least one match, by path.
    pub(crate) files: Vec<KeptFile>,
    /// Matches.
    pub(crate) total: u64,
    /// Matches by grammar.
    pub(crate) by_language: BTreeMap<LanguageId, u64>,
    /// Files looked at.
    pub(crate) searched: u64,
    /// Left out, by reason.
    pub(crate) skipped: BTreeMap<&'static str, u64>,
    /// Files with syntax errors, relative.
    pub(crate) parse_errors: Vec<String>,
    /// Macro bodies with the literals.
    pub(crate) macro_bodies: u64,
    /// Nothing was cut off.
    pub(crate) complete: bool,
    /// Indices of the files that were parsed.
    parsed: Vec<usize>,
    /// The step budget that ran out, with its file.
    pub(crate) budget: Option<(String, u64)>,
    /// A file that is too deep.
    pub(crate) too_deep: Option<String>,
}

/// Matches of the readings that are not searched, by grammar and index.
pub(crate) type Readings = BTreeMap<(LanguageId, usize), u64>;

/// A file is not what was counted.
#[derive(Debug)]
pub(crate) struct StaleFile(pub(crate) String);

/// A match in its text.
pub(crate) struct Place<'t> {
    pub(crate) rel: &'t str,
    pub(crate) language: LanguageId,
    pub(crate) text: &'t [u8],
    pub(crate) lines: &'t ccd_text::LineIndex,
    pub(crate) found: &'t Match,
}

/// How a file is parsed.
pub(crate) fn parse_limits(limits: &Limits) -> ParseLimits {
    ParseLimits { deadline: limits.parse_deadline, max_depth: limits.max_depth }
}

/// The reading of a query that is searched; 0 where there are none.
fn searched(query: &Query) -> usize {
    if query.readings().is_empty() { 0 } else { query.searched() }
}

/// Whether a file that counts as C by its name is a header of C++.
pub(crate) fn is_of_another(language: LanguageId, text: &[u8]) -> bool {
    language == LanguageId::C && ccd_grammars::grammar_of(language, text) != language
}

fn look(root: &Root, trees: &Trees, query: &Query, entry: &Entry, limits: &Limits, bounds: &Bounds<'_>) -> Outcome {
    let source = match ccd_corpus::read(root, &entry.rel, limits) {
        Ok(source) => source,
        Err(Skipped::NotFound) => return Outcome::Gone,
        Err(skipped) => return Outcome::Skipped(skipped.reason()),
    };
    if is_of_another(entry.language, &source.bytes) {
        return Outcome::Gone;
    }
    if !query.may_match(&source.bytes) {
        return Outcome::Passed;
    }
    let over = || bounds.is_over();
    let tree = match trees.of(entry.language, source.version, &source.bytes, parse_limits(limits), &over) {
        Ok(tree) => tree,
        Err(ParseError::TooDeep) => return Outcome::Skipped("too_deep"),
        Err(ParseError::Deadline) => return Outcome::Skipped("budget_exceeded"),
        Err(ParseError::Cancelled) => return Outcome::Late,
    };
    match query.count(searched(query), &tree, &source.bytes, &over) {
        Ok(found) => Outcome::Searched {
            version: source.version,
            stat: source.stat,
            matches: found.matches,
            macro_bodies: found.macro_bodies,
            has_errors: tree.has_errors,
        },
        Err(FindError::Budget { steps }) => Outcome::Budget(steps),
        Err(FindError::Cancelled) => Outcome::Late,
    }
}

/// Counts the matches of every file. Blocks.
pub(crate) fn count(
    root: &Root,
    trees: &Trees,
    compiled: &Compiled,
    files: &[Entry],
    limits: &Limits,
    bounds: &Bounds<'_>,
) -> Counted {
    let outcomes = each(files, bounds, |entry| match compiled.query(entry.language) {
        Some(query) => look(root, trees, query, entry, limits, bounds),
        None => Outcome::Skipped("pattern_unparsable"),
    });
    let mut counted = Counted { complete: true, ..Counted::default() };
    for (at, (entry, outcome)) in files.iter().zip(outcomes).enumerate() {
        let rel = entry.rel.to_str().unwrap_or_default();
        match outcome.unwrap_or(Outcome::Late) {
            Outcome::Gone => {}
            Outcome::Passed => counted.searched += 1,
            Outcome::Searched { version, stat, matches, macro_bodies, has_errors } => {
                counted.searched += 1;
                counted.parsed.push(at);
                counted.macro_bodies += macro_bodies as u64;
                if has_errors {
                    counted.parse_errors.push(rel.to_owned());
                }
                if matches > 0 {
                    counted.total += matches as u64;
                    *counted.by_language.entry(entry.language).or_default() += matches as u64;
                    counted.files.push(KeptFile { rel: rel.to_owned(), language: entry.language, version, stat, matches });
                }
            }
            Outcome::Skipped(reason) => {
                counted.skip(reason);
                if reason == "too_deep" && counted.too_deep.is_none() {
                    counted.too_deep = Some(rel.to_owned());
                }
                // No answer within the time that a parse may take is no "no match".
                counted.complete &= reason != "budget_exceeded";
            }
            Outcome::Budget(steps) => {
                counted.skip("budget_exceeded");
                counted.complete = false;
                counted.budget.get_or_insert((rel.to_owned(), steps));
            }
            Outcome::Late => {
                counted.skip("deadline");
                counted.complete = false;
            }
        }
    }
    counted
}

impl Counted {
    fn skip(&mut self, reason: &'static str) {
        *self.skipped.entry(reason).or_default() += 1;
    }

    /// Counts what the other readings would have found. None if there was no time. Blocks.
    pub(crate) fn others(
        &self,
        root: &Root,
        trees: &Trees,
        compiled: &Compiled,
        files: &[Entry],
        limits: &Limits,
        bounds: &Bounds<'_>,
    ) -> Option<Readings> {
        let mut counts = Readings::new();
        for (language, query) in compiled.queries() {
            let others = (0..query.readings().len()).filter(|&at| at != query.searched());
            counts.extend(others.map(|at| ((language, at), 0)));
        }
        if counts.is_empty() {
            return Some(counts);
        }
        let files: Vec<Entry> = self.parsed.iter().map(|&at| files[at].clone()).collect();
        let quiet = Bounds { progress: &|_, _| {}, ..*bounds };
        let found = each(&files, &quiet, |entry| -> Option<Vec<(usize, u64)>> {
            let query = compiled.query(entry.language)?;
            let source = ccd_corpus::read(root, &entry.rel, limits).ok()?;
            let over = || bounds.is_over();
            let tree = trees.of(entry.language, source.version, &source.bytes, parse_limits(limits), &over).ok()?;
            let others = (0..query.readings().len()).filter(|&at| at != query.searched());
            others.map(|at| Some((at, query.count(at, &tree, &source.bytes, &over).ok()?.matches as u64))).collect()
        });
        for (entry, found) in files.iter().zip(found) {
            for (at, matches) in found?? {
                *counts.entry((entry.language, at)).or_default() += matches;
            }
        }
        Some(counts)
    }
}

/// The matches from `offset` on: `show` is handed each and says how many bytes it takes. Tells how many there were. A file
/// that is not what was counted makes the page stale. Blocks.
pub(crate) fn page(
    root: &Root,
    trees: &Trees,
    compiled: &Compiled,
    files: &[KeptFile],
    limits: &Limits,
    (offset, limit): (usize, usize),
    show: &mut dyn FnMut(&Place<'_>) -> usize,
) -> Result<usize, StaleFile> {
    let (mut before, mut shown, mut bytes) = (0, 0, 0);
    for file in files {
        let first = offset.saturating_sub(before);
        before += file.matches;
        if first >= file.matches {
            continue;
        }
        let stale = || StaleFile(file.rel.clone());
        let query = compiled.query(file.language).ok_or_else(stale)?;
        let source = ccd_corpus::read(root, file.rel.as_ref(), limits).map_err(|_| stale())?;
        if source.version != file.version {
            return Err(stale());
        }
        let patient = ParseLimits { deadline: parse_limits(limits).deadline + Duration::from_secs(1), ..parse_limits(limits) };
        let tree = trees.of(file.language, file.version, &source.bytes, patient, &|| false).map_err(|_| stale())?;
        let found = query.find(searched(query), &tree, &source.bytes, &|| false).map_err(|_| stale())?;
        if found.matches.len() != file.matches {
            return Err(stale());
        }
        let lines = ccd_text::LineIndex::new(&source.bytes);
        for found in &found.matches[first..] {
            if shown == limit || bytes >= PAGE {
                return Ok(shown);
            }
            let place = Place { rel: &file.rel, language: file.language, text: &source.bytes, lines: &lines, found };
            bytes += show(&place);
            shown += 1;
        }
    }
    Ok(shown)
}

/// The name of the reading that is searched in files of a grammar.
pub(crate) fn first_named(compiled: &Compiled, language: LanguageId) -> Option<&'static str> {
    let query = compiled.query(language)?;
    query.readings().get(query.searched()).map(|reading| reading.name)
}
