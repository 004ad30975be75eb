//! The table of methods: jsonrpsee's `Methods`, filled with typed handlers.
//!
//! An instant method is a sync callback and runs on the connection's own task; a work method is an async callback and
//! runs as a task under its deadline and its cancel token. Which of both it is stands in its type (`Method::KIND`).

use std::{future::Future, sync::Arc, time::Duration};

use ccd_protocol::{CallParams, ErrorKind, Kind, METHODS, Method, RpcError};
use jsonrpsee::{Methods, core::server::MethodCallback};
use tracing::Instrument;

use crate::rpc::{
    answer::answer,
    call::{Call, Control},
    params,
};

/// The table under construction.
pub(crate) struct Table(Methods);

impl Table {
    pub(crate) fn new() -> Self {
        Self(Methods::new())
    }

    /// The finished table. A method of the protocol without a handler is a fault of this crate.
    pub(crate) fn finish(self) -> Methods {
        debug_assert!(METHODS.iter().all(|method| self.0.method(method.name).is_some()));
        self.0
    }

    /// Adds a method that answers from memory.
    pub(crate) fn instant<M: Method>(mut self, handler: fn(&Call, M::Params) -> Result<M::Result, RpcError>) -> Self {
        debug_assert_eq!(M::KIND, Kind::Instant, "{}", M::NAME);
        let index = index_of(M::NAME);
        let callback = MethodCallback::Sync(Arc::new(move |id, raw, limit, extensions| {
            let call: &Call = extensions.get().expect("the dispatcher puts the call there");
            let result = params::read::<M::Params>(raw.as_str())
                .and_then(|params| deadline::<M>(call, params.deadline_ms()).map(|_| params))
                .and_then(|params| handler(call, params));
            let response = answer(id, &result, limit);
            finished(call, index, &result);
            response
        }));
        self.insert(M::NAME, callback);
        self
    }

    /// Adds a method that may do IO, through [`Call::query`] or [`Call::run`].
    pub(crate) fn work<M, F, Fut>(self, handler: F) -> Self
    where
        M: Method,
        F: Fn(Call, M::Params) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<M::Result, RpcError>> + Send + 'static,
    {
        debug_assert_eq!(M::KIND, Kind::Work, "{}", M::NAME);
        self.task::<M, F, Fut>(handler)
    }

    /// Adds a method that writes. Cancelled or late, it is stopped if it has not begun to write; else it is finished and
    /// answered as if nothing had been.
    pub(crate) fn publish<M, F, Fut>(self, handler: F) -> Self
    where
        M: Method,
        F: Fn(Call, M::Params) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<M::Result, RpcError>> + Send + 'static,
    {
        debug_assert_eq!(M::KIND, Kind::Publish, "{}", M::NAME);
        self.task::<M, F, Fut>(handler)
    }

    /// A method with a task of its own, ended as its kind asks.
    fn task<M, F, Fut>(mut self, handler: F) -> Self
    where
        M: Method,
        F: Fn(Call, M::Params) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<M::Result, RpcError>> + Send + 'static,
    {
        let index = index_of(M::NAME);
        let handler = Arc::new(handler);
        let callback = MethodCallback::Async(Arc::new(move |id, raw, _connection, limit, extensions| {
            let call: Call = extensions.get::<Call>().expect("the dispatcher puts the call there").clone();
            let handler = Arc::clone(&handler);
            let span = tracing::info_span!("call", method = M::NAME, id = %id, peer = call.peer.id);
            Box::pin(
                async move {
                    let run = |params| handler(call.clone(), params);
                    let result = match params::read::<M::Params>(raw.as_str()) {
                        Ok(params) if M::KIND == Kind::Publish => finished_if_begun::<M, _>(&call, params, run).await,
                        Ok(params) => bounded::<M, _>(&call, params, run).await,
                        Err(error) => Err(error),
                    };
                    let response = answer(id, &result, limit);
                    finished(&call, index, &result);
                    response
                }
                .instrument(span),
            )
        }));
        self.insert(M::NAME, callback);
        self
    }

