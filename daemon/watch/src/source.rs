//! Where raw events come from: the seam between the watcher and the system, so that tests can lose events and run out
//! of watches at will.

use std::path::{Path, PathBuf};

/// An event as the system gives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Raw {
    /// Something happened at these paths.
    Touched {
        /// Absolute.
        paths: Vec<PathBuf>,
        /// They may be folders that were not there before.
        may_be_new_folder: bool,
    },
    /// This folder is gone from its place: removed or renamed.
    FolderGone(PathBuf),
    /// Events were lost.
    Lost,
}

/// Takes raw events; never blocks.
pub type RawSink = Box<dyn Fn(Raw) + Send + Sync>;

/// Makes a source that sends to the sink. Called when the first folder is to be watched.
pub type StartSource = Box<dyn Fn(RawSink) -> Result<Box<dyn Source>, SourceError> + Send + Sync>;

/// Why a folder cannot be watched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// No watches are left.
    #[error("no watches are left")]
    Limit,
    /// The folder is gone already.
    #[error("there is no such folder")]
    NotFound,
    /// Anything else.
    #[error("{0}")]
    Other(String),
}

/// A source of raw events.
pub trait Source: Send {
    /// Begins to watch one folder, without those below it.
    fn watch(&mut self, folder: &Path) -> Result<(), SourceError>;
    /// Ends it; a folder that is not watched is no failure.
    fn unwatch(&mut self, folder: &Path);
}
