//! The configuration in force, with what is derived from it and from the machine.

use std::sync::Arc;

use ccd_protocol::daemon::Limits;

use crate::{config::Config, rpc::MAX_BATCH};

const MIB: u64 = 1 << 20;
/// Seconds without connections after which a daemon that nobody manages ends.
const IDLE_EXIT_S: u64 = 7200;

/// One consistent set of settings; a reload makes a new one.
#[derive(Debug)]
pub(crate) struct Settings {
    /// As read.
    pub(crate) config: Config,
    /// The socket was handed over by the system's manager, which also decides when we end.
    activated: bool,
    cores: usize,
    /// Bytes.
    memory_limit: u64,
}

impl Settings {
    /// Reads what the machine says once.
    pub(crate) fn new(config: Config, activated: bool) -> Arc<Self> {
        let cores = std::thread::available_parallelism().map_or(2, usize::from);
        let memory_limit = match config.limits.memory_mib {
            Some(mib) => mib.0 * MIB,
            None => memory_of_machine() / 2,
        };
        Arc::new(Self { config, activated, cores, memory_limit })
    }

    /// The same machine with another configuration.
    pub(crate) fn with(&self, config: Config) -> Arc<Self> {
        Self::new(config, self.activated)
    }

    pub(crate) fn request_bytes(&self) -> usize {
        bytes(self.config.limits.request_mib.0)
    }

    pub(crate) fn response_bytes(&self) -> usize {
        bytes(self.config.limits.response_mib.0)
    }

    pub(crate) fn connection_bytes(&self) -> usize {
        bytes(self.config.limits.connection_mib.0)
    }

    pub(crate) fn connections(&self) -> u32 {
        small(self.config.limits.connections.0)
    }

    pub(crate) fn in_flight(&self) -> u32 {
        small(self.config.limits.in_flight.0)
    }

    pub(crate) fn subscriptions(&self) -> u32 {
        small(self.config.limits.subscriptions.0)
    }

    /// Threads for queries.
    pub(crate) fn workers(&self) -> usize {
        self.config.daemon.workers.map_or(self.cores, |workers| usize::try_from(workers.0).unwrap_or(64))
    }

    /// The configured default of a method's deadline.
    pub(crate) fn deadline_ms(&self, method: &str) -> Option<u64> {
        let configured = &self.config.limits.deadline_s.0;
        // Looked up in every call; hardly anybody configures one.
        if configured.is_empty() { None } else { configured.get(method).map(|seconds| seconds * 1000) }
    }

    /// Seconds without connections after which the daemon ends; none is never.
    pub(crate) fn idle_exit_s(&self) -> Option<u64> {
        match self.config.daemon.idle_exit_s {
            Some(exit) => (exit.0 > 0).then_some(exit.0),
            None => (!self.activated).then_some(IDLE_EXIT_S),
        }
    }

    /// Bytes that the daemon and its children may use.
    pub(crate) fn memory_limit(&self) -> u64 {
        self.memory_limit
    }

    /// As `daemon.hello` tells them.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            request_bytes: self.request_bytes() as u64,
            response_bytes: self.response_bytes() as u64,
            connection_bytes: self.connection_bytes() as u64,
            batch: MAX_BATCH as u32,
            connections: self.connections(),
            in_flight: self.in_flight(),
            subscriptions: self.subscriptions(),
        }
    }
}

fn bytes(mib: u64) -> usize {
    usize::try_from(mib.saturating_mul(MIB)).unwrap_or(usize::MAX)
}

fn small(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The memory of the machine, or of the control group if that is less.
fn memory_of_machine() -> u64 {
    let info = rustix::system::sysinfo();
    let machine = (info.totalram as u64).saturating_mul(u64::from(info.mem_unit));
    let group = std::fs::read_to_string("/sys/fs/cgroup/memory.max").ok().and_then(|text| text.trim().parse().ok());
    group.map_or(machine, |group: u64| group.min(machine))
}
