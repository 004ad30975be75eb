//! The socket: bound by us, or handed over by the system's manager.

use std::{
    io,
    os::unix::{fs::MetadataExt, net::UnixListener},
    path::{Path, PathBuf},
};

use listenfd::ListenFd;
use rustix::{fs::Mode, process::umask};

/// A socket that is listened on.
#[derive(Debug)]
pub(crate) struct Listener {
    pub(crate) socket: UnixListener,
    path: PathBuf,
    identity: Option<(u64, u64)>,
    /// Handed over: it belongs to the manager and stays when we go.
    pub(crate) activated: bool,
}

/// Why there is no socket.
#[derive(Debug, thiserror::Error)]
#[error("the socket {} cannot be used: {error}", path.display())]
pub(crate) struct ListenError {
    path: PathBuf,
    error: io::Error,
}

impl Listener {
    /// The socket that was handed over, if one was.
    pub(crate) fn inherited(path: &Path) -> Result<Option<Self>, ListenError> {
        let fail = |error| ListenError { path: path.to_path_buf(), error };
        let mut given = ListenFd::from_env();
        let Some(socket) = given.take_unix_listener(0).map_err(fail)? else { return Ok(None) };
        socket.set_nonblocking(true).map_err(fail)?;
        let path = match socket.local_addr().ok().and_then(|address| address.as_pathname().map(Path::to_path_buf)) {
            Some(own) => own,
            None => path.to_path_buf(),
        };
        let identity = identity(&path);
        Ok(Some(Self { socket, path, identity, activated: true }))
    }

    /// Binds the socket. Only the holder of the lock may call this: a socket that is there is a dead daemon's.
    pub(crate) fn bind(path: &Path) -> Result<Self, ListenError> {
        let fail = |error| ListenError { path: path.to_path_buf(), error };
        match std::fs::remove_file(path) {
            Ok(()) => tracing::info!("a socket of a daemon that is gone was removed"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(fail(error)),
        }
        // 0600 from its first moment; no other thread runs yet that could make a file under this umask.
        let before = umask(Mode::RWXG | Mode::RWXO | Mode::XUSR);
        let bound = UnixListener::bind(path);
        umask(before);
        let socket = bound.map_err(fail)?;
        socket.set_nonblocking(true).map_err(fail)?;
        Ok(Self { socket, path: path.to_path_buf(), identity: identity(path), activated: false })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The place of the socket, to look at later.
    pub(crate) fn place(&self) -> Place {
        Place { path: self.path.clone(), identity: self.identity, ours: !self.activated }
    }
}

/// Where the socket is, without the socket.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    path: PathBuf,
    identity: Option<(u64, u64)>,
    ours: bool,
}

impl Place {
    /// Whether the path still names our socket.
    pub(crate) fn is_current(&self) -> bool {
        identity(&self.path) == self.identity
    }

    /// Removes the socket if it is still ours.
    pub(crate) fn remove(&self) {
        if self.ours && self.is_current() {
            // It may be gone in this moment; then there is nothing to remove.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::symlink_metadata(path).ok().map(|found| (found.dev(), found.ino()))
}
