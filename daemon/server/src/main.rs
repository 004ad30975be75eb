//! `ccd`: the daemon in the foreground. Clients start it with `--detach`.

use std::{
    io::{self, Write},
    process::ExitCode,
};

use ccd::lifecycle::{Paths, StartError, Started, own_session, release_streams, start};
use ccd_process::shim;

const HELP: &str = "\
ccd: code intelligence for coding agents over one Unix socket

usage: ccd [--detach | --socket-path | --version | --help]

  --detach       leave the session and the terminal; print `ready <socket>` when it serves
  --socket-path  print where the socket is
  --version      print the version
  --help         print this

The folders come from CCD_RUNTIME_DIR, CCD_STATE_DIR, CCD_CACHE_DIR and CCD_CONFIG_DIR, else from XDG_*.
";

/// Wrong usage.
const USAGE: u8 = 2;
/// Another daemon serves already.
const HELD: u8 = 3;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let argument = arguments.next();
    // The supervisor of one process, started by the daemon itself: before anything else, for it must stay alone and small.
    if argument.as_ref().is_some_and(|argument| argument == shim::FLAG) {
        return shim::main(arguments);
    }
    let result = match (argument.as_ref().map(|argument| argument.to_string_lossy()).as_deref(), arguments.next()) {
        (None, _) => serve(false),
        (Some("--detach"), None) => serve(true),
        (Some("--socket-path"), None) => Paths::from_env().map_err(StartError::from).map(|paths| {
            say(&format!("{}\n", paths.socket.display()));
        }),
        (Some("--version" | "-V"), None) => {
            say(&format!("ccd {}\n", env!("CARGO_PKG_VERSION")));
            Ok(())
        }
        (Some("--help" | "-h"), None) => {
            say(HELP);
            Ok(())
        }
        _ => {
            complain("it takes one of --detach, --socket-path, --version, --help");
            return ExitCode::from(USAGE);
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error.to_string());
            if error.is_held() { ExitCode::from(HELD) } else { ExitCode::FAILURE }
        }
    }
}

fn serve(detached: bool) -> Result<(), StartError> {
    if detached {
        own_session();
    }
    let started: Started = start(Paths::from_env()?)?;
    if detached {
        say(&format!("ready {}\n", started.socket().display()));
        release_streams().map_err(|error| StartError::System { what: "/dev/null", error })?;
    }
    started.serve();
    Ok(())
}

/// Output; whoever does not read it any more does not want it.
fn say(text: &str) {
    let mut out = io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn complain(text: &str) {
    let _ = writeln!(io::stderr().lock(), "ccd: {text}");
}
