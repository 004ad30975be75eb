//! Why a transaction did not happen. Whatever the reason, the files are as they were, unless it says otherwise.

use std::path::{Path, PathBuf};

use ccd_text::Version;
use rustix::io::Errno;

use crate::error::errno_name;

/// In which way a file is not what the caller took it for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It was not to be there, and is.
    Created,
    /// Its bytes, or the file itself, are others.
    Changed,
    /// It is gone.
    Removed,
}

/// A file that is not what the caller took it for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// Absolute.
    pub path: PathBuf,
    /// What it was to be; none for a file that was not to be there.
    pub expected: Option<Version>,
    /// What it is; none when it is gone, or cannot be read.
    pub now: Option<Version>,
    /// In which way.
    pub reason: Reason,
}

/// A call of the system that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The file in question, absolute.
    pub path: PathBuf,
    /// The symbolic name of the error (`ENOSPC`).
    pub os_error: String,
}

/// How a file stands after an undo that did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathState {
    /// As it was before.
    Old,
    /// As it was to become.
    New,
    /// Neither, or it cannot be told.
    Unknown,
}

/// A file that somebody else changed while it was ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The file; it has the other one's content. Absolute.
    pub path: PathBuf,
    /// Where its bytes from before the transaction are, if there were any. Absolute.
    pub kept: Option<PathBuf>,
}

/// Why a transaction did not happen.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransactionError {
    /// Files are not what the caller took them for.
    #[error("{} changed since it was read; read it again", paths.first().map(|first| first.path.display().to_string()).unwrap_or_default())]
    ContentChanged {
        /// Which, and how. Before the first write all of them, later the first one.
        paths: Vec<Changed>,
    },
    /// No room (ENOSPC, EDQUOT).
    #[error("no space left to write {}", .0.path.display())]
    NoSpace(Failure),
    /// The device fails (EIO).
    #[error("{}: {}", .0.path.display(), .0.os_error)]
    Io(Failure),
    /// Any other error of the system.
    #[error("{} could not be written: {}", .0.path.display(), .0.os_error)]
    CommitFailed(Failure),
    /// It may not be written.
    #[error("{} is read-only", path.display())]
    ReadOnly {
        /// The file or its folder.
        path: PathBuf,
    },
    /// A FIFO, socket, device, or a link where a file was meant.
    #[error("{} is a {what}, not a regular file", path.display())]
    NotRegular {
        /// The entry.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// A folder.
    #[error("{} is a folder", path.display())]
    IsDirectory {
        /// The folder.
        path: PathBuf,
    },
    /// A part of the path that would have to be a folder is none.
    #[error("{} is no folder", path.display())]
    NotDirectory {
        /// The part.
        path: PathBuf,
    },
    /// Nothing there, or no folder to make it in.
    #[error("there is no {}", path.display())]
    NotFound {
        /// The path.
        path: PathBuf,
    },
    /// A link that leads to nothing.
    #[error("{} is a link to {}, which is not there", path.display(), target.display())]
    DanglingLink {
        /// As the caller named it.
        path: PathBuf,
        /// Where it leads.
        target: PathBuf,
    },
    /// Mode, owner, ACL or attributes cannot be kept, or should not be (suid).
    #[error("the {what} of {} cannot be kept", path.display())]
    Metadata {
        /// The file.
        path: PathBuf,
        /// `owner`, `acl`, `xattr` or `suid`.
        what: &'static str,
    },
    /// The transaction names one file twice.
    #[error("{} and {} are the same file", path.display(), other.display())]
    SameFile {
        /// The later name.
        path: PathBuf,
        /// The earlier one.
        other: PathBuf,
    },
    /// It has other names, and the options say to leave such files alone, or it cannot be replaced.
    #[error("{} has {count} names", path.display())]
    HardLinked {
        /// The file.
        path: PathBuf,
        /// All names of it, this one included.
        count: u64,
    },
    /// The path leads out of the root.
    #[error("{} leads out of the workspace", path.display())]
    Outside {
        /// As the caller named it.
        path: PathBuf,
        /// Where it leads, as far as is known.
        resolved: PathBuf,
    },
    /// Links lead in a circle.
    #[error("the links of {} lead in a circle", path.display())]
    LinkLoop {
        /// As the caller named it.
        path: PathBuf,
    },
    /// Somebody else changed files that were already written, so that these could not be put back. Theirs are kept.
    #[error("{cause}; and some files were changed meanwhile by somebody else")]
    Conflict {
        /// Why the transaction did not happen.
        cause: Box<TransactionError>,
        /// The files, and where their bytes from before are.
        paths: Vec<Kept>,
    },
    /// The files could not be put back. Recovery tries again; until then the root takes no edits.
    #[error("{cause}; and it could not be undone")]
    RollbackFailed {
        /// Why the transaction did not happen.
        cause: Box<TransactionError>,
        /// How every file stands.
        paths: Vec<(PathBuf, PathState)>,
        /// Where the bytes from before are.
        recovery_files: Vec<PathBuf>,
    },
    /// An earlier transaction is not settled.
    #[error("transaction {txn_id} on {} waits for recovery", root.display())]
    RecoveryPending {
        /// The root.
        root: PathBuf,
        /// The transaction.
        txn_id: String,
    },
}

impl TransactionError {
    /// What an error of the system means for a path.
    pub(crate) fn of(path: &Path, errno: Errno) -> Self {
        let path = path.to_path_buf();
        match errno {
            Errno::ACCESS | Errno::PERM | Errno::ROFS => Self::ReadOnly { path },
            Errno::NOSPC | Errno::DQUOT => Self::NoSpace(Failure { path, os_error: errno_name(errno) }),
            Errno::IO => Self::Io(Failure { path, os_error: errno_name(errno) }),
            other => Self::CommitFailed(Failure { path, os_error: errno_name(other) }),
        }
    }

    /// Whether every file is as it was before.
    pub fn rolled_back(&self) -> bool {
        !matches!(self, Self::Conflict { .. } | Self::RollbackFailed { .. })
    }
}
