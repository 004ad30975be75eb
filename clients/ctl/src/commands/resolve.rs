//! `ccctl resolve`.

use ccd_client::render;
use ccd_protocol::ast::{Action, Resolve, ResolveParams};

use crate::{
    args::word,
    edits::{Common, params},
    outcome::{Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The prepared change.
    stage: String,
    /// `accept` writes it, `discard` drops it, `preview` shows its diff.
    #[arg(value_parser = word::<Action>)]
    action: Action,
    /// With `preview`: the next page, as the page before named it.
    #[arg(long)]
    cursor: Option<String>,
    #[command(flatten)]
    common: Common,
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let accept = args.action == Action::Accept;
    let params = ResolveParams {
        // The stage says where it belongs, and a person may resolve those of all runs.
        workspace: None,
        run_id: args.common.given_run(),
        txn_id: accept.then(|| args.common.txn_id()),
        max_bytes: (args.action == Action::Preview).then_some(session.text.max_bytes as u64 / 2),
        ..params!(Resolve, ResolveParams { stage_id: args.stage, action: args.action, cursor: args.cursor }, session, args.common)
    };
    let client = session.client().await?;
    let raw = match &params.txn_id {
        Some(txn_id) => client.edit_raw::<Resolve>(&params, txn_id).await?,
        None => client.call_raw::<Resolve>(&params, None).await?,
    };
    session.print::<Resolve>(&raw, render::resolve)
}
