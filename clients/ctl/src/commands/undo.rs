//! `ccctl undo`.

use ccd_protocol::edit::{Undo, UndoParams};

use crate::{
    edits::{self, Common, params},
    outcome::{Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The transaction to take back; an undo is one too.
    txn_id: String,
    #[command(flatten)]
    common: Common,
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let params = params!(Undo, UndoParams { undo_txn_id: args.txn_id }, session, args.common);
    edits::made::<Undo>(session, &params, params.txn_id.as_deref()).await
}
