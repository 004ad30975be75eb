//! A process that was started, and the ladder that ends it.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use tokio::{sync::mpsc, time::timeout};

use crate::{
    exit::{Exit, ExitWatch, Gone},
    input::Input,
    output::Output,
    supervise::Order,
    tail::Tail,
};

/// A running process with everything below it. Dropping it kills the tree.
#[derive(Debug)]
pub struct Child {
    pub(crate) pid: u32,
    pub(crate) shim_pid: u32,
    pub(crate) owner: String,
    pub(crate) input: Input,
    pub(crate) output: Option<Output>,
    pub(crate) tail: Tail,
    pub(crate) exit: ExitWatch,
    pub(crate) orders: mpsc::Sender<Order>,
}

/// How long each step of a stop may take. A step ends early when the tree is gone.
#[derive(Clone, Copy, Debug)]
pub struct Ladder {
    /// What the protocol has for it.
    pub first: Duration,
    /// After stdin was closed.
    pub close: Duration,
    /// After SIGTERM to the tree.
    pub terminate: Duration,
    /// All of it, SIGKILL included.
    pub whole: Duration,
}

impl Ladder {
    /// For a language server: `shutdown` has 2 s.
    pub const SERVER: Self = Self::with_first(Duration::from_secs(2));
    /// For a debug adapter: `disconnect` has 1.5 s.
    pub const ADAPTER: Self = Self::with_first(Duration::from_millis(1500));

    /// The usual times after a first step of this length.
    #[must_use]
    pub const fn with_first(first: Duration) -> Self {
        let second = Duration::from_secs(1);
        Self { first, close: second, terminate: second, whole: Duration::from_secs(5) }
    }
}

/// The step after which a tree was gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Step {
    /// It had ended before.
    Before,
    /// What the protocol has for it.
    First,
    /// Its stdin was closed.
    Closed,
    /// SIGTERM.
    Terminated,
    /// SIGKILL.
    Killed,
    /// It was not gone in time. Its shim goes on.
    GivenUp,
}

/// How a stop went.
#[derive(Clone, Copy, Debug)]
pub struct Stopped {
    /// How the direct child ended, if it is known.
    pub exit: Option<Exit>,
    /// What it took.
    pub step: Step,
    /// The end of the tree; none if it was given up.
    pub gone: Option<Gone>,
    /// How long it took.
    pub took: Duration,
}

impl Child {
    /// The number of the direct child.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// The number of its shim: the root of the tree, for [`crate::memory`].
    #[must_use]
    pub fn shim_pid(&self) -> u32 {
        self.shim_pid
    }

    /// The marker that it and all that it starts carry: `<instance>:<slot>`.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Its stdin.
    #[must_use]
    pub fn input(&self) -> Input {
        self.input.clone()
    }

    /// Its stdout; once. It must be read as long as the child lives, or the child waits for it.
    pub fn take_output(&mut self) -> Option<Output> {
        self.output.take()
    }

    /// The last of its stderr.
    #[must_use]
    pub fn stderr(&self) -> Tail {
        self.tail.clone()
    }

    /// Tells when it has ended.
    #[must_use]
    pub fn exit(&self) -> ExitWatch {
        self.exit.clone()
    }

    /// Ends the tree by steps: `first` is what the protocol has for it (ask for the shutdown, await the answer, send the
    /// exit); then stdin is closed; then SIGTERM; then SIGKILL. `first` is dropped when its time is over or the tree is gone.
    /// Someone must go on reading the output meanwhile.
    pub async fn stop(self, first: impl Future, ladder: Ladder) -> Stopped {
        let begun = Instant::now();
        let mut watch = self.exit.clone();
        if watch.now().is_some() {
            // Its shim kills the rest already.
            let gone = watch.gone_within(ladder.whole).await;
            return stopped(&watch, Step::Before, gone, begun);
        }
        let first = async {
            if timeout(ladder.first, first).await.is_err() {
                tracing::debug!(owner = self.owner, "no end by the protocol in time");
            }
        };
        let gone = {
            let mut gone = watch.clone();
            tokio::select! {
                () = first => None,
                gone = gone.gone_within(ladder.whole) => gone,
            }
        };
        if gone.is_some() {
            return stopped(&watch, Step::First, gone, begun);
        }
        self.input.close();
        if let Some(gone) = watch.gone_within(ladder.close).await {
            return stopped(&watch, Step::Closed, Some(gone), begun);
        }
        // The queue of orders is longer than the ladder, and full only where the supervisor is stuck.
        let _ = self.orders.try_send(Order::Terminate);
        if let Some(gone) = watch.gone_within(ladder.terminate).await {
            return stopped(&watch, Step::Terminated, Some(gone), begun);
        }
        self.kill_at(begun, ladder.whole).await
    }

    /// Kills the tree at once, and waits so long for its end.
    pub async fn kill(self, limit: Duration) -> Stopped {
        self.kill_at(Instant::now(), limit).await
    }

    async fn kill_at(self, begun: Instant, whole: Duration) -> Stopped {
        let mut watch = self.exit.clone();
        let _ = self.orders.try_send(Order::Kill);
        let gone = watch.gone_within(whole.saturating_sub(begun.elapsed())).await;
        stopped(&watch, if gone.is_some() { Step::Killed } else { Step::GivenUp }, gone, begun)
    }
}

fn stopped(watch: &ExitWatch, step: Step, gone: Option<Gone>, begun: Instant) -> Stopped {
    Stopped { exit: watch.now(), step, gone, took: begun.elapsed() }
}
