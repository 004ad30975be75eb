//! Files of a workspace, beneath its root and nowhere else.
//!
//! Every access goes through a [`Root`]: the root's folder is held open and each path is resolved beneath it by
//! the kernel (`openat2` with `RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS`), so that neither `..`, nor a link, nor a
//! folder that is swapped for a link at the wrong moment leads out. Comparing path strings is no control.
//!
//! Files of users are written by a [`Transaction`] and by nothing else.

#[cfg(not(target_os = "linux"))]
compile_error!("ccd runs on Linux (kernel 5.6 or newer, x86-64 or arm64) only");

mod error;
mod folder;
mod kept;
mod private;
mod resolve;
mod root;
mod trace;
mod transaction;

pub use error::{FileError, RootError};
pub use folder::{EntryKind, Folder};
pub use kept::{KeptFileError, read_kept, set_aside_kept, write_kept};
pub use private::{PrivateFolderError, private_folder};
pub use root::{FileBytes, Root, Stat};
pub use trace::Traced;
pub use transaction::{
    Atomic, Change, Changed, Committed, Durability, Expect, Failure, FileChange, HardLinks, Kept, Limits, LockError, Memo,
    MetadataPolicy, Note, Options, Outcome, OutcomeState, PathState, Reason, RootLocks, SavedFile, Settled, State, Transaction,
    TransactionError, UndoEntry, Unsettled, WriteMode, failpoint,
};
