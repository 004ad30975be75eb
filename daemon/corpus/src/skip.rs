//! Why a file is left out.

use std::{path::PathBuf, time::Duration};

use ccd_files::FileError;

/// The caps that decide what is left out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes; a larger file is `too_large`.
    pub max_file_bytes: u64,
    /// Of one file.
    pub parse_deadline: Duration,
    /// Of a syntax tree; a deeper one is `too_deep`.
    pub max_depth: u32,
    /// Globs in the syntax of `.gitignore`, over those of the workspace.
    pub ignore: Vec<String>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_file_bytes: 1 << 20, parse_deadline: Duration::from_secs(2), max_depth: 10_000, ignore: Vec::new() }
    }
}

/// Why a file is not part of an answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Skipped {
    /// It holds NUL bytes.
    #[error("it is binary")]
    Binary,
    /// Over the cap.
    #[error("it has {size} bytes, the limit is {limit}")]
    TooLarge {
        /// Bytes.
        size: u64,
        /// Bytes.
        limit: u64,
    },
    /// Minified: its lines are over 300 bytes long on average.
    #[error("it is minified")]
    Generated,
    /// Its syntax tree is deeper than the cap, or did not parse within the deadline.
    #[error("its syntax tree is too deep (over {depth} levels)")]
    TooDeep {
        /// The cap.
        depth: u32,
    },
    /// It did not parse within the deadline.
    #[error("it did not parse within {deadline_ms} ms")]
    ParseDeadline {
        /// Milliseconds.
        deadline_ms: u64,
    },
    /// Its name cannot be carried in JSON.
    #[error("its name is not UTF-8")]
    PathNotUtf8,
    /// A FIFO, socket, device or link.
    #[error("it is a {what}, not a regular file")]
    NotRegular {
        /// What it is.
        what: &'static str,
    },
    /// The system refuses.
    #[error("it cannot be read: {reason}")]
    Unreadable {
        /// The error's name.
        reason: String,
    },
    /// It leads out of the workspace.
    #[error("it leads out of the workspace")]
    OutsideRoot {
        /// Where to.
        resolved: PathBuf,
    },
    /// A folder.
    #[error("it is a folder")]
    IsDirectory,
    /// Nothing there.
    #[error("there is no such file")]
    NotFound,
    /// An ignore rule leaves it out.
    #[error("it is ignored")]
    Ignored,
}

impl Skipped {
    /// The word under which it is counted.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Binary => "binary",
            Self::TooLarge { .. } => "too_large",
            Self::Generated => "generated",
            Self::TooDeep { .. } => "too_deep",
            Self::ParseDeadline { .. } => "budget_exceeded",
            Self::PathNotUtf8 => "path_not_utf8",
            Self::NotRegular { .. } | Self::IsDirectory => "not_regular",
            Self::Unreadable { .. } | Self::NotFound => "unreadable",
            Self::OutsideRoot { .. } => "outside_root",
            Self::Ignored => "ignored",
        }
    }
}

impl From<FileError> for Skipped {
    fn from(error: FileError) -> Self {
        match error {
            FileError::NotFound => Self::NotFound,
            FileError::Outside { resolved } => Self::OutsideRoot { resolved },
            FileError::IsDirectory => Self::IsDirectory,
            FileError::NotRegular { what } => Self::NotRegular { what },
            FileError::LinkLoop => Self::NotRegular { what: "link that leads in a circle" },
            FileError::TooLarge { size, limit } => Self::TooLarge { size, limit },
            FileError::Permission => Self::Unreadable { reason: "permission denied".to_owned() },
            FileError::Io { name } => Self::Unreadable { reason: name },
        }
    }
}
