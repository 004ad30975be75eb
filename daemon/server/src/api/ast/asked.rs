//! What is asked: from parameters to a spec, its grammars, and where to look. No file is touched.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use ccd_grammars::{LANGUAGES, LanguageId};
use ccd_protocol::{RpcError, ast as wire};
use ccd_structural::{Constraint, Filters, Rule, Spec, Stop};
use globset::GlobMatcher;

use crate::{
    api::refusal::language_unsupported,
    rpc::params::wrong,
    workspaces::{Where, place::absolute},
};

/// Bytes of a pattern.
const PATTERN: usize = 16 << 10;
/// Files and folders of one call.
const PATHS: usize = 1000;

/// A search, as it was asked for.
pub(super) struct Asked {
    pub(super) spec: Spec,
    pub(super) languages: Vec<LanguageId>,
    pub(super) glob: Option<GlobMatcher>,
    /// Absolute.
    pub(super) paths: Option<Vec<String>>,
    pub(super) at: Where,
}

/// The fields of `ast.grep` and `ast.edit` that are the same.
macro_rules! asked {
    ($params:expr, $relaxed:expr) => {{
        let params = &$params;
        let filters = $crate::api::ast::asked::Wire {
            captures: params.r#where.as_ref(),
            inside: params.inside.as_ref(),
            has: params.has.as_ref(),
            follows: params.follows.as_ref(),
            precedes: params.precedes.as_ref(),
            not: params.not.as_ref(),
        };
        let spec = ccd_structural::Spec {
            pattern: params.pattern.clone(),
            kind: params.kind.clone(),
            reading: params.reading.clone(),
            context: params.context.clone(),
            selector: params.selector.clone(),
            relaxed: $relaxed,
            filters: $crate::api::ast::asked::filters(filters),
        };
        $crate::api::ast::asked::Asked::new(
            spec,
            params.language.as_deref(),
            params.path_glob.as_deref(),
            params.paths.clone(),
            params.workspace.clone(),
        )
    }};
}
pub(super) use asked;

/// The filters of a match or of a rule, as they stand on the wire.
pub(super) struct Wire<'w> {
    pub(super) captures: Option<&'w BTreeMap<String, wire::Constraint>>,
    pub(super) inside: Option<&'w wire::Rule>,
    pub(super) has: Option<&'w wire::Rule>,
    pub(super) follows: Option<&'w wire::Rule>,
    pub(super) precedes: Option<&'w wire::Rule>,
    pub(super) not: Option<&'w wire::Rule>,
}

/// From the wire. Reading JSON bounds how deep rules nest, so this may recurse.
pub(super) fn filters(wire: Wire<'_>) -> Filters {
    let rule = |given: Option<&wire::Rule>| given.map(|given| Box::new(plain(given)));
    // `$X` is what a caller may write for X.
    let name = |name: &String| name.trim_start_matches('$').to_owned();
    Filters {
        captures: wire.captures.into_iter().flatten().map(|(given, what)| (name(given), constraint(what))).collect(),
        inside: rule(wire.inside),
        has: rule(wire.has),
        follows: rule(wire.follows),
        precedes: rule(wire.precedes),
        not: rule(wire.not),
    }
}

fn plain(wire: &wire::Rule) -> Rule {
    Rule {
        pattern: wire.pattern.clone(),
        kind: wire.kind.clone(),
        field: wire.field.clone(),
        stop: match &wire.stop {
            None | Some(wire::Stop::Neighbour) => Stop::Neighbour,
            Some(wire::Stop::End) => Stop::End,
            Some(wire::Stop::Kind(kind)) => Stop::Kind(kind.clone()),
        },
        filters: filters(Wire {
            captures: wire.r#where.as_ref(),
            inside: wire.inside.as_deref(),
            has: wire.has.as_deref(),
            follows: wire.follows.as_deref(),
            precedes: wire.precedes.as_deref(),
            not: wire.not.as_deref(),
        }),
    }
}

fn constraint(wire: &wire::Constraint) -> Constraint {
    Constraint {
        regex: wire.regex.clone(),
        kind: wire.kind.clone(),
        equals: wire.equals.clone(),
        not: wire.not.as_deref().map(|not| Box::new(constraint(not))),
    }
}

impl Asked {
    pub(super) fn new(
        spec: Spec,
        language: Option<&str>,
        path_glob: Option<&str>,
        paths: Option<Vec<String>>,
        workspace: Option<String>,
    ) -> Result<Self, RpcError> {
        check(&spec)?;
        if paths.as_ref().is_some_and(Vec::is_empty) {
            return Err(wrong("paths", "at least one path; leave it out for the whole workspace"));
        }
        if paths.as_ref().is_some_and(|paths| paths.len() > PATHS) {
            return Err(wrong("paths", format!("at most {PATHS} paths")));
        }
        for path in paths.iter().flatten() {
            absolute("paths", path)?;
        }
        let glob = match path_glob {
            None => None,
            Some(glob) => Some(
                globset::Glob::new(glob)
                    .map_err(|error| wrong("path_glob", format!("a glob: {}", error.kind())))?
                    .compile_matcher(),
            ),
        };
        let languages = match language {
            Some(name) => grammars(name)?,
            None => inferred(path_glob, paths.as_deref())?,
        };
        let path = paths.as_ref().and_then(|paths| paths.first()).filter(|_| workspace.is_none());
        let at = Where { path: path.map(|path| ("paths", path.clone())), workspace };
        Ok(Self { spec, languages, glob, paths, at })
    }
}

