//! `graph.*`: what is here, and what depends on it. The graph knows no types and says so. (One file: a namespace is read as one page.)

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    PositionOrName, Range,
    method::method,
    workspace::{Freshness, Progress, StaleFiles},
};

/// What a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words are the field's own")]
pub enum SymbolKind {
    Module,
    Function,
    Method,
    Constructor,
    Field,
    Constant,
    Variable,
    Struct,
    Class,
    Enum,
    EnumMember,
    Interface,
    Trait,
    Impl,
    TypeAlias,
    Macro,
    Property,
    Test,
}

/// What an edge says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EdgeKind {
    /// The outer symbol holds the inner one.
    Contains,
    /// A call site.
    Calls,
    /// An import of a module or of a name in it.
    Imports,
    /// A class or trait names its base.
    Extends,
    /// A type names a trait or interface that it implements.
    Implements,
    /// A method replaces one of a base.
    Overrides,
    /// A name used as a value or type.
    References,
    /// A module gives out a name of another.
    ReExports,
    /// A type is made: `new C()`, `S { .. }`, `<Tag/>`.
    Instantiates,
    /// A test names what it tests.
    Tests,
}

/// How sure an edge is, surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    /// A language server confirmed it.
    Verified,
    /// A scope or an import path leads to one definition.
    Exact,
    /// The receiver's type is known and has the member.
    Typed,
    /// The only candidate that is visible from the file.
    Narrowed,
    /// One of `of` definitions of this name; `ids` lists them.
    Candidate,
    /// Leads out of the workspace.
    External,
}

/// A definition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Symbol {
    /// Stable over unrelated edits: path, kind, qualified name and ordinal among equals.
    pub id: String,
    /// The bare name.
    pub name: String,
    /// The name with its containers.
    pub qualified: String,
    /// What it is.
    pub kind: SymbolKind,
    /// The id of the language.
    pub language: String,
    /// Absolute.
    pub path: String,
    /// Relative to the root.
    pub rel: String,
    /// The whole item, with its attributes and doc comment.
    pub range: Range,
    /// The name alone.
    pub name_range: Range,
    /// Its head, on one line.
    pub signature: String,
    /// Whether it can be used outside its module.
    pub exported: bool,
    /// The file says that it is generated.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generated: bool,
    /// In an outline.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<Symbol>,
}

/// A symbol in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SymbolRef {
    /// As in [`Symbol`]. Absent for what lies outside the workspace and for a name that was not decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The bare name.
    pub name: String,
    /// The name with its containers; for what lies outside, the path that leads there.
    pub qualified: String,
    /// Absent for what lies outside the workspace.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<SymbolKind>,
    /// Relative to the root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rel: Option<String>,
    /// The line of the name, 1-based.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

/// The place that makes an edge.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Site {
    /// Absolute.
    pub path: String,
    /// Relative to the root.
    pub rel: String,
    /// 1-based.
    pub line: u32,
    /// 1-based, in Unicode scalar values.
    pub column: u32,
    /// The line, trimmed, 200 bytes at most.
    pub text: String,
}

/// An arc of the graph.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edge {
    /// The innermost named function around the site, or the file's module.
    pub from: SymbolRef,
    /// Where it leads.
    pub to: SymbolRef,
    /// What it says.
    pub kind: EdgeKind,
    /// The place in the text.
    pub site: Site,
    /// Steps from the symbol that was asked for, 1 = direct.
    pub distance: u32,
    /// How sure it is.
    pub confidence: Confidence,
    /// With `candidate`: how many definitions it may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<u32>,
    /// With `candidate`: their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ids: Vec<String>,
}

/// On which state of the graph an answer was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct State {
    /// The word.
    pub state: Freshness,
    /// With `indexing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexing: Option<Progress>,
    /// With `stale`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale: Option<StaleFiles>,
    /// Grows with every change of the graph.
    pub generation: u64,
    /// Grows when HEAD or very many files change underneath.
    pub epoch: u64,
}

macro_rules! params {
    ($(#[doc = $doc:literal])+ $name:ident { $($body:tt)* }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// Absolute root; a root that is not open is opened.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub workspace: Option<String>,
            /// Milliseconds.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub deadline_ms: Option<u64>,
            $($body)*
        }
    };
}

impl Default for PositionOrName {
    fn default() -> Self {
        PositionOrName::Name(String::new())
    }
}

params! {
    /// `graph.index`.
    IndexParams {
        /// Only these files and folders (absolute); an empty list is an error.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub paths: Option<Vec<String>>,
        /// Read and parse every file again, whatever the cache holds (false if left out).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub full: Option<bool>,
        /// Answer when it is done (true if left out); false answers at once and the events tell.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub wait: Option<bool>,
        /// Carried by the progress events.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub progress: Option<String>,
    }
}

/// The answer to `graph.index`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IndexResult {
    /// The state after the run.
    #[serde(flatten)]
    pub state: State,
    /// Files parsed by this run: those whose bytes had no facts yet.
    pub files_parsed: u64,
    /// Files that were as they are in the index.
    pub unchanged: u64,
    /// Files that left the index.
    pub removed: u64,
    /// Symbols in the graph.
    pub symbols: u64,
    /// Edges in the graph.
    pub edges: u64,
    /// Milliseconds.
    pub elapsed_ms: u64,
}

