//! What a patch comes to.

use std::sync::Arc;

use crate::{apply::Match, explain::Miss, fold::Fold, seek::Pass, syntax::Patch, tree::Tree};

/// All that a patch changes, and what to tell about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan<K> {
    /// One for each name whose final state differs from the first, in the order in which the patch first touched them.
    /// A deletion may have to come before a file below the same name.
    pub targets: Vec<Target<K>>,
    /// Folders to make, each after the one it is in. Some may stay empty, as after an addition and a deletion.
    pub directories: Vec<K>,
    /// In the order of the patch, whatever came of them.
    pub operations: Vec<Done>,
    /// In the words of the reference, for a model.
    pub summary: String,
    /// One a hunk, in the order of the patch.
    pub matches: Vec<HunkMatch<K>>,
    /// What a careful reader should know.
    pub notes: Vec<Note>,
}

impl<K> Plan<K> {
    /// Nothing is to be written.
    pub fn is_unchanged(&self) -> bool {
        self.targets.is_empty() && self.directories.is_empty()
    }
}

impl<K: PartialEq> Plan<K> {
    /// How loosely, and among how many other places, the hunks of a file were matched that touch these lines of it as
    /// it was before the patch: what a reader of a diff wants to know of each piece.
    pub fn matched(&self, key: &K, line: usize, lines: usize) -> Option<(Pass, usize)> {
        let touching = self.matches.iter().filter(|found| {
            let (from, to) = (found.at.line, found.at.line + found.at.old_lines.max(1));
            found.key == *key && from < line + lines.max(1) + 1 && line < to + 1
        });
        touching.map(|found| (found.at.pass, found.at.other_matches)).reduce(|a, b| (a.0.max(b.0), a.1.max(b.1)))
    }
}

/// One name, before and after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target<K> {
    /// The name.
    pub key: K,
    /// As first written in the patch.
    pub path: String,
    /// What was there.
    pub was: Was,
    /// The bytes before, if planning had to read them: always for a file that is written, not for one that is deleted.
    pub before: Option<Arc<[u8]>>,
    /// What is to be there.
    pub change: Change<K>,
}

/// What was at a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Was {
    /// Nothing.
    Absent,
    /// A regular file.
    File,
    /// A symbolic link, which itself goes; what it leads to is another target.
    Link,
}

/// What is to be at a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<K> {
    /// A file of these bytes.
    Write {
        /// The whole file.
        body: Arc<[u8]>,
        /// The file whose mode, owner and attributes it gets, as they were before the patch: its own, or those of the
        /// file that was moved here. None for a file like a new one, also where one was deleted before.
        metadata: Option<K>,
    },
    /// Nothing.
    Delete,
}

/// An operation of the patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// A move onto itself is an update.
    pub op: Op,
    /// As written.
    pub path: String,
    /// As written; for a move alone.
    pub move_to: Option<String>,
}

/// The kind of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `*** Add File: `.
    Add,
    /// `*** Update File: `.
    Update,
    /// `*** Delete File: `.
    Delete,
    /// `*** Update File: ` with `*** Move to: `.
    Move,
}

impl Op {
    /// As one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Update => "update",
            Self::Delete => "delete",
            Self::Move => "move",
        }
    }
}

/// Where a hunk was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkMatch<K> {
    /// The file that was searched.
    pub key: K,
    /// As written.
    pub path: String,
    /// Line numbers are those of the file as the operations before had left it.
    pub at: Match,
}

/// Something to know about a success.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    /// What.
    pub kind: NoteKind,
    /// As written; none if it is about the whole patch.
    pub path: Option<String>,
    /// For a reader.
    pub detail: Option<String>,
}

/// What a note is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// `*** Add File: ` named a file that was there.
    ReplacedExisting,
    /// Everything is as it was.
    NoChange,
    /// A hunk was found in white space or typography other than its own.
    MatchedLoosely,
    /// A hunk fits at other places too; the first was taken.
    AmbiguousMatch,
    /// Lines named a context and were put at the end of the file.
    AppendedAwayFromContext,
}

impl NoteKind {
    /// As one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::ReplacedExisting => "replaced_existing",
            Self::NoChange => "no_change",
            Self::MatchedLoosely => "matched_loosely",
            Self::AmbiguousMatch => "ambiguous_match",
            Self::AppendedAwayFromContext => "appended_away_from_context",
        }
    }
}

/// Why a patch cannot be planned: everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError<E> {
    /// The patch has no operation.
    #[error("No files were modified.")]
    Nothing,
    /// At least one of the two lists is not empty. What follows from an earlier fault is not told.
    #[error("{} files and {} hunks of the patch cannot be applied", .faults.len(), .failures.len())]
    Refused {
        /// Operations that cannot be done at all, in the order of the patch.
        faults: Vec<Fault<E>>,
        /// Hunks that are not found, in the order of the patch.
        failures: Vec<Failure>,
    },
}

/// A hunk that is not found in its file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("hunk {} of {path}: {miss}", .miss.hunk)]
pub struct Failure {
    /// As written.
    pub path: String,
    /// Why.
    pub miss: Miss,
}

/// An operation that cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Failed to {} {path}: {why}", self.attempt())]
pub struct Fault<E> {
    /// Which kind of operation.
    pub op: Op,
    /// The path that it is about, as written: of a move the source or the destination.
    pub path: String,
    /// It is the destination of a move.
    pub at_destination: bool,
    /// Of its header in the patch; the begin marker is 1.
    pub patch_line: usize,
    /// Why.
    pub why: Why<E>,
}

impl<E> Fault<E> {
    /// What failed, in the words of the reference.
    const fn attempt(&self) -> &'static str {
        match self.op {
            Op::Add => "write file",
            Op::Delete => "delete file",
            Op::Move if self.at_destination => "write file",
            Op::Update | Op::Move => "read file to update",
        }
    }
}

/// Why an operation cannot be done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Why<E> {
    /// To update or delete what is not there.
    #[error("there is no such file")]
    NotFound,
    /// A symbolic link leads to nothing.
    #[error("it is a symbolic link that leads to nothing")]
    DanglingLink,
    /// A folder is no file.
    #[error("it is a directory")]
    IsDirectory,
    /// Only regular files and links are touched.
    #[error("it is a {0}, not a regular file")]
    NotRegular(&'static str),
    /// A folder on the way is a file.
    #[error("a part of its path is not a directory")]
    BelowFile,
    /// The path leads through a link that the patch deletes.
    #[error("its path leads through a symbolic link that the patch deletes")]
    ThroughDeletedLink,
    /// Not UTF-8.
    #[error("{0}")]
    NotText(String),
    /// Another name of the patch is the same file by a hard link.
    #[error("it is the same file as {other}, by a hard link; name it once")]
    SameFile {
        /// As written.
        other: String,
    },
    /// The caller does not want the plan any more.
    #[error("planning was stopped")]
    Stopped,
    /// The caller's tree refuses.
    #[error("{0}")]
    Tree(E),
}

/// Folds the operations of a patch, each on what the ones before it left.
pub fn plan<T: Tree>(patch: &Patch<'_>, tree: &mut T) -> Result<Plan<T::Key>, PlanError<T::Error>> {
    if patch.operations.is_empty() {
        return Err(PlanError::Nothing);
    }
    let mut fold = Fold::new(tree);
    for operation in &patch.operations {
        fold.operation(operation);
    }
    fold.finish()
}
