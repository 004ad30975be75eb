//! Work on many files, on all cores, until a moment.

use std::{
    sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed},
    time::Instant,
};

use ccd_corpus::{Cancel, Entry};

/// The C code of grammars may take some.
const STACK: usize = 4 << 20;
/// So few files are done sooner than threads are started.
const FEW: usize = 4;

/// What bounds a piece of work.
pub(crate) struct Bounds<'a> {
    /// The caller is gone.
    pub(crate) cancel: &'a Cancel,
    /// Its time is over.
    pub(crate) until: Instant,
    /// Threads.
    pub(crate) workers: usize,
    /// Is told how many of how many files are done.
    pub(crate) progress: &'a (dyn Fn(u64, u64) + Sync),
}

impl Bounds<'_> {
    /// Whether to stop, for either reason.
    pub(crate) fn is_over(&self) -> bool {
        self.cancel.is_cancelled() || Instant::now() >= self.until
    }
}

/// Does a piece of work for each file; none for those that there was no time for. In the order of the files.
pub(crate) fn each<T: Send>(files: &[Entry], bounds: &Bounds<'_>, work: impl Fn(&Entry) -> T + Sync) -> Vec<Option<T>> {
    // The largest first, so that no core is left with one at the end.
    let mut order: Vec<usize> = (0..files.len()).collect();
    order.sort_by_key(|&at| std::cmp::Reverse(files[at].stat.size));
    let (next, done) = (AtomicUsize::new(0), AtomicU64::new(0));
    let share = || {
        let mut share = Vec::new();
        while let Some(&at) = order.get(next.fetch_add(1, Relaxed)) {
            if bounds.is_over() {
                break;
            }
            share.push((at, work(&files[at])));
            (bounds.progress)(done.fetch_add(1, Relaxed) + 1, files.len() as u64);
        }
        share
    };
    let others = if files.len() < FEW { 0 } else { bounds.workers.saturating_sub(1) };
    let mut results: Vec<Option<T>> = std::iter::repeat_with(|| None).take(files.len()).collect();
    std::thread::scope(|scope| {
        let mut crew = Vec::new();
        for _ in 0..others {
            match std::thread::Builder::new().name("ccd-search".to_owned()).stack_size(STACK).spawn_scoped(scope, share) {
                Ok(member) => crew.push(member),
                // This thread does the work then.
                Err(error) => tracing::warn!(%error, "a worker of a search could not be started"),
            }
        }
        let mut shares = vec![share()];
        for member in crew {
            match member.join() {
                Ok(share) => shares.push(share),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        for (at, result) in shares.into_iter().flatten() {
            results[at] = Some(result);
        }
    });
    results
}
