//! A workspace root, held open.

use std::{
    fs::File,
    io::{self, Read},
    os::fd::{AsFd, OwnedFd},
    path::{Path, PathBuf},
};

use rustix::fs::{FileType, Mode, OFlags, fstat};

use crate::{
    error::{FileError, RootError, is_utf8},
    folder::Folder,
    resolve,
};

/// What is known of a file without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stat {
    /// Bytes.
    pub size: u64,
    /// Time of the last change of its content, nanoseconds since 1970.
    pub mtime_ns: i128,
    /// Device.
    pub dev: u64,
    /// Inode.
    pub ino: u64,
    /// A folder.
    pub is_dir: bool,
    /// A regular file.
    pub is_file: bool,
    /// A symbolic link (only from [`Root::link_stat`]).
    pub is_link: bool,
}

/// The bytes of a file, with the state in which they were read.
#[derive(Clone, Debug)]
pub struct FileBytes {
    /// All of it.
    pub bytes: Vec<u8>,
    /// Taken from the open file before the first byte was read.
    pub stat: Stat,
}

/// The root of a workspace.
#[derive(Debug)]
pub struct Root {
    folder: OwnedFd,
    path: PathBuf,
    dev: u64,
    ino: u64,
}

impl Root {
    /// Opens a folder as a root. `/` and `home` are refused: an index of either is never what was meant.
    pub fn open(path: &Path, home: Option<&Path>) -> Result<Self, RootError> {
        if !path.is_absolute() {
            return Err(RootError::Relative);
        }
        let canonical = std::fs::canonicalize(path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => RootError::NotFound,
            io::ErrorKind::NotADirectory => RootError::NotDirectory,
            _ => RootError::Io(error),
        })?;
        if canonical.parent().is_none() {
            return Err(RootError::Refused("the root of the file system"));
        }
        if let Some(home) = home.and_then(|home| std::fs::canonicalize(home).ok())
            && home == canonical
        {
            return Err(RootError::Refused("the home folder"));
        }
        if ["/proc", "/sys", "/dev"].iter().any(|system| canonical.starts_with(system)) {
            return Err(RootError::Refused("a folder of the kernel"));
        }
        if !is_utf8(canonical.as_os_str()) {
            return Err(RootError::NotUtf8);
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let folder = rustix::fs::open(&canonical, flags, Mode::empty()).map_err(|errno| match errno {
            rustix::io::Errno::NOTDIR | rustix::io::Errno::LOOP => RootError::NotDirectory,
            rustix::io::Errno::NOENT => RootError::NotFound,
            other => RootError::Io(other.into()),
        })?;
        let stat = fstat(&folder).map_err(io::Error::from)?;
        Ok(Self { folder, path: canonical, dev: stat.st_dev, ino: stat.st_ino })
    }

