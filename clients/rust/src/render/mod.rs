//! Every result as text, for a person or a model.
//!
//! Deterministic and relative to the root; one thing a line, best first, `path:line:col kind name`;
//! at the end totals, the cursor, and what the answer does not cover. Never more bytes than the
//! budget, cut at a line end, and a cut is said. Names and source come from a repository, so control
//! characters in them are shown and never sent to the terminal.

mod ast;
mod daemon;
mod edit;
mod error;
mod graph;
mod page;
mod refusal;
mod workspace;

pub use ast::{explain, grep, resolve, stage, staged};
pub use daemon::{doctor, methods, metrics, retire, status};
pub use edit::{edit, grammar, outcome};
pub use error::error;
pub use graph::{Direction, digest, edges, impact, index, outline, paths, search, symbol};
pub use page::{clean, clean_text};
pub use workspace::{close, list, open, read, trust, trusted, workspace};

/// How much text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The most bytes of text.
    pub max_bytes: usize,
}

impl Options {
    /// The most that can be asked for.
    pub const CAP: usize = 64 * 1024;

    /// `max_bytes`, within what a footer needs and [`Self::CAP`].
    pub fn with_max_bytes(max_bytes: usize) -> Self {
        Self { max_bytes: max_bytes.clamp(1024, Self::CAP) }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self { max_bytes: 8 * 1024 }
    }
}
