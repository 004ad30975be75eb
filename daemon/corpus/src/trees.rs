//! Syntax trees that were parsed lately, for all workspaces.
//!
//! A tree is kept by the version of the bytes that it is of: whoever asks has just read them, so a kept tree is never of
//! another text. Bounded in bytes; those unused longest go first, and all that nobody asks for goes after a while.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use ccd_grammars::{LanguageId, ParseError, ParseLimits, Syntax};
use ccd_text::Version;

/// Bytes of all trees together.
const BYTES: usize = 160 << 20;
/// A tree that nobody asked for within this goes.
const KEEP: Duration = Duration::from_secs(300);
/// What an entry takes beside its tree, about.
const ENTRY: usize = 160;

type Key = (LanguageId, Version);

#[derive(Debug)]
enum Kept {
    Tree(Arc<Syntax>),
    /// Deeper than this.
    TooDeep(u32),
}

#[derive(Debug)]
struct Entry {
    kept: Kept,
    bytes: usize,
    turn: u64,
    used: Instant,
}

#[derive(Debug, Default)]
struct State {
    entries: HashMap<Key, Entry>,
    /// By the turn of the last use.
    order: BTreeMap<u64, Key>,
    bytes: usize,
    turn: u64,
}

/// The kept trees.
#[derive(Debug)]
pub struct Trees {
    state: Mutex<State>,
    limit: usize,
}

impl Default for Trees {
    fn default() -> Self {
        Self::new(BYTES)
    }
}

impl Trees {
    /// With room for so many bytes.
    pub fn new(limit: usize) -> Self {
        Self { state: Mutex::default(), limit }
    }

    /// The tree of a text with this version: a kept one, or one that is parsed now and kept.
    pub fn of(
        &self,
        language: LanguageId,
        version: Version,
        text: &[u8],
        limits: ParseLimits,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Arc<Syntax>, ParseError> {
        let key = (language, version);
        match self.lock().touch(&key) {
            Some(Kept::Tree(tree)) => return Ok(Arc::clone(tree)),
            Some(Kept::TooDeep(limit)) if limits.max_depth <= *limit => return Err(ParseError::TooDeep),
            _ => {}
        }
        match Syntax::parse(language, text, limits, cancelled) {
            Ok(tree) => {
                let tree = Arc::new(tree);
                self.put(key, Kept::Tree(Arc::clone(&tree)), tree.bytes() + ENTRY);
                Ok(tree)
            }
            Err(error) => {
                if error == ParseError::TooDeep {
                    self.put(key, Kept::TooDeep(limits.max_depth), ENTRY);
                }
                Err(error)
            }
        }
    }

    /// Lets go of what was not used for a while. Called by the clock.
    pub fn sweep(&self) {
        self.drop_unused(KEEP);
    }

    fn drop_unused(&self, keep: Duration) {
        let mut state = self.lock();
        while let Some(key) = state.oldest() {
            if state.entries.get(&key).is_some_and(|entry| entry.used.elapsed() < keep) {
                return;
            }
            state.remove(&key);
        }
        // The tables themselves, once they hold nothing.
        *state = State { turn: state.turn, ..State::default() };
    }

    /// Bytes of the kept trees.
    pub fn bytes(&self) -> usize {
        self.lock().bytes
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, key: Key, kept: Kept, bytes: usize) {
        if bytes > self.limit {
            return;
        }
        let mut state = self.lock();
        state.remove(&key);
        while state.bytes + bytes > self.limit {
            let Some(oldest) = state.oldest() else { break };
            state.remove(&oldest);
        }
        state.turn += 1;
        let turn = state.turn;
        state.order.insert(turn, key);
        state.entries.insert(key, Entry { kept, bytes, turn, used: Instant::now() });
        state.bytes += bytes;
    }
}

impl State {
    fn touch(&mut self, key: &Key) -> Option<&Kept> {
        self.turn += 1;
        let entry = self.entries.get_mut(key)?;
        self.order.remove(&entry.turn);
        self.order.insert(self.turn, *key);
        (entry.turn, entry.used) = (self.turn, Instant::now());
        Some(&entry.kept)
    }

    fn oldest(&self) -> Option<Key> {
        self.order.first_key_value().map(|(_, key)| *key)
    }

    fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.order.remove(&entry.turn);
            self.bytes -= entry.bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use ccd_grammars::PARSE_LIMITS;

    use super::*;

    fn tree(trees: &Trees, text: &str) -> Arc<Syntax> {
        trees.of(LanguageId::RUST, Version::of(text.as_bytes()), text.as_bytes(), PARSE_LIMITS, &|| false).unwrap()
    }

    #[test]
    fn a_tree_is_parsed_once_and_the_one_unused_longest_goes_first() {
        let all = Trees::default();
        let first = tree(&all, "fn a() {}");
        assert!(Arc::ptr_eq(&first, &tree(&all, "fn a() {}")));
        assert!(!Arc::ptr_eq(&first, &tree(&all, "fn b() {}")));

        let two = Trees::new(2 * (first.bytes() + ENTRY));
        let (a, b) = (tree(&two, "fn a() {}"), tree(&two, "fn b() {}"));
        assert!(Arc::ptr_eq(&a, &tree(&two, "fn a() {}")), "used again");
        tree(&two, "fn c() {}");
        assert!(Arc::ptr_eq(&a, &tree(&two, "fn a() {}")));
        assert!(!Arc::ptr_eq(&b, &tree(&two, "fn b() {}")));
        assert!(two.bytes() <= two.limit);
    }

    #[test]
    fn what_nobody_uses_goes() {
        let trees = Trees::default();
        tree(&trees, "fn a() {}");
        trees.sweep();
        assert!(trees.bytes() > 0);
        trees.drop_unused(Duration::ZERO);
        assert_eq!(trees.bytes(), 0);
    }

    #[test]
    fn a_file_that_is_too_deep_is_not_parsed_again() {
        let trees = Trees::default();
        let text = format!("fn f() {{ {}1{} }}", "(".repeat(2000), ")".repeat(2000));
        let limits = ParseLimits { max_depth: 100, ..PARSE_LIMITS };
        let version = Version::of(text.as_bytes());
        let ask = |limits| trees.of(LanguageId::RUST, version, text.as_bytes(), limits, &|| false);
        assert_eq!(ask(limits).unwrap_err(), ParseError::TooDeep);
        let cancelled = trees.of(LanguageId::RUST, version, text.as_bytes(), limits, &|| true);
        assert_eq!(cancelled.unwrap_err(), ParseError::TooDeep, "it is known");
        assert!(ask(PARSE_LIMITS).is_ok(), "under another limit it is looked at again");
    }
}
