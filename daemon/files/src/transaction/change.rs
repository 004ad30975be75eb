//! What a caller asks of a transaction, and what it is told.

use std::path::PathBuf;

use ccd_text::Version;

use super::metadata::Attributes;

/// Against what a transaction holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// A loss of power leaves old or new.
    Power,
    /// The end of the process leaves old or new; nothing is synced.
    Process,
}

/// How an existing file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteMode {
    /// A new file takes its place; in place only where that is impossible.
    Replace,
    /// The file itself is written, for tools that watch the file and not its folder. Not one with several names.
    InPlace,
}

/// What happens when mode, owner, ACL or attributes cannot be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetadataPolicy {
    /// The transaction is refused.
    Strict,
    /// It goes on and says so ([`Note::MetadataLost`]).
    Warn,
}

/// What happens to a file that has several names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HardLinks {
    /// This name gets a file of its own ([`Note::HardlinkBroken`]).
    Break,
    /// The transaction is refused.
    Refuse,
}

/// How a transaction goes about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Against what it holds.
    pub durability: Durability,
    /// How an existing file is written.
    pub write_mode: WriteMode,
    /// What happens when metadata cannot be kept.
    pub metadata: MetadataPolicy,
    /// What happens to a file that has several names.
    pub hard_links: HardLinks,
    /// Writes files that nobody may write (0444) as well.
    pub override_readonly: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::Power,
            write_mode: WriteMode::Replace,
            metadata: MetadataPolicy::Strict,
            hard_links: HardLinks::Break,
            override_readonly: false,
        }
    }
}

/// What must stand at a path before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Nothing.
    Absent,
    /// A file of exactly these bytes; for a link that is to be removed itself, of the text of the link.
    Version(Version),
    /// Whatever is there, or nothing.
    Any,
}

/// One file, before and after. Every path occurs once in a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The file has these bytes afterwards. A link is followed and kept.
    Write {
        /// Index of the root.
        root: usize,
        /// The path from the root.
        rel: PathBuf,
        /// All of the new content.
        bytes: Vec<u8>,
        /// What must be there before.
        expect: Expect,
        /// The file whose mode, owner and attributes it gets (root and path), where it is the target of a move. Else
        /// it keeps its own, and a new file gets what any new file in its folder gets.
        metadata_from: Option<(usize, PathBuf)>,
        /// Makes the folders above it where they are missing.
        create_parents: bool,
    },
    /// The file or link is gone afterwards.
    Remove {
        /// Index of the root.
        root: usize,
        /// The path from the root. A link at the last step is never followed.
        rel: PathBuf,
        /// What must be there before.
        expect: Expect,
        /// A link may be removed; without it a link is refused.
        link_itself: bool,
    },
    /// A file or link is back as an earlier transaction found it. Only an undo makes these.
    Restore {
        /// Index of the root.
        root: usize,
        /// The path from the root.
        rel: PathBuf,
        /// What comes back.
        saved: SavedFile,
    },
}

impl Change {
    pub(crate) fn place(&self) -> (usize, &PathBuf) {
        match self {
            Self::Write { root, rel, .. } | Self::Remove { root, rel, .. } | Self::Restore { root, rel, .. } => (*root, rel),
        }
    }
}

/// What an undo puts back where nothing is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedFile {
    pub(crate) body: Body,
    pub(crate) attributes: Option<Attributes>,
}

/// What a name gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Body {
    Bytes(Vec<u8>),
    Link(PathBuf),
}

/// How the files came to their names; from the strongest to the weakest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Atomic {
    /// Exchanged, and what came out was verified.
    Exchange,
    /// Renamed over, where the file system knows no exchange: a writer in the last instant is not seen.
    Weak,
    /// At least one was written in place; other processes may have seen it half written.
    JournaledInPlace,
}

/// What became of one change; in the order of the changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Index of the root.
    pub root: usize,
    /// The file itself, from the root, links followed.
    pub rel: PathBuf,
    /// The version before; none when nothing was there, or it could not be read.
    pub before: Option<Version>,
    /// The version after; none when nothing is there.
    pub after: Option<Version>,
    /// False when it was as asked already, and nothing was written.
    pub written: bool,
}

/// What a caller should know beside the success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// The other names of the file keep the old content.
    HardlinkBroken {
        /// Absolute.
        path: PathBuf,
        /// All names it had, this one included.
        count: u64,
    },
    /// Another process wrote into the old file while it was replaced; what it wrote is kept.
    LateWrite {
        /// Absolute.
        path: PathBuf,
        /// The old file. Absolute; none when it could not be kept.
        kept: Option<PathBuf>,
    },
    /// Mode, owner, ACL or attributes could not be kept.
    MetadataLost {
        /// Absolute.
        path: PathBuf,
        /// `owner`, `acl` or `xattr`.
        what: &'static str,
    },
}

/// What a transaction did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// In the order of the changes.
    pub files: Vec<FileChange>,
    /// The weakest way in which a file came to its name.
    pub atomic: Atomic,
    /// What a caller should know.
    pub notes: Vec<Note>,
    /// Folders that were made. Absolute.
    pub made_dirs: Vec<PathBuf>,
    /// Whether the transaction can be undone, by its id.
    pub undoable: bool,
    /// Nothing differed: nothing was written.
    pub no_change: bool,
}
