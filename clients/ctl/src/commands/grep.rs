//! `ccctl grep`, and what it has in common with `ccctl rewrite`.

use std::collections::BTreeMap;

use ccd_client::render;
use ccd_protocol::ast::{Constraint, Grep, GrepParams, Rule, Stop};

use crate::{
    args::Page,
    edits::usage,
    outcome::{Exit, Failure},
    session::Session,
};

/// What is looked for and where.
#[derive(Debug, clap::Args)]
pub(crate) struct Shape {
    /// The language: rust, go, typescript (.ts and .tsx), tsx, javascript, python, dart, c, cpp, java [default: by the extension of GLOB or PATH].
    #[arg(long, visible_alias = "language", value_name = "LANGUAGE")]
    pub(crate) lang: Option<String>,
    /// Only files whose path, relative to the root, matches.
    #[arg(long, value_name = "GLOB")]
    pub(crate) glob: Option<String>,
    /// What a captured piece must match; may be given several times.
    #[arg(long = "where", value_name = "NAME=REGEX", value_parser = constraint)]
    pub(crate) wheres: Vec<(String, Constraint)>,
    /// How to read the pattern, by a name that an answer gave.
    #[arg(long, value_name = "NAME")]
    pub(crate) reading: Option<String>,
    /// Code in which the pattern stands; with --selector, and then without PATTERN.
    #[arg(long, value_name = "CODE", requires = "selector", allow_hyphen_values = true)]
    pub(crate) context: Option<String>,
    /// The kind of the node of --context that is the pattern.
    #[arg(long, value_name = "KIND", requires = "context")]
    pub(crate) selector: Option<String>,
    /// Only inside such code: a pattern, `kind:KIND`, or a rule as JSON.
    #[arg(long, value_name = "RULE", value_parser = rule, allow_hyphen_values = true)]
    pub(crate) inside: Option<Rule>,
    /// Only where such code is in it.
    #[arg(long, value_name = "RULE", value_parser = rule, allow_hyphen_values = true)]
    pub(crate) has: Option<Rule>,
    /// Only somewhere behind such a sibling.
    #[arg(long, value_name = "RULE", value_parser = rule, allow_hyphen_values = true)]
    pub(crate) follows: Option<Rule>,
    /// Only somewhere before such a sibling.
    #[arg(long, value_name = "RULE", value_parser = rule, allow_hyphen_values = true)]
    pub(crate) precedes: Option<Rule>,
    /// Only what is not such itself.
    #[arg(long, value_name = "RULE", value_parser = rule, allow_hyphen_values = true)]
    pub(crate) not: Option<Rule>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Code with metavariables; left out with --kind and --context.
    #[arg(allow_hyphen_values = true)]
    pattern: Option<String>,
    /// Files and folders [default: the whole project].
    paths: Vec<String>,
    #[command(flatten)]
    shape: Shape,
    /// A kind of node of the grammar, in the place of PATTERN.
    #[arg(long, value_name = "KIND", conflicts_with_all = ["context", "reading"])]
    kind: Option<String>,
    /// Keywords and modifiers of the code may be more than those of the pattern.
    #[arg(long)]
    relaxed: bool,
    /// Show how the pattern was read.
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    page: Page,
}

fn constraint(text: &str) -> Result<(String, Constraint), String> {
    match text.split_once('=') {
        Some((name, regex)) if !name.is_empty() => {
            Ok((name.to_owned(), Constraint { regex: Some(regex.to_owned()), ..Constraint::default() }))
        }
        _ => Err("it is a name and a regular expression, as in NAME=^get".to_owned()),
    }
}

fn rule(text: &str) -> Result<Rule, String> {
    if text.starts_with("{\"") {
        return serde_json::from_str(text).map_err(|error| error.to_string());
    }
    let rule = Rule { stop: Some(Stop::End), ..Rule::default() };
    Ok(match text.strip_prefix("kind:") {
        Some(kind) => Rule { kind: Some(kind.to_owned()), ..rule },
        None => Rule { pattern: Some(text.to_owned()), ..rule },
    })
}

impl Shape {
    pub(crate) fn captures(&self) -> Option<BTreeMap<String, Constraint>> {
        (!self.wheres.is_empty()).then(|| self.wheres.iter().cloned().collect())
    }
}

/// The pattern and the paths: what stands in the place of a pattern moves it to the paths.
pub(crate) fn operands(
    session: &Session,
    pattern: Option<String>,
    mut paths: Vec<String>,
    replaced: bool,
) -> Result<(Option<String>, Option<Vec<String>>), Failure> {
    let pattern = match pattern {
        Some(path) if replaced => {
            paths.insert(0, path);
            None
        }
        None if !replaced => return Err(usage("There is no pattern. Give one, as in `ccctl grep 'foo($X)' --lang rust`.")),
        pattern => pattern,
    };
    let paths = paths.iter().map(|path| session.file(path)).collect::<Result<Vec<_>, _>>()?;
    Ok((pattern, (!paths.is_empty()).then_some(paths)))
}

/// The parameters of a search: its own fields, then what it has in common with the other.
macro_rules! shaped {
    ($type:ident { $($field:ident: $value:expr),* $(,)? }, $session:ident, $shape:expr, ($pattern:expr, $paths:expr)) => {{
        let shape: $crate::commands::grep::Shape = $shape;
        $type {
            $($field: $value,)*
            pattern: $pattern,
            paths: $paths,
            workspace: Some($session.workspace()?),
            r#where: shape.captures(),
            language: shape.lang,
            path_glob: shape.glob,
            reading: shape.reading,
            context: shape.context,
            selector: shape.selector,
            inside: shape.inside,
            has: shape.has,
            follows: shape.follows,
            precedes: shape.precedes,
            not: shape.not,
            ..$type::default()
        }
    }};
}
pub(crate) use shaped;

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let shape = args.shape;
    let replaced = args.kind.is_some() || shape.context.is_some();
    let (pattern, paths) = operands(session, args.pattern, args.paths, replaced)?;
    let params = shaped!(
        GrepParams {
            kind: args.kind,
            relaxed: args.relaxed.then_some(true),
            explain: args.explain.then_some(true),
            limit: args.page.limit,
            cursor: args.page.cursor,
        },
        session,
        shape,
        (pattern, paths)
    );
    session.answer::<Grep>(&params, render::grep).await
}
