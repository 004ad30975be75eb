//! The code graph: what is here, and what depends on it.
mod codec;
mod extract;
mod facts;
mod names;
mod stub;
mod view;
pub use stub::{Graph, Shared};
pub use view::*;
