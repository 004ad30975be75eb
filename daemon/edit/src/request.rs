//! What is asked, what is answered, and what can be wrong.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use ccd_files::{Atomic, LockError, Options, TransactionError};
use ccd_patch::{AmendError, Done, Failure, Fault, Pass, SyntaxError};
use ccd_text::{DiffHunk, LineEnding, Version};

use crate::{
    replace::{ReplaceError, Replacement},
    stages::StageError,
    tree::{Key, Reach, TreeError},
};

/// What is to be done.
#[derive(Clone, Debug)]
pub enum What {
    /// A file gets a whole new text.
    Write {
        /// Absolute.
        path: PathBuf,
        /// All of it.
        content: String,
        /// Make it if it is not there.
        create: bool,
        /// Replace it if it is there.
        overwrite: bool,
    },
    /// Stretches of a file are replaced.
    Edit {
        /// Absolute.
        path: PathBuf,
        /// In order, each on the result of the one before.
        replacements: Vec<Replacement>,
    },
    /// A patch.
    Patch {
        /// From marker to marker.
        text: String,
        /// Where its relative paths count from. Absolute.
        cwd: PathBuf,
    },
    /// A refused patch with some hunks replaced.
    Amend {
        /// As the refusal gave it.
        failure_id: String,
        /// Index from 1, and the lines.
        hunks: Vec<(usize, String)>,
    },
    /// A stage is written onto the bytes that it was made from.
    Stage {
        /// Which.
        id: String,
    },
    /// An earlier transaction is undone.
    Undo {
        /// Which.
        txn_id: String,
    },
}

/// A request.
#[derive(Clone, Debug)]
pub struct Request {
    /// What it may touch.
    pub reach: Reach,
    /// The identities of all roots that have to be locked: those written to, and open ones around and inside them.
    pub locks: Vec<(u64, u64)>,
    /// How long to wait for them.
    pub lock_wait: Duration,
    /// What is to be done.
    pub what: What,
    /// Whose versions count.
    pub run: Option<String>,
    /// Chosen by the caller.
    pub txn_id: Option<String>,
    /// A hash of the request, that tells a repetition from another request of the same id.
    pub hash: [u8; 16],
    /// The versions that files must have, by absolute path.
    pub expect: BTreeMap<PathBuf, Version>,
    /// Write over what was not seen.
    pub force: bool,
    /// Only tell what would happen.
    pub dry_run: bool,
    /// How the transaction goes about it.
    pub options: Options,
    /// Bytes of a file that is written whole.
    pub max_write: u64,
}

/// What became of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileOp {
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
#[derive(Clone, Debug)]
pub struct FileOutcome {
    /// Where it is.
    pub key: Key,
    /// Absolute.
    pub path: PathBuf,
    /// What became of it.
    pub op: FileOp,
    /// Where it was, absolute.
    pub from: Option<PathBuf>,
    /// Its version now.
    pub version: Option<Version>,
    /// Of the file now, or of the one that is gone.
    pub line_ending: LineEnding,
    /// Lines.
    pub added: usize,
    /// Lines.
    pub removed: usize,
}

/// A stretch of a file that changed, as a client draws it.
#[derive(Clone, Debug)]
pub struct HunkOutcome {
    /// Absolute.
    pub path: PathBuf,
    /// The lines before and now.
    pub hunk: DiffHunk,
    /// How it was found, and how many other places would have done.
    pub matched: Option<(Pass, usize)>,
}

/// A deviation that is no error.
#[derive(Clone, Debug)]
pub struct NoteOutcome {
    /// One word.
    pub kind: &'static str,
    /// Absolute.
    pub path: Option<PathBuf>,
    /// One sentence.
    pub detail: Option<String>,
}

/// What an edit did, or would do.
#[derive(Clone, Debug)]
pub struct EditOutcome {
    /// Of the transaction.
    pub txn_id: String,
    /// False for a dry run.
    pub applied: bool,
    /// In the words of the reference.
    pub summary: String,
    /// In the order of the request.
    pub files: Vec<FileOutcome>,
    /// All files, sorted by path.
    pub diff: String,
    /// In the order of the diff.
    pub hunks: Vec<HunkOutcome>,
    /// Of a patch.
    pub operations: Option<Vec<Done>>,
    /// The weakest way in which a file came to its name.
    pub atomic: Atomic,
    /// What a careful reader should know.
    pub notes: Vec<NoteOutcome>,
    /// It can be undone.
    pub undoable: bool,
}

