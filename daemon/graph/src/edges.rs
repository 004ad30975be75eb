//! The resolved edges of a file, and their bytes for the store.

use ccd_text::Place;

use crate::{
    Confidence, EdgeKind,
    codec::{Damaged, Reader, Writer},
    facts::{DefId, Facts, NONE, StrId, Strings},
    model::{Model, SymId},
};

/// Grows whenever the same inputs give other edges.
pub(crate) const RESOLVER_VERSION: u32 = 4;

/// Which definitions of a name an undecided edge may mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub(crate) enum Class {
    /// Methods and other members that can be called.
    Member,
    /// Functions and types.
    Free,
    /// Types.
    Type,
    /// Macros.
    Macro,
}

/// Where an edge leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    Symbol(SymId),
    /// To one of the definitions of its name.
    Undecided(Class),
    /// Out of the workspace: a path in [`FileEdges::paths`].
    External(StrId),
}

/// An edge. Its `contains` edges are not kept: they follow from the containers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EdgeRecord {
    /// The owner of the site.
    pub(crate) from: DefId,
    pub(crate) kind: EdgeKind,
    pub(crate) confidence: Confidence,
    pub(crate) place: Place,
    /// A string of the facts: the name at the site.
    pub(crate) name: StrId,
    pub(crate) to: Target,
}

/// The edges of a file, in the order of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileEdges {
    pub(crate) edges: Vec<EdgeRecord>,
    /// Paths that lead out.
    pub(crate) paths: Strings,
}

/// Symbols are written by key, because their numbers differ from process to process.
pub(crate) fn encode(edges: &FileEdges, model: &Model) -> Vec<u8> {
    let mut w = Writer::default();
    w.number(edges.paths.len() as u64);
    for path in edges.paths.iter() {
        w.bytes(path.as_bytes());
    }
    let mut keys: Vec<u64> = Vec::new();
    let mut seen = rustc_hash::FxHashMap::default();
    for edge in &edges.edges {
        if let Target::Symbol(symbol) = edge.to {
            let key = model.symbols[symbol as usize].key;
            seen.entry(key).or_insert_with(|| {
                keys.push(key);
                keys.len() as u64 - 1
            });
        }
    }
    w.number(keys.len() as u64);
    for key in &keys {
        w.0.extend_from_slice(&key.to_le_bytes());
    }
    w.number(edges.edges.len() as u64);
    let mut line = 0;
    for edge in &edges.edges {
        w.number(u64::from(edge.kind as u8) << 3 | u64::from(edge.confidence as u8));
        w.number(u64::from(edge.from));
        w.delta(line, edge.place.line);
        w.number(u64::from(edge.place.column));
        w.index(edge.name);
        line = edge.place.line;
        match edge.to {
            Target::Symbol(symbol) => w.number(seen[&model.symbols[symbol as usize].key] << 2),
            Target::Undecided(class) => w.number(u64::from(class as u8) << 2 | 1),
            Target::External(path) => w.number(u64::from(path) << 2 | 2),
        }
    }
    w.0
}

/// Reads edges back. A symbol that is not there makes them useless: they are resolved again.
pub(crate) fn decode(bytes: &[u8], facts: &Facts, model: &Model) -> Result<FileEdges, Damaged> {
    let mut r = Reader(bytes);
    let mut edges = FileEdges::default();
    for _ in 0..r.count()? {
        let path = std::str::from_utf8(r.bytes()?).map_err(|_| Damaged)?;
        edges.paths.text.push_str(path);
        edges.paths.ends.push(edges.paths.text.len() as u32);
    }
    let count = r.count()?;
    let mut symbols = Vec::with_capacity(count);
    for _ in 0..count {
        let (key, rest) = r.0.split_at_checked(8).ok_or(Damaged)?;
        r.0 = rest;
        let key = u64::from_le_bytes(key.try_into().map_err(|_| Damaged)?);
        let symbol = model.symbol_by_key(key).filter(|&symbol| model.place(symbol).is_some());
        symbols.push(symbol.ok_or(Damaged)?);
    }
    let count = r.count()?;
    edges.edges.reserve(count);
    let mut line = 0;
    for _ in 0..count {
        let coded = r.number()?;
        let (kind, confidence) = (edge_kind(coded >> 3)?, confidence(coded & 7)?);
        let from = r.small()?;
        line = r.delta(line)?;
        let column = r.small()?;
        let name = r.index()?;
        if from as usize >= facts.definitions.len() || name != NONE && name as usize >= facts.strings.len() {
            return Err(Damaged);
        }
        let coded = r.number()?;
        let at = (coded >> 2) as usize;
        let to = match coded & 3 {
            0 => Target::Symbol(*symbols.get(at).ok_or(Damaged)?),
            1 => Target::Undecided(match at {
                0 => Class::Member,
                1 => Class::Free,
                2 => Class::Type,
                3 => Class::Macro,
                _ => return Err(Damaged),
            }),
            2 if at < edges.paths.len() => Target::External(at as StrId),
            _ => return Err(Damaged),
        };
        edges.edges.push(EdgeRecord { from, kind, confidence, place: Place { line, column }, name, to });
    }
    Ok(edges)
}

fn edge_kind(number: u64) -> Result<EdgeKind, Damaged> {
    use EdgeKind as K;
    let all = [
        K::Contains,
        K::Calls,
        K::Imports,
        K::Extends,
        K::Implements,
        K::Overrides,
        K::References,
        K::ReExports,
        K::Instantiates,
        K::Tests,
    ];
    all.get(number as usize).copied().filter(|kind| *kind as u64 == number).ok_or(Damaged)
}

fn confidence(number: u64) -> Result<Confidence, Damaged> {
    use Confidence as C;
    let all = [C::Verified, C::Exact, C::Typed, C::Narrowed, C::Candidate, C::External];
    all.get(number as usize).copied().filter(|known| *known as u64 == number).ok_or(Damaged)
}
