//! What the publishers say of a file now, and since which change.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    Baseline, ChangeId, Diagnostic,
    fold::{Folded, fold},
    tally::Tally,
};

/// Diagnostics of one publisher and one file that are kept; the worst first, and then in the order of the text.
pub(crate) const LIST: usize = 2000;

/// Since when something stands, and whose doing it is.
#[derive(Clone, Debug)]
pub(crate) struct Birth {
    /// Grows with every event of the registry.
    pub(crate) serial: u64,
    /// The change that made it; none if no change of a run did.
    pub(crate) change: Option<ChangeId>,
    /// Whose change it was.
    pub(crate) run: Option<Arc<str>>,
    pub(crate) sure: Sure,
}

impl Birth {
    /// Nobody's doing, as far as is known.
    pub(crate) fn unknown(serial: u64) -> Self {
        Self { serial, change: None, run: None, sure: Sure::No }
    }
}

/// How well it is known that the change made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sure {
    /// It was not in the list before.
    Baseline,
    /// There is no list from before, but it touches a line that the change wrote.
    InRange,
    /// There is no list from before.
    No,
}

/// A diagnostic that stands.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) folded: Folded,
    pub(crate) birth: Birth,
}

/// The list of one publisher.
#[derive(Clone, Debug)]
pub(crate) struct List {
    pub(crate) version: Option<i64>,
    pub(crate) items: Vec<Arc<Diagnostic>>,
    /// The serial of the first list.
    since: u64,
    /// It was given as the list of the text before a change, not as the answer to one.
    noted: bool,
}

impl List {
    /// Whether the first list of this publisher came after the change, and no list of the old text did.
    pub(crate) fn answers(&self, change: Option<ChangeId>) -> bool {
        !self.noted && change.is_some_and(|change| self.since > change.0)
    }

    /// The list of the old text came, late.
    pub(crate) fn note(&mut self) {
        self.noted = true;
    }
}

/// The last change that wrote a file.
#[derive(Clone, Debug)]
pub(crate) struct LastChange {
    pub(crate) id: ChangeId,
    pub(crate) run: Arc<str>,
    pub(crate) lines: Vec<(u32, u32)>,
}

/// A file.
#[derive(Clone, Debug, Default)]
pub(crate) struct Present {
    pub(crate) lists: BTreeMap<Arc<str>, List>,
    pub(crate) items: Vec<Item>,
    /// Of the last change of `items`.
    pub(crate) serial: u64,
    pub(crate) last: Option<LastChange>,
    /// It was made at this serial: nobody can have said anything of it before.
    pub(crate) made: Option<u64>,
}

impl Present {
    /// What is known of the publisher's list from before a change.
    pub(crate) fn baseline(&self, publisher: &str, covers: Option<u64>, change: ChangeId) -> Baseline {
        let list = self.lists.get(publisher);
        let before = |serial: u64| serial < change.0;
        if self.made == Some(change.0) || covers.is_some_and(before) || list.is_some_and(|list| before(list.since)) {
            Baseline::Known
        } else if list.is_some_and(|list| list.noted) {
            Baseline::Late
        } else {
            Baseline::Unknown
        }
    }

    /// Puts a list in the place of the publisher's last one. New items get the birth that `born` says, `old` ones keep
    /// theirs. False if the list is the same as before, positions aside.
    pub(crate) fn set(
        &mut self,
        publisher: &Arc<str>,
        version: Option<i64>,
        items: Vec<Arc<Diagnostic>>,
        serial: u64,
        noted: bool,
        born: impl Fn(&Self, &Diagnostic) -> Birth,
    ) {
        let items = bounded(items);
        match self.lists.get_mut(publisher) {
            Some(list) => {
                list.version = version.or(list.version);
                list.items = items;
                list.noted |= noted;
            }
            None => {
                self.lists.insert(Arc::clone(publisher), List { version, items, since: serial, noted });
            }
        }
        self.refold(serial, born);
    }

    /// The publisher is gone, and what it said with it.
    pub(crate) fn remove(&mut self, publisher: &str, serial: u64) -> bool {
        let removed = self.lists.remove(publisher).is_some();
        if removed {
            self.refold(serial, |_, _| Birth::unknown(serial));
        }
        removed
    }

    fn refold(&mut self, serial: u64, born: impl Fn(&Self, &Diagnostic) -> Birth) {
        let folded = fold(self.lists.iter().map(|(publisher, list)| (publisher, list.items.as_slice())));
        let blank = Birth::unknown(0);
        let mut items: Vec<Item> = folded.into_iter().map(|folded| Item { folded, birth: blank.clone() }).collect();
        // Where one of several equal ones is new, it is the one in the lines that were written.
        if let Some(last) = &self.last {
            for item in items.iter_mut().filter(|item| item.folded.diagnostic.range.touches(&last.lines)) {
                item.birth.serial = 1;
            }
        }
        let old = Tally::of(&self.items);
        let difference = old.subtract_from(&items);
        // Births of the same key are handed on oldest first.
        let mut births: BTreeMap<_, Vec<Birth>> = BTreeMap::new();
        for item in &self.items {
            births.entry(item.folded.key).or_default().push(item.birth.clone());
        }
        for list in births.values_mut() {
            list.sort_by_key(|birth| std::cmp::Reverse(birth.serial));
        }
        for (item, known_as) in items.iter_mut().zip(difference.known_as) {
            let inherited = known_as.and_then(|key| births.get_mut(&key)?.pop());
            item.birth = match inherited {
                Some(birth) => birth,
                None => born(self, &item.folded.diagnostic),
            };
        }
        self.items = items;
        self.serial = serial;
    }
}

/// The worst ones of a list that is too long.
fn bounded(mut items: Vec<Arc<Diagnostic>>) -> Vec<Arc<Diagnostic>> {
    if items.len() > LIST {
        items.sort_by_key(|item| (item.severity, item.range));
        items.truncate(LIST);
    }
    items
}
