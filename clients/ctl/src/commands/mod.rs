//! One file a command: its arguments, and what it does with them.

pub(crate) mod amend;
pub(crate) mod callees;
pub(crate) mod callers;
pub(crate) mod completions;
pub(crate) mod demo;
pub(crate) mod digest;
pub(crate) mod doctor;
pub(crate) mod edit;
pub(crate) mod freeform;
pub(crate) mod grep;
pub(crate) mod impact;
pub(crate) mod importers;
pub(crate) mod imports;
pub(crate) mod index;
pub(crate) mod logs;
pub(crate) mod open;
pub(crate) mod outcome;
pub(crate) mod outline;
pub(crate) mod patch;
pub(crate) mod path;
pub(crate) mod resolve;
pub(crate) mod rewrite;
pub(crate) mod search;
pub(crate) mod socket;
pub(crate) mod staged;
pub(crate) mod status;
pub(crate) mod stop;
pub(crate) mod symbol;
pub(crate) mod trust;
pub(crate) mod undo;
pub(crate) mod write;

use crate::{
    args::Command,
    outcome::{Exit, Failure},
    session::Session,
};

pub(crate) async fn run(session: &Session, command: Command) -> Result<Exit, Failure> {
    match command {
        Command::Status(args) => status::run(session, args).await,
        Command::Open(args) => open::run(session, args).await,
        Command::Index(args) => index::run(session, args).await,
        Command::Search(args) => search::run(session, args).await,
        Command::Outline(args) => outline::run(session, args).await,
        Command::Symbol(args) => symbol::run(session, args).await,
        Command::Callers(args) => callers::run(session, args).await,
        Command::Callees(args) => callees::run(session, args).await,
        Command::Imports(args) => imports::run(session, args).await,
        Command::Importers(args) => importers::run(session, args).await,
        Command::Impact(args) => impact::run(session, args).await,
        Command::Path(args) => path::run(session, args).await,
        Command::Digest(args) => digest::run(session, args).await,
        Command::Patch(args) => patch::run(session, args).await,
        Command::Amend(args) => amend::run(session, args).await,
        Command::Write(args) => write::run(session, args).await,
        Command::Edit(args) => edit::run(session, args).await,
        Command::Undo(args) => undo::run(session, args).await,
        Command::Outcome(args) => outcome::run(session, args).await,
        Command::Grep(args) => grep::run(session, args).await,
        Command::Rewrite(args) => rewrite::run(session, args).await,
        Command::Resolve(args) => resolve::run(session, args).await,
        Command::Staged(args) => staged::run(session, args).await,
        Command::Freeform(args) => freeform::run(args),
        Command::Trust(args) => trust::run(session, args).await,
        Command::Doctor(args) => doctor::run(session, args).await,
        Command::Logs(args) => logs::run(session, args).await,
        Command::Stop(args) => stop::run(session, args).await,
        Command::Socket(args) => socket::run(session, args),
        Command::Demo(args) => demo::run(session, args).await,
        Command::Completions(args) => completions::run(args),
    }
}
