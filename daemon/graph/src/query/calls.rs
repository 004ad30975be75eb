//! Callers, callees, imports and importers.

use std::path::Path;

use ccd_corpus::Cancel;
use rustc_hash::FxHashSet;

use super::views::{EdgeAt, EdgeViews};
use crate::{
    Answer, CallQuery, Confidence, EdgeKind, EdgeView, ImportQuery, ImportSubject, Page, QueryError, SymbolKind,
    edges::{EdgeRecord, Target},
    engine::{Contents, Graph},
    model::{FileId, SymId},
    resolve::is_candidate,
};

/// Edges gathered for one answer; a question that needs more is told so by its total.
const MAX_EDGES: usize = 100_000;

pub(crate) fn is_call(kind: EdgeKind) -> bool {
    matches!(kind, EdgeKind::Calls | EdgeKind::Instantiates)
}

fn is_import(kind: EdgeKind) -> bool {
    matches!(kind, EdgeKind::Imports | EdgeKind::ReExports)
}

impl Contents {
    /// Edges that lead to a symbol, or may lead to it.
    pub(crate) fn incoming(&self, symbol: SymId, wanted: impl Fn(&EdgeRecord) -> bool, distance: u32) -> Vec<EdgeAt> {
        let mut found = Vec::new();
        for symbol in self.overloads(symbol) {
            for &(file, edge) in self.model.incoming.get(&symbol).into_iter().flatten() {
                let at = EdgeAt { file, edge, distance };
                if at.record(&self.model).is_some_and(|(_, record)| wanted(record)) {
                    found.push(at);
                }
            }
        }
        let Some((entry, definition)) = self.model.place(symbol) else { return found };
        let name = entry.names[entry.facts.definitions[definition as usize].name as usize];
        for &(file, edge) in self.model.undecided.get(&name).into_iter().flatten() {
            let at = EdgeAt { file, edge, distance };
            let Some((site, record)) = at.record(&self.model) else { continue };
            if let Target::Undecided(class) = record.to
                && wanted(record)
                && is_candidate(&self.model, symbol, class, site.language)
            {
                found.push(at);
            }
        }
        found
    }

    /// Edges whose sites a symbol owns: its own, and for a type or module those of what it holds.
    pub(crate) fn outgoing(&self, symbol: SymId, wanted: impl Fn(&EdgeRecord) -> bool, distance: u32) -> Vec<EdgeAt> {
        let Some((entry, definition)) = self.model.place(symbol) else { return Vec::new() };
        let file = self.model.symbols[symbol as usize].file;
        let facts = &entry.facts;
        let holds = matches!(
            facts.definitions[definition as usize].kind,
            SymbolKind::Class
                | SymbolKind::Struct
                | SymbolKind::Enum
                | SymbolKind::Interface
                | SymbolKind::Trait
                | SymbolKind::Impl
        );
        let owns = |from: u32| from == definition || holds && facts.chain(from).any(|around| around == definition);
        let edges = entry.edges.edges.iter().enumerate();
        edges
            .filter(|(_, record)| wanted(record) && owns(record.from))
            .map(|(edge, _)| EdgeAt { file, edge: edge as u32, distance })
            .collect()
    }

    /// Nearest first, then surest, then by path and place.
    pub(crate) fn sort(&self, edges: &mut [EdgeAt]) {
        edges.sort_by_cached_key(|at| {
            let (entry, record) = at.record(&self.model).expect("edges of this answer are of this state");
            (at.distance, record.confidence, entry.rel.clone(), record.place, record.kind, at.edge)
        });
    }
}

impl Graph {
    /// Sites that call or make a symbol.
    pub fn callers(&self, query: &CallQuery, cancel: &Cancel) -> Result<Answer<Page<EdgeView>>, QueryError> {
        self.calls(
            query,
            cancel,
            |contents, symbol, keep, distance| contents.incoming(symbol, keep, distance),
            |contents, at| {
                let (entry, record) = at.record(&contents.model)?;
                // A step that is one of several would lead everywhere.
                let sure = record.confidence < Confidence::Candidate;
                sure.then(|| entry.symbols[record.from as usize])
            },
        )
    }

