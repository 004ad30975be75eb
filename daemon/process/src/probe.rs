//! Whether a program runs at all: a moment of it, before anything is built on it.

use std::{
    collections::HashMap,
    ffi::OsString,
    io,
    os::unix::fs::MetadataExt as _,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use tokio::{io::AsyncReadExt as _, sync::OnceCell, time::timeout};

use crate::{
    environment::Environment,
    exit::Exit,
    launcher::{Launcher, SpawnError},
    spec::Spec,
};

/// How long a program may take.
const LIMIT: Duration = Duration::from_secs(2);
/// How long it may take to be gone after that.
const END: Duration = Duration::from_secs(1);
/// A failure is believed for so long.
const RETRY: Duration = Duration::from_secs(30);
/// What is kept of its stdout, in bytes; the rest is read and dropped.
const KEPT: usize = 64 << 10;
/// Answers that are remembered; the oldest go.
const REMEMBERED: usize = 256;

/// What shall be tried.
#[derive(Clone, Debug)]
pub struct Probe {
    /// Absolute.
    pub program: PathBuf,
    /// `--version`, or what the server has for it.
    pub arguments: Vec<OsString>,
    /// What it is told.
    pub environment: Environment,
    /// What else the answer depends on: the hash of a toolchain file, the declared variables.
    pub extra: String,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probed {
    /// It exited with 0.
    pub runs: bool,
    /// How it ended; none if it was killed because its time was over.
    pub exit: Option<Exit>,
    /// What it wrote to its stdout, 64 KiB at most.
    pub stdout: String,
    /// The last lines of its stderr, without control characters.
    pub stderr: Vec<String>,
    /// How long it took.
    pub took: Duration,
}

impl Probed {
    /// One line that says why it does not run: `exit 1: error: unknown component`.
    #[must_use]
    pub fn reason(&self) -> String {
        let how = self.exit.map_or_else(|| format!("no end within {} s", LIMIT.as_secs()), |exit| exit.to_string());
        match self.stderr.last() {
            Some(line) => format!("{how}: {line}"),
            None => how,
        }
    }
}

/// Why it could not be tried.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ProbeError {
    /// The file is not there.
    #[error("{} cannot be looked at: {error}", program.display())]
    Missing {
        /// The program.
        program: PathBuf,
        /// The system's answer.
        error: Arc<io::Error>,
    },
    /// It cannot be started.
    #[error(transparent)]
    Spawn(Arc<SpawnError>),
}

/// The file as it is: another one behind the same name is another answer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    program: PathBuf,
    file: (u64, u64, i64, i64, u64),
    arguments: Vec<OsString>,
    extra: String,
}

type Answer = Result<Probed, ProbeError>;

#[derive(Clone, Debug)]
struct Remembered {
    since: Instant,
    cell: Arc<OnceCell<Answer>>,
}

impl Remembered {
    /// A success stands, a failure for a while, and what is under way is waited for.
    fn stands(&self, now: Instant, retry: Duration) -> bool {
        match self.cell.get() {
            Some(Ok(Probed { runs: true, .. })) => true,
            Some(_) => now.saturating_duration_since(self.since) < retry,
            None => true,
        }
    }
}

/// Tries programs, and remembers. Who asks for the same at the same time gets the same answer.
#[derive(Debug)]
pub struct Prober {
    launcher: Launcher,
    retry: Duration,
    remembered: Mutex<HashMap<Key, Remembered>>,
}

impl Prober {
    /// One that starts through this launcher.
    #[must_use]
    pub fn new(launcher: Launcher) -> Self {
        Self::with_retry(launcher, RETRY)
    }

    /// With another time than 30 s for which a failure is believed.
    #[must_use]
    pub fn with_retry(launcher: Launcher, retry: Duration) -> Self {
        Self { launcher, retry, remembered: Mutex::default() }
    }

    /// Runs the program for at most 2 s, in the folder `/` and so outside of every checkout, then kills it with all that it
    /// started. Without input. Rustup installs nothing for it.
    ///
    /// # Errors
    /// If it could not be tried. That it does not run is no error but an answer.
    pub async fn probe(&self, probe: &Probe) -> Answer {
        let missing = |error| ProbeError::Missing { program: probe.program.clone(), error: Arc::new(error) };
        let file = std::fs::metadata(&probe.program).map_err(missing)?;
        let key = Key {
            program: probe.program.clone(),
            file: (file.dev(), file.ino(), file.mtime(), file.mtime_nsec(), file.size()),
            arguments: probe.arguments.clone(),
            extra: probe.extra.clone(),
        };
        // A caller that goes away in the middle leaves the cell empty, and the next one tries.
        self.cell(key).get_or_init(|| self.run(probe)).await.clone()
    }

    /// Forgets all answers.
    pub fn forget(&self) {
        self.remembered.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn cell(&self, key: Key) -> Arc<OnceCell<Answer>> {
        let now = Instant::now();
        let mut remembered = self.remembered.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = remembered.get(&key)
            && known.stands(now, self.retry)
        {
            return Arc::clone(&known.cell);
        }
        if remembered.len() >= REMEMBERED
            && let Some(oldest) = remembered.iter().min_by_key(|(_, known)| known.since).map(|(key, _)| key.clone())
        {
            remembered.remove(&oldest);
        }
        let cell = Arc::default();
        remembered.insert(key, Remembered { since: now, cell: Arc::clone(&cell) });
        cell
    }

    async fn run(&self, probe: &Probe) -> Answer {
        let begun = Instant::now();
        let environment = probe.environment.clone().with("RUSTUP_AUTO_INSTALL", "0");
        let spec = Spec::new(&probe.program, environment).arguments(&probe.arguments).ttl(LIMIT + END);
        let mut child = self.launcher.spawn(&spec).await.map_err(|error| ProbeError::Spawn(Arc::new(error)))?;
        child.input().close();
        let mut output = child.take_output().expect("it was not taken yet");
        let mut stdout = Vec::new();
        let read = async {
            let mut buffer = vec![0; 8 << 10];
            // An error of a pipe is its end.
            while let Ok(count @ 1..) = output.read(&mut buffer).await {
                let room = KEPT - stdout.len();
                stdout.extend_from_slice(&buffer[..count.min(room)]);
            }
        };
        let (tail, mut exit) = (child.stderr(), child.exit());
        // The output ends with the program, so both are known when it has ended.
        let ended = timeout(LIMIT, async { tokio::join!(read, exit.wait()).1 }).await.ok();
        if ended.is_some() {
            tail.ended_within(END).await;
        }
        let stopped = child.kill(END).await;
        tracing::debug!(program = %probe.program.display(), ?ended, took = ?stopped.took, "probed");
        Ok(Probed {
            runs: ended.is_some_and(Exit::is_success),
            exit: ended,
            stdout: String::from_utf8_lossy(&stdout).into_owned(),
            stderr: tail.lines(5),
            took: begun.elapsed(),
        })
    }
}
