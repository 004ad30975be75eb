//! The code graph: what is here, and what depends on it.
//!
//! Two passes. The first ([`extract`]) reads each file by itself into facts: definitions, scopes, imports, sites with the
//! expression that is called. They are kept by content hash, so the same bytes are parsed once, whatever workspace,
//! branch or worktree they lie in. The second ([`resolve`]) joins the facts of all files to edges, each with its site
//! and with how sure it is. The result lives in memory ([`model`]) and answers from there; the store holds what saves
//! both passes at the next start, and nothing that they could not make again.
//!
//! The graph knows no types. It says `exact` only where scopes and import paths lead to one definition, and keeps what
//! it cannot decide as a `candidate` with all that it may mean: a name is never silently without callers.
//!
//! This crate knows nothing of JSON, sockets or watchers: it is given a root and a cache folder, and asked.

mod codec;
mod edges;
mod engine;
mod extract;
mod facts;
mod layout;
mod model;
mod names;
mod query;
mod resolve;
mod shared;
mod store;
mod sums;
mod view;

pub use engine::Graph;
pub use shared::Shared;
pub use view::*;
