//! The file system itself.

use std::{
    ffi::{OsStr, OsString},
    os::{
        fd::OwnedFd,
        unix::ffi::{OsStrExt, OsStringExt},
    },
    path::Path,
    sync::Arc,
};

use rustix::{
    fs::{
        self, Access, AtFlags, Dir, FallocateFlags, FileType, Gid, Mode, OFlags, RenameFlags, ResolveFlags, Statx,
        StatxAttributes, StatxFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, Uid, XattrFlags,
    },
    io::Errno,
};

use super::fs::{Fs, Kind, Meta, Open, Rename};
use crate::Root;

/// The file system itself.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RealFs;

const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// A rename underneath makes the kernel answer EAGAIN; it passes.
const MAX_RACES: usize = 64;

impl RealFs {
    /// The folder of a root.
    pub(crate) fn root(root: &Root) -> Result<Arc<OwnedFd>, Errno> {
        Ok(Arc::new(fs::openat(root.as_fd(), ".", FOLDER, Mode::empty())?))
    }

    /// A folder of our own.
    pub(crate) fn own(path: &Path) -> Result<Arc<OwnedFd>, Errno> {
        Ok(Arc::new(fs::open(path, FOLDER | OFlags::NOFOLLOW, Mode::empty())?))
    }
}

fn open(folder: &OwnedFd, name: &OsStr, flags: OFlags, mode: Mode) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | ResolveFlags::NO_SYMLINKS;
    for _ in 0..MAX_RACES {
        match fs::openat2(folder, name, flags | OFlags::CLOEXEC | OFlags::NOFOLLOW, mode, resolve) {
            Err(Errno::AGAIN) => {}
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

/// A folder opened for reading: a path handle can neither be listed nor synced.
fn readable(folder: &OwnedFd) -> Result<OwnedFd, Errno> {
    fs::openat(folder, ".", OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
}

fn meta(stat: &Statx) -> Meta {
    let kind = match FileType::from_raw_mode(u32::from(stat.stx_mode)) {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Directory,
        FileType::Symlink => Kind::Link,
        FileType::Fifo => Kind::Fifo,
        FileType::Socket => Kind::Socket,
        _ => Kind::Device,
    };
    Meta {
        dev: fs::makedev(stat.stx_dev_major, stat.stx_dev_minor),
        ino: stat.stx_ino,
        kind,
        mode: u32::from(stat.stx_mode) & 0o7777,
        uid: stat.stx_uid,
        gid: stat.stx_gid,
        links: u64::from(stat.stx_nlink),
        size: stat.stx_size,
        mount: (stat.stx_mask & StatxFlags::MNT_ID.bits() != 0).then_some(stat.stx_mnt_id),
        immutable: stat.stx_attributes.intersects(StatxAttributes::IMMUTABLE | StatxAttributes::APPEND),
    }
}

const WANTED: StatxFlags = StatxFlags::BASIC_STATS.union(StatxFlags::MNT_ID);

impl Fs for RealFs {
    type Fd = Arc<OwnedFd>;

    fn open(&self, folder: &Self::Fd, name: &OsStr, how: Open) -> Result<Self::Fd, Errno> {
        let quiet = OFlags::NONBLOCK | OFlags::NOCTTY;
        let fd = match how {
            Open::Folder => open(folder, name, FOLDER, Mode::empty())?,
            Open::Read => open(folder, name, OFlags::RDONLY | quiet, Mode::empty())?,
            Open::ReadWrite => open(folder, name, OFlags::RDWR | quiet, Mode::empty())?,
            Open::Create(mode) => {
                open(folder, name, OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | quiet, Mode::from_raw_mode(mode))?
            }
        };
        Ok(Arc::new(fd))
    }

    fn stat(&self, fd: &Self::Fd) -> Result<Meta, Errno> {
        Ok(meta(&fs::statx(fd, "", AtFlags::EMPTY_PATH, WANTED)?))
    }

    fn stat_at(&self, folder: &Self::Fd, name: &OsStr) -> Result<Meta, Errno> {
        Ok(meta(&fs::statx(folder, name, AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT, WANTED)?))
    }

    fn may_write(&self, folder: &Self::Fd, name: &OsStr) -> Result<(), Errno> {
        fs::accessat(folder, name, Access::WRITE_OK, AtFlags::EACCESS)
    }

    fn read_link(&self, folder: &Self::Fd, name: &OsStr) -> Result<OsString, Errno> {
        Ok(OsString::from_vec(fs::readlinkat(folder, name, Vec::new())?.into_bytes()))
    }

    fn list(&self, folder: &Self::Fd) -> Result<Vec<OsString>, Errno> {
        let mut names = Vec::new();
        for entry in Dir::new(readable(folder)?)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name.to_vec()));
            }
        }
        Ok(names)
    }

    fn read(&self, fd: &Self::Fd, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        rustix::io::pread(fd, buffer, offset)
    }

    fn write(&self, fd: &Self::Fd, bytes: &[u8], offset: u64) -> Result<usize, Errno> {
        rustix::io::pwrite(fd, bytes, offset)
    }

    fn truncate(&self, fd: &Self::Fd, size: u64) -> Result<(), Errno> {
        fs::ftruncate(fd, size)
    }

    fn reserve(&self, fd: &Self::Fd, size: u64) -> Result<(), Errno> {
        if size == 0 {
            return Ok(());
        }
        match fs::fallocate(fd, FallocateFlags::KEEP_SIZE, 0, size) {
            // A file system that cannot reserve says how it stands when it is written.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            other => other,
        }
    }

    fn sync(&self, fd: &Self::Fd) -> Result<(), Errno> {
        fs::fsync(fd)
    }

    fn sync_folder(&self, folder: &Self::Fd) -> Result<(), Errno> {
        fs::fsync(readable(folder)?)
    }

    fn sync_all(&self, folder: &Self::Fd) -> Result<(), Errno> {
        fs::syncfs(readable(folder)?)
    }

    fn make_folder(&self, folder: &Self::Fd, name: &OsStr, mode: u32) -> Result<(), Errno> {
        fs::mkdirat(folder, name, Mode::from_raw_mode(mode))
    }

    fn make_link(&self, folder: &Self::Fd, name: &OsStr, target: &OsStr) -> Result<(), Errno> {
        fs::symlinkat(target, folder, name)
    }

    fn hard_link(&self, from: &Self::Fd, name: &OsStr, to: &Self::Fd, new: &OsStr) -> Result<(), Errno> {
        fs::linkat(from, name, to, new, AtFlags::empty())
    }

    fn rename(&self, from: &Self::Fd, name: &OsStr, to: &Self::Fd, new: &OsStr, how: Rename) -> Result<(), Errno> {
        match how {
            Rename::Replace => fs::renameat(from, name, to, new),
            Rename::Keep => fs::renameat_with(from, name, to, new, RenameFlags::NOREPLACE),
            Rename::Exchange => fs::renameat_with(from, name, to, new, RenameFlags::EXCHANGE),
        }
    }

    fn unlink(&self, folder: &Self::Fd, name: &OsStr) -> Result<(), Errno> {
        fs::unlinkat(folder, name, AtFlags::empty())
    }

    fn remove_folder(&self, folder: &Self::Fd, name: &OsStr) -> Result<(), Errno> {
        fs::unlinkat(folder, name, AtFlags::REMOVEDIR)
    }

    fn touch(&self, folder: &Self::Fd, name: &OsStr) -> Result<(), Errno> {
        let times = Timestamps {
            last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT },
            last_modification: Timespec { tv_sec: 0, tv_nsec: UTIME_NOW },
        };
        fs::utimensat(folder, name, &times, AtFlags::SYMLINK_NOFOLLOW)
    }

    fn set_mode(&self, fd: &Self::Fd, mode: u32) -> Result<(), Errno> {
        fs::fchmod(fd, Mode::from_raw_mode(mode))
    }

    fn set_owner(&self, fd: &Self::Fd, uid: u32, gid: u32) -> Result<(), Errno> {
        fs::fchown(fd, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)))
    }

    fn attributes(&self, fd: &Self::Fd) -> Result<Vec<OsString>, Errno> {
        let names = match grown(|buffer| fs::flistxattr(fd, buffer)) {
            Err(Errno::OPNOTSUPP) => Vec::new(),
            other => other?,
        };
        Ok(names.split(|byte| *byte == 0).filter(|name| !name.is_empty()).map(|name| OsStr::from_bytes(name).into()).collect())
    }

    fn attribute(&self, fd: &Self::Fd, name: &OsStr) -> Result<Vec<u8>, Errno> {
        grown(|buffer| fs::fgetxattr(fd, name, buffer))
    }

    fn set_attribute(&self, fd: &Self::Fd, name: &OsStr, value: &[u8]) -> Result<(), Errno> {
        fs::fsetxattr(fd, name, value, XattrFlags::empty())
    }

    fn remove_attribute(&self, fd: &Self::Fd, name: &OsStr) -> Result<(), Errno> {
        fs::fremovexattr(fd, name)
    }
}

/// The answer to a call that says ERANGE when its buffer is too small.
fn grown(call: impl Fn(&mut [u8]) -> Result<usize, Errno>) -> Result<Vec<u8>, Errno> {
    // The kernel's own limit of a value or a list is 64 KiB.
    for size in [1024, 65_536] {
        let mut buffer = vec![0; size];
        match call(&mut buffer) {
            Err(Errno::RANGE) => {}
            other => {
                buffer.truncate(other?);
                return Ok(buffer);
            }
        }
    }
    Err(Errno::RANGE)
}
