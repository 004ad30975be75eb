//! `edit.*`: changes of files, all or nothing, also across a crash.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Range, method::method, workspace::LineEnding};

/// Which diagnostics of a write are told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DiagnosticsLevel {
    /// None, and none are waited for.
    Off,
    /// Errors.
    Errors,
    /// Errors and warnings.
    Warnings,
    /// All.
    All,
}

macro_rules! edit_params {
    ($(#[doc = $doc:literal])+ $name:ident { $($body:tt)* }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $name {
            $($body)*
            /// Absolute root; the longest open workspace that contains the path or `cwd` if left out. `edit.amend` and
            /// `edit.undo` name neither and need it; `ast.resolve` knows that of its stage.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub workspace: Option<String>,
            /// The caller's run: keys the versions it has seen.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub run_id: Option<String>,
            /// Names the transaction; the same id with the same request is never applied twice.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub txn_id: Option<String>,
            /// The version that the file must have.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub expect_version: Option<String>,
            /// The versions that several files must have, by absolute path.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub expect_versions: Option<BTreeMap<String, String>>,
            /// Write over a file whose version this run has not seen (false if left out).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub force: Option<bool>,
            /// Tell what would happen, and write nothing (false if left out).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub dry_run: Option<bool>,
            /// `warnings` if left out.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub diagnostics: Option<DiagnosticsLevel>,
            /// Milliseconds to wait for diagnostics, 0 to 60,000; 3,000 if left out.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub wait_ms: Option<u64>,
            /// Write to protected paths (`.git/**`, editor and agent settings) as well (false if left out).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub allow_protected: Option<bool>,
            /// Write to read-only files as well (false if left out).
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub override_readonly: Option<bool>,
            /// Bytes of the diff at most: 65,536 if left out, 4,194,304 at most.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub max_bytes: Option<u64>,
            /// Milliseconds for preparing and for waiting; what has begun to be written is finished.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub deadline_ms: Option<u64>,
        }
    };
}

pub(crate) use edit_params;

edit_params! {
    /// `edit.write`.
    WriteParams {
        /// Absolute path.
        pub path: String,
        /// The whole text of the file.
        pub content: String,
        /// Make it if it is not there (true if left out).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub create: Option<bool>,
        /// Replace it if it is there (true if left out).
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub overwrite: Option<bool>,
    }
}

/// One replacement: by text, or by place.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextEdit {
    /// The text that is there. Give this or `range`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<String>,
    /// The place. Give this or `old`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<Range>,
    /// What is to stand there.
    pub new: String,
    /// Every occurrence of `old` (false if left out: there must be exactly one).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
}

edit_params! {
    /// `edit.edit`.
    EditParams {
        /// Absolute path.
        pub path: String,
        /// Applied in order, each on the result of the one before.
        pub edits: Vec<TextEdit>,
    }
}

edit_params! {
    /// `edit.apply_patch`.
    ApplyPatchParams {
        /// The patch, from `*** Begin Patch` to `*** End Patch`.
        pub patch: String,
        /// Where relative paths of the patch count from (absolute); the workspace root if left out.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub cwd: Option<String>,
    }
}

/// A hunk that stands in the place of one that failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AmendedHunk {
    /// Which hunk, from 1 over the whole patch as it was sent.
    pub index: u32,
    /// Its lines, with or without the `@@` line.
    pub text: String,
}

edit_params! {
    /// `edit.amend`.
    AmendParams {
        /// As the refused patch gave it.
        pub failure_id: String,
        /// The hunks to replace.
        pub hunks: Vec<AmendedHunk>,
    }
}