/// The answer to a request.
#[derive(Clone, Debug)]
pub enum Answer {
    /// It was done now.
    Done(Box<EditOutcome>),
    /// It was done by an earlier call of the same id: the bytes that were stored then.
    Stored(Vec<u8>),
}

/// Is told of changes. The ports of language servers and the graph.
pub trait Observer: Sync {
    /// These files (absolute) are about to change from these bytes.
    fn about_to_change(&self, files: &[(PathBuf, Option<Arc<[u8]>>)]);
    /// These files (absolute) are changed, in the order of commits.
    fn committed(&self, files: &[PathBuf]);
}

/// Why a kept thing is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// Never heard of.
    Unknown,
    /// Too long ago.
    Expired,
    /// It was used.
    Used,
}

impl Missing {
    /// One word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Expired => "expired",
            Self::Used => "used",
        }
    }
}

/// Why nothing was done. The files are as they were.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// The path cannot be touched.
    #[error("{path}: {error}")]
    Path {
        /// As it was named.
        path: PathBuf,
        /// Why.
        error: TreeError,
    },
    /// There is no such file.
    #[error("there is no file {path}")]
    NotFound {
        /// Absolute.
        path: PathBuf,
        /// It is a link that leads to nothing.
        dangling: bool,
    },
    /// A folder.
    #[error("{path} is a folder")]
    IsDirectory {
        /// Absolute.
        path: PathBuf,
    },
    /// A FIFO, socket or device.
    #[error("{path} is a {what}, not a regular file")]
    NotRegular {
        /// Absolute.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Its bytes are no text.
    #[error("{path} is not UTF-8 text")]
    NotText {
        /// Absolute.
        path: PathBuf,
    },
    /// More than may be written.
    #[error("{size} bytes are more than the {limit} that may be written")]
    TooLarge {
        /// Absolute.
        path: PathBuf,
        /// Bytes.
        size: u64,
        /// Bytes.
        limit: u64,
    },
    /// The patch is none.
    #[error("{0}")]
    Syntax(#[from] SyntaxError),
    /// Its hunks do not fit the patch.
    #[error("{0}")]
    Amend(AmendError),
    /// The patch asks for nothing.
    #[error("No files were modified.")]
    Nothing,
    /// The patch does not fit the files.
    #[error("{} files and {} hunks of the patch cannot be applied", faults.len(), failures.len())]
    Refused {
        /// Operations that cannot be done at all.
        faults: Vec<Fault<TreeError>>,
        /// All hunks that are not found.
        failures: Vec<Failure>,
        /// For an amended patch.
        failure_id: Option<String>,
        /// Where its relative paths count from.
        cwd: PathBuf,
    },
    /// A replacement cannot be made.
    #[error("{error}")]
    Replace {
        /// Absolute.
        path: PathBuf,
        /// Why.
        error: ReplaceError,
    },
    /// The run has not seen what it would overwrite.
    #[error("{path} was not seen by this run")]
    UnseenOverwrite {
        /// Absolute.
        path: PathBuf,
        /// The version that is there.
        version: Version,
    },
    /// The id belongs to another request.
    #[error("the transaction id was used for another request")]
    TxnIdReused {
        /// The id.
        txn_id: String,
    },
    /// The same id is under way.
    #[error("the transaction is under way")]
    UnderWay {
        /// The id.
        txn_id: String,
    },
    /// The failure is not kept.
    #[error("the failure is not kept")]
    FailureUnknown {
        /// The id.
        id: String,
        /// Why.
        why: Missing,
    },
    /// The stage cannot be accepted.
    #[error("{why}")]
    Stage {
        /// The id.
        id: String,
        /// Why.
        why: StageError,
    },
    /// The transaction cannot be undone.
    #[error("the transaction cannot be undone")]
    UndoUnknown {
        /// The id.
        id: String,
        /// Why.
        why: Missing,
    },
    /// The root was locked by another edit all the time.
    #[error("{0}")]
    Lock(#[from] LockError),
    /// The transaction did not happen.
    #[error("{0}")]
    Transaction(#[from] TransactionError),
    /// The state folder cannot be used.
    #[error("the state folder cannot be used: {0}")]
    State(String),
    /// The caller's token is up; nothing was written.
    #[error("cancelled")]
    Cancelled,
}
