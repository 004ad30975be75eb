//! The supervisor between the daemon and a tree of processes: `ccd --shim …`.
//!
//! It has one thread and no runtime at work, so that nothing in it can hang but the kernel. It is started in two stages: `run`
//! supervises; it starts the same binary again as `exec`, which sets up itself (limits, parent death signal) and then
//! becomes the program. What has to be done between fork and exec is so done in a process of our own, without unsafe code.

mod exec;
mod run;
mod tree;

use std::{ffi::OsString, process::ExitCode};

/// The flag of the host binary under which [`main`] is called.
pub const FLAG: &str = "--shim";

/// Wrong arguments; nobody but a person gets here.
const USAGE: u8 = 2;

/// Runs the shim with the arguments that follow [`FLAG`]. The host calls it before it starts anything, threads above all.
#[must_use]
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut arguments = arguments.into_iter();
    let stage = arguments.next();
    match stage.as_ref().and_then(|stage| stage.to_str()) {
        Some("run") => run::run(arguments.collect()),
        Some("exec") => exec::exec(arguments.collect()),
        _ => ExitCode::from(USAGE),
    }
}