    /// What a symbol calls or makes.
    pub fn callees(&self, query: &CallQuery, cancel: &Cancel) -> Result<Answer<Page<EdgeView>>, QueryError> {
        self.calls(
            query,
            cancel,
            |contents, symbol, keep, distance| contents.outgoing(symbol, keep, distance),
            |contents, at| match at.record(&contents.model)?.1.to {
                Target::Symbol(symbol) => Some(symbol),
                _ => None,
            },
        )
    }

    fn calls(
        &self,
        query: &CallQuery,
        cancel: &Cancel,
        step: impl Fn(&Contents, SymId, &dyn Fn(&EdgeRecord) -> bool, u32) -> Vec<EdgeAt>,
        next: impl Fn(&Contents, &EdgeAt) -> Option<SymId>,
    ) -> Result<Answer<Page<EdgeView>>, QueryError> {
        let contents = self.contents();
        self.ready_for_answers(&contents)?;
        let start = contents.find(&query.symbol)?;
        let least = query.min_confidence.unwrap_or(Confidence::External);
        let keep = |record: &EdgeRecord| is_call(record.kind) && record.confidence <= least;
        let mut seen: FxHashSet<SymId> = contents.overloads(start).into_iter().collect();
        let mut edges: Vec<EdgeAt> = Vec::new();
        let mut known: FxHashSet<(FileId, u32)> = FxHashSet::default();
        let mut frontier = vec![start];
        for distance in 1..=query.depth {
            let mut reached = Vec::new();
            for &symbol in &frontier {
                if cancel.is_cancelled() {
                    return Err(QueryError::Cancelled);
                }
                for at in step(&contents, symbol, &keep, distance) {
                    if edges.len() >= MAX_EDGES || !known.insert((at.file, at.edge)) {
                        continue;
                    }
                    edges.push(at);
                    if let Some(symbol) = next(&contents, &at)
                        && seen.insert(symbol)
                    {
                        reached.push(symbol);
                    }
                }
            }
            frontier = reached;
        }
        Ok(self.page(&contents, edges, query.offset, query.limit))
    }

    fn page(&self, contents: &Contents, mut edges: Vec<EdgeAt>, offset: usize, limit: usize) -> Answer<Page<EdgeView>> {
        contents.sort(&mut edges);
        let total = edges.len() as u64;
        let mut views = EdgeViews::new(self, contents);
        let mut items = Vec::new();
        let mut hidden = 0;
        for &at in edges.iter().skip(offset).take(limit) {
            match views.edge(at) {
                Some(view) => items.push(view),
                None => hidden += 1,
            }
        }
        self.answer(contents, Page { items, total, hidden })
    }

    /// What a file or module imports.
    pub fn imports(&self, query: &ImportQuery, cancel: &Cancel) -> Result<Answer<Page<EdgeView>>, QueryError> {
        let contents = self.contents();
        self.ready_for_answers(&contents)?;
        let start = contents.subject(&query.of)?;
        let step = |file: FileId, distance: u32| -> Vec<EdgeAt> {
            let Some(entry) = contents.model.file(file) else { return Vec::new() };
            let edges = entry.edges.edges.iter().enumerate().filter(|(_, record)| is_import(record.kind));
            edges.map(|(edge, _)| EdgeAt { file, edge: edge as u32, distance }).collect()
        };
        let next = |at: &EdgeAt| -> Vec<FileId> {
            match at.record(&contents.model).map(|(_, record)| record.to) {
                Some(Target::Symbol(symbol)) => vec![contents.model.symbols[symbol as usize].file],
                _ => Vec::new(),
            }
        };
        let edges = contents.follow(start, query.depth, cancel, step, next)?;
        Ok(self.page(&contents, edges, query.offset, query.limit))
    }

    /// Who imports a file or module.
    pub fn importers(&self, query: &ImportQuery, cancel: &Cancel) -> Result<Answer<Page<EdgeView>>, QueryError> {
        let contents = self.contents();
        self.ready_for_answers(&contents)?;
        let start = match (contents.subject(&query.of), &query.of) {
            (Ok(start), _) => start,
            (Err(error), ImportSubject::Module(name)) => {
                // A module that lies outside is known by those who import it.
                let edges = contents.importers_of_external(name);
                if edges.is_empty() {
                    return Err(error);
                }
                return Ok(self.page(&contents, edges, query.offset, query.limit));
            }
            (Err(error), _) => return Err(error),
        };
        let step = |file: FileId, distance: u32| contents.importers_of(file, distance);
        let next = |at: &EdgeAt| vec![at.file];
        let edges = contents.follow(start, query.depth, cancel, step, next)?;
        Ok(self.page(&contents, edges, query.offset, query.limit))
    }
}

