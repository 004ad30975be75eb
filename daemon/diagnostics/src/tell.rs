//! Reports, in two phases: what would be told, and that it was.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
};

use crate::{
    Attributed, Baseline, Change, Level, Registry, Remembered, Report, Server, ServerState, State, Told,
    present::{Item, Present, Sure},
    report::{Candidate, cut, order},
    run::Entry,
    tally::Tally,
};

/// What a run knows once the report, or the list, that came with it was delivered. Dropped, nothing was told.
#[derive(Debug)]
#[must_use = "what was told is remembered only when the ticket is handed to `delivered`"]
pub struct Ticket {
    run: Arc<str>,
    files: Vec<Note>,
}

/// A file of a ticket.
#[derive(Debug)]
struct Note {
    path: PathBuf,
    /// Of the list that was looked at.
    serial: u64,
    /// Of the entry that it was compared with.
    as_of: u64,
    then: Tally,
    told: Vec<Item>,
    gone: [u64; 4],
    equal: bool,
}

/// Where a diagnostic goes in a report.
enum Class {
    New(Attributed),
    Elsewhere(Attributed),
    CarriedOver,
    Unattributed,
}

fn class(item: &Item, change: &Change, path: &Path) -> Class {
    let birth = &item.birth;
    let attributed = match birth.sure {
        Sure::Baseline => Attributed::ByServer,
        Sure::InRange => Attributed::ByRange,
        Sure::No => return Class::Unattributed,
    };
    if birth.run.as_ref() != Some(&change.run) {
        Class::Unattributed
    } else if birth.change != Some(change.id) {
        Class::CarriedOver
    } else if change.paths.contains(path) {
        Class::New(attributed)
    } else {
        Class::Elsewhere(attributed)
    }
}

/// A file while a report is made.
struct Look<'a> {
    path: &'a PathBuf,
    present: &'a Present,
    entry: &'a Entry,
    then: Tally,
    told: Vec<Item>,
    gone: [u64; 4],
    untold: usize,
}

impl<'a> Look<'a> {
    /// What the run knows of what stands, and of what the silent publishers said; and the items that it does not know.
    fn new(path: &'a PathBuf, present: &'a Present, entry: &'a Entry, spoken: &BTreeSet<&str>) -> (Self, Vec<Item>, [u64; 4]) {
        let difference = entry.known.subtract_from(&present.items);
        let mut look = Self { path, present, entry, then: Tally::default(), told: Vec::new(), gone: entry.gone, untold: 0 };
        let (mut unknown, mut standing) = (Vec::new(), [0; 4]);
        for (item, known_as) in present.items.iter().zip(difference.known_as) {
            match known_as {
                // The words of another source stood there when it was told; they are taken up.
                Some(key) if key == item.folded.key || item.folded.also.contains(&key) => look.then.add(item),
                // Fewer words stand there now; those that were told are kept.
                Some(key) => look.then.put(key, &entry.known.held[&key], 1),
                None => {
                    unknown.push(item.clone());
                    continue;
                }
            }
            standing[item.folded.diagnostic.severity.index()] += 1;
        }
        for (key, count) in difference.left {
            let held = &entry.known.held[&key];
            if spoken.contains(&*held.publisher) {
                look.gone[held.severity.index()] += u64::from(count);
            } else {
                look.then.put(key, held, count);
            }
        }
        look.untold = unknown.len();
        (look, unknown, standing)
    }

    fn tell(&mut self, item: Item) {
        self.then.add(&item);
        self.told.push(item);
        self.untold -= 1;
    }

    fn note(self) -> Note {
        let equal = self.untold == 0 && self.then == Tally::of(&self.present.items);
        Note {
            path: self.path.clone(),
            serial: self.present.serial,
            as_of: self.entry.as_of,
            then: self.then,
            told: self.told,
            gone: self.gone,
            equal,
        }
    }
}

fn at_level(level: Level, counts: &[u64; 4]) -> u64 {
    crate::Severity::ALL.iter().filter(|severity| level.includes(**severity)).map(|severity| counts[severity.index()]).sum()
}