method! {
    /// Brings the index up to date: all of it, or the given paths.
    Index = "graph.index", Work, 600 / 3600,
    IndexParams => IndexResult,
    errors: [WorkspaceUnknown, RootRefused, OutsideWorkspace, Io]
}

params! {
    /// `graph.search`.
    SearchParams {
        /// A name, a part of one (`config`, `pC`, `parse_conf` find `parseConfig`), or a qualified name.
        pub query: String,
        /// Only these kinds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub kinds: Option<Vec<SymbolKind>>,
        /// Only this language.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub language: Option<String>,
        /// Only files whose path relative to the root matches.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub path_glob: Option<String>,
        /// 20 if left out, 200 at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub limit: Option<u32>,
        /// `next_cursor` of the page before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cursor: Option<String>,
    }
}

/// The answer to `graph.search`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SearchResult {
    /// On which state.
    #[serde(flatten)]
    pub state: State,
    /// Best first.
    pub symbols: Vec<Symbol>,
    /// All that match, on every page.
    pub total: u64,
    /// Symbols left out because their file is gone since it was indexed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<u64>,
    /// The next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

method! {
    /// Finds definitions by name: exact first, then prefixes, parts of the name, subsequences.
    Search = "graph.search", Work, 5 / 60,
    SearchParams => SearchResult,
    errors: [WorkspaceUnknown, RootRefused, LanguageUnsupported, CursorStale]
}

params! {
    /// `graph.outline`.
    OutlineParams {
        /// Absolute path of a file.
        pub path: String,
        /// Levels of nesting: 2 if left out, 16 at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub depth: Option<u32>,
    }
}

/// The answer to `graph.outline`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OutlineResult {
    /// On which state.
    #[serde(flatten)]
    pub state: State,
    /// Relative to the root.
    pub rel: String,
    /// The hash of the bytes that were parsed.
    pub version: String,
    /// In the order of the text.
    pub symbols: Vec<Symbol>,
    /// The symbols of the file, at any depth.
    pub total: u64,
    /// The tree of this file holds an error; what stands around it is listed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub parse_error: bool,
}

method! {
    /// The definitions of one file as a tree. Answers before the index of the workspace is ready.
    Outline = "graph.outline", Work, 5 / 60,
    OutlineParams => OutlineResult,
    errors: [WorkspaceUnknown, RootRefused, OutsideWorkspace, NotFound, NotText, TooLarge, PathNotUtf8, IsDirectory, NotRegular, Permission, Io, LanguageUnsupported, TooDeep]
}

params! {
    /// `graph.symbol`.
    SymbolParams {
        /// Which one.
        pub symbol: PositionOrName,
        /// With its text (false if left out).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub with_source: Option<bool>,
        /// Bytes of source at most: 65,536 if left out, 4,194,304 at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub max_bytes: Option<u64>,
    }
}

/// The answer to `graph.symbol`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SymbolResult {
    /// On which state.
    #[serde(flatten)]
    pub state: State,
    /// The definition.
    pub symbol: Symbol,
    /// Its head.
    pub signature: String,
    /// Its doc comment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doc: Option<String>,
    /// Its text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// The source was cut at `max_bytes`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
    /// Sites that call it, candidates included.
    pub callers_count: u64,
    /// Sites inside it that call.
    pub callees_count: u64,
}

method! {
    /// One definition: where it is, its head, its doc comment, its text.
    SymbolInfo = "graph.symbol", Work, 5 / 60,
    SymbolParams => SymbolResult,
    errors: [WorkspaceUnknown, RootRefused, OutsideWorkspace, NotFound, SymbolUnknown, SymbolAmbiguous]
}

/// A page of edges.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct EdgesResult {
    /// On which state.
    #[serde(flatten)]
    pub state: State,
    /// Nearest first, then surest, then path and line.
    pub edges: Vec<Edge>,
    /// All of them, on every page.
    pub total: u64,
    /// Edges left out because their file is gone since it was indexed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<u64>,
    /// The next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
}

