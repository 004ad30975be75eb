//! Small files of our own in a private folder, replaced whole: after a crash at any moment there is the old one or the new one.

use std::{
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use crate::{PrivateFolderError, failpoint, private_folder};

/// Why a file of ours cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeptFileError {
    /// Its folder is not private.
    #[error(transparent)]
    Folder(#[from] PrivateFolderError),
    /// It is a link, no regular file, somebody else's, or others may write it.
    #[error("{path} {why}; move it away")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
    },
    /// It is larger than anything that we write.
    #[error("{path} is larger than {limit} bytes; move it away")]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Bytes.
        limit: u64,
    },
    /// The system refuses.
    #[error("{path}: {error}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
}

/// The bytes of a file of ours, or none if there is no such file. What others could have written is refused.
pub fn read_kept(path: &Path, limit: u64) -> Result<Option<Vec<u8>>, KeptFileError> {
    use std::io::Read as _;

    let foreign = |why| Err(KeptFileError::Foreign { path: path.to_path_buf(), why });
    let fail = |error| KeptFileError::Io { path: path.to_path_buf(), error };
    match path.parent().map(std::fs::symlink_metadata) {
        Some(Err(error)) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        // There is a folder: it is checked, and nothing is made.
        _ => path.parent().map_or(Ok(()), private_folder)?,
    }
    let flags = (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits();
    let file = match std::fs::OpenOptions::new().read(true).custom_flags(flags.cast_signed()).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => return foreign("is a link"),
        Err(error) => return Err(fail(error)),
    };
    let found = file.metadata().map_err(fail)?;
    if !found.is_file() {
        return foreign("is no regular file");
    }
    if found.uid() != rustix::process::geteuid().as_raw() {
        return foreign("belongs to another user");
    }
    if found.mode() & 0o022 != 0 {
        return foreign("can be written by others");
    }
    let mut bytes = Vec::new();
    file.take(limit + 1).read_to_end(&mut bytes).map_err(fail)?;
    if bytes.len() as u64 > limit {
        return Err(KeptFileError::TooLarge { path: path.to_path_buf(), limit });
    }
    Ok(Some(bytes))
}

/// Replaces a file of ours, or makes it, mode 0600, with its private folder. When it returns, the new bytes survive a
/// power cut. If it fails, the old ones are there, or, where only the last sync failed, the new ones.
pub fn write_kept(path: &Path, bytes: &[u8]) -> Result<(), KeptFileError> {
    let fail = |error| KeptFileError::Io { path: path.to_path_buf(), error };
    let Some(folder) = path.parent() else { return Err(fail(io::ErrorKind::InvalidInput.into())) };
    private_folder(folder)?;
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(".new");
    let new = folder.join(name);
    // What an earlier attempt left. The folder is ours alone.
    match std::fs::remove_file(&new) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(fail(error)),
    }
    let written = || -> io::Result<()> {
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&new)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        failpoint("kept_written")?;
        std::fs::rename(&new, path)?;
        failpoint("kept_renamed")?;
        std::fs::File::open(folder)?.sync_all()
    };
    written().map_err(|error| {
        // It may not be there; the next attempt removes it otherwise.
        let _ = std::fs::remove_file(&new);
        fail(error)
    })
}

/// Renames a file of ours that cannot be used, so that a new one can be begun; it is kept as `<name>.damaged`.
pub fn set_aside_kept(path: &Path) -> Result<(), KeptFileError> {
    let mut aside = path.as_os_str().to_os_string();
    aside.push(".damaged");
    std::fs::rename(path, aside).map_err(|error| KeptFileError::Io { path: path.to_path_buf(), error })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("own/file");
        (folder, path)
    }

    #[test]
    fn a_file_is_replaced_whole_and_private() {
        let (_folder, path) = place();
        assert_eq!(read_kept(&path, 10).expect("none yet"), None);
        write_kept(&path, b"one").expect("it is written");
        write_kept(&path, b"two").expect("it is replaced");
        assert_eq!(read_kept(&path, 3).expect("it is read"), Some(b"two".to_vec()));
        assert!(matches!(read_kept(&path, 2), Err(KeptFileError::TooLarge { .. })));
        let mode = std::fs::metadata(&path).expect("it is there").mode() & 0o777;
        assert_eq!(mode, 0o600);
        let names = std::fs::read_dir(path.parent().expect("a folder")).expect("it is listed").count();
        assert_eq!(names, 1, "nothing is left beside it");
    }

    #[test]
    fn what_others_could_have_written_is_refused() {
        let (folder, path) = place();
        write_kept(&path, b"one").expect("it is written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o622)).expect("its mode");
        assert!(matches!(read_kept(&path, 10), Err(KeptFileError::Foreign { .. })));
        std::fs::remove_file(&path).expect("it is removed");
        std::os::unix::fs::symlink(folder.path().join("other"), &path).expect("a link");
        assert!(matches!(read_kept(&path, 10), Err(KeptFileError::Foreign { .. })));
        let own = path.parent().expect("a folder");
        std::fs::set_permissions(own, std::fs::Permissions::from_mode(0o755)).expect("its mode");
        assert!(matches!(read_kept(&path, 10), Err(KeptFileError::Folder(_))));
        assert!(matches!(write_kept(&path, b"two"), Err(KeptFileError::Folder(_))));
    }
}
