//! From exec to exit: folders, lock, socket, signals, the manager's protocol, and every way to end.
//!
//! The order at the start is the order of the rules: the folders are checked, the lock is taken, only then the socket
//! is touched. No workspace, store or watcher is opened before somebody asks for it.

mod detach;
mod executable;
mod listener;
mod lock;
mod paths;
mod run;
mod tend;

pub use detach::{own_session, release_streams};
pub(crate) use executable::Executable;
pub use lock::{Lock, LockError};
pub use paths::{Paths, PathsError};
pub use run::{StartError, Started, start};
