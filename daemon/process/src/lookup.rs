//! Finding a program in somebody's `PATH`, without what a checkout could have put there.

use std::{
    ffi::{OsStr, OsString},
    io,
    path::{Component, Path, PathBuf},
};

use rustix::fs::{Access, access};

/// An entry of a `PATH` that is not looked into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// It is empty, which means the working folder.
    Empty,
    /// It depends on the working folder.
    Relative(PathBuf),
    /// It lies in a workspace.
    Inside(PathBuf),
}

/// Why there is no program.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum LookupError {
    /// In none of the folders.
    #[error("`{0}` is not in the PATH that the client gave; install it, or name its path in the configuration")]
    NotFound(String),
    /// It lies in a workspace, and a checkout must not say what is run.
    #[error("{} lies in the workspace; allow its language in `local_binaries` if it shall run", .0.display())]
    Inside(PathBuf),
    /// A name with a slash that is not absolute.
    #[error("`{0}` is neither a name nor an absolute path")]
    Relative(String),
    /// A file that cannot be run.
    #[error("{} is no file that can be run: {reason}", path.display())]
    NotExecutable {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        reason: String,
    },
}

/// Where to look.
#[derive(Clone, Debug)]
pub struct Lookup<'a> {
    /// The folders, as the variable says them.
    pub path: &'a OsStr,
    /// Roots that nothing is taken from: the workspaces.
    pub roots: &'a [&'a Path],
    /// Take from the roots as well: the language was allowed, and the root is trusted.
    pub local: bool,
}

impl Lookup<'_> {
    /// The absolute path of a program by its name, or of one that is named by its absolute path. Links stay as they are
    /// (programs look at the name they are called by), but a link into a root is in the root.
    ///
    /// # Errors
    /// If there is none that may be run.
    pub fn find(&self, name: &OsStr) -> Result<PathBuf, LookupError> {
        let shown = || name.to_string_lossy().into_owned();
        let path = Path::new(name);
        if path.is_absolute() {
            check(path).map_err(|reason| LookupError::NotExecutable { path: path.to_owned(), reason })?;
            return if self.refuses(path) { Err(LookupError::Inside(path.to_owned())) } else { Ok(path.to_owned()) };
        }
        let mut parts = path.components();
        if !matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name) {
            return Err(LookupError::Relative(shown()));
        }
        let mut inside = None;
        for entry in std::env::split_paths(self.path) {
            let found = entry.join(name);
            if !entry.is_absolute() || check(&found).is_err() {
                continue;
            }
            if !self.refuses(&found) && !self.refuses(&entry) {
                return Ok(found);
            }
            inside.get_or_insert(found);
        }
        Err(inside.map_or_else(|| LookupError::NotFound(shown()), LookupError::Inside))
    }

    fn refuses(&self, path: &Path) -> bool {
        !self.local && is_inside(path, self.roots)
    }
}

/// The `PATH` for a child: without the entries that a checkout could fill, which are told beside it.
#[must_use]
pub fn clean_path(path: &OsStr, roots: &[&Path]) -> (OsString, Vec<Dropped>) {
    let mut dropped = Vec::new();
    let mut kept = Vec::new();
    for entry in std::env::split_paths(path) {
        if entry.as_os_str().is_empty() {
            dropped.push(Dropped::Empty);
        } else if !entry.is_absolute() {
            dropped.push(Dropped::Relative(entry));
        } else if is_inside(&entry, roots) {
            dropped.push(Dropped::Inside(entry));
        } else {
            kept.push(entry);
        }
    }
    // Each came out of a list, so none has its separator.
    (std::env::join_paths(kept).unwrap_or_default(), dropped)
}

/// Whether it lies in a root, as written or in truth. What cannot be resolved is not there, and is judged as written.
fn is_inside(path: &Path, roots: &[&Path]) -> bool {
    let real = path.canonicalize();
    roots.iter().any(|root| {
        let real_root = root.canonicalize();
        let real_root = real_root.as_deref().unwrap_or(root);
        path.starts_with(root) || real.as_deref().is_ok_and(|real| real.starts_with(real_root))
    })
}

/// A regular file that we may execute; else what it is.
fn check(path: &Path) -> Result<(), String> {
    let found = path.metadata().map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is no regular file".to_owned());
    }
    access(path, Access::EXEC_OK).map_err(|error| io::Error::from(error).to_string())
}

#[cfg(test)]
mod tests {
    use std::{
        ffi::OsString,
        fs,
        os::unix::fs::{PermissionsExt as _, symlink},
        path::Path,
    };

    use super::{Dropped, Lookup, LookupError, clean_path};

    /// `outside/tool`, `root/bin/local`, `outside/link -> root/bin/local`, `outside/text` (no program), `outside/dir/`.
    fn world() -> tempfile::TempDir {
        let world = tempfile::tempdir().unwrap();
        let at = |name: &str| world.path().join(name);
        for folder in ["outside/dir", "root/bin"] {
            fs::create_dir_all(at(folder)).unwrap();
        }
        for (file, mode) in
            [("outside/tool", 0o755), ("root/bin/local", 0o755), ("root/bin/tool", 0o755), ("outside/text", 0o644)]
        {
            fs::write(at(file), "#!/bin/sh\n").unwrap();
            fs::set_permissions(at(file), fs::Permissions::from_mode(mode)).unwrap();
        }
        symlink(at("root/bin/local"), at("outside/link")).unwrap();
        symlink(at("root/bin"), at("byway")).unwrap();
        world
    }

    fn path(world: &Path) -> OsString {
        let at = |name: &str| world.join(name).display().to_string();
        format!("::.:bin:{}:{}:{}", at("root/bin"), at("byway"), at("outside")).into()
    }

    #[test]
    fn a_checkout_cannot_put_a_program_there() {
        let world = world();
        let (root, path) = (world.path().join("root"), path(world.path()));
        let find = |name: &str, local| Lookup { path: &path, roots: &[&root], local }.find(name.as_ref());
        assert_eq!(find("tool", false), Ok(world.path().join("outside/tool")));
        assert_eq!(find("tool", true), Ok(root.join("bin/tool")));
        assert_eq!(find("local", false), Err(LookupError::Inside(root.join("bin/local"))));
        assert_eq!(find("link", false), Err(LookupError::Inside(world.path().join("outside/link"))));
        for name in ["text", "dir", "absent", "..", ""] {
            assert!(find(name, false).is_err(), "{name}");
        }
        assert_eq!(find("bin/tool", true), Err(LookupError::Relative("bin/tool".to_owned())));
        assert_eq!(find("./tool", true), Err(LookupError::Relative("./tool".to_owned())));
        let tool = world.path().join("outside/tool");
        assert_eq!(find(tool.to_str().unwrap(), false), Ok(tool));
        assert!(matches!(find(root.join("bin/tool").to_str().unwrap(), false), Err(LookupError::Inside(_))));
    }

    #[test]
    fn the_path_of_children_is_clean() {
        let world = world();
        let (root, path) = (world.path().join("root"), path(world.path()));
        let (kept, dropped) = clean_path(&path, &[&root]);
        assert_eq!(kept, world.path().join("outside"));
        assert_eq!(
            dropped,
            [
                Dropped::Empty,
                Dropped::Empty,
                Dropped::Relative(".".into()),
                Dropped::Relative("bin".into()),
                Dropped::Inside(root.join("bin")),
                Dropped::Inside(world.path().join("byway")),
            ]
        );
    }
}
