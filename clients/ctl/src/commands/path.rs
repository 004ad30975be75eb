//! `ccctl path`.

use ccd_client::render;
use ccd_protocol::graph::{PathParams, Paths};

use crate::{
    args::Wait,
    outcome::{Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Where it begins: a name, an id, or a place.
    from: String,
    /// Where it ends.
    to: String,
    /// Steps.
    #[arg(long, value_name = "N")]
    max_depth: Option<u32>,
    #[command(flatten)]
    wait: Wait,
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let params = PathParams {
        workspace: Some(session.workspace()?),
        deadline_ms: None,
        from: session.symbol(&args.from),
        to: session.symbol(&args.to),
        max_depth: args.max_depth,
    };
    session.ask_graph::<Paths>(&params, &args.wait, render::paths).await
}
