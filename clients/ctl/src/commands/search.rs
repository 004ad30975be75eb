//! `ccctl search`.

use ccd_client::render;
use ccd_protocol::graph::{Search, SearchParams, SymbolKind};

use crate::{
    args::{Page, Wait, word},
    outcome::{Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A name, a part of one, or a qualified name.
    query: String,
    /// Only this kind: function, method, struct, class, ...; may be given several times.
    #[arg(long = "kind", value_name = "KIND", value_parser = word::<SymbolKind>)]
    kinds: Vec<SymbolKind>,
    /// Only this language.
    #[arg(long)]
    language: Option<String>,
    /// Only files whose path, relative to the root, matches.
    #[arg(long, value_name = "GLOB")]
    path: Option<String>,
    #[command(flatten)]
    page: Page,
    #[command(flatten)]
    wait: Wait,
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let params = SearchParams {
        workspace: Some(session.workspace()?),
        deadline_ms: None,
        query: args.query,
        kinds: (!args.kinds.is_empty()).then_some(args.kinds),
        language: args.language,
        path_glob: args.path,
        limit: args.page.limit,
        cursor: args.page.cursor,
    };
    session.ask_graph::<Search>(&params, &args.wait, render::search).await
}
