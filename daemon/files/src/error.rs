//! What can go wrong with a file.

use std::{ffi::OsStr, io, path::PathBuf};

use rustix::io::Errno;

/// Why a folder cannot be a workspace root.
#[derive(Debug, thiserror::Error)]
pub enum RootError {
    /// It is not an absolute path.
    #[error("a root must be an absolute path")]
    Relative,
    /// `/`, the user's home, or a system folder that is no checkout.
    #[error("{0} cannot be a workspace")]
    Refused(&'static str),
    /// No folder.
    #[error("it is not a folder")]
    NotDirectory,
    /// Nothing there.
    #[error("there is no such folder")]
    NotFound,
    /// Its name cannot be carried in JSON.
    #[error("its name is not UTF-8")]
    NotUtf8,
    /// The system refuses.
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Why a file cannot be had.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FileError {
    /// Nothing there.
    #[error("there is no such file")]
    NotFound,
    /// The path leads out of the root.
    #[error("the path leads out of the workspace")]
    Outside {
        /// Where it leads, as far as is known.
        resolved: PathBuf,
    },
    /// A folder.
    #[error("it is a folder")]
    IsDirectory,
    /// A FIFO, socket or device.
    #[error("it is a {what}, not a regular file")]
    NotRegular {
        /// What it is.
        what: &'static str,
    },
    /// The system refuses access.
    #[error("permission denied")]
    Permission,
    /// Over the cap of the call.
    #[error("it has {size} bytes, the limit is {limit}")]
    TooLarge {
        /// Bytes.
        size: u64,
        /// Bytes.
        limit: u64,
    },
    /// Links lead in a circle, or through too many of them.
    #[error("its links lead in a circle")]
    LinkLoop,
    /// Anything else.
    #[error("{name}")]
    Io {
        /// The symbolic name of the error (`EIO`).
        name: String,
    },
}

impl From<Errno> for FileError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::NOENT | Errno::NOTDIR => Self::NotFound,
            Errno::ACCESS | Errno::PERM => Self::Permission,
            Errno::LOOP => Self::LinkLoop,
            Errno::ISDIR => Self::IsDirectory,
            Errno::NXIO | Errno::NODEV => Self::NotRegular { what: "socket or device" },
            Errno::NAMETOOLONG => Self::NotFound,
            other => Self::Io { name: errno_name(other) },
        }
    }
}

impl From<io::Error> for FileError {
    fn from(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(code) => Errno::from_raw_os_error(code).into(),
            None => Self::Io { name: error.to_string() },
        }
    }
}

/// The symbolic name of an error number, as far as it is one that file systems give.
pub(crate) fn errno_name(errno: Errno) -> String {
    let known = [
        (Errno::IO, "EIO"),
        (Errno::NOSPC, "ENOSPC"),
        (Errno::DQUOT, "EDQUOT"),
        (Errno::ROFS, "EROFS"),
        (Errno::NOSYS, "ENOSYS"),
        (Errno::MFILE, "EMFILE"),
        (Errno::NFILE, "ENFILE"),
        (Errno::NOMEM, "ENOMEM"),
        (Errno::BUSY, "EBUSY"),
        (Errno::XDEV, "EXDEV"),
        (Errno::INVAL, "EINVAL"),
        (Errno::AGAIN, "EAGAIN"),
        (Errno::STALE, "ESTALE"),
        (Errno::FBIG, "EFBIG"),
        (Errno::TXTBSY, "ETXTBSY"),
        (Errno::ACCESS, "EACCES"),
        (Errno::PERM, "EPERM"),
        (Errno::NOENT, "ENOENT"),
        (Errno::EXIST, "EEXIST"),
        (Errno::NOTDIR, "ENOTDIR"),
        (Errno::ISDIR, "EISDIR"),
        (Errno::NOTEMPTY, "ENOTEMPTY"),
        (Errno::NAMETOOLONG, "ENAMETOOLONG"),
        (Errno::MLINK, "EMLINK"),
        (Errno::LOOP, "ELOOP"),
        (Errno::NXIO, "ENXIO"),
        (Errno::OPNOTSUPP, "EOPNOTSUPP"),
    ];
    known
        .iter()
        .find(|(known, _)| *known == errno)
        .map_or_else(|| format!("errno {}", errno.raw_os_error()), |(_, name)| (*name).to_owned())
}

/// Whether a name can be carried in JSON.
pub(crate) fn is_utf8(name: &OsStr) -> bool {
    name.to_str().is_some()
}
