//! What is kept on disk: a cache, so that losing it costs time and never truth.
//!
//! sled stands behind [`Store`], so that the engine can be changed in one place. It is opened with a deadline and with
//! panics caught (a truncated file makes 0.34 panic in recovery), every record carries its own length and checksum, and
//! a scan stops at the first error. Whatever does not open, or was written under another schema, is set aside and
//! begun anew.

use std::{
    panic::AssertUnwindSafe,
    path::{Path, PathBuf},
    sync::mpsc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// How long one that is being closed is waited for.
const LOCK_PATIENCE: Duration = Duration::from_millis(400);

/// How long opening may take.
const OPEN_LIMIT: Duration = Duration::from_secs(20);
/// Of sled's page cache; it does not bound its memory, but less of it is used.
const CACHE_BYTES: u64 = 8 << 20;
/// A store set aside is kept for a look only up to this size.
const KEEP_ASIDE_BYTES: u64 = 256 << 20;
/// Length and checksum before each record.
const HEADER: usize = 4 + 8;
const SCHEMA_KEY: &[u8] = b"m/schema";

/// Why there is no store, or none of what was asked for.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
    /// Another process has it.
    #[error("another process holds it")]
    Locked,
    /// It cannot be opened, read or written.
    #[error("{0}")]
    Failed(String),
}

/// Keys and values on disk.
pub(crate) trait Store: Send + Sync {
    /// The value of a key. A damaged record is none.
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError>;
    /// Sets and removes, all or nothing.
    fn put(&self, changes: Vec<(Vec<u8>, Option<Vec<u8>>)>) -> Result<(), StoreError>;
    /// Every good record whose key begins so, in order; the number of damaged ones. Stops at the first error of the engine.
    fn scan(&self, prefix: &[u8], each: &mut dyn FnMut(&[u8], Vec<u8>)) -> Result<u64, StoreError>;
    /// Waits until what was put is on disk.
    fn flush(&self) -> Result<(), StoreError>;
    /// Bytes on disk.
    fn size(&self) -> u64;
}

struct Sled(sled::Db);

fn failed(error: sled::Error) -> StoreError {
    match &error {
        sled::Error::Io(inner) if inner.kind() == std::io::ErrorKind::WouldBlock || inner.to_string().contains("lock") => {
            StoreError::Locked
        }
        // The engine's own words name its parts, not what a person can do about it.
        sled::Error::Corruption { .. } => StoreError::Failed("its files are damaged".to_owned()),
        sled::Error::Io(inner) => StoreError::Failed(inner.to_string()),
        _ => StoreError::Failed(error.to_string()),
    }
}

/// Panics of the engine are errors like any other.
fn guarded<T>(work: impl FnOnce() -> Result<T, StoreError>) -> Result<T, StoreError> {
    std::panic::catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(StoreError::Failed("the storage engine panicked".to_owned())))
}

fn sealed(value: &[u8]) -> Vec<u8> {
    let packed = lz4_flex::compress_prepend_size(value);
    let mut out = Vec::with_capacity(HEADER + packed.len());
    out.extend_from_slice(&(packed.len() as u32).to_le_bytes());
    out.extend_from_slice(&blake3::hash(&packed).as_bytes()[..8]);
    out.extend_from_slice(&packed);
    out
}

fn opened(record: &[u8]) -> Option<Vec<u8>> {
    let (header, packed) = record.split_at_checked(HEADER)?;
    let len = u32::from_le_bytes(header[..4].try_into().ok()?) as usize;
    if packed.len() != len || blake3::hash(packed).as_bytes()[..8] != header[4..] {
        return None;
    }
    lz4_flex::decompress_size_prepended(packed).ok()
}

impl Store for Sled {
    fn get(&self, key: &[u8]) -> Result<Option<Vec<u8>>, StoreError> {
        guarded(|| Ok(self.0.get(key).map_err(failed)?.and_then(|record| opened(&record))))
    }

