//! What a committed transaction replaced, kept so that it can be undone.

use std::{
    ffi::OsString,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use ccd_text::Version;
use rustix::io::Errno;

use super::{
    change::{Body, Change, Expect, SavedFile},
    fs::{Fs, Kind, Open, again, read_all, read_at, unless_absent, write_all},
    journal::{Journal, OpKind, Print, hex, path, put, sealed, stem, unhex, unpath, unsealed},
    metadata::Attributes,
    ring::{Entry, Ring},
    stage::empty_folder,
    store::{Store, now},
};

const FORMAT: &str = "ccd-undo 1";
const MANIFEST: &str = "manifest";

/// The way back from a transaction.
#[derive(Clone, Debug)]
pub struct UndoEntry {
    /// The roots it wrote to: path, device and inode. The changes count them from 0.
    pub roots: Vec<(PathBuf, u64, u64)>,
    /// What a transaction has to do. It refuses where the files are no longer as they were left.
    pub changes: Vec<Change>,
}

/// Saves old files of one transaction.
pub(crate) struct Saver<'s, F: Fs> {
    fs: &'s F,
    store: &'s Store<F>,
    name: OsString,
    folder: F::Fd,
    text: String,
    bytes: u64,
}

impl<'s, F: Fs> Saver<'s, F> {
    /// `goes_on`: an earlier saver of the same transaction may have been cut short.
    pub(crate) fn new(fs: &'s F, store: &'s Store<F>, journal: &Journal, goes_on: bool) -> Result<Self, Errno> {
        let name = stem(&journal.txn_id);
        if !goes_on {
            empty_folder(fs, &store.undo, &name)?;
        }
        match fs.make_folder(&store.undo, &name, 0o700) {
            Err(Errno::EXIST) if goes_on => {}
            other => other?,
        }
        let folder = again(|| fs.open(&store.undo, &name, Open::Folder))?;
        let mut text = format!("{FORMAT}\ntime {}\n", now());
        for root in &journal.roots {
            text.push_str(&format!("root {} {} {}\n", root.dev, root.ino, path(&root.path)));
        }
        Ok(Self { fs, store, name, folder, text, bytes: 0 })
    }

    /// Takes the old file of a step out of the stage. A file that has other names, or lies on another file system,
    /// is copied.
    pub(crate) fn take(&mut self, stage: &F::Fd, name: &std::ffi::OsStr, kept: &OsString) -> Result<(), Errno> {
        let fs = self.fs;
        let meta = fs.stat_at(stage, name)?;
        self.bytes += meta.size;
        if meta.links == 1 {
            match fs.rename(stage, name, &self.folder, kept, super::fs::Rename::Keep) {
                Ok(()) => return Ok(()),
                Err(Errno::XDEV | Errno::INVAL | Errno::NOSYS) => {}
                Err(errno) => return Err(errno),
            }
        }
        if meta.kind == Kind::Link {
            let target = fs.read_link(stage, name)?;
            fs.make_link(&self.folder, kept, &target)?;
        } else {
            let from = again(|| fs.open(stage, name, Open::Read))?;
            let bytes = read_all(fs, &from, meta.size)?;
            let fd = again(|| fs.open(&self.folder, kept, Open::Create(0o600)))?;
            write_all(fs, &fd, &bytes)?;
            // What cannot be kept here is told when the undo puts it back.
            let _ = Attributes::read(fs, &from, meta)?.apply(fs, &fd, &mut |_| true);
        }
        fs.unlink(stage, name)
    }

    /// Whether a file was taken before.
    pub(crate) fn has(&self, kept: &OsString) -> bool {
        self.fs.stat_at(&self.folder, kept).is_ok()
    }

    pub(crate) fn file(&mut self, root: usize, at: &Path, pre: Option<Print>, post: Option<Print>, kept: Option<&OsString>) {
        let version = |print: Option<Print>| print.and_then(|print| print.version).map_or_else(|| "-".to_owned(), hex);
        let kept = kept.map_or_else(|| "-".to_owned(), |kept| kept.to_string_lossy().into_owned());
        self.text.push_str(&format!("file {root} {} {} {} {kept}\n", path(at), version(pre), version(post)));
    }

    /// Makes the entry valid, and lets go of the oldest ones. Says whether the transaction can be undone.
    pub(crate) fn finish(self) -> Result<bool, Errno> {
        put(self.fs, &self.folder, std::ffi::OsStr::new(MANIFEST), &sealed(self.text), false)?;
        let entry = Entry { name: self.name.clone(), time: now(), bytes: self.bytes };
        make_room(self.fs, self.store, entry)?;
        Ok(self.bytes <= self.store.limits.undo_bytes)
    }

    /// Where a file is that is kept in it.
    pub(crate) fn path(&self, kept: &OsString) -> PathBuf {
        self.store.path.join(super::store::UNDO).join(&self.name).join(kept)
    }
}

/// Takes a new entry in, and lets go of the oldest where there are too many bytes. What is only too old waits for
/// [`trim`]: to remove a folder takes some file systems milliseconds, and here a caller waits.
fn make_room<F: Fs>(fs: &F, store: &Store<F>, new: Entry) -> Result<(), Errno> {
    let mut ring = store.undo_ring.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    load_ring(fs, store, &mut ring)?;
    ring.push(new);
    while let Some(name) = ring.over(now(), u64::MAX, store.limits.undo_bytes) {
        empty_folder(fs, &store.undo, &name)?;
    }
    Ok(())
}

