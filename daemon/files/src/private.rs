//! Folders of our own: the runtime, state and cache folders.

use std::{
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
};

/// Why a folder of ours cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PrivateFolderError {
    /// It is a symbolic link.
    #[error("{0} is a symbolic link; remove it or name another folder")]
    Link(PathBuf),
    /// It is no folder.
    #[error("{0} is not a folder; remove it or name another one")]
    NotDirectory(PathBuf),
    /// Somebody else's.
    #[error("{path} belongs to user {owner}, not to you; name another folder")]
    Owner {
        /// The folder.
        path: PathBuf,
        /// Its owner.
        owner: u32,
    },
    /// Others may enter.
    #[error("{path} is open to others (mode {mode:04o}); run: chmod 700 {path}")]
    Open {
        /// The folder.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// The system refuses.
    #[error("{path}: {error}")]
    Io {
        /// The folder.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

/// Makes a folder that only this user may enter (mode 0700), with its parents, or checks one that is there.
/// A folder that we did not make is never changed: it is used as it is, or refused.
pub fn private_folder(path: &Path) -> Result<(), PrivateFolderError> {
    let fail = |error| PrivateFolderError::Io { path: path.to_path_buf(), error };
    match std::fs::symlink_metadata(path) {
        Ok(found) => check(path, &found),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            if let Some(parent) = path.parent() {
                std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent).map_err(fail)?;
            }
            match std::fs::DirBuilder::new().mode(0o700).create(path) {
                Ok(()) => Ok(()),
                // Another start was faster; its folder is checked like any other.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                    check(path, &std::fs::symlink_metadata(path).map_err(fail)?)
                }
                Err(error) => Err(fail(error)),
            }
        }
        Err(error) => Err(fail(error)),
    }
}

fn check(path: &Path, found: &std::fs::Metadata) -> Result<(), PrivateFolderError> {
    let path = path.to_path_buf();
    if found.file_type().is_symlink() {
        return Err(PrivateFolderError::Link(path));
    }
    if !found.is_dir() {
        return Err(PrivateFolderError::NotDirectory(path));
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return Err(PrivateFolderError::Owner { path, owner: found.uid() });
    }
    if found.mode() & 0o077 != 0 {
        return Err(PrivateFolderError::Open { path, mode: found.mode() & 0o7777 });
    }
    Ok(())
}
