//! `ccctl callees`.

use ccd_client::render::{self, Direction};
use ccd_protocol::graph::{Callees, CalleesParams, Confidence};

use crate::{
    args::{Page, Wait, word},
    outcome::{Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A name, an id, or a place.
    symbol: String,
    /// Steps: 2 also shows what the callees call.
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// Leave out what is less sure: exact, typed, narrowed, candidate.
    #[arg(long, value_name = "WORD", value_parser = word::<Confidence>)]
    min_confidence: Option<Confidence>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    wait: Wait,
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let params = CalleesParams {
        workspace: Some(session.workspace()?),
        deadline_ms: None,
        symbol: session.symbol(&args.symbol),
        depth: args.depth,
        min_confidence: args.min_confidence,
        limit: args.page.limit,
        cursor: args.page.cursor,
    };
    let text = |result: &_, options| render::edges(result, Direction::Out, "callee", options);
    session.ask_graph::<Callees>(&params, &args.wait, text).await
}
