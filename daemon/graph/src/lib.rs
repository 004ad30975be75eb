//! The code graph: what is here, and what depends on it.
mod codec;
mod edges;
mod extract;
mod facts;
mod layout;
mod model;
mod names;
mod resolve;
mod stub;
mod view;
pub use stub::{Graph, Shared};
pub use view::*;
