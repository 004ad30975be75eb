//! Structural search over a workspace: which files, on all cores, until a moment, and what is kept of it for further pages.
//!
//! The engine is `ccd_structural`, which knows one file at a time; the files are seen through `ccd_corpus`, as the graph
//! sees them. Nothing here speaks the wire: `crate::api::ast` does.

mod crew;
mod find;
mod kept;
mod scope;

use ccd_grammars::LanguageId;
use ccd_structural::{Query, QueryError, Spec};

pub(crate) use crew::{Bounds, each};
pub(crate) use find::{Counted, Place, Readings, count, first_named, is_of_another, page, parse_limits};
pub(crate) use kept::{Kept, KeptFile, Results};
pub(crate) use scope::{Scope, ScopeError, Within, scope};

/// A spec, compiled for each grammar of a language; `typescript` has two.
#[derive(Debug)]
pub(crate) struct Compiled {
    grammars: Vec<(LanguageId, Query)>,
    /// Grammars that cannot read it.
    pub(crate) unable: Vec<(LanguageId, QueryError)>,
}

impl Compiled {
    /// Compiles; an error only if no grammar can read it.
    pub(crate) fn new(languages: &[LanguageId], spec: &Spec) -> Result<Self, QueryError> {
        let mut compiled = Self { grammars: Vec::new(), unable: Vec::new() };
        for &language in languages {
            match Query::new(language, spec) {
                Ok(query) => compiled.grammars.push((language, query)),
                Err(error) => compiled.unable.push((language, error)),
            }
        }
        if compiled.grammars.is_empty() && !compiled.unable.is_empty() {
            return Err(compiled.unable.swap_remove(0).1);
        }
        Ok(compiled)
    }

    /// Every grammar with its query.
    pub(crate) fn queries(&self) -> impl Iterator<Item = (LanguageId, &Query)> {
        self.grammars.iter().map(|(language, query)| (*language, query))
    }

    /// The query for files of a grammar.
    pub(crate) fn query(&self, language: LanguageId) -> Option<&Query> {
        self.grammars.iter().find(|(known, _)| *known == language).map(|(_, query)| query)
    }
}
