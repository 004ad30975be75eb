//! `daemon.*`

use std::path::PathBuf;

use ccd_protocol::{
    ErrorKind, METHODS, PROTOCOL, RpcError,
    daemon::{
        HelloParams, HelloResult, MethodDescription, MethodsParams, MethodsResult, MetricsParams, MetricsResult, ReloadParams,
        ReloadResult, RetireParams, RetireResult, StageSummary, StatusParams, StatusResult, TransactionStatus,
    },
    reference,
};
use serde_json::Value;

use crate::{
    config::ConfigError,
    daemon::BUILD,
    rpc::{
        call::Call,
        params::wrong,
        peer::{Greeting, Transport},
    },
    workspaces::place::shown,
};

/// Bytes of a client's name.
const NAME: usize = 128;

pub(super) fn hello(call: &Call, params: HelloParams) -> Result<HelloResult, RpcError> {
    if params.protocol != PROTOCOL {
        return Err(RpcError::new(
            ErrorKind::ProtocolMismatch,
            format!("This daemon speaks protocol {PROTOCOL}, the client {}. Use a client of the same protocol.", params.protocol),
        )
        .with("want", params.protocol)
        .with("have", PROTOCOL));
    }
    let daemon = &call.daemon;
    let settings = daemon.settings();
    let cwd = match params.cwd.as_deref() {
        Some(cwd) if !cwd.starts_with('/') => return Err(wrong("cwd", "an absolute path")),
        cwd => cwd.map(PathBuf::from),
    };
    let allowed = &settings.config.env.pass;
    // No tool is started yet, so the others are not kept either.
    let env = params.env.unwrap_or_default();
    let names: Vec<&String> = env.keys().filter(|name| !allowed.iter().any(|variable| variable.0 == **name)).collect();
    if !names.is_empty() {
        tracing::info!(?names, "variables that are not on the list of env.pass were dropped");
    }
    // On HTTP nothing is remembered between requests.
    if call.peer.transport == Transport::Lines {
        let name = params.client.map(|client| match client.build.as_str() {
            "" => ccd_text::clip(client.name.as_bytes(), NAME),
            build => ccd_text::clip(format!("{} {build}", client.name).as_bytes(), NAME),
        });
        call.peer.greet(Greeting { name, cwd });
    }
    Ok(HelloResult {
        protocol: PROTOCOL,
        build: BUILD.to_owned(),
        instance: daemon.instance.clone(),
        pid: std::process::id(),
        retiring: daemon.is_draining(),
        features: vec!["graph".to_owned(), "edit".to_owned(), "ast".to_owned()],
        limits: settings.limits(),
    })
}

pub(super) fn status(call: &Call, _: StatusParams) -> Result<StatusResult, RpcError> {
    let daemon = &call.daemon;
    Ok(StatusResult {
        uptime_s: daemon.started.elapsed().as_secs(),
        build: BUILD.to_owned(),
        instance: daemon.instance.clone(),
        pid: std::process::id(),
        retiring: daemon.is_draining(),
        connections: daemon.connections.peers().iter().map(|peer| peer.status()).collect(),
        workspaces: daemon.workspaces.summaries(),
        transactions: transactions(daemon),
        stages: stages(daemon),
        trusted: daemon.trust.list(),
        memory: daemon.memory(),
        notices: daemon.notices(),
    })
}

fn stages(daemon: &crate::daemon::Daemon) -> Vec<StageSummary> {
    let pending = daemon.edits.stages.pending();
    let told = pending.iter().map(|stage| StageSummary {
        stage_id: stage.id.clone(),
        run_id: stage.draft.run.clone(),
        sites: stage.draft.sites,
        expires_at: stage.expires_at,
    });
    told.collect()
}

/// What recovery has not settled; nearly always nothing, and then the folder of the journals is looked at once after an edit.
fn transactions(daemon: &crate::daemon::Daemon) -> Vec<TransactionStatus> {
    let told = |paths: &[PathBuf]| paths.iter().map(|path| shown(path)).collect();
    let unsettled = daemon.edits.unsettled();
    unsettled
        .iter()
        .map(|one| TransactionStatus {
            root: shown(&one.root),
            txn_id: one.txn_id.clone(),
            state: one.state.to_owned(),
            paths: told(&one.paths),
            kept: told(&one.kept),
        })
        .collect()
}

pub(super) fn metrics(call: &Call, _: MetricsParams) -> Result<MetricsResult, RpcError> {
    Ok(MetricsResult { counters: call.daemon.counters(), latencies: call.daemon.metrics.latencies() })
}

pub(super) async fn reload(call: Call, _: ReloadParams) -> Result<ReloadResult, RpcError> {
    let daemon = call.daemon.clone();
    match call.query(move |_| daemon.reload()).await? {
        Ok((applied, needs_restart)) => {
            call.daemon.settle(&applied);
            Ok(ReloadResult { applied, needs_restart })
        }
        Err(ConfigError { file, line, reason }) => {
            let shown = file.display();
            let at = line.map(|line| format!(", line {line}")).unwrap_or_default();
            let error = RpcError::new(
                ErrorKind::ConfigInvalid,
                format!("{shown}{at}: {reason}. Nothing was changed; correct the file and reload again."),
            )
            .with("file", shown.to_string())
            .with("reason", reason);
            Err(match line {
                Some(line) => error.with("line", line),
                None => error,
            })
        }
    }
}

pub(super) fn retire(call: &Call, params: RetireParams) -> Result<RetireResult, RpcError> {
    let waiting_for = if params.if_idle.unwrap_or(true) { call.daemon.busy_with() } else { Vec::new() };
    let retiring = waiting_for.is_empty();
    if retiring {
        call.daemon.begin_drain(&ccd_text::clip(params.reason.as_bytes(), 500));
    }
    Ok(RetireResult { retiring, waiting_for })
}

pub(super) fn methods(call: &Call, _: MethodsParams) -> Result<MethodsResult, RpcError> {
    Ok(call.daemon.methods.get_or_init(describe).clone())
}

fn describe() -> MethodsResult {
    let schema = reference::schema();
    let methods = METHODS
        .iter()
        .map(|method| {
            let entry = &schema["methods"][method.name];
            MethodDescription {
                name: method.name.to_owned(),
                kind: method.kind,
                doc: method.doc.trim().to_owned(),
                deadline_ms: method.deadline.default_ms,
                deadline_cap_ms: method.deadline.cap_ms,
                params_schema: closed(&entry["params"], &schema["$defs"]),
                result_schema: closed(&entry["result"], &schema["$defs"]),
                errors: method.errors.iter().map(|kind| kind.name().to_owned()).collect(),
            }
        })
        .collect();
    MethodsResult { methods }
}

/// A schema with those definitions that it refers to, so that it stands by itself.
fn closed(schema: &Value, definitions: &Value) -> Value {
    let mut needed = serde_json::Map::new();
    let mut pending = vec![schema];
    while let Some(value) = pending.pop() {
        match value {
            Value::Object(fields) => {
                let name = fields.get("$ref").and_then(Value::as_str).and_then(|path| path.strip_prefix("#/$defs/"));
                if let Some(name) = name
                    && !needed.contains_key(name)
                    && let Some(definition) = definitions.get(name)
                {
                    needed.insert(name.to_owned(), definition.clone());
                    pending.push(definition);
                }
                pending.extend(fields.values());
            }
            Value::Array(items) => pending.extend(items),
            _ => {}
        }
    }
    let mut schema = schema.clone();
    if let (Value::Object(fields), false) = (&mut schema, needed.is_empty()) {
        fields.insert("$defs".to_owned(), Value::Object(needed));
    }
    schema
}
