//! The medians of all runs.

use std::time::Duration;

use crate::{queries::Spread, run::Measured, sources::Sources};

pub(crate) fn print(sources: &Sources, runs: &[Measured]) {
    let median = |value: &dyn Fn(&Measured) -> f64| {
        let mut values: Vec<f64> = runs.iter().map(value).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or_default()
    };
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let spread = |of: &dyn Fn(&Measured) -> Spread, scale: f64| {
        format!("{:.2} / {:.2}", median(&|run| ms(of(run).p50) * scale), median(&|run| ms(of(run).p99) * scale))
    };
    #[expect(clippy::cast_precision_loss, reason = "counts of lines and bytes are far below 2^52")]
    let float = |n: u64| n as f64;
    let lines = float(sources.lines);
    let cold = median(&|run| run.cold.as_secs_f64());
    let rows = [
        ("machine", machine()),
        ("runs", runs.len().to_string()),
        ("source: files / lines", format!("{} / {}", sources.files, sources.lines)),
        ("symbols / edges", format!("{:.0} / {:.0}", median(&|run| float(run.symbols)), median(&|run| float(run.edges)))),
        ("cold index, s", format!("{cold:.2}")),
        ("lines a second", format!("{:.0}", lines / cold)),
        ("peak resident memory while indexing, MiB", format!("{:.0}", median(&|run| run.peak_mib))),
        ("resident memory after the questions, MiB", format!("{:.0}", median(&|run| run.warm_mib))),
        ("store, bytes a line", format!("{:.1}", median(&|run| float(run.store_bytes)) / lines)),
        ("open again unchanged, to the first answer of search, ms", format!("{:.0}", median(&|run| ms(run.again)))),
        (
            "files parsed / passes of resolution when opened again",
            format!("{:.0} / {:.0}", median(&|run| float(run.again_parsed)), median(&|run| float(run.again_resolved))),
        ),
        ("one changed file, to visible in search, ms (median of 20)", format!("{:.1}", median(&|run| ms(run.changed)))),
        ("`graph.search` p50 / p99, ms (500 queries)", spread(&|run| run.answers.search, 1.0)),
        ("`graph.callers` p50 / p99, ms", spread(&|run| run.answers.callers, 1.0)),
        ("`graph.callees` p50 / p99, ms", spread(&|run| run.answers.callees, 1.0)),
        ("`graph.impact` depth 3 p50 / p99, ms", spread(&|run| run.answers.impact, 1.0)),
        (
            "`ast.grep`, every call in Rust: first / again / a rare shape, ms",
            format!(
                "{:.0} / {:.0} / {:.0}",
                median(&|run| ms(run.shapes.first)),
                median(&|run| ms(run.shapes.again)),
                median(&|run| ms(run.shapes.rare))
            ),
        ),
        ("`edit.apply_patch`, one hunk in 1,000 lines, durability process, p50 / p99, ms", spread(&|run| run.edits.one, 1.0)),
        (
            "`edit.apply_patch`, 40 files, durability power / as many files written and synced plainly, ms",
            format!("{:.1} / {:.1}", median(&|run| ms(run.edits.many)), median(&|run| ms(run.edits.syncs))),
        ),
        ("`daemon.status` round trip p50 / p99, us (5,000 calls)", spread(&|run| run.round_trip, 1e3)),
        ("exec to ready, ms (median of 20)", format!("{:.1}", median(&|run| ms(run.start)))),
        ("idle resident memory, MiB", format!("{:.1}", median(&|run| run.idle_mib))),
    ];
    println!("| measure | value |\n|---|---|");
    for (name, value) in rows {
        println!("| {name} | {value} |");
    }
}

/// Cores, and the processor's own name.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = info.lines().find_map(|line| line.strip_prefix("model name")?.split(':').nth(1));
    format!("{cores} cores, {}", name.map_or("unknown processor", str::trim))
}