edit_params! {
    /// `edit.undo`.
    UndoParams {
        /// The transaction to undo.
        pub undo_txn_id: String,
    }
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileOperation {
    /// Made.
    Add,
    /// Changed or replaced.
    Update,
    /// Removed.
    Delete,
    /// Moved, perhaps changed.
    Move,
}

/// A file of an outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileChange {
    /// Absolute.
    pub path: String,
    /// Relative to the root.
    pub rel: String,
    /// What became of it.
    pub op: FileOperation,
    /// With `move`: where it was, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Its version now; absent when it is gone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Of the file now; of the removed file when it is gone.
    pub line_ending: LineEnding,
    /// Lines.
    pub added: u64,
    /// Lines.
    pub removed: u64,
}

/// How the lines of a hunk were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MatchPass {
    /// As they are.
    Exact,
    /// But for blanks at their ends.
    TrimmedEnd,
    /// But for blanks at both sides.
    Trimmed,
    /// But for blanks, dashes and quotes of other kinds.
    Folded,
}

/// A stretch of a file that changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HunkView {
    /// Absolute.
    pub path: String,
    /// The lines before, with their context.
    pub old_text: String,
    /// The lines now, with their context.
    pub new_text: String,
    /// The first line before, 1-based.
    pub old_line: u64,
    /// The first line now, 1-based.
    pub new_line: u64,
    /// How it was found; absent where nothing was looked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub match_pass: Option<MatchPass>,
    /// Other places that the same pass would have found.
    pub other_matches: u64,
}

/// How the change reached the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Atomic {
    /// Files were exchanged, and what came out was compared.
    Exchange,
    /// Files were written in place, under a journal.
    JournaledInPlace,
    /// The file system cannot exchange: another writer at the very moment may have been lost.
    Weak,
}

/// A deviation that is no error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// `hardlink_broken`, `late_write`, `appended_away_from_context`, `replaced_existing`, `no_change`, `matched_loosely`, `ambiguous_match`.
    pub kind: String,
    /// Absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// One sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// Whether what a run was told is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// What the servers said before is known.
    Known,
    /// It became known only after the write.
    Late,
    /// It is not.
    Unknown,
}

/// The diagnostics that a write introduced.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// In the files written by this call.
    pub new: Vec<serde_json::Value>,
    /// In other files.
    pub elsewhere: Vec<serde_json::Value>,
    /// They may be older than this write.
    pub unattributed: Vec<serde_json::Value>,
    /// How many went away.
    pub fixed: u64,
    /// Of earlier writes.
    pub carried_over: Vec<serde_json::Value>,
    /// How many were left out by the caps: 20 of a file of this call, 20 in at most 5 other files, 5 unattributed.
    pub suppressed: u64,
    /// Whether what is told is remembered for the run.
    pub remembered: bool,
    /// What is known of the text before.
    pub baseline: Baseline,
    /// `settled`, `assumed`, `timed_out`, `unavailable`, `off`, `none_claims`.
    pub state: String,
    /// With `unavailable`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// By server.
    pub servers: Vec<serde_json::Value>,
    /// Milliseconds.
    pub waited_ms: u64,
}

/// One operation of a patch, with its paths as they were resolved.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PatchOperation {
    /// What it says.
    pub op: FileOperation,
    /// As written in the patch.
    pub path: String,
    /// As written in the patch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub move_to: Option<String>,
}

/// What an edit did.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct EditOutcome {
    /// For `edit.outcome` and `edit.undo`.
    pub txn_id: String,
    /// False for a dry run.
    pub applied: bool,
    /// This is the stored outcome of an earlier call with the same id.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub replayed: bool,
    /// For people: what happened, with a line a file.
    pub summary: String,
    /// The files that changed.
    pub files: Vec<FileChange>,
    /// A unified diff of all of them.
    pub diff: String,
    /// The stretches that changed.
    pub hunks: Vec<HunkView>,
    /// With `edit.apply_patch` and `edit.amend`: its operations.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operations: Option<Vec<PatchOperation>>,
    /// What the language servers say of it.
    pub diagnostics: Report,
    /// How it reached the disk.
    pub atomic: Atomic,
    /// Deviations that are no errors.
    pub notes: Vec<Note>,
    /// Until when it can be undone, seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undo_until: Option<u64>,
    /// The diff or the hunks were cut.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub truncated: bool,
}

