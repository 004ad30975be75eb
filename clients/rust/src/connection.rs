//! One connection: the socket, whose it is, hello, and calls with a deadline.

use std::{
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ccd_protocol::{
    ErrorKind, PROTOCOL, RpcError,
    daemon::{ClientInfo, Hello, HelloParams, HelloResult},
};
use jsonrpsee::core::client::async_client::RpcService;
use jsonrpsee::core::{
    client::{Client, ClientBuilder, ClientT as _, Error},
    middleware::RpcServiceBuilder,
    traits::ToRpcParams,
};
use serde_json::value::RawValue;
use tokio::{io::BufReader, net::UnixStream, time::Instant};

use crate::{
    ClientError, EventStream,
    calls::{Calls, NoteIds, TOKEN},
    error::from_wire,
    events::Router,
    transport::{Receiver, Sender},
};

/// Over the deadline of the wire: the daemon answers `deadline_exceeded` itself, and that says more.
const GRACE: Duration = Duration::from_secs(3);

/// How long a full queue of connections is waited for.
const BACKLOG_LIMIT: Duration = Duration::from_secs(2);

/// Variables that say where a caller's tools are. The daemon has its own list and drops the rest.
const ENV: [&str; 8] = ["PATH", "HOME", "LANG", "VIRTUAL_ENV", "CARGO_HOME", "RUSTUP_TOOLCHAIN", "GOPATH", "GOROOT"];

pub(crate) struct Connection {
    rpc: Rpc,
    calls: Arc<Calls>,
    events: Arc<Router>,
    pub(crate) hello: HelloResult,
}

struct Params(Box<RawValue>);

impl ToRpcParams for Params {
    fn to_rpc_params(self) -> Result<Option<Box<RawValue>>, serde_json::Error> {
        Ok(Some(self.0))
    }
}

impl Connection {
    /// Connects and says hello. Never starts anything.
    pub(crate) async fn open(socket: &Path, client: &ClientInfo) -> Result<Self, ClientError> {
        let stream = connect(socket).await?;
        check_peer(socket, &stream)?;
        let (read, write) = stream.into_split();
        let calls = Arc::new(Calls::default());
        let events = Arc::new(Router::default());
        let noted = calls.clone();
        let rpc = ClientBuilder::new()
            // Deadlines are set call by call, below; this only has to be longer than any of them.
            .request_timeout(Duration::from_secs(24 * 3600))
            .set_rpc_middleware(RpcServiceBuilder::new().layer_fn(move |service| NoteIds { service, calls: noted.clone() }))
            .build_with_tokio(
                Sender { socket: write, events: events.clone() },
                Receiver { socket: BufReader::new(read), calls: calls.clone(), events: events.clone() },
            );
        let params = HelloParams {
            protocol: PROTOCOL,
            client: Some(client.clone()),
            cwd: std::env::current_dir().ok().and_then(|cwd| cwd.into_os_string().into_string().ok()),
            env: Some(ENV.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))).collect()),
            deadline_ms: None,
        };
        let hello =
            request(&rpc, &calls, <Hello as ccd_protocol::Method>::NAME, raw(&params)?, Duration::from_secs(5), None).await?;
        let hello = parse(<Hello as ccd_protocol::Method>::NAME, &hello)?;
        Ok(Self { rpc, calls, events, hello })
    }

    pub(crate) fn is_alive(&self) -> bool {
        self.rpc.is_connected()
    }

    /// One call, answered or failed within `limit` and a little.
    pub(crate) async fn call(
        &self,
        method: &str,
        params: Box<RawValue>,
        limit: Duration,
        token: Option<String>,
    ) -> Result<Box<RawValue>, ClientError> {
        request(&self.rpc, &self.calls, method, params, limit + GRACE, token).await
    }

    /// Asks the daemon to end the call that carries `token`; false if none is under way.
    pub(crate) async fn cancel(&self, token: &str) -> Result<bool, ClientError> {
        let Some(id) = self.calls.id_of(token) else { return Ok(false) };
        send_cancel(&self.rpc, id).await?;
        Ok(true)
    }

    pub(crate) fn stream(&self, subscription: &str) -> EventStream {
        self.events.open(subscription)
    }
}

type Rpc = Client<NoteIds<RpcService>>;

/// Calls whose caller gave no token, since the start of this process.
static UNNAMED: AtomicU64 = AtomicU64::new(0);

async fn request(
    rpc: &Rpc,
    calls: &Calls,
    method: &str,
    params: Box<RawValue>,
    limit: Duration,
    token: Option<String>,
) -> Result<Box<RawValue>, ClientError> {
    // Every call has a token, so that its id is known when its time is over.
    let token = token.unwrap_or_else(|| format!("\u{0}{}", UNNAMED.fetch_add(1, Ordering::Relaxed)));
    let call = TOKEN.scope(token.clone(), rpc.request::<Box<RawValue>, _>(method, Params(params)));
    match tokio::time::timeout(limit, call).await {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(error)) => Err(failure(method, calls, error)),
        Err(_) => {
            if let Some(id) = calls.id_of(&token) {
                let _ = send_cancel(rpc, id).await;
            }
            let ms = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX);
            Err(ClientError::Rpc(
                RpcError::new(
                    ErrorKind::DeadlineExceeded,
                    format!(
                        "{method} was not answered within {} s, and was cancelled. Ask for less, or give a longer deadline.",
                        limit.as_secs()
                    ),
                )
                .with("phase", "client")
                .with("deadline_ms", ms),
            ))
        }
    }
}

