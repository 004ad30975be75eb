//! What the graph is asked and what it answers: plain data.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use ccd_text::Place;

/// What a symbol is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the words are the field's own")]
pub enum EdgeKind {
    Contains,
    Calls,
    Imports,
    Extends,
    Implements,
    Overrides,
    References,
    ReExports,
    Instantiates,
    Tests,
}

/// How sure an edge is, surest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Confidence {
    /// A language server confirmed it.
    Verified,
    /// A scope or an import path leads to one definition.
    Exact,
    /// The receiver's type is known and has the member.
    Typed,
    /// The only candidate that is visible from the file.
    Narrowed,
    /// One of several definitions of this name, or the only one for an unknown receiver.
    Candidate,
    /// Leads out of the workspace.
    External,
}

/// A definition.
#[derive(Clone, Debug, PartialEq)]
pub struct SymbolView {
    /// Stable over unrelated edits.
    pub id: String,
    /// The bare name.
    pub name: String,
    /// With its containers.
    pub qualified: String,
    /// What it is.
    pub kind: SymbolKind,
    /// The id of the language.
    pub language: &'static str,
    /// Relative to the root.
    pub rel: String,
    /// The whole item; the end is exclusive.
    pub range: (Place, Place),
    /// The name alone; the end is exclusive.
    pub name_range: (Place, Place),
    /// Its head on one line.
    pub signature: String,
    /// Usable outside its module.
    pub exported: bool,
    /// In a file that says it is generated.
    pub generated: bool,
    /// In an outline.
    pub children: Vec<SymbolView>,
}

/// A symbol in short, or what lies outside the workspace (`id` is none).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SymbolRef {
    /// None for what lies outside, and for a name that was not decided.
    pub id: Option<String>,
    /// The bare name.
    pub name: String,
    /// With its containers; for what lies outside, the path that leads there.
    pub qualified: String,
    /// None for what lies outside.
    pub kind: Option<SymbolKind>,
    /// Relative to the root.
    pub rel: Option<String>,
    /// The line of the name, 1-based.
    pub line: Option<u32>,
}

/// An arc, with the place that makes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EdgeView {
    /// The owner of the site.
    pub from: SymbolRef,
    /// Where it leads.
    pub to: SymbolRef,
    /// What it says.
    pub kind: EdgeKind,
    /// The file of the site, relative to the root.
    pub rel: String,
    /// The place of the site.
    pub place: Place,
    /// The line of the site, trimmed, 200 bytes at most.
    pub text: String,
    /// Steps from what was asked for.
    pub distance: u32,
    /// How sure it is.
    pub confidence: Confidence,
    /// How many definitions it may be, with [`Confidence::Candidate`].
    pub of: Option<u32>,
    /// Their ids.
    pub ids: Vec<String>,
}

/// A page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T> {
    /// From the offset on, as many as the limit allows.
    pub items: Vec<T>,
    /// All that there are.
    pub total: u64,
    /// Left out because their file is gone since it was indexed.
    pub hidden: u64,
}

/// An answer with the state of the graph on which it was computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer<T> {
    /// The answer.
    pub value: T,
    /// On which state.
    pub state: State,
}

/// How fresh the graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// No run was asked for yet.
    NotIndexed,
    /// A run is under way.
    Indexing {
        /// Files done.
        done: u64,
        /// Files to do.
        total: u64,
    },
    /// Fresh and complete.
    Ready,
    /// Files are newer than the index or could not be checked.
    Stale {
        /// How many.
        files: u64,
    },
}

/// On which state of the graph an answer was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// How fresh it is.
    pub freshness: Freshness,
    /// Grows with every change of the graph.
    pub generation: u64,
    /// Grows when HEAD or very many files change underneath.
    pub epoch: u64,
}

/// How an index stands, from memory.
#[derive(Clone, Debug)]
pub struct Status {
    /// How fresh it is.
    pub state: State,
    /// Files indexed.
    pub files: u64,
    /// Symbols.
    pub symbols: u64,
    /// Edges.
    pub edges: u64,
    /// Left out, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// Indexed files whose tree holds an error.
    pub parse_errors: u64,
    /// A store was set aside: why, and when.
    pub rebuilt: Option<(String, std::time::Instant)>,
    /// The last run's failure.
    pub last_error: Option<String>,
}

/// What a run is to do.
#[derive(Clone, Debug, Default)]
pub struct IndexRequest {
    /// Only these files and folders, relative to the root; all if none.
    pub paths: Option<Vec<PathBuf>>,
    /// Read and parse every file again.
    pub full: bool,
}

/// What a run did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexReport {
    /// Files whose bytes had no facts yet.
    pub files_parsed: u64,
    /// Files that were as they are in the index.
    pub unchanged: u64,
    /// Files that left the index.
    pub removed: u64,
    /// Symbols in the graph.
    pub symbols: u64,
    /// Edges in the graph.
    pub edges: u64,
    /// How long it took.
    pub elapsed: Duration,
}

/// Counts since the start of the process, over all graphs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Files parsed.
    pub files_parsed: u64,
    /// Bytes of sources read.
    pub bytes_read: u64,
    /// Passes of resolution that resolved at least one file.
    pub resolve_runs: u64,
    /// Files resolved.
    pub files_resolved: u64,
}

