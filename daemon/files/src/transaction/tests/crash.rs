//! A file system in memory that knows what is durable, and what a loss of power leaves of the rest.
//!
//! It keeps the log of everything that was done. A crash at a point of the log keeps what a sync made durable before
//! it, and any subset of what came after that. In the ordered model entries of folders persist in their order, as on
//! ext4, in the weak one in any.

use std::{
    cell::RefCell,
    collections::BTreeMap,
    ffi::{OsStr, OsString},
};

use rustix::io::Errno;

use crate::transaction::fs::{Fs, Kind, Meta, Open, Rename};

type Ino = u64;

/// One thing that was done.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// Entries of folders, set or removed in one step.
    Entries(Vec<(Ino, OsString, Option<Ino>)>),
    /// Bytes written, or the size set.
    Data(Ino, Vec<u8>),
    SyncFile(Ino),
    SyncFolder(Ino),
    SyncAll,
    /// A caller was told of success.
    Told,
}

#[derive(Clone, Debug)]
enum Node {
    File(Vec<u8>),
    Folder(BTreeMap<OsString, Ino>),
}

#[derive(Clone, Debug, Default)]
struct Disk {
    nodes: BTreeMap<Ino, Node>,
    next: Ino,
}

#[derive(Default)]
pub(crate) struct CrashFs {
    disk: RefCell<Disk>,
    pub(crate) log: RefCell<Vec<Event>>,
}

pub(crate) const ROOT: Ino = 1;

impl Disk {
    fn entries(&mut self, folder: Ino) -> Result<&mut BTreeMap<OsString, Ino>, Errno> {
        match self.nodes.get_mut(&folder) {
            Some(Node::Folder(entries)) => Ok(entries),
            _ => Err(Errno::NOTDIR),
        }
    }

    fn set(&mut self, changes: &[(Ino, OsString, Option<Ino>)]) {
        for (folder, name, ino) in changes {
            // The folder may never have become durable itself.
            let Ok(entries) = self.entries(*folder) else { continue };
            match ino {
                Some(ino) => entries.insert(name.clone(), *ino),
                None => entries.remove(name),
            };
        }
    }
}

impl CrashFs {
    pub(crate) fn new() -> Self {
        let fs = Self::default();
        fs.disk.borrow_mut().nodes.insert(ROOT, Node::Folder(BTreeMap::new()));
        fs.disk.borrow_mut().next = ROOT + 1;
        fs
    }

    fn node(&self, node: Node) -> Ino {
        let mut disk = self.disk.borrow_mut();
        let ino = disk.next;
        disk.next += 1;
        disk.nodes.insert(ino, node);
        ino
    }

    fn done(&self, event: Event) {
        if let Event::Entries(changes) = &event {
            self.disk.borrow_mut().set(changes);
        }
        self.log.borrow_mut().push(event);
    }

    fn find(&self, folder: Ino, name: &OsStr) -> Result<Ino, Errno> {
        if name == "." {
            return Ok(folder);
        }
        self.disk.borrow_mut().entries(folder)?.get(name).copied().ok_or(Errno::NOENT)
    }

    /// Everything so far is durable, and the log begins anew.
    pub(crate) fn settle(&self) {
        self.log.borrow_mut().clear();
    }

    /// Says in the log that the caller was told.
    pub(crate) fn told(&self) {
        self.done(Event::Told);
    }

    /// All files: path and bytes.
    pub(crate) fn tree(&self) -> BTreeMap<String, String> {
        let disk = self.disk.borrow();
        let mut tree = BTreeMap::new();
        let mut folders = vec![(String::new(), ROOT)];
        while let Some((path, ino)) = folders.pop() {
            let Some(Node::Folder(entries)) = disk.nodes.get(&ino) else { continue };
            for (name, ino) in entries {
                let path = format!("{path}/{}", name.to_string_lossy());
                match disk.nodes.get(ino) {
                    Some(Node::Folder(_)) => {
                        tree.insert(path.clone(), "folder".to_owned());
                        folders.push((path, *ino));
                    }
                    Some(Node::File(bytes)) => {
                        tree.insert(path, String::from_utf8_lossy(bytes).into_owned());
                    }
                    None => {}
                }
            }
        }
        tree
    }

