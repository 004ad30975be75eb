//! Taking connections: whose they are, how many there may be, which of the two protocols they speak.

use std::{io, sync::Arc, time::Duration};

use ccd_protocol::{ErrorKind, RpcError};
use jsonrpsee::types::Id;
use tokio::{
    io::AsyncWriteExt,
    net::{UnixListener, UnixStream},
};

use crate::{
    daemon::Daemon,
    rpc::{answer::refuse, http, lines, peer::Transport},
};

/// Blank bytes before the first that tells the protocol.
const BLANK: usize = 64 << 10;
/// Turning a client away takes no longer.
const TURN_AWAY: Duration = Duration::from_secs(1);
/// Out of file descriptors: accepting again at once would spin.
const EXHAUSTED: Duration = Duration::from_millis(50);

/// Takes connections until the daemon drains.
pub(crate) async fn accept(daemon: Arc<Daemon>, listener: UnixListener) {
    loop {
        let stream = tokio::select! {
            biased;
            () = daemon.draining() => return,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => stream,
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be taken");
                    tokio::time::sleep(EXHAUSTED).await;
                    continue;
                }
            },
        };
        let pid = match peer_pid(&stream) {
            Ok(pid) => pid,
            Err(reason) => {
                daemon.metrics.counters.connections_refused.add();
                tracing::warn!(reason, "a connection was closed");
                continue;
            }
        };
        let limit = daemon.settings().connections();
        match daemon.connections.admit(limit) {
            Some(admission) => {
                daemon.metrics.counters.connections.add();
                let daemon = Arc::clone(&daemon);
                tokio::spawn(async move { serve(daemon, stream, pid, admission).await });
            }
            None => {
                daemon.metrics.counters.connections_refused.add();
                tokio::spawn(tokio::time::timeout(TURN_AWAY, turn_away(stream, limit)));
            }
        }
    }
}

/// The peer's process id, if it is of our user.
fn peer_pid(stream: &UnixStream) -> Result<Option<u32>, &'static str> {
    let credentials = stream.peer_cred().map_err(|_| "its credentials cannot be read")?;
    if credentials.uid() != rustix::process::geteuid().as_raw() {
        return Err("it belongs to another user");
    }
    Ok(credentials.pid().and_then(|pid| u32::try_from(pid).ok()))
}

async fn turn_away(mut stream: UnixStream, limit: u32) -> io::Result<()> {
    let error =
        RpcError::new(ErrorKind::Busy, format!("All {limit} connections are taken. Close one, or try again in a second."))
            .with("what", "connections")
            .with("limit", limit)
            .with("retry_after_ms", 1000);
    let line = format!("{}\n", refuse(Id::Null, &error).as_ref());
    stream.write_all(line.as_bytes()).await?;
    stream.shutdown().await?;
    // The request that the client may have sent is read away; a close over unread bytes looks like a failure to it.
    let mut rest = [0; 4096];
    loop {
        stream.readable().await?;
        match stream.try_read(&mut rest) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
}

async fn serve(daemon: Arc<Daemon>, stream: UnixStream, pid: Option<u32>, admission: crate::connections::Admission) {
    let settings = daemon.settings();
    let (limit, places) = (settings.in_flight(), settings.workers());
    let lines = admission.enter(pid, Transport::Lines, limit, places);
    let mut input = Vec::new();
    let (first, eof) = match first_byte(&daemon, &stream, &mut input).await {
        Ok(found) => found,
        Err(error) => return tracing::debug!(%error, "connection failed before its first request"),
    };
    match first {
        Some(b'{' | b'[') => lines::serve(daemon, Arc::clone(lines.peer()), stream, input, eof).await,
        Some(_) => {
            let http = lines.again(pid, Transport::Http, limit, places);
            http::serve(daemon, Arc::clone(http.peer()), stream, input).await;
        }
        None => {}
    }
}

/// The first byte that is not blank, if one comes before the end, and whether the end was seen.
async fn first_byte(daemon: &Daemon, stream: &UnixStream, input: &mut Vec<u8>) -> io::Result<(Option<u8>, bool)> {
    loop {
        tokio::select! {
            ready = stream.readable() => ready?,
            () = daemon.draining() => return Ok((None, false)),
        }
        input.reserve(4096);
        let eof = match stream.try_read_buf(input) {
            Ok(bytes) => bytes == 0,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => continue,
            Err(error) => return Err(error),
        };
        if let Some(&first) = input.iter().find(|byte| !byte.is_ascii_whitespace()) {
            return Ok((Some(first), eof));
        }
        if eof || input.len() > BLANK {
            return Ok((None, eof));
        }
    }
}
