//! `ccctl staged`.

use ccd_client::render;
use ccd_protocol::ast::{Staged, StagedParams};

use crate::{
    outcome::{Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Of all projects, not only of this one.
    #[arg(long)]
    all: bool,
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let workspace = if args.all { None } else { Some(session.workspace()?) };
    let params = StagedParams { workspace, ..StagedParams::default() };
    session.answer::<Staged>(&params, render::staged).await
}
