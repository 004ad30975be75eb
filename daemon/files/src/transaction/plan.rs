//! The plan of a transaction: every change looked at and every early refusal, before anything is written.

use std::{
    collections::{HashMap, HashSet},
    ffi::{OsStr, OsString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use ccd_text::Version;
use rustix::io::Errno;

use super::{
    change::{Body, Change, Expect, FileChange, HardLinks, MetadataPolicy, Note, Options, WriteMode},
    fail::{Changed, Reason, TransactionError},
    folders::{Folders, Located, locate},
    fs::{Fs, Kind, Meta, Open, again, read_all},
    journal::{Op, OpKind, Print, Slot, joined},
    metadata::Attributes,
};

/// The folder of the stages in a root.
pub(crate) const STAGES: &str = ".ccd-tx";

/// One step and what it needs.
pub(crate) struct Step {
    pub(crate) op: Op,
    pub(crate) body: Option<Body>,
    pub(crate) attributes: Option<Attributes>,
    /// The change it belongs to.
    pub(crate) change: usize,
}

/// What is going to happen.
pub(crate) struct Plan {
    pub(crate) steps: Vec<Step>,
    pub(crate) files: Vec<FileChange>,
    pub(crate) notes: Vec<Note>,
}

/// What an attempt taught about the next one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Lessons {
    /// These changes cannot be staged in their root's stage.
    pub(crate) beside: HashSet<usize>,
    /// These can only be written in place.
    pub(crate) in_place: HashSet<usize>,
}

/// What stands at the path of a change.
struct Found {
    meta: Meta,
    version: Option<Version>,
    attributes: Option<Attributes>,
}

struct Planner<'a, F: Fs> {
    folders: &'a Folders<'a, F>,
    options: Options,
    stem: &'a OsStr,
    lessons: &'a Lessons,
    plan: Plan,
    /// Names that are free once the steps so far are done.
    removed: HashSet<(usize, PathBuf)>,
    made: HashSet<(usize, PathBuf)>,
    paths: HashMap<(usize, PathBuf), PathBuf>,
    inodes: HashMap<(u64, u64), PathBuf>,
    roots: HashMap<usize, (Option<u64>, bool)>,
    changed: Vec<Changed>,
}

/// Looks at every change, and refuses what can be refused without a write.
pub(crate) fn plan<F: Fs>(
    folders: &Folders<'_, F>,
    changes: &[Change],
    options: Options,
    stem: &OsStr,
    lessons: &Lessons,
) -> Result<Plan, TransactionError> {
    let mut planner = Planner {
        folders,
        options,
        stem,
        lessons,
        plan: Plan { steps: Vec::new(), files: Vec::new(), notes: Vec::new() },
        removed: HashSet::new(),
        made: HashSet::new(),
        paths: HashMap::new(),
        inodes: HashMap::new(),
        roots: HashMap::new(),
        changed: Vec::new(),
    };
    for (at, change) in changes.iter().enumerate() {
        planner.change(at, change)?;
    }
    if planner.changed.is_empty() { Ok(planner.plan) } else { Err(TransactionError::ContentChanged { paths: planner.changed }) }
}

