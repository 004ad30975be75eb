//! `ccctl completions`.

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::outcome::{self, Exit, Failure};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The shell.
    shell: Shell,
}

pub(crate) fn run(args: Args) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut crate::args::Args::command(), "ccctl", &mut script);
    outcome::data(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Ok)
}
