//! Edits: write, replace, patch, accept a stage and undo, each one transaction.
//!
//! A request is planned on the bytes that are there, without a lock and without a write. Then the root is locked and the
//! plan is handed to [`ccd_files`]'s transaction with the versions it was made for; where they are others by then, it is
//! planned again. What came of it is kept under the transaction's id, so that a caller whose answer was lost can ask.
//!
//! This crate knows no language servers and no graph: it tells an [`Observer`] before and after.

mod editor;
mod failures;
mod ledger;
mod plan;
mod protect;
mod replace;
mod request;
mod stages;
mod tree;

pub use editor::Editor;
pub use ledger::{Ledger, LedgerLimits};
pub use protect::{PROTECTED, Protected, Protection};
pub use replace::{ReplaceError, Replacement, replace};
pub use request::{
    Answer, EditError, EditOutcome, FileOp, FileOutcome, HunkOutcome, Missing, NoteOutcome, Observer, Request, What,
};
pub use stages::{Draft, Stage, StageError, StageLimits, StagedFile, StagedSite, Stages, StoreFull};
pub use tree::{Key, Reach, TreeError, normal};
