//! How one symbol leads to another.

use ccd_corpus::Cancel;
use rustc_hash::FxHashMap;

use super::{
    calls::is_call,
    views::{EdgeAt, EdgeViews},
};
use crate::{
    Answer, Confidence, QueryError, SymbolQuery, Ways,
    edges::Target,
    engine::{Contents, Graph},
    model::SymId,
};

/// Each symbol's depth, and the edges by which it was reached at that depth.
type Reached = FxHashMap<SymId, (u32, Vec<(SymId, EdgeAt)>)>;

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
                for at in contents.outgoing(symbol, |record| is_call(record.kind), depth) {
                    for target in contents.targets(at) {
                        if reached.len() >= MAX_NODES && !reached.contains_key(&target) {
                            truncated = true;
                            continue;
                        }
                        let (known, edges) = reached.entry(target).or_insert_with(|| {
                            next.push(target);
                            (depth, Vec::new())
                        });
                        if *known == depth {
                            edges.push((symbol, at));
                        }
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
            let records: Vec<_> = way.iter().filter_map(|at| at.record(&contents.model)).collect();
            let worst = records.iter().map(|(_, record)| record.confidence).max().unwrap_or(Confidence::Exact);
            (worst, records.iter().map(|(entry, record)| (entry.rel.clone(), record.place)).collect::<Vec<_>>())
        });
        ways.truncate(MAX_WAYS);
        let mut views = EdgeViews::new(self, &contents);
        let paths = ways
            .into_iter()
            .filter_map(|way| way.into_iter().map(|at| views.edge(at)).collect::<Option<Vec<_>>>())
            .filter(|way| !way.is_empty())
            .collect();
        Ok(self.answer(&contents, Ways { paths, truncated }))
    }
}

impl Contents {
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
    fn ways_back(&self, reached: &Reached, start: SymId, end: SymId) -> Vec<Vec<EdgeAt>> {
        let mut done = Vec::new();
        let mut pending: Vec<(SymId, Vec<EdgeAt>)> = vec![(end, Vec::new())];
        while let Some((symbol, way)) = pending.pop() {
            if symbol == start && !way.is_empty() {
                done.push(way.into_iter().rev().collect());
                if done.len() >= 4 * MAX_WAYS {
                    break;
                }
                continue;
            }
            let Some((_, edges)) = reached.get(&symbol) else { continue };
            // One edge from each symbol before: several calls of one function are one way.
            let mut before: Vec<(SymId, EdgeAt)> = Vec::new();
            for &(from, at) in edges {
                let confidence = |at: EdgeAt| at.record(&self.model).map(|(_, record)| (record.confidence, record.place));
                match before.iter_mut().find(|(known, _)| *known == from) {
                    Some((_, known)) if confidence(at) < confidence(*known) => *known = at,
                    Some(_) => {}
                    None => before.push((from, at)),
                }
            }
            for (from, at) in before.into_iter().take(4 * MAX_WAYS) {
                let mut longer = way.clone();
                longer.push(at);
                pending.push((from, longer));
            }
        }
        done
    }
}
