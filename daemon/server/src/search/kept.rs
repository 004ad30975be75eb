//! What was counted, for further pages.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use ccd_corpus::Limits;
use ccd_files::{Root, Stat};
use ccd_grammars::LanguageId;
use ccd_protocol::ast::GrepResult;
use ccd_text::Version;

use super::Compiled;

/// Results that are kept.
const MOST: usize = 32;
/// Bytes of all of them, about.
const BYTES: usize = 16 << 20;
/// After the last page that was asked for.
const KEEP: Duration = Duration::from_secs(300);
/// A file that was touched within this time before it was read may have changed again under the same time.
const RACY_NS: i128 = 2_000_000_000;

/// A file with matches.
#[derive(Clone, Debug)]
pub(crate) struct KeptFile {
    /// Relative to the root.
    pub(crate) rel: String,
    /// The grammar it was searched with.
    pub(crate) language: LanguageId,
    /// Of its bytes.
    pub(crate) version: Version,
    /// Taken before they were read.
    pub(crate) stat: Stat,
    /// How many.
    pub(crate) matches: usize,
}

/// A search that was done.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Of whom it is: what was asked, without limit and cursor.
    pub(crate) question: [u8; 8],
    /// What is searched for.
    pub(crate) compiled: Compiled,
    /// By path.
    pub(crate) files: Vec<KeptFile>,
    /// All of the answer but its matches.
    pub(crate) head: GrepResult,
    counted_ns: i128,
}

impl Kept {
    pub(crate) fn new(question: [u8; 8], compiled: Compiled, files: Vec<KeptFile>, head: GrepResult) -> Self {
        let counted_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i128);
        Self { question, compiled, files, head, counted_ns }
    }

    fn bytes(&self) -> usize {
        self.files.iter().map(|file| file.rel.len() + size_of::<KeptFile>()).sum::<usize>() + 4096
    }

    /// The first file that is not what was counted. Blocks.
    pub(crate) fn changed(&self, root: &Root, limits: &Limits) -> Option<&str> {
        let changed = |file: &&KeptFile| {
            let old = &file.stat;
            let same = root.stat(file.rel.as_ref()).is_ok_and(|now| {
                (now.size, now.mtime_ns, now.dev, now.ino) == (old.size, old.mtime_ns, old.dev, old.ino)
                    && self.counted_ns - now.mtime_ns > RACY_NS
            });
            !same
                && !root.read(file.rel.as_ref(), limits.max_file_bytes).is_ok_and(|read| Version::of(&read.bytes) == file.version)
        };
        self.files.iter().find(changed).map(|file| file.rel.as_str())
    }
}

/// The kept results.
#[derive(Debug, Default)]
pub(crate) struct Results {
    next: AtomicU64,
    /// The one used last is at the back.
    kept: Mutex<VecDeque<(u64, Instant, Arc<Kept>)>>,
}

impl Results {
    fn lock(&self) -> std::sync::MutexGuard<'_, VecDeque<(u64, Instant, Arc<Kept>)>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a result and names it.
    pub(crate) fn keep(&self, result: Arc<Kept>) -> u64 {
        let id = self.next.fetch_add(1, Relaxed) + 1;
        let mut kept = self.lock();
        kept.push_back((id, Instant::now(), result));
        let mut bytes: usize = kept.iter().map(|(_, _, result)| result.bytes()).sum();
        while kept.len() > MOST || bytes > BYTES && kept.len() > 1 {
            let Some((_, _, oldest)) = kept.pop_front() else { break };
            bytes -= oldest.bytes();
        }
        id
    }

    /// A result that is still kept.
    pub(crate) fn get(&self, id: u64) -> Option<Arc<Kept>> {
        let mut kept = self.lock();
        let at = kept.iter().position(|(known, used, _)| *known == id && used.elapsed() < KEEP)?;
        let (_, _, result) = kept.remove(at)?;
        kept.push_back((id, Instant::now(), Arc::clone(&result)));
        Some(result)
    }

    /// Lets go of what nobody asked for. Called by the clock.
    pub(crate) fn sweep(&self) {
        self.lock().retain(|(_, used, _)| used.elapsed() < KEEP);
    }
}