impl Contents {
    /// The files of a subject.
    fn subject(&self, of: &ImportSubject) -> Result<Vec<FileId>, QueryError> {
        match of {
            ImportSubject::File(rel) => {
                let unknown = || QueryError::LanguageUnsupported { rel: rel.display().to_string() };
                self.model.file_at(Path::new(rel)).map(|file| vec![file]).ok_or_else(unknown)
            }
            ImportSubject::Module(name) => {
                let wanted = super::find::parts_of(name);
                let fits = |path: &str| {
                    let parts = super::find::parts_of(path);
                    path == name
                        || !wanted.is_empty() && parts.len() >= wanted.len() && parts[parts.len() - wanted.len()..] == wanted[..]
                };
                let exact: Vec<_> = self.layout.modules.iter().filter(|module| module.path == *name).collect();
                let found = if exact.is_empty() {
                    self.layout.modules.iter().filter(|module| fits(&module.path)).collect()
                } else {
                    exact
                };
                let mut files: Vec<FileId> =
                    found.iter().flat_map(|module| module.scopes.iter().map(|&(file, _)| file)).collect();
                files.sort_unstable();
                files.dedup();
                if files.is_empty() { Err(QueryError::ModuleUnknown(name.clone())) } else { Ok(files) }
            }
        }
    }

    fn importers_of(&self, file: FileId, distance: u32) -> Vec<EdgeAt> {
        let Some(entry) = self.model.file(file) else { return Vec::new() };
        // An import of a package is an import of all its files.
        let package =
            self.layout.module_of_scope(file, 0).map(|module| self.layout.module(module).scopes.clone()).unwrap_or_default();
        let modules = package.iter().filter_map(|&(of, scope)| self.model.file(of)?.symbols.get(scope as usize).copied());
        let mut symbols: Vec<SymId> = entry.symbols.iter().copied().chain(modules).collect();
        symbols.sort_unstable();
        symbols.dedup();
        let mut found = Vec::new();
        for symbol in symbols {
            for &(from, edge) in self.model.incoming.get(&symbol).into_iter().flatten() {
                let at = EdgeAt { file: from, edge, distance };
                if from != file && at.record(&self.model).is_some_and(|(_, record)| is_import(record.kind)) {
                    found.push(at);
                }
            }
        }
        found
    }

    fn importers_of_external(&self, name: &str) -> Vec<EdgeAt> {
        let mut found = Vec::new();
        for (file, entry) in self.model.entries() {
            for (edge, record) in entry.edges.edges.iter().enumerate().filter(|(_, record)| is_import(record.kind)) {
                let Target::External(path) = record.to else { continue };
                let path = entry.edges.paths.get(path);
                let below = path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '.', '/']));
                if below {
                    found.push(EdgeAt { file, edge: edge as u32, distance: 1 });
                }
            }
        }
        found
    }

    fn follow(
        &self,
        start: Vec<FileId>,
        depth: u32,
        cancel: &Cancel,
        step: impl Fn(FileId, u32) -> Vec<EdgeAt>,
        next: impl Fn(&EdgeAt) -> Vec<FileId>,
    ) -> Result<Vec<EdgeAt>, QueryError> {
        let mut seen: FxHashSet<FileId> = start.iter().copied().collect();
        let mut known: FxHashSet<(FileId, u32)> = FxHashSet::default();
        let mut edges = Vec::new();
        let mut frontier = start;
        for distance in 1..=depth {
            let mut reached = Vec::new();
            for &file in &frontier {
                if cancel.is_cancelled() {
                    return Err(QueryError::Cancelled);
                }
                for at in step(file, distance) {
                    if edges.len() < MAX_EDGES && known.insert((at.file, at.edge)) {
                        reached.extend(next(&at).into_iter().filter(|file| seen.insert(*file)));
                        edges.push(at);
                    }
                }
            }
            frontier = reached;
        }
        Ok(edges)
    }
}
