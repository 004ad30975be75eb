//! The contract of the socket, protocol 1.
//!
//! Every method is a type that implements [`Method`]: its wire name, how it runs, its deadline, its
//! parameters and its result. [`METHODS`] lists the methods that are built; any other name is
//! answered `method_not_found`. `API.md` and `schema.json` beside this crate are generated from
//! these types (see [`reference`]), so a type that changes without them fails a test.
//!
//! Conventions of the wire:
//! * `params` and `result` are objects; absent optional fields are omitted, never `null`.
//! * Paths are absolute UTF-8; a result gives `path` (absolute) and `rel` (to the workspace root).
//! * Lines and columns are 1-based; columns count Unicode scalar values. Ends are exclusive.
//! * Durations are in milliseconds (`_ms`), seconds (`_s`) or microseconds (`_us`); sizes in bytes.

#![warn(missing_docs)]

pub mod ast;
pub mod daemon;
pub mod edit;
pub mod error;
pub mod events;
pub mod graph;
mod method;
pub mod reference;
mod socket;
mod text;
pub mod workspace;

pub use error::{ErrorData, ErrorKind, RpcError};
pub use method::{CallParams, Deadline, Kind, METHODS, Method, MethodInfo};
pub use socket::{SOCKET_NAME, SOCKET_PATH_MAX, short_socket_name};
pub use text::{Position, PositionOrName, Range, TextPosition};

/// The number of the protocol. It grows only when something is not compatible; the socket's name holds it.
pub const PROTOCOL: u32 = 1;

/// A JSON object.
pub type Object = serde_json::Map<String, serde_json::Value>;
