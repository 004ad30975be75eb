//! How a fragment of code is read: the file `scaffold.toml` of a language.

use std::sync::OnceLock;

use serde::Deserialize;

use crate::LanguageId;

/// What a pattern of a language is made with.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scaffold {
    /// What a metavariable's `$` becomes, so that an identifier stands there.
    pub placeholder: String,
    /// Whether `$` is a character of identifiers.
    #[serde(default)]
    pub dollar: bool,
    /// Words that no identifier can be.
    pub reserved: Vec<String>,
    /// Kinds of leaves that are identifiers, where a reserved word can only stand by mistake of the parser.
    pub names: Vec<String>,
    /// Kinds that hold several things and here and there only one: what holds one is no more than that one.
    #[serde(default)]
    pub thin: Vec<String>,
    /// Kinds whose tokens are not parsed: bodies of macros.
    #[serde(default)]
    pub opaque: Vec<String>,
    /// Kinds that go on with the expression before them, where the grammar has no node for both.
    #[serde(default)]
    pub pieces: Vec<String>,
    /// Tokens that are whole expressions or patterns, and count as nodes of their own.
    #[serde(default)]
    pub operands: Vec<String>,
    /// Tokens that belong to what stands before them in a list, and end nothing.
    #[serde(default)]
    pub glue: Vec<String>,
    /// Groups of kinds that differ only in how they are written: quotes, parameters with and without types.
    #[serde(default)]
    pub alike: Vec<Vec<String>>,
    /// Other spellings of a metavariable, `%` for its name, for places where no identifier can stand.
    #[serde(default)]
    pub holes: Vec<String>,
    /// The spelling of a metavariable in the text between tags.
    #[serde(default)]
    pub prose: Option<String>,
    /// Ways to read a fragment, in the order in which they are tried.
    #[serde(rename = "reading")]
    pub readings: Vec<Rung>,
}

/// A way to read a fragment: what stands around it in a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rung {
    /// Its name on the wire.
    pub name: String,
    /// What stands before.
    pub before: String,
    /// What stands after.
    pub after: String,
    /// A token that the fragment may lack at its end.
    pub terminator: Option<String>,
    /// Whether several in a row are a pattern.
    #[serde(default)]
    pub sequence: bool,
    /// What is of these kinds is an expression first, if it can be one.
    #[serde(default)]
    pub last: Vec<String>,
    /// What all lines of the fragment are indented by.
    #[serde(default)]
    pub indent: String,
}

/// The scaffold of a language.
pub fn scaffold(language: LanguageId) -> &'static Scaffold {
    static SCAFFOLDS: [OnceLock<Scaffold>; 16] = [const { OnceLock::new() }; 16];
    SCAFFOLDS[usize::from(language.number())].get_or_init(|| {
        let row = language.row();
        toml::from_str(row.scaffold).unwrap_or_else(|error| panic!("scaffold of {}: {error}", row.name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PARSE_LIMITS, Syntax};

    #[test]
    fn every_scaffold_is_code_and_names_kinds_of_its_grammar() {
        for language in LanguageId::all() {
            let scaffold = scaffold(language);
            let kinds = [&scaffold.names, &scaffold.thin, &scaffold.opaque, &scaffold.pieces];
            for kind in kinds.into_iter().flatten().chain(scaffold.alike.iter().flatten()) {
                assert!(language.kind_id(kind, true).is_some(), "{}: there is no {kind}", language.name());
            }
            assert_eq!(scaffold.readings[0].name, "statement", "{}", language.name());
            for token in scaffold.glue.iter().chain(&scaffold.operands) {
                assert!(language.kind_id(token, false).is_some(), "{}: there is no {token}", language.name());
            }
            let names: Vec<_> = scaffold.readings.iter().map(|rung| &rung.name).collect();
            for (at, name) in names.iter().enumerate() {
                assert!(!names[..at].contains(name), "{}: {name} twice", language.name());
            }
            let text = format!("{}x", scaffold.placeholder);
            for rung in scaffold.readings.iter().filter(|rung| ["statement", "expression"].contains(&rung.name.as_str())) {
                let end = if rung.name == "statement" { rung.terminator.as_deref().unwrap_or_default() } else { "" };
                let file = format!("{}{text}{end}{}", rung.before, rung.after);
                let syntax = Syntax::parse(language, file.as_bytes(), PARSE_LIMITS, &|| false).unwrap();
                assert!(!syntax.has_errors, "{}: {file}", language.name());
            }
        }
    }
}
