//! A file system whose calls fail when told to.

use std::{
    cell::{Cell, RefCell},
    ffi::{OsStr, OsString},
};

use rustix::io::Errno;

use crate::transaction::fs::{Fs, Meta, Open, Rename};

/// Which calls fail.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Which {
    None,
    /// The n-th of all, counted from 0.
    Nth(u64),
    /// The n-th and all after it.
    From(u64),
    /// The n-th of one kind.
    Kind(&'static str, u64),
    /// All of one kind from the n-th on.
    KindFrom(&'static str, u64),
}

/// Passes calls on to another file system, and lets some fail instead.
pub(crate) struct FaultFs<'f, F: Fs> {
    pub(crate) inner: &'f F,
    which: Which,
    errno: Errno,
    /// Writes and reads give one byte less than they could.
    pub(crate) short: bool,
    /// Renames know no flags.
    pub(crate) plain_renames: bool,
    calls: Cell<u64>,
    of_kind: Cell<u64>,
    pub(crate) failed: RefCell<Vec<&'static str>>,
}

impl<'f, F: Fs> FaultFs<'f, F> {
    pub(crate) fn new(inner: &'f F, which: Which, errno: Errno) -> Self {
        Self {
            inner,
            which,
            errno,
            short: false,
            plain_renames: false,
            calls: Cell::new(0),
            of_kind: Cell::new(0),
            failed: RefCell::default(),
        }
    }

    /// Whether the fault was met.
    pub(crate) fn met(&self) -> bool {
        !self.failed.borrow().is_empty()
    }

    fn pass(&self, kind: &'static str) -> Result<(), Errno> {
        let call = self.calls.replace(self.calls.get() + 1);
        let fails = match self.which {
            Which::None => false,
            Which::Nth(n) => call == n,
            Which::From(n) => call >= n,
            Which::Kind(which, n) => which == kind && self.of_kind.replace(self.of_kind.get() + 1) == n,
            Which::KindFrom(which, n) => which == kind && self.of_kind.replace(self.of_kind.get() + 1) >= n,
        };
        // Only calls that can wait are interrupted.
        let possible = self.errno != Errno::INTR || ["open", "read", "write", "sync", "sync_folder", "sync_all"].contains(&kind);
        if fails && possible {
            self.failed.borrow_mut().push(kind);
            return Err(self.errno);
        }
        Ok(())
    }
}

impl<F: Fs> Fs for FaultFs<'_, F> {
    type Fd = F::Fd;

    fn open(&self, folder: &F::Fd, name: &OsStr, how: Open) -> Result<F::Fd, Errno> {
        self.pass("open")?;
        self.inner.open(folder, name, how)
    }
    fn stat(&self, fd: &F::Fd) -> Result<Meta, Errno> {
        self.pass("stat")?;
        self.inner.stat(fd)
    }
    fn stat_at(&self, folder: &F::Fd, name: &OsStr) -> Result<Meta, Errno> {
        self.pass("stat_at")?;
        self.inner.stat_at(folder, name)
    }
    fn may_write(&self, folder: &F::Fd, name: &OsStr) -> Result<(), Errno> {
        self.pass("may_write")?;
        self.inner.may_write(folder, name)
    }
    fn read_link(&self, folder: &F::Fd, name: &OsStr) -> Result<OsString, Errno> {
        self.pass("read_link")?;
        self.inner.read_link(folder, name)
    }
    fn list(&self, folder: &F::Fd) -> Result<Vec<OsString>, Errno> {
        self.pass("list")?;
        self.inner.list(folder)
    }
    fn read(&self, fd: &F::Fd, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        self.pass("read")?;
        let size = if self.short && buffer.len() > 1 { buffer.len() - 1 } else { buffer.len() };
        self.inner.read(fd, &mut buffer[..size], offset)
    }
    fn write(&self, fd: &F::Fd, bytes: &[u8], offset: u64) -> Result<usize, Errno> {
        self.pass("write")?;
        let size = if self.short && bytes.len() > 1 { bytes.len() - 1 } else { bytes.len() };
        self.inner.write(fd, &bytes[..size], offset)
    }
    fn truncate(&self, fd: &F::Fd, size: u64) -> Result<(), Errno> {
        self.pass("truncate")?;
        self.inner.truncate(fd, size)
    }
    fn reserve(&self, fd: &F::Fd, size: u64) -> Result<(), Errno> {
        self.pass("reserve")?;
        self.inner.reserve(fd, size)
    }
    fn sync(&self, fd: &F::Fd) -> Result<(), Errno> {
        self.pass("sync")?;
        self.inner.sync(fd)
    }
    fn sync_folder(&self, folder: &F::Fd) -> Result<(), Errno> {
        self.pass("sync_folder")?;
        self.inner.sync_folder(folder)
    }
    fn sync_all(&self, folder: &F::Fd) -> Result<(), Errno> {
        self.pass("sync_all")?;
        self.inner.sync_all(folder)
    }
    fn make_folder(&self, folder: &F::Fd, name: &OsStr, mode: u32) -> Result<(), Errno> {
        self.pass("make_folder")?;
        self.inner.make_folder(folder, name, mode)
    }
    fn make_link(&self, folder: &F::Fd, name: &OsStr, target: &OsStr) -> Result<(), Errno> {
        self.pass("make_link")?;
        self.inner.make_link(folder, name, target)
    }
    fn hard_link(&self, from: &F::Fd, name: &OsStr, to: &F::Fd, new: &OsStr) -> Result<(), Errno> {
        self.pass("hard_link")?;
        self.inner.hard_link(from, name, to, new)
    }
    fn rename(&self, from: &F::Fd, name: &OsStr, to: &F::Fd, new: &OsStr, how: Rename) -> Result<(), Errno> {
        if self.plain_renames && how != Rename::Replace {
            return Err(Errno::INVAL);
        }
        self.pass("rename")?;
        self.inner.rename(from, name, to, new, how)
    }
    fn unlink(&self, folder: &F::Fd, name: &OsStr) -> Result<(), Errno> {
        self.pass("unlink")?;
        self.inner.unlink(folder, name)
    }
    fn remove_folder(&self, folder: &F::Fd, name: &OsStr) -> Result<(), Errno> {
        self.pass("remove_folder")?;
        self.inner.remove_folder(folder, name)
    }
    fn touch(&self, folder: &F::Fd, name: &OsStr) -> Result<(), Errno> {
        self.pass("touch")?;
        self.inner.touch(folder, name)
    }
    fn set_mode(&self, fd: &F::Fd, mode: u32) -> Result<(), Errno> {
        self.pass("set_mode")?;
        self.inner.set_mode(fd, mode)
    }
    fn set_owner(&self, fd: &F::Fd, uid: u32, gid: u32) -> Result<(), Errno> {
        self.pass("set_owner")?;
        self.inner.set_owner(fd, uid, gid)
    }
    fn attributes(&self, fd: &F::Fd) -> Result<Vec<OsString>, Errno> {
        self.pass("attributes")?;
        self.inner.attributes(fd)
    }
    fn attribute(&self, fd: &F::Fd, name: &OsStr) -> Result<Vec<u8>, Errno> {
        self.pass("attribute")?;
        self.inner.attribute(fd, name)
    }
    fn set_attribute(&self, fd: &F::Fd, name: &OsStr, value: &[u8]) -> Result<(), Errno> {
        self.pass("set_attribute")?;
        self.inner.set_attribute(fd, name, value)
    }
    fn remove_attribute(&self, fd: &F::Fd, name: &OsStr) -> Result<(), Errno> {
        self.pass("remove_attribute")?;
        self.inner.remove_attribute(fd, name)
    }
}
