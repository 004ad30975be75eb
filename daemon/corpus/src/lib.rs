//! All files of a workspace, seen one way.
//!
//! The graph and structural search walk, read and skip files through this crate, so that they agree on what a
//! workspace holds: `.gitignore` counts with and without a `.git`; hidden entries, `node_modules`, cache folders
//! (`CACHEDIR.TAG`), virtual environments and `__pycache__` are left out; links are not followed; what is left out
//! is counted by reason. Folders are listed in the order of their names' bytes, so the same tree gives the same walk.

mod cancel;
mod git;
mod ignored;
mod look;
mod skip;
mod source;
mod trees;
mod walk;

pub use cancel::Cancel;
pub use git::{git_folder, head};
pub use look::{Looked, look};
pub use skip::{Limits, Skipped};
pub use source::{Source, read};
pub use trees::Trees;
pub use walk::{Entry, Walk, WalkError, walk, walk_below};
