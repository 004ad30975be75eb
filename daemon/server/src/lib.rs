//! The daemon: one process a user, one socket, many clients.
//!
//! * `rpc` is the socket: connections, envelopes, the table of methods, events.
//! * `api` is what the methods do, one file a namespace.
//! * `workspaces` are the open roots with their graphs, index runs and watches.
//! * `search` is structural search over the files of a workspace.
//! * `trust` is which checkouts a person has trusted.
//! * `lifecycle` is everything from exec to exit.
//! * `config`, `settings`, `telemetry`, `metrics` and `workers` serve them all.
//!
//! This crate is the only one that knows jsonrpsee and turns the rooms' plain data into the wire's types. It writes
//! nothing but its own lock, socket, log and grants of trust; user files are never written here.

mod api;
pub mod config;
mod connections;
mod daemon;
pub mod lifecycle;
mod metrics;
mod rpc;
mod search;
mod settings;
mod telemetry;
mod trust;
mod workers;
mod workspaces;
