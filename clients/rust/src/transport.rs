//! One JSON value a line over the Unix socket, as jsonrpsee's client wants it.
//!
//! jsonrpsee ends the connection at the first answer whose id it does not know, and `id: null` is
//! such an id. So the receiver looks at each line first: events go to their queues, an error without
//! an id goes to the one call it can belong to or to the log, and only answers of calls under way
//! are passed on.

use std::{io, sync::Arc, time::Duration};

use ccd_protocol::{
    RpcError,
    events::{EVENT_METHOD, Event},
};
use jsonrpsee::core::client::{ReceivedMessage, TransportReceiverT, TransportSenderT};
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::unix::{OwnedReadHalf, OwnedWriteHalf},
};

use crate::{calls::Calls, events::Router};

/// A daemon that does not take a request for so long is gone.
const WRITE_LIMIT: Duration = Duration::from_secs(30);

/// The longest line taken: the largest response that a configuration can allow (256 MiB), and its envelope.
const LINE_LIMIT: u64 = 257 * 1024 * 1024;

/// How long the last words of a daemon that closed the connection are waited for.
const LAST_WORDS: Duration = Duration::from_millis(500);

pub(crate) struct Sender {
    pub(crate) socket: OwnedWriteHalf,
    pub(crate) events: Arc<Router>,
}

impl TransportSenderT for Sender {
    type Error = io::Error;

    async fn send(&mut self, mut message: String) -> Result<(), io::Error> {
        message.push('\n');
        let sent = tokio::time::timeout(WRITE_LIMIT, self.socket.write_all(message.as_bytes()))
            .await
            .unwrap_or_else(|_| Err(io::Error::new(io::ErrorKind::TimedOut, "the daemon took nothing for 30 s")));
        if sent.is_err() {
            // jsonrpsee stops reading once this returns, and `busy` may still lie in the socket.
            let _ = tokio::time::timeout(LAST_WORDS, self.events.ended()).await;
        }
        sent
    }
}

pub(crate) struct Receiver {
    pub(crate) socket: BufReader<OwnedReadHalf>,
    pub(crate) calls: Arc<Calls>,
    pub(crate) events: Arc<Router>,
}

impl Drop for Receiver {
    fn drop(&mut self) {
        self.events.close();
    }
}

#[derive(Deserialize)]
struct Line<'a> {
    #[serde(borrow, default)]
    id: Option<&'a RawValue>,
    #[serde(default)]
    method: Option<String>,
    #[serde(borrow, default)]
    params: Option<&'a RawValue>,
    #[serde(borrow, default)]
    error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct EventParams {
    subscription: String,
    result: Event,
}

impl TransportReceiverT for Receiver {
    type Error = io::Error;

    async fn receive(&mut self) -> Result<ReceivedMessage, io::Error> {
        loop {
            let mut line = Vec::new();
            let read = (&mut self.socket).take(LINE_LIMIT).read_until(b'\n', &mut line).await?;
            if line.last() != Some(&b'\n') {
                let what = if read as u64 == LINE_LIMIT { "a line of more than 257 MiB" } else { "end of the stream" };
                return Err(io::Error::new(io::ErrorKind::UnexpectedEof, what));
            }
            if let Some(message) = self.sort(line) {
                return Ok(ReceivedMessage::Bytes(message));
            }
        }
    }
}

impl Receiver {
    /// What of this line is for jsonrpsee.
    fn sort(&self, bytes: Vec<u8>) -> Option<Vec<u8>> {
        let line = match serde_json::from_slice::<Line<'_>>(&bytes) {
            Ok(line) => line,
            Err(error) => {
                tracing::warn!(%error, bytes = bytes.len(), "the daemon sent a line that is no JSON-RPC message");
                return None;
            }
        };
        if let Some(method) = line.method {
            self.notified(&method, line.params);
            return None;
        }
        if let Some(id) = line.id {
            let known = id.get().parse::<u64>().is_ok_and(|id| self.calls.answered(id));
            if !known {
                tracing::warn!(id = id.get(), "the daemon answered a call that is not under way");
            }
            return known.then_some(bytes);
        }
        let error = line.error.and_then(|error| serde_json::from_str::<RpcError>(error.get()).ok())?;
        match self.calls.owner_of(&error) {
            Some(id) => {
                tracing::warn!(%error, id, "an error without an id is taken as the answer of this call");
                self.calls.answered(id);
                serde_json::to_vec(&serde_json::json!({"jsonrpc": "2.0", "id": id, "error": error})).ok()
            }
            None => {
                tracing::warn!(%error, "an error without an id belongs to no call");
                self.calls.keep_orphan(error);
                None
            }
        }
    }

    fn notified(&self, method: &str, params: Option<&RawValue>) {
        let event = params.filter(|_| method == EVENT_METHOD);
        match event.map(|params| serde_json::from_str::<EventParams>(params.get())) {
            Some(Ok(params)) => self.events.deliver(&params.subscription, params.result),
            // A newer daemon may have topics that this client does not know.
            Some(Err(error)) => tracing::debug!(%error, "an event of an unknown shape"),
            None => tracing::debug!(method, "an unknown notification"),
        }
    }
}
