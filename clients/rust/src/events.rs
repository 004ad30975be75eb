//! Events on the client's side: one bounded queue a subscription.
//!
//! The transport takes `event` lines out of the stream, because jsonrpsee binds a subscription to a
//! subscribe call whose result is the bare id, and ours is an object. A queue that is full drops the
//! new event and counts it: a slow reader neither stops the connection nor grows its memory.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ccd_protocol::events::Event;
use tokio::sync::{Notify, mpsc};

/// Events that wait for a reader, at most.
const QUEUE: usize = 1024;

/// Events of subscriptions that are not known yet, at most: they may overtake the code that waits for the answer.
const EARLY: usize = 64;

#[derive(Debug)]
struct Queue {
    sender: mpsc::Sender<Event>,
    dropped: Arc<AtomicU64>,
}

#[derive(Debug, Default)]
struct Inner {
    queues: HashMap<String, Queue>,
    early: Vec<(String, Event)>,
    closed: bool,
}

/// The queues of one connection.
#[derive(Debug, Default)]
pub(crate) struct Router {
    inner: Mutex<Inner>,
    ended: Notify,
}

impl Router {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Puts an event into its queue.
    pub(crate) fn deliver(&self, subscription: &str, event: Event) {
        let mut inner = self.lock();
        let Some(queue) = inner.queues.get(subscription) else {
            if inner.early.len() < EARLY {
                inner.early.push((subscription.to_owned(), event));
            }
            return;
        };
        match queue.sender.try_send(event) {
            Ok(()) => {}
            Err(mpsc::error::TrySendError::Full(_)) => {
                queue.dropped.fetch_add(1, Ordering::Relaxed);
            }
            Err(mpsc::error::TrySendError::Closed(_)) => {
                inner.queues.remove(subscription);
            }
        }
    }

    /// Opens the queue of a subscription, with what came before.
    pub(crate) fn open(&self, subscription: &str) -> EventStream {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        let mut inner = self.lock();
        if !inner.closed {
            let early = std::mem::take(&mut inner.early);
            for (of, event) in early {
                if of == subscription {
                    // The queue is larger than what can have come early.
                    let _ = sender.try_send(event);
                } else {
                    inner.early.push((of, event));
                }
            }
            inner.queues.insert(subscription.to_owned(), Queue { sender, dropped: dropped.clone() });
        }
        EventStream { subscription: subscription.to_owned(), receiver, dropped }
    }

    /// Ends every stream: the connection is gone.
    pub(crate) fn close(&self) {
        let mut inner = self.lock();
        inner.closed = true;
        inner.queues.clear();
        inner.early.clear();
        self.ended.notify_one();
    }

    /// Waits until the receiving side has read to its end.
    pub(crate) async fn ended(&self) {
        self.ended.notified().await;
    }
}

/// The events of one subscription, in the order in which the daemon sent them. Dropping it ends the
/// delivery on this side; [`Client::unsubscribe`](crate::Client::unsubscribe) also tells the daemon.
#[derive(Debug)]
pub struct EventStream {
    subscription: String,
    receiver: mpsc::Receiver<Event>,
    dropped: Arc<AtomicU64>,
}

impl EventStream {
    /// As `events.unsubscribe` takes it.
    pub fn subscription(&self) -> &str {
        &self.subscription
    }

    /// The next event; `None` once the connection is gone. Waits without a limit of its own: see [`Self::next_within`].
    pub async fn next(&mut self) -> Option<Event> {
        self.receiver.recv().await
    }

    /// The next event, `None` once the connection is gone, or an error after `limit`.
    pub async fn next_within(&mut self, limit: Duration) -> Result<Option<Event>, tokio::time::error::Elapsed> {
        tokio::time::timeout(limit, self.receiver.recv()).await
    }

    /// Events that this side dropped because nobody read them.
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }
}
