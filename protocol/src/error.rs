//! Errors as they stand on the wire.
//!
//! `error` = `{code, message, data}`. `message` is one or two plain sentences for a person or a model:
//! what happened, and what to do next. Programs branch on `data.kind`; the code only groups kinds.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Object;

macro_rules! kinds {
    ($($(#[doc = $doc:literal])+ $variant:ident = $name:literal, $code:literal;)+) => {
        /// The stable name of an error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorKind {
            $($(#[doc = $doc])+ $variant,)+
        }

        impl ErrorKind {
            /// Every kind, in the order of its code.
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$variant),+];

            /// The name on the wire.
            pub const fn name(self) -> &'static str {
                match self { $(ErrorKind::$variant => $name),+ }
            }

            /// The JSON-RPC code that groups it.
            pub const fn code(self) -> i32 {
                match self { $(ErrorKind::$variant => $code),+ }
            }

            /// What it means.
            pub const fn doc(self) -> &'static str {
                match self { $(ErrorKind::$variant => concat!($($doc),+)),+ }
            }
        }
    };
}

kinds! {
    /// The line or body is not JSON.
    ParseError = "parse_error", -32700;
    /// The JSON is not a request: no method, or an id that is no unsigned integer or string.
    InvalidRequest = "invalid_request", -32600;
    /// No such method; `closest` names the nearest ones.
    MethodNotFound = "method_not_found", -32601;
    /// A field is unknown or ill typed; `field` names it, `expected` says what it takes.
    InvalidParams = "invalid_params", -32602;
    /// A fault of the daemon; `ref` finds it in the log.
    Internal = "internal", -32603;
    /// Too many subscriptions on this connection; `limit`.
    SubscriptionLimit = "limit_exceeded", -32006;
    /// The request is larger than the limit; `limit` in bytes.
    RequestLimit = "limit_exceeded", -32007;
    /// The response would be larger than the limit; `limit` in bytes.
    ResponseLimit = "limit_exceeded", -32008;
    /// The batch holds more entries than the limit; `limit`.
    BatchLimit = "limit_exceeded", -32010;
    /// The call of a batch was made, but with its answer the batch's would be larger than the limit; `limit` in bytes.
    BatchResponseLimit = "limit_exceeded", -32011;
    /// The call was cancelled; `phase`.
    Cancelled = "cancelled", -32800;
    /// The client speaks another protocol; `want`, `have`.
    ProtocolMismatch = "protocol_mismatch", 1001;
    /// The daemon is about to end; `retry_after_ms`.
    Retiring = "retiring", 1002;
    /// A limit on concurrent use is reached; `what`, `limit`, `retry_after_ms`.
    Busy = "busy", 1003;
    /// The deadline passed; `phase`, `deadline_ms`.
    DeadlineExceeded = "deadline_exceeded", 1004;
    /// The configuration file is wrong; `file`, `line`, `reason`.
    ConfigInvalid = "config_invalid", 1005;
    /// The cursor belongs to a state that is gone; `why`. Ask again without it.
    CursorStale = "cursor_stale", 1006;
    /// No such workspace is open and none could be opened; `root`, `open`.
    WorkspaceUnknown = "workspace_unknown", 1101;
    /// The path leaves the workspace; `path`, `resolved`, `roots`, `owner`.
    OutsideWorkspace = "outside_workspace", 1102;
    /// No such file; `path`, `closest`.
    NotFound = "not_found", 1103;
    /// The file is not text; `path`.
    NotText = "not_text", 1104;
    /// The file is larger than the limit; `path`, `size`, `limit` in bytes.
    TooLarge = "too_large", 1104;
    /// The name is not UTF-8 and cannot be carried in JSON; `path` with replacement characters.
    PathNotUtf8 = "path_not_utf8", 1104;
    /// A folder where a file is needed; `path`.
    IsDirectory = "is_directory", 1104;
    /// The system refuses access; `path`.
    Permission = "permission", 1104;
    /// This folder cannot be a workspace; `root`, `reason`.
    RootRefused = "root_refused", 1105;
    /// A line of the patch is not of its format; `line` (the begin marker is 1), `excerpt`, `expected`.
    PatchSyntax = "patch_syntax", 1201;
    /// Hunks of the patch are not in their files; `failures` has all of them, `failure_id` is for `edit.amend`.
    ContextNotFound = "context_not_found", 1202;
    /// Files are not what they were taken for; `paths` with `expected`, `now` and `reason`. Nothing was written.
    ContentChanged = "content_changed", 1204;
    /// The system refused to write; `path`, `os_error`. All is as it was.
    CommitFailed = "commit_failed", 1205;
    /// The disk is full; `path`, `os_error`.
    NoSpace = "no_space", 1205;
    /// The system failed to read or write; `path`, `os_error`.
    Io = "io", 1205;
    /// A failed write could not be taken back; `paths` with the state of each, `recovery_files`. Never retry blindly.
    RollbackFailed = "rollback_failed", 1206;
    /// The old text of an edit is not in the file; `path`, `edit`, `nearest`.
    OldTextNotFound = "old_text_not_found", 1207;
    /// The old text of an edit is in the file more than once; `path`, `edit`, `count`, `lines`.
    OldTextAmbiguous = "old_text_ambiguous", 1207;
    /// This run has not seen the file that it would overwrite; `path`, `version`.
    UnseenOverwrite = "unseen_overwrite", 1208;
    /// The file may not be written; `path`.
    ReadOnly = "read_only", 1209;
    /// Owner, mode, ACL or attributes of the file cannot be kept; `path`, `what`.
    Metadata = "metadata", 1209;
    /// Two names of the request are one file; `path`, `what` is the other name.
    SameFile = "same_file", 1209;
    /// An earlier transaction is not settled; `root`, `txn_id`.
    RecoveryPending = "recovery_pending", 1210;
    /// The path decides what other programs run; `path`, `allow`.
    ProtectedPath = "protected_path", 1211;
    /// The id belongs to another request; `txn_id`.
    TxnIdReused = "txn_id_reused", 1212;
    /// The failure is not kept any more; `id`, `why`.
    FailureUnknown = "failure_unknown", 1213;
    /// The transaction cannot be undone; `id`, `why`.
    UndoUnknown = "undo_unknown", 1213;
    /// Not a regular file (a FIFO, a socket, a device); `path`, `what`.
    NotRegular = "not_regular", 1209;
    /// No way to read the pattern holds; `attempts` with `reading`, `reason`, `line`, `column`, and the `tree` of the best one.
    PatternUnparsable = "pattern_unparsable", 1301;
    /// A name that the pattern does not bind; `name`, `bound`.
    UnboundMetavariable = "unbound_metavariable", 1302;
    /// No grammar for this language; `language`, `supported`.
    LanguageUnsupported = "language_unsupported", 1303;
    /// No such stage; `stage_id`, `pending` lists those that wait, `why`: `unknown`, `daemon_restarted`, `discarded` or `other_run`.
    StageUnknown = "stage_unknown", 1304;
    /// The time of the stage is over; `stage_id`, `pending`.
    StageExpired = "stage_expired", 1304;
    /// The stage was accepted before; `stage_id`, `txn_id`, `at` (seconds since 1970), `pending`.
    StageUsed = "stage_used", 1304;
    /// There is no room for a further stage; `pending` lists those that wait, `limit` in bytes.
    StageStoreFull = "stage_store_full", 1304;
    /// Not all files could be searched, so nothing was staged; `reason`, `done`, `total`.
    SearchIncomplete = "search_incomplete", 1305;
    /// The rewrite would bring syntax errors, or its place has some; `path`, `line`, `what`. Nothing was staged.
    ResultHasSyntaxErrors = "result_has_syntax_errors", 1306;
    /// A capture would not be one piece of code any more in the result; `path`, `line`, `what`. Nothing was staged.
    CaptureBrokenApart = "capture_broken_apart", 1306;
    /// The search of a file took more steps than it may; `path`, `steps`.
    BudgetExceeded = "budget_exceeded", 1307;
    /// The file nests deeper than the limit; `path`, `depth`.
    TooDeep = "too_deep", 1308;
    /// A kind, field, selector or reading that there is not; `selector`, `why`, `kinds` (the closest ones).
    BadSelector = "bad_selector", 1309;
    /// A tool or its configuration lies in the checkout, and trust does not include that; `path`, `from`, `how`.
    UntrustedTool = "untrusted_tool", 1406;
    /// This would run code of a checkout that nobody has trusted; `root`, `how`.
    WorkspaceUntrusted = "workspace_untrusted", 1407;
    /// The index of this workspace has no answer yet; `done`, `total`.
    IndexNotReady = "index_not_ready", 1601;
    /// No such symbol; `closest`.
    SymbolUnknown = "symbol_unknown", 1602;
    /// Several symbols have this name; `candidates` lists them with their ids.
    SymbolAmbiguous = "symbol_ambiguous", 1602;
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `error.data`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ErrorData {
    /// The stable name; see the table of kinds.
    pub kind: String,
    /// Whether the same call can succeed later without any change by the caller.
    pub retryable: bool,
    /// The fields of this kind.
    #[serde(flatten)]
    pub fields: Object,
}

/// An error as it is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RpcError {
    /// Groups kinds; branch on `data.kind` instead.
    pub code: i32,
    /// What happened and what to do next.
    pub message: String,
    /// The kind and its fields.
    pub data: ErrorData,
}

impl RpcError {
    /// An error of `kind` that says `message`. Kinds that pass by themselves are marked `retryable`.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let retryable =
            matches!(kind, ErrorKind::Retiring | ErrorKind::Busy | ErrorKind::DeadlineExceeded | ErrorKind::IndexNotReady);
        Self {
            code: kind.code(),
            message: message.into(),
            data: ErrorData { kind: kind.name().to_owned(), retryable, fields: Object::new() },
        }
    }

    /// Adds a field to `data`.
    #[must_use]
    pub fn with(mut self, field: &str, value: impl Into<Value>) -> Self {
        self.data.fields.insert(field.to_owned(), value.into());
        self
    }

    /// Whether it is of this kind.
    pub fn is(&self, kind: ErrorKind) -> bool {
        self.data.kind == kind.name()
    }
}

impl fmt::Display for RpcError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.data.kind)
    }
}

impl std::error::Error for RpcError {}