macro_rules! call_params {
    ($(#[doc = $doc:literal])+ $name:ident) => {
        params! {
            $(#[doc = $doc])+
            $name {
                /// Which one.
                pub symbol: PositionOrName,
                /// Steps: 1 if left out, 6 at most.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub depth: Option<u32>,
                /// Leaves out what is less sure.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub min_confidence: Option<Confidence>,
                /// 50 if left out, 500 at most.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub limit: Option<u32>,
                /// `next_cursor` of the page before.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub cursor: Option<String>,
            }
        }
    };
}

call_params! {
    /// `graph.callers`.
    CallersParams
}
call_params! {
    /// `graph.callees`.
    CalleesParams
}

method! {
    /// The sites that call or instantiate a symbol; those that may mean it among others are listed as candidates.
    Callers = "graph.callers", Work, 10 / 60,
    CallersParams => EdgesResult,
    errors: [WorkspaceUnknown, RootRefused, SymbolUnknown, SymbolAmbiguous, CursorStale]
}
method! {
    /// What a symbol calls or instantiates, with what leads out of the workspace.
    Callees = "graph.callees", Work, 10 / 60,
    CalleesParams => EdgesResult,
    errors: [WorkspaceUnknown, RootRefused, SymbolUnknown, SymbolAmbiguous, CursorStale]
}

macro_rules! import_params {
    ($(#[doc = $doc:literal])+ $name:ident) => {
        params! {
            $(#[doc = $doc])+
            $name {
                /// Absolute path of a file. Give this or `module`.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub path: Option<String>,
                /// A module by its name in the language (`crate::net`, `example.com/m/pkg`, `pkg.mod`).
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub module: Option<String>,
                /// Steps: 1 if left out, 6 at most.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub depth: Option<u32>,
                /// 50 if left out, 500 at most.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub limit: Option<u32>,
                /// `next_cursor` of the page before.
                #[serde(default, skip_serializing_if = "Option::is_none")]
                pub cursor: Option<String>,
            }
        }
    };
}

import_params! {
    /// `graph.imports`.
    ImportsParams
}
import_params! {
    /// `graph.importers`.
    ImportersParams
}

method! {
    /// What a file imports, resolved to files of the workspace or named as external.
    Imports = "graph.imports", Work, 10 / 60,
    ImportsParams => EdgesResult,
    errors: [WorkspaceUnknown, RootRefused, OutsideWorkspace, NotFound, CursorStale]
}
method! {
    /// Which files import a file or a module, external ones included.
    Importers = "graph.importers", Work, 10 / 60,
    ImportersParams => EdgesResult,
    errors: [WorkspaceUnknown, RootRefused, OutsideWorkspace, NotFound, CursorStale]
}

params! {
    /// `graph.impact`.
    ImpactParams {
        /// What changes: symbols.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub symbols: Option<Vec<PositionOrName>>,
        /// What changes: all definitions of these files (absolute).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub paths: Option<Vec<String>>,
        /// Steps: 3 if left out, 8 at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub depth: Option<u32>,
        /// Symbols listed at most: 100 if left out, 1,000 at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub limit: Option<u32>,
    }
}

/// What is reached at one distance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ImpactLevel {
    /// Steps, 1 = direct.
    pub distance: u32,
    /// Surest first, then most callers.
    pub symbols: Vec<SymbolRef>,
    /// For each symbol the edge that leads one step nearer to the change.
    pub via: Vec<Edge>,
}

/// The answer to `graph.impact`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ImpactResult {
    /// On which state.
    #[serde(flatten)]
    pub state: State,
    /// Nearest first.
    pub by_distance: Vec<ImpactLevel>,
    /// Files that hold them, relative to the root.
    pub files: Vec<String>,
    /// Tests among them.
    pub tests: Vec<SymbolRef>,
    /// Symbols reached, listed or not.
    pub total: u64,
    /// Not all are listed, or the cap of visited nodes was reached.
    pub truncated: bool,
}

method! {
    /// What a change of these symbols or files can reach, by distance, with the way that leads there.
    Impact = "graph.impact", Work, 15 / 120,
    ImpactParams => ImpactResult,
    errors: [WorkspaceUnknown, RootRefused, OutsideWorkspace, NotFound, SymbolUnknown, SymbolAmbiguous]
}

params! {
    /// `graph.path`.
    PathParams {
        /// Where it begins.
        pub from: PositionOrName,
        /// Where it ends.
        pub to: PositionOrName,
        /// Steps: 8 if left out, 16 at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub max_depth: Option<u32>,
    }
}

/// The answer to `graph.path`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PathResult {
    /// On which state.
    #[serde(flatten)]
    pub state: State,
    /// The shortest ways, at most 5, surest first; each from `from` to `to`.
    pub paths: Vec<Vec<Edge>>,
    /// Ways listed.
    pub total: u64,
    /// The cap of visited nodes was reached: "none" is not proved.
    pub truncated: bool,
}

method! {
    /// How one symbol leads to another over calls.
    Paths = "graph.path", Work, 15 / 120,
    PathParams => PathResult,
    errors: [WorkspaceUnknown, RootRefused, SymbolUnknown, SymbolAmbiguous]
}

params! {
    /// `graph.digest`.
    DigestParams {}
}

/// The answer to `graph.digest`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DigestResult {
    /// On which state.
    #[serde(flatten)]
    pub state: State,
    /// A hash over the sorted symbols and edges, with paths relative to the root and without ids.
    pub digest: String,
    /// Symbols counted.
    pub symbols: u64,
    /// Edges counted.
    pub edges: u64,
}

method! {
    /// A hash of the whole graph: an incremental state and a fresh one must agree.
    Digest = "graph.digest", Work, 10 / 60,
    DigestParams => DigestResult,
    errors: [WorkspaceUnknown, RootRefused, IndexNotReady]
}
