//! How many processes may live, how much memory they may use together, and who goes first. Data: it starts and stops nothing.

use std::{collections::HashMap, hash::Hash, time::Instant};

/// The bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Processes (trees) that may live.
    pub processes: usize,
    /// Memory of one, in bytes: one that uses more is stopped at its next idle moment, one that uses twice as much at once.
    pub each: u64,
    /// Memory of all together, in bytes.
    pub total: u64,
}

/// What is known of one that lives.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// When it was last asked for something.
    pub used: Instant,
    /// Requests under way; while there are any it is not chosen.
    pub busy: u32,
    /// Its memory as last measured, in bytes.
    pub memory: u64,
}

/// Whether one more may start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admission<K> {
    /// Yes.
    Yes,
    /// Yes, once these were stopped: the least recently used.
    After(Vec<K>),
    /// No: all that could go are at work.
    Full,
}

/// All that live, by their key.
#[derive(Clone, Debug)]
pub struct Population<K> {
    caps: Caps,
    living: HashMap<K, Entry>,
}

impl<K: Clone + Eq + Hash> Population<K> {
    /// Nobody, under these bounds.
    #[must_use]
    pub fn new(caps: Caps) -> Self {
        Self { caps, living: HashMap::new() }
    }

    /// Other bounds from now on.
    pub fn set_caps(&mut self, caps: Caps) {
        self.caps = caps;
    }

    /// One more lives. It counts as used now, with nothing under way.
    pub fn add(&mut self, key: K, now: Instant) {
        self.living.insert(key, Entry { used: now, busy: 0, memory: 0 });
    }

    /// One is gone.
    pub fn remove(&mut self, key: &K) {
        self.living.remove(key);
    }

    /// A request to it begins.
    pub fn begin(&mut self, key: &K, now: Instant) {
        if let Some(entry) = self.living.get_mut(key) {
            entry.used = now;
            entry.busy += 1;
        }
    }

    /// A request to it has ended.
    pub fn end(&mut self, key: &K, now: Instant) {
        if let Some(entry) = self.living.get_mut(key) {
            entry.used = now;
            entry.busy = entry.busy.saturating_sub(1);
        }
    }

    /// Its memory was measured, in bytes.
    pub fn measured(&mut self, key: &K, memory: u64) {
        if let Some(entry) = self.living.get_mut(key) {
            entry.memory = memory;
        }
    }

    /// What is known of one.
    #[must_use]
    pub fn get(&self, key: &K) -> Option<&Entry> {
        self.living.get(key)
    }

    /// How many live.
    #[must_use]
    pub fn len(&self) -> usize {
        self.living.len()
    }

    /// Nobody lives.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.living.is_empty()
    }

    /// The memory of all, in bytes.
    #[must_use]
    pub fn memory(&self) -> u64 {
        self.living.values().map(|entry| entry.memory).sum()
    }

    /// Whether one more may start now.
    #[must_use]
    pub fn admit(&self) -> Admission<K> {
        let mut excess = (self.living.len() + 1).saturating_sub(self.caps.processes);
        // One that starts uses nothing yet; where all is used already, somebody goes first.
        let mut memory = self.memory();
        let mut victims = Vec::new();
        for (key, entry) in self.idle() {
            if excess == 0 && memory < self.caps.total {
                break;
            }
            victims.push(key);
            excess = excess.saturating_sub(1);
            memory -= entry.memory;
        }
        match (excess == 0 && memory < self.caps.total, victims.is_empty()) {
            (false, _) => Admission::Full,
            (true, true) => Admission::Yes,
            (true, false) => Admission::After(victims),
        }
    }

    /// Who must go for the memory they use, after a round of measuring: each that is over its own bound (at work only if it
    /// uses twice as much), then the least recently used until all fit together.
    #[must_use]
    pub fn over(&self) -> Vec<K> {
        let too_large = |entry: &Entry| entry.memory > self.caps.each && (entry.busy == 0 || entry.memory / 2 > self.caps.each);
        let mut victims: Vec<K> = self.living.iter().filter(|(_, entry)| too_large(entry)).map(|(key, _)| key.clone()).collect();
        let mut memory: u64 = self.living.values().filter(|entry| !too_large(entry)).map(|entry| entry.memory).sum();
        for (key, entry) in self.idle().into_iter().filter(|(_, entry)| !too_large(entry)) {
            if memory <= self.caps.total {
                break;
            }
            memory -= entry.memory;
            victims.push(key);
        }
        victims
    }

    /// Those without work, the least recently used first.
    fn idle(&self) -> Vec<(K, Entry)> {
        let idle = self.living.iter().filter(|(_, entry)| entry.busy == 0);
        let mut idle: Vec<(K, Entry)> = idle.map(|(key, entry)| (key.clone(), *entry)).collect();
        idle.sort_by_key(|(_, entry)| entry.used);
        idle
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Admission, Caps, Population};

    /// Each: its name, seconds since its use, requests under way, memory.
    fn population(caps: Caps, living: &[(&'static str, u64, u32, u64)]) -> Population<&'static str> {
        let mut population = Population::new(caps);
        let now = Instant::now() + Duration::from_secs(1000);
        for &(key, age, busy, memory) in living {
            let used = now.checked_sub(Duration::from_secs(age)).unwrap();
            population.add(key, used);
            (0..busy).for_each(|_| population.begin(&key, used));
            population.measured(&key, memory);
        }
        population
    }

    const CAPS: Caps = Caps { processes: 2, each: 100, total: 150 };

    #[test]
    fn the_least_recently_used_goes_and_never_one_at_work() {
        let admit = |living: &[_]| population(CAPS, living).admit();
        assert_eq!(admit(&[("a", 9, 0, 10)]), Admission::Yes);
        assert_eq!(admit(&[("a", 9, 0, 10), ("b", 5, 0, 10)]), Admission::After(vec!["a"]));
        assert_eq!(admit(&[("a", 9, 1, 10), ("b", 5, 0, 10)]), Admission::After(vec!["b"]));
        assert_eq!(admit(&[("a", 9, 1, 10), ("b", 5, 1, 10)]), Admission::Full);
        assert_eq!(admit(&[("a", 9, 0, 150)]), Admission::After(vec!["a"]));
        assert_eq!(admit(&[("a", 9, 1, 150)]), Admission::Full);
    }

    #[test]
    fn memory_is_bounded_each_and_together() {
        let over = |living: &[_]| {
            let mut over = population(CAPS, living).over();
            over.sort_unstable();
            over
        };
        assert_eq!(over(&[("a", 9, 0, 90), ("b", 5, 0, 60)]), Vec::<&str>::new());
        assert_eq!(over(&[("a", 9, 0, 90), ("b", 5, 0, 61)]), ["a"]);
        assert_eq!(over(&[("a", 9, 2, 90), ("b", 5, 0, 61)]), ["b"]);
        assert_eq!(over(&[("a", 9, 0, 101)]), ["a"]);
        assert_eq!(over(&[("a", 9, 1, 150)]), Vec::<&str>::new());
        assert_eq!(over(&[("a", 9, 1, 202)]), ["a"]);
    }

    #[test]
    fn work_that_ended_frees_it() {
        let mut population = population(CAPS, &[("a", 9, 1, 10), ("b", 5, 1, 10)]);
        population.end(&"a", Instant::now());
        assert_eq!(population.admit(), Admission::After(vec!["a"]));
        assert_eq!((population.len(), population.memory()), (2, 20));
        population.remove(&"a");
        assert_eq!(population.admit(), Admission::Yes);
    }
}
