//! Mode, owner, ACL and extended attributes of a file, and their way to another one.

use std::ffi::OsString;

use rustix::io::Errno;

use super::fs::{Fs, Kind, Meta};

/// What a file has beside its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Attributes {
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
    pub(crate) values: Vec<(OsString, Vec<u8>)>,
}

const SUID: u32 = 0o6000;
/// The kernel's own, signed over the bytes: not those of another content.
const OF_BYTES: [&str; 2] = ["security.ima", "security.evm"];
const ACL: &str = "system.posix_acl_access";

impl Attributes {
    /// Of an open file. An attribute that vanishes meanwhile is none.
    pub(crate) fn read<F: Fs>(fs: &F, fd: &F::Fd, meta: Meta) -> Result<Self, Errno> {
        let mut values = Vec::new();
        for name in fs.attributes(fd)? {
            if OF_BYTES.iter().any(|of_bytes| name == *of_bytes) {
                continue;
            }
            match fs.attribute(fd, &name) {
                Ok(value) => values.push((name, value)),
                Err(Errno::NODATA) => {}
                Err(other) => return Err(other),
            }
        }
        values.sort();
        Ok(Self { mode: meta.mode, uid: meta.uid, gid: meta.gid, values })
    }

    /// Runs with rights of its own: new content must never get these.
    pub(crate) fn has_rights(&self) -> bool {
        self.mode & SUID != 0 || self.values.iter().any(|(name, _)| name == "security.capability")
    }

    /// Gives them to an open file of ours. The mode comes last: an owner takes bits away, and an ACL sets some.
    pub(crate) fn apply<F: Fs>(&self, fs: &F, fd: &F::Fd, lost: &mut dyn FnMut(&'static str) -> bool) -> Result<(), Applied> {
        let meta = fs.stat(fd).map_err(Applied::Failed)?;
        debug_assert_eq!(meta.kind, Kind::File);
        let mut keep = |what, result: Result<(), Errno>| match result {
            Ok(()) => Ok(()),
            // A full disk or a broken one is another matter than what may not be kept.
            Err(errno @ (Errno::NOSPC | Errno::DQUOT | Errno::IO)) => Err(Applied::Failed(errno)),
            Err(_) if lost(what) => Ok(()),
            Err(_) => Err(Applied::Refused(what)),
        };
        if (meta.uid, meta.gid) != (self.uid, self.gid) {
            keep("owner", fs.set_owner(fd, self.uid, self.gid))?;
        }
        let here = Self::read(fs, fd, meta).map_err(Applied::Failed)?;
        for (name, _) in &here.values {
            // What the folder of the stage gave it and the file never had.
            if !self.values.iter().any(|(wanted, _)| wanted == name) && !name.to_string_lossy().starts_with("security.") {
                keep(called(name), fs.remove_attribute(fd, name))?;
            }
        }
        for (name, value) in &self.values {
            if !here.values.iter().any(|(have, is)| have == name && is == value) {
                keep(called(name), fs.set_attribute(fd, name, value))?;
            }
        }
        let meta = fs.stat(fd).map_err(Applied::Failed)?;
        // The owner may have been lost; then so are the rights that went with it.
        let mode = if (meta.uid, meta.gid) == (self.uid, self.gid) { self.mode } else { self.mode & !SUID };
        if meta.mode != mode {
            keep("owner", fs.set_mode(fd, mode))?;
        }
        Ok(())
    }
}

/// Why attributes did not come over.
pub(crate) enum Applied {
    Refused(&'static str),
    Failed(Errno),
}

fn called(name: &OsString) -> &'static str {
    if name == ACL { "acl" } else { "xattr" }
}
