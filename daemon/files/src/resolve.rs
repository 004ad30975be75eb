//! Resolution of paths beneath a root.

use std::{
    ffi::OsString,
    os::{
        fd::{BorrowedFd, OwnedFd},
        unix::ffi::OsStringExt,
    },
    path::{Component, Path, PathBuf},
};

use rustix::{
    fs::{Mode, OFlags, ResolveFlags, openat2, readlinkat},
    io::Errno,
};

use crate::FileError;

/// Links followed before a path counts as a circle; the kernel's own limit is the same.
pub(crate) const MAX_LINKS: usize = 40;
/// A rename underneath makes the kernel answer EAGAIN; it passes.
const MAX_RACES: usize = 64;

/// Opens a path beneath a folder. Links that stay inside are followed, absolute ones too.
pub(crate) fn open_beneath(folder: BorrowedFd<'_>, root: &Path, rel: &Path, flags: OFlags) -> Result<OwnedFd, FileError> {
    let rel = if rel.as_os_str().is_empty() { Path::new(".") } else { rel };
    match try_open(folder, rel, flags, ResolveFlags::empty()) {
        // The kernel refuses an absolute link even if it points inside: look where it leads.
        Err(Errno::XDEV) => {
            let follow_last = !flags.contains(OFlags::NOFOLLOW);
            let resolved = follow_by_hand(folder, root, rel, follow_last)?;
            match try_open(folder, &resolved, flags, ResolveFlags::empty()) {
                Err(Errno::XDEV) => Err(FileError::Outside { resolved: root.join(&resolved) }),
                other => Ok(other?),
            }
        }
        other => Ok(other?),
    }
}

pub(crate) fn try_open(folder: BorrowedFd<'_>, rel: &Path, flags: OFlags, extra: ResolveFlags) -> Result<OwnedFd, Errno> {
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_MAGICLINKS | extra;
    for _ in 0..MAX_RACES {
        match openat2(folder, rel, flags, Mode::empty(), resolve) {
            Err(Errno::AGAIN | Errno::INTR) => {}
            other => return other,
        }
    }
    Err(Errno::AGAIN)
}

/// Walks the path one component at a time and replaces links by what they say. The result holds no link that
/// was there during the walk; it is opened beneath the root again, so a swap in between cannot lead out.
fn follow_by_hand(folder: BorrowedFd<'_>, root: &Path, rel: &Path, follow_last: bool) -> Result<PathBuf, FileError> {
    let mut rest: Vec<OsString> = parts(rel);
    rest.reverse();
    let mut done = PathBuf::new();
    let mut links = 0;
    while let Some(part) = rest.pop() {
        if part == ".." {
            if !done.pop() {
                return Err(FileError::Outside { resolved: root.join("..") });
            }
            continue;
        }
        let next = done.join(&part);
        if rest.is_empty() && !follow_last {
            return Ok(next);
        }
        let target = {
            let link = try_open(folder, &next, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, ResolveFlags::empty())?;
            match readlinkat(&link, c"", Vec::new()) {
                Ok(target) => PathBuf::from(OsString::from_vec(target.into_bytes())),
                // Not a link.
                Err(Errno::INVAL | Errno::NOENT) => {
                    done = next;
                    continue;
                }
                Err(other) => return Err(other.into()),
            }
        };
        links += 1;
        if links > MAX_LINKS {
            return Err(FileError::LinkLoop);
        }
        let inner = if target.is_absolute() {
            done = PathBuf::new();
            match target.strip_prefix(root) {
                Ok(inner) => inner.to_path_buf(),
                Err(_) => return Err(FileError::Outside { resolved: target }),
            }
        } else {
            target
        };
        rest.extend(parts(&inner).into_iter().rev());
    }
    Ok(if done.as_os_str().is_empty() { PathBuf::from(".") } else { done })
}

/// The names and `..` of a path.
pub(crate) fn parts(path: &Path) -> Vec<OsString> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            _ => None,
        })
        .collect()
}

/// Drops `.` components.
pub(crate) fn without_dots(path: &Path) -> PathBuf {
    path.components().filter(|part| matches!(part, Component::Normal(_))).collect()
}

/// Resolves links and `..` of the longest part of an absolute path that exists; the rest is kept as it is.
pub(crate) fn canonical_prefix(path: &Path) -> PathBuf {
    let mut head = path.to_path_buf();
    let mut tail: Vec<OsString> = Vec::new();
    loop {
        if let Ok(real) = std::fs::canonicalize(&head) {
            return tail.iter().rev().fold(real, |path, part| match part.to_str() {
                Some("..") => path.parent().map(Path::to_path_buf).unwrap_or(path),
                Some(".") => path,
                _ => path.join(part),
            });
        }
        let last = head.components().next_back().map(|part| part.as_os_str().to_owned());
        match (last, head.pop()) {
            (Some(part), true) => tail.push(part),
            _ => return path.to_path_buf(),
        }
    }
}
