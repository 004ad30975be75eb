//! Text as values: where lines begin, which column a byte stands in, how lines end, which version the bytes are,
//! what differs between two of them.
//!
//! Pure: bytes in, values out. Sources are bytes, not `str`; what is no UTF-8 counts one column a byte and is
//! replaced only in output.

mod diff;
mod lines;
mod version;

pub use diff::{Diff, DiffHunk, diff};
pub use lines::{LineEnding, LineIndex, Place, clip};
pub use version::Version;
