//! The language of patches, for a model that is held to a grammar.

/// A Lark grammar. It accepts what a model should write; [`parse`](crate::parse) forgives more, and refuses an update
/// without a change, which the grammar cannot say briefly.
pub const GRAMMAR: &str = include_str!("apply_patch.lark");

/// What a freeform tool says of itself beside the grammar.
pub const DESCRIPTION: &str = "Edits files: adds, deletes, updates and moves them, all or nothing. The input is the raw text of \
                               one patch, not JSON. An update shows a few unchanged lines around each change; a line behind \
                               `@@ ` narrows down where it is. Paths are relative to the working directory.";
