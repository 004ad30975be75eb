//! Starting, serving, draining.

use std::{io, sync::Arc, time::Duration};

use ccd_files::{PrivateFolderError, private_folder};
use sd_notify::NotifyState;
use tokio::{
    net::UnixListener,
    runtime::{Builder, Runtime},
    signal::unix::{Signal, SignalKind, signal},
};

use crate::{
    config::{self, ConfigError},
    daemon::{BUILD, Daemon},
    lifecycle::{
        Lock, LockError, Paths, PathsError,
        listener::{ListenError, Listener, Place},
        tend,
    },
    rpc::accept::accept,
    telemetry::{self, LogFile},
};

/// Calls under way have this long to end. With what follows, an end takes 15 s at most.
const DRAIN: Duration = Duration::from_secs(13);
/// Threads that still work have this long.
const THREADS: Duration = Duration::from_millis(500);
/// Graphs are written out within this.
const CLOSE: Duration = Duration::from_secs(1);
/// How often draining looks whether the last connection is gone.
const DRAIN_LOOK: Duration = Duration::from_millis(10);
/// Threads for the sockets: one can parse a large request while the other answers.
const ASYNC_THREADS: usize = 2;

/// Why the daemon does not start; one sentence each.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The environment names no folders.
    #[error(transparent)]
    Paths(#[from] PathsError),
    /// A folder cannot be used.
    #[error(transparent)]
    Folder(#[from] PrivateFolderError),
    /// Another daemon lives, or the lock file cannot be used.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The configuration is wrong.
    #[error("the configuration is wrong: {0}")]
    Config(#[from] ConfigError),
    /// No socket.
    #[error("{0}")]
    Socket(String),
    /// No log, no threads, no signals.
    #[error("{what} cannot be set up: {error}")]
    System {
        /// What.
        what: &'static str,
        /// Why.
        error: io::Error,
    },
}

impl From<ListenError> for StartError {
    fn from(error: ListenError) -> Self {
        Self::Socket(error.to_string())
    }
}

impl StartError {
    /// Another daemon serves already.
    pub fn is_held(&self) -> bool {
        matches!(self, Self::Lock(LockError::Held { .. }))
    }
}

/// A daemon whose socket takes connections already; they are answered when it [serves](Started::serve).
pub struct Started {
    daemon: Arc<Daemon>,
    runtime: Runtime,
    listener: UnixListener,
    signals: Signals,
    place: Place,
    lock: Arc<Lock>,
    socket: std::path::PathBuf,
}

struct Signals {
    term: Signal,
    int: Signal,
    hup: Signal,
}

/// New files of a workspace get the mode that the user's own tools would give them, so the umask of whoever started us
/// stays; what is ours lies in folders that are closed to others. A unit of systemd closes everything to others, which
/// is no wish of the user: then the common one is taken.
fn users_umask() {
    let closed = rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO;
    let given = rustix::process::umask(closed);
    let common = rustix::fs::Mode::WGRP | rustix::fs::Mode::WOTH;
    rustix::process::umask(if given.contains(closed) { common } else { given });
}

/// Settles what an earlier process left half written; edits wait for it, nothing else does.
fn settle_edits(daemon: &Arc<Daemon>) {
    let daemon = Arc::clone(daemon);
    let started = std::thread::Builder::new().name("recovery".to_owned()).stack_size(1 << 20).spawn(move || {
        if let Err(error) = daemon.edits.recover() {
            tracing::error!(%error, "edits cannot be made");
        }
    });
    if let Err(error) = started {
        // The first edit does it.
        tracing::warn!(%error, "no thread for recovery");
    }
}

/// Takes the lock and the socket. Nothing is left behind by a start that is refused.
pub fn start(paths: Paths) -> Result<Started, StartError> {
    users_umask();
    private_folder(&paths.runtime)?;
    if paths.socket_folder != paths.runtime {
        private_folder(&paths.socket_folder)?;
    }
    let lock = Arc::new(Lock::take(&paths.lock(), &paths.socket)?);
    let config = config::load(&paths.config_file())?;
    private_folder(&paths.state)?;
    // It is made when it is needed; one that is there is checked before anybody is served.
    if paths.cache.symlink_metadata().is_ok() {
        private_folder(&paths.cache)?;
    }
    let log = LogFile {
        folder: &paths.state,
        bytes: config.log.file_mib.0 << 20,
        files: u32::try_from(config.log.files.0).unwrap_or(u32::MAX),
    };
    telemetry::start(config.log.level.0, &log).map_err(|error| StartError::System { what: "the log", error })?;
    let listener = match Listener::inherited(&paths.socket)? {
        Some(listener) => listener,
        None => Listener::bind(&paths.socket)?,
    };
    raise_file_limit();
    // A checkout must be free to be removed, and relative paths must mean nothing here.
    std::env::set_current_dir("/").map_err(|error| StartError::System { what: "the working folder", error })?;
    let runtime = Builder::new_multi_thread()
        .worker_threads(ASYNC_THREADS)
        .max_blocking_threads(16)
        .thread_keep_alive(Duration::from_secs(5))
        .thread_name("socket")
        .enable_all()
        .build()
        .map_err(|error| StartError::System { what: "the threads", error })?;
    let (place, activated, socket) = (listener.place(), listener.activated, listener.path().to_path_buf());
    let daemon = Daemon::new(paths, config, activated);
    settle_edits(&daemon);
    tracing::info!(build = BUILD, instance = %daemon.instance, activated, "started");
    let system = |what| move |error| StartError::System { what, error };
    let (listener, signals) = {
        let _inside = runtime.enter();
        let signals = Signals {
            term: signal(SignalKind::terminate()).map_err(system("signals"))?,
            int: signal(SignalKind::interrupt()).map_err(system("signals"))?,
            hup: signal(SignalKind::hangup()).map_err(system("signals"))?,
        };
        (UnixListener::from_std(listener.socket).map_err(system("the socket"))?, signals)
    };
    Ok(Started { daemon, runtime, listener, signals, place, lock, socket })
}

impl Started {
    /// Where it serves.
    pub fn socket(&self) -> &std::path::Path {
        &self.socket
    }

    /// Serves until it is told to end, or has nothing to do for long enough.
    pub fn serve(self) {
        let Self { daemon, runtime, listener, mut signals, place, lock, socket } = self;
        runtime.block_on(async {
            let accepting = tokio::spawn(accept(Arc::clone(&daemon), listener));
            daemon.workspaces.start();
            let tending = [
                tokio::spawn(tend::guard(Arc::clone(&daemon), Arc::clone(&lock), place.clone())),
                tokio::spawn(tend::idle_exit(Arc::clone(&daemon))),
                tokio::spawn(tend::watchdog(Arc::clone(&daemon), socket)),
            ];
            // Not under a manager: there is nobody to tell.
            let _ = sd_notify::notify(&[NotifyState::Ready]);
            until_told(&daemon, &mut signals).await;
            let _ = sd_notify::notify(&[NotifyState::Stopping]);
            // Drops the socket: whoever connects from now on starts, or is handed to, the next daemon.
            let _ = accepting.await;
            place.remove();
            drain(&daemon).await;
            for task in tending {
                task.abort();
            }
        });
        // Work that ignores its token must not keep the process.
        runtime.shutdown_timeout(THREADS);
        daemon.workspaces.close_all(CLOSE);
        daemon.graphs.close();
        // Only now may the next daemon open what this one had open.
        drop(lock);
        tracing::info!("ended");
    }
}

async fn until_told(daemon: &Arc<Daemon>, signals: &mut Signals) {
    loop {
        tokio::select! {
            () = daemon.draining() => return,
            _ = signals.term.recv() => daemon.begin_drain("SIGTERM"),
            _ = signals.int.recv() => daemon.begin_drain("SIGINT"),
            _ = signals.hup.recv() => {
                let daemon = Arc::clone(daemon);
                tokio::task::spawn_blocking(move || match daemon.reload() {
                    Ok((applied, _)) => daemon.settle(&applied),
                    Err(error) => tracing::error!(%error, "the configuration was not read again; the old one stays"),
                });
            }
        }
    }
}

async fn drain(daemon: &Daemon) {
    let gone = async {
        while daemon.connections.count() > 0 {
            tokio::time::sleep(DRAIN_LOOK).await;
        }
    };
    if tokio::time::timeout(DRAIN, gone).await.is_err() {
        tracing::warn!("calls were still under way after {DRAIN:?}; they are dropped");
        for peer in daemon.connections.peers() {
            peer.cancel_all();
        }
    }
}

/// Connections and watched roots need more files than the usual soft limit.
fn raise_file_limit() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // It fails only if the hard limit shrank in between; the soft one then stays.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}
