//! Starting a shim, and handing it what it needs.

use std::{
    io::{self, IoSlice, pipe},
    mem::MaybeUninit,
    os::{
        fd::{AsFd as _, OwnedFd},
        unix::net::UnixStream as StdStream,
    },
    path::{Path, PathBuf},
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use rustix::{
    io::Errno,
    net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg},
};
use tokio::{
    io::{AsyncBufRead, AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    net::{UnixStream, unix::pipe as pipes},
    process::Command,
    sync::{mpsc, watch},
    time::timeout,
};

use crate::{
    child::Child,
    exit::{ExitWatch, Fate},
    input::Input,
    output::Output,
    shim,
    spec::Spec,
    supervise::{Supervisor, supervise},
    tail::Tail,
    wire::{BEGIN, BEGIN_LIMIT, Report},
};

/// The shim has its own limits for each step; this one is for a shim that is stuck.
const START_LIMIT: Duration = Duration::from_secs(2 * BEGIN_LIMIT.as_secs());
/// Orders that may wait for the supervisor.
const ORDERS: usize = 8;
/// No report of the shim is longer.
const LINE: u64 = 256;

/// Why a process was not started.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The system refused what is needed for it.
    #[error("{} cannot be started: {what}: {error}", program.display())]
    System {
        /// What was to be started.
        program: PathBuf,
        /// What was tried.
        what: &'static str,
        /// The system's answer.
        error: io::Error,
    },
    /// The program cannot be run, or not there.
    #[error("{} cannot be run{}: {error}", program.display(), if what == "chdir" { " in its folder" } else { "" })]
    Refused {
        /// What was to be started.
        program: PathBuf,
        /// `exec`, `chdir`, `fork` or `supervise`.
        what: String,
        /// The system's answer.
        error: io::Error,
    },
    /// The shim was killed, or did not answer in time.
    #[error("{} was not started: its supervisor said nothing; try again", program.display())]
    Silent {
        /// What was to be started.
        program: PathBuf,
    },
}

/// Starts processes for one daemon. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Launcher {
    instance: Arc<str>,
    executable: Arc<Path>,
    slots: Arc<AtomicU64>,
}

impl Launcher {
    /// The launcher of the daemon with this instance id; its own binary is the shim.
    #[must_use]
    pub fn new(instance: &str) -> Self {
        // By way of /proc, so that an upgrade cannot take the file away.
        Self::with_executable(instance, "/proc/self/exe")
    }

    /// With another binary as the shim: one that calls [`shim::main`].
    #[must_use]
    pub fn with_executable(instance: &str, executable: impl AsRef<Path>) -> Self {
        Self { instance: instance.into(), executable: executable.as_ref().into(), slots: Arc::default() }
    }

    /// The id that the marker of its processes begins with.
    #[must_use]
    pub fn instance(&self) -> &str {
        &self.instance
    }

    /// Starts a process. It returns when the program runs, or is known not to.
    ///
    /// # Errors
    /// If it cannot be started. Nothing is left then, nor if the future is dropped.
    pub async fn spawn(&self, spec: &Spec) -> Result<Child, SpawnError> {
        let owner = format!("{}:{}", self.instance, self.slots.fetch_add(1, Ordering::Relaxed));
        let system = |what| move |error: io::Error| SpawnError::System { program: spec.program.clone(), what, error };
        let (leash, theirs) = StdStream::pair().map_err(system("a socket"))?;
        let shim = self.shim(spec, &owner, theirs).spawn().map_err(system("its supervisor"))?;
        let (their_stdin, stdin) = pipe().map_err(system("a pipe"))?;
        let (stdout, their_stdout) = pipe().map_err(system("a pipe"))?;
        let (stderr, their_stderr) = pipe().map_err(system("a pipe"))?;
        send_pipes(&leash, [their_stdin.into(), their_stdout.into(), their_stderr.into()]).map_err(system("its pipes"))?;
        leash.set_nonblocking(true).map_err(system("a socket"))?;
        let mut leash = BufReader::new(UnixStream::from_std(leash).map_err(system("a socket"))?);

        let pid = match timeout(START_LIMIT, read_report(&mut leash)).await {
            Ok(Some(Report::Started { pid })) => pid,
            Ok(Some(Report::Failed { what, errno })) => {
                let error = io::Error::from_raw_os_error(errno);
                return Err(SpawnError::Refused { program: spec.program.clone(), what, error });
            }
            _ => return Err(SpawnError::Silent { program: spec.program.clone() }),
        };
        tracing::debug!(program = %spec.program.display(), pid, owner, "started");

        let (fate, seen) = watch::channel(Fate::default());
        let exit = ExitWatch(seen);
        let stdin = pipes::Sender::from_owned_fd(stdin.into()).map_err(system("a pipe"))?;
        let stdout = pipes::Receiver::from_owned_fd(stdout.into()).map_err(system("a pipe"))?;
        let stderr = pipes::Receiver::from_owned_fd(stderr.into()).map_err(system("a pipe"))?;
        let (orders, queue) = mpsc::channel(ORDERS);
        let shim_pid = shim.id().unwrap_or(0);
        tokio::spawn(supervise(Supervisor { leash, shim, orders: queue, fate, owner: owner.clone() }));
        Ok(Child {
            pid: u32::try_from(pid).unwrap_or(0),
            shim_pid,
            owner,
            input: Input::new(stdin, spec.queue, spec.stall),
            output: Some(Output::new(stdout, exit.clone())),
            tail: Tail::drain(Output::new(stderr, exit.clone())),
            exit,
            orders,
        })
    }

    fn shim(&self, spec: &Spec, owner: &str, leash: StdStream) -> Command {
        let mut command = Command::new(&*self.executable);
        command.arg0("ccd").args([shim::FLAG, "run"]).arg(spec.settings().to_argument());
        command.arg(&spec.folder).arg(&spec.program).args(&spec.arguments);
        command.env_clear().envs(spec.environment.iter()).env(crate::OWNER, owner);
        command.stdin(OwnedFd::from(leash)).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

/// Hands over the child's ends of its pipes. The socket is new and empty, so it does not wait.
fn send_pipes(leash: &StdStream, pipes: [OwnedFd; 3]) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let handles = pipes.each_ref().map(|pipe| pipe.as_fd());
    if !ancillary.push(SendAncillaryMessage::ScmRights(&handles)) {
        return Err(Errno::NOBUFS.into());
    }
    sendmsg(leash, &[IoSlice::new(&[BEGIN])], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// The next line of the shim. None at its end, or if it makes no sense.
pub(crate) async fn read_report<R: AsyncBufRead + Unpin>(leash: &mut R) -> Option<Report> {
    let mut line = String::new();
    leash.take(LINE).read_line(&mut line).await.ok()?;
    Report::from_line(&line)
}
