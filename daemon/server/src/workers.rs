//! Bounded pools of threads for what blocks: queries, targeted index runs, full index runs.
//!
//! The threads are ours and not tokio's: parsing and walking need deep stacks, the number is a setting, and a thread
//! that has nothing to do for a while ends, so that an idle daemon holds no stacks. Work that waits for a thread waits
//! as a task (in a fair semaphore), never in a queue here, so the queue is as short as the pool is wide.

use std::{
    any::Any,
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Resolution and matching keep their own stacks, but the C code of grammars may not.
const STACK: usize = 8 << 20;
/// A thread without work ends after this.
const IDLE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

/// Why a job has no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WorkError {
    /// It panicked.
    #[error("{0}")]
    Panicked(String),
    /// No thread could be started, or the pool is gone.
    #[error("no worker thread can be started")]
    NoThread,
}

/// A pool of at most `size` threads.
#[derive(Clone)]
pub(crate) struct Pool(Arc<Inner>);

struct Inner {
    name: &'static str,
    size: usize,
    permits: Arc<Semaphore>,
    state: Mutex<State>,
    wake: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

/// The right to run one job.
pub(crate) struct Turn {
    _permit: OwnedSemaphorePermit,
}

impl Pool {
    /// A pool that starts no thread before it is used.
    pub(crate) fn new(name: &'static str, size: usize) -> Self {
        Self(Arc::new(Inner {
            name,
            size,
            permits: Arc::new(Semaphore::new(size)),
            state: Mutex::default(),
            wake: Condvar::new(),
        }))
    }

    /// Waits for a free thread, first come first served.
    pub(crate) async fn turn(&self) -> Turn {
        Turn { _permit: Arc::clone(&self.0.permits).acquire_owned().await.expect("the semaphore is never closed") }
    }

    /// Runs a job. Dropping the future leaves the job running; the turn is given back when it ends.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        turn: Turn,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, WorkError> {
        let (answer, receive) = oneshot::channel();
        let job: Job = Box::new(move || {
            let result = catch_unwind(AssertUnwindSafe(job));
            drop(turn);
            // Nobody may be waiting any more.
            let _ = answer.send(result);
        });
        self.submit(job)?;
        match receive.await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(panic)) => Err(WorkError::Panicked(panic_text(&*panic))),
            Err(_) => Err(WorkError::NoThread),
        }
    }

    fn submit(&self, job: Job) -> Result<(), WorkError> {
        let mut state = self.0.lock();
        state.jobs.push_back(job);
        if state.idle >= state.jobs.len() || state.threads >= self.0.size {
            self.0.wake.notify_one();
            return Ok(());
        }
        state.threads += 1;
        let inner = Arc::clone(&self.0);
        let spawned = std::thread::Builder::new().name(self.0.name.to_owned()).stack_size(STACK).spawn(move || inner.work());
        if let Err(error) = spawned {
            state.threads -= 1;
            tracing::error!(%error, pool = self.0.name, "no worker thread can be started");
            // With other threads alive the job is theirs; with none it would wait for ever.
            if state.threads == 0 {
                state.jobs.pop_back();
                return Err(WorkError::NoThread);
            }
        }
        Ok(())
    }
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                job();
                state = self.lock();
                continue;
            }
            state.idle += 1;
            let (next, timeout) = self.wake.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
            state = next;
            state.idle -= 1;
            if timeout.timed_out() && state.jobs.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

/// What a panic said.
pub(crate) fn panic_text(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn runs_no_more_at_once_than_it_is_wide() {
        let pool = Pool::new("test", 2);
        let running = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let most = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        let jobs: Vec<_> = (0..20)
            .map(|n| {
                let (pool, running, most) = (pool.clone(), Arc::clone(&running), Arc::clone(&most));
                tokio::spawn(async move {
                    let turn = pool.turn().await;
                    pool.run(turn, move || {
                        use std::sync::atomic::Ordering::SeqCst;
                        most.fetch_max(running.fetch_add(1, SeqCst) + 1, SeqCst);
                        std::thread::yield_now();
                        running.fetch_sub(1, SeqCst);
                        n
                    })
                    .await
                })
            })
            .collect();
        for (n, job) in jobs.into_iter().enumerate() {
            assert_eq!(job.await.expect("joins").expect("runs"), n);
        }
        assert!(most.load(std::sync::atomic::Ordering::SeqCst) <= 2);
    }

    #[tokio::test]
    async fn a_panic_is_told_and_the_thread_lives_on() {
        let pool = Pool::new("test", 1);
        let turn = pool.turn().await;
        let error = pool.run(turn, || -> u8 { panic!("boom") }).await.expect_err("it panics");
        assert_eq!(error.to_string(), "boom");
        let turn = pool.turn().await;
        assert_eq!(pool.run(turn, || 7).await.expect("runs"), 7);
    }
}
