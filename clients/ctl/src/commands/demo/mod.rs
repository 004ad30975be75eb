//! `ccctl demo`: the product on a small project, shown and checked.
//!
//! Project, daemon, index and logs are in one temporary folder of its own, so that nothing of the
//! user's is touched and nothing is left. The daemon is ended and the folder removed also when a step
//! fails or the user interrupts.

mod sample;
mod steps;

use std::path::Path;

use ccd_client::{Client, ConnectOptions, Paths};
use ccd_protocol::daemon::{Retire, RetireParams};
use tokio::signal::unix::{SignalKind, signal};

use crate::{
    commands::stop::until_gone,
    outcome::{self, Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) async fn run(session: &Session, _args: Args) -> Result<Exit, Failure> {
    let folder = tempfile::Builder::new().prefix("ccctl-demo-").tempdir()?;
    let base = folder.path().canonicalize()?;
    let paths = Paths::below(&base);
    let mut terminated = signal(SignalKind::terminate())?;
    let interrupted = || Failure::refused("interrupted", "The demo was interrupted; its daemon is ended and its folder removed.");
    let result = tokio::select! {
        result = shown(session, &base, &paths) => result,
        _ = tokio::signal::ctrl_c() => Err(interrupted()),
        _ = terminated.recv() => Err(interrupted()),
    };
    let ended = end(&paths).await;
    folder.close()?;
    let exit = result?;
    ended?;
    if !session.json {
        outcome::data(
            "\nThe daemon of the demo has ended and its folder is removed. In a project of yours: `ccctl search NAME`, `ccctl grep PATTERN`, `ccctl patch <FILE`.\n",
        )?;
    }
    Ok(exit)
}

async fn shown(session: &Session, base: &Path, paths: &Paths) -> Result<Exit, Failure> {
    let root = base.join("shop");
    sample::write(&root)?;
    // Should ccctl be killed, the daemon ends by itself after a minute without connections.
    std::fs::create_dir_all(&paths.config)?;
    std::fs::write(paths.config_file(), "[daemon]\nidle_exit_s = 60\n")?;
    let client = Client::connect(ConnectOptions::new("ccctl demo").in_folders(paths.clone())).await?;
    steps::all(session, &client, &root).await
}

/// Ends the demo's daemon, if it came so far.
async fn end(paths: &Paths) -> Result<(), Failure> {
    let options = ConnectOptions { paths: paths.clone(), ..ConnectOptions::new("ccctl demo").without_start() };
    let Ok(client) = Client::connect(options).await else { return Ok(()) };
    let instance = client.hello().await?.instance;
    let params = RetireParams { reason: "the demo is over".to_owned(), if_idle: Some(false), deadline_ms: None };
    client.call::<Retire>(&params).await?;
    drop(client);
    until_gone(paths, &instance).await
}
