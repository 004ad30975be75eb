//! `ccctl digest`.

use ccd_client::render;
use ccd_protocol::graph::{Digest, DigestParams};

use crate::{
    args::Wait,
    outcome::{Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    wait: Wait,
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let params = DigestParams { workspace: Some(session.workspace()?), deadline_ms: None };
    session.ask_graph::<Digest>(&params, &args.wait, render::digest).await
}
