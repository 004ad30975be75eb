//! How a command ends: exit codes, errors on stderr, broken pipes.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "printing is what a command line client does")]

use std::{
    io::{self, IsTerminal as _, Write as _},
    process::ExitCode,
};

use ccd_client::{ClientError, render};
use ccd_protocol::{ErrorData, ErrorKind, Object, RpcError};

/// The exit code. Scripts may rely on these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The answer is on stdout; an empty list is an answer.
    Ok = 0,
    /// Refused, or there was nothing to do.
    Refused = 1,
    /// The command line, or what it asks for, makes no sense.
    Usage = 2,
    /// The daemon does not run, cannot be started, or cannot be reached.
    Unreachable = 3,
    /// A fault of ccctl or of the daemon.
    Internal = 4,
}

/// Why a command has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Found out on this side, before or without the daemon.
    #[error("{message}")]
    Local { kind: &'static str, message: String, exit: Exit },
    /// A file or the output cannot be read or written.
    #[error("Reading or writing failed: {0}.")]
    Io(#[from] io::Error),
    /// Whoever reads the output has had enough (`| head`): the command is over, and well.
    #[error("nobody reads the output any more")]
    ReaderGone,
}

impl Failure {
    pub(crate) fn refused(kind: &'static str, message: impl Into<String>) -> Self {
        Self::Local { kind, message: message.into(), exit: Exit::Refused }
    }

    fn exit(&self) -> Exit {
        match self {
            Self::Client(ClientError::Rpc(error)) => exit_of(error),
            Self::Client(_) => Exit::Unreachable,
            Self::Local { exit, .. } => *exit,
            Self::Io(_) => Exit::Internal,
            Self::ReaderGone => Exit::Ok,
        }
    }

    fn to_rpc(&self) -> RpcError {
        let kind = match self {
            Self::Client(error) => return error.to_rpc(),
            Self::Local { kind, .. } => kind,
            Self::Io(_) | Self::ReaderGone => "io",
        };
        let data = ErrorData { kind: kind.to_owned(), retryable: false, fields: Object::new() };
        RpcError { code: 0, message: self.to_string(), data }
    }
}

fn exit_of(error: &RpcError) -> Exit {
    const INTERNAL: [ErrorKind; 2] = [ErrorKind::Internal, ErrorKind::ParseError];
    const USAGE: [ErrorKind; 3] = [ErrorKind::InvalidParams, ErrorKind::InvalidRequest, ErrorKind::MethodNotFound];
    // A daemon that is well tells itself that time is over; where the client had to, nobody is there.
    let unanswered =
        error.is(ErrorKind::DeadlineExceeded) && error.data.fields.get("phase").is_some_and(|phase| phase == "client");
    if unanswered {
        Exit::Unreachable
    } else if INTERNAL.iter().any(|kind| error.is(*kind)) {
        Exit::Internal
    } else if USAGE.iter().any(|kind| error.is(*kind)) {
        Exit::Usage
    } else {
        Exit::Refused
    }
}

/// Writes data to stdout.
pub(crate) fn data(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(|error| match error.kind() {
        io::ErrorKind::BrokenPipe => Failure::ReaderGone,
        _ => error.into(),
    })
}

/// Says something that is no data, on stderr.
pub(crate) fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

/// Tells how the command ended and gives its exit code.
pub(crate) fn report(result: Result<Exit, Failure>, json: bool) -> ExitCode {
    let failure = match result {
        Ok(exit) => return ExitCode::from(exit as u8),
        Err(Failure::ReaderGone) => return ExitCode::from(Exit::Ok as u8),
        Err(failure) => failure,
    };
    let error = failure.to_rpc();
    if json {
        let _ = data(&format!("{}\n", serde_json::json!({ "error": error })));
    } else {
        print_error(&error);
    }
    ExitCode::from(failure.exit() as u8)
}

/// A fault before any command could begin.
pub(crate) fn internal(error: &anyhow::Error, json: bool) -> ExitCode {
    report(Err(Failure::Local { kind: "internal", message: format!("{error:#}."), exit: Exit::Internal }), json)
}

fn print_error(error: &RpcError) {
    let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let paint = |text: &str, code: &str| if colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() };
    let text = render::error(error, render::Options::default());
    let mut lines = String::new();
    for line in text.lines() {
        let line = line.strip_prefix("hint:").map_or_else(|| line.to_owned(), |rest| format!("{}{rest}", paint("hint:", "36")));
        lines.push_str(&line);
        lines.push('\n');
    }
    let _ = write!(io::stderr().lock(), "{} {lines}", paint("error:", "1;31"));
}