impl<F: Fs> Planner<'_, F> {
    fn change(&mut self, at: usize, change: &Change) -> Result<(), TransactionError> {
        let (root, rel) = change.place();
        let named = self.folders.absolute(root, rel);
        let follow = matches!(change, Change::Write { .. });
        let removed = &self.removed;
        let located = locate(self.folders, root, rel, follow, |path| removed.contains(&(root, path.to_path_buf())))?;
        if let Some(other) = self.paths.insert((root, located.path.clone()), named.clone()) {
            return Err(TransactionError::SameFile { path: named, other });
        }
        if located.path.starts_with(STAGES) {
            return Err(TransactionError::ReadOnly { path: named });
        }
        let found = match located.meta {
            None => None,
            Some(meta) => Some(self.found(change, &named, &located, meta)?),
        };
        if let Some(found) = &found
            && let Some(other) = self.inodes.insert((found.meta.dev, found.meta.ino), named.clone())
        {
            return Err(TransactionError::SameFile { path: named, other });
        }
        if !self.expected(change, &named, found.as_ref()) {
            return Ok(());
        }
        match change {
            Change::Write { bytes, metadata_from, create_parents, .. } => {
                if !located.missing.is_empty() && !create_parents {
                    let above = named.parent().unwrap_or(&named).to_path_buf();
                    return Err(TransactionError::NotFound { path: above });
                }
                let source = match metadata_from {
                    Some((root, rel)) => Some(self.source(*root, rel)?),
                    None => None,
                };
                self.write(at, root, &named, &located, found, Body::Bytes(bytes.clone()), source)
            }
            Change::Restore { saved, .. } => {
                self.write(at, root, &named, &located, found, saved.body.clone(), saved.attributes.clone())
            }
            Change::Remove { .. } => self.remove(at, root, &named, &located, found),
        }
    }

    /// Looks at what stands at the path of a change.
    fn found(&self, change: &Change, named: &Path, located: &Located<F::Fd>, meta: Meta) -> Result<Found, TransactionError> {
        let path = || named.to_path_buf();
        let fs = self.folders.fs;
        match meta.kind {
            Kind::File => {}
            Kind::Directory => return Err(TransactionError::IsDirectory { path: path() }),
            Kind::Link if matches!(change, Change::Remove { link_itself: true, .. }) => {
                let target = fs.read_link(&located.fd, located.name()).map_err(|errno| TransactionError::of(named, errno))?;
                return Ok(Found { meta, version: Some(Version::of(target.as_bytes())), attributes: None });
            }
            other => return Err(TransactionError::NotRegular { path: path(), what: other.name() }),
        }
        let fd = match again(|| fs.open(&located.fd, located.name(), Open::Read)) {
            Ok(fd) => fd,
            // To remove a file one need not be able to read it.
            Err(Errno::ACCESS) if matches!(change, Change::Remove { expect: Expect::Any, .. }) => {
                return Ok(Found { meta, version: None, attributes: None });
            }
            Err(errno) => return Err(TransactionError::of(named, errno)),
        };
        let fail = |errno| TransactionError::of(named, errno);
        let meta = fs.stat(&fd).map_err(fail)?;
        if meta.kind != Kind::File {
            return Err(TransactionError::NotRegular { path: path(), what: meta.kind.name() });
        }
        let bytes = read_all(fs, &fd, meta.size).map_err(fail)?;
        let attributes = match change {
            Change::Remove { .. } => None,
            _ => Some(Attributes::read(fs, &fd, meta).map_err(fail)?),
        };
        // A file that grows while it is read has the size of what was read.
        let meta = Meta { size: bytes.len() as u64, ..meta };
        Ok(Found { meta, version: Some(Version::of(&bytes)), attributes })
    }

    /// Whether a change meets what it expects; notes it when not.
    fn expected(&mut self, change: &Change, named: &Path, found: Option<&Found>) -> bool {
        let expect = match change {
            Change::Write { expect, .. } | Change::Remove { expect, .. } => *expect,
            Change::Restore { .. } => Expect::Absent,
        };
        let now = found.and_then(|found| found.version);
        let (expected, reason) = match (expect, found) {
            (Expect::Absent, Some(_)) => (None, Reason::Created),
            (Expect::Version(version), None) => (Some(version), Reason::Removed),
            (Expect::Version(version), Some(_)) if now != Some(version) => (Some(version), Reason::Changed),
            _ => return true,
        };
        self.changed.push(Changed { path: named.to_path_buf(), expected, now, reason });
        false
    }

    fn source(&self, root: usize, rel: &Path) -> Result<Attributes, TransactionError> {
        let named = self.folders.absolute(root, rel);
        let located = locate(self.folders, root, rel, true, |_| false)?;
        let fail = |errno| TransactionError::of(&named, errno);
        if located.meta.is_none() {
            return Err(TransactionError::NotFound { path: named });
        }
        let fd = again(|| self.folders.fs.open(&located.fd, located.name(), Open::Read)).map_err(fail)?;
        let meta = self.folders.fs.stat(&fd).map_err(fail)?;
        if meta.kind != Kind::File {
            return Err(TransactionError::NotRegular { path: named, what: meta.kind.name() });
        }
        Attributes::read(self.folders.fs, &fd, meta).map_err(fail)
    }

    #[expect(clippy::too_many_arguments, reason = "one change in all its parts")]
    fn write(
        &mut self,
        at: usize,
        root: usize,
        named: &Path,
        located: &Located<F::Fd>,
        found: Option<Found>,
        body: Body,
        source: Option<Attributes>,
    ) -> Result<(), TransactionError> {
        let after = match &body {
            Body::Bytes(bytes) => Version::of(bytes),
            Body::Link(target) => Version::of(target.as_os_str().as_bytes()),
        };
        let before = found.as_ref().and_then(|found| found.version);
        let own = found.as_ref().and_then(|found| found.attributes.clone());
        let attributes = source.or_else(|| own.clone());
        let written = before != Some(after) || attributes != own;
        self.plan.files.push(FileChange { root, rel: located.path.clone(), before, after: Some(after), written });
        if !written {
            return Ok(());
        }
        if attributes.as_ref().is_some_and(Attributes::has_rights) || own.as_ref().is_some_and(Attributes::has_rights) {
            return Err(TransactionError::Metadata { path: named.to_path_buf(), what: "suid" });
        }
        let Some(found) = found else {
            let roomy = self.inherits(&located.fd);
            let slot = self.slot(at, root, named, located, roomy)?;
            self.make_folders(at, root, located);
            return self.step(at, root, located, OpKind::Create, slot, None, Some(body), attributes);
        };
        let (only_in_place, in_place) = self.may_replace(at, named, located, found.meta)?;
        // The target of a move gets the source's metadata, and a file that stays the same file keeps its own.
        let in_place = only_in_place || (in_place && attributes == own);
        if only_in_place && attributes != own {
            let (path, what) = (named.to_path_buf(), "owner");
            if self.options.metadata == MetadataPolicy::Strict {
                return Err(TransactionError::Metadata { path, what });
            }
            self.plan.notes.push(Note::MetadataLost { path, what });
        }
        let pre = Some(Print { dev: found.meta.dev, ino: found.meta.ino, size: found.meta.size, version: found.version });
        if in_place {
            let slot = Slot { folder: PathBuf::new(), name: self.slot_name("") };
            return self.step(at, root, located, OpKind::InPlace, slot, pre, Some(body), None);
        }
        if found.meta.links > 1 {
            self.plan.notes.push(Note::HardlinkBroken { path: named.to_path_buf(), count: found.meta.links });
        }
        let slot = self.slot(at, root, named, located, false)?;
        self.step(at, root, located, OpKind::Exchange, slot, pre, Some(body), attributes)
    }

    fn remove(
        &mut self,
        at: usize,
        root: usize,
        named: &Path,
        located: &Located<F::Fd>,
        found: Option<Found>,
    ) -> Result<(), TransactionError> {
        let Some(found) = found else {
            return Err(TransactionError::NotFound { path: named.to_path_buf() });
        };
        self.plan.files.push(FileChange { root, rel: located.path.clone(), before: found.version, after: None, written: true });
        if found.meta.kind == Kind::File {
            self.writable(named, located, found.meta)?;
        }
        let pre = Print { dev: found.meta.dev, ino: found.meta.ino, size: found.meta.size, version: found.version };
        let slot = self.slot(at, root, named, located, false)?;
        self.removed.insert((root, located.path.clone()));
        self.step(at, root, located, OpKind::Remove, slot, Some(pre), None, None)
    }

    /// Refuses a file that is not to be written. A rename would pass over its mode silently.
    fn writable(&self, named: &Path, located: &Located<F::Fd>, meta: Meta) -> Result<(), TransactionError> {
        let refuse = Err(TransactionError::ReadOnly { path: named.to_path_buf() });
        if meta.immutable {
            return refuse;
        }
        let closed = meta.mode & 0o222 == 0;
        if closed && !self.options.override_readonly {
            return refuse;
        }
        match self.folders.fs.may_write(&located.fd, located.name()) {
            Err(Errno::ACCESS) if closed && self.options.override_readonly => Ok(()),
            other => other.map_err(|errno| TransactionError::of(named, errno)),
        }
    }

    /// Whether an existing file has to be written in place, and whether it is to be; refuses what cannot be written at all.
    fn may_replace(
        &self,
        at: usize,
        named: &Path,
        located: &Located<F::Fd>,
        meta: Meta,
    ) -> Result<(bool, bool), TransactionError> {
        self.writable(named, located, meta)?;
        let many = || TransactionError::HardLinked { path: named.to_path_buf(), count: meta.links };
        if meta.links > 1 && self.options.hard_links == HardLinks::Refuse {
            return Err(many());
        }
        let mount = self.folders.fs.stat(&located.fd).map_err(|errno| TransactionError::of(named, errno))?.mount;
        let is_mount = mount.is_some() && meta.mount.is_some() && mount != meta.mount;
        let closed = self.folders.fs.may_write(&located.fd, OsStr::new(".")).is_err();
        let only = is_mount || closed || self.lessons.in_place.contains(&at);
        if only && meta.links > 1 {
            // Written in place it would change under its other names too, wherever they are.
            return Err(many());
        }
        Ok((only, only || (self.options.write_mode == WriteMode::InPlace && meta.links == 1)))
    }

    /// Whether a folder gives new files an ACL or a group; a new file is then made in it and nowhere else.
    fn inherits(&self, folder: &F::Fd) -> bool {
        let fs = self.folders.fs;
        if fs.stat(folder).is_ok_and(|meta| meta.mode & 0o2000 != 0) {
            return true;
        }
        again(|| fs.open(folder, OsStr::new("."), Open::Read))
            .and_then(|fd| fs.attribute(&fd, OsStr::new("system.posix_acl_default")))
            .is_ok()
    }

    fn slot_name(&self, prefix: &str) -> OsString {
        let mut name = OsString::from(prefix);
        name.push(self.stem);
        joined(&name, &format!("-{}", self.plan.steps.len()))
    }

    /// Where the other state of a file lies: in the root's stage, or beside the file where no rename leads there.
    fn slot(
        &mut self,
        at: usize,
        root: usize,
        named: &Path,
        located: &Located<F::Fd>,
        beside: bool,
    ) -> Result<Slot, TransactionError> {
        let fs = self.folders.fs;
        let fail = |errno| TransactionError::of(named, errno);
        fs.may_write(&located.fd, OsStr::new(".")).map_err(fail)?;
        let (mount, open) = match self.roots.get(&root) {
            Some(known) => *known,
            None => {
                let fd = &self.folders.roots[root].fd;
                let known = (fs.stat(fd).map_err(fail)?.mount, fs.may_write(fd, OsStr::new(".")).is_ok());
                self.roots.insert(root, known);
                known
            }
        };
        let here = fs.stat(&located.fd).map_err(fail)?.mount;
        if beside || !open || mount != here || self.lessons.beside.contains(&at) {
            return Ok(Slot { folder: located.folder.clone(), name: self.slot_name(".ccd-") });
        }
        Ok(Slot { folder: Path::new(STAGES).join(self.stem), name: self.plan.steps.len().to_string().into() })
    }

    fn make_folders(&mut self, at: usize, root: usize, located: &Located<F::Fd>) {
        let mut path = located.folder.clone();
        for name in &located.missing {
            path.push(name);
            if self.made.insert((root, path.clone())) {
                let op = Op {
                    kind: OpKind::MakeFolder,
                    root,
                    path: path.clone(),
                    parent: None,
                    slot: Slot::default(),
                    pre: None,
                    post: None,
                };
                self.plan.steps.push(Step { op, body: None, attributes: None, change: at });
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "one step in all its parts")]
    fn step(
        &mut self,
        at: usize,
        root: usize,
        located: &Located<F::Fd>,
        kind: OpKind,
        slot: Slot,
        pre: Option<Print>,
        body: Option<Body>,
        attributes: Option<Attributes>,
    ) -> Result<(), TransactionError> {
        let named = || self.folders.absolute(root, &located.path);
        let parent = match located.missing.is_empty() {
            false => None,
            true => {
                let meta = self.folders.fs.stat(&located.fd).map_err(|errno| TransactionError::of(&named(), errno))?;
                Some((meta.dev, meta.ino))
            }
        };
        let op = Op { kind, root, path: located.path.clone(), parent, slot, pre, post: None };
        self.plan.steps.push(Step { op, body, attributes, change: at });
        Ok(())
    }
}
