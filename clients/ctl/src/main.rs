//! `ccctl`: what ccd knows, on the command line.
//!
//! Data goes to stdout and everything else to stderr; exit codes are in [`outcome::Exit`]. One file a
//! command in `commands/`.

mod args;
mod commands;
mod edits;
mod outcome;
mod progress;
mod session;

use std::process::ExitCode;

use anyhow::Context as _;
use clap::Parser as _;

fn main() -> ExitCode {
    // Usage errors and `--help` end here, with 2 and 0.
    let args = args::Args::parse();
    let json = args.json;
    match run(args) {
        Ok(code) => code,
        Err(error) => outcome::internal(&error, json),
    }
}

fn run(args: args::Args) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().context("no runtime for the connection")?;
    let session = session::Session::new(&args).context("the working folder is unknown")?;
    let result = runtime.block_on(commands::run(&session, args.command));
    // A name lookup or a read that hangs in the background must not keep a finished command.
    runtime.shutdown_background();
    Ok(outcome::report(result, session.json))
}