/// Lets go of what is too old or too much.
pub(crate) fn trim<F: Fs>(fs: &F, store: &Store<F>) -> Result<(), Errno> {
    let mut ring = store.undo_ring.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    load_ring(fs, store, &mut ring)?;
    while let Some(name) = ring.over(now(), store.limits.undo_seconds, store.limits.undo_bytes) {
        empty_folder(fs, &store.undo, &name)?;
    }
    Ok(())
}

fn load_ring<F: Fs>(fs: &F, store: &Store<F>, ring: &mut Ring) -> Result<(), Errno> {
    if !ring.loaded {
        let mut entries = Vec::new();
        for name in fs.list(&store.undo)? {
            let folder = again(|| fs.open(&store.undo, &name, Open::Folder))?;
            // One without a manifest was cut short by a kill; it is the oldest of all.
            let manifest = read_at(fs, &folder, std::ffi::OsStr::new(MANIFEST)).ok();
            let time = manifest
                .and_then(|(_, bytes)| unsealed(&bytes)?.lines().find_map(|line| line.strip_prefix("time ")?.parse().ok()));
            let mut bytes = 0;
            for file in fs.list(&folder)? {
                bytes += fs.stat_at(&folder, &file)?.size;
            }
            entries.push(Entry { name, time: time.unwrap_or(0), bytes });
        }
        ring.load(entries);
    }
    Ok(())
}

/// The way back from a transaction; none when it is not kept, or no longer.
pub(crate) fn load<F: Fs>(fs: &F, store: &Store<F>, txn_id: &str) -> Result<Option<UndoEntry>, Errno> {
    trim(fs, store)?;
    let folder = match again(|| fs.open(&store.undo, &stem(txn_id), Open::Folder)) {
        Err(Errno::NOENT) => return Ok(None),
        other => other?,
    };
    let text = match read_at(fs, &folder, std::ffi::OsStr::new(MANIFEST)) {
        Err(Errno::NOENT) => return Ok(None),
        other => other?.1,
    };
    let Some(text) = unsealed(&text) else { return Ok(None) };
    let mut entry = UndoEntry { roots: Vec::new(), changes: Vec::new() };
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["root", dev, ino, path] => {
                let (Some(path), Ok(dev), Ok(ino)) = (unpath(path), dev.parse(), ino.parse()) else { return Ok(None) };
                entry.roots.push((path, dev, ino));
            }
            ["file", root, path, pre, post, kept] => {
                let (Some(rel), Ok(root)) = (unpath(path), root.parse()) else { return Ok(None) };
                let saved = if *kept == "-" { None } else { Some(saved(fs, &folder, kept, unhex(pre))?) };
                let change = match (saved, unhex(post)) {
                    (None, Some(post)) => Change::Remove { root, rel, expect: Expect::Version(post), link_itself: true },
                    (Some(Some(saved)), None) => Change::Restore { root, rel, saved },
                    (Some(Some(SavedFile { body: Body::Bytes(bytes), .. })), Some(post)) => Change::Write {
                        root,
                        rel,
                        bytes,
                        expect: Expect::Version(post),
                        metadata_from: None,
                        create_parents: false,
                    },
                    _ => return Ok(None),
                };
                entry.changes.push(change);
            }
            _ => {}
        }
    }
    // What came last goes first: a file has to be gone before another takes the place of its folder.
    entry.changes.reverse();
    Ok(Some(entry))
}

/// A kept file, if it still has the bytes that were replaced.
fn saved<F: Fs>(fs: &F, folder: &F::Fd, name: &str, version: Option<Version>) -> Result<Option<SavedFile>, Errno> {
    let name = std::ffi::OsStr::new(name);
    if fs.stat_at(folder, name)?.kind == Kind::Link {
        let target = fs.read_link(folder, name)?;
        let whole = Some(Version::of(target.as_bytes())) == version;
        return Ok(whole.then(|| SavedFile { body: Body::Link(PathBuf::from(target)), attributes: None }));
    }
    let fd = again(|| fs.open(folder, name, Open::Read))?;
    let meta = fs.stat(&fd)?;
    let bytes = read_all(fs, &fd, meta.size)?;
    let attributes = Some(Attributes::read(fs, &fd, meta)?);
    Ok((Some(Version::of(&bytes)) == version).then_some(SavedFile { body: Body::Bytes(bytes), attributes }))
}

/// Lets go of an entry.
pub(crate) fn forget<F: Fs>(fs: &F, store: &Store<F>, txn_id: &str) -> Result<(), Errno> {
    let name = stem(txn_id);
    store.undo_ring.lock().unwrap_or_else(std::sync::PoisonError::into_inner).forget(&name);
    unless_absent(empty_folder(fs, &store.undo, &name))
}

/// Whether the old bytes of a step are kept.
pub(crate) fn keeps(kind: OpKind) -> bool {
    !matches!(kind, OpKind::MakeFolder | OpKind::Create)
}