    /// What a crash after the first `at` events of a log leaves on the disk that it began with: one disk for each
    /// subset of what was not durable, or for a sample of them where there are too many.
    pub(crate) fn crashes(start: &Self, end: &Self, at: usize, model: Model) -> Vec<Self> {
        let log = end.log.borrow();
        let done = &log[..at];
        // Whether each event is durable by then.
        let durable = |index: usize| {
            let later = &done[index + 1..];
            match &done[index] {
                Event::Entries(changes) => later.iter().any(|event| match event {
                    Event::SyncAll => true,
                    Event::SyncFolder(folder) => {
                        model == Model::Ordered || changes.iter().any(|(changed, _, _)| changed == folder)
                    }
                    // In order, a sync of anything takes all entries before it along.
                    Event::SyncFile(_) => model == Model::Ordered,
                    _ => false,
                }),
                Event::Data(ino, _) => later.iter().any(|event| match event {
                    Event::SyncAll => true,
                    Event::SyncFile(synced) => synced == ino,
                    _ => false,
                }),
                _ => true,
            }
        };
        let open: Vec<usize> = (0..at).filter(|index| !durable(*index)).collect();
        let mut subsets: Vec<Vec<bool>> = Vec::new();
        if open.len() <= 7 {
            for bits in 0_u32..1 << open.len() {
                subsets.push((0..open.len()).map(|bit| bits >> bit & 1 == 1).collect());
            }
        } else {
            subsets.push(vec![true; open.len()]);
            subsets.push(vec![false; open.len()]);
            for alone in 0..open.len() {
                subsets.push((0..open.len()).map(|bit| bit == alone).collect());
                subsets.push((0..open.len()).map(|bit| bit != alone).collect());
                subsets.push((0..open.len()).map(|bit| bit <= alone).collect());
            }
            let mut seed = 0x2545_f491_4f6c_dd1d_u64 ^ at as u64;
            for _ in 0..64 {
                seed ^= seed << 13;
                seed ^= seed >> 7;
                seed ^= seed << 17;
                subsets.push((0..open.len()).map(|bit| seed >> (bit % 60) & 1 == 1).collect());
            }
        }
        if model == Model::Ordered {
            // Entries persist up to some point; data in any way.
            let entries: Vec<bool> = open.iter().map(|index| matches!(done[*index], Event::Entries(_))).collect();
            for subset in &mut subsets {
                let first = subset.iter().zip(&entries).position(|(kept, entry)| *entry && !kept).unwrap_or(subset.len());
                for (bit, entry) in entries.iter().enumerate() {
                    if *entry && bit > first {
                        subset[bit] = false;
                    }
                }
            }
            subsets.sort();
            subsets.dedup();
        }
        subsets.iter().map(|subset| start.replayed(end, done, &open, subset)).collect()
    }

    fn replayed(&self, end: &Self, done: &[Event], open: &[usize], subset: &[bool]) -> Self {
        let mut disk = self.disk.borrow().clone();
        // What came later is there, empty, and is found when an entry of it is.
        for (ino, node) in &end.disk.borrow().nodes {
            disk.nodes.entry(*ino).or_insert_with(|| match node {
                Node::File(_) => Node::File(Vec::new()),
                Node::Folder(_) => Node::Folder(BTreeMap::new()),
            });
        }
        disk.next = end.disk.borrow().next;
        for (index, event) in done.iter().enumerate() {
            if open.iter().position(|at| *at == index).is_some_and(|bit| !subset[bit]) {
                continue;
            }
            match event {
                Event::Entries(changes) => disk.set(changes),
                Event::Data(ino, bytes) => {
                    disk.nodes.insert(*ino, Node::File(bytes.clone()));
                }
                _ => {}
            }
        }
        Self { disk: RefCell::new(disk), log: RefCell::default() }
    }
}

