//! The files of a workspace as planning sees them: confined to its roots, without protected paths, within the size cap.

use std::{
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use ccd_files::{FileError, Root};
use ccd_patch::{Kind, Located, Tree};

use crate::protect::{Protected, Protection};

/// A name: the index of its root, and its path from there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// [`Key::NOWHERE`] for where a link leads that leaves the roots.
    pub root: usize,
    /// Relative to the root.
    pub rel: PathBuf,
}

impl Key {
    /// No root.
    pub const NOWHERE: usize = usize::MAX;
}

/// Why a path is not touched.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TreeError {
    /// It leaves the roots.
    #[error("it leads out of the workspace")]
    Outside {
        /// Where it leads, as far as is known.
        resolved: PathBuf,
    },
    /// It decides what other programs run.
    #[error("it is a protected path; allow_protected writes it all the same")]
    Protected,
    /// It is ours.
    #[error("it is a file of ccd itself and is never written")]
    Own,
    /// Its name cannot be carried in JSON.
    #[error("its name is not UTF-8")]
    NotUtf8,
    /// Anything else.
    #[error("{0}")]
    File(#[from] FileError),
}

/// What an edit may touch.
#[derive(Clone, Debug)]
pub struct Reach {
    /// The workspace's root first, then its grants.
    pub roots: Vec<Arc<Root>>,
    /// What is refused.
    pub protected: Protected,
    /// The request allows protected paths.
    pub allow_protected: bool,
    /// Folders of ours, absolute.
    pub own: Vec<PathBuf>,
    /// Bytes of a file that is read to be changed.
    pub max_bytes: u64,
}

impl Reach {
    /// The root that an absolute path without `.` and `..` lies in, and the rest. The innermost root counts.
    pub fn split(&self, absolute: &Path) -> Option<Key> {
        let within =
            self.roots.iter().enumerate().filter_map(|(at, root)| Some((at, root, absolute.strip_prefix(root.path()).ok()?)));
        match within.max_by_key(|(_, root, _)| root.path().as_os_str().len()) {
            Some((at, _, rel)) => Some(Key { root: at, rel: rel.to_path_buf() }),
            None => self.through_link(absolute),
        }
    }

    /// The same for a path that reaches a root through a link from outside, as far as that is needed to reach it: links
    /// inside it are not followed here.
    fn through_link(&self, absolute: &Path) -> Option<Key> {
        let mut above: Vec<&Path> = absolute.ancestors().collect();
        above.reverse();
        above.into_iter().find_map(|folder| {
            let real = std::fs::canonicalize(folder).ok()?;
            let inside = |root: &&Arc<Root>| real.starts_with(root.path());
            let root = self.roots.iter().filter(inside).max_by_key(|root| root.path().as_os_str().len())?;
            let at = self.roots.iter().position(|other| Arc::ptr_eq(other, root))?;
            let rel = real.strip_prefix(root.path()).ok()?.join(absolute.strip_prefix(folder).ok()?);
            Some(Key { root: at, rel })
        })
    }

    /// The absolute path of a name.
    pub fn absolute(&self, key: &Key) -> PathBuf {
        match self.roots.get(key.root) {
            Some(root) => root.path().join(&key.rel),
            None => key.rel.clone(),
        }
    }

    /// A path without links on the way to its root.
    pub fn real(&self, absolute: &Path) -> PathBuf {
        self.split(absolute).map_or_else(|| absolute.to_path_buf(), |key| self.absolute(&key))
    }

    /// Whether a name may be written.
    pub fn permit(&self, key: &Key) -> Result<(), TreeError> {
        if key.root == Key::NOWHERE {
            return Err(TreeError::Outside { resolved: key.rel.clone() });
        }
        let absolute = self.absolute(key);
        if self.own.iter().any(|own| absolute.starts_with(own)) {
            return Err(TreeError::Own);
        }
        match self.protected.of(&key.rel) {
            Protection::Own => Err(TreeError::Own),
            Protection::Protected if !self.allow_protected => Err(TreeError::Protected),
            _ => Ok(()),
        }
    }

