//! `ccctl status`.

use ccd_client::{BUILD, render};
use ccd_protocol::daemon::{Status, StatusParams};

use crate::{
    outcome::{Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) async fn run(session: &Session, _args: Args) -> Result<Exit, Failure> {
    let client = session.running().await?;
    let raw = client.call_raw::<Status>(&StatusParams::default(), None).await?;
    session.print::<Status>(&raw, |result, options| render::status(result, BUILD, options))
}
