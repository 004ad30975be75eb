//! `ccctl write`.

use std::path::PathBuf;

use ccd_protocol::edit::{Write, WriteParams};

use crate::{
    edits::{self, Common, params, text_of},
    outcome::{Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file; a relative path counts from the working folder.
    path: String,
    /// The file that holds the new text [default: standard input].
    #[arg(long, value_name = "FILE")]
    content: Option<PathBuf>,
    /// Write over a file that this run has not seen.
    #[arg(long)]
    force: bool,
    /// The version that the file must have.
    #[arg(long, value_name = "VERSION")]
    expect: Option<String>,
    /// Only if the file is there.
    #[arg(long)]
    no_create: bool,
    /// Only if the file is not there.
    #[arg(long, conflicts_with = "no_create")]
    no_overwrite: bool,
    #[command(flatten)]
    common: Common,
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let params = params!(
        Write,
        WriteParams {
            path: session.new_file(&args.path)?,
            content: text_of(session, args.content.as_deref(), "the text of the file")?,
            create: args.no_create.then_some(false),
            overwrite: args.no_overwrite.then_some(false),
            force: args.force.then_some(true),
            expect_version: args.expect,
        },
        session,
        args.common
    );
    edits::made::<Write>(session, &params, params.txn_id.as_deref()).await
}
