//! What can go wrong on the way to an answer.

use std::path::PathBuf;

use ccd_protocol::{ErrorData, ErrorKind, Object, RpcError};
use jsonrpsee::types::ErrorObject;

/// An error of the daemon, or one that only a client can know.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The daemon answered with an error.
    #[error("{}", .0.message)]
    Rpc(RpcError),
    /// Nothing listens on the socket, and this call does not start a daemon.
    #[error("ccd is not running (no answer on {}). Any command that needs it starts it; `ccctl open` does.", .socket.display())]
    NotRunning {
        /// The socket that was tried.
        socket: PathBuf,
    },
    /// The system refuses the connection: a sandbox, or a socket of another user.
    #[error("The connection to {} is refused: {reason}. {setting}", .socket.display())]
    SandboxDenied {
        /// The socket that was tried.
        socket: PathBuf,
        /// What the system said.
        reason: String,
        /// What to change.
        setting: String,
    },
    /// The daemon could not be started.
    #[error("ccd could not be started: {reason}")]
    StartFailed {
        /// Why, in the daemon's own words where it had any, and what to do.
        reason: String,
        /// Where the program was looked for.
        tried: Vec<String>,
        /// The end of the daemon's log.
        log_tail: String,
    },
    /// The connection ended before the answer.
    #[error("The connection to ccd ended before the answer of {method} ({reason}). {next}")]
    ConnectionLost {
        /// The call.
        method: String,
        /// What the socket said.
        reason: String,
        /// What to do.
        next: &'static str,
        /// With an edit: the transaction, whose outcome can be asked for.
        in_flight_txn: Option<String>,
    },
}

impl ClientError {
    /// The stable name.
    pub fn kind(&self) -> &str {
        match self {
            Self::Rpc(error) => &error.data.kind,
            Self::NotRunning { .. } => "not_running",
            Self::SandboxDenied { .. } => "sandbox_denied",
            Self::StartFailed { .. } => "start_failed",
            Self::ConnectionLost { .. } => "connection_lost",
        }
    }

    /// The same shape as on the wire; the kinds of the client have the code 0, which never is on it.
    pub fn to_rpc(&self) -> RpcError {
        let mut fields = Object::new();
        let retryable = match self {
            Self::Rpc(error) => return error.clone(),
            Self::NotRunning { socket } => {
                fields.insert("socket".to_owned(), socket.display().to_string().into());
                true
            }
            Self::SandboxDenied { socket, setting, .. } => {
                fields.insert("socket".to_owned(), socket.display().to_string().into());
                fields.insert("setting".to_owned(), setting.clone().into());
                false
            }
            Self::StartFailed { tried, log_tail, .. } => {
                if !tried.is_empty() {
                    fields.insert("tried".to_owned(), tried.clone().into());
                }
                fields.insert("log_tail".to_owned(), log_tail.clone().into());
                false
            }
            Self::ConnectionLost { in_flight_txn, .. } => {
                if let Some(txn_id) = in_flight_txn {
                    fields.insert("in_flight_txn".to_owned(), txn_id.clone().into());
                }
                // An edit that is sent again under another name may be made twice.
                in_flight_txn.is_none()
            }
        };
        RpcError { code: 0, message: self.to_string(), data: ErrorData { kind: self.kind().to_owned(), retryable, fields } }
    }

    /// An error of this side that has a kind of the wire.
    pub(crate) fn local(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::Rpc(RpcError::new(kind, message))
    }

    /// The connection is gone before `method` was answered.
    pub(crate) fn lost(method: &str, reason: impl Into<String>) -> Self {
        Self::ConnectionLost {
            method: method.to_owned(),
            reason: reason.into(),
            next: "The daemon may have been restarted: ask again; `ccctl logs` shows its last words.",
            in_flight_txn: None,
        }
    }
}

/// The error object of the wire; one without our `data` keeps its code and message.
pub(crate) fn from_wire(error: &ErrorObject<'_>) -> RpcError {
    let data = error.data().and_then(|data| serde_json::from_str::<ErrorData>(data.get()).ok());
    let data = data.unwrap_or_else(|| {
        let kind = ErrorKind::ALL.iter().find(|kind| kind.code() == error.code());
        ErrorData { kind: kind.map_or("unknown", |kind| kind.name()).to_owned(), retryable: false, fields: Object::new() }
    });
    RpcError { code: error.code(), message: error.message().to_owned(), data }
}
