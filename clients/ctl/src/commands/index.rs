//! `ccctl index`.

use ccd_client::render;
use ccd_protocol::{
    Method as _,
    graph::{Index, IndexParams},
};

use crate::{
    outcome::{Exit, Failure},
    progress,
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only these files and folders [default: all].
    paths: Vec<String>,
    /// Read and parse every file again.
    #[arg(long)]
    full: bool,
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let paths = args.paths.iter().map(|path| session.file(path)).collect::<Result<Vec<_>, _>>()?;
    let params = IndexParams {
        workspace: Some(session.workspace()?),
        paths: (!paths.is_empty()).then_some(paths),
        full: Some(args.full),
        // An index that takes longer than the default is still wanted by who asks for it.
        deadline_ms: Some(Index::DEADLINE.cap_ms),
        progress: Some(token()),
        ..IndexParams::default()
    };
    let client = session.client().await?;
    let raw = progress::shown(client, &token(), client.call_raw::<Index>(&params, None)).await?;
    session.print::<Index>(&raw, render::index)
}

/// Waits until the index is whole.
pub(crate) async fn wait(session: &Session) -> Result<(), Failure> {
    let params = IndexParams {
        workspace: Some(session.workspace()?),
        deadline_ms: Some(Index::DEADLINE.cap_ms),
        progress: Some(token()),
        ..IndexParams::default()
    };
    let client = session.client().await?;
    progress::shown(client, &token(), client.call_raw::<Index>(&params, None)).await?;
    Ok(())
}

fn token() -> String {
    format!("ccctl-{}", std::process::id())
}
