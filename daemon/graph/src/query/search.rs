//! Finding definitions by name.

use std::path::Path;

use ccd_corpus::Cancel;
use ccd_grammars::LanguageId;

use super::find::parts_of;
use crate::{
    Answer, Page, QueryError, SearchQuery, SymbolKind, SymbolView,
    engine::{Contents, Graph},
    facts::{NONE, flag},
    model::{SymId, letters},
};

/// How well a name answers, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Fit {
    Exact,
    ExactWithoutCase,
    Prefix,
    /// The query's words begin words of the name in order: `conf`, `pC`, `parse_conf` for `parseConfig`.
    Words,
    Part,
    /// Its letters in order. Only told if nothing fits better.
    Letters,
}

/// A symbol that answers.
#[derive(Clone, Copy, Debug)]
struct Found {
    /// Fit, kind, whether it is private, and the length of its name, in this order; the smallest is the best.
    order: u32,
    symbol: SymId,
}

impl Graph {
    /// Definitions whose names answer the query, best first.
    pub fn search(&self, query: &SearchQuery, cancel: &Cancel) -> Result<Answer<Page<SymbolView>>, QueryError> {
        let contents = self.contents();
        self.ready_for_answers(&contents)?;
        let mut found = contents.matches(query, cancel)?;
        let total = found.len();
        let end = (query.offset + query.limit).min(total);
        if query.offset < total {
            contents.put_first(&mut found, end);
        }
        let page = found.get(query.offset..end).unwrap_or_default();
        let mut items = Vec::with_capacity(page.len());
        let mut hidden = 0;
        for one in page {
            match contents.view(one.symbol).filter(|view| self.is_there(&view.rel)) {
                Some(view) => items.push(view),
                None => hidden += 1,
            }
        }
        Ok(self.answer(&contents, Page { items, total: total as u64, hidden }))
    }
}

impl Contents {
    /// Sorts the first `end` of the best to the front. What ranks first is known without a look at the files; paths
    /// decide among equals, and are compared only for those that may be shown.
    fn put_first(&self, found: &mut Vec<Found>, end: usize) {
        if end < found.len() {
            let (_, last, _) = found.select_nth_unstable_by_key(end, |one| one.order);
            let worst = last.order;
            found.retain(|one| one.order <= worst);
        }
        found.sort_by_cached_key(|one| {
            let (rel, definition) = super::views::order(&self.model, one.symbol);
            (one.order, rel, definition)
        });
    }

    fn found(&self, fit: Fit, length: usize, symbol: SymId) -> Found {
        let slot = &self.model.symbols[symbol as usize];
        let hidden = slot.flags & flag::EXPORTED == 0 || slot.flags & flag::DECLARED != 0;
        let rank = u32::from(super::views::kind_rank(slot.kind)) << 1 | u32::from(hidden);
        Found { order: (fit as u32) << 20 | rank << 12 | (length as u32).min(0xfff), symbol }
    }

    fn matches(&self, query: &SearchQuery, cancel: &Cancel) -> Result<Vec<Found>, QueryError> {
        let parts = parts_of(query.query.trim());
        let Some((last, above)) = parts.split_last() else { return Ok(Vec::new()) };
        let wanted = Wanted::new(last);
        let language = query.language.as_deref().and_then(LanguageId::by_name);
        let mut found: Vec<Found> = Vec::new();
        let mut loose: Vec<(usize, &[SymId])> = Vec::new();
        let mut looked = 0u32;
        for (&name, symbols) in &self.model.by_name {
            looked += 1;
            if looked.is_multiple_of(4096) && cancel.is_cancelled() {
                return Err(QueryError::Cancelled);
            }
            if wanted.letters & !self.model.letters_of(name) != 0 || symbols.is_empty() {
                continue;
            }
            let text = self.model.text(name);
            match wanted.fit(text) {
                None => {}
                Some(Fit::Letters) => loose.push((text.len(), symbols)),
                Some(fit) => {
                    let passing = symbols.iter().filter(|&&symbol| self.passes(symbol, query, language, above));
                    found.extend(passing.map(|&symbol| self.found(fit, text.len(), symbol)));
                }
            }
        }
        self.modules(query, language, &wanted, above, &mut found);
        if found.is_empty() {
            for (length, symbols) in loose {
                let passing = symbols.iter().filter(|&&symbol| self.passes(symbol, query, language, above));
                found.extend(passing.map(|&symbol| self.found(Fit::Letters, length, symbol)));
            }
        }
        Ok(found)
    }

