//! From a line or body to its answer: envelope, batch, lookup, panic guard. The same for both transports.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::Arc,
};

use ccd_protocol::{ErrorKind, Kind, METHODS, RpcError};
use futures_util::FutureExt;
use jsonrpsee::{
    Extensions, Methods,
    core::server::{BatchResponseBuilder, ConnectionId, MethodCallback, MethodResponse},
    types::{Id, Params},
};
use serde::Deserialize;

use crate::{
    daemon::Daemon,
    rpc::{
        answer::{self, refuse},
        call::{Call, Control},
        envelope::{self, Entry, Message, Request},
        params,
        peer::Peer,
    },
    workers::panic_text,
};

/// An edit that was received: who asks for it before its turn comes is told that it is being prepared.
struct Announced(Arc<Daemon>, String);

impl Announced {
    fn of(daemon: &Arc<Daemon>, request: &Request<'_>) -> Option<Self> {
        #[derive(serde::Deserialize)]
        struct Named {
            txn_id: String,
        }
        let method = METHODS.iter().find(|method| method.name == request.method)?;
        let params = request.params.filter(|_| method.kind == Kind::Publish)?;
        let named: Named = serde_json::from_str(params.get()).ok()?;
        daemon.edits.announce(&named.txn_id);
        Some(Self(Arc::clone(daemon), named.txn_id))
    }
}

impl Drop for Announced {
    fn drop(&mut self) {
        self.0.edits.retract(&self.1);
    }
}

/// Room for an error of a batch, and for its id.
const ERROR_BYTES: usize = 512;

/// The notification that cancels a call.
const CANCEL: &str = "rpc.cancel";

/// An answer that takes its time; none for a notification.
pub(crate) type Later = Pin<Box<dyn Future<Output = Option<MethodResponse>> + Send>>;

/// What became of a line or body.
pub(crate) enum Reply {
    /// The answer.
    Now(MethodResponse),
    /// It was no JSON; the answer says so.
    Broken(MethodResponse),
    /// It is worked on.
    Later(Later),
    /// Nothing is to be answered.
    Silent,
}

/// The table, and the rules of the envelope before it.
pub(crate) struct Dispatcher {
    methods: Methods,
}

impl Dispatcher {
    pub(crate) fn new(methods: Methods) -> Self {
        Self { methods }
    }

    /// Handles a line or body. Instant methods and `rpc.cancel` are done when it returns.
    pub(crate) fn handle(self: &Arc<Self>, daemon: &Arc<Daemon>, peer: &Arc<Peer>, text: &[u8]) -> Reply {
        let refused = |error: RpcError| Reply::Now(refuse(Id::Null, &error));
        match envelope::parse(text) {
            Message::Single(entry) => self.entry(daemon, peer, entry),
            Message::Batch(entries) if entries.is_empty() => refused(answer::invalid_request("the batch is empty")),
            Message::Batch(entries) => {
                let entries: Vec<_> = entries.into_iter().map(ToOwned::to_owned).collect();
                Reply::Later(Box::pin(Arc::clone(self).batch(Arc::clone(daemon), Arc::clone(peer), entries)))
            }
            Message::BatchTooLong(entries) => refused(answer::batch_too_long(entries)),
            Message::NotARequest => refused(answer::invalid_request("it must be an object or a batch of objects")),
            Message::Broken(why) => {
                daemon.metrics.counters.broken.add();
                Reply::Broken(refuse(Id::Null, &answer::broken(&why)))
            }
        }
    }

