//! What shall be started.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use crate::{environment::Environment, wire::Settings};

/// A process to start: an absolute program, its arguments, and all that it is told.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Absolute, as [`crate::Lookup`] gives it.
    pub program: PathBuf,
    /// Its arguments, without its name.
    pub arguments: Vec<OsString>,
    /// The whole environment; nothing is inherited beside it but the marker.
    pub environment: Environment,
    /// The working folder.
    pub folder: PathBuf,
    /// After this time the tree is killed by the shim's own clock, whatever the daemon does. A daemon that ends its sessions
    /// itself gives a little more than its own limit, so that the gentle way comes first.
    pub ttl: Option<Duration>,
    /// What the system shall allow it.
    pub limits: Limits,
    /// Bytes that may wait for the process to read them.
    pub queue: usize,
    /// A process that reads nothing for so long, while something waits, is told nothing more: its stdin is closed.
    pub stall: Duration,
}

impl Spec {
    /// A process without arguments, in the folder `/`, without a time to live.
    #[must_use]
    pub fn new(program: impl Into<PathBuf>, environment: Environment) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            environment,
            folder: PathBuf::from("/"),
            ttl: None,
            limits: Limits::default(),
            queue: 64 << 20,
            stall: Duration::from_secs(60),
        }
    }

    /// With these arguments behind those that it has.
    #[must_use]
    pub fn arguments<A: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = A>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// In this folder.
    #[must_use]
    pub fn folder(mut self, folder: impl Into<PathBuf>) -> Self {
        self.folder = folder.into();
        self
    }

    /// With this time to live.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    pub(crate) fn settings(&self) -> Settings {
        // 0 says "no end", so a life of less than a millisecond is one.
        let ttl_ms = self.ttl.map_or(0, |ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX).max(1));
        let Limits { open_files, oom_score, nice } = self.limits;
        Settings { ttl_ms, open_files, oom_score, nice }
    }
}

/// What the system shall allow a process. It never writes a core file, which would land in the checkout. The address space
/// is not limited: some runtimes reserve far more than they use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Open files (the soft limit, at most the hard one); 0: as the daemon has it.
    pub open_files: u64,
    /// Its `oom_score_adj`: when memory ends, it goes before the daemon and its shim. 0: as the daemon has it.
    pub oom_score: i32,
    /// Its niceness; 0: as the daemon has it.
    pub nice: i32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { open_files: 4096, oom_score: 300, nice: 0 }
    }
}
