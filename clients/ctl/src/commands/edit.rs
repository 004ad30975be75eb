//! `ccctl edit`.

use std::path::PathBuf;

use ccd_protocol::{
    Range, TextPosition,
    edit::{Edit, EditParams, TextEdit},
};

use crate::{
    edits::{self, Common, params, text_of},
    outcome::{Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
#[command(group(clap::ArgGroup::new("where").required(true).args(["old", "old_file", "range"])))]
#[command(group(clap::ArgGroup::new("what").required(true).args(["new", "new_file"])))]
pub(crate) struct Args {
    /// The file.
    path: String,
    /// The text that is there.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    old: Option<String>,
    /// A file that holds the text that is there, byte for byte; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    old_file: Option<PathBuf>,
    /// The place: line:column-line:column, from 1, the end exclusive.
    #[arg(long, value_name = "L:C-L:C", value_parser = range)]
    range: Option<Range>,
    /// What is to stand there.
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    new: Option<String>,
    /// A file that holds what is to stand there; `-` is standard input.
    #[arg(long, value_name = "FILE")]
    new_file: Option<PathBuf>,
    /// Every occurrence; without it there must be exactly one.
    #[arg(long, conflicts_with = "range")]
    all: bool,
    /// The version that the file must have.
    #[arg(long, value_name = "VERSION")]
    expect: Option<String>,
    #[command(flatten)]
    common: Common,
}

fn range(text: &str) -> Result<Range, String> {
    let position = |text: &str| {
        let (line, column) = text.split_once(':')?;
        let (line, column) = (line.parse().ok()?, column.parse().ok()?);
        (line > 0 && column > 0).then_some(TextPosition { line, column })
    };
    let both = text.split_once('-').and_then(|(start, end)| Some((position(start)?, position(end)?)));
    match both {
        Some((start, end)) if start <= end => Ok(Range { start, end }),
        Some(_) => Err("the end comes before the start".to_owned()),
        None => Err("it is two places, as in 3:1-4:12; lines and columns count from 1".to_owned()),
    }
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let text = |given: Option<String>, file: Option<PathBuf>, what: &str| match file {
        Some(file) => text_of(session, Some(&file), what).map(Some),
        None => Ok(given),
    };
    let edit = TextEdit {
        old: text(args.old, args.old_file, "the text that is there")?,
        range: args.range,
        new: text(args.new, args.new_file, "the new text")?.unwrap_or_default(),
        all: args.all.then_some(true),
    };
    let params = params!(
        Edit,
        EditParams { path: session.file(&args.path)?, edits: vec![edit], expect_version: args.expect },
        session,
        args.common
    );
    edits::made::<Edit>(session, &params, params.txn_id.as_deref()).await
}