impl Clone for CrashFs {
    fn clone(&self) -> Self {
        Self { disk: self.disk.clone(), log: RefCell::default() }
    }
}

/// In which order entries of folders persist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    Weak,
    Ordered,
}

impl Fs for CrashFs {
    type Fd = Ino;

    fn open(&self, folder: &Ino, name: &OsStr, how: Open) -> Result<Ino, Errno> {
        if let Open::Create(_) = how {
            if self.find(*folder, name).is_ok() {
                return Err(Errno::EXIST);
            }
            let ino = self.node(Node::File(Vec::new()));
            self.done(Event::Entries(vec![(*folder, name.to_owned(), Some(ino))]));
            return Ok(ino);
        }
        let ino = self.find(*folder, name)?;
        let is_folder = self.stat(&ino)?.kind == Kind::Directory;
        match how {
            Open::Folder if !is_folder => Err(Errno::NOTDIR),
            Open::ReadWrite if is_folder => Err(Errno::ISDIR),
            _ => Ok(ino),
        }
    }

    fn stat(&self, fd: &Ino) -> Result<Meta, Errno> {
        let disk = self.disk.borrow();
        let (kind, size, mode) = match disk.nodes.get(fd).ok_or(Errno::NOENT)? {
            Node::File(bytes) => (Kind::File, bytes.len() as u64, 0o644),
            Node::Folder(_) => (Kind::Directory, 0, 0o700),
        };
        let named = |node: &Node| match node {
            Node::Folder(entries) => entries.values().filter(|ino| *ino == fd).count() as u64,
            Node::File(_) => 0,
        };
        let links = disk.nodes.values().map(named).sum();
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Ok(Meta { dev: 7, ino: *fd, kind, mode, uid, gid, links, size, mount: None, immutable: false })
    }

    fn stat_at(&self, folder: &Ino, name: &OsStr) -> Result<Meta, Errno> {
        self.stat(&self.find(*folder, name)?)
    }

    fn may_write(&self, folder: &Ino, name: &OsStr) -> Result<(), Errno> {
        self.find(*folder, name).map(|_| ())
    }

    fn read_link(&self, _: &Ino, _: &OsStr) -> Result<OsString, Errno> {
        Err(Errno::INVAL)
    }

    fn list(&self, folder: &Ino) -> Result<Vec<OsString>, Errno> {
        Ok(self.disk.borrow_mut().entries(*folder)?.keys().cloned().collect())
    }

    fn read(&self, fd: &Ino, buffer: &mut [u8], offset: u64) -> Result<usize, Errno> {
        let disk = self.disk.borrow();
        let Some(Node::File(bytes)) = disk.nodes.get(fd) else { return Err(Errno::ISDIR) };
        let rest = bytes.get(offset as usize..).unwrap_or_default();
        let size = rest.len().min(buffer.len());
        buffer[..size].copy_from_slice(&rest[..size]);
        Ok(size)
    }

    fn write(&self, fd: &Ino, new: &[u8], offset: u64) -> Result<usize, Errno> {
        // In small pieces, so that a crash can tear.
        let new = &new[..new.len().min(64)];
        let mut disk = self.disk.borrow_mut();
        let Some(Node::File(bytes)) = disk.nodes.get_mut(fd) else { return Err(Errno::BADF) };
        let end = offset as usize + new.len();
        if bytes.len() < end {
            bytes.resize(end, 0);
        }
        bytes[offset as usize..end].copy_from_slice(new);
        self.log.borrow_mut().push(Event::Data(*fd, bytes.clone()));
        Ok(new.len())
    }