    /// Canonical, absolute, UTF-8.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn folder(&self) -> &OwnedFd {
        &self.folder
    }

    /// Device and inode of the folder.
    pub fn identity(&self) -> (u64, u64) {
        (self.dev, self.ino)
    }

    /// When the folder was made, nanoseconds since 1970, where the file system keeps that. Numbers of inodes are used
    /// again; this tells a folder from another one that got the number of its predecessor.
    pub fn born_ns(&self) -> Option<i128> {
        use rustix::fs::{AtFlags, StatxFlags, statx};
        let found = statx(&self.folder, "", AtFlags::EMPTY_PATH, StatxFlags::BTIME).ok()?;
        let kept = found.stx_mask & StatxFlags::BTIME.bits() != 0;
        kept.then(|| i128::from(found.stx_btime.tv_sec) * 1_000_000_000 + i128::from(found.stx_btime.tv_nsec))
    }

    /// The folder, held open.
    pub(crate) fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.folder.as_fd()
    }

    /// Whether the path still names the folder that is held open.
    pub fn is_current(&self) -> bool {
        rustix::fs::lstat(&self.path).is_ok_and(|stat| stat.st_dev == self.dev && stat.st_ino == self.ino)
    }

    /// The path of an absolute path relative to this root, links and `..` resolved as far as the path exists.
    /// Says [`FileError::Outside`] for one that leads elsewhere.
    pub fn relative(&self, absolute: &Path) -> Result<PathBuf, FileError> {
        if let Ok(rel) = absolute.strip_prefix(&self.path)
            && !rel.components().any(|part| matches!(part, std::path::Component::ParentDir))
        {
            return Ok(resolve::without_dots(rel));
        }
        // The caller may have named the root by another way: a link, or `..` in the middle.
        let resolved = resolve::canonical_prefix(absolute);
        match resolved.strip_prefix(&self.path) {
            Ok(rel) => Ok(rel.to_path_buf()),
            Err(_) => Err(FileError::Outside { resolved }),
        }
    }

    /// Opens a regular file for reading. Never blocks on a FIFO; links inside the root are followed.
    pub fn open_file(&self, rel: &Path) -> Result<(File, Stat), FileError> {
        let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = resolve::open_beneath(self.folder.as_fd(), &self.path, rel, flags)?;
        let stat = stat_of(&fstat(&file)?);
        regular(&file, stat)?;
        Ok((File::from(file), stat))
    }

    /// Reads a regular file of at most `limit` bytes.
    pub fn read(&self, rel: &Path, limit: u64) -> Result<FileBytes, FileError> {
        let (file, stat) = self.open_file(rel)?;
        if stat.size > limit {
            return Err(FileError::TooLarge { size: stat.size, limit });
        }
        let mut bytes = Vec::with_capacity(stat.size as usize + 1);
        // A file that grows while it is read, or lies about its size (as in /proc), is cut off at the limit.
        file.take(limit + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Err(FileError::TooLarge { size: bytes.len() as u64, limit });
        }
        Ok(FileBytes { bytes, stat })
    }

    /// Opens a folder; a link at the last step is refused.
    pub fn open_folder(&self, rel: &Path) -> Result<Folder, FileError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = resolve::open_beneath(self.folder.as_fd(), &self.path, rel, flags)?;
        Ok(Folder { fd })
    }

    /// What a path leads to, links followed inside the root.
    pub fn stat(&self, rel: &Path) -> Result<Stat, FileError> {
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        let file = resolve::open_beneath(self.folder.as_fd(), &self.path, rel, flags)?;
        Ok(stat_of(&fstat(&file)?))
    }

    /// What stands at a path itself; a link is not followed at the last step.
    pub fn link_stat(&self, rel: &Path) -> Result<Stat, FileError> {
        let flags = OFlags::PATH | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let file = resolve::open_beneath(self.folder.as_fd(), &self.path, rel, flags)?;
        Ok(stat_of(&fstat(&file)?))
    }
}

pub(crate) fn stat_of(stat: &rustix::fs::Stat) -> Stat {
    let kind = FileType::from_raw_mode(stat.st_mode);
    Stat {
        size: u64::try_from(stat.st_size).unwrap_or(0),
        mtime_ns: i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec),
        dev: stat.st_dev,
        ino: stat.st_ino,
        is_dir: kind == FileType::Directory,
        is_file: kind == FileType::RegularFile,
        is_link: kind == FileType::Symlink,
    }
}

fn regular(file: &OwnedFd, stat: Stat) -> Result<(), FileError> {
    if stat.is_file {
        return Ok(());
    }
    if stat.is_dir {
        return Err(FileError::IsDirectory);
    }
    let what = match FileType::from_raw_mode(fstat(file)?.st_mode) {
        FileType::Fifo => "FIFO",
        FileType::Socket => "socket",
        FileType::CharacterDevice | FileType::BlockDevice => "device",
        _ => "special file",
    };
    Err(FileError::NotRegular { what })
}
