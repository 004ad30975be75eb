//! Measures the daemon on real sources: `bench [FOLDER] [--runs N]`. Prints a table; asserts nothing.
//! `bench FOLDER --peer AST_GREP --language LANGUAGE` compares structural search with another program's.
//!
//! Each run has a daemon and folders of its own. The figures of one machine compare two states of the
//! source on it, and say little about another machine.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a table on stdout is what it is for")]

mod daemon;
mod edits;
mod peer;
mod queries;
mod run;
mod shapes;
mod sources;
mod table;

use std::path::PathBuf;

use anyhow::{Context as _, bail};

fn main() -> anyhow::Result<()> {
    let (mut folder, mut runs) = (None, 3_usize);
    let (mut peer, mut language) = (None, "go".to_owned());
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--runs" => runs = arguments.next().context("--runs takes a number")?.parse().context("--runs takes a number")?,
            "--peer" => peer = Some(PathBuf::from(arguments.next().context("--peer takes a program")?)),
            "--language" => language = arguments.next().context("--language takes a name")?,
            "--help" | "-h" => {
                println!("bench [FOLDER] [--runs N]: without a folder, sources that this machine has");
                println!("bench FOLDER --peer AST_GREP [--language LANGUAGE] [--runs N]: structural search beside ast-grep");
                return Ok(());
            }
            other if other.starts_with('-') || folder.is_some() => bail!("unknown argument {other}; see --help"),
            other => folder = Some(PathBuf::from(other).canonicalize().context("the folder cannot be opened")?),
        }
    }
    let scratch = tempfile::Builder::new().prefix("ccd-bench-").tempdir()?;
    if let Some(program) = peer {
        let folder = folder.context("--peer needs a folder")?;
        return peer::compare(&program, &language, &folder, runs, scratch.path());
    }
    // Files are changed while measuring: always in a copy.
    let project = scratch.path().canonicalize()?.join("project");
    let sources = sources::copy(folder.as_deref(), &project)?;
    eprintln!("{} files, {} lines, {}", sources.files, sources.lines, sources.what);
    let mut measured = Vec::new();
    for number in 1..=runs {
        eprintln!("run {number} of {runs}");
        measured.push(run::run(&scratch.path().join(format!("run{number}")), &project, &sources)?);
    }
    table::print(&sources, &measured);
    Ok(())
}
