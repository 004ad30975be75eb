//! How programs reach ccd.
//!
//! ```text
//! Client            typed calls, one reconnect for reads, upgrade of an old idle daemon
//!   Connection      one socket: peer checked, hello said, jsonrpsee's async client over it
//!     transport     one JSON value a line; reads the ids that jsonrpsee hides
//!     events        one bounded queue a subscription
//!   edit            edits whose answer was lost: what became of them
//!   autostart       finds `ccd` and starts it; the only place that starts a process
//! paths             where socket, logs, cache and configuration are
//! place             from what a person types to absolute paths, roots and symbols
//! envelope          what models put around a patch, taken off by a closed table
//! freeform          a patch that streams in piece by piece, whole or refused
//! tool              the definition of a freeform tool for patches
//! render            every result as text for a person or a model, within a budget of bytes
//! ```
//!
//! Every failure is a [`ClientError`]: an error of the daemon, or one of the four kinds that only a
//! client can know (`not_running`, `sandbox_denied`, `start_failed`, `connection_lost`).

mod autostart;
mod build;
mod calls;
mod client;
mod connection;
mod edit;
pub mod envelope;
mod error;
mod events;
pub mod freeform;
pub mod lock;
pub mod paths;
pub mod place;
pub mod render;
pub mod tool;
mod transport;

pub use autostart::{find_daemon, log_tail};
pub use build::{BUILD, is_newer};
pub use client::{Client, ConnectOptions};
pub use edit::new_txn_id;
pub use error::ClientError;
pub use events::EventStream;
pub use paths::Paths;
