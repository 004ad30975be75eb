//! Applying a prepared transaction, step by step, each verified after the fact.
//!
//! An exchange puts the new file at the name and leaves the old one in the stage: what came out can be compared with
//! what was planned for, with no instant in which another writer's file could be lost.

use std::path::PathBuf;

use ccd_text::Version;
use rustix::io::Errno;

use super::{
    change::Atomic,
    fail::{Changed, Reason, TransactionError},
    failpoint::failpoint,
    folders::Folders,
    fs::{Fs, Kind, Open, Rename, again, read_all, read_at, write_all},
    journal::{Op, OpKind, Print},
    stage::link_print,
};

/// Why a step was not taken.
pub(crate) enum Stopped {
    Failed(TransactionError),
    /// The stage is on another mount than the target.
    OtherMount,
    /// The target is a mount point.
    MountPoint,
}

impl From<TransactionError> for Stopped {
    fn from(error: TransactionError) -> Self {
        Self::Failed(error)
    }
}

/// The print of whatever stands at a name; none when nothing does.
pub(crate) fn print_at<F: Fs>(fs: &F, folder: &F::Fd, name: &std::ffi::OsStr) -> Result<Option<Print>, Errno> {
    let meta = match fs.stat_at(folder, name) {
        Err(Errno::NOENT) => return Ok(None),
        other => other?,
    };
    match meta.kind {
        Kind::File => match read_at(fs, folder, name) {
            Ok((meta, bytes)) => {
                Ok(Some(Print { dev: meta.dev, ino: meta.ino, size: bytes.len() as u64, version: Some(Version::of(&bytes)) }))
            }
            Err(Errno::NOENT) => Ok(None),
            Err(Errno::ACCESS) => Ok(Some(Print { dev: meta.dev, ino: meta.ino, size: meta.size, version: None })),
            Err(other) => Err(other),
        },
        Kind::Link => link_print(fs, folder, name).map(Some),
        _ => Ok(Some(Print { dev: meta.dev, ino: meta.ino, size: meta.size, version: None })),
    }
}

/// The refusal of a target that is not what was planned for.
pub(crate) fn changed(path: PathBuf, pre: Option<Print>, now: Option<Version>) -> TransactionError {
    let expected = pre.and_then(|pre| pre.version);
    TransactionError::ContentChanged { paths: vec![Changed { path, expected, now, reason: Reason::Changed }] }
}

fn gone(path: PathBuf, pre: Option<Print>) -> TransactionError {
    let expected = pre.and_then(|pre| pre.version);
    TransactionError::ContentChanged { paths: vec![Changed { path, expected, now: None, reason: Reason::Removed }] }
}

