//! `ccctl impact`.

use ccd_client::render;
use ccd_protocol::graph::{Impact, ImpactParams};

use crate::{
    args::Wait,
    outcome::{Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// What changes: files, and symbols by a name, an id, or a place.
    #[arg(required = true)]
    targets: Vec<String>,
    /// Steps.
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    /// Symbols listed at most.
    #[arg(long, value_name = "N")]
    limit: Option<u32>,
    #[command(flatten)]
    wait: Wait,
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let (paths, symbols): (Vec<&String>, Vec<&String>) = args.targets.iter().partition(|target| session.is_path(target));
    let paths = paths.into_iter().map(|path| session.file(path)).collect::<Result<Vec<_>, _>>()?;
    let params = ImpactParams {
        workspace: Some(session.workspace()?),
        deadline_ms: None,
        symbols: (!symbols.is_empty()).then(|| symbols.into_iter().map(|symbol| session.symbol(symbol)).collect()),
        paths: (!paths.is_empty()).then_some(paths),
        depth: args.depth,
        limit: args.limit,
    };
    session.ask_graph::<Impact>(&params, &args.wait, render::impact).await
}
