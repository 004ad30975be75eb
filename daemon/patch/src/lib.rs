//! Patches in the format of `apply_patch`: read, located, planned, and explained where they do not fit.
//!
//! ```text
//! parse     the text          -> Patch          or the first fault of syntax
//! apply     hunks + bytes     -> Updated        or every hunk that is not found, and why
//! plan      Patch + a Tree    -> Plan           the whole patch folded into final bodies, or all that is wrong
//! brief     failures within a budget of bytes
//! amend     the text + hunks  -> the text with only these hunks replaced
//! ```
//!
//! Pure: nothing here reads or writes a file. What a path leads to is asked of a [`Tree`], which confines it, and what
//! is to be written is a value. A patch is planned as a whole before anything of it can be written.
//!
//! ```
//! use ccd_patch::{Change, MemoryTree, PlanError, parse, plan};
//!
//! let text = "*** Begin Patch\n*** Update File: greet.py\n@@ def greet():\n-    print('hi')\n+    print('hello')\n*** End Patch\n";
//! let patch = parse(text).expect("it is well formed");
//!
//! let mut tree = MemoryTree::default();
//! tree.file("greet.py", "def greet():\n\tprint('hi')\n");
//! let plan = plan(&patch, &mut tree).expect("white space at both ends is passed over");
//! assert_eq!(plan.summary, "Success. Updated the following files:\nM greet.py\n");
//! assert!(matches!(&plan.targets[0].change, Change::Write { body, .. } if **body == *b"def greet():\n    print('hello')\n"));
//!
//! tree.file("greet.py", "def greet():\n    print('ho')\n");
//! let Err(PlanError::Refused { failures, .. }) = ccd_patch::plan(&patch, &mut tree) else { panic!("line 2 differs") };
//! assert_eq!(
//!     failures[0].to_string(),
//!     "hunk 1 of greet.py: Failed to find expected lines: line 2 is `    print('ho')`, not `    print('hi')`"
//! );
//! ```

mod amend;
mod apply;
mod brief;
mod explain;
mod fold;
mod grammar;
mod likeness;
mod lines;
mod memory;
mod parse;
mod plan;
mod seek;
mod syntax;
mod tree;

pub use amend::{AmendError, Replacement, amend};
pub use apply::{Match, UpdateError, Updated, apply};
pub use brief::brief;
pub use explain::{Difference, DifferenceKind, LONGEST, Miss, Nearby, Sought, visible};
pub use grammar::{DESCRIPTION, GRAMMAR};
pub use memory::{MemoryTree, Refused};
pub use parse::parse;
pub use plan::{Change, Done, Failure, Fault, HunkMatch, Note, NoteKind, Op, Plan, PlanError, Target, Was, Why, plan};
pub use seek::Pass;
pub use syntax::{Action, Context, Hunk, HunkLine, Operation, Patch, SyntaxError};
pub use tree::{Kind, Located, Tree};