fn check(spec: &Spec) -> Result<(), RpcError> {
    for (field, text) in [("pattern", &spec.pattern), ("context", &spec.context)] {
        bounded(field, text.as_deref())?;
    }
    match (&spec.context, &spec.selector) {
        (Some(_), None) => return Err(wrong("selector", "with `context`: the kind of the node in it that is the pattern")),
        (None, Some(_)) => return Err(wrong("context", "with `selector`: the code in which the pattern stands")),
        _ => {}
    }
    match (&spec.pattern, &spec.kind, &spec.context) {
        (None, None, None) => Err(wrong("pattern", "a pattern; or give `kind`, or `context` with `selector`")),
        (Some(_), Some(_), _) | (_, Some(_), Some(_)) => {
            Err(wrong("kind", "left out where there is a pattern; `has` and `inside` narrow it"))
        }
        (None, Some(_), None) if spec.reading.is_some() => {
            Err(wrong("reading", "left out with `kind`: there is no pattern to read"))
        }
        _ => Ok(()),
    }
}

/// A pattern that can be one.
pub(super) fn bounded(field: &str, text: Option<&str>) -> Result<(), RpcError> {
    match text {
        Some(text) if text.trim().is_empty() => Err(wrong(field, "code, not an empty text")),
        Some(text) if text.len() > PATTERN => Err(wrong(field, format!("at most {PATTERN} bytes"))),
        _ => Ok(()),
    }
}

/// The grammars of a language. TypeScript has one for files with JSX, and who says `typescript` means both.
pub(super) fn grammars(name: &str) -> Result<Vec<LanguageId>, RpcError> {
    match LanguageId::by_name(name) {
        Some(LanguageId::TYPESCRIPT) => Ok(vec![LanguageId::TYPESCRIPT, LanguageId::TSX]),
        Some(language) => Ok(vec![language]),
        None => Err(language_unsupported(name, format!("There is no grammar for `{}`.", ccd_text::clip(name.as_bytes(), 100)))),
    }
}

/// The language by the extensions that are named.
fn inferred(glob: Option<&str>, paths: Option<&[String]>) -> Result<Vec<LanguageId>, RpcError> {
    let mut names: Vec<String> = glob.map(alternatives).unwrap_or_default();
    names.extend(paths.unwrap_or_default().iter().cloned());
    let mut found: Vec<LanguageId> = names.iter().filter_map(|name| ccd_grammars::language_of_path(Path::new(name))).collect();
    found.sort_unstable();
    found.dedup();
    let all = || LANGUAGES.iter().map(|row| row.name).collect::<Vec<_>>().join(", ");
    match found.as_slice() {
        [] => Err(wrong(
            "language",
            format!("one of {}; or a `path_glob` or `paths` whose extension says it, as in `**/*.rs`", all()),
        )),
        [_] | [LanguageId::TYPESCRIPT, LanguageId::TSX] => Ok(found),
        several => {
            let names: Vec<&str> = several.iter().map(|language| language.name()).collect();
            Err(wrong("language", format!("one language a call; what is named here is {}", names.join(" and "))))
        }
    }
}

/// The last part of a glob, once for each alternative in braces: `*.{ts,tsx}` is `*.ts` and `*.tsx`.
fn alternatives(glob: &str) -> Vec<String> {
    let last = glob.rsplit('/').next().unwrap_or(glob);
    // A star is a name as well as any other.
    let name = |text: &str| text.replace(['*', '?'], "x");
    match last.split_once('{').and_then(|(before, rest)| Some((before, rest.split_once('}')?))) {
        Some((before, (inner, after))) => inner.split(',').map(|one| name(&format!("{before}{one}{after}"))).collect(),
        None => vec![name(last)],
    }
}

/// Paths below a root, from absolute ones. Blocks.
pub(super) fn below(subject: &crate::api::asking::Subject, paths: Option<&[String]>) -> Result<Option<Vec<PathBuf>>, RpcError> {
    paths.map(|paths| paths.iter().map(|path| crate::api::symbol::rel_of(subject, "paths", path)).collect()).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(glob: Option<&str>, paths: &[&str], expected: &str) {
        let paths: Vec<String> = paths.iter().map(|path| (*path).to_owned()).collect();
        let said = match inferred(glob, (!paths.is_empty()).then_some(&paths)) {
            Ok(languages) => languages.iter().map(|language| language.name()).collect::<Vec<_>>().join(" "),
            Err(error) => error.data.fields["field"].as_str().unwrap_or_default().to_owned(),
        };
        assert_eq!(said, expected, "{glob:?} {paths:?}");
    }

    #[test]
    fn the_language_follows_from_extensions() {
        check(Some("**/*.rs"), &[], "rust");
        check(Some("src/**/*.{ts,tsx}"), &[], "typescript tsx");
        check(Some("*.tsx"), &[], "tsx");
        check(Some("*.{js,jsx,mjs}"), &[], "javascript");
        check(None, &["/p/a.go", "/p/folder"], "go");
        check(None, &["/p/folder"], "language");
        check(None, &["/p/a.go", "/p/a.rs"], "language");
        check(Some("src/**"), &[], "language");
        check(None, &[], "language");
    }
}
