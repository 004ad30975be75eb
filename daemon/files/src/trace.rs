//! Which entry a path names: the links on its way, and where a link at its end leads.

use std::{
    ffi::OsString,
    os::{fd::AsFd as _, unix::ffi::OsStringExt},
    path::{Path, PathBuf},
};

use rustix::{
    fs::{OFlags, ResolveFlags, readlinkat},
    io::Errno,
};

use crate::{
    FileError, Root,
    resolve::{MAX_LINKS, parts, try_open},
};

/// What a path names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Traced {
    /// The entry itself, relative to the root: links to folders on the way are followed, the last component is not.
    pub entry: PathBuf,
    /// Where it leads to, followed to the end, if the entry is a symbolic link; also where nothing is. An error where it
    /// leads out of the root or in a circle: such a link can be removed, but not followed.
    pub link: Option<Result<PathBuf, FileError>>,
    /// The links to folders that were followed on the way.
    pub through: Vec<PathBuf>,
}

impl Root {
    /// Follows a relative path without opening what it names. What does not exist is taken as it is written.
    pub fn trace(&self, rel: &Path) -> Result<Traced, FileError> {
        let (entry, through) = self.follow(rel, false)?;
        let link = self.link_text(&entry)?.map(|_| self.follow(&entry, true).map(|(target, _)| target));
        Ok(Traced { entry, link, through })
    }

    fn follow(&self, rel: &Path, last_too: bool) -> Result<(PathBuf, Vec<PathBuf>), FileError> {
        let mut rest: Vec<OsString> = parts(rel);
        rest.reverse();
        let mut done = PathBuf::new();
        let mut through = Vec::new();
        let mut links = 0;
        while let Some(part) = rest.pop() {
            if part == ".." {
                if !done.pop() {
                    return Err(FileError::Outside { resolved: self.path().join("..") });
                }
                continue;
            }
            let next = done.join(&part);
            let target = if rest.is_empty() && !last_too { None } else { self.link_text(&next)? };
            let Some(target) = target else {
                done = next;
                continue;
            };
            links += 1;
            if links > MAX_LINKS {
                return Err(FileError::LinkLoop);
            }
            through.push(next);
            let inner = if target.is_absolute() {
                done = PathBuf::new();
                match target.strip_prefix(self.path()) {
                    Ok(inner) => inner.to_path_buf(),
                    Err(_) => return Err(FileError::Outside { resolved: target }),
                }
            } else {
                target
            };
            rest.extend(parts(&inner).into_iter().rev());
        }
        Ok((done, through))
    }

    /// What a link says; none if there is no link.
    fn link_text(&self, rel: &Path) -> Result<Option<PathBuf>, FileError> {
        if rel.as_os_str().is_empty() {
            return Ok(None);
        }
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let link = match try_open(self.folder().as_fd(), rel, flags, ResolveFlags::empty()) {
            Ok(link) => link,
            // The folders before it were followed, so a link there was put in at this moment; it is looked at later.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::XDEV | Errno::LOOP) => return Ok(None),
            Err(other) => return Err(other.into()),
        };
        match readlinkat(&link, c"", Vec::new()) {
            Ok(target) => Ok(Some(PathBuf::from(OsString::from_vec(target.into_bytes())))),
            Err(Errno::INVAL | Errno::NOENT) => Ok(None),
            Err(other) => Err(other.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_on_the_way_are_followed_and_told() {
        let folder = tempfile::tempdir().unwrap();
        let root = Root::open(folder.path(), None).unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::create_dir_all(at("real/deep")).unwrap();
        std::fs::write(at("real/a"), "").unwrap();
        symlink("real", at("link")).unwrap();
        symlink(root.path().join("real/a"), at("file")).unwrap();
        symlink("nowhere", at("dangling")).unwrap();
        symlink("/etc", at("out")).unwrap();
        symlink("circle", at("circle")).unwrap();
        let trace = |rel: &str| root.trace(Path::new(rel));
        let traced = |entry: &str, link: Option<&str>, through: &[&str]| {
            Ok(Traced {
                entry: entry.into(),
                link: link.map(|link| Ok(PathBuf::from(link))),
                through: through.iter().map(PathBuf::from).collect(),
            })
        };
        assert_eq!(trace("link/deep/x/y"), traced("real/deep/x/y", None, &["link"]));
        assert_eq!(trace("file"), traced("file", Some("real/a"), &[]));
        assert_eq!(trace("dangling"), traced("dangling", Some("nowhere"), &[]));
        assert_eq!(trace("link/../real/a"), traced("real/a", None, &["link"]));
        assert!(matches!(trace("out/passwd"), Err(FileError::Outside { .. })));
        assert!(matches!(trace("out"), Ok(Traced { link: Some(Err(FileError::Outside { .. })), .. })));
        assert!(matches!(trace("../x"), Err(FileError::Outside { .. })));
        assert!(matches!(trace("circle"), Ok(Traced { link: Some(Err(FileError::LinkLoop)), .. })));
    }
}
