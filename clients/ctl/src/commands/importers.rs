//! `ccctl importers`.

use ccd_client::render::{self, Direction};
use ccd_protocol::graph::{Importers, ImportersParams};

use crate::{
    args::{Page, Wait},
    outcome::{Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A file, or a module by its name in the language.
    target: String,
    /// Steps.
    #[arg(long, value_name = "N")]
    depth: Option<u32>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    wait: Wait,
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let is_file = session.is_path(&args.target);
    let params = ImportersParams {
        workspace: Some(session.workspace()?),
        deadline_ms: None,
        path: if is_file { Some(session.file(&args.target)?) } else { None },
        module: (!is_file).then_some(args.target),
        depth: args.depth,
        limit: args.page.limit,
        cursor: args.page.cursor,
    };
    let text = |result: &_, options| render::edges(result, Direction::In, "importer", options);
    session.ask_graph::<Importers>(&params, &args.wait, text).await
}