/// A question for definitions.
#[derive(Clone, Debug, Default)]
pub struct SearchQuery {
    /// A name, a part of one, or a qualified name.
    pub query: String,
    /// Only these kinds, if any.
    pub kinds: Vec<SymbolKind>,
    /// Only this language.
    pub language: Option<String>,
    /// Only files whose path relative to the root matches.
    pub path_glob: Option<globset::GlobMatcher>,
    /// Of the first item.
    pub offset: usize,
    /// Of items.
    pub limit: usize,
}

/// A symbol as a caller names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SymbolQuery {
    /// An id, a qualified name or a bare name.
    Name(String),
    /// The innermost definition at a place, or what the name there leads to.
    Place {
        /// Relative to the root.
        rel: PathBuf,
        /// The place.
        place: Place,
    },
}

/// A question for calls.
#[derive(Clone, Debug)]
pub struct CallQuery {
    /// Whose.
    pub symbol: SymbolQuery,
    /// Steps, at least 1.
    pub depth: u32,
    /// Leaves out what is less sure.
    pub min_confidence: Option<Confidence>,
    /// Of the first item.
    pub offset: usize,
    /// Of items.
    pub limit: usize,
}

/// A question for imports.
#[derive(Clone, Debug)]
pub struct ImportQuery {
    /// The file or module.
    pub of: ImportSubject,
    /// Steps, at least 1.
    pub depth: u32,
    /// Of the first item.
    pub offset: usize,
    /// Of items.
    pub limit: usize,
}

/// Whose imports.
#[derive(Clone, Debug)]
pub enum ImportSubject {
    /// A file, relative to the root.
    File(PathBuf),
    /// A module by its name in the language.
    Module(String),
}

/// A question for the reach of a change.
#[derive(Clone, Debug)]
pub struct ImpactQuery {
    /// These symbols change.
    pub symbols: Vec<SymbolQuery>,
    /// All definitions of these files change, relative to the root.
    pub files: Vec<PathBuf>,
    /// Steps, at least 1.
    pub depth: u32,
    /// Symbols listed at most.
    pub limit: usize,
}

/// The reach of a change.
#[derive(Clone, Debug, PartialEq)]
pub struct Impact {
    /// Nearest first: the distance, the symbols, and for each the edge that leads one step nearer.
    pub levels: Vec<(u32, Vec<SymbolRef>, Vec<EdgeView>)>,
    /// Files that hold them, relative to the root.
    pub files: Vec<String>,
    /// Tests among them.
    pub tests: Vec<SymbolRef>,
    /// Symbols reached, listed or not.
    pub total: u64,
    /// Not all are listed, or the cap of visited nodes was reached.
    pub truncated: bool,
}

/// Ways from one symbol to another.
#[derive(Clone, Debug, PartialEq)]
pub struct Ways {
    /// The shortest, surest first.
    pub paths: Vec<Vec<EdgeView>>,
    /// The cap of visited nodes was reached.
    pub truncated: bool,
}

/// The definitions of a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// In the order of the text.
    pub symbols: Vec<SymbolView>,
    /// At any depth.
    pub total: u64,
    /// The version of the bytes that were parsed.
    pub version: ccd_text::Version,
    /// The tree holds an error.
    pub parse_error: bool,
}

/// One definition in full.
#[derive(Clone, Debug, PartialEq)]
pub struct SymbolDetail {
    /// The definition.
    pub symbol: SymbolView,
    /// Its doc comment.
    pub doc: Option<String>,
    /// Its text, if asked for.
    pub source: Option<String>,
    /// The text was cut.
    pub truncated: bool,
    /// Sites that call it, candidates included.
    pub callers: u64,
    /// Sites inside it that call.
    pub callees: u64,
}

/// A hash of the whole graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// Hexadecimal.
    pub digest: String,
    /// Symbols counted.
    pub symbols: u64,
    /// Edges counted.
    pub edges: u64,
}

/// Why a question has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum QueryError {
    /// The name leads to nothing.
    #[error("there is no symbol `{name}`")]
    SymbolUnknown {
        /// As asked.
        name: String,
        /// Near names.
        closest: Vec<String>,
    },
    /// The name leads to several.
    #[error("{count} symbols are called `{name}`")]
    SymbolAmbiguous {
        /// As asked.
        name: String,
        /// How many there are.
        count: u64,
        /// Best first, at most 50.
        candidates: Vec<SymbolView>,
    },
    /// The file is not in the index and cannot be.
    #[error("{0}")]
    Skipped(#[from] ccd_corpus::Skipped),
    /// No grammar claims the file.
    #[error("no grammar for {rel}")]
    LanguageUnsupported {
        /// Relative to the root.
        rel: String,
    },
    /// No such module.
    #[error("there is no module `{0}`")]
    ModuleUnknown(String),
    /// A run has to end first.
    #[error("the index is not ready")]
    NotReady {
        /// Files done.
        done: u64,
        /// Files to do.
        total: u64,
    },
    /// Cancelled by its token.
    #[error("cancelled")]
    Cancelled,
}

/// Why a run failed.
#[derive(Clone, Debug, thiserror::Error)]
pub enum IndexError {
    /// Cancelled by its token; what was done is kept.
    #[error("cancelled")]
    Cancelled,
    /// The root is gone or cannot be read.
    #[error("the root cannot be read: {0}")]
    Root(String),
    /// A path is not in the root.
    #[error("{0}")]
    Path(String),
}
