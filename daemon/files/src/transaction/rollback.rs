//! Undoing a transaction that is not committed: in reverse order, and by identity.
//!
//! A file is only taken away from a name when it is ours, with our bytes in it. Where somebody else's content stands,
//! it stays, and the bytes from before are kept in the stage. The same code serves a call that fails and recovery.

use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use ccd_text::Version;
use rustix::io::Errno;

use super::{
    apply::{keep, overwrite, print_at, unsupported},
    fail::PathState,
    folders::Folders,
    fs::{Fs, Kind, Open, Rename, again, read_at},
    journal::{Journal, Op, OpKind, Print, joined},
    stage::MANY,
};

/// How one step stands after its undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Undone {
    Clean,
    /// Somebody else's content stands; what was before is kept.
    Conflict,
}

/// Undoes steps, the last one first, and makes that durable. Says at which of them somebody else's content stands.
pub(crate) fn rollback<F: Fs>(
    folders: &Folders<'_, F>,
    journals: &F::Fd,
    journal: &Journal,
    steps: usize,
) -> Result<HashSet<usize>, Errno> {
    let mut conflicts = HashSet::new();
    let mut result = Ok(());
    for (at, op) in journal.ops.iter().enumerate().take(steps).rev() {
        match undo(folders, journals, op, journal.power) {
            Ok(Undone::Clean) => {}
            Ok(Undone::Conflict) => {
                conflicts.insert(at);
            }
            // The others may still be put back.
            Err(errno) => result = Err(errno),
        }
    }
    result?;
    if journal.power {
        sync(folders, &journal.ops[..steps])?;
    }
    Ok(conflicts)
}

/// Makes what these steps did to folders durable, and what they wrote in place.
pub(crate) fn sync<F: Fs>(folders: &Folders<'_, F>, ops: &[Op]) -> Result<(), Errno> {
    let fs = folders.fs;
    let mut touched: Vec<(usize, PathBuf)> = Vec::new();
    for op in ops {
        if op.kind == OpKind::InPlace {
            let parent = folders.get(op.root, op.folder())?;
            match again(|| fs.open(&parent, op.name(), Open::Read)) {
                Ok(fd) => again(|| fs.sync(&fd))?,
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
            continue;
        }
        let mut folders = vec![op.folder().to_path_buf()];
        if op.kind != OpKind::MakeFolder {
            folders.push(op.slot.folder.clone());
        }
        for folder in folders {
            let folder = (op.root, folder);
            if !touched.contains(&folder) {
                touched.push(folder);
            }
        }
    }
    let many = touched.len() > MANY;
    let mut devices = HashSet::new();
    for (root, folder) in touched {
        let fd = match folders.get(root, &folder) {
            // Removed again by an undo.
            Err(Errno::NOENT | Errno::NOTDIR) => continue,
            other => other?,
        };
        if !many {
            again(|| fs.sync_folder(&fd))?;
        } else if devices.insert(fs.stat(&fd)?.dev) {
            again(|| fs.sync_all(&fd))?;
        }
    }
    Ok(())
}

/// A folder, if it is still the one that was meant.
fn folder<F: Fs>(
    folders: &Folders<'_, F>,
    root: usize,
    path: &Path,
    identity: Option<(u64, u64)>,
) -> Result<Option<F::Fd>, Errno> {
    let fd = match folders.get(root, path) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
        other => other?,
    };
    if let Some(identity) = identity {
        let meta = folders.fs.stat(&fd)?;
        if (meta.dev, meta.ino) != identity {
            return Ok(None);
        }
    }
    Ok(Some(fd))
}

fn print_in<F: Fs>(fs: &F, folder: Option<&F::Fd>, name: &OsStr) -> Result<Option<Print>, Errno> {
    match folder {
        Some(folder) => print_at(fs, folder, name),
        None => Ok(None),
    }
}

fn same_file(one: Option<Print>, other: Option<Print>) -> bool {
    matches!((one, other), (Some(one), Some(other)) if (one.dev, one.ino) == (other.dev, other.ino))
}

