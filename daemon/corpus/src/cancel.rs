//! Cancellation of work that runs on threads.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// A flag that a caller raises and work looks at: once a file, and during a parse.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// A flag that is down.
    pub fn new() -> Self {
        Self::default()
    }

    /// Raises it; it stays up.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it is up.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
