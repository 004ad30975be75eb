//! `ccctl importers`.

use ccd_client::render::{self, Direction};
use ccd_protocol::graph::{Importers, ImportersParams};

use crate::{
    args::Modules,
    outcome::{Exit, Failure},
    session::Session,
};

pub(crate) async fn run(session: &Session, args: Modules) -> Result<Exit, Failure> {
    let (path, module) = session.file_or_module(args.target)?;
    let params = ImportersParams {
        workspace: Some(session.workspace()?),
        deadline_ms: None,
        path,
        module,
        depth: args.depth,
        limit: args.page.limit,
        cursor: args.page.cursor,
    };
    let text = |result: &_, options| render::edges(result, Direction::In, "importer", options);
    session.ask_graph::<Importers>(&params, &args.wait, text).await
}