fn undo<F: Fs>(folders: &Folders<'_, F>, journals: &F::Fd, op: &Op, power: bool) -> Result<Undone, Errno> {
    let fs = folders.fs;
    let parent = folder(folders, op.root, op.folder(), op.parent)?;
    match op.kind {
        OpKind::MakeFolder => {
            folders.forget(op.root, &op.path);
            let Some(parent) = parent else { return Ok(Undone::Clean) };
            match fs.remove_folder(&parent, op.name()) {
                // What somebody else put into it, or in its place, stays.
                Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(Undone::Clean),
                Err(errno) => Err(errno),
            }
        }
        OpKind::InPlace => undo_in_place(fs, journals, op, parent.as_ref()),
        OpKind::Exchange | OpKind::Create | OpKind::Remove => {
            let stage = folder(folders, op.root, &op.slot.folder, None)?;
            let target = print_in(fs, parent.as_ref(), op.name())?;
            let Some(stage) = stage else {
                let ours = op.post.is_some() && same_file(target, op.post);
                // Without a stage there is nothing to put back, and nothing to be put back.
                return if ours { Err(Errno::NOENT) } else { Ok(Undone::Clean) };
            };
            match op.kind {
                OpKind::Exchange => undo_exchange(fs, op, parent.as_ref(), &stage, target),
                OpKind::Create => undo_create(fs, op, parent.as_ref(), &stage, target, power),
                _ => undo_remove(fs, op, parent.as_ref(), &stage, target, power),
            }
        }
    }
}

fn undo_exchange<F: Fs>(fs: &F, op: &Op, parent: Option<&F::Fd>, stage: &F::Fd, target: Option<Print>) -> Result<Undone, Errno> {
    let staged = print_at(fs, stage, &op.slot.name)?;
    let old = print_at(fs, stage, &op.slot.old())?;
    let swapped = staged.is_some() && !same_file(staged, op.post);
    let replaced = staged.is_none() && old.is_some();
    if !same_file(target, op.post) {
        // Not ours. Either nothing was done yet, or somebody replaced what we had put there.
        let ours_was_there = swapped || (replaced && !same_file(target, op.pre));
        return Ok(if ours_was_there { Undone::Conflict } else { Undone::Clean });
    }
    let parent = parent.ok_or(Errno::NOENT)?;
    if target != op.post && (swapped || replaced) {
        return Ok(Undone::Conflict);
    }
    if replaced {
        fs.rename(stage, &op.slot.old(), parent, op.name(), Rename::Replace)?;
        fs.touch(parent, op.name())?;
        return Ok(Undone::Clean);
    }
    if !swapped {
        return Err(Errno::NOENT);
    }
    put_back(fs, op, parent, stage)
}

/// Exchanges again until what comes out is what was put in: a writer who comes in between keeps the name.
fn put_back<F: Fs>(fs: &F, op: &Op, parent: &F::Fd, stage: &F::Fd) -> Result<Undone, Errno> {
    let name = &op.slot.name;
    let identity = |name: &OsString| fs.stat_at(stage, name).map(|meta| (meta.dev, meta.ino));
    let mut expected = op.post.map(|post| (post.dev, post.ino));
    let mut undone = Undone::Clean;
    for _ in 0..16 {
        let put = identity(name)?;
        match fs.rename(stage, name, parent, op.name(), Rename::Exchange) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(Undone::Conflict),
            Err(errno) if unsupported(errno) => {
                fs.rename(stage, name, parent, op.name(), Rename::Replace)?;
                return Ok(undone);
            }
            Err(errno) => return Err(errno),
        }
        if Some(identity(name)?) == expected {
            let ours_again = op.pre.is_some_and(|pre| (pre.dev, pre.ino) == put);
            if ours_again && undone == Undone::Clean {
                // What was built from the new file must not look up to date.
                fs.touch(parent, op.name())?;
            }
            return Ok(undone);
        }
        expected = Some(put);
        undone = Undone::Conflict;
    }
    Err(Errno::AGAIN)
}

fn undo_create<F: Fs>(
    fs: &F,
    op: &Op,
    parent: Option<&F::Fd>,
    stage: &F::Fd,
    target: Option<Print>,
    power: bool,
) -> Result<Undone, Errno> {
    let (Some(parent), true) = (parent, same_file(target, op.post)) else { return Ok(Undone::Clean) };
    if target != op.post {
        return Ok(Undone::Conflict);
    }
    // Linked but not yet unlinked, where a rename cannot keep what is there.
    if same_file(print_at(fs, stage, &op.slot.name)?, op.post) {
        fs.unlink(parent, op.name())?;
        return Ok(Undone::Clean);
    }
    keep(fs, parent, op.name(), stage, &op.slot.name, power)?;
    if same_file(print_at(fs, stage, &op.slot.name)?, op.post) {
        return Ok(Undone::Clean);
    }
    // Somebody replaced it in between: theirs goes back.
    match keep(fs, stage, &op.slot.name, parent, op.name(), power) {
        Ok(()) => Ok(Undone::Clean),
        Err(Errno::EXIST) => Ok(Undone::Conflict),
        Err(errno) => Err(errno),
    }
}

