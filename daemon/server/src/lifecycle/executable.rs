//! The file of the running program, and whether another stands in its place by now.

use std::{fs::Metadata, os::unix::fs::MetadataExt, path::PathBuf};

/// The file as it was at the start.
#[derive(Debug)]
pub(crate) struct Executable {
    path: PathBuf,
    identity: (u64, u64, i64),
}

fn identity(found: &Metadata) -> (u64, u64, i64) {
    (found.dev(), found.ino(), found.mtime())
}

impl Executable {
    /// None if the system does not tell.
    pub(crate) fn current() -> Option<Self> {
        let path = std::env::current_exe().ok()?;
        let identity = identity(&std::fs::metadata(&path).ok()?);
        Some(Self { path, identity })
    }

    /// Another file stands there. A file that is gone is not replaced (yet): an upgrade may be under way.
    pub(crate) fn was_replaced(&self) -> bool {
        std::fs::metadata(&self.path).is_ok_and(|found| identity(&found) != self.identity)
    }
}
