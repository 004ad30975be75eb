//! `ast.*`: search by the shape of code, and rewriting in two steps: staged, then accepted onto exactly the bytes that were staged.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    Range,
    edit::{DiagnosticsLevel, EditOutcome, edit_params},
    method::method,
};

/// What a capture must be. All that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Constraint {
    /// Its text contains a match of this regular expression (syntax of the crate `regex`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regex: Option<String>,
    /// Its kind in the grammar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its tokens are those of this text, or, as `$NAME`, those of another capture.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub equals: Option<String>,
    /// It is not such.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not: Option<Box<Constraint>>,
}

/// How far a rule looks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// The parent for `inside`, the children for `has`, the next sibling for `follows` and `precedes`.
    #[default]
    Neighbour,
    /// To the root, through the whole subtree, to the last sibling.
    End,
    /// As `end`, but not beyond a node of this kind.
    Kind(String),
}

/// A node, described: by a pattern, a kind, or only by what it must fulfil besides.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Rule {
    /// Its shape. Names that the pattern binds are bound here too.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Its kind in the grammar.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The field of its parent in which it stands; for `inside`: the field of the outer node in which the match stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// `neighbour` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<Stop>,
    /// What its captures must be, by name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#where: Option<BTreeMap<String, Constraint>>,
    /// It stands in such a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inside: Option<Box<Rule>>,
    /// It holds such a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub has: Option<Box<Rule>>,
    /// It comes behind such a sibling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<Box<Rule>>,
    /// It comes before such a sibling.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precedes: Option<Box<Rule>>,
    /// It is not such a node itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not: Option<Box<Rule>>,
}

/// The fields that say what is looked for and where, followed by those of the method.
macro_rules! search_params {
    ($(#[doc = $doc:literal])+ $name:ident { $($body:tt)* }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            /// Code with metavariables: `$NAME` is one node, `$_` one that is not bound, `$$$NAME` and `$$$` any run of
            /// neighbours. A repeated name must capture the same text. Give this, or `kind`, or `context` with `selector`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub pattern: Option<String>,
            /// A kind of node of the grammar, in the place of a pattern.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub kind: Option<String>,
            /// `rust`, `go`, `typescript` (`.ts`, `.mts`, `.cts` and `.tsx`, each with its own grammar), `tsx`, `javascript`,
            /// `python`, `dart`, `c`, `cpp` (with every `.h`), `java`. Taken from the extensions of `path_glob` or `paths` if left out.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub language: Option<String>,
            /// Only files whose path, relative to the root, matches this glob.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub path_glob: Option<String>,
            /// Only these files and folders (absolute). A file that is named here is read in the language that is asked for.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub paths: Option<Vec<String>>,
            /// The way to read the pattern, by its name in `readings`; the first that holds if left out.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub reading: Option<String>,
            /// Code in which the pattern stands, for a pattern that cannot stand alone; with `selector`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub context: Option<String>,
            /// The kind of the node of `context` that is the pattern.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub selector: Option<String>,
            /// What captures must be, by name.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub r#where: Option<BTreeMap<String, Constraint>>,
            /// The match stands in such a node.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub inside: Option<Rule>,
            /// The match holds such a node.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub has: Option<Rule>,
            /// The match comes behind such a sibling.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub follows: Option<Rule>,
            /// The match comes before such a sibling.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub precedes: Option<Rule>,
            /// The match is not such a node itself.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub not: Option<Rule>,
            $($body)*
            /// Absolute root; a root that is not open is opened. The longest open workspace that contains the first of `paths`
            /// if left out.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub workspace: Option<String>,
            /// Chosen by the caller; events of progress carry it.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub progress: Option<String>,
            /// Milliseconds.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub deadline_ms: Option<u64>,
        }
    };
}

search_params! {
    /// `ast.grep`.
    GrepParams {
        /// Keywords and other tokens without a node of their own (`async`, `unsafe`, `static`) may be more than those of the pattern;
        /// modifiers that are nodes (`pub(crate)`) are compared (false if left out).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub relaxed: Option<bool>,
        /// Show how the pattern was read as a tree (false if left out; always shown when nothing matched).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub explain: Option<bool>,
        /// 50 if left out, at most 1,000.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub limit: Option<u32>,
        /// The `next_cursor` of the page before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cursor: Option<String>,
    }
}

/// What a metavariable captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Capture {
    /// At most 4 KiB; a longer one ends in `…`.
    pub text: String,
    /// All of it.
    pub range: Range,
}

/// What a metavariable for a run captured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MultiCapture {
    /// From the first to the last item; empty if there is none. At most 4 KiB.
    pub text: String,
    /// The text of each.
    pub items: Vec<String>,
}