    /// Follows an absolute path, without opening what it names.
    pub fn locate(&self, absolute: &Path) -> Result<Located<Key>, TreeError> {
        if absolute.to_str().is_none() {
            return Err(TreeError::NotUtf8);
        }
        let key = self.split(absolute).ok_or_else(|| TreeError::Outside { resolved: absolute.to_path_buf() })?;
        let root = &self.roots[key.root];
        let traced = root.trace(&key.rel).map_err(outside)?;
        let within = |rel: PathBuf| Key { root: key.root, rel };
        let entry = within(traced.entry);
        self.permit(&entry)?;
        let link = match traced.link {
            None => None,
            Some(Ok(target)) => Some(within(target)),
            Some(Err(FileError::Outside { resolved })) => Some(Key { root: Key::NOWHERE, rel: resolved }),
            Some(Err(error)) => return Err(error.into()),
        };
        if let Some(link) = link.as_ref().filter(|link| link.root != Key::NOWHERE) {
            self.permit(link)?;
        }
        Ok(Located { entry, link, through: traced.through.into_iter().map(within).collect() })
    }

    /// What is at a name.
    pub fn kind(&self, key: &Key) -> Result<Kind, TreeError> {
        self.permit(key)?;
        match self.roots[key.root].link_stat(&key.rel) {
            Ok(stat) if stat.is_dir => Ok(Kind::Directory),
            Ok(stat) if stat.is_link => Ok(Kind::Link),
            Ok(stat) if stat.is_file => Ok(Kind::File { identity: Some((stat.dev, stat.ino)) }),
            Ok(_) => match self.roots[key.root].open_file(&key.rel) {
                Err(FileError::NotRegular { what }) => Ok(Kind::Special(what)),
                _ => Ok(Kind::Special("special file")),
            },
            Err(FileError::NotFound) => Ok(Kind::Absent),
            Err(error) => Err(outside(error)),
        }
    }

    /// The bytes of a file.
    pub fn read(&self, key: &Key) -> Result<Arc<[u8]>, TreeError> {
        self.permit(key)?;
        Ok(self.roots[key.root].read(&key.rel, self.max_bytes).map_err(outside)?.bytes.into())
    }
}

fn outside(error: FileError) -> TreeError {
    match error {
        FileError::Outside { resolved } => TreeError::Outside { resolved },
        other => TreeError::File(other),
    }
}

/// A path with `.` and `..` taken out, from a folder if it is relative. `..` at the top stays there, as in a shell.
pub fn normal(cwd: &Path, path: &str) -> PathBuf {
    let mut out = PathBuf::from("/");
    for part in cwd.join(path).components() {
        match part {
            Component::Normal(name) => out.push(name),
            Component::ParentDir => {
                out.pop();
            }
            _ => {}
        }
    }
    out
}

/// [`Reach`], as a patch asks it.
pub(crate) struct PatchTree<'r> {
    pub(crate) reach: &'r Reach,
    pub(crate) cwd: PathBuf,
    pub(crate) stopped: &'r dyn Fn() -> bool,
}

impl Tree for PatchTree<'_> {
    type Key = Key;
    type Error = TreeError;

    fn locate(&mut self, path: &str) -> Result<Located<Key>, TreeError> {
        self.reach.locate(&normal(&self.cwd, path))
    }

    fn kind(&mut self, key: &Key) -> Result<Kind, TreeError> {
        self.reach.kind(key)
    }

    fn read(&mut self, key: &Key) -> Result<Arc<[u8]>, TreeError> {
        self.reach.read(key)
    }

    fn stopped(&self) -> bool {
        (self.stopped)()
    }

    fn parent(&self, key: &Key) -> Option<Key> {
        let parent = key.rel.parent()?;
        Some(Key { root: key.root, rel: parent.to_path_buf() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_by_their_words() {
        for (path, expected) in [
            ("a/b", "/p/a/b"),
            ("./a/../b", "/p/b"),
            ("../x", "/x"),
            ("/abs/./y", "/abs/y"),
            ("../../../../z", "/z"),
            ("q/../d/a", "/p/d/a"),
        ] {
            assert_eq!(normal(Path::new("/p"), path), Path::new(expected), "{path}");
        }
    }
}