    fn insert(&mut self, name: &'static str, callback: MethodCallback) {
        self.0.verify_and_insert(name, callback).expect("every method has one handler");
    }
}

fn index_of(name: &str) -> usize {
    METHODS.iter().position(|method| method.name == name).expect("every handler is of a method of the protocol")
}

fn finished<T>(call: &Call, index: usize, result: &Result<T, RpcError>) {
    call.daemon.metrics.call(index, call.control.received.elapsed());
    if let Err(error) = result {
        call.daemon.metrics.counters.errors.add();
        tracing::debug!(kind = %error.data.kind, "failed");
    }
}

/// The deadline of a call: the configured default, or what the caller asks for up to the cap of the method.
pub(crate) fn deadline<M: Method>(call: &Call, asked_ms: Option<u64>) -> Result<Duration, RpcError> {
    let ms = match asked_ms {
        None => call.daemon.settings().deadline_ms(M::NAME).unwrap_or(M::DEADLINE.default_ms),
        Some(0) => return Err(params::wrong("deadline_ms", "at least 1 millisecond")),
        Some(ms) => ms.min(M::DEADLINE.cap_ms),
    };
    Ok(Duration::from_millis(ms))
}

/// A handler's work, once the connection has a permit for it.
async fn in_turn<T>(call: &Call, work: impl Future<Output = T>) -> T {
    let _permit = call.peer.permits().acquire_owned().await.expect("the semaphore is never closed");
    work.await
}

/// Waits until a call is cancelled or its time is over; says which.
async fn over(call: &Call, allowed: Duration) -> RpcError {
    let control = &call.control;
    tokio::select! {
        biased;
        () = control.cancelled() => {
            call.daemon.metrics.counters.cancelled.add();
            cancelled(control)
        }
        () = tokio::time::sleep_until((control.received + allowed).into()) => {
            call.daemon.metrics.counters.deadlines.add();
            too_late(control, allowed)
        }
    }
}

/// Runs a handler until it ends, is cancelled, or its time is over. Dropping it sets the tokens of its blocking work.
async fn bounded<M: Method, Fut>(
    call: &Call,
    params: M::Params,
    handler: impl FnOnce(M::Params) -> Fut,
) -> Result<M::Result, RpcError>
where
    Fut: Future<Output = Result<M::Result, RpcError>>,
{
    let allowed = deadline::<M>(call, params.deadline_ms())?;
    tokio::select! {
        biased;
        ended = over(call, allowed) => Err(ended),
        result = in_turn(call, handler(params)) => result,
    }
}

/// Runs an edit: until it begins to write it ends by a cancel or its deadline, from then on by itself.
async fn finished_if_begun<M: Method, Fut>(
    call: &Call,
    params: M::Params,
    handler: impl FnOnce(M::Params) -> Fut,
) -> Result<M::Result, RpcError>
where
    Fut: Future<Output = Result<M::Result, RpcError>>,
{
    let allowed = deadline::<M>(call, params.deadline_ms())?;
    let control = &call.control;
    let work = in_turn(call, handler(params));
    tokio::pin!(work);
    let ended = tokio::select! {
        biased;
        result = &mut work => return result,
        ended = over(call, allowed) => ended,
    };
    control.stop();
    if !control.is_running() {
        return Err(ended);
    }
    // It stops before its first write, or is past it; the commit itself is bounded by what it writes.
    match work.await {
        Err(error) if error.is(ErrorKind::Cancelled) => Err(ended),
        result => result,
    }
}

fn cancelled(control: &Control) -> RpcError {
    let phase = control.phase();
    RpcError::new(ErrorKind::Cancelled, format!("The call was cancelled while {phase}.")).with("phase", phase)
}

fn too_late(control: &Control, allowed: Duration) -> RpcError {
    let phase = control.phase();
    let ms = u64::try_from(allowed.as_millis()).unwrap_or(u64::MAX);
    RpcError::new(
        ErrorKind::DeadlineExceeded,
        format!("The call took longer than {ms} ms (it was {phase}). Try again, ask for less, or give a larger `deadline_ms`."),
    )
    .with("phase", phase)
    .with("deadline_ms", ms)
}
