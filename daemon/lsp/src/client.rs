//! One server process and what is said over its pipes: requests with deadlines, and one task that reads and answers.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use ccd_framing::{Decoder, Event, Limits, Message, Pending, encode_value};
use ccd_process::{Child, ExitWatch, Input, Ladder, Launcher, Output, Spec, Stopped, Tail};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};
use tokio::{
    io::AsyncReadExt as _,
    sync::{oneshot, watch},
    time::timeout,
};

/// A frame that has begun goes on within this time.
const TORN: Duration = Duration::from_secs(30);
/// Requests that may wait for their answers.
const PENDING: usize = 1024;
/// How long the last words of a server that ended are waited for.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long a reader may look for the exit of a server that closed its stdout.
const CLOSED: Duration = Duration::from_millis(300);

/// Why a request has no answer.
#[derive(Clone, Debug, thiserror::Error)]
pub enum RequestError {
    /// The server has ended, or its pipe is closed.
    #[error("the language server has ended: {0}")]
    Ended(String),
    /// The time was over.
    #[error("no answer to {method} within {} ms", limit.as_millis())]
    TimedOut {
        /// What was asked.
        method: String,
        /// How long it was waited for.
        limit: Duration,
    },
    /// The server answered with an error.
    #[error("{message} (error {code})")]
    Refused {
        /// The protocol's number.
        code: i64,
        /// The server's words.
        message: String,
    },
    /// Too many requests wait, or the server does not read.
    #[error("the language server does not keep up: {0}")]
    Busy(String),
}

/// What a client passes on. Both are called from the reading task and must not wait.
pub(crate) trait Listener: Send + Sync {
    /// A notification came.
    fn notified(&self, method: &str, params: Value);
    /// The server asks: the result, or none for a method that we do not have.
    fn asked(&self, method: &str, params: &Value) -> Option<Value>;
}

type Answer = Result<Box<RawValue>, RequestError>;

/// A running server.
#[derive(Debug)]
pub(crate) struct Client {
    input: Input,
    next: AtomicI64,
    pending: Mutex<HashMap<i64, oneshot::Sender<Answer>>>,
    child: Mutex<Option<Child>>,
    tail: Tail,
    exit: ExitWatch,
    shim_pid: u32,
    ended: watch::Sender<Option<String>>,
}

/// A message as the wire has it.
#[derive(Debug, Deserialize)]
struct Incoming {
    /// Present with null is not absent.
    id: Option<Box<RawValue>>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    result: Option<Box<RawValue>>,
    error: Option<WireError>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireError {
    code: i64,
    message: String,
}

impl Client {
    /// Starts the process and the task that reads it.
    pub(crate) async fn start(
        launcher: &Launcher,
        spec: &Spec,
        listener: Weak<dyn Listener>,
    ) -> Result<Arc<Self>, ccd_process::SpawnError> {
        let mut child = launcher.spawn(spec).await?;
        let output = child.take_output().expect("it was not taken yet");
        let client = Arc::new(Self {
            input: child.input(),
            next: AtomicI64::new(1),
            pending: Mutex::default(),
            tail: child.stderr(),
            exit: child.exit(),
            shim_pid: child.shim_pid(),
            child: Mutex::new(Some(child)),
            ended: watch::channel(None).0,
        });
        tokio::spawn(read(Arc::clone(&client), output, listener));
        Ok(client)
    }

    /// The root of its tree, for measuring.
    pub(crate) fn shim_pid(&self) -> u32 {
        self.shim_pid
    }

    /// The last lines of its stderr.
    pub(crate) fn stderr(&self, lines: usize) -> Vec<String> {
        self.tail.lines(lines)
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&self) -> Option<String> {
        self.ended.borrow().clone()
    }

    /// Waits until it has ended; race it with a deadline.
    pub(crate) async fn wait_ended(&self) -> String {
        let mut ended = self.ended.subscribe();
        match ended.wait_for(Option::is_some).await {
            Ok(detail) => detail.clone().unwrap_or_default(),
            Err(_) => String::new(),
        }
    }

    /// A notification. None for `params` sends no such member, which strict servers want of `exit`.
    pub(crate) fn notify(&self, method: &str, params: Option<Value>) -> Result<(), RequestError> {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        self.send(&message)
    }

