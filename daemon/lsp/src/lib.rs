//! Language servers: which there are, whether they run, their processes, and what they say of a change.
//!
//! # The model
//!
//! * [`catalogue`] has a row for each server. A [`Checkout`] and a file make a [`Claim`]: the server, its root, and whether
//!   it is available: a root marker AND a program AND the program ran. [`Pool::serving`] is the one function from a file
//!   to its servers.
//! * The [`Pool`] has one process for each [`Key`] (server, root, program with declared variables). It starts with the
//!   first change of a file that it claims; many first requests start one.
//! * A process is a session of two tasks. The *reader* takes what comes, answers every question of the server at once, and
//!   puts every list of diagnostics into the registry as it comes. The *desk* sends, in order: for a change the old text
//!   where the server has not seen it, then all new texts, then that they were saved. It waits for the list of an old text
//!   for a bounded time, and for the answer to a change not at all: each change has a task of its own that does.
//! * A write calls [`Pool::about_to_change`] before it, [`Pool::committed`] after it, and [`Pending::wait`] for its report.
//!   A write never fails because of a server, and waits no longer than it says.
//!
//! # How a server is done with a change
//!
//! | it | done when | |
//! |---|---|---|
//! | passes requests on to tsserver | both lists of every file were answered | settled |
//! | is asked for lists | it answered for every file; one with a checker: and a run that began after the save has ended | settled |
//! | pushes lists with versions | the version of every file, or a later one, came | settled |
//! | pushes lists without | one came after the text, then nothing for 300 ms | settled |
//! | pushes nothing when nothing changed | a question behind the text was answered, then nothing for 1 s | assumed |
//!
//! What has no answer in time is `timed_out`, which is not clean; it comes with the next report of the same run.
//!
//! This crate writes no files and knows neither the graph nor the wire of our own clients.

pub mod catalogue;
mod client;
mod desk;
mod detect;
mod documents;
mod lists;
mod pool;
mod position;
mod root;
mod session;
mod settle;
mod uri;
mod write;

pub use client::RequestError;
pub use detect::{Checkout, Claim, Found, Reason, Unavailable};
pub use documents::OnDisk;
pub use pool::{Key, Pool, ServerStatus, Settings, StoppedServer};
pub use position::Encoding;
pub use session::Phase;
pub use write::{Changed, Outcome, Pending};
