//! `ccctl symbol`.

use ccd_client::render;
use ccd_protocol::graph::{SymbolInfo, SymbolParams};

use crate::{
    args::Wait,
    outcome::{Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A name, an id, or a place.
    symbol: String,
    /// With its text.
    #[arg(long)]
    source: bool,
    #[command(flatten)]
    wait: Wait,
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let params = SymbolParams {
        workspace: Some(session.workspace()?),
        deadline_ms: None,
        symbol: session.symbol(&args.symbol),
        with_source: Some(args.source),
        max_bytes: None,
    };
    session.ask_graph::<SymbolInfo>(&params, &args.wait, render::symbol).await
}