fn undo_remove<F: Fs>(
    fs: &F,
    op: &Op,
    parent: Option<&F::Fd>,
    stage: &F::Fd,
    target: Option<Print>,
    power: bool,
) -> Result<Undone, Errno> {
    let staged = print_at(fs, stage, &op.slot.name)?;
    if staged.is_none() || same_file(staged, target) {
        return Ok(Undone::Clean);
    }
    let (Some(parent), None) = (parent, target) else { return Ok(Undone::Conflict) };
    match keep(fs, stage, &op.slot.name, parent, op.name(), power) {
        Ok(()) => {
            if same_file(staged, op.pre) {
                fs.touch(parent, op.name())?;
            }
            Ok(Undone::Clean)
        }
        Err(Errno::EXIST) => Ok(Undone::Conflict),
        Err(errno) => Err(errno),
    }
}

fn undo_in_place<F: Fs>(fs: &F, journals: &F::Fd, op: &Op, parent: Option<&F::Fd>) -> Result<Undone, Errno> {
    let copy = |ending| match read_at(fs, journals, &joined(&op.slot.name, ending)) {
        Ok((_, bytes)) => Ok(Some(bytes)),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    };
    let meta = match parent.map(|parent| fs.stat_at(parent, op.name())) {
        None | Some(Err(Errno::NOENT)) => None,
        Some(meta) => Some(meta?),
    };
    let before = copy(".pre")?;
    let ours =
        meta.is_some_and(|meta| meta.kind == Kind::File && op.pre.is_some_and(|pre| (pre.dev, pre.ino) == (meta.dev, meta.ino)));
    let (Some(parent), true) = (parent, ours) else {
        return Ok(if before.is_some() { Undone::Conflict } else { Undone::Clean });
    };
    let (_, now) = read_at(fs, parent, op.name())?;
    if Some(Version::of(&now)) == op.pre.and_then(|pre| pre.version) {
        return Ok(Undone::Clean);
    }
    let (Some(before), Some(after)) = (before, copy(".new")?) else { return Err(Errno::NOENT) };
    if !written_by_us(&now, &before, &after) {
        return Ok(Undone::Conflict);
    }
    let fd = again(|| fs.open(parent, op.name(), Open::ReadWrite))?;
    overwrite(fs, &fd, &before)?;
    fs.touch(parent, op.name())?;
    Ok(Undone::Clean)
}

/// Whether a file that is neither old nor new can be our own write, cut short: the system writes pages in any order,
/// but each byte is the old one, the new one, or was never written.
fn written_by_us(now: &[u8], before: &[u8], after: &[u8]) -> bool {
    let length = now.len();
    let grows = (before.len()..=after.len()).contains(&length);
    if !grows && length != before.len() && length != after.len() {
        return false;
    }
    now.iter().enumerate().all(|(at, value)| {
        let there = |bytes: &[u8]| bytes.get(at).copied().unwrap_or(0) == *value;
        there(before) || there(after)
    })
}

/// How the target of a step stands.
pub(crate) fn state<F: Fs>(folders: &Folders<'_, F>, op: &Op) -> PathState {
    let parent = match folders.get(op.root, op.folder()) {
        Ok(parent) => Some(parent),
        Err(Errno::NOENT | Errno::NOTDIR) => None,
        Err(_) => return PathState::Unknown,
    };
    let Ok(target) = print_in(folders.fs, parent.as_ref(), op.name()) else { return PathState::Unknown };
    let version = |print: Option<Print>| print.map(|print| (print.size, print.version));
    if version(target) == version(op.pre) {
        PathState::Old
    } else if version(target) == version(op.post) {
        PathState::New
    } else {
        PathState::Unknown
    }
}

/// Where the bytes from before a step lie: absolute.
pub(crate) fn kept<F: Fs>(folders: &Folders<'_, F>, journals: &F::Fd, state: &Path, op: &Op) -> Option<PathBuf> {
    let fs = folders.fs;
    if op.kind == OpKind::InPlace {
        let name = joined(&op.slot.name, ".pre");
        return fs.stat_at(journals, &name).ok().map(|_| state.join(name));
    }
    let stage = folders.get(op.root, &op.slot.folder).ok()?;
    [op.slot.old(), op.slot.name.clone()].into_iter().find_map(|name| {
        let meta = fs.stat_at(&stage, &name).ok()?;
        let ours = op.post.is_some_and(|post| (post.dev, post.ino) == (meta.dev, meta.ino));
        (!ours).then(|| folders.absolute(op.root, &op.slot.folder.join(name)))
    })
}
