//! Counters and latencies since the start, all atomics: recording never waits and never allocates.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use ccd_protocol::{METHODS, daemon::Latency};

/// Buckets of a histogram: 4 a power of two of microseconds, up to 2^24 µs and more.
const BUCKETS: usize = 4 * 25;

/// Times of one method.
struct Histogram {
    buckets: [AtomicU64; BUCKETS],
    max_us: AtomicU64,
    sum_us: AtomicU64,
}

impl Histogram {
    fn new() -> Self {
        Self { buckets: std::array::from_fn(|_| AtomicU64::new(0)), max_us: AtomicU64::new(0), sum_us: AtomicU64::new(0) }
    }

    fn record(&self, time: Duration) {
        let us = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        self.buckets[bucket(us)].fetch_add(1, Relaxed);
        self.max_us.fetch_max(us, Relaxed);
        self.sum_us.fetch_add(us, Relaxed);
    }

    fn read(&self) -> Latency {
        let counts: Vec<u64> = self.buckets.iter().map(|bucket| bucket.load(Relaxed)).collect();
        let count: u64 = counts.iter().sum();
        let max_us = self.max_us.load(Relaxed);
        let quantile = |hundredths: u64| {
            let wanted = (count * hundredths).div_ceil(100).max(1);
            let mut seen = 0;
            let at = counts.iter().position(|n| {
                seen += n;
                seen >= wanted
            });
            at.map_or(0, |at| upper(at).min(max_us))
        };
        Latency { count, p50_us: quantile(50), p99_us: quantile(99), max_us }
    }
}

fn bucket(us: u64) -> usize {
    if us < 4 {
        return us as usize;
    }
    let power = us.ilog2() as usize;
    let quarter = (us >> (power - 2)) as usize & 3;
    (4 * (power - 1) + quarter).min(BUCKETS - 1)
}

/// The largest value of a bucket.
fn upper(bucket: usize) -> u64 {
    if bucket < 4 {
        return bucket as u64;
    }
    let power = bucket / 4 + 1;
    ((bucket as u64 % 4 + 5) << (power - 2)) - 1
}

macro_rules! counters {
    ($($(#[doc = $doc:literal])+ $field:ident = $name:literal;)+) => {
        /// What the server counts itself; the graph has its own counters.
        #[derive(Default)]
        pub(crate) struct Counters { $($(#[doc = $doc])+ pub(crate) $field: Count,)+ }

        impl Counters {
            fn read(&self) -> BTreeMap<String, u64> {
                BTreeMap::from([$(($name.to_owned(), self.$field.get())),+])
            }
        }
    };
}

/// One counter.
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    /// Adds one.
    pub(crate) fn add(&self) {
        self.add_many(1);
    }

    /// Adds several.
    pub(crate) fn add_many(&self, more: u64) {
        self.0.fetch_add(more, Relaxed);
    }

    fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

counters! {
    /// Connections taken.
    connections = "connections_total";
    /// Connections turned away because there were too many, or because of another user.
    connections_refused = "connections_refused";
    /// Connections given up because the client did not read for too long.
    connections_stalled = "connections_stalled";
    /// Calls that ended in an error.
    errors = "calls_failed";
    /// Calls cancelled by `rpc.cancel` or a disconnect.
    cancelled = "calls_cancelled";
    /// Calls that ran into their deadline.
    deadlines = "calls_deadline_exceeded";
    /// Handlers that panicked.
    panics = "calls_panicked";
    /// Lines or bodies that were no JSON.
    broken = "requests_broken";
    /// Lines or bodies over the limit.
    too_long = "requests_too_long";
    /// Events sent to subscribers.
    events = "events_sent";
    /// Events dropped because a subscriber was slow.
    events_dropped = "events_dropped";
    /// Edits asked for.
    edits = "edits_total";
    /// Edits refused.
    edits_refused = "edits_refused";
    /// Batches of changes that the watcher reported.
    watch_batches = "watch_batches";
    /// Times the watcher lost events and the workspace was scanned again.
    watch_overflows = "watch_overflows";
}

/// All that is counted.
pub(crate) struct Metrics {
    /// By event.
    pub(crate) counters: Counters,
    methods: Vec<Histogram>,
    /// By kind of error.
    refusals: Mutex<BTreeMap<String, u64>>,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        Self {
            counters: Counters::default(),
            methods: METHODS.iter().map(|_| Histogram::new()).collect(),
            refusals: Mutex::default(),
        }
    }

    /// Records a call of the method at this index of [`METHODS`].
    pub(crate) fn call(&self, method: usize, time: Duration) {
        if let Some(histogram) = self.methods.get(method) {
            histogram.record(time);
        }
    }

    /// An edit was refused, by this kind of error.
    pub(crate) fn refused(&self, kind: &str) {
        self.counters.edits_refused.add();
        let mut kinds = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        *kinds.entry(kind.to_owned()).or_default() += 1;
    }

    /// The server's counters.
    pub(crate) fn counters(&self) -> BTreeMap<String, u64> {
        let mut counters = self.counters.read();
        let kinds = self.refusals.lock().unwrap_or_else(PoisonError::into_inner);
        counters.extend(kinds.iter().map(|(kind, count)| (format!("edits_refused_{kind}"), *count)));
        counters
    }

    /// The methods that were called.
    pub(crate) fn latencies(&self) -> BTreeMap<String, Latency> {
        let all = METHODS.iter().zip(&self.methods).map(|(method, times)| (method.name.to_owned(), times.read()));
        all.filter(|(_, latency)| latency.count > 0).collect()
    }

    /// The Prometheus text format.
    pub(crate) fn prometheus(&self, counters: &BTreeMap<String, u64>, gauges: &[(&str, u64)]) -> String {
        let mut out = String::new();
        for (name, value) in counters {
            let _ = writeln!(out, "# TYPE ccd_{name} counter\nccd_{name} {value}");
        }
        for (name, value) in gauges {
            let _ = writeln!(out, "# TYPE ccd_{name} gauge\nccd_{name} {value}");
        }
        out.push_str("# TYPE ccd_call_seconds summary\n");
        for (method, times) in METHODS.iter().zip(&self.methods) {
            let latency = times.read();
            if latency.count == 0 {
                continue;
            }
            let name = method.name;
            let seconds = |us: u64| us as f64 / 1e6;
            let _ = writeln!(out, "ccd_call_seconds{{method=\"{name}\",quantile=\"0.5\"}} {}", seconds(latency.p50_us));
            let _ = writeln!(out, "ccd_call_seconds{{method=\"{name}\",quantile=\"0.99\"}} {}", seconds(latency.p99_us));
            let _ = writeln!(out, "ccd_call_seconds_sum{{method=\"{name}\"}} {}", seconds(times.sum_us.load(Relaxed)));
            let _ = writeln!(out, "ccd_call_seconds_count{{method=\"{name}\"}} {}", latency.count);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_what_its_upper_bound_says() {
        for us in (0..5000).chain([1 << 20, (1 << 24) - 1]) {
            let at = bucket(us);
            assert!(us <= upper(at), "{us} in {at}");
            assert!(at == 0 || us > upper(at - 1), "{us} in {at}");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles() {
        let histogram = Histogram::new();
        for us in 1..=100 {
            histogram.record(Duration::from_micros(us));
        }
        let latency = histogram.read();
        assert_eq!((latency.count, latency.max_us), (100, 100));
        assert!((50..=63).contains(&latency.p50_us), "{latency:?}");
        assert!((99..=100).contains(&latency.p99_us), "{latency:?}");
    }
}
