//! The languages: one row of [`LANGUAGES`] and one folder under `languages/` each.
//!
//! A folder holds tree-sitter queries whose captures are the vocabulary of [`Role`]: `symbols.scm` (definitions, the
//! scopes and local names around them), `calls.scm` (call sites, base types) and `imports.scm`. They are joined to one
//! query, compiled once, and run in one pass, so a language is added without code.
//!
//! This crate owns tree-sitter. Trees are walked by cursors and query cursors alone: a file of nested parentheses
//! overflows a thread's stack under any recursion, and climbing by `parent()` is quadratic.

mod parse;
mod query;
mod scaffold;
mod syntax;
mod table;

pub use parse::{ParseError, ParseLimits, depth_exceeds, parse};
pub use query::{Captured, DefinitionRole, Role, capture};
pub use scaffold::{Rung, Scaffold, scaffold};
pub use syntax::{PARSE_LIMITS, Syntax, SyntaxNode};
pub use table::{LANGUAGES, Language, LanguageId, grammar_of, language_of, language_of_path};
pub use tree_sitter::{Node, Point, Tree, TreeCursor};
