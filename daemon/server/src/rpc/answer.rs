//! Answers: our errors in jsonrpsee's responses, so that `data.kind` is never missing.

use ccd_protocol::{ErrorKind, RpcError};
use jsonrpsee::{
    ResponsePayload,
    core::server::MethodResponse,
    types::{ErrorObject, Id, error::OVERSIZED_RESPONSE_CODE},
};
use serde::{Serialize, Serializer};

/// jsonrpsee wants results that can be cloned; a reference can.
struct Borrowed<'a, T>(&'a T);

impl<T> Clone for Borrowed<'_, T> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<T: Serialize> Serialize for Borrowed<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// The answer to a call.
pub(crate) fn answer<T: Serialize>(id: Id<'_>, result: &Result<T, RpcError>, limit: usize) -> MethodResponse {
    match result {
        Ok(value) => {
            let response = MethodResponse::response(id.clone(), ResponsePayload::success(Borrowed(value)), limit);
            if response.as_error_code() == Some(OVERSIZED_RESPONSE_CODE) {
                return refuse(id, &too_large(limit));
            }
            response
        }
        Err(error) => refuse(id, error),
    }
}

/// An error as the answer.
pub(crate) fn refuse(id: Id<'_>, error: &RpcError) -> MethodResponse {
    MethodResponse::error(id, ErrorObject::owned(error.code, error.message.as_str(), Some(&error.data)))
}

fn too_large(limit: usize) -> RpcError {
    RpcError::new(
        ErrorKind::ResponseLimit,
        format!("The answer is larger than {limit} bytes. Ask for less: a smaller `limit`, `depth` or `max_bytes`."),
    )
    .with("limit", limit)
}

/// The answers of a batch would together be too large.
pub(crate) fn batch_too_large(limit: usize) -> RpcError {
    RpcError::new(
        ErrorKind::BatchResponseLimit,
        format!(
            "The call was made, but the answers of its batch are together larger than {limit} bytes. Send such calls one by one."
        ),
    )
    .with("limit", limit)
}

/// A batch of more entries than are allowed.
pub(crate) fn batch_too_long(entries: usize) -> RpcError {
    RpcError::new(
        ErrorKind::BatchLimit,
        format!("A batch may hold {} entries, this one holds {entries}. Split it.", super::envelope::MAX_BATCH),
    )
    .with("limit", super::envelope::MAX_BATCH)
}

/// A line or body over the limit.
pub(crate) fn request_too_large(limit: usize) -> RpcError {
    RpcError::new(
        ErrorKind::RequestLimit,
        format!("The request is larger than {limit} bytes; it was skipped and the next one is read. Split it, or raise limits.request_mib."),
    )
    .with("limit", limit)
}

/// Not JSON.
pub(crate) fn broken(why: &str) -> RpcError {
    RpcError::new(ErrorKind::ParseError, format!("This is not a request: {why}. Send one JSON value per line."))
}

/// JSON, but no request.
pub(crate) fn invalid_request(why: &str) -> RpcError {
    RpcError::new(ErrorKind::InvalidRequest, format!("This is not a JSON-RPC 2.0 request: {why}."))
}
