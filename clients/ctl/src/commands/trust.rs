//! `ccctl trust`.

use std::{
    fs::{File, OpenOptions},
    io::{BufRead as _, BufReader, Read as _, Write as _},
    path::PathBuf,
};

use ccd_client::{place, render};
use ccd_protocol::{
    daemon::{Status, StatusParams},
    workspace::{Allowed, Trust, TrustParams, TrustResult},
};

use crate::{
    args::word,
    outcome::{self, Exit, Failure},
    session::{Session, utf8},
};

/// Longer answers are not read.
const ANSWER: u64 = 256;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The folder to trust [default: the root of the project].
    #[arg(value_name = "ROOT", conflicts_with = "list")]
    folder: Option<PathBuf>,
    /// Take it back.
    #[arg(long, conflicts_with_all = ["list", "no_worktrees", "allow"])]
    revoke: bool,
    /// Show what is trusted.
    #[arg(long, conflicts_with_all = ["no_worktrees", "allow", "yes"])]
    list: bool,
    /// Without its git worktrees.
    #[arg(long)]
    no_worktrees: bool,
    /// Beside tools of your PATH: `local_binaries` in the checkout, `config` of tools in it.
    #[arg(long, value_name = "WHAT", value_parser = word::<Allowed>)]
    allow: Vec<Allowed>,
    /// Do not ask.
    #[arg(long)]
    yes: bool,
}

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    if args.list {
        let status = session.client().await?.call::<Status>(&StatusParams::default()).await?;
        if session.json {
            outcome::data(&format!("{}\n", serde_json::json!({ "trusted": status.trusted })))?;
        } else {
            outcome::data(&render::trusted(&status.trusted, session.text))?;
        }
        return Ok(Exit::Ok);
    }
    let root = match &args.folder {
        Some(folder) => utf8(place::absolute(&session.cwd, folder))?,
        None => session.workspace()?,
    };
    let mut worktrees = !args.no_worktrees;
    if !args.revoke && !args.yes {
        match asked(&root, worktrees)? {
            Some(with_worktrees) => worktrees = with_worktrees,
            None => {
                outcome::note("Nothing was changed.");
                return Ok(Exit::Refused);
            }
        }
    }
    let params = TrustParams {
        root,
        worktrees: Some(worktrees),
        allow: Some(args.allow),
        revoke: args.revoke.then_some(true),
        deadline_ms: None,
    };
    let raw = session.client().await?.call_raw::<Trust>(&params, None).await?;
    let printed = session.print::<Trust>(&raw, render::trust)?;
    let changed = serde_json::from_str::<TrustResult>(raw.get()).is_ok_and(|result| result.changed);
    // Nothing to take back is told, and told by the exit code.
    Ok(if args.revoke && !changed { Exit::Refused } else { printed })
}

/// Asks the person at the terminal, whatever standard input is: a program that pipes a yes into a command is none. Says
/// whether worktrees are meant too; none is a no.
fn asked(root: &str, worktrees: bool) -> Result<Option<bool>, Failure> {
    let terminal = OpenOptions::new().read(true).write(true).open("/dev/tty").map_err(|_| {
        Failure::refused(
            "no_terminal",
            "There is no terminal to ask on, and trust is for a person to give. Run it in a terminal; a script that decides by itself says --yes.",
        )
    })?;
    let mut answers = BufReader::new(terminal.try_clone()?);
    let mut ask = |question: &str| -> Result<String, Failure> { answer(&terminal, &mut answers, question) };
    let trusted = ask(&format!(
        "Trust {}?\nIts build scripts, macros and tools then run as you: language servers and debuggers execute code of a checkout.\n[y/N] ",
        render::clean(root)
    ))?;
    if !matches!(trusted.as_str(), "y" | "Y" | "yes") {
        return Ok(None);
    }
    if !worktrees || place_of_git(root).is_none() {
        return Ok(Some(worktrees));
    }
    let included = ask("Its git worktrees too, also those made later? [Y/n] ")?;
    Ok(Some(!matches!(included.as_str(), "n" | "N" | "no")))
}

fn answer(mut terminal: &File, answers: &mut BufReader<File>, question: &str) -> Result<String, Failure> {
    terminal.write_all(question.as_bytes())?;
    terminal.flush()?;
    let mut line = String::new();
    answers.by_ref().take(ANSWER).read_line(&mut line)?;
    Ok(line.trim().to_owned())
}

/// The repository of a root, where it can have worktrees: `.git` is a folder.
fn place_of_git(root: &str) -> Option<PathBuf> {
    let git = PathBuf::from(root).join(".git");
    git.symlink_metadata().is_ok_and(|found| found.is_dir()).then_some(git)
}
