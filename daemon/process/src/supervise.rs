//! The daemon's side of the leash: one task a process.

use std::time::Duration;

use tokio::{
    io::{AsyncWriteExt as _, BufReader},
    net::UnixStream,
    process::Child as Shim,
    sync::{mpsc, watch},
    task::spawn_blocking,
    time::{Instant, sleep_until, timeout},
};

use crate::{
    exit::{Exit, Fate, Gone},
    launcher::read_report,
    sweep::sweep_owner,
    wire::{GRACE, KILL, KILL_LIMIT, Report, TERMINATE},
};

/// An order is one byte on an empty socket; a shim that does not take it is stuck.
const ORDER: Duration = Duration::from_secs(1);
/// How long a shim may take to end a tree, all in all.
const END: Duration = Duration::from_secs(GRACE.as_secs() + KILL_LIMIT.as_secs() + 3);

/// What the owner of a child wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// SIGTERM to the tree.
    Terminate,
    /// The end of the tree.
    Kill,
}

pub(crate) struct Supervisor {
    pub(crate) leash: BufReader<UnixStream>,
    pub(crate) shim: Shim,
    pub(crate) orders: mpsc::Receiver<Order>,
    pub(crate) fate: watch::Sender<Fate>,
    pub(crate) owner: String,
}

/// Passes on orders and reports until the tree is gone. An owner that is dropped wants its end.
pub(crate) async fn supervise(supervisor: Supervisor) {
    let Supervisor { leash, mut shim, mut orders, fate, owner } = supervisor;
    let (reader, mut writer) = tokio::io::split(leash);
    // The reports come by a task of their own, because half a line must not be lost when an order comes first.
    let (reports, mut said) = mpsc::channel(4);
    let mut reader = BufReader::new(reader);
    let reading = tokio::spawn(async move {
        while let Some(report) = read_report(&mut reader).await {
            if reports.send(report).await.is_err() {
                break;
            }
        }
    });
    let mut deadline: Option<Instant> = None;
    let mut expired = false;
    loop {
        tokio::select! {
            report = said.recv() => match report {
                Some(Report::Code(code)) => tell(&fate, if expired { Exit::Expired } else { Exit::Code(code) }),
                Some(Report::Signal(signal)) => tell(&fate, if expired { Exit::Expired } else { Exit::Signal(signal) }),
                Some(Report::Expired) => expired = true,
                Some(Report::Gone { killed, left }) => {
                    if left > 0 {
                        tracing::warn!(owner, left, "processes do not die");
                    }
                    tell(&fate, if expired { Exit::Expired } else { Exit::Lost });
                    fate.send_modify(|fate| fate.gone = Some(Gone { killed, left }));
                    break;
                }
                Some(Report::Started { .. } | Report::Failed { .. }) => {}
                None => break,
            },
            order = orders.recv(), if deadline.is_none() => {
                let byte = match order {
                    Some(Order::Terminate) => TERMINATE,
                    Some(Order::Kill) | None => {
                        deadline = Some(Instant::now() + END);
                        KILL
                    }
                };
                // A shim that is gone is seen by the end of its reports.
                let _ = timeout(ORDER, writer.write_all(&[byte])).await;
            }
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => break,
        }
    }
    reading.abort();
    drop(writer);
    if fate.borrow().gone.is_none() {
        // The shim was killed, or is stuck. The direct child died with it; the rest bears our marker.
        tell(&fate, Exit::Lost);
        // It cannot fail but by a stop of the runtime, which ends us too.
        let _ = shim.start_kill();
        let swept = spawn_blocking(move || sweep_owner(&owner)).await.unwrap_or_default();
        tracing::warn!(swept.killed, swept.left, "a supervisor ended before its processes; they were killed by their marker");
        let gone = Gone { killed: swept.killed, left: swept.left };
        fate.send_modify(|fate| fate.gone = Some(gone));
    }
    // Takes note of its end. Tokio does so later where it comes late.
    let _ = timeout(ORDER, shim.wait()).await;
}

/// The first word about the exit stands.
fn tell(fate: &watch::Sender<Fate>, exit: Exit) {
    fate.send_if_modified(|fate| {
        let first = fate.exit.is_none();
        fate.exit.get_or_insert(exit);
        first
    });
}
