//! `ccctl outline`.

use ccd_client::render;
use ccd_protocol::graph::{Outline, OutlineParams};

use crate::{
    outcome::{Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The file.
    path: String,
    /// Levels of nesting.
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let params = OutlineParams {
        workspace: Some(session.workspace()?),
        deadline_ms: None,
        path: session.file(&args.path)?,
        depth: args.depth,
    };
    // One file is parsed for itself: nothing to wait for.
    session.answer::<Outline>(&params, render::outline).await
}