method! {
    /// Writes a whole file.
    Write = "edit.write", Publish, 10 / 60,
    WriteParams => EditOutcome,
    errors: [WorkspaceUnknown, OutsideWorkspace, NotFound, TooLarge, IsDirectory, NotRegular, Permission, ReadOnly, Metadata, ContentChanged, UnseenOverwrite,
             ProtectedPath, TxnIdReused, NoSpace, Io, CommitFailed, RollbackFailed, RecoveryPending]
}
method! {
    /// Replaces stretches of a file, found by their text or named by their place.
    Edit = "edit.edit", Publish, 10 / 60,
    EditParams => EditOutcome,
    errors: [WorkspaceUnknown, OutsideWorkspace, NotFound, NotText, TooLarge, IsDirectory, NotRegular, Permission, ReadOnly, Metadata, OldTextNotFound,
             OldTextAmbiguous, ContentChanged, ProtectedPath, TxnIdReused, NoSpace, Io, CommitFailed, RollbackFailed, RecoveryPending]
}
method! {
    /// Applies a patch to any number of files, all of it or nothing.
    ApplyPatch = "edit.apply_patch", Publish, 20 / 120,
    ApplyPatchParams => EditOutcome,
    errors: [WorkspaceUnknown, OutsideWorkspace, NotFound, NotText, TooLarge, IsDirectory, NotRegular, Permission, ReadOnly, Metadata, SameFile,
             PatchSyntax, ContextNotFound, ContentChanged, ProtectedPath, TxnIdReused, NoSpace, Io, CommitFailed, RollbackFailed, RecoveryPending]
}
method! {
    /// Applies a patch that was refused, with some of its hunks replaced.
    Amend = "edit.amend", Publish, 20 / 120,
    AmendParams => EditOutcome,
    errors: [FailureUnknown, WorkspaceUnknown, OutsideWorkspace, NotFound, NotText, TooLarge, IsDirectory, NotRegular, Permission, ReadOnly, Metadata,
             SameFile, PatchSyntax, ContextNotFound, ContentChanged, ProtectedPath, TxnIdReused, NoSpace, Io, CommitFailed, RollbackFailed,
             RecoveryPending]
}
method! {
    /// Puts back what a transaction replaced, if nothing was changed since.
    Undo = "edit.undo", Publish, 20 / 120,
    UndoParams => EditOutcome,
    errors: [UndoUnknown, WorkspaceUnknown, OutsideWorkspace, IsDirectory, NotRegular, Permission, ReadOnly, Metadata, ContentChanged, ProtectedPath,
             TxnIdReused, NoSpace, Io, CommitFailed, RollbackFailed, RecoveryPending]
}

/// `edit.outcome`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OutcomeParams {
    /// The transaction.
    pub txn_id: String,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// What became of a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TransactionState {
    /// Nothing is known of it: nothing was written.
    Unknown,
    /// It is being prepared.
    Preparing,
    /// It is on disk.
    Committed,
    /// All is as it was.
    RolledBack,
    /// It could not be taken back whole.
    RollbackFailed,
    /// A recovery has to run first.
    RecoveryPending,
    /// Another writer came between; both states are kept.
    Conflict,
}

/// The answer to `edit.outcome`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OutcomeResult {
    /// What became of it.
    pub state: TransactionState,
    /// With `committed`, as it was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<EditOutcome>,
}

method! {
    /// Tells for a day what became of an edit whose answer was lost.
    Outcome = "edit.outcome", Instant, 2 / 10,
    OutcomeParams => OutcomeResult
}

/// `edit.grammar`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GrammarParams {
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// The answer to `edit.grammar`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GrammarResult {
    /// `lark`.
    pub syntax: String,
    /// The grammar of a patch.
    pub definition: String,
    /// For the model that is to write one.
    pub description: String,
}

method! {
    /// The grammar of a patch, for the definition of a freeform tool.
    Grammar = "edit.grammar", Instant, 2 / 10,
    GrammarParams => GrammarResult
}
