//! `ccctl outcome`.

use ccd_client::render;
use ccd_protocol::edit::{Outcome, OutcomeParams, OutcomeResult, TransactionState};

use crate::{
    outcome::{Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The transaction.
    txn_id: String,
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let params = OutcomeParams { txn_id: args.txn_id, deadline_ms: None };
    let raw = session.client().await?.call_raw::<Outcome>(&params, None).await?;
    session.print::<Outcome>(&raw, render::outcome)?;
    let committed =
        serde_json::from_str::<OutcomeResult>(raw.get()).is_ok_and(|result| result.state == TransactionState::Committed);
    Ok(if committed { Exit::Ok } else { Exit::Refused })
}
