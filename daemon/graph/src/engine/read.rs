//! Reading and parsing the files of a run, on all cores.

use std::{
    sync::{
        Arc, PoisonError,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::{SystemTime, UNIX_EPOCH},
};

use ccd_corpus::{Cancel, Entry, Skipped};
use ccd_files::Stat;
use ccd_text::Version;

use super::{Graph, LeftOut, Plan, Run, load};
use crate::{
    IndexError, IndexReport, codec,
    extract::{self, ExtractError},
    facts::Facts,
    model::FileStamp,
};

/// A file touched within this time before it was read may change again without a new time.
const RACY_NS: i128 = 2_000_000_000;
/// Results that wait to be put in.
const QUEUE: usize = 64;
/// Records written at once.
const BATCH: usize = 128;

/// Whether a file is, by its time and size, what was read.
pub(crate) fn is_same(stamp: &FileStamp, stat: &Stat) -> bool {
    stamp.size == stat.size
        && stamp.mtime_ns == stat.mtime_ns
        && stamp.ino == stat.ino
        && stamp.read_ns - stamp.mtime_ns > RACY_NS
}

fn now_ns() -> i128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos() as i128)
}

enum Outcome {
    /// The bytes are those of the index.
    Same(FileStamp),
    Facts {
        version: Version,
        stamp: FileStamp,
        facts: Arc<Facts>,
        parsed: bool,
        packed: Vec<u8>,
    },
    LeftOut(LeftOut),
    /// It went away, or cannot be read now.
    Gone,
}

