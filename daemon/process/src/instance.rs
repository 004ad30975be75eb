//! Which daemons there were, so that what dead ones left can be told from what is not ours.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
};

use rustix::rand::{GetRandomFlags, getrandom};

/// The records of a state folder: a file for each daemon, locked as long as it lives. The kernel lets go of the lock however it ends.
#[derive(Clone, Debug)]
pub struct Instances(PathBuf);

/// This daemon's own record. It counts as alive until this is dropped.
#[derive(Debug)]
pub struct Instance {
    id: String,
    _lock: File,
}

impl Instance {
    /// 16 hexadecimal digits that nobody had before.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
}

impl Instances {
    /// The records in a folder, which exists and is private to the user.
    #[must_use]
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self(folder.into())
    }

    fn path(&self, id: &str) -> PathBuf {
        self.0.join(format!("{id}.instance"))
    }

    /// Records a new daemon.
    ///
    /// # Errors
    /// If the file cannot be made.
    pub fn begin(&self) -> io::Result<Instance> {
        let mut bytes = [0; 8];
        getrandom(&mut bytes, GetRandomFlags::empty())?;
        let id = format!("{:016x}", u64::from_ne_bytes(bytes));
        // Locked before it has its name: a record without a lock is one of the dead.
        let unnamed = self.0.join(format!("{id}.new"));
        let lock = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unnamed)?;
        lock.lock()?;
        fs::rename(&unnamed, self.path(&id))?;
        Ok(Instance { id, _lock: lock })
    }

    /// The ids of the recorded daemons that are gone. [`crate::sweep`] them, then [`Instances::forget`] them.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn dead(&self) -> io::Result<Vec<String>> {
        let mut dead = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let path = entry?.path();
            let Some(id) = id(&path) else { continue };
            match File::open(&path).map(|file| file.try_lock_shared()) {
                Ok(Ok(())) => dead.push(id.to_owned()),
                Ok(Err(TryLockError::WouldBlock)) => {}
                Ok(Err(TryLockError::Error(error))) => return Err(error),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        dead.sort();
        Ok(dead)
    }

    /// Removes the records of daemons of which nothing is left.
    ///
    /// # Errors
    /// If one cannot be removed; those that are gone already are no error.
    pub fn forget<I: AsRef<str>>(&self, ids: &[I]) -> io::Result<()> {
        for id in ids {
            match fs::remove_file(self.path(id.as_ref())) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// The id of a record, if the file is one.
fn id(path: &Path) -> Option<&str> {
    let id = path.file_name()?.to_str()?.strip_suffix(".instance")?;
    (id.len() == 16 && id.bytes().all(|byte| byte.is_ascii_hexdigit())).then_some(id)
}

#[cfg(test)]
mod tests {
    use super::Instances;

    #[test]
    fn only_the_dead_are_told() {
        let folder = tempfile::tempdir().unwrap();
        let instances = Instances::in_folder(folder.path());
        let living = instances.begin().unwrap();
        let dead = instances.begin().unwrap().id().to_owned();
        std::fs::write(folder.path().join("other.instance"), "").unwrap();
        assert_eq!(instances.dead().unwrap(), [dead.as_str()]);
        instances.forget(&[dead.as_str(), "0000000000000000"]).unwrap();
        assert_eq!(instances.dead().unwrap(), Vec::<String>::new());
        drop(living);
        assert_eq!(instances.dead().unwrap().len(), 1);
    }
}
