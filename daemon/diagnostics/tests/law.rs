//! Over any sequence of events, what is told is what stands minus what the run knows, counted by key.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use ccd_diagnostics::{
    Caps, Cause, Change, Diagnostic, Key, Level, Limits, Position, Publish, Range, Reads, Registry, Report, Server, ServerState,
    Severity, Told, Written,
};
use proptest::prelude::*;

const RUNS: [&str; 2] = ["one", "two"];
const FILES: [&str; 3] = ["/p/a", "/p/b", "/p/c"];

/// A multiset.
type Bag = BTreeMap<Key, usize>;

#[derive(Clone, Debug)]
enum Event {
    /// A run writes a file, at a line.
    Begin {
        run: usize,
        file: usize,
        line: u32,
    },
    /// The server's list of a file: what, and where.
    Publish {
        file: usize,
        items: Vec<(u8, u32)>,
        outside: bool,
    },
    /// The list before a change.
    Baseline {
        file: usize,
        items: Vec<(u8, u32)>,
    },
    /// A run asks; the server may have spoken, the answer may be lost.
    Report {
        run: usize,
        level: Level,
        spoken: bool,
        delivered: bool,
    },
    Delete {
        file: usize,
    },
    Move {
        from: usize,
        to: usize,
    },
}

fn events() -> impl Strategy<Value = Vec<Event>> {
    let items = || proptest::collection::vec((0u8..6, 1u32..9), 0..6);
    let level = prop_oneof![Just(Level::Errors), Just(Level::Warnings), Just(Level::All)];
    let event = prop_oneof![
        3 => (0..2usize, 0..3usize, 1u32..9).prop_map(|(run, file, line)| Event::Begin { run, file, line }),
        5 => (0..3usize, items(), any::<bool>()).prop_map(|(file, items, outside)| Event::Publish { file, items, outside }),
        1 => (0..3usize, items()).prop_map(|(file, items)| Event::Baseline { file, items }),
        4 => (0..2usize, level, any::<bool>(), any::<bool>())
            .prop_map(|(run, level, spoken, delivered)| Event::Report { run, level, spoken, delivered }),
        1 => (0..3usize).prop_map(|file| Event::Delete { file }),
        1 => (0..3usize, 0..3usize).prop_map(|(from, to)| Event::Move { from, to }),
    ];
    proptest::collection::vec(event, 1..60)
}

fn diagnostic((kind, line): (u8, u32)) -> Diagnostic {
    let at = |column| Position { line, column };
    Diagnostic {
        severity: [Severity::Error, Severity::Warning, Severity::Hint][usize::from(kind % 3)],
        code: None,
        source: Some("ls".to_owned()),
        message: format!("m{kind}"),
        range: Range { start: at(1), end: at(2) },
        related: Vec::new(),
    }
}

fn bag(items: &[(u8, u32)]) -> Bag {
    let mut bag = Bag::new();
    for item in items {
        *bag.entry(diagnostic(*item).key()).or_default() += 1;
    }
    bag
}

fn minus(from: &Bag, what: &Bag) -> Bag {
    let rest = from.iter().map(|(key, count)| (*key, count.saturating_sub(what.get(key).copied().unwrap_or(0))));
    rest.filter(|(_, count)| *count > 0).collect()
}

fn plus(one: &Bag, other: &Bag) -> Bag {
    let mut sum = one.clone();
    for (key, count) in other {
        *sum.entry(*key).or_default() += count;
    }
    sum
}

fn at_level(bag: Bag, level: Level) -> Bag {
    let severity = |key: Key| (0..6).map(|kind| diagnostic((kind, 1))).find(|one| one.key() == key).unwrap().severity;
    bag.into_iter().filter(|(key, _)| level.includes(severity(*key))).collect()
}

fn size(bag: &Bag) -> usize {
    bag.values().sum()
}

fn told(report: &Report) -> BTreeMap<PathBuf, Bag> {
    let mut told: BTreeMap<PathBuf, Bag> = BTreeMap::new();
    let lists = [&report.new, &report.elsewhere, &report.unattributed, &report.carried_over];
    for Told { path, key, .. } in lists.into_iter().flatten() {
        *told.entry(path.clone()).or_default().entry(*key).or_default() += 1;
    }
    told
}

/// The law, without positions, causes or sharing.
#[derive(Default)]
struct Model {
    now: BTreeMap<usize, Bag>,
    /// Files that a run has written, or of which there is a list.
    touched: std::collections::BTreeSet<usize>,
    known: BTreeMap<(usize, usize), Bag>,
    gone: BTreeMap<(usize, usize), Bag>,
    begun: [bool; 2],
}

impl Model {
    /// A run that has no record of a file knows what stands there.
    fn knows(&self, run: usize, file: usize) -> Bag {
        self.known.get(&(run, file)).or_else(|| self.now.get(&file)).cloned().unwrap_or_default()
    }

    fn set(&mut self, file: usize, bag: Bag) {
        for run in 0..2 {
            if self.begun[run] && self.now.get(&file).cloned().unwrap_or_default() != bag {
                let known = self.knows(run, file);
                self.known.insert((run, file), known);
            }
        }
        self.now.insert(file, bag);
        self.touched.insert(file);
    }
}

