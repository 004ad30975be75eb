//! Questions of many kinds, drawn from the project itself, and how long they take.

use std::time::Duration;

use serde_json::{Value, json};

use crate::daemon::Wire;

/// Questions of each kind.
const COUNT: usize = 500;

/// Names of the project: ids for what needs a symbol, words for search.
pub(crate) struct Names {
    ids: Vec<String>,
    words: Vec<String>,
}

impl Names {
    /// Spread over the alphabet, so that rare and common names are both there.
    pub(crate) fn collect(wire: &mut Wire, root: &str) -> anyhow::Result<Self> {
        let (mut ids, mut words) = (Vec::new(), Vec::new());
        let letters = "abcdefghijklmnopqrstuvwxyz";
        for first in letters.chars() {
            for second in ["", "e", "o", "r"] {
                let params = json!({"workspace": root, "query": format!("{first}{second}"), "kinds": ["function", "method", "struct", "class"], "limit": 20});
                let found = wire.call("graph.search", &params)?;
                for symbol in found["symbols"].as_array().into_iter().flatten() {
                    let text = |field: &str| symbol[field].as_str().unwrap_or_default().to_owned();
                    ids.push(text("id"));
                    words.push(text("name"));
                }
            }
        }
        anyhow::ensure!(!ids.is_empty(), "search found no names to ask for");
        Ok(Self { ids, words })
    }

    fn id(&self, n: usize) -> &str {
        // A step that is prime to most lengths: neighbours in the list are often alike.
        &self.ids[n * 7919 % self.ids.len()]
    }

    /// Whole names, beginnings, and parts in turn.
    fn word(&self, n: usize) -> String {
        let word = &self.words[n * 7919 % self.words.len()];
        let characters = word.chars().count();
        match n % 3 {
            0 => word.clone(),
            1 => word.chars().take(characters.div_ceil(2)).collect(),
            _ => word.chars().skip(characters / 3).collect(),
        }
    }
}

/// Median and 99th percentile.
#[derive(Clone, Copy)]
pub(crate) struct Spread {
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
}

impl Spread {
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self { p50: times[times.len() / 2], p99: times[(times.len() * 99 / 100).min(times.len() - 1)] }
    }
}

pub(crate) struct Answers {
    pub(crate) search: Spread,
    pub(crate) callers: Spread,
    pub(crate) callees: Spread,
    pub(crate) impact: Spread,
}

pub(crate) fn measure(wire: &mut Wire, root: &str, names: &Names) -> anyhow::Result<Answers> {
    let mut spread = |method: &str, params: &dyn Fn(usize) -> Value| -> anyhow::Result<Spread> {
        // One round in which the daemon reads what it keeps, as it has after its first questions.
        wire.time(method, &params(0))?;
        let times = (0..COUNT).map(|n| wire.time(method, &params(n))).collect::<Result<Vec<_>, _>>()?;
        Ok(Spread::of(times))
    };
    Ok(Answers {
        search: spread("graph.search", &|n| json!({"workspace": root, "query": names.word(n)}))?,
        callers: spread("graph.callers", &|n| json!({"workspace": root, "symbol": names.id(n)}))?,
        callees: spread("graph.callees", &|n| json!({"workspace": root, "symbol": names.id(n)}))?,
        impact: spread("graph.impact", &|n| json!({"workspace": root, "symbols": [names.id(n)], "depth": 3}))?,
    })
}
