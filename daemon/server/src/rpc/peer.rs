//! A connected client as the rest of the daemon sees it: who it is, its calls, its subscriptions.

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Instant,
};

use ccd_protocol::daemon::ConnectionStatus;
use jsonrpsee::types::Id;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};

use crate::rpc::{call::Control, subscriptions::Subscriptions};

/// How the client speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    /// One JSON value per line.
    Lines,
    /// HTTP POST.
    Http,
}

/// What a client told of itself in `daemon.hello`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Greeting {
    /// Name and build.
    pub(crate) name: Option<String>,
    /// The caller's working folder.
    pub(crate) cwd: Option<PathBuf>,
}

/// A connected client.
pub(crate) struct Peer {
    /// In the order of connecting.
    pub(crate) id: u64,
    /// As the kernel tells it.
    pub(crate) pid: Option<u32>,
    /// How it speaks; a connection that has said nothing yet counts as lines.
    pub(crate) transport: Transport,
    since: Instant,
    /// Calls allowed at once.
    limit: u32,
    /// One a call under way.
    permits: Arc<Semaphore>,
    places: Semaphore,
    greeting: Mutex<Greeting>,
    calls: Mutex<Vec<(u64, Id<'static>, Arc<Control>)>>,
    next_call: AtomicU64,
    /// What it wants to be told.
    pub(crate) subscriptions: Subscriptions,
    /// An event waits to be sent.
    pub(crate) wake: Notify,
}

/// Removes a call from the list of its peer.
pub(crate) struct Registered {
    peer: Arc<Peer>,
    serial: u64,
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut calls = self.peer.calls();
        if let Some(at) = calls.iter().position(|(serial, ..)| *serial == self.serial) {
            calls.swap_remove(at);
        }
    }
}

impl Peer {
    pub(crate) fn new(id: u64, pid: Option<u32>, transport: Transport, limit: u32, places: usize) -> Self {
        Self {
            id,
            pid,
            transport,
            since: Instant::now(),
            limit,
            permits: Arc::new(Semaphore::new(limit as usize)),
            places: Semaphore::new(places),
            greeting: Mutex::default(),
            calls: Mutex::default(),
            next_call: AtomicU64::new(0),
            subscriptions: Subscriptions::default(),
            wake: Notify::new(),
        }
    }

    fn calls(&self) -> MutexGuard<'_, Vec<(u64, Id<'static>, Arc<Control>)>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts a call on the list, so that `rpc.cancel` finds it.
    pub(crate) fn register(self: &Arc<Self>, id: Id<'static>, control: Arc<Control>) -> Registered {
        let serial = self.next_call.fetch_add(1, Relaxed);
        self.calls().push((serial, id, control));
        Registered { peer: Arc::clone(self), serial }
    }

    /// Cancels the calls with this id.
    pub(crate) fn cancel(&self, id: &Id<'_>) {
        for (_, other, control) in self.calls().iter() {
            if other == id {
                control.cancel();
            }
        }
    }

    /// Cancels every call: the client is gone.
    pub(crate) fn cancel_all(&self) {
        for (_, _, control) in self.calls().iter() {
            control.cancel();
        }
    }

    /// The right to be under way; the caller waits while as many as are allowed are.
    pub(crate) fn permits(&self) -> Arc<Semaphore> {
        Arc::clone(&self.permits)
    }

    /// A place in the line for a worker.
    pub(crate) async fn place(&self) -> SemaphorePermit<'_> {
        self.places.acquire().await.expect("the semaphore is never closed")
    }

    /// Calls under way.
    pub(crate) fn in_flight(&self) -> u32 {
        self.limit.saturating_sub(u32::try_from(self.permits.available_permits()).unwrap_or(u32::MAX))
    }

    /// Remembers what the client told of itself.
    pub(crate) fn greet(&self, greeting: Greeting) {
        *self.greeting.lock().unwrap_or_else(PoisonError::into_inner) = greeting;
    }

    /// What the client told of itself.
    pub(crate) fn greeting(&self) -> Greeting {
        self.greeting.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// For `daemon.status`.
    pub(crate) fn status(&self) -> ConnectionStatus {
        ConnectionStatus {
            pid: self.pid,
            name: self.greeting.lock().unwrap_or_else(PoisonError::into_inner).name.clone(),
            since_s: self.since.elapsed().as_secs(),
            in_flight: self.in_flight(),
        }
    }
}
