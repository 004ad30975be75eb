//! The one way in which files of users are written.
//!
//! A [`Transaction`] is a set of complete new files and removals that happens as a whole or not at all: when a call
//! fails, when the process is killed at any system call, and (with [`Durability::Power`]) when the power fails.
//!
//! New files are staged in `.ccd-tx` in the root, a journal in the state folder says what is about to happen, and then
//! each staged file changes places with the one it replaces (`RENAME_EXCHANGE`). The old file is in the stage after
//! that, untouched, so it can be compared with what the caller had read: another writer is noticed even in the last
//! instant, and gets the name back. The commit point is the rename of the journal. Before it everything is undone,
//! after it nothing can fail the call any more.
//!
//! It offers no isolation: for some milliseconds another process may see one file new and the next one old.

mod apply;
mod change;
mod engine;
mod fail;
mod failpoint;
mod folders;
mod fs;
mod journal;
mod lock;
mod metadata;
mod outcome;
mod plan;
mod real;
mod recover;
mod ring;
mod rollback;
mod stage;
mod state;
mod store;
#[cfg(test)]
mod tests;
mod undo;

pub use change::{
    Atomic, Change, Committed, Durability, Expect, FileChange, HardLinks, MetadataPolicy, Note, Options, SavedFile, WriteMode,
};
pub use fail::{Changed, Failure, Kept, PathState, Reason, TransactionError};
pub use failpoint::failpoint;
pub use journal::Memo;
pub use lock::{LockError, RootLocks};
pub use outcome::{Outcome, OutcomeState};
pub use recover::{Settled, Unsettled};
pub use state::{State, Transaction};
pub use store::Limits;
pub use undo::UndoEntry;
