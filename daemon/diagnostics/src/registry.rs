//! What stands, and who knows it.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    Baseline, Caps, Diagnostic,
    present::{Birth, Item, LastChange, Present, Sure},
    run::{Entry, Run},
    tally::Tally,
};

/// Changes whose answers may still come.
const CHANGES: usize = 1024;

/// Names a change. Changes grow with time, and are compared with when lists came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChangeId(pub(crate) u64);

/// A file that a change writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Absolute.
    pub path: PathBuf,
    /// The lines of the new text that are new or stand where others were taken away: from 1, both ends inclusive.
    pub lines: Vec<(u32, u32)>,
    /// The file was not there before: nothing can have been said of it.
    pub made: bool,
}

/// A change under way; see [`Registry::begin`].
#[derive(Clone, Debug)]
pub struct Change {
    pub(crate) id: ChangeId,
    pub(crate) run: Arc<str>,
    pub(crate) paths: BTreeSet<PathBuf>,
}

impl Change {
    /// For [`Cause::Change`].
    pub fn id(&self) -> ChangeId {
        self.id
    }
}

/// Whose doing a list is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// This change: the server's version says so, or it was asked after it.
    Change(ChangeId),
    /// The last change of the file, or else the last one beneath the same root.
    Latest,
    /// No change of a run: another program wrote.
    Outside,
}

/// What the publisher looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// The text that it was sent. Its list of the old text can be had late.
    Text,
    /// The disk. Its old state cannot be asked for after a write, so what it says first is never told as new.
    Disk,
}

/// A list that a server gives.
#[derive(Clone, Debug)]
pub struct Publish<'a> {
    /// A server, or one of the checkers in it: each has lists of its own.
    pub publisher: &'a str,
    /// Absolute.
    pub path: &'a Path,
    /// Of the text that it is about, if the server says; a list of an older version is ignored.
    pub version: Option<i64>,
    /// All that it says of the file.
    pub items: Vec<Diagnostic>,
    /// Whose doing it is.
    pub cause: Cause,
    /// What the publisher looks at.
    pub reads: Reads,
}

/// How much is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Seconds after its last use that a run is forgotten.
    pub run_seconds: u64,
    /// Keys that a run holds.
    pub keys: usize,
    /// Runs; the least recently used one goes.
    pub runs: usize,
    /// Files of which something is known.
    pub files: usize,
    /// How much is told at once.
    pub caps: Caps,
}

impl Default for Limits {
    fn default() -> Self {
        Self { run_seconds: 24 * 3600, keys: 10_000, runs: 1024, files: 100_000, caps: Caps::default() }
    }
}

/// A run in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunSummary {
    /// Its id.
    pub run: String,
    /// Keys that are remembered for it.
    pub keys: usize,
    /// Seconds on the clock of [`Registry::tick`].
    pub last_used: u64,
}

/// All files, and all runs. See the description of the crate.
#[derive(Debug)]
pub struct Registry {
    pub(crate) limits: Limits,
    serial: u64,
    clock: u64,
    pub(crate) files: BTreeMap<PathBuf, Present>,
    pub(crate) runs: BTreeMap<Arc<str>, Run>,
    /// The last change beneath each root.
    last: BTreeMap<PathBuf, LastChange>,
    /// Whose the last [`CHANGES`] changes were.
    recent: BTreeMap<ChangeId, Arc<str>>,
    /// Publishers that speak about whole projects: without a list of theirs a file is clean.
    pub(crate) covers: BTreeMap<Arc<str>, u64>,
}