impl Graph {
    pub(super) fn read_entries(
        &self,
        run: &Run,
        plan: &Plan,
        full: bool,
        cancel: &Cancel,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<IndexReport, IndexError> {
        let mut report = IndexReport::default();
        let mut to_read = Vec::new();
        {
            let contents = self.contents.read().unwrap_or_else(PoisonError::into_inner);
            for entry in &plan.entries {
                let rel = entry.rel.to_str().unwrap_or_default();
                let known = contents.model.file_at(&entry.rel).and_then(|id| contents.model.file(id));
                let known = match (known, contents.left_out.get(rel)) {
                    (Some(file), _) => Some((file.stamp, file.version)),
                    (None, Some(left_out)) => Some((left_out.stamp, left_out.version)),
                    (None, None) => None,
                };
                match known {
                    Some((stamp, _)) if !full && is_same(&stamp, &entry.stat) => report.unchanged += 1,
                    known => to_read.push((entry, known.map(|(_, version)| version).filter(|_| !full))),
                }
            }
        }
        let total = plan.entries.len() as u64;
        let mut done = report.unchanged;
        progress(done, total);
        if to_read.is_empty() {
            return Ok(report);
        }
        // The largest first, so that no core is left with one at the end; small runs need no threads.
        to_read.sort_by_key(|(entry, _)| std::cmp::Reverse(entry.stat.size));
        let workers = if to_read.len() < 4 { 1 } else { self.shared.workers() };
        let next = AtomicUsize::new(0);
        let mut changes: Vec<(Vec<u8>, Option<Vec<u8>>)> = Vec::new();
        let mut facts_changes: Vec<(Vec<u8>, Option<Vec<u8>>)> = Vec::new();
        let mut take = |entry: &Entry, outcome: Outcome, report: &mut IndexReport| {
            let rel = entry.rel.to_str().unwrap_or_default();
            let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
            match outcome {
                Outcome::Same(stamp) => {
                    report.unchanged += 1;
                    if let Some(id) = contents.model.file_at(&entry.rel) {
                        contents.model.set_stamp(id, stamp);
                    } else if let Some(left_out) = contents.left_out.get_mut(rel) {
                        left_out.stamp = stamp;
                    }
                    changes.extend(load::file_record(&contents, rel));
                }
                Outcome::Facts { version, stamp, facts, parsed, packed } => {
                    report.files_parsed += u64::from(parsed);
                    report.unchanged += u64::from(!parsed);
                    contents.left_out.remove(rel);
                    contents.model.put(rel, entry.language, version, stamp, facts);
                    changes.extend(load::file_record(&contents, rel));
                    if parsed {
                        facts_changes.push((load::facts_key(version, entry.language), Some(packed)));
                    }
                }
                Outcome::LeftOut(left_out) => {
                    contents.model.remove(rel);
                    contents.left_out.insert(rel.to_owned(), left_out);
                    changes.extend(load::file_record(&contents, rel));
                }
                Outcome::Gone => {
                    report.removed += u64::from(contents.model.remove(rel));
                    contents.left_out.remove(rel);
                    changes.push((load::file_key(rel), None));
                }
            }
            drop(contents);
            if changes.len() >= BATCH {
                self.write(run, std::mem::take(&mut changes));
            }
            if facts_changes.len() >= BATCH {
                self.shared.put_facts(std::mem::take(&mut facts_changes));
            }
        };
        if workers == 1 {
            for (entry, known) in &to_read {
                if cancel.is_cancelled() {
                    break;
                }
                if let Some(outcome) = self.read_one(entry, *known, full, cancel) {
                    take(entry, outcome, &mut report);
                    done += 1;
                    progress(done, total);
                }
            }
        } else {
            std::thread::scope(|scope| {
                let (send, receive) = mpsc::sync_channel(QUEUE);
                for _ in 0..workers {
                    let send = send.clone();
                    let (next, to_read) = (&next, &to_read);
                    let spawned = std::thread::Builder::new().name("ccd-index".to_owned()).stack_size(4 << 20).spawn_scoped(
                        scope,
                        move || {
                            while let Some((entry, known)) = to_read.get(next.fetch_add(1, Ordering::Relaxed)) {
                                if cancel.is_cancelled() {
                                    return;
                                }
                                if let Some(outcome) = self.read_one(entry, *known, full, cancel)
                                    && send.send((*entry, outcome)).is_err()
                                {
                                    return;
                                }
                            }
                        },
                    );
                    if let Err(error) = spawned {
                        tracing::warn!(%error, "a worker of the index could not be started");
                    }
                }
                drop(send);
                while let Ok((entry, outcome)) = receive.recv() {
                    take(entry, outcome, &mut report);
                    done += 1;
                    progress(done, total);
                }
            });
        }
        self.write(run, changes);
        self.shared.put_facts(facts_changes);
        if cancel.is_cancelled() { Err(IndexError::Cancelled) } else { Ok(report) }
    }

    /// None: cancelled.
    fn read_one(&self, entry: &Entry, known: Option<Version>, full: bool, cancel: &Cancel) -> Option<Outcome> {
        let read_ns = now_ns();
        let source = match ccd_corpus::read(&self.root, &entry.rel, &self.limits) {
            Ok(source) => source,
            Err(Skipped::NotFound) => return Some(Outcome::Gone),
            Err(skipped) => {
                self.shared.count_read(entry.stat.size);
                let stamp = FileStamp { size: entry.stat.size, mtime_ns: entry.stat.mtime_ns, ino: entry.stat.ino, read_ns };
                let version = Version::of(&[]);
                return Some(Outcome::LeftOut(LeftOut { stamp, version, reason: skipped.reason() }));
            }
        };
        self.shared.count_read(source.bytes.len() as u64);
        let stat = source.stat;
        let stamp = FileStamp { size: stat.size, mtime_ns: stat.mtime_ns, ino: stat.ino, read_ns };
        if known == Some(source.version) {
            return Some(Outcome::Same(stamp));
        }
        let version = source.version;
        if !full
            && let Some(packed) = self.shared.facts(version, entry.language)
            && let Ok(facts) = codec::decode(&packed)
        {
            return Some(Outcome::Facts { version, stamp, facts: Arc::new(facts), parsed: false, packed });
        }
        match extract::extract(entry.language, &source.bytes, source.generated, &self.limits, cancel) {
            Ok(facts) => {
                self.shared.count_parsed();
                let packed = codec::encode(&facts);
                Some(Outcome::Facts { version, stamp, facts: Arc::new(facts), parsed: true, packed })
            }
            Err(ExtractError::Skipped(skipped)) => Some(Outcome::LeftOut(LeftOut { stamp, version, reason: skipped.reason() })),
            Err(ExtractError::Cancelled) => None,
        }
    }
}