/// A place that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AstMatch {
    /// Absolute.
    pub path: String,
    /// Relative to the root.
    pub rel: String,
    /// All of it.
    pub range: Range,
    /// At most 4 KiB; a longer one ends in `…`.
    pub text: String,
    /// By name, without `$`.
    pub captures: BTreeMap<String, Capture>,
    /// By name, without `$$$`.
    pub multi: BTreeMap<String, MultiCapture>,
    /// How the pattern was read; absent for a search by `kind`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reading: Option<String>,
}

/// A way to read the pattern that holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reading {
    /// Its name: `statement`, `expression`, …
    pub reading: String,
    /// The kind of the node that the pattern is; for a run of neighbours those of all.
    pub kind: String,
    /// Matches; absent if this reading was not searched and not counted. The others are counted when nothing matched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<u64>,
    /// It is the one whose matches are listed.
    pub searched: bool,
    /// With `explain`, or when nothing matched: the pattern as an S-expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
}

/// The answer to `ast.grep`. All but `matches` and `next_cursor` are of the whole search, on every page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GrepResult {
    /// By path, start, end.
    pub matches: Vec<AstMatch>,
    /// Every way in which the pattern can be read; empty for a search by `kind`.
    pub readings: Vec<Reading>,
    /// Matches in all.
    pub total: u64,
    /// Files with a match.
    pub files_matched: u64,
    /// Files that were looked at.
    pub files_searched: u64,
    /// Files that were not, by reason: `too_large`, `too_deep`, `binary`, `generated`, `ignored` (folders too), `budget_exceeded`,
    /// `deadline`, `pattern_unparsable` (the grammar of these files cannot read the pattern), …
    pub skipped: BTreeMap<String, u64>,
    /// Searched files with syntax errors (relative, the first 100): code near the errors may be missed.
    pub parse_error_files: Vec<String>,
    /// Searched files with syntax errors.
    pub parse_errors: u64,
    /// Macro bodies that hold the words of the pattern; they are tokens without a tree.
    pub macro_bodies_not_searched: u64,
    /// What the caller may want to know.
    pub hints: Vec<String>,
    /// False if the search was cut off: by its deadline, or by the budget of a file.
    pub complete: bool,
    /// For the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// With `explain`, or when nothing matched: the pattern that was searched, as an S-expression.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<String>,
    /// Grows when HEAD or very many files change underneath.
    pub epoch: u64,
}

method! {
    /// Finds code by its shape. A pattern is parsed by the grammar of the files, so blanks and line breaks do not matter, and
    /// nothing is found in strings and comments.
    Grep = "ast.grep", Work, 20 / 120,
    GrepParams => GrepResult,
    errors: [PatternUnparsable, UnboundMetavariable, LanguageUnsupported, BadSelector, BudgetExceeded, TooDeep, SearchIncomplete, CursorStale,
             WorkspaceUnknown, OutsideWorkspace, NotFound]
}

/// `ast.explain`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExplainParams {
    /// Code with metavariables.
    pub pattern: String,
    /// As for `ast.grep`.
    pub language: String,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// A way to read a pattern that was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attempt {
    /// Its name.
    pub reading: String,
    /// It holds.
    pub ok: bool,
    /// Why it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Where in the pattern, 1-based.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// 1-based, in Unicode scalar values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
}

/// The answer to `ast.explain`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExplainResult {
    /// Every way to read it that was tried, in the order in which they are preferred.
    pub attempts: Vec<Attempt>,
    /// The pattern as it is read, as an S-expression; of the best failed parse if no way holds.
    pub tree: String,
    /// As they are written.
    pub metavariables: Vec<String>,
    /// What the caller may want to know.
    pub hints: Vec<String>,
}

method! {
    /// Tells how a pattern is read, without searching.
    Explain = "ast.explain", Instant, 2 / 10,
    ExplainParams => ExplainResult, errors: [LanguageUnsupported]
}

/// What becomes of matches inside others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Nested {
    /// The outer one is rewritten; those inside are counted in `nested_skipped`.
    #[default]
    Outermost,
    /// All are, those inside first.
    Recurse,
}

search_params! {
    /// `ast.edit`.
    EditParams {
        /// What is to stand in the place of each match: code with the metavariables of the pattern.
        pub rewrite: String,
        /// `outermost` if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub nested: Option<Nested>,
        /// The caller's run: another one may not resolve the stage.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub run_id: Option<String>,
        /// Seconds for which the stage is kept: 900 if left out, 1 to 3,600.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub ttl_s: Option<u64>,
        /// Bytes of the preview at most: 65,536 if left out, 4,194,304 at most.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub max_bytes: Option<u64>,
    }
}