    /// Modules have their names from the layout.
    fn modules(
        &self,
        query: &SearchQuery,
        language: Option<LanguageId>,
        wanted: &Wanted,
        above: &[&str],
        found: &mut Vec<Found>,
    ) {
        for module in &self.layout.modules {
            // Inner modules are found as definitions.
            if module.scopes[0].1 != 0 || wanted.letters & !letters(&module.path) != 0 {
                continue;
            }
            let path =
                if module.language.names_files() { vec![crate::layout::file_name(&module.path)] } else { parts_of(&module.path) };
            let Some((name, around)) = path.split_last() else { continue };
            let around_fits = above.is_empty() || around.len() >= above.len() && around[around.len() - above.len()..] == *above;
            if let Some(fit) = wanted.fit(name).filter(|fit| *fit < Fit::Letters && around_fits) {
                let &(file, _) = &module.scopes[0];
                let symbol = self.model.file(file).map(|entry| entry.symbols[0]);
                found.extend(
                    symbol
                        .filter(|&symbol| self.passes(symbol, query, language, &[]))
                        .map(|symbol| self.found(fit, name.len(), symbol)),
                );
            }
        }
    }

    fn passes(&self, symbol: SymId, query: &SearchQuery, language: Option<LanguageId>, above: &[&str]) -> bool {
        let slot = &self.model.symbols[symbol as usize];
        let kind_fits = if query.kinds.is_empty() { slot.kind != SymbolKind::Impl } else { query.kinds.contains(&slot.kind) };
        // `mod x;` is told as the file that it names.
        if slot.file == NONE || slot.flags & flag::ELSEWHERE != 0 || !kind_fits {
            return false;
        }
        if language.is_none() && query.path_glob.is_none() && above.is_empty() {
            return true;
        }
        let Some((entry, _)) = self.model.place(symbol) else { return false };
        language.is_none_or(|language| entry.language == language)
            && query.path_glob.as_ref().is_none_or(|glob| glob.is_match(Path::new(&*entry.rel)))
            && (above.is_empty() || self.contains_around(symbol, above))
    }

    /// Whether the containers of a symbol end with these parts, in any case of letters.
    fn contains_around(&self, symbol: SymId, above: &[&str]) -> bool {
        let Some(view) = self.view(symbol) else { return false };
        let qualified = parts_of(&view.qualified);
        let around = &qualified[..qualified.len().saturating_sub(1)];
        around.len() >= above.len()
            && around[around.len() - above.len()..]
                .iter()
                .zip(above)
                .all(|(a, b)| a.eq_ignore_ascii_case(b) || a.to_lowercase() == b.to_lowercase())
    }
}

/// What is looked for.
struct Wanted {
    text: String,
    lower: String,
    /// Without `_` and `-`.
    squeezed: Vec<char>,
    words: Vec<String>,
    letters: u64,
}

impl Wanted {
    fn new(text: &str) -> Self {
        let lower = text.to_lowercase();
        Self {
            squeezed: lower.chars().filter(|letter| !matches!(letter, '_' | '-')).collect(),
            words: words_of(text),
            letters: letters(text),
            text: text.to_owned(),
            lower,
        }
    }

    fn fit(&self, name: &str) -> Option<Fit> {
        if name.is_empty() {
            return None;
        }
        if name == self.text {
            return Some(Fit::Exact);
        }
        if name.is_ascii() && self.lower.is_ascii() {
            return self.fit_ascii(name.as_bytes());
        }
        let lower = name.to_lowercase();
        if lower == self.lower {
            return Some(Fit::ExactWithoutCase);
        }
        if lower.starts_with(&self.lower) {
            return Some(Fit::Prefix);
        }
        if words_fit(&self.words, &words_of(name)) {
            return Some(Fit::Words);
        }
        if lower.contains(&self.lower) {
            return Some(Fit::Part);
        }
        let mut rest = lower.chars();
        let all = self.squeezed.len() > 2 && self.squeezed.iter().all(|wanted| rest.any(|letter| letter == *wanted));
        all.then_some(Fit::Letters)
    }

