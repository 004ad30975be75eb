//! The seam between a transaction and the file system: every call it makes, by folder and last component.
//!
//! One small trait, so that tests can fail any single call, and can lose any set of writes that was not yet
//! made durable.

use std::ffi::{OsStr, OsString};

use rustix::io::Errno;

/// What stands at a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    File,
    Directory,
    Link,
    Fifo,
    Socket,
    Device,
}

impl Kind {
    /// For a message, of what is no regular file.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::File => "regular file",
            Self::Directory => "folder",
            Self::Link => "symbolic link",
            Self::Fifo => "FIFO",
            Self::Socket => "socket",
            Self::Device => "device",
        }
    }
}

/// What the file system knows of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Meta {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) kind: Kind,
    /// The twelve permission bits.
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) links: u64,
    pub(crate) size: u64,
    /// The mount it is on. Two mounts of one file system have the same device, and a rename between them fails.
    pub(crate) mount: Option<u64>,
    /// Cannot be written, renamed or removed by anybody.
    pub(crate) immutable: bool,
}

/// How an entry is opened. A link at the name is never followed, and a FIFO never blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Open {
    Folder,
    Read,
    ReadWrite,
    /// Makes it; there must be nothing at the name.
    Create(u32),
}

/// What a rename does with an entry at the new name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rename {
    Replace,
    Keep,
    Exchange,
}

/// The calls of a transaction. Names are single components.
pub(crate) trait Fs {
    /// An open file or folder.
    type Fd: Clone;

    fn open(&self, folder: &Self::Fd, name: &OsStr, how: Open) -> Result<Self::Fd, Errno>;
    fn stat(&self, fd: &Self::Fd) -> Result<Meta, Errno>;
    /// A link is not followed.
    fn stat_at(&self, folder: &Self::Fd, name: &OsStr) -> Result<Meta, Errno>;
    /// Whether the effective user may write the entry; the name `.` asks for the folder itself.
    fn may_write(&self, folder: &Self::Fd, name: &OsStr) -> Result<(), Errno>;
    fn read_link(&self, folder: &Self::Fd, name: &OsStr) -> Result<OsString, Errno>;
    /// The names in a folder, in any order.
    fn list(&self, folder: &Self::Fd) -> Result<Vec<OsString>, Errno>;

    fn read(&self, fd: &Self::Fd, buffer: &mut [u8], offset: u64) -> Result<usize, Errno>;
    fn write(&self, fd: &Self::Fd, bytes: &[u8], offset: u64) -> Result<usize, Errno>;
    fn truncate(&self, fd: &Self::Fd, size: u64) -> Result<(), Errno>;
    /// Reserves room for so many bytes, without a change of the size.
    fn reserve(&self, fd: &Self::Fd, size: u64) -> Result<(), Errno>;
    fn sync(&self, fd: &Self::Fd) -> Result<(), Errno>;
    fn sync_folder(&self, folder: &Self::Fd) -> Result<(), Errno>;
    /// Everything of the file system that the folder is on.
    fn sync_all(&self, folder: &Self::Fd) -> Result<(), Errno>;

    fn make_folder(&self, folder: &Self::Fd, name: &OsStr, mode: u32) -> Result<(), Errno>;
    fn make_link(&self, folder: &Self::Fd, name: &OsStr, target: &OsStr) -> Result<(), Errno>;
    fn hard_link(&self, from: &Self::Fd, name: &OsStr, to: &Self::Fd, new: &OsStr) -> Result<(), Errno>;
    fn rename(&self, from: &Self::Fd, name: &OsStr, to: &Self::Fd, new: &OsStr, how: Rename) -> Result<(), Errno>;
    fn unlink(&self, folder: &Self::Fd, name: &OsStr) -> Result<(), Errno>;
    fn remove_folder(&self, folder: &Self::Fd, name: &OsStr) -> Result<(), Errno>;
    /// Sets the time of the last change to now; of a link itself.
    fn touch(&self, folder: &Self::Fd, name: &OsStr) -> Result<(), Errno>;

    fn set_mode(&self, fd: &Self::Fd, mode: u32) -> Result<(), Errno>;
    fn set_owner(&self, fd: &Self::Fd, uid: u32, gid: u32) -> Result<(), Errno>;
    fn attributes(&self, fd: &Self::Fd) -> Result<Vec<OsString>, Errno>;
    fn attribute(&self, fd: &Self::Fd, name: &OsStr) -> Result<Vec<u8>, Errno>;
    fn set_attribute(&self, fd: &Self::Fd, name: &OsStr, value: &[u8]) -> Result<(), Errno>;
    fn remove_attribute(&self, fd: &Self::Fd, name: &OsStr) -> Result<(), Errno>;
}

/// Repeats a call that a signal interrupted.
pub(crate) fn again<T>(mut call: impl FnMut() -> Result<T, Errno>) -> Result<T, Errno> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

/// All of an open file.
pub(crate) fn read_all<F: Fs>(fs: &F, fd: &F::Fd, size: u64) -> Result<Vec<u8>, Errno> {
    // One byte more than the size tells the end without another call.
    let mut bytes = vec![0; usize::try_from(size).map_err(|_| Errno::FBIG)? + 1];
    let mut filled = 0;
    loop {
        if filled == bytes.len() {
            bytes.resize(filled * 2, 0);
        }
        match again(|| fs.read(fd, &mut bytes[filled..], filled as u64))? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

/// All bytes from the start of an open file on.
pub(crate) fn write_all<F: Fs>(fs: &F, fd: &F::Fd, bytes: &[u8]) -> Result<(), Errno> {
    let mut written = 0;
    while written < bytes.len() {
        match again(|| fs.write(fd, &bytes[written..], written as u64))? {
            0 => return Err(Errno::IO),
            wrote => written += wrote,
        }
    }
    Ok(())
}

/// Opens and reads an entry that must be a regular file.
pub(crate) fn read_at<F: Fs>(fs: &F, folder: &F::Fd, name: &OsStr) -> Result<(Meta, Vec<u8>), Errno> {
    let fd = again(|| fs.open(folder, name, Open::Read))?;
    let meta = fs.stat(&fd)?;
    if meta.kind != Kind::File {
        return Err(Errno::NXIO);
    }
    let bytes = read_all(fs, &fd, meta.size)?;
    Ok((meta, bytes))
}

/// Takes absence as done.
pub(crate) fn unless_absent(result: Result<(), Errno>) -> Result<(), Errno> {
    match result {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}
