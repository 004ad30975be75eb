//! `workspace.*`: checkout roots.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::method::method;

/// How fresh an answer of the graph is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Freshness {
    /// No index was asked for yet; the first `graph.*` call starts it.
    NotIndexed,
    /// A run is under way; what is there so far is answered.
    Indexing,
    /// Fresh and complete.
    Ready,
    /// Some files changed or could not be checked since the index was made.
    Stale,
}

/// How far an index run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// Files done.
    pub done: u64,
    /// Files to do, as far as known.
    pub total: u64,
}

/// What is not fresh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StaleFiles {
    /// Files that are newer than the index, or were not checked.
    pub files: u64,
}

/// The state of an index, with its details beside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct IndexState {
    /// The word.
    pub state: Freshness,
    /// With `indexing`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub indexing: Option<Progress>,
    /// With `stale`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stale: Option<StaleFiles>,
}

/// Whether what lies in a checkout may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrustWord {
    /// Nothing of it runs: no server, no build, no debugger. Graph, search and edits work.
    Untrusted,
    /// Servers and debuggers may run on it.
    Trusted,
}

/// By what a root is trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TrustedBy {
    /// By `workspace.trust` of this root.
    Grant,
    /// It is a worktree of a trusted repository, whose grant includes worktrees.
    Worktree,
    /// It lies below a folder of `trust.folders` of the configuration.
    Config,
}

/// What of a trusted checkout may be used beyond tools of the caller's PATH.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Allowed {
    /// Servers and adapters that lie in the checkout, for the languages of `lsp.local_binaries` and `dap.local_binaries`.
    LocalBinaries,
    /// Configuration of tools that lies in the checkout.
    Config,
}

/// Whether a root is trusted, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustState {
    /// The word.
    pub state: TrustWord,
    /// With `trusted`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<TrustedBy>,
    /// With `worktree`: the trusted repository; with `config`: the folder as configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// With `trusted`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Allowed>,
    /// One sentence where it is not as one would think: another folder lies where a trusted one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// With `untrusted`: the command that grants it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// `workspace.open`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OpenParams {
    /// Absolute folder; taken as given, canonicalised.
    pub root: String,
    /// Further absolute folders that edits may touch and a debugged program may lie in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub grants: Option<Vec<String>>,
    /// Index it now (true if left out).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index: Option<bool>,
    /// Start the language servers of the languages found (false if left out). None are built yet: it changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm: Option<bool>,
    /// Variables used only to resolve and start tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Carried by the progress events of the index run that this call starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<String>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// A language and how many files of it there are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LanguageCount {
    /// Its id, as in `language` parameters.
    pub id: String,
    /// Files with its extensions.
    pub files: u64,
}

/// The answer to `workspace.open`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct OpenResult {
    /// Canonical.
    pub root: String,
    /// Whether its tools may run; `workspace.status` says by what.
    pub trusted: bool,
    /// Most files first.
    pub languages: Vec<LanguageCount>,
    /// How the index stands now; `index.done` tells when it is ready, and `graph.index` waits for it.
    pub index: IndexState,
    /// Language servers and debuggers by language.
    pub tools: BTreeMap<String, Value>,
}

method! {
    /// Opens a folder as a workspace and starts to index it.
    Open = "workspace.open", Work, 5 / 60,
    OpenParams => OpenResult, errors: [RootRefused, NotFound, PathNotUtf8, Permission]
}

/// `workspace.status`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusParams {
    /// Absolute root.
    pub workspace: String,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// Whether changes on disk are seen by events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WatchState {
    /// They are.
    On,
    /// They are not: files are checked before an answer, within a limit.
    Degraded,
    /// Switched off by the configuration; files are checked before an answer, within a limit.
    Off,
}

/// A store was set aside and built anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Rebuilt {
    /// Why.
    pub reason: String,
    /// Seconds ago.
    pub since_s: u64,
}

