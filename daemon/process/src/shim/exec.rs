//! The second stage: sets up itself, and becomes the program.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, OpenOptions},
    io::{self, Write as _},
    os::unix::process::CommandExt as _,
    process::{Command, ExitCode},
};

use rustix::process::{
    Resource, Rlimit, Signal, getppid, getrlimit, set_parent_process_death_signal, setpriority_process, setrlimit,
};

use super::USAGE;
use crate::wire::Settings;

/// Said when the report is open: from now on its end means that the program runs.
pub(super) const OPEN: u8 = b'o';

/// As a shell says it of a command that cannot be run.
const NOT_RUN: u8 = 126;

/// `exec <shim's pid>:<its descriptor> <settings> <folder> <program> [argument…]`
pub(super) fn exec(arguments: Vec<OsString>) -> ExitCode {
    let [place, settings, folder, program, arguments @ ..] = &arguments[..] else { return ExitCode::from(USAGE) };
    let (Some((shim, descriptor)), Some(settings)) = (split(place), Settings::from_argument(settings)) else {
        return ExitCode::from(USAGE);
    };
    // It closes by itself when the program runs: every descriptor that we open does.
    let Ok(mut report) = open(shim, descriptor) else { return ExitCode::from(NOT_RUN) };
    let (what, error) = match prepare(shim, settings, folder) {
        Ok(()) => ("exec", Command::new(program).args(arguments).exec()),
        Err(refused) => refused,
    };
    // If nobody hears it, the exit code remains.
    let _ = report.write_all(format!("{what} {}\n", error.raw_os_error().unwrap_or(0)).as_bytes());
    ExitCode::from(NOT_RUN)
}

fn split(place: &OsStr) -> Option<(i32, i32)> {
    let (shim, descriptor) = place.to_str()?.split_once(':')?;
    Some((shim.parse().ok()?, descriptor.parse().ok()?))
}

/// The report is a pipe of the shim, opened by its name: a descriptor that is inherited would reach the program too.
fn open(shim: i32, descriptor: i32) -> io::Result<File> {
    let mut report = OpenOptions::new().write(true).open(format!("/proc/{shim}/fd/{descriptor}"))?;
    report.write_all(&[OPEN])?;
    Ok(report)
}

fn prepare(shim: i32, settings: Settings, folder: &OsStr) -> Result<(), (&'static str, io::Error)> {
    // The shim has one thread, so this means its end and not that of a thread.
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(|error| ("supervise", error.into()))?;
    if getppid().is_none_or(|parent| parent.as_raw_pid() != shim) {
        return Err(("supervise", io::ErrorKind::BrokenPipe.into()));
    }
    // These are a matter of manners: what the system does not let us set stays as it is.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    if settings.open_files > 0 {
        let Rlimit { maximum, .. } = getrlimit(Resource::Nofile);
        let current = maximum.map_or(settings.open_files, |maximum| maximum.min(settings.open_files));
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(current), maximum });
    }
    if settings.nice != 0 {
        let _ = setpriority_process(None, settings.nice);
    }
    if settings.oom_score != 0 {
        let _ = fs::write("/proc/self/oom_score_adj", settings.oom_score.to_string());
    }
    std::env::set_current_dir(folder).map_err(|error| ("chdir", error))
}
