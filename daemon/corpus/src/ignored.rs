//! The ignore rules of a walk.

use std::{
    ffi::{OsStr, OsString},
    path::Path,
    sync::Arc,
};

use ccd_files::{EntryKind, Root};
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::Limits;

/// An ignore file larger than this is not one.
const MAX_IGNORE_FILE: u64 = 1 << 20;

/// The rules that hold in a folder: its own, and those of the folders above it.
#[derive(Clone)]
pub(crate) struct Rules {
    own: Option<Arc<Gitignore>>,
    above: Option<Arc<Rules>>,
}

impl Rules {
    /// The rules above the root's own ignore file: `.git/info/exclude`.
    pub(crate) fn of_root(root: &Root) -> Arc<Self> {
        let own = read_rules(root, Path::new(""), Path::new(".git/info/exclude"));
        Arc::new(Self { own, above: None })
    }

    /// The rules inside a folder that may have an ignore file.
    pub(crate) fn inside(self: &Arc<Self>, root: &Root, folder: &Path, has_file: bool) -> Arc<Self> {
        if !has_file {
            return self.clone();
        }
        match read_rules(root, folder, &folder.join(".gitignore")) {
            Some(own) => Arc::new(Self { own: Some(own), above: Some(self.clone()) }),
            None => self.clone(),
        }
    }

    /// Whether an entry is left out. The nearest file that says something about it decides.
    pub(crate) fn ignores(&self, rel: &Path, is_dir: bool) -> bool {
        let mut rules = Some(self);
        while let Some(current) = rules {
            if let Some(own) = &current.own {
                let verdict = own.matched(rel, is_dir);
                if !verdict.is_none() {
                    return verdict.is_ignore();
                }
            }
            rules = current.above.as_deref();
        }
        false
    }
}

fn read_rules(root: &Root, folder: &Path, file: &Path) -> Option<Arc<Gitignore>> {
    let bytes = root.read(file, MAX_IGNORE_FILE).ok()?.bytes;
    // Paths are matched relative to the workspace root, so the builder's root is the folder's relative path.
    let mut builder = GitignoreBuilder::new(folder);
    for line in String::from_utf8_lossy(&bytes).lines() {
        // A line that is no glob is passed over, as git does.
        let _ = builder.add_line(None, line);
    }
    let rules = builder.build().ok()?;
    (!rules.is_empty()).then(|| Arc::new(rules))
}

/// The globs of the configuration.
pub(crate) fn configured(limits: &Limits) -> Gitignore {
    let mut builder = GitignoreBuilder::new("");
    for glob in &limits.ignore {
        let _ = builder.add_line(None, glob);
    }
    builder.build().unwrap_or_else(|_| Gitignore::empty())
}

/// Files that mark a folder as no part of the sources: a cache, a virtual environment. The standard of the first asks
/// for a signature in it, but every tool that makes one writes it; the name is enough.
pub(crate) const MARKERS: [&str; 2] = ["CACHEDIR.TAG", "pyvenv.cfg"];

/// Names of folders that hold no sources of this workspace, whatever the ignore files say.
pub(crate) fn is_foreign_name(name: &OsStr) -> bool {
    name == "node_modules" || name == "__pycache__"
}

/// Whether a folder of this name, with these entries (sorted), is no part of the sources.
pub(crate) fn is_foreign(name: &OsStr, entries: &[(OsString, EntryKind)]) -> bool {
    let marked = |marker: &&str| {
        let found = entries.binary_search_by(|(entry, _)| entry.as_os_str().cmp(OsStr::new(marker)));
        found.is_ok_and(|at| entries[at].1 == EntryKind::File)
    };
    is_foreign_name(name) || MARKERS.iter().any(marked)
}
