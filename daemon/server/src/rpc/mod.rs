//! The socket: connections, both protocols on it, the envelope, the table of methods, events.
//!
//! `accept` takes a connection and looks at its first byte; `lines` or `http` reads requests and hands each to
//! `dispatch`, which checks the envelope and calls the one `table` of methods. Nothing here knows what a method does.

pub(crate) mod accept;
mod answer;
pub(crate) mod call;
pub(crate) mod dispatch;
mod envelope;
mod http;
mod lines;
pub(crate) mod params;
pub(crate) mod peer;
mod strict;
pub(crate) mod subscriptions;
pub(crate) mod table;

pub(crate) use envelope::MAX_BATCH;
