//! Subscriptions: filters, sequence numbers, a bounded buffer each.
//!
//! A slow reader is never closed and never holds up a publisher: when its buffer is full, events are dropped and one
//! `lagged` event tells how many, in the place where they would have stood.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    },
};

use ccd_protocol::events::{EVENT_METHOD, Topic};
use serde::Serialize;
use serde_json::value::RawValue;

/// Events that wait for a slow reader.
const BUFFER: usize = 256;

/// An event before it is addressed to a subscription.
#[derive(Clone)]
pub(crate) struct Published {
    pub(crate) topic: Topic,
    /// The workspace it belongs to; none for the daemon's own.
    pub(crate) root: Option<Arc<str>>,
    pub(crate) token: Option<Arc<str>>,
    /// An object, as JSON.
    pub(crate) data: Arc<RawValue>,
}

/// What a subscriber asked for.
pub(crate) struct Filter {
    pub(crate) topics: Vec<Topic>,
    pub(crate) workspace: Option<Arc<str>>,
}

impl Filter {
    fn takes(&self, event: &Published) -> bool {
        self.topics.contains(&event.topic)
            && match (&self.workspace, &event.root) {
                (Some(wanted), Some(root)) => wanted == root,
                _ => true,
            }
    }
}

enum Waiting {
    Event { seq: u64, event: Published },
    Lagged { seq: u64, missed: u64 },
}

struct Subscription {
    id: String,
    filter: Filter,
    seq: u64,
    waiting: VecDeque<Waiting>,
}

/// The subscriptions of one connection.
#[derive(Default)]
pub(crate) struct Subscriptions {
    /// Read before the lock is taken: most connections have none.
    count: AtomicUsize,
    list: Mutex<Vec<Subscription>>,
}

/// Ids are never reused within one daemon.
static NEXT: AtomicU64 = AtomicU64::new(1);

impl Subscriptions {
    fn list(&self) -> MutexGuard<'_, Vec<Subscription>> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds one; none if the connection has as many as it may.
    pub(crate) fn add(&self, filter: Filter, limit: u32) -> Option<String> {
        let mut list = self.list();
        if list.len() >= limit as usize {
            return None;
        }
        let id = format!("s{}", NEXT.fetch_add(1, Relaxed));
        list.push(Subscription { id: id.clone(), filter, seq: 0, waiting: VecDeque::new() });
        self.count.store(list.len(), Relaxed);
        Some(id)
    }

    /// Removes one; false if there is no such.
    pub(crate) fn remove(&self, id: &str) -> bool {
        let mut list = self.list();
        let before = list.len();
        list.retain(|subscription| subscription.id != id);
        self.count.store(list.len(), Relaxed);
        list.len() < before
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.count.load(Relaxed)
    }

    /// Hands an event to those that asked for it; says how many took it and how many had to drop it.
    pub(crate) fn publish(&self, event: &Published) -> (u64, u64) {
        if self.len() == 0 {
            return (0, 0);
        }
        let (mut taken, mut dropped) = (0, 0);
        for subscription in self.list().iter_mut().filter(|subscription| subscription.filter.takes(event)) {
            subscription.seq += 1;
            let seq = subscription.seq;
            if subscription.waiting.len() < BUFFER {
                subscription.waiting.push_back(Waiting::Event { seq, event: event.clone() });
                taken += 1;
                continue;
            }
            dropped += 1;
            match subscription.waiting.back_mut() {
                Some(Waiting::Lagged { seq: last, missed }) => (*last, *missed) = (seq, *missed + 1),
                _ => subscription.waiting.push_back(Waiting::Lagged { seq, missed: 1 }),
            }
        }
        (taken, dropped)
    }

    /// Writes the next waiting event as a line; false if none waits. Subscriptions take turns.
    pub(crate) fn next_line(&self, out: &mut Vec<u8>) -> bool {
        if self.len() == 0 {
            return false;
        }
        let mut list = self.list();
        let Some(at) = list.iter().position(|subscription| !subscription.waiting.is_empty()) else { return false };
        let subscription = &mut list[at];
        let Some(waiting) = subscription.waiting.pop_front() else { return false };
        write_line(out, &subscription.id, waiting);
        // The one that was served goes behind the others.
        list[at..].rotate_left(1);
        true
    }
}

#[derive(Serialize)]
struct Notification<'a> {
    jsonrpc: &'static str,
    method: &'static str,
    params: NotificationParams<'a>,
}

#[derive(Serialize)]
struct NotificationParams<'a> {
    subscription: &'a str,
    result: EventLine<'a>,
}

#[derive(Serialize)]
struct EventLine<'a> {
    seq: u64,
    topic: Topic,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<&'a str>,
    data: &'a RawValue,
}

fn write_line(out: &mut Vec<u8>, subscription: &str, waiting: Waiting) {
    let lagged;
    let result = match &waiting {
        Waiting::Event { seq, event } => {
            EventLine { seq: *seq, topic: event.topic, token: event.token.as_deref(), data: &event.data }
        }
        Waiting::Lagged { seq, missed } => {
            lagged = RawValue::from_string(format!("{{\"missed\":{missed}}}")).expect("it is JSON");
            EventLine { seq: *seq, topic: Topic::Lagged, token: None, data: &lagged }
        }
    };
    let line = Notification { jsonrpc: "2.0", method: EVENT_METHOD, params: NotificationParams { subscription, result } };
    serde_json::to_writer(&mut *out, &line).expect("writing to memory cannot fail");
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(topic: Topic, root: &str) -> Published {
        Published {
            topic,
            root: Some(root.into()),
            token: None,
            data: RawValue::from_string("{}".to_owned()).expect("JSON").into(),
        }
    }

    fn lines(subscriptions: &Subscriptions) -> Vec<String> {
        let mut out = Vec::new();
        while subscriptions.next_line(&mut out) {}
        let text = String::from_utf8(out).expect("UTF-8");
        text.lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).expect("JSON")["params"]["result"].to_string())
            .collect()
    }

    #[test]
    fn a_slow_reader_is_told_how_many_it_missed() {
        let subscriptions = Subscriptions::default();
        subscriptions.add(Filter { topics: vec![Topic::IndexDone], workspace: Some("/p".into()) }, 1).expect("room");
        assert!(subscriptions.add(Filter { topics: vec![], workspace: None }, 1).is_none());
        for _ in 0..BUFFER + 10 {
            subscriptions.publish(&event(Topic::IndexDone, "/p"));
            subscriptions.publish(&event(Topic::IndexDone, "/q"));
            subscriptions.publish(&event(Topic::IndexProgress, "/p"));
        }
        let told = lines(&subscriptions);
        assert_eq!(told.len(), BUFFER + 1);
        assert_eq!(told[0], r#"{"data":{},"seq":1,"topic":"index.done"}"#);
        assert_eq!(told[BUFFER], r#"{"data":{"missed":10},"seq":266,"topic":"lagged"}"#);
        subscriptions.publish(&event(Topic::IndexDone, "/p"));
        assert_eq!(lines(&subscriptions), [r#"{"data":{},"seq":267,"topic":"index.done"}"#]);
    }
}
