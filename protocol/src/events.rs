//! Events: what the daemon tells without being asked. Every event is also answerable by a pull method.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Object, method::method};

/// The name of the notification that carries events.
pub const EVENT_METHOD: &str = "event";

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Topic {
    /// How far an index run is: `data` = `{root, done, total}`.
    #[serde(rename = "index.progress")]
    IndexProgress,
    /// An index run has ended: `data` = `{root, generation, files_parsed, removed}`.
    #[serde(rename = "index.done")]
    IndexDone,
    /// Files were changed by an edit: `data` = `{root, txn_id, paths}`.
    #[serde(rename = "edit.committed")]
    EditCommitted,
    /// A change was prepared and waits for `ast.resolve`: `data` = `{root, stage_id, run_id, files, sites, expires_at}`.
    #[serde(rename = "stage.created")]
    StageCreated,
    /// The time of a stage is over: `data` = `{root, stage_id, run_id}`.
    #[serde(rename = "stage.expired")]
    StageExpired,
    /// A search is this far: `data` = `{root, done, total}`.
    #[serde(rename = "search.progress")]
    SearchProgress,
    /// The daemon will end: `data` = `{reason}`.
    #[serde(rename = "daemon.retiring")]
    DaemonRetiring,
    /// Events were dropped because the reader was slow: `data` = `{missed}`. Sent without being asked for.
    #[serde(rename = "lagged")]
    Lagged,
}

/// `events.subscribe`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SubscribeParams {
    /// The topics wanted; at least one.
    pub topics: Vec<Topic>,
    /// Only events of this workspace (absolute root).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Only events of this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Only events of this conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conversation_id: Option<String>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// The answer to `events.subscribe`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct SubscribeResult {
    /// Names the subscription in each event and in `events.unsubscribe`.
    pub subscription: String,
}

method! {
    /// Starts to send events on this connection (ndjson only).
    Subscribe = "events.subscribe", Instant, 2 / 10,
    SubscribeParams => SubscribeResult, errors: [SubscriptionLimit]
}

/// `events.unsubscribe`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnsubscribeParams {
    /// As `events.subscribe` gave it.
    pub subscription: String,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// The answer to `events.unsubscribe`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UnsubscribeResult {
    /// False if this connection had no such subscription.
    pub unsubscribed: bool,
}

method! {
    /// Ends a subscription of this connection.
    Unsubscribe = "events.unsubscribe", Instant, 2 / 10,
    UnsubscribeParams => UnsubscribeResult
}

/// One event: `params.result` of an `event` notification, beside `params.subscription`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Grows by one with each event of this subscription, dropped ones included.
    pub seq: u64,
    /// What it is about.
    pub topic: Topic,
    /// The `progress` token of the call it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
    /// The fields of the topic.
    pub data: Object,
}