impl Registry {
    /// What would be told to the run that made the change, as things stand. Nothing is remembered before the ticket comes
    /// back to [`Registry::delivered`]. `servers` are those that the change waited for; where they have spoken, what they
    /// do not say any more is gone.
    pub fn report(&self, change: &Change, level: Level, servers: Vec<Server>) -> (Report, Ticket) {
        let state = if level == Level::Off { State::Off } else { State::of(&servers) };
        let reason = servers.iter().find_map(|server| match &server.state {
            ServerState::Unavailable { reason } => Some(reason.clone()),
            _ => None,
        });
        let baseline_of = |server: &Server| match &server.state {
            ServerState::Unavailable { .. } => Baseline::Unknown,
            _ => server.publishers.iter().map(|name| self.baseline(name, change)).max().unwrap_or(Baseline::Unknown),
        };
        let servers: Vec<(Server, Baseline)> = servers
            .into_iter()
            .map(|server| {
                let baseline = baseline_of(&server);
                (server, baseline)
            })
            .collect();
        let spoken: BTreeSet<&str> = servers
            .iter()
            .filter(|(server, _)| server.has_spoken())
            .flat_map(|(server, _)| server.publishers.iter().map(|name| &**name))
            .collect();
        let run = self.runs.get(&change.run);
        let nothing = Present::default();
        let mut looks: BTreeMap<&PathBuf, Look<'_>> = BTreeMap::new();
        let [mut new, mut elsewhere, mut carried, mut unattributed] = [const { Vec::new() }; 4];
        let (mut fixed, mut standing) = (0, 0);
        for (path, entry) in run.into_iter().flat_map(|run| &run.entries) {
            let present = self.files.get(path).unwrap_or(&nothing);
            let done = entry.equals == Some(present.serial) && entry.gone == [0; 4];
            if done && !change.paths.contains(path) {
                continue;
            }
            let (look, unknown, known) = Look::new(path, present, entry, &spoken);
            fixed += at_level(level, &look.gone);
            standing += at_level(level, &known);
            looks.insert(path, look);
            for item in unknown.into_iter().filter(|item| level.includes(item.folded.diagnostic.severity)) {
                let candidate = |attributed, item| Candidate { path: path.clone(), item, attributed };
                match class(&item, change, path) {
                    Class::New(how) => new.push(candidate(Some(how), item)),
                    Class::Elsewhere(how) => elsewhere.push(candidate(Some(how), item)),
                    Class::CarriedOver => carried.push(candidate(None, item)),
                    Class::Unattributed => unattributed.push(candidate(None, item)),
                }
            }
        }
        let caps = &self.limits.caps;
        let (new, more_new) = cut(new, caps.per_file, usize::MAX, usize::MAX);
        let (elsewhere, more_elsewhere) = cut(elsewhere, caps.per_file, caps.elsewhere, caps.elsewhere_files);
        let (carried, more_carried) = cut(carried, caps.per_file, caps.elsewhere, caps.elsewhere_files);
        let (unattributed, old_news) = cut(unattributed, usize::MAX, caps.unattributed, usize::MAX);
        let suppressed = more_new.len() + more_elsewhere.len() + more_carried.len() + old_news.len();
        // What nobody answers for is not owed: what was left out of it is known from now on.
        for candidate in [&new, &elsewhere, &carried, &unattributed, &old_news].into_iter().flatten() {
            if let Some(look) = looks.get_mut(&candidate.path) {
                look.tell(candidate.item.clone());
            }
        }
        let told = |candidates: Vec<Candidate>| candidates.iter().map(Candidate::told).collect::<Vec<Told>>();
        let report = Report {
            new: told(new),
            elsewhere: told(elsewhere),
            unattributed: told(unattributed),
            carried_over: told(carried),
            fixed,
            suppressed: suppressed as u64,
            standing,
            remembered: if run.is_some_and(|run| run.partial) { Remembered::Partial } else { Remembered::Yes },
            baseline: servers.iter().map(|(_, baseline)| *baseline).max().unwrap_or(Baseline::Unknown),
            state,
            reason: reason.filter(|_| state == State::Unavailable),
            servers,
        };
        let ticket = Ticket { run: Arc::clone(&change.run), files: looks.into_values().map(Look::note).collect() };
        (report, ticket)
    }

