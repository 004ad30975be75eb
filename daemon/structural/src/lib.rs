//! Structural search and rewrite: patterns of code with metavariables, matched against syntax trees.
//!
//! Pure over text and grammars: bytes in, values out. A [`Query`] is a [`Spec`] compiled for one grammar; it finds
//! [`Match`]es in a [`Syntax`](ccd_grammars::Syntax), and a [`Template`] makes new text of them.

mod around;
mod machine;
mod meta;
mod near;
mod print;
mod program;
mod query;
mod reading;
mod render;
mod rewrite;
mod rules;
mod spec;
mod template;

use std::ops::Range;

pub use query::{Query, explain};
pub use rewrite::rewrite;
pub use spec::{Constraint, Filters, Rule, Spec, Stop};
pub use template::Template;

/// A way to read a pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Its name in the table of the language: `statement`, `expression`, …
    pub name: &'static str,
    /// The kind of the node that the pattern is; for a run of siblings those of all, joined by a blank.
    pub kind: String,
}

/// A way to read a pattern that was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Its name.
    pub reading: &'static str,
    /// Why it does not hold; none if it does.
    pub reason: Option<String>,
    /// Where in the pattern, as a byte offset.
    pub at: Option<usize>,
}

/// Why a spec cannot be searched for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// No way to read it holds.
    #[error("{message}")]
    Unparsable {
        /// In a sentence, with the next step.
        message: String,
        /// Every way.
        attempts: Vec<Attempt>,
        /// The best failed parse, as an S-expression.
        tree: String,
    },
    /// A kind, field, selector or reading that there is not.
    #[error("{message}")]
    BadSelector {
        /// In a sentence.
        message: String,
        /// What was given.
        selector: String,
        /// What is like it.
        closest: Vec<String>,
    },
    /// Anything else that is wrong with the spec; the field of the spec that it is about.
    #[error("{message}")]
    Invalid {
        /// `pattern`, `where`, …
        field: &'static str,
        /// In a sentence.
        message: String,
    },
    /// A name that the pattern does not bind.
    #[error("{message}")]
    Unbound {
        /// In a sentence.
        message: String,
        /// The name, without `$`.
        name: String,
        /// Those that it binds.
        bound: Vec<String>,
    },
}

/// A run that a name is bound to: the name; from the first to the last item, none if there is no item; the items.
pub type Run = (String, Option<Range<usize>>, Vec<Range<usize>>);

/// A place that a query found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Its bytes.
    pub range: Range<usize>,
    /// By name, in the order of the pattern.
    pub captures: Vec<(String, Range<usize>)>,
    /// Runs, in the same order.
    pub multi: Vec<Run>,
}

/// What a search of one file found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// By start, then end.
    pub matches: Vec<Match>,
    /// Macro bodies that hold the literals of the pattern and cannot be searched.
    pub macro_bodies: usize,
}

/// How much a search of one file found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Matches.
    pub matches: usize,
    /// As in [`Found`].
    pub macro_bodies: usize,
}

/// Why a search of one file has no result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// The step budget ran out.
    #[error("the step budget of {steps} ran out")]
    Budget {
        /// How many steps there were.
        steps: u64,
    },
    /// The caller's flag is up.
    #[error("cancelled")]
    Cancelled,
}

/// How a pattern is read.
#[derive(Clone, Debug)]
pub struct Explanation {
    /// Every way.
    pub attempts: Vec<Attempt>,
    /// The pattern as it is read, as an S-expression; of the best failed parse if no way holds.
    pub tree: String,
    /// Its metavariables, as written.
    pub metavariables: Vec<String>,
    /// What the caller may want to know.
    pub hints: Vec<String>,
}

/// A file, rewritten.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rewritten {
    /// The new text; equal to the old one if there was no match, or none that changes anything.
    pub text: String,
    /// The matches that were rewritten, in the old text.
    pub sites: Vec<Match>,
    /// Matches inside others, which were left.
    pub nested_skipped: usize,
    /// Comments that are lost, output that matches again, and such.
    pub warnings: Vec<String>,
}

/// Why a file is not rewritten.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RewriteError {
    /// The search failed.
    #[error(transparent)]
    Find(#[from] FindError),
    /// The result has syntax errors that the file did not have, or the match lies in an item that has some.
    #[error("{what}")]
    SyntaxErrors {
        /// 1-based, in the new text.
        line: usize,
        /// In a sentence.
        what: String,
    },
    /// A capture is not one node in the result.
    #[error("{what}")]
    CaptureBrokenApart {
        /// 1-based, in the old text.
        line: usize,
        /// In a sentence.
        what: String,
    },
    /// The result cannot be parsed within its limits.
    #[error(transparent)]
    Parse(#[from] ccd_grammars::ParseError),
}

/// Which of nested matches are rewritten.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Nested {
    /// The outer one; those inside are counted.
    #[default]
    Outermost,
    /// All: those inside first.
    Recurse,
}
