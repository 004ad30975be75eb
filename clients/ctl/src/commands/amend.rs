//! `ccctl amend`.

use std::path::PathBuf;

use ccd_protocol::edit::{Amend, AmendParams, AmendedHunk};

use crate::{
    edits::{self, Common, params, text_of, usage},
    outcome::{Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// As the refused patch gave it.
    failure_id: String,
    /// Which hunk standard input holds, from 1 over the whole patch.
    #[arg(value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    number: Option<u32>,
    /// A hunk and the file that holds it; may be given several times.
    #[arg(long = "hunk", value_name = "N=FILE", value_parser = hunk)]
    hunks: Vec<(u32, PathBuf)>,
    #[command(flatten)]
    common: Common,
}

fn hunk(text: &str) -> Result<(u32, PathBuf), String> {
    let (number, file) = text.split_once('=').ok_or("it is the number of a hunk, =, and a file")?;
    match number.parse::<u32>() {
        Ok(number) if number > 0 => Ok((number, PathBuf::from(file))),
        _ => Err(format!("`{number}` is no number of a hunk; they count from 1")),
    }
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let mut hunks = Vec::new();
    if let Some(index) = args.number {
        hunks.push(AmendedHunk { index, text: text_of(session, None, "the lines of the hunk")? });
    }
    for (index, file) in &args.hunks {
        hunks.push(AmendedHunk { index: *index, text: text_of(session, Some(file), "the lines of the hunk")? });
    }
    if hunks.is_empty() {
        return Err(usage("Name a hunk: its number and its lines on standard input, or --hunk N=FILE."));
    }
    let params = params!(Amend, AmendParams { failure_id: args.failure_id, hunks: hunks }, session, args.common);
    edits::made::<Amend>(session, &params, params.txn_id.as_deref()).await
}
