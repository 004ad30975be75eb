//! Structural search over the project: every call, with trees that are parsed and with kept ones, and a rare shape.

use std::time::Duration;

use serde_json::json;

use crate::daemon::Wire;

/// Questions of which the median is told.
const TIMES: usize = 5;

#[derive(Clone, Copy)]
pub(crate) struct Shapes {
    /// Every file is parsed.
    pub(crate) first: Duration,
    /// As many trees as fit are kept.
    pub(crate) again: Duration,
    /// Hardly any file has its words.
    pub(crate) rare: Duration,
}

/// On a daemon that has searched nothing yet.
pub(crate) fn measure(wire: &mut Wire, root: &str) -> anyhow::Result<Shapes> {
    let mut ask = |pattern: &str| {
        let params = json!({"workspace": root, "language": "rust", "pattern": pattern, "limit": 1, "deadline_ms": 120_000});
        wire.time("ast.grep", &params)
    };
    let every = "$F($$$ARGS)";
    let first = ask(every)?;
    let mut median = |pattern: &str| -> anyhow::Result<Duration> {
        let mut times = (0..TIMES).map(|_| ask(pattern)).collect::<Result<Vec<_>, _>>()?;
        times.sort_unstable();
        Ok(times[TIMES / 2])
    };
    Ok(Shapes { first, again: median(every)?, rare: median("$X.unwrap_or_default().checked_add($Y)")? })
}
