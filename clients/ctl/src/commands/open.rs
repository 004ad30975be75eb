//! `ccctl open`.

use ccd_client::render;
use ccd_protocol::workspace::{Open, OpenParams};

use crate::{
    outcome::{Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Open it without starting the index.
    #[arg(long)]
    no_index: bool,
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let params = OpenParams { root: session.workspace()?, index: Some(!args.no_index), ..OpenParams::default() };
    session.answer::<Open>(&params, render::open).await
}
