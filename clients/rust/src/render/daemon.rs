//! `daemon.*` as text.

use ccd_protocol::daemon::{DoctorResult, MethodsResult, MetricsResult, RetireResult, StatusResult};

use super::{
    Options,
    graph::{count, word},
    page::Page,
    workspace::{state, trusted_root},
};

/// `daemon.status`; `ours` is the build of the client.
pub fn status(result: &StatusResult, ours: &str, options: Options) -> String {
    let mut page = Page::new(options);
    let retiring = if result.retiring { ", ending" } else { "" };
    page.line(format!("ccd {} (pid {}), up {}{retiring}", result.build, result.pid, duration(result.uptime_s)));
    if result.build != ours {
        page.line(format!("this client is of build {ours}"));
    }
    page.line(format!("memory: {} MiB of {} MiB", result.memory.rss >> 20, result.memory.limit >> 20));
    page.line(format!("{}:", count(result.workspaces.len() as u64, "workspace")));
    for workspace in &result.workspaces {
        let trusted = if workspace.trusted { ", trusted" } else { "" };
        page.line(format!("  {}  index: {}{trusted}", workspace.root, state(&workspace.index)));
    }
    page.line(format!("{}:", count(result.connections.len() as u64, "connection")));
    for connection in &result.connections {
        page.line(format!(
            "  {} pid {}, {}, {}",
            connection.name.as_deref().unwrap_or("(no name)"),
            connection.pid.map_or_else(|| "unknown".to_owned(), |pid| pid.to_string()),
            duration(connection.since_s),
            count(u64::from(connection.in_flight), "call")
        ));
    }
    if !result.trusted.is_empty() {
        page.line(format!("{}:", count(result.trusted.len() as u64, "trusted root")));
    }
    for root in &result.trusted {
        page.line(format!("  {}", trusted_root(root)));
    }
    if !result.transactions.is_empty() {
        page.line(format!("{} not settled:", count(result.transactions.len() as u64, "transaction")));
    }
    for transaction in &result.transactions {
        page.line(format!(
            "  {} {} in {}: {}",
            transaction.txn_id,
            transaction.state,
            transaction.root,
            transaction.paths.join(", ")
        ));
        for kept in &transaction.kept {
            page.line(format!("    kept: {kept}"));
        }
    }
    for notice in &result.notices {
        page.foot(format!("notice: {notice}"));
    }
    page.finish()
}

/// `daemon.doctor`, and the checks of the client in the same shape.
pub fn doctor(result: &DoctorResult, options: Options) -> String {
    let mut page = Page::new(options);
    for check in &result.checks {
        page.line(format!("{:<4} {}: {}", if check.ok { "ok" } else { "FAIL" }, check.id, check.detail));
        if let Some(fix) = &check.fix {
            page.line(format!("     hint: {fix}"));
        }
    }
    page.finish()
}

/// `daemon.metrics`.
pub fn metrics(result: &MetricsResult, options: Options) -> String {
    let mut page = Page::new(options);
    for (name, value) in &result.counters {
        page.line(format!("{name} {value}"));
    }
    for (method, latency) in &result.latencies {
        page.line(format!(
            "{method}: {}, median {} us, 99% {} us, slowest {} us",
            count(latency.count, "call"),
            latency.p50_us,
            latency.p99_us,
            latency.max_us
        ));
    }
    page.finish()
}

/// `daemon.methods`.
pub fn methods(result: &MethodsResult, options: Options) -> String {
    let mut page = Page::new(options);
    for method in &result.methods {
        page.line(format!("{} ({}): {}", method.name, word(&method.kind), method.doc.trim()));
    }
    page.finish()
}

/// `daemon.retire`.
pub fn retire(result: &RetireResult, options: Options) -> String {
    let mut page = Page::new(options);
    page.line(if result.retiring { "ccd is ending" } else { "ccd goes on: it is at work" });
    for what in &result.waiting_for {
        page.line(format!("  {what}"));
    }
    page.finish()
}

fn duration(seconds: u64) -> String {
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min {} s", seconds / 60, seconds % 60),
        _ => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}
