//! One daemon a user: the lock file.
//!
//! The lock is taken before the socket is touched and held for life; the file is never deleted, because a lock on a
//! deleted file is a lock on nothing. The pid in it is for people to read: nobody kills by it.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io::{self, Read, Seek, Write},
    os::unix::{
        fs::{MetadataExt, OpenOptionsExt},
        net::UnixStream,
    },
    path::{Path, PathBuf},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// The holder writes its pid right after it has the lock; a reader that is faster waits this long for it.
const PID_WRITTEN: Duration = Duration::from_millis(300);

/// A holder that does not listen is on its way out, or on its way in: it is waited for this long.
const LEAVING: Duration = Duration::from_millis(1200);

/// Why the lock could not be had.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another daemon lives.
    #[error("another ccd {} serves this user on {}; use that one, or end it with `ccctl stop`", holder.map_or_else(|| "(its pid is not known)".to_owned(), |pid| format!("(pid {pid})")), socket.display())]
    Held {
        /// Its pid, if the file says so.
        holder: Option<u32>,
        /// Where it serves.
        socket: PathBuf,
    },
    /// The file cannot be used.
    #[error("{}: {error}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// The lock, held.
#[derive(Debug)]
pub struct Lock {
    file: File,
    path: PathBuf,
}

impl Lock {
    /// Takes the lock or says who has it.
    pub fn take(path: &Path, socket: &Path) -> Result<Self, LockError> {
        let fail = |error| LockError::Io { path: path.to_path_buf(), error };
        let no_follow = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(no_follow)
            .open(path)
            .map_err(fail)?;
        let until = Instant::now() + LEAVING;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::WouldBlock) if Instant::now() < until && UnixStream::connect(socket).is_err() => {
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(LockError::Held { holder: holder(&mut file), socket: socket.to_path_buf() });
                }
                Err(TryLockError::Error(error)) => return Err(fail(error)),
            }
        }
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let text = format!("{}\n{now}\n", std::process::id());
        file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(text.as_bytes())).map_err(fail)?;
        Ok(Self { file, path: path.to_path_buf() })
    }

    /// Whether the path still names the file that is locked.
    pub fn is_current(&self) -> bool {
        match (self.file.metadata(), std::fs::symlink_metadata(&self.path)) {
            (Ok(held), Ok(named)) => (held.dev(), held.ino()) == (named.dev(), named.ino()),
            _ => false,
        }
    }
}

fn holder(file: &mut File) -> Option<u32> {
    let until = Instant::now() + PID_WRITTEN;
    loop {
        let mut text = String::new();
        let read = file.rewind().and_then(|()| file.read_to_string(&mut text));
        if let Some(pid) = read.ok().and_then(|_| text.lines().next()?.parse().ok()) {
            return Some(pid);
        }
        if Instant::now() >= until {
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_was_first() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ccd.lock");
        let lock = Lock::take(&path, Path::new("/s")).expect("free");
        assert!(lock.is_current());
        let error = Lock::take(&path, Path::new("/s")).expect_err("held");
        assert_eq!(
            error.to_string(),
            format!("another ccd (pid {}) serves this user on /s; use that one, or end it with `ccctl stop`", std::process::id())
        );
        std::fs::remove_file(&path).expect("removed");
        assert!(!lock.is_current());
        drop(lock);
        Lock::take(&path, Path::new("/s")).expect("free again");
    }
}