    fn truncate(&self, fd: &Ino, size: u64) -> Result<(), Errno> {
        let mut disk = self.disk.borrow_mut();
        let Some(Node::File(bytes)) = disk.nodes.get_mut(fd) else { return Err(Errno::BADF) };
        bytes.resize(size as usize, 0);
        self.log.borrow_mut().push(Event::Data(*fd, bytes.clone()));
        Ok(())
    }

    fn reserve(&self, _: &Ino, _: u64) -> Result<(), Errno> {
        Ok(())
    }

    fn sync(&self, fd: &Ino) -> Result<(), Errno> {
        self.done(Event::SyncFile(*fd));
        Ok(())
    }

    fn sync_folder(&self, folder: &Ino) -> Result<(), Errno> {
        self.done(Event::SyncFolder(*folder));
        Ok(())
    }

    fn sync_all(&self, _: &Ino) -> Result<(), Errno> {
        self.done(Event::SyncAll);
        Ok(())
    }

    fn make_folder(&self, folder: &Ino, name: &OsStr, _: u32) -> Result<(), Errno> {
        if self.find(*folder, name).is_ok() {
            return Err(Errno::EXIST);
        }
        let ino = self.node(Node::Folder(BTreeMap::new()));
        self.done(Event::Entries(vec![(*folder, name.to_owned(), Some(ino))]));
        Ok(())
    }

    fn make_link(&self, _: &Ino, _: &OsStr, _: &OsStr) -> Result<(), Errno> {
        Err(Errno::OPNOTSUPP)
    }

    fn hard_link(&self, from: &Ino, name: &OsStr, to: &Ino, new: &OsStr) -> Result<(), Errno> {
        let ino = self.find(*from, name)?;
        if self.find(*to, new).is_ok() {
            return Err(Errno::EXIST);
        }
        self.done(Event::Entries(vec![(*to, new.to_owned(), Some(ino))]));
        Ok(())
    }

    fn rename(&self, from: &Ino, name: &OsStr, to: &Ino, new: &OsStr, how: Rename) -> Result<(), Errno> {
        let ino = self.find(*from, name)?;
        let other = self.find(*to, new).ok();
        let left = match how {
            Rename::Replace => None,
            Rename::Keep if other.is_some() => return Err(Errno::EXIST),
            Rename::Keep => None,
            Rename::Exchange => Some(other.ok_or(Errno::NOENT)?),
        };
        self.done(Event::Entries(vec![(*from, name.to_owned(), left), (*to, new.to_owned(), Some(ino))]));
        Ok(())
    }

    fn unlink(&self, folder: &Ino, name: &OsStr) -> Result<(), Errno> {
        self.find(*folder, name)?;
        self.done(Event::Entries(vec![(*folder, name.to_owned(), None)]));
        Ok(())
    }

    fn remove_folder(&self, folder: &Ino, name: &OsStr) -> Result<(), Errno> {
        let ino = self.find(*folder, name)?;
        if !self.list(&ino)?.is_empty() {
            return Err(Errno::NOTEMPTY);
        }
        self.unlink(folder, name)
    }

    fn touch(&self, folder: &Ino, name: &OsStr) -> Result<(), Errno> {
        self.find(*folder, name).map(|_| ())
    }

    fn set_mode(&self, _: &Ino, _: u32) -> Result<(), Errno> {
        Ok(())
    }
    fn set_owner(&self, _: &Ino, _: u32, _: u32) -> Result<(), Errno> {
        Ok(())
    }
    fn attributes(&self, _: &Ino) -> Result<Vec<OsString>, Errno> {
        Ok(Vec::new())
    }
    fn attribute(&self, _: &Ino, _: &OsStr) -> Result<Vec<u8>, Errno> {
        Err(Errno::NODATA)
    }
    fn set_attribute(&self, _: &Ino, _: &OsStr, _: &[u8]) -> Result<(), Errno> {
        Ok(())
    }
    fn remove_attribute(&self, _: &Ino, _: &OsStr) -> Result<(), Errno> {
        Ok(())
    }
}