    fn put(&self, changes: Vec<(Vec<u8>, Option<Vec<u8>>)>) -> Result<(), StoreError> {
        guarded(|| {
            let mut batch = sled::Batch::default();
            for (key, value) in changes {
                match value {
                    Some(value) => batch.insert(key, sealed(&value)),
                    None => batch.remove(key),
                }
            }
            self.0.apply_batch(batch).map_err(failed)
        })
    }

    fn scan(&self, prefix: &[u8], each: &mut dyn FnMut(&[u8], Vec<u8>)) -> Result<u64, StoreError> {
        guarded(|| {
            let mut damaged = 0;
            for record in self.0.scan_prefix(prefix) {
                let (key, record) = record.map_err(failed)?;
                match opened(&record) {
                    Some(value) => each(&key, value),
                    None => damaged += 1,
                }
            }
            Ok(damaged)
        })
    }

    fn flush(&self) -> Result<(), StoreError> {
        guarded(|| self.0.flush().map(drop).map_err(failed))
    }

    fn size(&self) -> u64 {
        self.0.size_on_disk().unwrap_or(0)
    }
}

/// A store, and why it was begun anew if it was.
pub(crate) struct Opened {
    pub(crate) store: Box<dyn Store>,
    pub(crate) rebuilt: Option<String>,
}

/// Opens the store in a folder of ours, or begins a new one where it does not open or has another schema.
pub(crate) fn open(folder: &Path, schema: &str) -> Result<Opened, StoreError> {
    let parent = folder.parent().unwrap_or(folder);
    ccd_files::private_folder(parent).map_err(|error| StoreError::Failed(error.to_string()))?;
    // The engine would write through it.
    if folder.symlink_metadata().is_ok_and(|found| found.file_type().is_symlink()) {
        return Err(StoreError::Failed(format!("{} is a symbolic link; remove it", folder.display())));
    }
    let reason = match open_engine(folder) {
        Ok(store) => match (store.get(SCHEMA_KEY), is_empty(&*store)) {
            (Ok(Some(found)), _) if found == schema.as_bytes() => return Ok(Opened { store, rebuilt: None }),
            (Ok(None), true) => {
                store.put(vec![(SCHEMA_KEY.to_vec(), Some(schema.as_bytes().to_vec()))])?;
                return Ok(Opened { store, rebuilt: None });
            }
            (Ok(Some(_)), _) => "it was written by another version".to_owned(),
            (Ok(None), false) => "it holds no schema that is known".to_owned(),
            (Err(error), _) => error.to_string(),
        },
        Err(StoreError::Locked) => return Err(StoreError::Locked),
        Err(StoreError::Failed(reason)) => reason,
    };
    set_aside(folder).map_err(|error| StoreError::Failed(format!("{}: {error}", folder.display())))?;
    let store = open_engine(folder)?;
    store.put(vec![(SCHEMA_KEY.to_vec(), Some(schema.as_bytes().to_vec()))])?;
    Ok(Opened { store, rebuilt: Some(format!("the index was rebuilt because its store could not be used: {reason}")) })
}

fn is_empty(store: &dyn Store) -> bool {
    let mut any = false;
    store.scan(b"", &mut |_, _| any = true).is_ok_and(|damaged| damaged == 0) && !any
}

fn open_engine(folder: &Path) -> Result<Box<dyn Store>, StoreError> {
    let (send, receive) = mpsc::sync_channel(1);
    let folder: PathBuf = folder.to_path_buf();
    // A thread of its own: recovery of a damaged log may never end.
    std::thread::Builder::new()
        .name("ccd-store-open".to_owned())
        .spawn(move || {
            let outcome = guarded(|| {
                let config = sled::Config::new().path(folder).cache_capacity(CACHE_BYTES).flush_every_ms(Some(500));
                // The engine's threads let go of the lock a moment after it was closed.
                let begun = Instant::now();
                loop {
                    match config.open().map_err(failed) {
                        Err(StoreError::Locked) if begun.elapsed() < LOCK_PATIENCE => std::thread::sleep(LOCK_PATIENCE / 40),
                        outcome => return outcome,
                    }
                }
            });
            let _ = send.send(outcome);
        })
        .map_err(|error| StoreError::Failed(error.to_string()))?;
    match receive.recv_timeout(OPEN_LIMIT) {
        Ok(outcome) => outcome.map(|db| Box::new(Sled(db)) as Box<dyn Store>),
        Err(_) => Err(StoreError::Failed(format!("it did not open within {} s", OPEN_LIMIT.as_secs()))),
    }
}

