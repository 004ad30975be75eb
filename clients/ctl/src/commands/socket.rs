//! `ccctl socket`.

use crate::{
    outcome::{self, Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(session: &Session, _args: Args) -> Result<Exit, Failure> {
    let socket = session.paths.socket().display().to_string();
    outcome::data(&if session.json { format!("{}\n", serde_json::json!({ "socket": socket })) } else { format!("{socket}\n") })?;
    Ok(Exit::Ok)
}
