//! `daemon.*`: the daemon itself.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    Kind,
    method::method,
    workspace::{IndexState, TrustedRoot},
};

/// `daemon.hello`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HelloParams {
    /// The protocol the client speaks.
    pub protocol: u32,
    /// Who calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<ClientInfo>,
    /// The caller's working folder, absolute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Variables used only to resolve and start tools; names that are not on the list of the configuration are dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub env: Option<BTreeMap<String, String>>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// A client's name and build.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClientInfo {
    /// For `daemon.status`.
    pub name: String,
    /// `version+commit` or the like.
    #[serde(default)]
    pub build: String,
}

/// The answer to `daemon.hello`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HelloResult {
    /// The protocol of the daemon.
    pub protocol: u32,
    /// Its build.
    pub build: String,
    /// Names this run of the daemon; a restart changes it.
    pub instance: String,
    /// Its process id.
    pub pid: u32,
    /// It takes no new connections any more.
    pub retiring: bool,
    /// What stands: `graph`, `edit`; later `ast`, `lsp`, `debug`.
    pub features: Vec<String>,
    /// The limits in force.
    pub limits: Limits,
}

/// The limits of the socket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Limits {
    /// Bytes of one request.
    pub request_bytes: u64,
    /// Bytes of one response.
    pub response_bytes: u64,
    /// Bytes of large requests (above 1 MiB) under way on one connection.
    pub connection_bytes: u64,
    /// Entries of one batch.
    pub batch: u32,
    /// Connections at once.
    pub connections: u32,
    /// Calls at once on one connection; more are not read until one ends.
    pub in_flight: u32,
    /// Subscriptions of one connection.
    pub subscriptions: u32,
}

method! {
    /// Tells who serves and under which limits; the client may say who it is and in which environment its tools run.
    Hello = "daemon.hello", Instant, 2 / 10,
    HelloParams => HelloResult, errors: [ProtocolMismatch]
}

/// `daemon.status`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatusParams {
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// The answer to `daemon.status`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StatusResult {
    /// Seconds since the start.
    pub uptime_s: u64,
    /// The build of the daemon.
    pub build: String,
    /// Names this run of the daemon.
    pub instance: String,
    /// Its process id.
    pub pid: u32,
    /// It takes no new connections any more.
    pub retiring: bool,
    /// Open connections, oldest first.
    pub connections: Vec<ConnectionStatus>,
    /// Open workspaces, by root.
    pub workspaces: Vec<WorkspaceSummary>,
    /// Transactions that are not settled.
    pub transactions: Vec<TransactionStatus>,
    /// Prepared changes that wait for `ast.resolve`, oldest first.
    #[serde(default)]
    pub stages: Vec<StageSummary>,
    /// Roots that were granted trust, by root.
    #[serde(default)]
    pub trusted: Vec<TrustedRoot>,
    /// Memory of the daemon.
    pub memory: Memory,
    /// What is not as it should be, one sentence each.
    pub notices: Vec<String>,
}

/// A connection.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ConnectionStatus {
    /// The peer's process id, as the kernel tells it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// As it called itself in `daemon.hello`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Seconds since it connected.
    pub since_s: u64,
    /// Its calls under way.
    pub in_flight: u32,
}

/// An open workspace in short.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct WorkspaceSummary {
    /// Absolute, canonical.
    pub root: String,
    /// Whether its tools may run.
    pub trusted: bool,
    /// How the index stands.
    pub index: IndexState,
}

/// A transaction that is not settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TransactionStatus {
    /// Absolute.
    pub root: String,
    /// Its id.
    pub txn_id: String,
    /// `pending`, `committed` (to be cleaned), `conflict` or `damaged`.
    pub state: String,
    /// The files it is about, absolute.
    pub paths: Vec<String>,
    /// Where their bytes from before are.
    pub kept: Vec<String>,
}

/// A prepared change in short.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StageSummary {
    /// For `ast.resolve`.
    pub stage_id: String,
    /// Whose it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
    /// Places that change.
    pub sites: u64,
    /// Seconds since 1970.
    pub expires_at: u64,
}

