//! Folders beneath a root, listed without following links.

use std::{
    ffi::{CStr, OsStr, OsString},
    os::{
        fd::OwnedFd,
        unix::ffi::{OsStrExt, OsStringExt},
    },
};

use rustix::fs::{AtFlags, Dir, FileType, statat};

use crate::{FileError, Stat, root::stat_of};

/// What kind of thing an entry of a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A folder.
    Directory,
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A FIFO, socket or device.
    Special,
}

/// An open folder.
#[derive(Debug)]
pub struct Folder {
    pub(crate) fd: OwnedFd,
}

impl Folder {
    /// Its entries without `.` and `..`, sorted by name.
    pub fn entries(&self) -> Result<Vec<(OsString, EntryKind)>, FileError> {
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.fd)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let kind = match entry.file_type() {
                // Some file systems do not tell; ask.
                FileType::Unknown => match self.kind(entry.file_name()) {
                    Ok(kind) => kind,
                    Err(FileError::NotFound) => continue,
                    Err(error) => return Err(error),
                },
                known => kind_of(known),
            };
            entries.push((OsString::from_vec(name.to_vec()), kind));
        }
        entries.sort_unstable_by(|(a, _), (b, _)| a.as_bytes().cmp(b.as_bytes()));
        Ok(entries)
    }

    /// What is known of an entry; a link is not followed.
    pub fn stat(&self, name: &OsStr) -> Result<Stat, FileError> {
        Ok(stat_of(&statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    fn kind(&self, name: &CStr) -> Result<EntryKind, FileError> {
        let stat = statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(kind_of(FileType::from_raw_mode(stat.st_mode)))
    }
}

fn kind_of(kind: FileType) -> EntryKind {
    match kind {
        FileType::Directory => EntryKind::Directory,
        FileType::RegularFile => EntryKind::File,
        FileType::Symlink => EntryKind::Link,
        _ => EntryKind::Special,
    }
}
