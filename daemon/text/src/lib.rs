//! Text as values: where lines begin, which column a byte stands in, how lines end, which version the bytes are.
//!
//! Pure: bytes in, values out. Sources are bytes, not `str`; what is no UTF-8 counts one column a byte and is
//! replaced only in output.

mod lines;
mod version;

pub use lines::{LineEnding, LineIndex, Place, clip};
pub use version::Version;
