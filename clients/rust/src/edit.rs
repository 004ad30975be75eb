//! An edit whose answer may be lost, and what became of it.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use ccd_protocol::{
    ErrorKind, Method,
    edit::{Outcome, OutcomeParams, OutcomeResult, TransactionState},
};
use serde_json::value::RawValue;
use tokio::time::Instant;

use crate::{Client, ClientError, connection::raw};

/// How long an edit may go on in a daemon that the connection is lost to.
const SETTLE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(50);

/// Transactions that this process named.
static NAMED: AtomicU64 = AtomicU64::new(0);

/// A name for a transaction that no other one has. A caller that names its edits can ask what became of them.
pub fn new_txn_id() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let number = NAMED.fetch_add(1, Ordering::Relaxed);
    format!("t{:x}-{:x}-{number:x}", since.as_nanos(), std::process::id())
}

impl Client {
    /// Calls a method that edits; its `params` name the transaction `txn_id`. An edit is never sent twice: where the
    /// answer is lost, the daemon is asked what became of it, and what was written is answered as if nothing had happened.
    /// For methods whose result is an `EditOutcome`, and for `ast.resolve` when it accepts.
    pub async fn edit_raw<M: Method>(&self, params: &M::Params, txn_id: &str) -> Result<Box<RawValue>, ClientError> {
        let error = match self.call_raw::<M>(params, None).await {
            Err(error) if is_unanswered(&error) => error,
            answer => return answer,
        };
        match self.settled(txn_id).await {
            Ok(OutcomeResult { state: TransactionState::Committed, outcome: Some(outcome) }) => raw(&outcome),
            Ok(OutcomeResult { state, .. }) => Err(unfinished::<M>(error, txn_id, Some(state))),
            Err(_) => Err(unfinished::<M>(error, txn_id, None)),
        }
    }

    async fn settled(&self, txn_id: &str) -> Result<OutcomeResult, ClientError> {
        let params = OutcomeParams { txn_id: txn_id.to_owned(), deadline_ms: None };
        let deadline = Instant::now() + SETTLE;
        loop {
            let result = self.call::<Outcome>(&params).await?;
            // A daemon that was just started settles first what its predecessor left.
            let open = matches!(result.state, TransactionState::Preparing | TransactionState::RecoveryPending);
            if !open || Instant::now() >= deadline {
                return Ok(result);
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

/// The edit may have been written, and nobody said so.
fn is_unanswered(error: &ClientError) -> bool {
    match error {
        ClientError::ConnectionLost { .. } => true,
        ClientError::Rpc(error) => {
            error.is(ErrorKind::DeadlineExceeded) && error.data.fields.get("phase").is_some_and(|phase| phase == "client")
        }
        _ => false,
    }
}

fn unfinished<M: Method>(error: ClientError, txn_id: &str, state: Option<TransactionState>) -> ClientError {
    let reason = match error {
        ClientError::ConnectionLost { reason, .. } => reason,
        other => other.to_string(),
    };
    let next = match state {
        Some(TransactionState::Unknown | TransactionState::RolledBack) => "Nothing was written: the same call can be sent again.",
        Some(TransactionState::Preparing) => "It is still under way: `ccctl outcome` tells what becomes of it.",
        Some(TransactionState::Committed) => "It was written; its outcome is not kept any more.",
        Some(TransactionState::RecoveryPending | TransactionState::RollbackFailed | TransactionState::Conflict) => {
            "It is not settled: look at `ccctl outcome` and at the files before the next edit."
        }
        None => "Whether it was written is unknown: `ccctl outcome` tells, once the daemon can be reached.",
    };
    ClientError::ConnectionLost { method: M::NAME.to_owned(), reason, next, in_flight_txn: Some(txn_id.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::new_txn_id;

    #[test]
    fn every_name_is_another() {
        let (first, second) = (new_txn_id(), new_txn_id());
        assert_ne!(first, second);
        assert!(first.len() < 64 && first.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{first}");
    }
}
