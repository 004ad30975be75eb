//! The code graph: what is here, and what depends on it.
mod stub;
mod view;
pub use stub::{Graph, Shared};
pub use view::*;