    /// A request. If its future is dropped, or its time is over, the server is told so.
    pub(crate) async fn request(&self, method: &str, params: Option<Value>, limit: Duration) -> Answer {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (tell, answer) = oneshot::channel();
        {
            let mut pending = self.pending();
            if pending.len() >= PENDING {
                return Err(RequestError::Busy(format!("{PENDING} requests wait")));
            }
            pending.insert(id, tell);
        }
        let _guard = Withdraw { client: self, id };
        if let Some(detail) = self.ended() {
            return Err(RequestError::Ended(detail));
        }
        let mut message = json!({"jsonrpc": "2.0", "id": id, "method": method});
        if let Some(params) = params {
            message["params"] = params;
        }
        self.send(&message)?;
        match timeout(limit, answer).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(_)) => Err(RequestError::Ended(self.ended().unwrap_or_default())),
            Err(_) => Err(RequestError::TimedOut { method: method.to_owned(), limit }),
        }
    }

    /// The stop ladder. None if it was stopped before.
    pub(crate) async fn stop(&self) -> Option<Stopped> {
        let child = self.child.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        let gentle = async {
            if self.request("shutdown", None, Ladder::SERVER.first).await.is_ok() {
                let _ = self.notify("exit", None);
            }
        };
        Some(child.stop(gentle, Ladder::SERVER).await)
    }

    /// Kills it at once.
    pub(crate) fn kill(&self) {
        drop(self.child.lock().unwrap_or_else(PoisonError::into_inner).take());
    }

    fn send(&self, message: &Value) -> Result<(), RequestError> {
        let frame = encode_value(message).map_err(|error| RequestError::Busy(error.to_string()))?;
        self.input.try_send(frame).map_err(|error| match self.ended() {
            Some(detail) => RequestError::Ended(detail),
            None => RequestError::Busy(error.to_string()),
        })
    }

    fn pending(&self) -> std::sync::MutexGuard<'_, HashMap<i64, oneshot::Sender<Answer>>> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self, message: Message, listener: &dyn Listener) {
        let incoming: Incoming = match message.parse() {
            Ok(incoming) => incoming,
            Err(error) => return tracing::warn!(%error, "a message that cannot be read"),
        };
        match (incoming.method, incoming.id) {
            (Some(method), None) => listener.notified(&method, incoming.params),
            (Some(method), Some(id)) => {
                let mut answer = match listener.asked(&method, &incoming.params) {
                    Some(result) => json!({"jsonrpc": "2.0", "result": result}),
                    None => {
                        json!({"jsonrpc": "2.0", "error": {"code": -32601, "message": format!("no method {method}")}})
                    }
                };
                // As it came: a number or a string.
                answer["id"] = serde_json::from_str(id.get()).unwrap_or(Value::Null);
                if let Err(error) = self.send(&answer) {
                    tracing::warn!(%error, method, "a question of a server stays without an answer");
                }
            }
            (None, Some(id)) => {
                let Ok(id) = id.get().parse::<i64>() else { return };
                let Some(tell) = self.pending().remove(&id) else { return };
                let answer = match (incoming.error, incoming.result) {
                    (Some(error), _) => {
                        let message = crate::lists::plain(&error.message);
                        Err(RequestError::Refused { code: error.code, message })
                    }
                    (None, Some(result)) => Ok(result),
                    (None, None) => Ok(RawValue::NULL.to_owned()),
                };
                // The asker may be gone.
                let _ = tell.send(answer);
            }
            (None, None) => {}
        }
    }

    /// All who wait are told at once.
    fn end(&self, detail: String) {
        self.ended.send_replace(Some(detail.clone()));
        for (_, tell) in self.pending().drain() {
            let _ = tell.send(Err(RequestError::Ended(detail.clone())));
        }
    }
}

/// Takes a request out of the table when its asker goes, and tells the server.
struct Withdraw<'c> {
    client: &'c Client,
    id: i64,
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        if self.client.pending().remove(&self.id).is_some() && self.client.ended().is_none() {
            let _ = self.client.notify("$/cancelRequest", Some(json!({"id": self.id})));
        }
    }
}

/// Reads until the end, passes on what comes, and answers what is asked. It waits for nobody.
async fn read(client: Arc<Client>, mut output: Output, listener: Weak<dyn Listener>) {
    let mut decoder = Decoder::new(Limits::default());
    let mut buffer = vec![0; 64 << 10];
    let broken = 'reading: loop {
        loop {
            match decoder.next() {
                Ok(Some(Event::Message(message))) => {
                    let Some(listener) = listener.upgrade() else { break 'reading None };
                    client.take(message, &*listener);
                }
                Ok(Some(other)) => tracing::debug!(?other, "not of the protocol"),
                Ok(None) => break,
                Err(error) => break 'reading Some(error.to_string()),
            }
        }
        let read = output.read(&mut buffer);
        let read = match decoder.pending() {
            Pending::Nothing => read.await,
            _ => match timeout(TORN, read).await {
                Ok(read) => read,
                Err(_) => break Some(format!("a message that does not go on for {} s", TORN.as_secs())),
            },
        };
        match read {
            Ok(count @ 1..) => decoder.push(&buffer[..count]),
            // An error of a pipe is its end.
            _ => break None,
        }
    };
    let mut exit = client.exit.clone();
    let detail = match broken {
        Some(error) => error,
        None => {
            let exit = exit.within(CLOSED).await;
            client.tail.ended_within(LAST_WORDS).await;
            let how = exit.map_or_else(|| "it closed its output".to_owned(), |exit| exit.to_string());
            match client.tail.lines(1).pop() {
                Some(line) => format!("{how}: {line}"),
                None => how,
            }
        }
    };
    client.end(detail);
}
