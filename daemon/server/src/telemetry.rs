//! Logs: to standard error when the system's journal reads it, else to a file that is rotated by size.
//!
//! No source text and no values of variables above `debug`. This is the only place that knows `tracing-subscriber`.

use std::{
    fs::{File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use rustix::{fs::OFlags, io::Errno};
use tracing::Level;
use tracing_subscriber::{
    Registry,
    filter::LevelFilter,
    fmt::{self, MakeWriter},
    layer::SubscriberExt,
    reload,
    util::SubscriberInitExt,
};

static LEVEL: OnceLock<reload::Handle<LevelFilter, Registry>> = OnceLock::new();

/// Where the log goes and how much of it is kept.
pub(crate) struct LogFile<'a> {
    /// The folder of the state.
    pub(crate) folder: &'a Path,
    /// Bytes of one file.
    pub(crate) bytes: u64,
    /// Files kept, the current one included.
    pub(crate) files: u32,
}

/// Starts the log. A second call in one process changes nothing.
pub(crate) fn start(level: Level, file: &LogFile<'_>) -> io::Result<()> {
    let (filter, handle) = reload::Layer::new(LevelFilter::from_level(level));
    let registry = tracing_subscriber::registry().with(filter);
    // A failure means that a subscriber is there already: a test that starts pieces in one process.
    let started = if goes_to_journal() {
        // The journal adds the time itself.
        let layer = fmt::layer().with_ansi(false).without_time().with_writer(io::stderr);
        registry.with(layer).try_init()
    } else {
        let log = file.folder.join("log");
        ccd_files::private_folder(&log).map_err(io::Error::other)?;
        let rotating = Rotating::open(log.join("ccd.log"), file.bytes, file.files)?;
        let layer = fmt::layer().with_ansi(false).with_writer(Shared(Arc::new(Mutex::new(rotating))));
        registry.with(layer).try_init()
    };
    if started.is_ok() {
        let _ = LEVEL.set(handle);
        // A caught panic is answered with a reference; where it happened is only known here. What it says may hold text
        // of a source, so that stands at `debug`.
        std::panic::set_hook(Box::new(|panic| {
            let place = panic.location().map(ToString::to_string).unwrap_or_default();
            tracing::error!(place, "a panic");
            tracing::debug!(%panic, "a panic");
        }));
    }
    Ok(())
}

/// Whether standard error is the stream that the journal reads. The variable alone says nothing: everything that is
/// started from a desktop inherits it.
fn goes_to_journal() -> bool {
    let named = std::env::var("JOURNAL_STREAM").ok();
    let own = rustix::fs::fstat(io::stderr()).ok().map(|stat| format!("{}:{}", stat.st_dev, stat.st_ino));
    named.is_some() && named == own
}

/// Changes the level of a running log.
pub(crate) fn set_level(level: Level) {
    if let Some(handle) = LEVEL.get() {
        // It fails only after the end of the subscriber, which lives as long as the process.
        let _ = handle.modify(|filter| *filter = LevelFilter::from_level(level));
    }
}

struct Rotating {
    path: PathBuf,
    file: File,
    written: u64,
    limit: u64,
    files: u32,
}

impl Rotating {
    fn open(path: PathBuf, limit: u64, files: u32) -> io::Result<Self> {
        let file = append(&path)?;
        let written = file.metadata()?.len();
        Ok(Self { path, file, written, limit, files })
    }

    fn numbered(&self, number: u32) -> PathBuf {
        self.path.with_extension(format!("log.{number}"))
    }

    fn rotate(&mut self) -> io::Result<()> {
        for number in (1..self.files.saturating_sub(1)).rev() {
            // A gap in the row is no fault.
            let _ = std::fs::rename(self.numbered(number), self.numbered(number + 1));
        }
        if self.files > 1 {
            std::fs::rename(&self.path, self.numbered(1))?;
            self.file = append(&self.path)?;
        } else {
            self.file.set_len(0)?;
        }
        self.written = 0;
        Ok(())
    }
}

/// Never waits, as for the reader of a FIFO.
fn append(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let irregular = || io::Error::other(format!("{} is not a regular file; remove it", path.display()));
    let opened = OpenOptions::new().create(true).append(true).mode(0o600).custom_flags(flags.bits().cast_signed()).open(path);
    let file = opened.map_err(|error| match Errno::from_io_error(&error) {
        Some(Errno::NXIO | Errno::LOOP) => irregular(),
        _ => error,
    })?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(irregular()) }
}

#[derive(Clone)]
struct Shared(Arc<Mutex<Rotating>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut log = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if log.written > 0 && log.written + bytes.len() as u64 > log.limit {
            log.rotate()?;
        }
        log.file.write_all(bytes)?;
        log.written += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Shared {
    type Writer = Shared;
    fn make_writer(&'a self) -> Shared {
        self.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_rotated_by_size() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("ccd.log");
        let mut log = Shared(Arc::new(Mutex::new(Rotating::open(path.clone(), 10, 3).expect("opens"))));
        for text in ["aaaaaaaa\n", "bbbbbbbb\n", "cccccccc\n", "dddddddd\n"] {
            log.write_all(text.as_bytes()).expect("writes");
        }
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).ok();
        assert_eq!(read("ccd.log").as_deref(), Some("dddddddd\n"));
        assert_eq!(read("ccd.log.1").as_deref(), Some("cccccccc\n"));
        assert_eq!(read("ccd.log.2").as_deref(), Some("bbbbbbbb\n"));
        assert_eq!(read("ccd.log.3"), None);
    }
}
