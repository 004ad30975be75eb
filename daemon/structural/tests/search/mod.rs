//! Searching a text.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

use ccd_grammars::{LanguageId, PARSE_LIMITS, Syntax};
use ccd_structural::{FindError, Found, Query, Spec};

/// A spec of a pattern alone.
pub(crate) fn pattern(pattern: &str) -> Spec {
    Spec { pattern: Some(pattern.to_owned()), ..Spec::default() }
}

/// Searches a text.
pub(crate) fn search(language: LanguageId, spec: &Spec, text: &str) -> Result<Found, FindError> {
    let query = Query::new(language, spec).unwrap_or_else(|error| panic!("{spec:?}: {error:?}"));
    let syntax = Syntax::parse(language, text.as_bytes(), PARSE_LIMITS, &|| false).unwrap();
    query.find(query.searched(), &syntax, text.as_bytes(), &|| false)
}

/// The texts that are found.
pub(crate) fn found<'t>(language: LanguageId, spec: &Spec, text: &'t str) -> Vec<&'t str> {
    search(language, spec, text).unwrap().matches.into_iter().map(|found| &text[found.range]).collect()
}