/// The index in detail.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct IndexDetail {
    /// The state.
    #[serde(flatten)]
    pub state: IndexState,
    /// Grows with every change of the graph.
    pub generation: u64,
    /// Files indexed.
    pub files: u64,
    /// Symbols in the graph.
    pub symbols: u64,
    /// Edges in the graph.
    pub edges: u64,
    /// Files left out, by reason: `binary`, `too_large`, `generated`, `too_deep`, `path_not_utf8`, `not_regular`, `unreadable`, `outside_root`, `ignored`.
    pub skipped: BTreeMap<String, u64>,
    /// Files whose tree holds an error; they are indexed all the same.
    pub parse_errors: u64,
    /// How changes on disk are seen.
    pub watch: WatchState,
    /// Why it is degraded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watch_detail: Option<String>,
    /// Until the workspace is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuilt: Option<Rebuilt>,
    /// The last run's failure, in one sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// The answer to `workspace.status`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StatusResult {
    /// Canonical.
    pub root: String,
    /// Grows when HEAD or very many files change underneath.
    pub epoch: u64,
    /// Whether its tools may run.
    pub trusted: bool,
    /// The same with its reasons, as it was when the root was last opened, or trust last changed.
    pub trust: TrustState,
    /// The index.
    pub index: IndexDetail,
    /// Running language servers.
    pub servers: Vec<Value>,
}

method! {
    /// How a workspace stands.
    Status = "workspace.status", Instant, 2 / 10,
    StatusParams => StatusResult, errors: [WorkspaceUnknown]
}

/// `workspace.list`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ListParams {
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// The answer to `workspace.list`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ListResult {
    /// By root.
    pub workspaces: Vec<crate::daemon::WorkspaceSummary>,
}

method! {
    /// The open workspaces.
    List = "workspace.list", Instant, 2 / 10,
    ListParams => ListResult
}

/// `workspace.close`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CloseParams {
    /// Absolute root.
    pub workspace: String,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// The answer to `workspace.close`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CloseResult {
    /// False if it was not open.
    pub closed: bool,
}

method! {
    /// Closes a workspace; what was indexed stays in the cache.
    Close = "workspace.close", Work, 10 / 60,
    CloseParams => CloseResult
}

/// `workspace.trust`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustParams {
    /// Absolute folder, canonicalised; it need not be open. Neither its parents nor folders in it are meant.
    pub root: String,
    /// Its git worktrees as well, also those made later (true if left out).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worktrees: Option<bool>,
    /// What of the checkout may be used beside servers and adapters of the caller's PATH (nothing if left out).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allow: Option<Vec<Allowed>>,
    /// Take the grant back (false if left out); what is given beside it is then without meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoke: Option<bool>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// A root that was granted trust.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TrustedRoot {
    /// Absolute, canonical.
    pub root: String,
    /// Its git worktrees as well.
    pub worktrees: bool,
    /// What of the checkout may be used.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Allowed>,
    /// Seconds since 1970.
    pub since: u64,
}

/// The answer to `workspace.trust`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct TrustResult {
    /// Canonical.
    pub root: String,
    /// Whether this call changed anything.
    pub changed: bool,
    /// How the root stands now. A root without a grant can still be trusted as a worktree or by the configuration.
    pub trust: TrustState,
    /// All grants, by root.
    pub trusted: Vec<TrustedRoot>,
}

method! {
    /// Trusts a root, so that language servers and debuggers may run on it, or takes that back. It survives the daemon,
    /// and is of this folder, not of its path.
    Trust = "workspace.trust", Work, 5 / 20,
    TrustParams => TrustResult,
    errors: [RootRefused, NotFound, PathNotUtf8, Permission, Io, Busy]
}

/// `workspace.read`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadParams {
    /// Absolute path.
    pub path: String,
    /// Absolute root; the longest open workspace that contains `path` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// The caller's run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// The first line wanted, 1-based; 1 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_line: Option<u32>,
    /// The last line wanted, 1-based and inclusive; the last of the file if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// Bytes of text at most: 65,536 if left out, 4,194,304 at most. Cut at a line end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// The line ending of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LineEnding {
    /// Every line ends in LF, or there is no line end.
    Lf,
    /// Every line ends in CR LF.
    Crlf,
    /// Both occur.
    Mixed,
}

/// The answer to `workspace.read`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReadResult {
    /// Absolute.
    pub path: String,
    /// Relative to the root.
    pub rel: String,
    /// The lines wanted, as they are; bytes that are no UTF-8 are replaced by U+FFFD.
    pub text: String,
    /// The hash of the file's bytes, for `expect_version`.
    pub version: String,
    /// Of the whole file.
    pub line_ending: LineEnding,
    /// False if bytes were replaced.
    pub encoding_ok: bool,
    /// Lines of the file.
    pub total_lines: u64,
    /// The text was cut at `max_bytes`.
    pub truncated: bool,
}

method! {
    /// Reads lines of a file and its version.
    Read = "workspace.read", Work, 5 / 20,
    ReadParams => ReadResult,
    errors: [WorkspaceUnknown, OutsideWorkspace, NotFound, TooLarge, PathNotUtf8, IsDirectory, NotRegular, Permission, Io]
}