    /// The same for names in ASCII, which nearly all are, without making strings.
    fn fit_ascii(&self, name: &[u8]) -> Option<Fit> {
        // Whatever fits holds the letters in order, so this spares nearly all names the rest.
        let mut rest = name.iter();
        let in_order = |wanted: &char| rest.any(|letter| char::from(letter.to_ascii_lowercase()) == *wanted);
        if !self.squeezed.iter().all(in_order) {
            return None;
        }
        let wanted = self.lower.as_bytes();
        if name.len() >= wanted.len() && name[..wanted.len()].eq_ignore_ascii_case(wanted) {
            return Some(if name.len() == wanted.len() { Fit::ExactWithoutCase } else { Fit::Prefix });
        }
        if self.words_begin_words(name) {
            return Some(Fit::Words);
        }
        if name.windows(wanted.len()).any(|part| part.eq_ignore_ascii_case(wanted)) {
            return Some(Fit::Part);
        }
        (self.squeezed.len() > 2).then_some(Fit::Letters)
    }

    fn words_begin_words(&self, name: &[u8]) -> bool {
        let mut words = self.words.iter();
        let Some(mut word) = words.next() else { return false };
        for at in (0..name.len()).filter(|&at| begins_word(name, at)) {
            let rest = &name[at..];
            if rest.len() >= word.len() && rest[..word.len()].eq_ignore_ascii_case(word.as_bytes()) {
                match words.next() {
                    Some(next) => word = next,
                    None => return true,
                }
            }
        }
        false
    }
}

/// Whether a word of a name begins here, by the rules of [`words_of`].
fn begins_word(name: &[u8], at: usize) -> bool {
    let letter = name[at];
    if !letter.is_ascii_alphanumeric() {
        return false;
    }
    let Some(before) = at.checked_sub(1).map(|at| name[at]) else { return true };
    let after_lower = name.get(at + 1).is_some_and(u8::is_ascii_lowercase);
    !before.is_ascii_alphanumeric()
        || letter.is_ascii_uppercase()
            && (before.is_ascii_lowercase() || before.is_ascii_digit() || before.is_ascii_uppercase() && after_lower)
}

/// The words of a name: split at `_`, `-` and where a capital follows a small letter, in lower case.
fn words_of(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut fresh = true;
    let letters: Vec<char> = name.chars().collect();
    for (at, &letter) in letters.iter().enumerate() {
        if !letter.is_alphanumeric() {
            fresh = true;
            continue;
        }
        let before = at.checked_sub(1).map(|at| letters[at]);
        let after = letters.get(at + 1);
        let camel = letter.is_uppercase()
            && (before.is_some_and(|before| before.is_lowercase() || before.is_numeric())
                || before.is_some_and(char::is_uppercase) && after.is_some_and(|after| after.is_lowercase()));
        if fresh || camel {
            words.push(String::new());
        }
        fresh = false;
        if let Some(word) = words.last_mut() {
            word.extend(letter.to_lowercase());
        }
    }
    words
}

/// Whether each wanted word begins a word of the name, in order.
fn words_fit(wanted: &[String], name: &[String]) -> bool {
    let mut rest = name.iter();
    !wanted.is_empty() && wanted.iter().all(|word| rest.any(|of| of.starts_with(word.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_by_their_parts() {
        for (query, name, fit) in [
            ("parseConfig", "parseConfig", Some(Fit::Exact)),
            ("parseconfig", "parseConfig", Some(Fit::ExactWithoutCase)),
            ("parse", "parseConfig", Some(Fit::Prefix)),
            ("config", "parseConfig", Some(Fit::Words)),
            ("pC", "parseConfig", Some(Fit::Words)),
            ("parse_conf", "parseConfig", Some(Fit::Words)),
            ("HTTPServer", "http_server", Some(Fit::Words)),
            ("arseCon", "parseConfig", Some(Fit::Part)),
            ("prscfg", "parseConfig", Some(Fit::Letters)),
            ("größe", "Größe", Some(Fit::ExactWithoutCase)),
            ("x", "parseConfig", None),
            ("id", "id", Some(Fit::Exact)),
        ] {
            assert_eq!(Wanted::new(query).fit(name), fit, "{query} in {name}");
        }
    }

    #[test]
    fn both_ways_of_finding_words_agree() {
        for name in ["parseConfig", "HTTPServer2Go", "x_y-z", "__init__", "A", "aB1C", "utf8Decode", "IOError"] {
            let starts: Vec<String> = words_of(name);
            let found = (0..name.len()).filter(|&at| begins_word(name.as_bytes(), at)).count();
            assert_eq!(found, starts.len(), "{name}");
        }
    }

    #[test]
    fn words() {
        assert_eq!(words_of("HTTPServer2Go_x-y"), ["http", "server2", "go", "x", "y"]);
    }
}