/// A file of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StagedFile {
    /// Absolute.
    pub path: String,
    /// Relative to the root.
    pub rel: String,
    /// Places that change.
    pub sites: u64,
    /// Of the bytes that the stage was made from; the file must have them when it is accepted.
    pub version: String,
    /// Always 0: what would bring new syntax errors is not staged.
    pub new_parse_errors: u64,
}

/// A place that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StagedSite {
    /// Absolute.
    pub path: String,
    /// Relative to the root.
    pub rel: String,
    /// 1-based.
    pub line: u32,
    /// As it is now, at most 400 bytes.
    pub text: String,
}

/// A prepared change of files. Nothing of it is written before `ast.resolve` accepts it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stage {
    /// For `ast.resolve`; absent if nothing matched, and then nothing is kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage_id: Option<String>,
    /// As it was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Absolute.
    pub root: String,
    /// The files that change, by path.
    pub files: Vec<StagedFile>,
    /// Places that change, in all.
    pub sites: u64,
    /// The first of them (100 at most, 10 in a list of stages).
    pub matches: Vec<StagedSite>,
    /// Matches inside others, which stay as they are.
    pub nested_skipped: u64,
    /// A unified diff.
    pub preview: String,
    /// The preview is cut; `ast.resolve` with `preview` pages through all of it.
    pub truncated: bool,
    /// What a careful reader should know: comments that are lost, files that were not searched.
    pub warnings: Vec<String>,
    /// Seconds since 1970; absent without a stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
    /// As it was when the stage was made. It is told, and never a reason to refuse.
    pub epoch: u64,
}

method! {
    /// Prepares a rewrite of every match and shows it; writes nothing.
    Edit = "ast.edit", Work, 30 / 120,
    EditParams => Stage,
    errors: [PatternUnparsable, UnboundMetavariable, LanguageUnsupported, BadSelector, StageStoreFull, SearchIncomplete, ResultHasSyntaxErrors,
             CaptureBrokenApart, BudgetExceeded, TooDeep, TooLarge, NotText, WorkspaceUnknown, OutsideWorkspace, NotFound]
}

/// What becomes of a stage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It is written, all or nothing, onto exactly the bytes that it was made from.
    Accept,
    /// It is dropped.
    Discard,
    /// Its diff is shown, in pages of `max_bytes`.
    #[default]
    Preview,
}

edit_params! {
    /// `ast.resolve`.
    ResolveParams {
        /// As `ast.edit` gave it.
        pub stage_id: String,
        /// What becomes of it.
        pub action: Action,
        /// With `preview`: the `next_cursor` of the page before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cursor: Option<String>,
    }
}

/// A stage was dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Discarded {
    /// Which.
    pub stage_id: String,
    /// True.
    pub discarded: bool,
}

/// A page of the diff of a stage.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Preview {
    /// Which.
    pub stage_id: String,
    /// Lines of the unified diff.
    pub preview: String,
    /// It is not the whole diff.
    pub truncated: bool,
    /// For the next page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<String>,
    /// Bytes of the whole diff.
    pub total_bytes: u64,
    /// Files that change.
    pub files: u64,
    /// Places that change.
    pub sites: u64,
    /// Seconds since 1970.
    pub expires_at: u64,
}

/// The answer to `ast.resolve`: an `EditOutcome` for `accept`, else what was asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ResolveResult {
    /// With `accept`.
    Accepted(Box<EditOutcome>),
    /// With `discard`.
    Discarded(Discarded),
    /// With `preview`.
    Preview(Preview),
}

method! {
    /// Accepts a stage, all or nothing and only onto the bytes that it was made from; or shows or drops it.
    Resolve = "ast.resolve", Publish, 20 / 120,
    ResolveParams => ResolveResult,
    errors: [StageUnknown, StageExpired, StageUsed, ContentChanged, CursorStale, WorkspaceUnknown, OutsideWorkspace, TooLarge, IsDirectory, NotRegular,
             Permission, ReadOnly, Metadata, ProtectedPath, TxnIdReused, NoSpace, Io, CommitFailed, RollbackFailed, RecoveryPending]
}

/// `ast.staged`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StagedParams {
    /// Only stages of this root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Only this stage, with the whole of its first page of preview.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stage_id: Option<String>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// The answer to `ast.staged`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StagedResult {
    /// Those that wait, oldest first: at most 100, and fewer if they hold very many files.
    pub stages: Vec<Stage>,
    /// How many wait.
    pub total: u64,
}

method! {
    /// The stages that wait to be accepted or discarded.
    Staged = "ast.staged", Instant, 2 / 10,
    StagedParams => StagedResult, errors: [StageUnknown, StageExpired, StageUsed]
}
