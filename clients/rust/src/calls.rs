//! The calls under way on one connection.
//!
//! jsonrpsee hands out the ids and hides them. Here they are seen: by the middleware that every call
//! passes on its way out (which knows the caller's token), and by the transport on the way back.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard},
};

use ccd_protocol::{ErrorKind, RpcError};
use jsonrpsee::{
    core::{
        client::{Error, MiddlewareBatchResponse, MiddlewareMethodResponse, MiddlewareNotifResponse},
        middleware::{Batch, Notification, RpcServiceT},
    },
    types::{Id, Request},
};

tokio::task_local! {
    /// The token of the call that this task is making.
    pub(crate) static TOKEN: String;
}

#[derive(Debug)]
struct Call {
    token: Option<String>,
    bytes: usize,
}

#[derive(Debug, Default)]
struct Inner {
    // By id, and so in the order in which they were made.
    calls: BTreeMap<u64, Call>,
    orphan: Option<RpcError>,
}

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Calls(Mutex<Inner>);

impl Calls {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn made(&self, id: u64, bytes: usize) {
        let token = TOKEN.try_with(Clone::clone).ok();
        self.lock().calls.insert(id, Call { token, bytes });
    }

    /// Takes a call off the table; false if no such call is under way.
    pub(crate) fn answered(&self, id: u64) -> bool {
        self.lock().calls.remove(&id).is_some()
    }

    /// The id of the call that carries `token`.
    pub(crate) fn id_of(&self, token: &str) -> Option<u64> {
        let inner = self.lock();
        inner.calls.iter().rev().find(|(_, call)| call.token.as_deref() == Some(token)).map(|(id, _)| *id)
    }

    /// Whose answer an error without an id must be, if only one call can be meant: the only one under
    /// way, or the only one that is larger than the limit that the error names.
    pub(crate) fn owner_of(&self, error: &RpcError) -> Option<u64> {
        let inner = self.lock();
        let limit = error.data.fields.get("limit").and_then(serde_json::Value::as_u64);
        let too_large = error.code == ErrorKind::RequestLimit.code();
        let mut candidates = inner.calls.iter().filter(|(_, call)| match limit {
            Some(limit) if too_large => call.bytes as u64 >= limit,
            _ => true,
        });
        match (candidates.next(), candidates.next()) {
            (Some((id, _)), None) => Some(*id),
            _ => None,
        }
    }

    /// Keeps an error that belongs to no call: what the daemon said before it closed the connection.
    pub(crate) fn keep_orphan(&self, error: RpcError) {
        self.lock().orphan = Some(error);
    }

    /// The error that was kept.
    pub(crate) fn take_orphan(&self) -> Option<RpcError> {
        self.lock().orphan.take()
    }
}

/// Notes the id of each call on its way out.
#[derive(Clone, Debug)]
pub(crate) struct NoteIds<S> {
    pub(crate) service: S,
    pub(crate) calls: std::sync::Arc<Calls>,
}

impl<S> RpcServiceT for NoteIds<S>
where
    S: RpcServiceT<
            MethodResponse = Result<MiddlewareMethodResponse, Error>,
            BatchResponse = Result<MiddlewareBatchResponse, Error>,
            NotificationResponse = Result<MiddlewareNotifResponse, Error>,
        >,
{
    type MethodResponse = S::MethodResponse;
    type BatchResponse = S::BatchResponse;
    type NotificationResponse = S::NotificationResponse;

    fn call<'a>(&self, request: Request<'a>) -> impl Future<Output = Self::MethodResponse> + Send + 'a {
        if let Id::Number(id) = request.id {
            let params = request.params.as_ref().map_or(0, |params| params.get().len());
            self.calls.made(id, params + request.method.len() + ENVELOPE_BYTES);
        }
        self.service.call(request)
    }

    fn batch<'a>(&self, batch: Batch<'a>) -> impl Future<Output = Self::BatchResponse> + Send + 'a {
        self.service.batch(batch)
    }

    fn notification<'a>(&self, notification: Notification<'a>) -> impl Future<Output = Self::NotificationResponse> + Send + 'a {
        self.service.notification(notification)
    }
}

/// About what the rest of a request takes: `{"jsonrpc":"2.0","id":1,"method":"","params":}`.
const ENVELOPE_BYTES: usize = 48;

#[cfg(test)]
mod tests {
    use ccd_protocol::{ErrorKind, RpcError};

    use super::Calls;

    #[test]
    fn an_error_without_an_id_goes_to_the_only_call_it_can_mean() {
        let calls = Calls::default();
        let plain = RpcError::new(ErrorKind::ParseError, "broken");
        let large = RpcError::new(ErrorKind::RequestLimit, "too large").with("limit", 1000);
        assert_eq!(calls.owner_of(&plain), None);
        calls.made(1, 50);
        assert_eq!(calls.owner_of(&plain), Some(1));
        assert_eq!(calls.owner_of(&large), None);
        calls.made(2, 5000);
        assert_eq!(calls.owner_of(&plain), None);
        assert_eq!(calls.owner_of(&large), Some(2));
        assert!(calls.answered(2));
        assert!(!calls.answered(2));
    }

    #[tokio::test]
    async fn a_token_leads_to_its_id() {
        let calls = Calls::default();
        super::TOKEN.scope("t".to_owned(), async { calls.made(7, 1) }).await;
        calls.made(8, 1);
        assert_eq!(calls.id_of("t"), Some(7));
        assert_eq!(calls.id_of("u"), None);
    }
}