    /// The entries of a batch in their order, one after the other: an entry may rest on what the one before did.
    async fn batch(
        self: Arc<Self>,
        daemon: Arc<Daemon>,
        peer: Arc<Peer>,
        entries: Vec<Box<serde_json::value::RawValue>>,
    ) -> Option<MethodResponse> {
        let limit = daemon.settings().response_bytes();
        let mut answers = BatchResponseBuilder::new_with_limit(limit);
        let error = answer::batch_too_large(limit);
        // Every call that was made is answered under its id, if only with what it was too much for.
        let reserve = |raw: &serde_json::value::RawValue| ERROR_BYTES + raw.get().len().min(ERROR_BYTES);
        let mut later: usize = entries.iter().map(|raw| reserve(raw)).sum();
        let mut used = 2;
        for raw in &entries {
            later -= reserve(raw);
            let entry = envelope::entry(raw);
            let id = entry.as_ref().ok().and_then(|request| request.id.clone()).unwrap_or(Id::Null);
            let reply = self.entry(&daemon, &peer, entry);
            let response = match reply {
                Reply::Now(response) | Reply::Broken(response) => Some(response),
                Reply::Later(later) => later.await,
                Reply::Silent => None,
            };
            let Some(mut response) = response else { continue };
            if used + response.as_json().get().len() + 1 + later > limit {
                response = refuse(id, &error);
            }
            used += response.as_json().get().len() + 1;
            if answers.append(response).is_err() {
                return Some(refuse(Id::Null, &error));
            }
        }
        (!answers.is_empty()).then(|| MethodResponse::from_batch(answers.finish()))
    }

    fn entry(&self, daemon: &Arc<Daemon>, peer: &Arc<Peer>, entry: Entry<'_>) -> Reply {
        match entry {
            Ok(request) => self.request(daemon, peer, &request),
            Err(refusal) if refusal.params => {
                let error = RpcError::new(ErrorKind::InvalidParams, format!("The call cannot be read: {}.", refusal.why))
                    .with("field", "params")
                    .with("expected", "an object");
                Reply::Now(refuse(refusal.id, &error))
            }
            Err(refusal) => Reply::Now(refuse(refusal.id, &answer::invalid_request(refusal.why))),
        }
    }

    fn request(&self, daemon: &Arc<Daemon>, peer: &Arc<Peer>, request: &Request<'_>) -> Reply {
        let silent = request.id.is_none();
        let id = request.id.clone().unwrap_or(Id::Null);
        let reply = |response| if silent { Reply::Silent } else { Reply::Now(response) };
        if request.method == CANCEL {
            return match (silent, cancelled_id(request)) {
                (false, _) => {
                    reply(refuse(id, &answer::invalid_request("`rpc.cancel` is a notification: send it without an id")))
                }
                (true, Some(wanted)) => {
                    peer.cancel(&wanted);
                    Reply::Silent
                }
                (true, None) => Reply::Silent,
            };
        }
        let Some((_, callback)) = self.methods.method_with_name(&request.method) else {
            return reply(refuse(id, &unknown(&request.method)));
        };
        let call = Call { daemon: Arc::clone(daemon), peer: Arc::clone(peer), control: Arc::new(Control::new()) };
        let params = Params::new(request.params.map(|raw| raw.get()));
        let limit = daemon.settings().response_bytes();
        match callback {
            MethodCallback::Sync(callback) => {
                let mut extensions = Extensions::new();
                extensions.insert(call);
                let run = AssertUnwindSafe(|| callback(id.clone(), params, limit, extensions));
                reply(catch_unwind(run).unwrap_or_else(|panic| refuse(id, &daemon.internal(&panic_text(&*panic)))))
            }
            MethodCallback::Async(callback) => {
                if daemon.is_draining() {
                    return reply(refuse(id, &retiring()));
                }
                let announced = Announced::of(daemon, request);
                let id = id.into_owned();
                // A notification cannot be cancelled: it has no id to name it by.
                let registered = (!silent).then(|| peer.register(id.clone(), Arc::clone(&call.control)));
                let mut extensions = Extensions::new();
                extensions.insert(call);
                let connection = ConnectionId(usize::try_from(peer.id).unwrap_or(usize::MAX));
                let begin = AssertUnwindSafe(|| callback(id.clone(), params.into_owned(), connection, limit, extensions));
                let work = match catch_unwind(begin) {
                    Ok(work) => work,
                    Err(panic) => return reply(refuse(id, &daemon.internal(&panic_text(&*panic)))),
                };
                let daemon = Arc::clone(daemon);
                Reply::Later(Box::pin(async move {
                    let _registered = registered;
                    let _announced = announced;
                    let response = match AssertUnwindSafe(work).catch_unwind().await {
                        Ok(response) => response,
                        Err(panic) => refuse(id, &daemon.internal(&panic_text(&*panic))),
                    };
                    (!silent).then_some(response)
                }))
            }
            // The table holds no others: events are subscribed to by an instant method.
            MethodCallback::Subscription(_) | MethodCallback::Unsubscription(_) => reply(refuse(id, &unknown(&request.method))),
        }
    }
}

