//! Changes on disk, as the server wants to hear of them.
//!
//! One inotify instance for the whole daemon. The server says which folders of a root matter (those that the walk went
//! through), each is watched by itself and not recursively, so that ignored trees cost no watches. What happens in them
//! is gathered for a moment (10 ms of quiet, 100 ms at most under continuous writes) and told by root:
//!
//! * [`Event::Dirty`] at once with the first change, so that answers can say that they may be old;
//! * [`Event::Changed`] with the paths, and the folders that are new and are not watched yet;
//! * [`Event::Rescan`] when changes were lost or are too many to be told;
//! * [`Event::RootGone`] when the root itself was removed or renamed.
//!
//! A root that cannot be watched is [`State::Degraded`] with a sentence; that is a state and no failure.
//! Opening files for reading is no change. This crate is the only user of `notify`.

mod batch;
mod inotify;
mod source;
mod watcher;

pub use inotify::max_user_watches;
pub use source::{Raw, RawSink, Source, SourceError, StartSource};
pub use watcher::{Event, REPOSITORY, State, Watcher};
