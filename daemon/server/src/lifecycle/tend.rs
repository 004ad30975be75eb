//! What the daemon does by the clock: it looks whether lock and socket are still its own, whether anybody needs it,
//! and tells the manager's watchdog that it answers.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use sd_notify::NotifyState;
use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader},
    net::UnixStream,
};

use crate::{
    daemon::Daemon,
    lifecycle::{Lock, listener::Place},
};

const GUARD: Duration = Duration::from_secs(30);
const IDLE_LOOK: Duration = Duration::from_secs(30);
/// The longest answer of a daemon that is well.
const ANSWER: Duration = Duration::from_secs(5);

/// A lock file or socket that was replaced makes this daemon an orphan that nobody can reach: it ends.
pub(crate) async fn guard(daemon: Arc<Daemon>, lock: Arc<Lock>, place: Place) {
    loop {
        tokio::time::sleep(GUARD).await;
        // A few stats of folders of our own, in memory of the kernel.
        daemon.check_executable();
        if let Some(reason) = lost(&daemon, &lock, &place) {
            tracing::error!("{reason}");
            daemon.begin_drain(reason);
        }
    }
}

/// What this daemon has lost. One that ends removes its socket itself, after it began to drain: so that is asked last.
fn lost(daemon: &Daemon, lock: &Lock, place: &Place) -> Option<&'static str> {
    let reason = if !lock.is_current() {
        "the lock file was removed or replaced"
    } else if !place.is_current() {
        "the socket was removed or replaced"
    } else {
        return None;
    };
    (!daemon.is_draining()).then_some(reason)
}

/// Ends a daemon that nobody has been connected to for long enough.
pub(crate) async fn idle_exit(daemon: Arc<Daemon>) {
    loop {
        tokio::time::sleep(IDLE_LOOK).await;
        let Some(limit) = daemon.settings().idle_exit_s() else { continue };
        let idle = daemon.connections.idle_since().map(|since| since.elapsed());
        if idle.is_some_and(|idle| idle >= Duration::from_secs(limit)) {
            daemon.begin_drain("nobody was connected for long enough (daemon.idle_exit_s)");
            return;
        }
    }
}

/// Tells the manager that the daemon answers, by asking it over its own socket: a wedged runtime tells nothing, and is
/// started again.
pub(crate) async fn watchdog(daemon: Arc<Daemon>, socket: PathBuf) {
    let Some(limit) = sd_notify::watchdog_enabled() else { return };
    loop {
        tokio::time::sleep(limit / 3).await;
        match tokio::time::timeout(ANSWER.min(limit / 3), ask(&socket)).await {
            Ok(Ok(())) => drop(sd_notify::notify(&[NotifyState::Watchdog])),
            _ if daemon.is_draining() => return,
            Ok(Err(error)) => tracing::error!(%error, "the daemon does not answer itself"),
            Err(_) => tracing::error!("the daemon does not answer itself in time"),
        }
    }
}

async fn ask(socket: &Path) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket).await?;
    stream.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"daemon.hello\",\"params\":{\"protocol\":1}}\n").await?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).await?;
    if line.is_empty() { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        config::Config,
        lifecycle::{Paths, listener::Listener},
    };

    #[test]
    fn a_socket_that_is_gone_is_told_unless_the_daemon_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        let paths = Paths::below(folder.path());
        std::fs::create_dir(&paths.runtime).expect("made");
        let lock = Lock::take(&paths.lock(), &paths.socket).expect("free");
        let place = Listener::bind(&paths.socket).expect("bound").place();
        let daemon = Daemon::new(paths, Config::default(), false);
        assert_eq!(lost(&daemon, &lock, &place), None);
        place.remove();
        assert_eq!(lost(&daemon, &lock, &place), Some("the socket was removed or replaced"));
        daemon.begin_drain("test");
        assert_eq!(lost(&daemon, &lock, &place), None);
    }
}
