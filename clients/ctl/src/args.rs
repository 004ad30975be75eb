//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::commands;

/// Code intelligence for the project you stand in, from the daemon ccd.
///
/// The daemon starts by itself with the first command that needs it. Symbols are named by a name, an id, or
/// a place: `path:line`, `path:line:column`, `path:line:text`.
///
/// Exit codes: 0 ok, 1 refused or found nothing to do, 2 usage, 3 not running or unreachable, 4 internal.
#[derive(Debug, Parser)]
#[command(name = "ccctl", version)]
pub(crate) struct Args {
    /// Print the result, or the error as {"error": ...}, as one line of JSON.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// The root of the project [default: the nearest enclosing folder with a .git, else the working folder].
    #[arg(long, global = true, value_name = "FOLDER")]
    pub(crate) root: Option<PathBuf>,
    /// The most bytes of text, 1024 to 65536.
    #[arg(long, global = true, value_name = "BYTES", default_value_t = 8192, value_parser = clap::value_parser!(u32).range(1024..=65536))]
    pub(crate) max_bytes: u32,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// What runs, is open and is connected; never starts the daemon.
    Status(commands::status::Args),
    /// Open the project and start to index it.
    Open(commands::open::Args),
    /// Bring the index up to date and wait for it.
    Index(commands::index::Args),
    /// Find definitions by name or a part of one.
    Search(commands::search::Args),
    /// The definitions of one file as a tree.
    Outline(commands::outline::Args),
    /// One definition: where, its head, its doc comment, its source.
    Symbol(commands::symbol::Args),
    /// Who calls a symbol.
    Callers(commands::callers::Args),
    /// What a symbol calls.
    Callees(commands::callees::Args),
    /// What a file imports.
    Imports(Modules),
    /// Which files import a file or a module.
    Importers(Modules),
    /// What a change of these symbols or files can reach.
    Impact(commands::impact::Args),
    /// How one symbol leads to another over calls.
    Path(commands::path::Args),
    /// A hash of the whole graph.
    Digest(commands::digest::Args),
    /// Apply a patch to any number of files, all of it or nothing.
    Patch(commands::patch::Args),
    /// Send hunks of a refused patch again, and only these.
    Amend(commands::amend::Args),
    /// Write a whole file.
    Write(commands::write::Args),
    /// Replace a stretch of a file, found by its text or named by its place.
    Edit(commands::edit::Args),
    /// Put back what an edit replaced, if nothing was changed since.
    Undo(commands::undo::Args),
    /// What became of an edit.
    Outcome(commands::outcome::Args),
    /// Find code by its shape: `$X` is one piece of code, `$$$X` any run of them.
    Grep(commands::grep::Args),
    /// Rewrite code by its shape: prepare it, show it, and write it when you say so.
    Rewrite(commands::rewrite::Args),
    /// Accept, discard or show a prepared change.
    Resolve(commands::resolve::Args),
    /// The prepared changes that wait.
    Staged(commands::staged::Args),
    /// Check a streamed call of a freeform tool and take the patch out; lines of JSON on standard input.
    Freeform(commands::freeform::Args),
    /// Let language servers and debuggers run on a checkout, take that back, or show which are trusted.
    Trust(commands::trust::Args),
    /// Check folders, socket, versions and sandbox; works with the daemon dead and never starts it.
    Doctor(commands::doctor::Args),
    /// The daemon's log.
    Logs(commands::logs::Args),
    /// End the daemon and wait until it is gone.
    Stop(commands::stop::Args),
    /// The path of the socket.
    Socket(commands::socket::Args),
    /// Show all of it on a small project of its own, with a daemon of its own.
    Demo(commands::demo::Args),
    /// Completions for a shell, on stdout.
    Completions(commands::completions::Args),
}

/// Lists in pages.
#[derive(Debug, clap::Args)]
pub(crate) struct Page {
    /// Entries of one page.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<u32>,
    /// The next page, as the page before named it.
    #[arg(long)]
    pub(crate) cursor: Option<String>,
}

/// Whether an answer may be of half an index.
#[derive(Debug, clap::Args)]
pub(crate) struct Wait {
    /// Answer from what is indexed so far instead of waiting for the index.
    #[arg(long)]
    pub(crate) no_wait: bool,
}

// What is asked about imports, in both directions. (A doc comment would become the help of the command.)
#[derive(Debug, clap::Args)]
pub(crate) struct Modules {
    /// A file, or a module by its name in the language.
    pub(crate) target: String,
    /// Steps.
    #[arg(long, value_name = "N")]
    pub(crate) depth: Option<u32>,
    #[command(flatten)]
    pub(crate) page: Page,
    #[command(flatten)]
    pub(crate) wait: Wait,
}

/// Reads a word of the wire; the error lists the words there are.
pub(crate) fn word<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_value(Value::String(text.to_owned())).map_err(|error| error.to_string())
}
