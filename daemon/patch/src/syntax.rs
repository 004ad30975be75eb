//! What a patch is made of, and what is wrong with a text that is none.

use std::ops::Range;

/// A patch, as read. All texts are slices of the text it was read from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch<'t> {
    /// The name in `*** Environment ID: `; carried, never interpreted.
    pub environment: Option<&'t str>,
    /// In the order of the patch. None at all parses; planning refuses it.
    pub operations: Vec<Operation<'t>>,
}

impl<'t> Patch<'t> {
    /// All hunks in the order of their index.
    pub fn hunks(&self) -> impl Iterator<Item = &Hunk<'t>> {
        self.operations.iter().flat_map(|operation| match &operation.action {
            Action::Update { hunks, .. } => hunks.as_slice(),
            Action::Add { .. } | Action::Delete => &[],
        })
    }
}

/// One section: `*** Add File: `, `*** Delete File: ` or `*** Update File: `.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation<'t> {
    /// Of its header in the patch; the begin marker is line 1.
    pub line: usize,
    /// As written.
    pub path: &'t str,
    /// What is to happen to it.
    pub action: Action<'t>,
}

/// What a section asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<'t> {
    /// A file of these lines, each ended by a line feed.
    Add {
        /// Without their `+`.
        lines: Vec<&'t str>,
    },
    /// The file goes.
    Delete,
    /// The file changes, and perhaps its name.
    Update {
        /// As written.
        move_to: Option<&'t str>,
        /// At least one, each with at least one line.
        hunks: Vec<Hunk<'t>>,
    },
}

/// One change of an update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk<'t> {
    /// From 1, over all hunks of the patch.
    pub index: usize,
    /// Of its first line in the patch, its `@@` if it has one.
    pub line: usize,
    /// The texts behind `@@`, sought one after another before the lines.
    pub contexts: Vec<Context<'t>>,
    /// What to find and what to put there.
    pub lines: Vec<HunkLine<'t>>,
    /// The last of the old lines must be the last of the file.
    pub end_of_file: bool,
    /// The bytes of the hunk in the text of the patch, from its first line to the end of its last, without that line's end.
    pub span: Range<usize>,
    /// Where in `span` its `@@` lines end.
    pub body: usize,
    /// The line in the patch of `lines[0]`.
    pub lines_from: usize,
}

/// The text behind one `@@`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context<'t> {
    /// In the patch.
    pub line: usize,
    /// Without the `@@ `.
    pub text: &'t str,
}

/// A line of a hunk, without its first character.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HunkLine<'t> {
    /// Stays, with the bytes that the file has.
    Context(&'t str),
    /// Goes.
    Removed(&'t str),
    /// Comes.
    Added(&'t str),
}

/// Why a text is no patch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SyntaxError {
    /// Of the patch; the begin marker is line 1.
    pub line: usize,
    /// The offending line, cut to a few hundred bytes.
    pub excerpt: String,
    /// What could stand there.
    pub expected: &'static str,
    /// The whole, for a reader.
    pub message: String,
}
