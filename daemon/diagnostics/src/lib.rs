//! Which diagnostics are news, and to whom. Pure: lists go in, reports come out; no IO, no clock, no threads.
//!
//! The model. Of each file the [`Registry`] keeps what every publisher (a language server, or a checker inside one) says
//! of it now. Two reports of one fault are folded into one diagnostic. Its identity is its [`Key`], a hash of severity,
//! code and message; the position is no part of it, so a line that moved is not news, and because files are
//! compared as multisets of keys, a second identical error is.
//!
//! Of each run it keeps a multiset of keys a file: what stood there when the run came, and what the run was told. News
//! to a run is
//!
//! > what stands now, minus what the run knows.
//!
//! A key that vanished is forgotten as soon as a server that has spoken shows it, so that its return is news. Whose
//! doing a diagnostic is (the change's, an earlier one's, another run's, nobody's) decides only under which name it is
//! told. What a run was told is remembered when the text was delivered and not before: a report comes with a
//! [`Ticket`].
//!
//! ```
//! use ccd_diagnostics::{Cause, Diagnostic, Level, Limits, Position, Publish, Range, Reads, Registry, Severity, Written};
//! use std::path::Path;
//!
//! let (root, path) = (Path::new("/p"), Path::new("/p/a.rs"));
//! let error = |line, message: &str| Diagnostic {
//!     severity: Severity::Error,
//!     code: None,
//!     source: Some("rustc".to_owned()),
//!     message: message.to_owned(),
//!     range: Range { start: Position { line, column: 1 }, end: Position { line, column: 2 } },
//!     related: Vec::new(),
//! };
//! let mut registry = Registry::new(Limits::default());
//! registry.note_baseline("server", path, vec![error(3, "old")]);
//! let written = Written { path: path.to_owned(), lines: vec![(1, 1)], made: false };
//! let change = registry.begin("run", root, vec![written]);
//! registry.publish(Publish {
//!     publisher: "server",
//!     path,
//!     version: Some(2),
//!     items: vec![error(1, "made"), error(4, "old")],
//!     cause: Cause::Change(change.id()),
//!     reads: Reads::Text,
//! });
//! let (report, ticket) = registry.report(&change, Level::Warnings, Vec::new());
//! assert_eq!(report.new[0].diagnostic.message, "made");
//! registry.delivered(ticket);
//! assert!(registry.report(&change, Level::Warnings, Vec::new()).0.new.is_empty());
//! ```

mod diagnostic;
mod fold;
mod present;
mod registry;
mod report;
mod run;
mod tally;
mod tell;

pub use diagnostic::{Diagnostic, Key, Level, Position, Range, Related, Severity};
pub use registry::{Cause, Change, ChangeId, Limits, Publish, Reads, Registry, RunSummary, Written};
pub use report::{Attributed, Baseline, Caps, Remembered, Report, Server, ServerState, State, Told};
pub use tell::Ticket;
