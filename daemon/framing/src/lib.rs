//! Frames with a `Content-Length`, in and out: what language servers and debug adapters speak.
//!
//! A frame is a header block (`Name: value` lines that end with CRLF, then an empty line) and a body of exactly the
//! announced length, which is one JSON object. [`Decoder`] takes bytes as they come and gives [`Event`]s; [`encode`]
//! makes a frame. Nothing here reads, waits or starts anything: bytes in, values out. The deadline of a frame that does
//! not go on is the reader's matter, and [`Decoder::pending`] tells it whether there is one.
//!
//! What a server prints on its stdout beside the protocol must not end the connection:
//!
//! * **Junk.** Where no header block stands, `content-length:` is looked for in any case and at any offset, for a banner
//!   without a newline sits on the header's own line. A hit counts only if a complete and valid block follows and its body
//!   starts with `{`; else the search goes on one byte further. What was skipped is told as [`Event::Junk`].
//! * **A body that is no JSON object** costs that frame only ([`Event::Dropped`]).
//! * **A block in its place that cannot be believed** (a length that is negative, too large, no number, or two of them) is a
//!   [`ProtocolError`]: nobody knows where the next frame begins, and the connection must be closed.
//!
//! Memory follows what has arrived, never what was announced: at most one frame, one header block, and the chunk that was
//! pushed last.

mod decoder;
mod encode;
mod header;
mod message;

pub use decoder::{Decoder, Event, Limits, Pending};
pub use encode::{encode, encode_value};
pub use header::ProtocolError;
pub use message::Message;
