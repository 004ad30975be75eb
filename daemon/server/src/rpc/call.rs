//! One call: who makes it, how it ends early, in which phase it is.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU8, Ordering::Relaxed},
    },
    time::Instant,
};

use ccd_corpus::Cancel;
use ccd_protocol::{ErrorKind, RpcError};
use tokio_util::sync::CancellationToken;

use crate::{
    daemon::Daemon,
    rpc::peer::Peer,
    workers::{Pool, WorkError},
};

/// How far a call is; errors of cancelled and late calls say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Phase {
    /// Not begun: as many calls as are allowed at once are under way on its connection.
    Waiting,
    /// It waits for a free worker.
    Queued,
    /// It waits for an index run.
    Indexing,
    /// A worker is at it.
    Running,
}

impl Phase {
    const ALL: [Phase; 4] = [Phase::Waiting, Phase::Queued, Phase::Indexing, Phase::Running];

    fn name(self) -> &'static str {
        match self {
            Phase::Waiting => "waiting",
            Phase::Queued => "queued",
            Phase::Indexing => "indexing",
            Phase::Running => "running",
        }
    }
}

/// The handle by which a call is ended early.
pub(crate) struct Control {
    /// When its request was read.
    pub(crate) received: Instant,
    cancelled: CancellationToken,
    /// An edit that has not begun to write shall not begin.
    stop: Cancel,
    phase: AtomicU8,
}

impl Control {
    pub(crate) fn new() -> Self {
        Self {
            received: Instant::now(),
            cancelled: CancellationToken::new(),
            stop: Cancel::new(),
            phase: AtomicU8::new(Phase::Waiting as u8),
        }
    }

    /// Ends the call: by `rpc.cancel` or by a disconnect.
    pub(crate) fn cancel(&self) {
        self.cancelled.cancel();
    }

    /// Resolves when it is cancelled.
    pub(crate) async fn cancelled(&self) {
        self.cancelled.cancelled().await;
    }

    /// Asks an edit not to begin to write.
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// Whether it was asked so.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.is_cancelled() || self.cancelled.is_cancelled()
    }

    /// Whether a worker is at it.
    pub(crate) fn is_running(&self) -> bool {
        self.phase.load(Relaxed) == Phase::Running as u8
    }

    pub(crate) fn enter(&self, phase: Phase) {
        self.phase.store(phase as u8, Relaxed);
    }

    pub(crate) fn phase(&self) -> &'static str {
        Phase::ALL[usize::from(self.phase.load(Relaxed))].name()
    }
}

/// What a handler knows of the call.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) daemon: Arc<Daemon>,
    pub(crate) peer: Arc<Peer>,
    pub(crate) control: Arc<Control>,
}

/// Sets the token of blocking work when the future that waits for it goes away.
pub(crate) struct CancelOnDrop(pub(crate) Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl Call {
    /// Runs a query on a worker. One connection holds at most as many places in the line as there are workers, so that
    /// a hundred calls of one client do not stand before the first of another.
    pub(crate) async fn query<T: Send + 'static>(&self, job: impl FnOnce(&Cancel) -> T + Send + 'static) -> Result<T, RpcError> {
        self.control.enter(Phase::Queued);
        let _place = self.peer.place().await;
        self.run(&self.daemon.queries, job).await
    }

    /// Runs a search of many files, which takes all cores by itself, so only a few run at once.
    pub(crate) async fn search<T: Send + 'static>(&self, job: impl FnOnce(&Cancel) -> T + Send + 'static) -> Result<T, RpcError> {
        self.control.enter(Phase::Queued);
        let _place = self.peer.place().await;
        self.run(&self.daemon.searches, job).await
    }

    /// Runs an edit. It looks at [`Control::is_stopped`] itself: what has begun to be written is finished.
    pub(crate) async fn publish<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> Result<T, RpcError> + Send + 'static,
    ) -> Result<T, RpcError> {
        self.control.enter(Phase::Queued);
        let turn = self.daemon.edits_pool.turn().await;
        self.control.enter(Phase::Running);
        self.daemon.edits_pool.run(turn, job).await.map_err(|error| self.daemon.work_failed(error))?
    }

    /// Runs a job on a pool.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        pool: &Pool,
        job: impl FnOnce(&Cancel) -> T + Send + 'static,
    ) -> Result<T, RpcError> {
        let turn = pool.turn().await;
        self.control.enter(Phase::Running);
        let cancel = Cancel::new();
        let _guard = CancelOnDrop(cancel.clone());
        pool.run(turn, move || job(&cancel)).await.map_err(|error| self.daemon.work_failed(error))
    }
}

impl Daemon {
    /// The outward error of work that has no result.
    pub(crate) fn work_failed(&self, error: WorkError) -> RpcError {
        match error {
            WorkError::Panicked(text) => self.internal(&text),
            WorkError::NoThread => RpcError::new(ErrorKind::Busy, "The system gives no more threads. Try again in a second.")
                .with("what", "threads")
                .with("limit", self.settings().workers())
                .with("retry_after_ms", 1000),
        }
    }

    /// A fault of ours: the words go to the log, the caller gets a reference to them.
    pub(crate) fn internal(&self, text: &str) -> RpcError {
        self.metrics.counters.panics.add();
        let reference = self.next_reference();
        tracing::error!(r#ref = %reference, "a handler failed; the panic before this line says where");
        tracing::debug!(r#ref = %reference, text, "what it said");
        RpcError::new(
            ErrorKind::Internal,
            format!("The daemon failed at this call; other calls go on. The log has the details under {reference}."),
        )
        .with("ref", reference)
    }
}
