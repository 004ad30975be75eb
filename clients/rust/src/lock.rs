//! Who holds the daemon's lock, found out without touching it.
//!
//! Trying the lock would, for a moment, hold it: a daemon that starts just then would take us for
//! another daemon and give up. The kernel's table tells the same and disturbs nobody.

use std::{fs, os::unix::fs::MetadataExt as _, path::Path};

/// The process that holds a lock on this file (0 if it is of another container); `None` if nobody
/// does, or the table cannot be read.
pub fn holder(lock: &Path) -> Option<u32> {
    let inode = fs::symlink_metadata(lock).ok()?.ino();
    // `1: FLOCK  ADVISORY  WRITE 4242 08:01:131 0 EOF`
    let table = fs::read_to_string("/proc/locks").ok()?;
    table.lines().find_map(|line| {
        let mut words = line.split_whitespace().skip(1).filter(|word| *word != "->");
        let kind = words.next()?;
        let pid = words.nth(2)?;
        let file = words.next()?;
        let same = kind == "FLOCK" && file.rsplit(':').next()?.parse::<u64>().ok()? == inode;
        same.then(|| pid.parse().unwrap_or(0))
    })
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use super::holder;

    #[test]
    fn a_held_lock_names_its_holder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ccd.lock");
        assert_eq!(holder(&path), None);
        let file = File::create(&path).unwrap();
        assert_eq!(holder(&path), None);
        file.lock().unwrap();
        assert_eq!(holder(&path), Some(std::process::id()));
        drop(file);
        assert_eq!(holder(&path), None);
    }
}
