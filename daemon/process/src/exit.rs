//! How a process ended, and waiting for it.

use std::{fmt, time::Duration};

use tokio::{sync::watch, time::timeout};

/// How the direct child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Killed by the shim: its time to live was over.
    Expired,
    /// Its shim was killed, and it with the shim; how it ended is not known.
    Lost,
}

impl Exit {
    /// It ended by itself, and says that all is well.
    #[must_use]
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }
}

/// `exit 9`, `signal 11`: as it stands in messages.
impl fmt::Display for Exit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Code(code) => write!(out, "exit {code}"),
            Self::Signal(signal) => write!(out, "signal {signal}"),
            Self::Expired => out.write_str("its time to live is over"),
            Self::Lost => out.write_str("its supervisor was killed"),
        }
    }
}

/// The end of the whole tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone {
    /// Processes that were signalled for it.
    pub killed: u32,
    /// Processes that are still there: of another user, or stuck in the kernel.
    pub left: u32,
}

/// What is known so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Fate {
    pub(crate) exit: Option<Exit>,
    pub(crate) gone: Option<Gone>,
}

/// Tells when a child has ended. Cheap to clone; a clone sees what was before it.
#[derive(Clone, Debug)]
pub struct ExitWatch(pub(crate) watch::Receiver<Fate>);

impl ExitWatch {
    /// How it ended, if it has.
    #[must_use]
    pub fn now(&self) -> Option<Exit> {
        self.0.borrow().exit
    }

    /// Waits for the end of the direct child; as long as it lives, so race it with a deadline or use [`ExitWatch::within`].
    pub async fn wait(&mut self) -> Exit {
        match self.0.wait_for(|fate| fate.exit.is_some()).await {
            Ok(fate) => fate.exit.unwrap_or(Exit::Lost),
            // Nobody supervises it any more: the runtime ends.
            Err(_) => Exit::Lost,
        }
    }

    /// Waits for the end of the direct child for so long.
    pub async fn within(&mut self, limit: Duration) -> Option<Exit> {
        timeout(limit, self.wait()).await.ok()
    }

    /// Waits for the end of the whole tree for so long.
    pub async fn gone_within(&mut self, limit: Duration) -> Option<Gone> {
        let gone = self.0.wait_for(|fate| fate.gone.is_some());
        timeout(limit, gone).await.ok()?.ok()?.gone
    }
}
