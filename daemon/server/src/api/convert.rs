//! From the graph's plain data to the wire's types, and back.

use std::path::Path;

use ccd_graph as plain;
use ccd_protocol::{
    Range, TextPosition, graph as wire,
    workspace::{Freshness, IndexState, Progress, StaleFiles},
};
use ccd_text::Place;

/// Both sides use the same words; a word that only one of them knows does not compile.
macro_rules! same_words {
    ($name:ident, $to_wire:ident { $($word:ident)+ }) => {
        pub(crate) fn $to_wire(word: plain::$name) -> wire::$name {
            match word { $(plain::$name::$word => wire::$name::$word),+ }
        }
    };
    ($name:ident, $to_wire:ident, $to_plain:ident { $($word:ident)+ }) => {
        same_words!($name, $to_wire { $($word)+ });
        pub(crate) fn $to_plain(word: wire::$name) -> plain::$name {
            match word { $(wire::$name::$word => plain::$name::$word),+ }
        }
    };
}

same_words!(SymbolKind, symbol_kind, plain_symbol_kind {
    Module Function Method Constructor Field Constant Variable Struct Class
    Enum EnumMember Interface Trait Impl TypeAlias Macro Property Test
});
same_words!(EdgeKind, edge_kind {
    Contains Calls Imports Extends Implements Overrides References ReExports Instantiates Tests
});
same_words!(Confidence, confidence, plain_confidence { Verified Exact Typed Narrowed Candidate External });

/// The state of a graph that was never asked for.
pub(crate) fn not_indexed() -> IndexState {
    IndexState { state: Freshness::NotIndexed, indexing: None, stale: None }
}

/// How fresh a graph is.
pub(crate) fn index_state(state: &plain::State) -> IndexState {
    match state.freshness {
        plain::Freshness::NotIndexed => not_indexed(),
        plain::Freshness::Indexing { done, total } => {
            IndexState { state: Freshness::Indexing, indexing: Some(Progress { done, total }), stale: None }
        }
        plain::Freshness::Ready => IndexState { state: Freshness::Ready, indexing: None, stale: None },
        plain::Freshness::Stale { files } => {
            IndexState { state: Freshness::Stale, indexing: None, stale: Some(StaleFiles { files }) }
        }
    }
}

/// On which state an answer was computed.
pub(crate) fn state(state: &plain::State) -> wire::State {
    let index = index_state(state);
    wire::State {
        state: index.state,
        indexing: index.indexing,
        stale: index.stale,
        generation: state.generation,
        epoch: state.epoch,
    }
}

fn position(place: Place) -> TextPosition {
    TextPosition { line: place.line, column: place.column }
}

fn range((start, end): (Place, Place)) -> Range {
    Range { start: position(start), end: position(end) }
}

fn absolute(root: &str, rel: &str) -> String {
    Path::new(root).join(rel).to_string_lossy().into_owned()
}

/// A definition, with its children. Outlines nest at most 16 levels, so this may recurse.
pub(crate) fn symbol(root: &str, symbol: plain::SymbolView) -> wire::Symbol {
    wire::Symbol {
        path: absolute(root, &symbol.rel),
        id: symbol.id,
        name: symbol.name,
        qualified: symbol.qualified,
        kind: symbol_kind(symbol.kind),
        language: symbol.language.to_owned(),
        rel: symbol.rel,
        range: range(symbol.range),
        name_range: range(symbol.name_range),
        signature: symbol.signature,
        exported: symbol.exported,
        generated: symbol.generated,
        children: symbol.children.into_iter().map(|child| self::symbol(root, child)).collect(),
    }
}

/// A definition in short.
pub(crate) fn symbol_ref(symbol: plain::SymbolRef) -> wire::SymbolRef {
    wire::SymbolRef {
        id: symbol.id,
        name: symbol.name,
        qualified: symbol.qualified,
        kind: symbol.kind.map(symbol_kind),
        rel: symbol.rel,
        line: symbol.line,
    }
}

/// An arc.
pub(crate) fn edge(root: &str, edge: plain::EdgeView) -> wire::Edge {
    wire::Edge {
        from: symbol_ref(edge.from),
        to: symbol_ref(edge.to),
        kind: edge_kind(edge.kind),
        site: wire::Site {
            path: absolute(root, &edge.rel),
            rel: edge.rel,
            line: edge.place.line,
            column: edge.place.column,
            text: edge.text,
        },
        distance: edge.distance,
        confidence: confidence(edge.confidence),
        of: edge.of,
        ids: edge.ids,
    }
}

/// Arcs.
pub(crate) fn edges(root: &str, edges: Vec<plain::EdgeView>) -> Vec<wire::Edge> {
    edges.into_iter().map(|one| edge(root, one)).collect()
}
