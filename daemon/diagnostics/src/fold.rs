//! One fault that two sources report is one diagnostic.
//!
//! rust-analyzer finds a fault by itself, and finds it again by cargo check: the same code, the same start, other words.
//! Where code and start agree and the sources differ, the words of one source stand, and the keys of the others are kept
//! beside its own: the second report comes seconds after the first, and must not be news then.

use std::{collections::BTreeMap, sync::Arc};

use crate::{Diagnostic, Key, Position};

/// A diagnostic with those that it stands for.
#[derive(Clone, Debug)]
pub(crate) struct Folded {
    pub(crate) diagnostic: Arc<Diagnostic>,
    pub(crate) key: Key,
    /// The keys of the reports that it took in.
    pub(crate) also: Vec<Key>,
    /// Who told it: the publisher of the words that stand.
    pub(crate) publisher: Arc<str>,
}

/// The compiler's own words win, then those of the first source by name; rust-analyzer's guess of them comes last.
fn rank(source: Option<&str>) -> (u8, Option<&str>) {
    let class = match source {
        Some("rustc") => 0,
        Some("clippy") => 1,
        Some("rust-analyzer") => 3,
        _ => 2,
    };
    (class, source)
}

/// The lists of all publishers of one file as one list, in the order of the text.
pub(crate) fn fold<'a>(lists: impl Iterator<Item = (&'a Arc<str>, &'a [Arc<Diagnostic>])>) -> Vec<Folded> {
    let mut all: Vec<Folded> = Vec::new();
    for (publisher, list) in lists {
        all.extend(list.iter().map(|diagnostic| Folded {
            diagnostic: Arc::clone(diagnostic),
            key: diagnostic.key(),
            also: Vec::new(),
            publisher: Arc::clone(publisher),
        }));
    }
    let mut groups: BTreeMap<(&str, Position), Vec<usize>> = BTreeMap::new();
    for (index, folded) in all.iter().enumerate() {
        // Without a code nothing says that two reports are of one fault.
        if let Some(code) = &folded.diagnostic.code {
            groups.entry((code, folded.diagnostic.range.start)).or_default().push(index);
        }
    }
    let mut taken_in: Vec<(usize, usize)> = Vec::new();
    for group in groups.values().filter(|group| group.len() > 1) {
        let source = |index: &usize| all[*index].diagnostic.source.as_deref();
        let Some(winner) = group.iter().map(source).min_by_key(|source| rank(*source)) else { continue };
        let mut winners: Vec<usize> = group.iter().copied().filter(|index| source(index) == winner).collect();
        winners.sort_by_key(|index| (all[*index].diagnostic.severity, *index));
        for loser in group.iter().copied().filter(|index| source(index) != winner) {
            // A note of the winner must not swallow another's error.
            let into = winners.iter().copied().find(|index| all[*index].diagnostic.severity <= all[loser].diagnostic.severity);
            if let Some(into) = into {
                taken_in.push((loser, into));
            }
        }
    }
    let mut gone = vec![false; all.len()];
    for (loser, into) in taken_in {
        gone[loser] = true;
        let key = all[loser].key;
        if key != all[into].key && !all[into].also.contains(&key) {
            all[into].also.push(key);
        }
    }
    let mut index = 0;
    all.retain(|_| {
        index += 1;
        !gone[index - 1]
    });
    all.sort_by(|a, b| {
        let place = |folded: &Folded| (folded.diagnostic.range, folded.diagnostic.severity);
        place(a)
            .cmp(&place(b))
            .then_with(|| a.diagnostic.code.cmp(&b.diagnostic.code))
            .then_with(|| a.diagnostic.message.cmp(&b.diagnostic.message))
            .then_with(|| a.publisher.cmp(&b.publisher))
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Range, Severity};

    fn says(source: &str, severity: Severity, code: Option<&str>, line: u32, message: &str) -> Diagnostic {
        let start = Position { line, column: 3 };
        Diagnostic {
            severity,
            code: code.map(str::to_owned),
            source: Some(source.to_owned()),
            message: message.to_owned(),
            range: Range { start, end: Position { line, column: 9 } },
            related: Vec::new(),
        }
    }

    fn check(given: Vec<Diagnostic>, wanted: &[(&str, usize)]) {
        // In both orders, and by one publisher or two.
        for reversed in [false, true] {
            for apart in [false, true] {
                let mut lists: BTreeMap<Arc<str>, Vec<Arc<Diagnostic>>> = BTreeMap::new();
                let mut given = given.clone();
                if reversed {
                    given.reverse();
                }
                for one in given {
                    let publisher = if apart { one.source.clone().unwrap_or_default() } else { "server".to_owned() };
                    lists.entry(publisher.into()).or_default().push(Arc::new(one));
                }
                let folded = fold(lists.iter().map(|(publisher, list)| (publisher, list.as_slice())));
                let got: Vec<(&str, usize)> =
                    folded.iter().map(|folded| (folded.diagnostic.message.as_str(), folded.also.len())).collect();
                assert_eq!(got, wanted, "reversed {reversed}, apart {apart}");
            }
        }
    }

    #[test]
    fn the_compilers_words_stand_for_both() {
        let rustc = says("rustc", Severity::Error, Some("E0308"), 2, "mismatched types");
        let native = says("rust-analyzer", Severity::Error, Some("E0308"), 2, "expected i32, found &str");
        check(vec![native.clone(), rustc.clone()], &[("mismatched types", 1)]);
        check(vec![native.clone()], &[("expected i32, found &str", 0)]);
        // Another start, another code, or no code: two faults.
        let below = says("rustc", Severity::Error, Some("E0308"), 3, "mismatched types");
        check(vec![native, below], &[("expected i32, found &str", 0), ("mismatched types", 0)]);
        let bare = |source| says(source, Severity::Error, None, 2, "m");
        check(vec![bare("a"), bare("b")], &[("m", 0), ("m", 0)]);
    }

    #[test]
    fn one_source_may_say_two_things_of_one_place() {
        let one = says("rustc", Severity::Error, Some("E1"), 2, "one");
        let two = says("rustc", Severity::Error, Some("E1"), 2, "two");
        check(vec![one, two], &[("one", 0), ("two", 0)]);
    }

    #[test]
    fn a_note_never_swallows_an_error() {
        let note = says("rustc", Severity::Hint, Some("E1"), 2, "note");
        let error = says("rust-analyzer", Severity::Error, Some("E1"), 2, "error");
        check(vec![note.clone(), error.clone()], &[("error", 0), ("note", 0)]);
        let real = says("rustc", Severity::Error, Some("E1"), 2, "real");
        check(vec![note, error, real], &[("real", 1), ("note", 0)]);
    }

    #[test]
    fn equal_words_are_folded_without_a_second_key() {
        let a = says("a", Severity::Warning, Some("W"), 2, "same");
        let b = says("b", Severity::Warning, Some("W"), 2, "same");
        check(vec![a, b], &[("same", 0)]);
    }
}
