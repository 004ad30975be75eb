//! One run: cold, warm, changed, opened again.

use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};

use crate::{
    daemon::{Daemon, Wire, disk_bytes, memory_mib},
    edits::{self, Edits},
    queries::{self, Answers, Names, Spread},
    shapes::{self, Shapes},
    sources::Sources,
};

/// Starts, and changed files, of one run.
const TIMES: usize = 20;

/// Round trips of one run.
const ROUND_TRIPS: usize = 5000;

pub(crate) struct Measured {
    pub(crate) start: Duration,
    pub(crate) idle_mib: f64,
    pub(crate) cold: Duration,
    pub(crate) symbols: u64,
    pub(crate) edges: u64,
    pub(crate) peak_mib: f64,
    pub(crate) warm_mib: f64,
    pub(crate) store_bytes: u64,
    pub(crate) answers: Answers,
    pub(crate) round_trip: Spread,
    pub(crate) changed: Duration,
    pub(crate) again: Duration,
    pub(crate) again_parsed: u64,
    pub(crate) again_resolved: u64,
    pub(crate) shapes: Shapes,
    pub(crate) edits: Edits,
}

pub(crate) fn run(base: &Path, project: &Path, sources: &Sources) -> anyhow::Result<Measured> {
    let root = project.to_str().context("the scratch folder is not UTF-8")?;
    let mut starts = Vec::new();
    for n in 0..TIMES {
        let daemon = Daemon::start(&base.join(format!("start{n}")))?;
        starts.push(daemon.start);
        daemon.stop()?;
    }

    let folders = base.join("daemon");
    let daemon = Daemon::start(&folders)?;
    let cache = daemon.paths.cache.clone();
    let mut wire = Wire::connect(&daemon.paths)?;
    let pid = pid(&mut wire)?;
    let idle_mib = memory_mib(pid, "VmRSS")?;
    wire.call("workspace.open", &json!({"root": root, "index": false}))?;
    let begun = Instant::now();
    let indexed = wire.call("graph.index", &json!({"workspace": root, "deadline_ms": 3_600_000}))?;
    let cold = begun.elapsed();
    let peak_mib = memory_mib(pid, "VmHWM")?;

    let names = Names::collect(&mut wire, root)?;
    let answers = queries::measure(&mut wire, root, &names)?;
    let round_trips = (0..ROUND_TRIPS).map(|_| wire.time("daemon.status", &json!({}))).collect::<Result<Vec<_>, _>>()?;
    let mut changes = (0..TIMES).map(|n| change(&mut wire, root, &sources.changed, n)).collect::<Result<Vec<_>, _>>()?;
    fs::write(&sources.changed, "pub fn bench_unchanged() {}\n")?;
    wire.call("graph.index", &json!({"workspace": root}))?;
    let warm_mib = memory_mib(pid, "VmRSS")?;
    let shapes = shapes::measure(&mut wire, root)?;
    drop(wire);
    daemon.stop()?;
    let store_bytes = disk_bytes(&cache);

    let daemon = Daemon::start(&folders)?;
    let mut wire = Wire::connect(&daemon.paths)?;
    let begun = Instant::now();
    wire.call("workspace.open", &json!({"root": root}))?;
    until(|| {
        let found = wire.call_if_ready("graph.search", &json!({"workspace": root, "query": "bench_unchanged"}))?;
        Ok(found.is_some_and(|found| found["state"] == "ready" && found["total"].as_u64() > Some(0)))
    })?;
    let again = begun.elapsed();
    let indexed_again = wire.call("graph.index", &json!({"workspace": root}))?;
    let metrics = wire.call("daemon.metrics", &json!({}))?;
    drop(wire);
    daemon.stop()?;

    let edits = edits::measure(&base.join("edits"))?;

    starts.sort_unstable();
    changes.sort_unstable();
    let number = |value: &Value| value.as_u64().unwrap_or_default();
    Ok(Measured {
        start: starts[starts.len() / 2],
        idle_mib,
        cold,
        symbols: number(&indexed["symbols"]),
        edges: number(&indexed["edges"]),
        peak_mib,
        warm_mib,
        store_bytes,
        answers,
        round_trip: Spread::of(round_trips),
        changed: changes[changes.len() / 2],
        again,
        again_parsed: number(&indexed_again["files_parsed"]),
        again_resolved: number(&metrics["counters"]["graph_resolve_runs"]),
        shapes,
        edits,
    })
}

fn pid(wire: &mut Wire) -> anyhow::Result<u64> {
    wire.call("daemon.status", &json!({}))?["pid"].as_u64().context("no pid")
}

/// Gives a file a new function and waits until search has it.
fn change(wire: &mut Wire, root: &str, file: &Path, n: usize) -> anyhow::Result<Duration> {
    let name = format!("bench_changed_{n}");
    let begun = Instant::now();
    fs::write(file, format!("pub fn bench_unchanged() {{}}\npub fn {name}() {{ bench_unchanged() }}\n"))?;
    until(|| {
        let found = wire.call_if_ready("graph.search", &json!({"workspace": root, "query": name, "limit": 1}))?;
        Ok(found.is_some_and(|found| found["symbols"][0]["name"] == name.as_str()))
    })?;
    Ok(begun.elapsed())
}

fn until(mut holds: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(120);
    while Instant::now() < deadline {
        if holds()? {
            return Ok(());
        }
        std::thread::sleep(Duration::from_micros(500));
    }
    bail!("what is waited for did not come within 120 s")
}
