//! `events.*`

use ccd_protocol::{
    ErrorKind, RpcError,
    events::{SubscribeParams, SubscribeResult, UnsubscribeParams, UnsubscribeResult},
};

use crate::{
    rpc::{call::Call, params::wrong, peer::Transport, subscriptions::Filter},
    workspaces::place::absolute,
};

pub(super) fn subscribe(call: &Call, params: SubscribeParams) -> Result<SubscribeResult, RpcError> {
    if call.peer.transport == Transport::Http {
        return Err(RpcError::new(
            ErrorKind::InvalidRequest,
            "Events are sent on connections that speak one JSON value per line; over HTTP ask the methods instead.",
        ));
    }
    if params.topics.is_empty() {
        return Err(wrong("topics", "at least one topic"));
    }
    let workspace = match params.workspace {
        None => None,
        Some(given) => {
            let path = absolute("workspace", &given)?;
            // Events carry the canonical root; one that is not open yet is taken as it is given.
            let open = call.daemon.workspaces.find(&given).map(|workspace| workspace.path.clone());
            Some(open.unwrap_or_else(|| path.to_string_lossy().trim_end_matches('/').into()))
        }
    };
    let limit = call.daemon.settings().subscriptions();
    match call.peer.subscriptions.add(Filter { topics: params.topics, workspace }, limit) {
        Some(subscription) => Ok(SubscribeResult { subscription }),
        None => Err(RpcError::new(
            ErrorKind::SubscriptionLimit,
            format!("This connection has {limit} subscriptions, and may have no more. End one with events.unsubscribe."),
        )
        .with("limit", limit)),
    }
}

pub(super) fn unsubscribe(call: &Call, params: UnsubscribeParams) -> Result<UnsubscribeResult, RpcError> {
    Ok(UnsubscribeResult { unsubscribed: call.peer.subscriptions.remove(&params.subscription) })
}