async fn send_cancel(rpc: &Rpc, id: u64) -> Result<(), ClientError> {
    let params = raw(&serde_json::json!({ "id": id }))?;
    let sent = tokio::time::timeout(GRACE, rpc.notification("rpc.cancel", Params(params))).await;
    match sent {
        Ok(Ok(())) => Ok(()),
        Ok(Err(error)) => Err(ClientError::lost("rpc.cancel", error.to_string())),
        Err(_) => Err(ClientError::lost("rpc.cancel", "the daemon does not read")),
    }
}

fn failure(method: &str, calls: &Calls, error: Error) -> ClientError {
    match error {
        Error::Call(error) => ClientError::Rpc(from_wire(&error)),
        Error::ParseError(error) => unreadable(method, &error),
        // What the daemon said before it closed (`busy`, say) tells more than the end of the stream.
        other => match calls.take_orphan() {
            Some(said) => ClientError::Rpc(said),
            None => ClientError::lost(method, reason(&other)),
        },
    }
}

fn reason(error: &Error) -> String {
    match error {
        Error::RestartNeeded(inner) => reason(inner),
        other => other.to_string(),
    }
}

/// Serialises parameters.
pub(crate) fn raw<T: serde::Serialize>(params: &T) -> Result<Box<RawValue>, ClientError> {
    serde_json::value::to_raw_value(params)
        .map_err(|error| ClientError::local(ErrorKind::InvalidParams, format!("The parameters are no JSON: {error}.")))
}

/// Reads a result.
pub(crate) fn parse<T: serde::de::DeserializeOwned>(method: &str, result: &RawValue) -> Result<T, ClientError> {
    serde_json::from_str(result.get()).map_err(|error| unreadable(method, &error))
}

fn unreadable(method: &str, error: &serde_json::Error) -> ClientError {
    ClientError::local(
        ErrorKind::Internal,
        format!(
            "The answer of {method} is not what this client expects ({error}). Client and daemon may be of different builds: `ccctl stop` ends the old daemon."
        ),
    )
}

async fn connect(socket: &Path) -> Result<UnixStream, ClientError> {
    let deadline = Instant::now() + BACKLOG_LIMIT;
    loop {
        let error = match UnixStream::connect(socket).await {
            Ok(stream) => return Ok(stream),
            Err(error) => error,
        };
        // The queue of connections is full: a busy daemon, which takes them one after the other.
        if error.kind() != io::ErrorKind::WouldBlock || Instant::now() >= deadline {
            return Err(no_connection(socket, &error));
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Only a socket that nobody listens on means "not running"; a refusal by the system never does.
fn no_connection(socket: &Path, error: &io::Error) -> ClientError {
    match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => ClientError::NotRunning { socket: socket.to_owned() },
        io::ErrorKind::PermissionDenied => {
            ClientError::SandboxDenied { socket: socket.to_owned(), reason: error.to_string(), setting: sandbox_setting(socket) }
        }
        io::ErrorKind::InvalidInput => ClientError::StartFailed {
            reason: format!(
                "the socket path {} is longer than {} bytes. Set CCD_RUNTIME_DIR to a shorter folder, for the daemon and for every client.",
                socket.display(),
                ccd_protocol::SOCKET_PATH_MAX
            ),
            tried: Vec::new(),
            log_tail: String::new(),
        },
        _ => ClientError::lost("connect", error.to_string()),
    }
}

fn sandbox_setting(socket: &Path) -> String {
    format!(
        "A sandbox that forbids Unix sockets must allow this path: `sandbox.network.allowUnixSockets` in Claude Code, \
         `permissions.*.network.unix_sockets` in Codex. Without a sandbox: {} must belong to you and be open to you alone (0700).",
        socket.parent().unwrap_or(socket).display()
    )
}

/// Whoever may write the folder can put another socket there: the server must be ours.
fn check_peer(socket: &Path, stream: &UnixStream) -> Result<(), ClientError> {
    let ours = rustix::process::geteuid().as_raw();
    let theirs = stream.peer_cred().map_err(|error| ClientError::lost("connect", error.to_string()))?.uid();
    if ours == theirs {
        return Ok(());
    }
    Err(ClientError::SandboxDenied {
        socket: socket.to_owned(),
        reason: format!("it is served by user {theirs}, and this is user {ours}"),
        setting: "Set CCD_RUNTIME_DIR to a folder that only you can write.".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use std::{io, path::Path};

    use super::no_connection;

    #[test]
    fn a_refusal_by_the_system_is_not_taken_for_absence() {
        let check = |errno: rustix::io::Errno, kind: &str| {
            let error = no_connection(Path::new("/r/ccd-1.sock"), &io::Error::from(errno));
            assert_eq!(error.kind(), kind, "{errno:?}");
            error.to_rpc()
        };
        check(rustix::io::Errno::NOENT, "not_running");
        check(rustix::io::Errno::CONNREFUSED, "not_running");
        check(rustix::io::Errno::PERM, "sandbox_denied");
        let denied = check(rustix::io::Errno::ACCESS, "sandbox_denied");
        assert_eq!(denied.data.fields["socket"], "/r/ccd-1.sock");
        assert!(denied.data.fields["setting"].as_str().is_some_and(|setting| setting.contains("allowUnixSockets")));
        assert!(!denied.data.retryable);
        check(rustix::io::Errno::MFILE, "connection_lost");
    }
}
