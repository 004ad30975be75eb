//! Structural search beside another program that does it: seconds of a processor, as a ratio, in one sitting.

use std::{fs, path::Path, process::Command, time::Duration};

use anyhow::{Context as _, bail};
use serde_json::json;

use crate::daemon::{Daemon, Wire};

/// A tick of `/proc/<pid>/stat`: `USER_HZ` is 100 on every Linux that we build for.
const TICK: Duration = Duration::from_millis(10);

/// What is searched for, by language: seldom there, often there, everywhere, with a name twice.
const PATTERNS: [(&str, [&str; 4]); 3] = [
    ("go", ["defer $X.RUnlock()", "if err != nil { return err }", "$F($$$ARGS)", "$A = append($A, $$$B)"]),
    ("rust", ["std::env::var_os($X)", "$X.unwrap()", "$F($$$ARGS)", "self.$F = $F"]),
    ("typescript", ["requestAnimationFrame($F)", "$X.map($F)", "$F($$$ARGS)", "$A && $A.$B"]),
];

/// One pattern: seconds of a processor and matches, of the daemon's first and second answer and of the peer.
struct Row {
    pattern: &'static str,
    ours: [Duration; 2],
    wall: [Duration; 2],
    matches: u64,
    peer: Duration,
    peer_matches: usize,
}

/// Compares with `program`, which takes the arguments of ast-grep, and prints a table of medians.
pub(crate) fn compare(program: &Path, language: &str, folder: &Path, runs: usize, scratch: &Path) -> anyhow::Result<()> {
    let Some((_, patterns)) = PATTERNS.iter().find(|(known, _)| *known == language) else {
        bail!("--language is one of {}", PATTERNS.map(|(known, _)| known).join(", "));
    };
    println!(
        "| pattern | matches, ours / peer | first answer: user s, ours / peer = ratio (wall s) | second answer: user s (wall s) |\n|---|---|---|---|"
    );
    for (number, pattern) in patterns.iter().enumerate() {
        let rows = (0..runs).map(|run| row(program, language, folder, pattern, &scratch.join(format!("{number}-{run}"))));
        let rows = rows.collect::<anyhow::Result<Vec<_>>>()?;
        let median = |of: &dyn Fn(&Row) -> Duration| {
            let mut times: Vec<Duration> = rows.iter().map(of).collect();
            times.sort_unstable();
            times[times.len() / 2].as_secs_f64()
        };
        let (first, peer) = (median(&|row| row.ours[0]), median(&|row| row.peer));
        println!(
            "| `{}` | {} / {} | {first:.2} / {peer:.2} = {:.2} ({:.2}) | {:.2} ({:.2}) |",
            rows[0].pattern,
            rows[0].matches,
            rows[0].peer_matches,
            first / peer.max(TICK.as_secs_f64()),
            median(&|row| row.wall[0]),
            median(&|row| row.ours[1]),
            median(&|row| row.wall[1]),
        );
    }
    Ok(())
}

fn row(program: &Path, language: &str, folder: &Path, pattern: &'static str, base: &Path) -> anyhow::Result<Row> {
    let daemon = Daemon::start(base)?;
    let mut wire = Wire::connect(&daemon.paths)?;
    let root = folder.to_str().context("the folder is not UTF-8")?;
    wire.call("workspace.open", &json!({"root": root, "index": false}))?;
    let pid = wire.call("daemon.status", &json!({}))?["pid"].as_u64().context("no pid")?;
    let params = json!({"workspace": root, "language": language, "pattern": pattern, "limit": 1000, "deadline_ms": 120_000});
    let (mut ours, mut wall, mut matches) = ([Duration::ZERO; 2], [Duration::ZERO; 2], 0);
    for turn in 0..2 {
        let before = user_time(pid, 14)?;
        let begun = std::time::Instant::now();
        let found = wire.call("ast.grep", &params)?;
        wall[turn] = begun.elapsed();
        ours[turn] = user_time(pid, 14)?.saturating_sub(before);
        matches = found["total"].as_u64().unwrap_or_default();
    }
    drop(wire);
    daemon.stop()?;
    let own = u64::from(std::process::id());
    let before = user_time(own, 16)?;
    let arguments = ["run", "--lang", language, "--pattern", pattern, "--json=stream"];
    let output = Command::new(program).args(arguments).arg(folder).output().context("the peer does not run")?;
    let peer = user_time(own, 16)?.saturating_sub(before);
    let peer_matches = output.stdout.iter().filter(|byte| **byte == b'\n').count();
    Ok(Row { pattern, ours, wall, matches, peer, peer_matches })
}

/// A field of `/proc/<pid>/stat`, counted from 1, that is a time: 14 is the user time, 16 that of children that ended.
fn user_time(pid: u64, field: usize) -> anyhow::Result<Duration> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, fields) = stat.rsplit_once(')').context("no name in stat")?;
    let ticks: u32 = fields.split_ascii_whitespace().nth(field - 3).context("too few fields")?.parse()?;
    Ok(TICK * ticks)
}
