//! Multisets of diagnostics by key, and the subtraction that says what is not in one.

use std::{collections::BTreeMap, sync::Arc};

use crate::{Key, Severity, present::Item};

/// How many of a key there are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) count: u32,
    pub(crate) severity: Severity,
    /// Keys under which it was, or may be, told as well.
    pub(crate) also: Vec<Key>,
    /// Whose silence would mean that it is gone.
    pub(crate) publisher: Arc<str>,
}

/// A multiset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) held: BTreeMap<Key, Held>,
}

/// What became of the subtraction of a tally from a list.
pub(crate) struct Difference {
    /// By item: the key of the tally that it is, or none if it is not in it.
    pub(crate) known_as: Vec<Option<Key>>,
    /// What of the tally is not in the list.
    pub(crate) left: BTreeMap<Key, u32>,
}

impl Tally {
    pub(crate) fn of(items: &[Item]) -> Self {
        let mut tally = Self::default();
        items.iter().for_each(|item| tally.add(item));
        tally
    }

    pub(crate) fn add(&mut self, item: &Item) {
        let folded = &item.folded;
        let held = self.held.entry(folded.key).or_insert_with(|| Held {
            count: 0,
            severity: folded.diagnostic.severity,
            also: folded.also.clone(),
            publisher: Arc::clone(&folded.publisher),
        });
        held.count += 1;
        for key in &folded.also {
            if !held.also.contains(key) {
                held.also.push(*key);
            }
        }
    }

    /// Puts in `count` of what another tally held under this key.
    pub(crate) fn put(&mut self, key: Key, like: &Held, count: u32) {
        let held = self.held.entry(key).or_insert_with(|| Held { count: 0, ..like.clone() });
        held.count += count;
    }

    /// Keys; the unit of what a run may hold.
    pub(crate) fn len(&self) -> usize {
        self.held.len()
    }

    /// Takes this multiset from a list: first by the keys themselves, then where one side took the other in by folding.
    ///
    /// Items that came first are taken for the ones known, so that what is left over is the youngest of its key. Keys
    /// that merely share what they took in are different: two variables that one source calls unused by name, and the
    /// other by the same sentence, are two faults.
    pub(crate) fn subtract_from(&self, items: &[Item]) -> Difference {
        let mut left: BTreeMap<Key, u32> = self.held.iter().map(|(key, held)| (*key, held.count)).collect();
        let mut known_as = vec![None; items.len()];
        let mut order: Vec<usize> = (0..items.len()).collect();
        order.sort_by_key(|index| items[*index].birth.serial);
        let mut take = |key: Key, slot: &mut Option<Key>| match left.get_mut(&key) {
            Some(count) if *count > 0 => {
                *count -= 1;
                *slot = Some(key);
            }
            _ => {}
        };
        for &index in &order {
            take(items[index].folded.key, &mut known_as[index]);
        }
        for &index in &order {
            for key in &items[index].folded.also {
                if known_as[index].is_none() {
                    take(*key, &mut known_as[index]);
                }
            }
        }
        let mut by_also: BTreeMap<Key, Vec<Key>> = BTreeMap::new();
        for (key, held) in self.held.iter().filter(|(_, held)| !held.also.is_empty()) {
            for other in &held.also {
                by_also.entry(*other).or_default().push(*key);
            }
        }
        for &index in &order {
            for key in by_also.get(&items[index].folded.key).into_iter().flatten() {
                if known_as[index].is_none() {
                    take(*key, &mut known_as[index]);
                }
            }
        }
        left.retain(|_, count| *count > 0);
        Difference { known_as, left }
    }
}