impl Registry {
    /// An empty one.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            serial: 0,
            clock: 0,
            files: BTreeMap::new(),
            runs: BTreeMap::new(),
            last: BTreeMap::new(),
            recent: BTreeMap::new(),
            covers: BTreeMap::new(),
        }
    }

    /// Other limits from now on.
    pub fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.serial += 1;
        self.serial
    }

    /// The time, in seconds of any clock that only grows. Runs that were not used for long are forgotten.
    pub fn tick(&mut self, seconds: u64) {
        self.clock = self.clock.max(seconds);
        let (clock, limit) = (self.clock, self.limits.run_seconds);
        self.runs.retain(|_, run| clock.saturating_sub(run.last_used) < limit);
        // The last change of a root serves runs that are there; roots that none touches are dropped with them.
        let roots: BTreeSet<&PathBuf> = self.runs.values().flat_map(|run| &run.roots).collect();
        self.last.retain(|root, _| roots.contains(root));
    }

    /// The run works in this root from now on: it knows what stands there, and what comes is owed to it.
    pub fn touch(&mut self, run: &str, root: &Path) {
        self.run(run).roots.insert(root.to_path_buf());
    }

    pub(crate) fn run(&mut self, id: &str) -> &mut Run {
        if !self.runs.contains_key(id) {
            while self.runs.len() >= self.limits.runs.max(1) {
                let oldest = self.runs.iter().min_by_key(|(_, run)| run.last_used).map(|(id, _)| Arc::clone(id));
                match oldest {
                    Some(oldest) => self.runs.remove(&oldest),
                    None => break,
                };
            }
            self.runs.insert(id.into(), Run::default());
        }
        let clock = self.clock;
        let run = self.runs.entry(id.into()).or_default();
        run.last_used = clock;
        run
    }

    /// The run is over. True if there was one.
    pub fn forget(&mut self, run: &str) -> bool {
        self.runs.remove(run).is_some()
    }

    /// The runs, by id.
    pub fn runs(&self) -> Vec<RunSummary> {
        let summary =
            |(id, run): (&Arc<str>, &Run)| RunSummary { run: id.to_string(), keys: run.weight(), last_used: run.last_used };
        self.runs.iter().map(summary).collect()
    }

    /// A change of a run begins: call it when its text is about to go out, after the lists of the old text were noted.
    /// What comes after it is compared with what stands now.
    pub fn begin(&mut self, run: &str, root: &Path, written: Vec<Written>) -> Change {
        self.touch(run, root);
        for one in written.iter().filter(|one| one.made) {
            self.deleted(&one.path);
        }
        let id = ChangeId(self.next());
        let run: Arc<str> = run.into();
        self.recent.insert(id, Arc::clone(&run));
        if self.recent.len() > CHANGES {
            self.recent.pop_first();
        }
        self.last.insert(root.to_path_buf(), LastChange { id, run: Arc::clone(&run), lines: Vec::new() });
        let mut paths = BTreeSet::new();
        for one in written {
            if let Some(file) = file(&mut self.files, self.limits.files, &one.path) {
                file.last = Some(LastChange { id, run: Arc::clone(&run), lines: one.lines });
                if one.made {
                    file.made = Some(id.0);
                }
            }
            if let Some(entry) = self.runs.get_mut(&run).and_then(|run| run.entries.get_mut(&one.path)) {
                entry.used = id.0;
            }
            paths.insert(one.path);
        }
        Change { id, run, paths }
    }

    /// The publisher has spoken about its whole project: where it has no list, there is nothing.
    pub fn covers(&mut self, publisher: &str) {
        let serial = self.next();
        self.covers.entry(publisher.into()).or_insert(serial);
    }

    /// What a publisher says of the text as it is before a change that has not begun. What is not in it is gone, also for
    /// runs that were not told so. What is new in it is the doing of earlier changes; in a file that no run has written
    /// and of which the publisher says something for the first time, it is nobody's news.
    pub fn note_baseline(&mut self, publisher: &str, path: &Path, items: Vec<Diagnostic>) {
        let untouched = self.files.get(path).is_none_or(|file| file.last.is_none() && !file.lists.contains_key(publisher));
        if untouched {
            self.adopt(publisher, path, items);
        } else {
            let cause = Cause::Latest;
            self.publish(Publish { publisher, path, version: None, items, cause, reads: Reads::Text });
        }
        let serial = self.next();
        let Some(present) = self.files.get(path) else { return };
        for run in self.runs.values_mut() {
            let Some(entry) = run.entries.get(path) else { continue };
            let difference = entry.known.subtract_from(&present.items);
            let mut known = Tally::clone(&entry.known);
            let mut gone = entry.gone;
            for (key, count) in difference.left {
                if let Some(held) = known.held.get_mut(&key).filter(|held| *held.publisher == *publisher) {
                    gone[held.severity.index()] += u64::from(count);
                    held.count -= count;
                }
            }
            known.held.retain(|_, held| held.count > 0);
            if known != *entry.known {
                let used = entry.used;
                run.put(path.to_path_buf(), Entry { known: Arc::new(known), as_of: serial, equals: None, gone, used });
            }
        }
    }

    /// What a publisher says of the text from before the change of this file that is under way: it had not seen the file
    /// before, and was given the old text first. Nobody's news. It may come before or after the list of the new text;
    /// it changes nothing where the list of the old text was known.
    pub fn late_baseline(&mut self, publisher: &str, path: &Path, items: Vec<Diagnostic>) {
        let Some(present) = self.files.get_mut(path) else { return self.adopt(publisher, path, items) };
        let change = present.last.as_ref().map(|last| last.id);
        match present.lists.get_mut(publisher) {
            None => return self.adopt(publisher, path, items),
            Some(list) if list.answers(change) => list.note(),
            Some(_) => return,
        }
        // The list of the new text is here already. What is in both is old; the rest is the change's doing.
        let name: Arc<str> = publisher.into();
        let mut noted = Present::default();
        noted.set(&name, None, items.into_iter().map(Arc::new).collect(), 0, true, |_, _| Birth::unknown(0));
        let difference = Tally::of(&noted.items).subtract_from(&present.items);
        let mut old = Vec::new();
        for (item, known_as) in present.items.iter_mut().zip(&difference.known_as) {
            if item.birth.sure == Sure::Baseline || item.birth.change != change {
                continue;
            }
            if known_as.is_some() {
                item.birth = Birth::unknown(item.birth.serial);
                old.push(item.clone());
            } else if *item.folded.publisher == *publisher {
                item.birth.sure = Sure::Baseline;
            }
        }
        self.know(path, &old);
    }

    /// The first list of a publisher, which is nobody's news.
    fn adopt(&mut self, publisher: &str, path: &Path, items: Vec<Diagnostic>) {
        let serial = self.next();
        let Some(present) = file(&mut self.files, self.limits.files, path) else { return };
        let items = items.into_iter().map(Arc::new).collect();
        present.set(&publisher.into(), None, items, serial, true, |_, _| Birth::unknown(serial));
        let first: Vec<Item> = present.items.iter().filter(|item| item.birth.serial == serial).cloned().collect();
        self.know(path, &first);
    }

    /// Items that are there become known to all runs, but never more of one than stand. A run without an entry knows
    /// all that stands already.
    fn know(&mut self, path: &Path, items: &[Item]) {
        let serial = self.next();
        let Some(present) = self.files.get(path) else { return };
        let standing = Tally::of(&present.items);
        for run in self.runs.values_mut() {
            let Some(entry) = run.entries.get(path) else { continue };
            let mut known = Tally::clone(&entry.known);
            for item in items {
                let key = item.folded.key;
                let count = |tally: &Tally| tally.held.get(&key).map_or(0, |held| held.count);
                if count(&known) < count(&standing) {
                    known.add(item);
                }
            }
            let (gone, used) = (entry.gone, entry.used);
            run.put(path.to_path_buf(), Entry { known: Arc::new(known), as_of: serial, equals: None, gone, used });
            run.shrink(self.limits.keys);
        }
    }

    /// A list of a publisher. False if it was not taken: it is of an older version, or there are too many files.
    pub fn publish(&mut self, publish: Publish<'_>) -> bool {
        let serial = self.next();
        let publisher: Arc<str> = publish.publisher.into();
        let root_change =
            self.last.iter().filter(|(root, _)| publish.path.starts_with(root)).map(|(_, last)| last).max_by_key(|last| last.id);
        let root_change = root_change.cloned();
        let covers = self.covers.get(&publisher).copied();
        let Some(present) = file(&mut self.files, self.limits.files, publish.path) else { return false };
        let old_version = present.lists.get(&publisher).and_then(|list| list.version);
        if publish.version.zip(old_version).is_some_and(|(new, old)| new < old) {
            return false;
        }
        let of_file = present.last.clone();
        let cause = match publish.cause {
            Cause::Outside => None,
            Cause::Latest => of_file.clone().or(root_change),
            Cause::Change(id) => of_file.clone().filter(|last| last.id == id).or_else(|| {
                let run = self.recent.get(&id)?;
                Some(LastChange { id, run: Arc::clone(run), lines: Vec::new() })
            }),
        };
        let before = Tally::of(&present.items);
        let items = publish.items.into_iter().map(Arc::new).collect();
        let reads = publish.reads;
        let name = Arc::clone(&publisher);
        present.set(&publisher, publish.version, items, serial, false, move |present, diagnostic| {
            let Some(cause) = &cause else { return Birth::unknown(serial) };
            let lines = of_file.as_ref().filter(|last| last.id == cause.id).map_or(&[][..], |last| &last.lines);
            let sure = match present.baseline(&name, covers, cause.id) {
                Baseline::Known | Baseline::Late => Sure::Baseline,
                Baseline::Unknown if reads == Reads::Text && diagnostic.range.touches(lines) => Sure::InRange,
                Baseline::Unknown => Sure::No,
            };
            Birth { serial, change: Some(cause.id), run: Some(Arc::clone(&cause.run)), sure }
        });
        self.keep_for_runs(publish.path, before, serial);
        true
    }

    /// Runs that knew what stood before a list changed keep just that.
    fn keep_for_runs(&mut self, path: &Path, before: Tally, serial: u64) {
        let now = self.files.get(path).map(|present| Tally::of(&present.items)).unwrap_or_default();
        if now == before {
            return;
        }
        let before = Arc::new(before);
        for run in self.runs.values_mut().filter(|run| run.covers(path) && !run.entries.contains_key(path)) {
            run.put(path.to_path_buf(), Entry::new(Arc::clone(&before), serial));
            run.shrink(self.limits.keys);
        }
    }

    /// The publisher has ended: its lists are gone, but nothing that it said counts as fixed.
    pub fn stopped(&mut self, publisher: &str) {
        let serial = self.next();
        self.covers.remove(publisher);
        let paths: Vec<PathBuf> =
            self.files.iter().filter(|(_, file)| file.lists.contains_key(publisher)).map(|(path, _)| path.clone()).collect();
        for path in paths {
            let Some(present) = self.files.get_mut(&path) else { continue };
            let before = Tally::of(&present.items);
            present.remove(publisher, serial);
            self.keep_for_runs(&path, before, serial);
        }
    }

    /// A file is gone, and all that was said of it.
    pub fn deleted(&mut self, path: &Path) {
        self.files.remove(path);
        for run in self.runs.values_mut() {
            run.take(path);
        }
    }

    /// A file has another path: what was said of it, and what runs know of it, goes with it.
    pub fn moved(&mut self, from: &Path, to: &Path) {
        if from == to {
            return;
        }
        self.deleted(to);
        if let Some(present) = self.files.remove(from) {
            self.files.insert(to.to_path_buf(), present);
        }
        for run in self.runs.values_mut() {
            if let Some(entry) = run.take(from) {
                run.put(to.to_path_buf(), entry);
            }
        }
    }

    /// What is known of a publisher's lists from before a change, over all files that the change wrote.
    pub fn baseline(&self, publisher: &str, change: &Change) -> Baseline {
        let covers = self.covers.get(publisher).copied();
        let of_file = |path: &PathBuf| match self.files.get(path) {
            Some(present) => present.baseline(publisher, covers, change.id),
            None if covers.is_some_and(|since| since < change.id.0) => Baseline::Known,
            None => Baseline::Unknown,
        };
        change.paths.iter().map(of_file).max().unwrap_or(Baseline::Known)
    }
}

/// The file, made if there is room. Clean files make room, the one that changed longest ago first.
fn file<'a>(files: &'a mut BTreeMap<PathBuf, Present>, most: usize, path: &Path) -> Option<&'a mut Present> {
    if !files.contains_key(path) {
        if files.len() >= most {
            let mut clean: Vec<(u64, PathBuf)> = files
                .iter()
                .filter(|(_, present)| present.items.is_empty())
                .map(|(path, present)| (present.serial, path.clone()))
                .collect();
            clean.sort();
            // A quarter at once, so that this is not done for every file.
            clean.truncate(most / 4 + 1);
            clean.iter().for_each(|(_, path)| {
                files.remove(path);
            });
        }
        if files.len() >= most {
            return None;
        }
        files.insert(path.to_path_buf(), Present::default());
    }
    files.get_mut(path)
}
