//! The registry of connections: how many there are, and which.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Instant,
};

use crate::rpc::peer::{Peer, Transport};

/// All connections.
#[derive(Clone, Default)]
pub(crate) struct Connections(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    next: AtomicU64,
}

struct State {
    /// Admitted, greeted or not.
    count: u32,
    peers: BTreeMap<u64, Arc<Peer>>,
    /// When the last connection of another process ended.
    last_used: Instant,
}

impl Default for State {
    fn default() -> Self {
        Self { count: 0, peers: BTreeMap::new(), last_used: Instant::now() }
    }
}

/// A place among the connections that are allowed at once.
pub(crate) struct Admission(Connections);

/// A connection on the list; leaving the scope takes it off.
pub(crate) struct Entered {
    connections: Connections,
    peer: Arc<Peer>,
    admission: Option<Admission>,
}

impl Connections {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A place, if fewer than `limit` are taken.
    pub(crate) fn admit(&self, limit: u32) -> Option<Admission> {
        let mut state = self.state();
        if state.count >= limit {
            return None;
        }
        state.count += 1;
        Some(Admission(self.clone()))
    }

    /// The clients, oldest first.
    pub(crate) fn peers(&self) -> Vec<Arc<Peer>> {
        self.state().peers.values().cloned().collect()
    }

    /// Connections at present.
    pub(crate) fn count(&self) -> u32 {
        self.state().count
    }

    /// Since when no other process is connected; none while one is.
    pub(crate) fn idle_since(&self) -> Option<Instant> {
        let state = self.state();
        let own = Some(std::process::id());
        state.peers.values().all(|peer| peer.pid == own).then_some(state.last_used)
    }

    fn add(&self, pid: Option<u32>, transport: Transport, limit: u32, places: usize) -> Arc<Peer> {
        let id = self.0.next.fetch_add(1, Relaxed) + 1;
        let peer = Arc::new(Peer::new(id, pid, transport, limit, places));
        self.state().peers.insert(id, Arc::clone(&peer));
        peer
    }
}

impl Admission {
    /// Puts the connection on the list.
    pub(crate) fn enter(self, pid: Option<u32>, transport: Transport, limit: u32, places: usize) -> Entered {
        let connections = self.0.clone();
        let peer = connections.add(pid, transport, limit, places);
        Entered { connections, peer, admission: Some(self) }
    }
}

impl Drop for Admission {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.count = state.count.saturating_sub(1);
    }
}

impl Entered {
    /// The client.
    pub(crate) fn peer(&self) -> &Arc<Peer> {
        &self.peer
    }

    /// The same connection, now known to speak `transport`.
    pub(crate) fn again(mut self, pid: Option<u32>, transport: Transport, limit: u32, places: usize) -> Entered {
        let peer = self.connections.add(pid, transport, limit, places);
        Entered { connections: self.connections.clone(), peer, admission: self.admission.take() }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let mut state = self.connections.state();
        state.peers.remove(&self.peer.id);
        if self.peer.pid != Some(std::process::id()) {
            state.last_used = Instant::now();
        }
    }
}