/// How many records a store was left with; the engine does not always notice that its log was cut off. A plain file
/// beside it, which is a hint: none, if it cannot be read.
pub(crate) fn expected(folder: &Path) -> Option<u64> {
    std::fs::read_to_string(counted(folder)).ok()?.trim().parse().ok()
}

/// Notes how many records the store holds.
pub(crate) fn expect(folder: &Path, records: u64) {
    if let Err(error) = std::fs::write(counted(folder), format!("{records}\n")) {
        tracing::debug!(%error, "the number of records could not be noted");
    }
}

fn counted(folder: &Path) -> PathBuf {
    folder.with_file_name("records")
}

/// Moves a store out of the way. One such is kept, if it is not large.
pub(crate) fn set_aside(folder: &Path) -> std::io::Result<()> {
    let Some(parent) = folder.parent() else { return Ok(()) };
    for entry in std::fs::read_dir(parent)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("corrupt-") {
            std::fs::remove_dir_all(entry.path())?;
        }
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let aside = parent.join(format!("corrupt-{now}"));
    match std::fs::rename(folder, &aside) {
        Ok(()) if bytes_below(&aside) > KEEP_ASIDE_BYTES => std::fs::remove_dir_all(&aside),
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn bytes_below(folder: &Path) -> u64 {
    let mut pending = vec![folder.to_path_buf()];
    let mut total = 0;
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.metadata() {
                Ok(found) if found.is_dir() => pending.push(entry.path()),
                Ok(found) => total += found.len(),
                Err(_) => {}
            }
        }
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(store: &dyn Store) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut found = Vec::new();
        store.scan(b"f/", &mut |key, value| found.push((key.to_vec(), value))).unwrap();
        found
    }

    #[test]
    fn what_is_put_is_there_after_opening_again() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("own/db");
        let opened = open(&at, "one").unwrap();
        opened.store.put(vec![(b"f/a".to_vec(), Some(b"x".to_vec())), (b"g".to_vec(), Some(vec![]))]).unwrap();
        opened.store.flush().unwrap();
        drop(opened);
        let opened = open(&at, "one").unwrap();
        assert_eq!(opened.rebuilt, None);
        assert_eq!(all(&*opened.store), [(b"f/a".to_vec(), b"x".to_vec())]);
        assert!(matches!(open(&at, "one"), Err(StoreError::Locked)), "a second opener is told, and nothing is set aside");
    }

    #[test]
    fn another_schema_and_a_damaged_file_are_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path().join("own/db");
        drop(open(&at, "one").unwrap());
        let opened = open(&at, "two").unwrap();
        assert!(opened.rebuilt.unwrap().contains("another version"));
        let records: Vec<_> = (0..2000u32).map(|at| (format!("f/{at}").into_bytes(), Some(vec![7; 500]))).collect();
        opened.store.put(records).unwrap();
        opened.store.flush().unwrap();
        drop(opened.store);
        let log = std::fs::read(at.join("db")).unwrap();
        std::fs::write(at.join("db"), &log[..log.len() / 2]).unwrap();
        let opened = open(&at, "two").unwrap();
        // Either the engine sees it at once, or its records say so one by one; none is made up.
        assert!(opened.rebuilt.is_some() || all(&*opened.store).iter().all(|(_, value)| value == &vec![7; 500]));
    }

    #[test]
    fn a_record_that_was_changed_is_none() {
        let record = sealed(b"some value that is long enough to matter");
        assert_eq!(opened(&record).unwrap(), b"some value that is long enough to matter");
        for at in 0..record.len() {
            let mut damaged = record.clone();
            damaged[at] ^= 1;
            assert_eq!(opened(&damaged), None);
        }
    }
}