fn play(events: Vec<Event>, caps: Caps) -> Result<(), TestCaseError> {
    let roomy = caps.per_file > 100;
    let mut registry = Registry::new(Limits { caps, ..Limits::default() });
    let mut model = Model::default();
    let mut changes: [Option<Change>; 2] = [None, None];
    for event in events {
        match event {
            Event::Begin { run, file, line } => {
                let written = Written { path: FILES[file].into(), lines: vec![(line, line)], made: false };
                changes[run] = Some(registry.begin(RUNS[run], Path::new("/p"), vec![written]));
                model.begun[run] = true;
                model.touched.insert(file);
            }
            Event::Publish { file, items, outside } => {
                let cause = if outside { Cause::Outside } else { Cause::Latest };
                let list = items.iter().copied().map(diagnostic).collect();
                let path = Path::new(FILES[file]);
                let publish = Publish { publisher: "ls", path, version: None, items: list, cause, reads: Reads::Text };
                prop_assert!(registry.publish(publish));
                model.set(file, bag(&items));
            }
            Event::Baseline { file, items } => {
                registry.note_baseline("ls", Path::new(FILES[file]), items.iter().copied().map(diagnostic).collect());
                let now = bag(&items);
                if model.touched.contains(&file) {
                    model.set(file, now.clone());
                } else {
                    // Said for the first time of a file that nobody wrote: all know it.
                    model.now.insert(file, now.clone());
                    model.touched.insert(file);
                }
                for run in 0..2 {
                    if let Some(known) = model.known.get(&(run, file)).cloned() {
                        let gone = minus(&known, &now);
                        let before = model.gone.remove(&(run, file)).unwrap_or_default();
                        model.gone.insert((run, file), plus(&before, &gone));
                        model.known.insert((run, file), minus(&known, &gone));
                    }
                }
            }
            Event::Report { run, level, spoken, delivered } => {
                let Some(change) = &changes[run] else { continue };
                let state = if spoken { ServerState::Settled } else { ServerState::TimedOut };
                let server = Server { id: "ls".to_owned(), publishers: vec!["ls".into()], state, waited_ms: 0 };
                let (report, ticket) = registry.report(change, level, vec![server]);
                let said = told(&report);
                let (mut owed, mut fixed) = (0, 0);
                for (file, path) in FILES.iter().enumerate() {
                    let known = model.knows(run, file);
                    let now = model.now.get(&file).cloned().unwrap_or_default();
                    let news = at_level(minus(&now, &known), level);
                    let said = said.get(Path::new(path)).cloned().unwrap_or_default();
                    owed += size(&news);
                    let mut gone = model.gone.get(&(run, file)).cloned().unwrap_or_default();
                    if spoken {
                        gone = plus(&gone, &minus(&known, &now));
                    }
                    fixed += size(&at_level(gone, level));
                    // Nothing that is known, and nothing twice.
                    prop_assert_eq!(minus(&said, &news), Bag::new());
                    if roomy {
                        prop_assert_eq!(&said, &news);
                    }
                    if delivered && roomy && model.known.contains_key(&(run, file)) {
                        let kept = if spoken { minus(&known, &minus(&known, &now)) } else { known };
                        model.known.insert((run, file), plus(&kept, &said));
                        model.gone.remove(&(run, file));
                    }
                }
                let said: usize = said.values().map(size).sum();
                prop_assert_eq!(said + usize::try_from(report.suppressed).unwrap(), owed);
                prop_assert_eq!(usize::try_from(report.fixed).unwrap(), fixed);
                if delivered && roomy {
                    registry.delivered(ticket);
                }
            }
            Event::Delete { file } => {
                registry.deleted(Path::new(FILES[file]));
                forget(&mut model, file);
            }
            Event::Move { from, to } if from != to => {
                registry.moved(Path::new(FILES[from]), Path::new(FILES[to]));
                forget(&mut model, to);
                if let Some(now) = model.now.remove(&from) {
                    model.now.insert(to, now);
                }
                if model.touched.remove(&from) {
                    model.touched.insert(to);
                }
                for run in 0..2 {
                    if let Some(known) = model.known.remove(&(run, from)) {
                        model.known.insert((run, to), known);
                    }
                    if let Some(gone) = model.gone.remove(&(run, from)) {
                        model.gone.insert((run, to), gone);
                    }
                }
            }
            Event::Move { .. } => {}
        }
    }
    Ok(())
}

fn forget(model: &mut Model, file: usize) {
    model.now.remove(&file);
    model.touched.remove(&file);
    for run in 0..2 {
        model.known.remove(&(run, file));
        model.gone.remove(&(run, file));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn what_is_told_is_what_stands_minus_what_is_known(events in events()) {
        play(events, Caps { per_file: 1000, elsewhere: 1000, elsewhere_files: 1000, unattributed: 1000 })?;
    }

    #[test]
    fn what_caps_leave_out_is_counted(events in events()) {
        play(events, Caps { per_file: 1, elsewhere: 1, elsewhere_files: 1, unattributed: 1 })?;
    }
}
