//! A [`Tree`] in memory, for examples and tests.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    plan::{Change, Plan},
    tree::{Kind, Located, Tree},
};

/// Files by their path from the top, which is the empty path. Everything is confined to the top.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryTree {
    files: BTreeMap<String, Arc<[u8]>>,
    directories: BTreeSet<String>,
    links: BTreeMap<String, String>,
    special: BTreeMap<String, &'static str>,
    identities: BTreeMap<String, (u64, u64)>,
}

/// Why a path is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// `..` leads out of the top, or a link does.
    #[error("it leads out of the workspace")]
    Outside,
    /// Links that lead to each other.
    #[error("its links lead in a circle")]
    LinkLoop,
    /// Not a file.
    #[error("it cannot be read")]
    Unreadable,
}

impl MemoryTree {
    /// Puts a file there, and the folders above it.
    pub fn file(&mut self, path: &str, bytes: impl AsRef<[u8]>) -> &mut Self {
        self.above(path);
        self.files.insert(path.to_owned(), bytes.as_ref().into());
        self
    }

    /// Puts a folder there, and the folders above it.
    pub fn directory(&mut self, path: &str) -> &mut Self {
        self.above(path);
        self.directories.insert(path.to_owned());
        self
    }

    /// Puts a symbolic link there.
    pub fn link(&mut self, path: &str, target: &str) -> &mut Self {
        self.above(path);
        self.links.insert(path.to_owned(), target.to_owned());
        self
    }

    /// Puts something there that is no file.
    pub fn special(&mut self, path: &str, what: &'static str) -> &mut Self {
        self.above(path);
        self.special.insert(path.to_owned(), what);
        self
    }

    /// Gives two files one identity, as a hard link has.
    pub fn hard_link(&mut self, path: &str, other: &str) -> &mut Self {
        let bytes = self.files.get(other).cloned().unwrap_or_default();
        self.file(path, bytes);
        let inode = self.identities.len() as u64;
        self.identities.insert(path.to_owned(), (0, inode));
        self.identities.insert(other.to_owned(), (0, inode));
        self
    }

    fn above(&mut self, path: &str) {
        let ends = path.match_indices('/').map(|(at, _)| at);
        self.directories.extend(ends.map(|at| path[..at].to_owned()));
    }

    /// The bytes of a file.
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(AsRef::as_ref)
    }

    /// The paths of all files and links, with the bytes of the files.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_ref()))
    }

    /// The paths of all folders but the top.
    pub fn directories(&self) -> impl Iterator<Item = &str> {
        self.directories.iter().map(String::as_str)
    }

    /// The paths of all links.
    pub fn links(&self) -> impl Iterator<Item = (&str, &str)> {
        self.links.iter().map(|(path, target)| (path.as_str(), target.as_str()))
    }

    /// Carries a plan out.
    pub fn carry_out(&mut self, plan: &Plan<String>) {
        for target in &plan.targets {
            self.files.remove(&target.key);
            self.links.remove(&target.key);
        }
        self.directories.extend(plan.directories.iter().cloned());
        for target in &plan.targets {
            if let Change::Write { body, .. } = &target.change {
                self.files.insert(target.key.clone(), Arc::clone(body));
            }
        }
    }
}

/// Adds the components of `path` to `base`, `..` and `.` taken lexically.
fn joined(base: &str, path: &str) -> Result<Vec<String>, Refused> {
    let mut parts: Vec<String> = base.split('/').filter(|part| !part.is_empty()).map(str::to_owned).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop().ok_or(Refused::Outside)?),
            part => parts.push(part.to_owned()),
        }
    }
    Ok(parts)
}

impl Tree for MemoryTree {
    type Key = String;
    type Error = Refused;

    fn locate(&mut self, path: &str) -> Result<Located<String>, Refused> {
        let mut through = Vec::new();
        let mut entry = None;
        let mut parts = joined("", path)?;
        'links: for _ in 0..40 {
            let mut reached = String::new();
            for (index, part) in parts.iter().enumerate() {
                let folder = reached.clone();
                if !reached.is_empty() {
                    reached.push('/');
                }
                reached.push_str(part);
                let last = index + 1 == parts.len();
                if last && entry.is_none() {
                    entry = Some(reached.clone());
                }
                let Some(target) = self.links.get(&reached) else { continue };
                let followed = joined(&folder, target)?;
                if !last {
                    // What the link leads to may be a file; then nothing is below it.
                    if !followed.is_empty() && !self.directories.contains(&followed.join("/")) {
                        continue;
                    }
                    if entry.is_none() {
                        through.push(reached.clone());
                    }
                }
                parts = followed.into_iter().chain(parts[index + 1..].iter().cloned()).collect();
                continue 'links;
            }
            let entry = entry.unwrap_or_default();
            let link = (reached != entry).then_some(reached);
            return Ok(Located { entry, link, through });
        }
        Err(Refused::LinkLoop)
    }

    fn kind(&mut self, key: &String) -> Result<Kind, Refused> {
        Ok(if key.is_empty() || self.directories.contains(key) {
            Kind::Directory
        } else if self.files.contains_key(key) {
            Kind::File { identity: self.identities.get(key).copied() }
        } else if self.links.contains_key(key) {
            Kind::Link
        } else if let Some(what) = self.special.get(key) {
            Kind::Special(what)
        } else {
            Kind::Absent
        })
    }

    fn read(&mut self, key: &String) -> Result<Arc<[u8]>, Refused> {
        self.files.get(key).cloned().ok_or(Refused::Unreadable)
    }

    fn parent(&self, key: &String) -> Option<String> {
        let at = key.rfind('/').unwrap_or(0);
        (!key.is_empty()).then(|| key[..at].to_owned())
    }
}
