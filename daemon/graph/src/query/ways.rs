//! How one symbol leads to another.

use std::sync::Arc;

use ccd_corpus::Cancel;
use ccd_grammars::LanguageId;
use ccd_text::Place;
use rustc_hash::FxHashMap;

use super::{
    calls::is_call,
    views::{EdgeAt, EdgeViews},
};
use crate::{
    Answer, Confidence, EdgeView, QueryError, SymbolKind, SymbolQuery, Ways,
    edges::Target,
    engine::{Contents, Graph},
    facts::Definition,
    model::SymId,
};

/// A step of a way.
#[derive(Clone, Copy)]
enum Step {
    Edge(EdgeAt),
    /// From a class that is made to its constructor, which then runs.
    Constructor {
        class: SymId,
        constructor: SymId,
        distance: u32,
    },
}

/// Each symbol's depth, and the steps by which it was reached at that depth.
type Reached = FxHashMap<SymId, (u32, Vec<(SymId, Step)>)>;

/// Symbols visited at most.
const MAX_NODES: usize = 50_000;
/// Ways told.
const MAX_WAYS: usize = 5;
/// An undecided step is followed if it may mean at most so many.
const MAX_CANDIDATES: usize = 8;

impl Graph {
    /// The shortest ways over calls, surest first.
    pub fn path(
        &self,
        from: &SymbolQuery,
        to: &SymbolQuery,
        max_depth: u32,
        cancel: &Cancel,
    ) -> Result<Answer<Ways>, QueryError> {
        let contents = self.contents();
        self.ready_for_answers(&contents)?;
        let (start, end) = (contents.find(from)?, contents.find(to)?);
        let mut reached = Reached::default();
        reached.insert(start, (0, Vec::new()));
        let mut frontier = vec![start];
        let mut truncated = false;
        for depth in 1..=max_depth {
            let mut next = Vec::new();
            for &symbol in &frontier {
                if cancel.is_cancelled() {
                    return Err(QueryError::Cancelled);
                }
                for (target, step) in contents.steps(symbol, symbol == start, depth) {
                    if reached.len() >= MAX_NODES && !reached.contains_key(&target) {
                        truncated = true;
                        continue;
                    }
                    let (known, steps) = reached.entry(target).or_insert_with(|| {
                        next.push(target);
                        (depth, Vec::new())
                    });
                    if *known == depth {
                        steps.push((symbol, step));
                    }
                }
            }
            if reached.contains_key(&end) || next.is_empty() {
                break;
            }
            frontier = next;
        }
        let mut ways = contents.ways_back(&reached, start, end);
        ways.sort_by_cached_key(|way| {
            let records: Vec<_> = way.iter().map(|&step| contents.sureness(step)).collect();
            let worst = records.iter().map(|(confidence, _)| *confidence).max().unwrap_or(Confidence::Exact);
            (worst, records.into_iter().map(|(_, place)| place).collect::<Vec<_>>())
        });
        ways.truncate(MAX_WAYS);
        let mut views = EdgeViews::new(self, &contents);
        let paths = ways
            .into_iter()
            .filter_map(|way| way.into_iter().map(|step| views.step(step)).collect::<Option<Vec<_>>>())
            .filter(|way| !way.is_empty())
            .collect();
        Ok(self.answer(&contents, Ways { paths, truncated }))
    }
}

impl Contents {
    /// Where one step leads from a symbol. What a class holds does not run because it is named: only its constructor
    /// does. For the class that was asked about all it holds counts.
    fn steps(&self, symbol: SymId, first: bool, depth: u32) -> Vec<(SymId, Step)> {
        let mut steps = Vec::new();
        let Some((entry, definition)) = self.model.place(symbol) else { return steps };
        let facts = &entry.facts;
        for at in self.outgoing(symbol, |record| is_call(record.kind), depth) {
            let from = entry.edges.edges[at.edge as usize].from;
            if first || from == definition {
                steps.extend(self.targets(at).into_iter().map(|target| (target, Step::Edge(at))));
            }
        }
        if facts.definitions[definition as usize].kind == SymbolKind::Class {
            let makes = |d: &Definition| {
                d.container == definition
                    && (d.kind == SymbolKind::Constructor
                        || entry.language == LanguageId::PYTHON && facts.strings.get(d.name) == "__init__")
            };
            let constructors = facts.definitions.iter().enumerate().filter(|(_, d)| makes(d));
            steps.extend(constructors.map(|(at, _)| {
                let constructor = entry.symbols[at];
                (constructor, Step::Constructor { class: symbol, constructor, distance: depth })
            }));
        }
        steps
    }

    /// How sure a step is, and where it stands.
    fn sureness(&self, step: Step) -> (Confidence, (Arc<str>, Place)) {
        match step {
            Step::Edge(at) => {
                let (entry, record) = at.record(&self.model).expect("edges of this answer are of this state");
                (record.confidence, (entry.rel.clone(), record.place))
            }
            Step::Constructor { constructor, .. } => {
                let (entry, at) = self.model.place(constructor).expect("symbols of this answer are of this state");
                (Confidence::Exact, (entry.rel.clone(), entry.facts.definitions[at as usize].name_range.0))
            }
        }
    }

    fn targets(&self, at: EdgeAt) -> Vec<SymId> {
        let Some((entry, record)) = at.record(&self.model) else { return Vec::new() };
        match record.to {
            Target::Symbol(symbol) => self.overloads(symbol),
            Target::Undecided(class) => {
                let found = entry.name(record.name).map(|name| self.candidates(name, class, entry.language)).unwrap_or_default();
                if found.len() <= MAX_CANDIDATES { found } else { Vec::new() }
            }
            Target::External(_) => Vec::new(),
        }
    }

    /// The ways from the end back to the start, a bounded number.
    fn ways_back(&self, reached: &Reached, start: SymId, end: SymId) -> Vec<Vec<Step>> {
        let mut done = Vec::new();
        let mut pending: Vec<(SymId, Vec<Step>)> = vec![(end, Vec::new())];
        while let Some((symbol, way)) = pending.pop() {
            if symbol == start && !way.is_empty() {
                done.push(way.into_iter().rev().collect());
                if done.len() >= 4 * MAX_WAYS {
                    break;
                }
                continue;
            }
            let Some((_, steps)) = reached.get(&symbol) else { continue };
            // One step from each symbol before: several calls of one function are one way.
            let mut before: Vec<(SymId, Step)> = Vec::new();
            for &(from, step) in steps {
                match before.iter_mut().find(|(known, _)| *known == from) {
                    Some((_, known)) if self.sureness(step) < self.sureness(*known) => *known = step,
                    Some(_) => {}
                    None => before.push((from, step)),
                }
            }
            for (from, step) in before.into_iter().take(4 * MAX_WAYS) {
                let mut longer = way.clone();
                longer.push(step);
                pending.push((from, longer));
            }
        }
        done
    }
}

impl EdgeViews<'_> {
    fn step(&mut self, step: Step) -> Option<EdgeView> {
        match step {
            Step::Edge(at) => self.edge(at),
            Step::Constructor { class, constructor, distance } => self.contains(class, constructor, distance),
        }
    }
}