    /// All that stands at this level, in these files or in all, worst first; at most `most`, and how many there are. With
    /// a run, the ticket marks what is listed as told to it.
    pub fn list(
        &self,
        paths: Option<&[PathBuf]>,
        level: Level,
        most: usize,
        run: Option<&str>,
    ) -> (Vec<Told>, usize, Option<Ticket>) {
        let wanted = |path: &&PathBuf| paths.is_none_or(|paths| paths.contains(path));
        let mut all = Vec::new();
        for (path, present) in self.files.iter().filter(|(path, _)| wanted(path)) {
            let items = present.items.iter().filter(|item| level.includes(item.folded.diagnostic.severity));
            all.extend(items.map(|item| Candidate { path: path.clone(), item: item.clone(), attributed: None }));
        }
        order(&mut all);
        let total = all.len();
        all.truncate(most);
        let ticket = run.and_then(|id| self.runs.get_key_value(id)).map(|(id, run)| {
            let mut looks: BTreeMap<&PathBuf, Look<'_>> = BTreeMap::new();
            for (path, entry) in &run.entries {
                let Some(present) = self.files.get(path) else { continue };
                let (mut look, mut unknown, _) = Look::new(path, present, entry, &BTreeSet::new());
                // Listed is listed: of several of one key, any is the one that was not known.
                for candidate in all.iter().filter(|candidate| candidate.path == *path) {
                    let key = candidate.item.folded.key;
                    if let Some(at) = unknown.iter().position(|item| item.folded.key == key) {
                        look.tell(unknown.swap_remove(at));
                    }
                }
                if !look.told.is_empty() {
                    looks.insert(path, look);
                }
            }
            Ticket { run: Arc::clone(id), files: looks.into_values().map(Look::note).collect() }
        });
        (all.iter().map(Candidate::told).collect(), total, ticket)
    }

    /// What stands in these files now is no news to the run; how many that are.
    pub fn know_all(&mut self, run: &str, root: &Path, paths: &[PathBuf]) -> usize {
        self.touch(run, root);
        let run = self.run(run);
        for path in paths {
            // Without an entry, it knows what stands.
            run.take(path);
        }
        paths.iter().filter_map(|path| self.files.get(path)).map(|present| present.items.len()).sum()
    }

    /// The text of a report or a list was really delivered: the run knows it now.
    pub fn delivered(&mut self, ticket: Ticket) {
        let serial = self.next();
        let keys = self.limits.keys;
        let Some(run) = self.runs.get_mut(&ticket.run) else { return };
        for note in ticket.files {
            // Deleted or forgotten meanwhile: nothing to remember.
            let Some(entry) = run.entries.get(&note.path) else { continue };
            let entry = if entry.as_of == note.as_of {
                let gone = [0, 1, 2, 3].map(|index| {
                    let counted: u64 = note.gone[index];
                    entry.gone[index].saturating_sub(counted)
                });
                let equals = note.equal.then_some(note.serial);
                Entry { known: Arc::new(note.then), as_of: serial, equals, gone, used: serial }
            } else {
                // Another answer was delivered first. What this one told is known as well, and counted once.
                let mut known = Tally::clone(&entry.known);
                for item in &note.told {
                    let key = item.folded.key;
                    let count = |tally: &Tally| tally.held.get(&key).map_or(0, |held| held.count);
                    if count(&known) < count(&note.then) {
                        known.add(item);
                    }
                }
                Entry { known: Arc::new(known), as_of: serial, equals: None, gone: entry.gone, used: serial }
            };
            run.put(note.path, entry);
        }
        run.shrink(keys);
    }
}