/// Whether a call says that this file system does not know it.
pub(crate) fn unsupported(errno: Errno) -> bool {
    matches!(errno, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

/// Takes one step. Says how the file came to its name.
pub(crate) fn apply<F: Fs>(folders: &Folders<'_, F>, journals: &F::Fd, op: &Op, power: bool) -> Result<Atomic, Stopped> {
    let fs = folders.fs;
    let path = folders.absolute(op.root, &op.path);
    let fail = |errno| match errno {
        Errno::XDEV => Stopped::OtherMount,
        Errno::BUSY => Stopped::MountPoint,
        errno => Stopped::Failed(TransactionError::of(&path, errno)),
    };
    let parent = folders.get(op.root, op.folder()).map_err(fail)?;
    if op.kind == OpKind::MakeFolder {
        return match fs.make_folder(&parent, op.name(), 0o777) {
            Ok(()) => Ok(Atomic::Exchange),
            // Another process was faster; a folder is a folder.
            Err(Errno::EXIST) if fs.stat_at(&parent, op.name()).is_ok_and(|meta| meta.kind == Kind::Directory) => {
                Ok(Atomic::Exchange)
            }
            Err(errno) => Err(fail(errno)),
        };
    }
    if op.kind != OpKind::Create {
        // Cheap, and it spares an exchange that would have to be taken back.
        let pre = op.pre.expect("what is replaced was there");
        match fs.stat_at(&parent, op.name()) {
            Err(Errno::NOENT) => return Err(gone(path, op.pre).into()),
            Err(errno) => return Err(fail(errno)),
            Ok(meta) if (meta.dev, meta.ino, meta.size) != (pre.dev, pre.ino, pre.size) => {
                let now = print_at(fs, &parent, op.name()).ok().flatten().and_then(|print| print.version);
                return Err(changed(path, op.pre, now).into());
            }
            Ok(_) => {}
        }
    }
    failpoint("checked").map_err(fail)?;
    if op.kind == OpKind::InPlace {
        return in_place(folders, journals, op).map(|()| Atomic::JournaledInPlace);
    }
    let stage = folders.get(op.root, &op.slot.folder).map_err(fail)?;
    if let Some(post) = op.post {
        // Somebody who puts something else into the stage gets it nowhere.
        let meta = fs.stat_at(&stage, &op.slot.name).map_err(fail)?;
        if (meta.dev, meta.ino) != (post.dev, post.ino) {
            return Err(fail(Errno::STALE));
        }
        // Older than the last build, a new file would not be built.
        fs.touch(&stage, &op.slot.name).map_err(fail)?;
    }
    match op.kind {
        OpKind::Exchange => match fs.rename(&stage, &op.slot.name, &parent, op.name(), Rename::Exchange) {
            Ok(()) => verify(fs, &stage, op, &op.slot.name, path).map(|()| Atomic::Exchange),
            Err(Errno::NOENT) => Err(gone(path, op.pre).into()),
            Err(errno) if unsupported(errno) => replace(fs, &stage, &parent, op, path, power).map(|()| Atomic::Weak),
            Err(errno) => Err(fail(errno)),
        },
        OpKind::Create => match keep(fs, &stage, &op.slot.name, &parent, op.name(), power) {
            Ok(()) => Ok(Atomic::Exchange),
            Err(Errno::EXIST) => {
                let now = print_at(fs, &parent, op.name()).ok().flatten().and_then(|print| print.version);
                let paths = vec![Changed { path, expected: None, now, reason: Reason::Created }];
                Err(TransactionError::ContentChanged { paths }.into())
            }
            Err(errno) => Err(fail(errno)),
        },
        OpKind::Remove => match keep(fs, &parent, op.name(), &stage, &op.slot.name, power) {
            Ok(()) => verify(fs, &stage, op, &op.slot.name, path).map(|()| Atomic::Exchange),
            Err(Errno::NOENT) => Err(gone(path, op.pre).into()),
            Err(errno) => Err(fail(errno)),
        },
        OpKind::MakeFolder | OpKind::InPlace => unreachable!("done above"),
    }
}

/// Renames to a name where nothing is.
pub(crate) fn keep<F: Fs>(
    fs: &F,
    from: &F::Fd,
    name: &std::ffi::OsStr,
    to: &F::Fd,
    new: &std::ffi::OsStr,
    power: bool,
) -> Result<(), Errno> {
    match fs.rename(from, name, to, new, Rename::Keep) {
        // A link refuses an existing name as well.
        Err(errno) if unsupported(errno) => {
            fs.hard_link(from, name, to, new)?;
            if power {
                // The new name has to be there before the old one goes.
                again(|| fs.sync_folder(to))?;
            }
            fs.unlink(from, name)
        }
        other => other,
    }
}

/// Compares what came out with what was planned for. When it differs, undoing puts it back.
fn verify<F: Fs>(fs: &F, stage: &F::Fd, op: &Op, name: &std::ffi::OsStr, path: PathBuf) -> Result<(), Stopped> {
    let out = print_at(fs, stage, name).map_err(|errno| TransactionError::of(&path, errno))?;
    let pre = op.pre.expect("what is replaced was there");
    match out {
        // The same bytes under another inode are no update that could be lost; a file of the lower layer of an overlay
        // changes its inode when it is renamed.
        Some(out) if out.version.is_some() && (out.size, out.version) == (pre.size, pre.version) => Ok(()),
        // It could not be read when it was planned; then the file itself has to do.
        Some(out) if pre.version.is_none() && (out.dev, out.ino, out.size) == (pre.dev, pre.ino, pre.size) => Ok(()),
        out => Err(changed(path, op.pre, out.and_then(|out| out.version)).into()),
    }
}

/// Renames over the target, where names cannot be exchanged. The old file is linked into the stage first.
fn replace<F: Fs>(fs: &F, stage: &F::Fd, parent: &F::Fd, op: &Op, path: PathBuf, power: bool) -> Result<(), Stopped> {
    let fail = |errno| Stopped::Failed(TransactionError::of(&path, errno));
    let old = op.slot.old();
    match fs.hard_link(parent, op.name(), stage, &old) {
        Ok(()) => {}
        Err(Errno::NOENT) => return Err(gone(path, op.pre).into()),
        Err(errno) if unsupported(errno) || errno == Errno::PERM => {
            let (_, bytes) = read_at(fs, parent, op.name()).map_err(fail)?;
            let fd = again(|| fs.open(stage, &old, Open::Create(0o600))).map_err(fail)?;
            write_all(fs, &fd, &bytes).map_err(fail)?;
            again(|| fs.sync(&fd)).map_err(fail)?;
        }
        Err(errno) => return Err(fail(errno)),
    }
    let out = print_at(fs, stage, &old).map_err(fail)?;
    if out.and_then(|out| out.version) != op.pre.and_then(|pre| pre.version) {
        return Err(changed(path, op.pre, out.and_then(|out| out.version)).into());
    }
    if power {
        // The old file has to have another name before it loses its own.
        again(|| fs.sync_folder(stage)).map_err(fail)?;
    }
    fs.rename(stage, &op.slot.name, parent, op.name(), Rename::Replace).map_err(fail)
}

/// Writes the file itself. It is never cut first: room is reserved before the first byte changes.
fn in_place<F: Fs>(folders: &Folders<'_, F>, journals: &F::Fd, op: &Op) -> Result<(), Stopped> {
    let fs = folders.fs;
    let path = folders.absolute(op.root, &op.path);
    let fail = |errno| Stopped::Failed(TransactionError::of(&path, errno));
    let parent = folders.get(op.root, op.folder()).map_err(fail)?;
    let (_, bytes) = read_at(fs, journals, &super::journal::joined(&op.slot.name, ".new")).map_err(fail)?;
    let fd = again(|| fs.open(&parent, op.name(), Open::ReadWrite)).map_err(fail)?;
    let meta = fs.stat(&fd).map_err(fail)?;
    let now = Version::of(&read_all(fs, &fd, meta.size).map_err(fail)?);
    let pre = op.pre.expect("what is replaced was there");
    if (meta.dev, meta.ino) != (pre.dev, pre.ino) || Some(now) != pre.version {
        return Err(changed(path, op.pre, Some(now)).into());
    }
    fs.reserve(&fd, bytes.len() as u64).map_err(fail)?;
    overwrite(fs, &fd, &bytes).map_err(fail)
}

/// Gives an open file these bytes, and no others behind them.
pub(crate) fn overwrite<F: Fs>(fs: &F, fd: &F::Fd, bytes: &[u8]) -> Result<(), Errno> {
    write_all(fs, fd, bytes)?;
    fs.truncate(fd, bytes.len() as u64)
}
