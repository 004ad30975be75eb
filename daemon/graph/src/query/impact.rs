//! What a change can reach.

use std::path::Path;

use ccd_corpus::{Cancel, Looked, Skipped};
use rustc_hash::{FxHashMap, FxHashSet};

use super::views::{EdgeAt, EdgeViews, order};
use crate::{Answer, Confidence, EdgeKind, Impact, ImpactQuery, QueryError, SymbolKind, engine::Graph, model::SymId};

/// Symbols visited at most.
const MAX_NODES: usize = 50_000;

impl Graph {
    /// Why a path is no file of the graph.
    fn why_unknown(&self, rel: &Path) -> QueryError {
        match ccd_corpus::look(&self.root, rel, &self.limits) {
            Looked::Gone => Skipped::NotFound.into(),
            Looked::Folder => Skipped::IsDirectory.into(),
            Looked::Skipped(skipped) => skipped.into(),
            Looked::Manifest | Looked::IgnoreFile | Looked::Other => {
                QueryError::LanguageUnsupported { rel: rel.display().to_string() }
            }
            Looked::Source(_) => match ccd_corpus::read(&self.root, rel, &self.limits) {
                Err(skipped) => skipped.into(),
                // It is new; the run that takes it in has not ended.
                Ok(_) => QueryError::NotReady { done: 0, total: 0 },
            },
        }
    }

    /// The symbols that a change of others can reach, nearest first. A step that may mean several definitions is
    /// told, and not followed further.
    pub fn impact(&self, query: &ImpactQuery, cancel: &Cancel) -> Result<Answer<Impact>, QueryError> {
        let contents = self.contents();
        self.ready_for_answers(&contents)?;
        let mut frontier: Vec<SymId> = Vec::new();
        for symbol in &query.symbols {
            frontier.push(contents.find(symbol)?);
        }
        for rel in &query.files {
            let file = contents.model.file_at(rel).and_then(|id| contents.model.file(id));
            let file = file.ok_or_else(|| self.why_unknown(rel))?;
            frontier.extend(file.symbols.iter().copied());
        }
        let wanted = |kind: EdgeKind| {
            matches!(
                kind,
                EdgeKind::Calls
                    | EdgeKind::Instantiates
                    | EdgeKind::Extends
                    | EdgeKind::Implements
                    | EdgeKind::Imports
                    | EdgeKind::ReExports
            )
        };
        let mut seen: FxHashSet<SymId> = frontier.iter().copied().collect();
        let mut levels: Vec<(u32, Vec<(SymId, EdgeAt)>)> = Vec::new();
        let mut truncated = false;
        for distance in 1..=query.depth {
            // For each symbol reached the surest edge that leads to it.
            let mut reached: FxHashMap<SymId, (Confidence, EdgeAt)> = FxHashMap::default();
            for &symbol in &frontier {
                if cancel.is_cancelled() {
                    return Err(QueryError::Cancelled);
                }
                for at in contents.incoming(symbol, |record| wanted(record.kind), distance) {
                    let Some((entry, record)) = at.record(&contents.model) else { continue };
                    let from = entry.symbols[record.from as usize];
                    if seen.contains(&from) {
                        continue;
                    }
                    if seen.len() + reached.len() >= MAX_NODES {
                        truncated = true;
                        continue;
                    }
                    let key = |confidence: Confidence, at: EdgeAt| {
                        let (entry, record) = at.record(&contents.model).expect("edges of this answer are of this state");
                        (confidence, entry.rel.clone(), record.place)
                    };
                    match reached.get(&from) {
                        Some(&(confidence, known)) if key(confidence, known) <= key(record.confidence, at) => {}
                        _ => {
                            reached.insert(from, (record.confidence, at));
                        }
                    }
                }
            }
            let mut level: Vec<(SymId, Confidence, EdgeAt)> =
                reached.into_iter().map(|(symbol, (confidence, at))| (symbol, confidence, at)).collect();
            let fan_in = |symbol: SymId| contents.model.incoming.get(&symbol).map_or(0, Vec::len);
            level.sort_by(|a, b| {
                let key = |&(symbol, confidence, _): &(SymId, Confidence, EdgeAt)| {
                    (confidence, std::cmp::Reverse(fan_in(symbol)), order(&contents.model, symbol))
                };
                key(a).cmp(&key(b))
            });
            seen.extend(level.iter().map(|(symbol, _, _)| *symbol));
            frontier = level
                .iter()
                .filter(|(_, confidence, _)| *confidence < Confidence::Candidate)
                .map(|(symbol, _, _)| *symbol)
                .collect();
            if level.is_empty() {
                break;
            }
            levels.push((distance, level.into_iter().map(|(symbol, _, at)| (symbol, at)).collect()));
        }
        let total: usize = levels.iter().map(|(_, level)| level.len()).sum();
        let mut files: Vec<String> = Vec::new();
        let mut tests = Vec::new();
        let mut views = EdgeViews::new(self, &contents);
        let mut left = query.limit;
        let mut told = Vec::new();
        for (distance, level) in levels {
            let (mut symbols, mut via) = (Vec::new(), Vec::new());
            for (symbol, at) in level {
                let Some((entry, definition)) = contents.model.place(symbol) else { continue };
                files.push(entry.rel.to_string());
                let is_test =
                    entry.facts.chain(definition).any(|around| entry.facts.definitions[around as usize].kind == SymbolKind::Test);
                if is_test && tests.len() < query.limit {
                    tests.extend(contents.reference(symbol));
                }
                if left > 0
                    && let (Some(reference), Some(edge)) = (contents.reference(symbol), views.edge(at))
                {
                    left -= 1;
                    symbols.push(reference);
                    via.push(edge);
                }
            }
            if !symbols.is_empty() {
                told.push((distance, symbols, via));
            }
        }
        files.sort_unstable();
        files.dedup();
        truncated |= total > query.limit;
        Ok(self.answer(&contents, Impact { levels: told, files, tests, total: total as u64, truncated }))
    }
}
