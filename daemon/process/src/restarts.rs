//! When a process that crashes may be started again. Data: the clock is the caller's.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

/// Starts that may be made within the window.
const STARTS: usize = 5;
const WINDOW: Duration = Duration::from_secs(3 * 60);
const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(60);

/// Whether it may be started now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Yes.
    Start,
    /// Not before this moment: it has just crashed.
    Wait(Instant),
    /// Not until [`Restarts::reset`]: it was started five times in three minutes and always crashed.
    Quarantined,
}

/// The starts and crashes of one server. After a crash it waits 1, 2, 4 … 60 s, with some chance so that many do not start in
/// one moment; five starts in three minutes that all ended in a crash are the last.
#[derive(Clone, Debug, Default)]
pub struct Restarts {
    starts: VecDeque<Instant>,
    crashes: u32,
    wait_until: Option<Instant>,
    quarantined: bool,
}

impl Restarts {
    /// Whether it may be started.
    #[must_use]
    pub fn verdict(&self, now: Instant) -> Verdict {
        match self.wait_until {
            _ if self.quarantined => Verdict::Quarantined,
            Some(until) if until > now => Verdict::Wait(until),
            _ => Verdict::Start,
        }
    }

    /// It is being started.
    pub fn started(&mut self, now: Instant) {
        self.forget(now);
        self.starts.push_back(now);
    }

    /// It ended, and nobody wanted it to; or it could not be started. `chance` is a number from 0 to 1 from anywhere: it
    /// makes the wait up to a quarter longer. Returns how long to wait, or none if it is quarantined.
    pub fn crashed(&mut self, now: Instant, chance: f64) -> Option<Duration> {
        self.forget(now);
        if self.starts.len() >= STARTS {
            self.quarantined = true;
            self.wait_until = None;
            return None;
        }
        let wait = FIRST.saturating_mul(1 << self.crashes.min(10)).min(LONGEST);
        let wait = wait + wait.mul_f64(chance.clamp(0.0, 1.0) / 4.0);
        self.crashes += 1;
        self.wait_until = Some(now + wait);
        Some(wait)
    }

    /// It ended because we wanted it: that start counts no more.
    pub fn stopped(&mut self) {
        self.starts.pop_back();
    }

    /// Forget all: its configuration, its binary or its marker changed, or a person asked for it.
    pub fn reset(&mut self) {
        *self = Self::default();
    }

    /// Crashes since it last ran well for three minutes.
    #[must_use]
    pub fn crashes(&self) -> u32 {
        self.crashes
    }

    fn forget(&mut self, now: Instant) {
        while self.starts.front().is_some_and(|start| now.saturating_duration_since(*start) >= WINDOW) {
            self.starts.pop_front();
            // A run that outlived the window was no crash at the start: the waits begin anew.
            if self.starts.is_empty() {
                self.crashes = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Restarts, Verdict};

    #[test]
    fn a_crash_loop_is_five_starts() {
        let (mut restarts, begun) = (Restarts::default(), Instant::now());
        let (mut now, mut starts, mut waits) = (begun, 0, Vec::new());
        while now < begun + Duration::from_secs(3600) {
            match restarts.verdict(now) {
                Verdict::Start => {
                    restarts.started(now);
                    starts += 1;
                    now += Duration::from_millis(50);
                    waits.extend(restarts.crashed(now, 0.0).map(|wait| wait.as_secs()));
                }
                Verdict::Wait(until) => now = until,
                Verdict::Quarantined => break,
            }
        }
        assert_eq!((starts, &waits[..]), (5, &[1, 2, 4, 8][..]));
        restarts.reset();
        assert_eq!(restarts.verdict(now), Verdict::Start);
    }

    #[test]
    fn slow_crashes_wait_a_minute_at_most_and_are_not_quarantined() {
        let (mut restarts, mut now) = (Restarts::default(), Instant::now());
        let mut waits = Vec::new();
        for _ in 0..9 {
            restarts.started(now);
            now += Duration::from_secs(50);
            let wait = restarts.crashed(now, 1.0).unwrap();
            waits.push(wait.as_millis());
            now += wait;
        }
        assert_eq!(waits[..4], [1250, 2500, 5000, 10000]);
        assert!(waits.iter().all(|wait| *wait <= 75_000), "{waits:?}");
    }

    #[test]
    fn a_long_run_is_forgiven_and_a_stop_is_no_crash() {
        let (mut restarts, mut now) = (Restarts::default(), Instant::now());
        for _ in 0..20 {
            restarts.started(now);
            restarts.stopped();
        }
        assert_eq!(restarts.verdict(now), Verdict::Start);
        restarts.started(now);
        restarts.crashed(now, 0.0);
        now += Duration::from_secs(2);
        restarts.started(now);
        now += Duration::from_secs(200);
        assert_eq!(restarts.crashed(now, 0.0), Some(Duration::from_secs(1)));
    }
}