/// Memory in bytes.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Memory {
    /// Resident.
    pub rss: u64,
    /// The limit of the configuration, for the daemon and its children.
    pub limit: u64,
}

method! {
    /// What is connected, open and running. Answers from memory, also while every worker is busy.
    Status = "daemon.status", Instant, 2 / 10,
    StatusParams => StatusResult
}

/// `daemon.doctor`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DoctorParams {
    /// Absolute root to check beside the daemon itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace: Option<String>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// The answer to `daemon.doctor`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DoctorResult {
    /// In a fixed order.
    pub checks: Vec<Check>,
}

/// One thing that was checked.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// A stable name.
    pub id: String,
    /// Whether it is as it should be.
    pub ok: bool,
    /// What was found.
    pub detail: String,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

method! {
    /// Checks the daemon's folders, limits, watcher and store, and the workspace if one is named.
    Doctor = "daemon.doctor", Work, 20 / 60,
    DoctorParams => DoctorResult, errors: [RootRefused, WorkspaceUnknown]
}

/// `daemon.metrics`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricsParams {
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// The answer to `daemon.metrics`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MetricsResult {
    /// Counts since the start; `graph_resolve_runs` = passes of resolution, `graph_bytes_read` = bytes of sources read by the index.
    pub counters: BTreeMap<String, u64>,
    /// By method.
    pub latencies: BTreeMap<String, Latency>,
}

/// Times of a method since the start.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// Calls answered.
    pub count: u64,
    /// Median, microseconds.
    pub p50_us: u64,
    /// 99th percentile, microseconds.
    pub p99_us: u64,
    /// The slowest, microseconds.
    pub max_us: u64,
}

method! {
    /// Counters and latencies since the start. HTTP `GET /metrics` on the same socket gives them as Prometheus text.
    Metrics = "daemon.metrics", Instant, 2 / 10,
    MetricsParams => MetricsResult
}

/// `daemon.reload`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReloadParams {
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// The answer to `daemon.reload`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ReloadResult {
    /// Keys that changed and are in force.
    pub applied: Vec<String>,
    /// Keys that changed and take effect with the next daemon.
    pub needs_restart: Vec<String>,
}

method! {
    /// Reads the configuration again; a wrong file changes nothing.
    Reload = "daemon.reload", Work, 5 / 20,
    ReloadParams => ReloadResult, errors: [ConfigInvalid]
}

/// `daemon.retire`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RetireParams {
    /// For the log and for the event `daemon.retiring`.
    pub reason: String,
    /// Only if nothing is under way (true if left out).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_idle: Option<bool>,
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// The answer to `daemon.retire`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RetireResult {
    /// It ends now; false if it is busy and `if_idle` holds.
    pub retiring: bool,
    /// What keeps it.
    pub waiting_for: Vec<String>,
}

method! {
    /// Asks the daemon to end: it takes no new connections, drains for at most 15 s, and exits.
    Retire = "daemon.retire", Instant, 2 / 10,
    RetireParams => RetireResult
}

/// `daemon.methods`.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MethodsParams {
    /// Milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
}

/// The answer to `daemon.methods`.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MethodsResult {
    /// What is built.
    pub methods: Vec<MethodDescription>,
}

/// A method, described.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct MethodDescription {
    /// Its wire name.
    pub name: String,
    /// How it runs.
    pub kind: Kind,
    /// What it answers.
    pub doc: String,
    /// Milliseconds without `deadline_ms`.
    pub deadline_ms: u64,
    /// The most that `deadline_ms` may ask for.
    pub deadline_cap_ms: u64,
    /// JSON schema.
    pub params_schema: Value,
    /// JSON schema.
    pub result_schema: Value,
    /// The kinds of error that are its own.
    pub errors: Vec<String>,
}

method! {
    /// Describes every method that is built, with the schemas of its parameters and its result.
    Methods = "daemon.methods", Instant, 2 / 10,
    MethodsParams => MethodsResult
}
