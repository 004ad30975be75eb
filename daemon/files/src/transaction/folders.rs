//! The folders of a transaction, held open, and the way from a path to the one name that is written.

use std::{
    cell::RefCell,
    collections::{HashMap, VecDeque},
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use rustix::io::Errno;

use super::{
    fail::TransactionError,
    fs::{Fs, Kind, Meta, Open, again},
};
use crate::resolve::{MAX_LINKS, parts};

/// A root as the transaction uses it.
#[derive(Clone, Debug)]
pub(crate) struct Base<Fd> {
    pub(crate) fd: Fd,
    pub(crate) path: PathBuf,
    pub(crate) dev: u64,
    pub(crate) ino: u64,
}

/// Folders beneath roots. Each is opened once, component by component, and everything is done through its handle:
/// whoever renames it or puts a link in its place meanwhile leads nobody elsewhere.
pub(crate) struct Folders<'a, F: Fs> {
    pub(crate) fs: &'a F,
    pub(crate) roots: Vec<Base<F::Fd>>,
    open: RefCell<HashMap<(usize, PathBuf), F::Fd>>,
}

impl<'a, F: Fs> Folders<'a, F> {
    pub(crate) fn new(fs: &'a F, roots: Vec<Base<F::Fd>>) -> Self {
        Self { fs, roots, open: RefCell::default() }
    }

    /// The folder at a path without links.
    pub(crate) fn get(&self, root: usize, path: &Path) -> Result<F::Fd, Errno> {
        if path.as_os_str().is_empty() {
            return Ok(self.roots[root].fd.clone());
        }
        let key = (root, path.to_path_buf());
        if let Some(fd) = self.open.borrow().get(&key) {
            return Ok(fd.clone());
        }
        let above = self.get(root, path.parent().unwrap_or(Path::new("")))?;
        let fd = again(|| self.fs.open(&above, path.file_name().unwrap_or_default(), Open::Folder))?;
        self.open.borrow_mut().insert(key, fd.clone());
        Ok(fd)
    }

    /// Lets go of a folder that is about to be removed.
    pub(crate) fn forget(&self, root: usize, path: &Path) {
        self.open.borrow_mut().retain(|(at, held), _| *at != root || !held.starts_with(path));
    }

    pub(crate) fn absolute(&self, root: usize, path: &Path) -> PathBuf {
        self.roots[root].path.join(path)
    }
}

/// Where a path leads.
pub(crate) struct Located<Fd> {
    /// From the root, without links.
    pub(crate) path: PathBuf,
    /// The deepest folder on the way that is there.
    pub(crate) folder: PathBuf,
    pub(crate) fd: Fd,
    /// The folders that are not.
    pub(crate) missing: Vec<OsString>,
    /// What stands at the path.
    pub(crate) meta: Option<Meta>,
}

impl<Fd> Located<Fd> {
    pub(crate) fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }
}

/// Follows a path from a root. `gone` says of a path whether it will have been removed by then.
pub(crate) fn locate<F: Fs>(
    folders: &Folders<'_, F>,
    root: usize,
    rel: &Path,
    follow_last: bool,
    gone: impl Fn(&Path) -> bool,
) -> Result<Located<F::Fd>, TransactionError> {
    let named = folders.absolute(root, rel);
    let fail = |errno| TransactionError::of(&named, errno);
    let outside = |resolved: &Path| TransactionError::Outside { path: named.clone(), resolved: resolved.to_path_buf() };
    if rel.is_absolute() {
        return Err(outside(rel));
    }
    let mut rest: VecDeque<OsString> = parts(rel).into();
    if rest.is_empty() {
        return Err(TransactionError::IsDirectory { path: named });
    }
    let mut done = PathBuf::new();
    let (mut links, mut of_link) = (0, 0_usize);
    let mut target = PathBuf::new();
    while let Some(part) = rest.pop_front() {
        let in_link = of_link > 0;
        of_link = of_link.saturating_sub(1);
        if part == ".." {
            if !done.pop() {
                return Err(outside(&folders.absolute(root, Path::new(".."))));
            }
            continue;
        }
        let last = rest.is_empty();
        let folder = folders.get(root, &done).map_err(fail)?;
        let here = done.join(&part);
        let meta = match folders.fs.stat_at(&folder, &part) {
            Err(Errno::NOENT) => None,
            Ok(_) if gone(&here) => None,
            other => Some(other.map_err(fail)?),
        };
        match meta {
            None if in_link => return Err(TransactionError::DanglingLink { path: named, target }),
            None if rest.iter().any(|part| part == "..") => return Err(TransactionError::NotFound { path: named }),
            None => {
                let mut missing: Vec<OsString> = std::iter::once(part).chain(rest).collect();
                let path = done.join(missing.iter().collect::<PathBuf>());
                missing.pop();
                return Ok(Located { path, folder: done, fd: folder, missing, meta: None });
            }
            Some(meta) if meta.kind == Kind::Link && (!last || follow_last) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(TransactionError::LinkLoop { path: named });
                }
                target = PathBuf::from(folders.fs.read_link(&folder, &part).map_err(fail)?);
                let inner = if target.is_absolute() {
                    done = PathBuf::new();
                    target.strip_prefix(&folders.roots[root].path).map_err(|_| outside(&target))?
                } else {
                    &target
                };
                let inner = parts(inner);
                of_link += inner.len();
                for part in inner.into_iter().rev() {
                    rest.push_front(part);
                }
                if rest.is_empty() {
                    return Err(TransactionError::IsDirectory { path: named });
                }
            }
            Some(_) if last => return Ok(Located { path: here, folder: done, fd: folder, missing: Vec::new(), meta }),
            Some(meta) if meta.kind == Kind::Directory => done = here,
            Some(_) => return Err(TransactionError::NotDirectory { path: folders.absolute(root, &here) }),
        }
    }
    Err(TransactionError::IsDirectory { path: named })
}