fn cancelled_id<'a>(request: &'a Request<'_>) -> Option<Id<'a>> {
    #[derive(Deserialize)]
    struct Cancel<'a> {
        #[serde(borrow)]
        id: Id<'a>,
    }
    serde_json::from_str::<Cancel<'a>>(request.params?.get()).ok().map(|cancel| cancel.id)
}

fn retiring() -> RpcError {
    RpcError::new(ErrorKind::Retiring, "This daemon is about to end and takes no more work. Connect again; a new one will serve.")
        .with("retry_after_ms", 500)
}

fn unknown(method: &str) -> RpcError {
    let closest = params::nearest(method, METHODS.iter().map(|method| method.name));
    let shown = ccd_text::clip(method.as_bytes(), 200);
    let hint = match closest.first() {
        Some(near) => format!("Did you mean `{near}`?"),
        None => "`daemon.methods` lists those that there are.".to_owned(),
    };
    RpcError::new(ErrorKind::MethodNotFound, format!("There is no method `{shown}`. {hint}")).with("closest", closest)
}

#[cfg(test)]
mod tests {
    use ccd_protocol::ErrorKind;
    use serde_json::Value;

    use super::*;
    use crate::{config::Config, lifecycle::Paths, rpc::peer::Transport};

    /// A daemon that serves nothing, and a table of methods that fail.
    fn failing(folder: &std::path::Path) -> (Arc<Daemon>, Arc<Peer>, Arc<Dispatcher>) {
        let paths = Paths::below(folder);
        let daemon = Daemon::new(paths, Config::default(), false);
        let mut methods = Methods::new();
        let sync = MethodCallback::Sync(Arc::new(|_, _, _, _| panic!("an instant one")));
        let later = MethodCallback::Async(Arc::new(|_, _, _, _, _| Box::pin(async { panic!("a slow one") })));
        let at_once = MethodCallback::Async(Arc::new(|_, _, _, _, _| panic!("before the first await")));
        for (name, callback) in [("instant", sync), ("later", later), ("at_once", at_once)] {
            methods.verify_and_insert(name, callback).expect("each once");
        }
        (daemon, Arc::new(Peer::new(1, None, Transport::Lines, 4, 1)), Arc::new(Dispatcher::new(methods)))
    }

    #[tokio::test]
    async fn a_panic_is_an_error_of_its_call_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let (daemon, peer, dispatcher) = failing(folder.path());
        for method in ["instant", "later", "at_once"] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}"}}"#);
            let response = match dispatcher.handle(&daemon, &peer, line.as_bytes()) {
                Reply::Now(response) => response,
                Reply::Later(later) => later.await.expect("it is answered"),
                _ => panic!("it is answered"),
            };
            let answer: Value = serde_json::from_str(response.as_ref()).expect("JSON");
            assert_eq!((&answer["id"], &answer["error"]["data"]["kind"]), (&7.into(), &ErrorKind::Internal.name().into()));
            assert!(answer["error"]["data"]["ref"].is_string(), "{answer}");
        }
        assert_eq!(daemon.counters()["calls_panicked"], 3);
    }
}
