//! `ccctl stop`.

use std::time::Duration;

use ccd_client::{Client, ClientError, ConnectOptions, Paths, lock, render};
use ccd_protocol::daemon::{Retire, RetireParams};
use tokio::time::Instant;

use crate::{
    outcome::{Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only if nothing is under way.
    #[arg(long)]
    if_idle: bool,
}

/// A daemon drains for at most 15 s.
const LIMIT: Duration = Duration::from_secs(20);

pub(crate) async fn run(session: &Session, args: Args) -> Result<Exit, Failure> {
    let client = session.running().await?;
    let instance = client.hello().await?.instance;
    let params = RetireParams { reason: "ccctl stop".to_owned(), if_idle: Some(args.if_idle), deadline_ms: None };
    let raw = client.call_raw::<Retire>(&params, None).await?;
    let retiring = serde_json::from_str::<ccd_protocol::daemon::RetireResult>(raw.get()).is_ok_and(|result| result.retiring);
    drop(client);
    if !retiring {
        session.print::<Retire>(&raw, render::retire)?;
        return Ok(Exit::Refused);
    }
    until_gone(&session.paths, &instance).await?;
    let text = |_: &_, _| "ccd has ended\n".to_owned();
    session.print::<Retire>(&raw, text)
}

/// Waits until the daemon called `instance` neither answers nor holds its lock.
pub(crate) async fn until_gone(paths: &Paths, instance: &str) -> Result<(), Failure> {
    let deadline = Instant::now() + LIMIT;
    let options = ConnectOptions { paths: paths.clone(), ..ConnectOptions::new("ccctl").without_start() };
    loop {
        let gone = match Client::connect(options.clone()).await {
            // Where systemd holds the socket, the next one may be there already.
            Ok(other) => other.hello().await.is_ok_and(|hello| hello.instance != instance),
            Err(ClientError::NotRunning { .. }) => lock::holder(&paths.lock()).is_none(),
            Err(_) => false,
        };
        if gone {
            return Ok(());
        }
        if Instant::now() >= deadline {
            return Err(Failure::refused(
                "deadline_exceeded",
                format!(
                    "ccd was told to end and is still there after {} s. `ccctl logs` shows what it waits for.",
                    LIMIT.as_secs()
                ),
            ));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
