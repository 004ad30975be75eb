//! The client that programs use.

use std::{
    sync::{Arc, Mutex as SyncMutex},
    time::Duration,
};

use ccd_protocol::{
    CallParams as _, Deadline, ErrorKind, METHODS, Method,
    daemon::{ClientInfo, HelloResult, Retire, RetireParams},
    events::{Subscribe, SubscribeParams, Unsubscribe, UnsubscribeParams},
};
use serde_json::value::RawValue;
use tokio::{sync::Mutex, time::Instant};

use crate::{
    ClientError, EventStream, Paths,
    autostart::{self, Started, find_daemon, log_tail},
    build::{BUILD, is_newer},
    connection::{Connection, parse, raw},
    lock,
};

/// How long a start may take.
const START_LIMIT: Duration = Duration::from_secs(5);

/// How long a daemon that ends may take: it drains for 15 s.
const RETIRE_LIMIT: Duration = Duration::from_secs(20);

/// How long a daemon that was killed still takes connections, which then break.
const DYING_LIMIT: Duration = Duration::from_secs(1);

/// How often the end or the start of a daemon is looked for.
const POLL: Duration = Duration::from_millis(20);

/// How to connect.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// Name and build for `daemon.hello`.
    pub client: ClientInfo,
    /// Whose folders.
    pub paths: Paths,
    /// Start a daemon where none runs, and replace an older one that is idle.
    pub start: bool,
    /// Variables for a daemon that is started, over this process' own.
    pub variables: Vec<(String, String)>,
}

impl ConnectOptions {
    /// The user's own daemon, started where it does not run.
    pub fn new(name: &str) -> Self {
        Self {
            client: ClientInfo { name: name.to_owned(), build: BUILD.to_owned() },
            paths: Paths::from_env(),
            start: true,
            variables: Vec::new(),
        }
    }

    /// Only a daemon that runs already.
    #[must_use]
    pub fn without_start(mut self) -> Self {
        self.start = false;
        self
    }

    /// Another daemon, in folders of its own.
    #[must_use]
    pub fn in_folders(mut self, paths: Paths) -> Self {
        self.variables = paths.variables().iter().map(|(name, path)| ((*name).to_owned(), path.display().to_string())).collect();
        self.paths = paths;
        self
    }
}

/// A connection to the daemon that comes back after a restart of it.
pub struct Client {
    options: ConnectOptions,
    // Held while connecting, so that many calls make one connection. Connecting has its own deadline.
    current: Mutex<Option<Arc<Connection>>>,
    notices: SyncMutex<Vec<String>>,
}

impl Client {
    /// Connects, and starts the daemon if the options say so.
    pub async fn connect(options: ConnectOptions) -> Result<Self, ClientError> {
        let client = Self { options, current: Mutex::new(None), notices: SyncMutex::new(Vec::new()) };
        client.connection().await?;
        Ok(client)
    }

    /// Who answers now.
    pub async fn hello(&self) -> Result<HelloResult, ClientError> {
        Ok(self.connection().await?.hello.clone())
    }

    /// What a person should know and no answer carries, one sentence each; taken once.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }

    /// Calls a method.
    pub async fn call<M: Method>(&self, params: &M::Params) -> Result<M::Result, ClientError> {
        parse(M::NAME, &self.call_raw::<M>(params, None).await?)
    }

    /// Calls a method under a token for [`Self::cancel`].
    pub async fn call_with_token<M: Method>(&self, params: &M::Params, token: &str) -> Result<M::Result, ClientError> {
        parse(M::NAME, &self.call_raw::<M>(params, Some(token)).await?)
    }

    /// Calls a method and gives the result as it came over the wire.
    pub async fn call_raw<M: Method>(&self, params: &M::Params, token: Option<&str>) -> Result<Box<RawValue>, ClientError> {
        let limit = limit(M::DEADLINE, params.deadline_ms());
        self.send(M::NAME, raw(params)?, limit, token).await
    }

    /// Calls a method by its name.
    pub async fn call_named(&self, method: &str, params: &serde_json::Value) -> Result<Box<RawValue>, ClientError> {
        let deadline = METHODS.iter().find(|known| known.name == method).map(|known| known.deadline);
        let limit = limit(deadline.unwrap_or(Deadline::seconds(60, 60)), params["deadline_ms"].as_u64());
        self.send(method, raw(params)?, limit, None).await
    }

    /// Asks the daemon to end the call that was made under `token`: it then answers `cancelled`. False
    /// if no such call is under way.
    pub async fn cancel(&self, token: &str) -> Result<bool, ClientError> {
        self.connection().await?.cancel(token).await
    }

    /// Subscribes to events of this connection; the stream ends with it.
    pub async fn subscribe(&self, params: &SubscribeParams) -> Result<EventStream, ClientError> {
        let connection = self.connection().await?;
        let result = connection.call(Subscribe::NAME, raw(params)?, limit(Subscribe::DEADLINE, None), None).await?;
        let result: ccd_protocol::events::SubscribeResult = parse(Subscribe::NAME, &result)?;
        Ok(connection.stream(&result.subscription))
    }

    /// Ends a subscription.
    pub async fn unsubscribe(&self, stream: EventStream) -> Result<bool, ClientError> {
        let params = UnsubscribeParams { subscription: stream.subscription().to_owned(), deadline_ms: None };
        Ok(self.call::<Unsubscribe>(&params).await?.unsubscribed)
    }

    async fn send(
        &self,
        method: &str,
        params: Box<RawValue>,
        limit: Duration,
        token: Option<&str>,
    ) -> Result<Box<RawValue>, ClientError> {
        let connection = self.connection().await?;
        let answer = connection.call(method, params.clone(), limit, token.map(str::to_owned)).await;
        let again = match &answer {
            Err(ClientError::ConnectionLost { .. }) => is_read(method),
            // It was refused before anything began: safe whatever the method.
            Err(ClientError::Rpc(error)) => error.is(ErrorKind::Retiring) && method != Retire::NAME,
            _ => false,
        };
        if !again {
            return answer;
        }
        let connection = self.replace(&connection).await?;
        connection.call(method, params, limit, token.map(str::to_owned)).await
    }

    /// The living connection, made anew if there is none.
    async fn connection(&self) -> Result<Arc<Connection>, ClientError> {
        let mut current = self.current.lock().await;
        if let Some(connection) = current.as_ref().filter(|connection| connection.is_alive()) {
            return Ok(connection.clone());
        }
        let connection = Arc::new(self.establish().await?);
        *current = Some(connection.clone());
        Ok(connection)
    }

    /// The connection after `old`, which is of no use any more.
    async fn replace(&self, old: &Arc<Connection>) -> Result<Arc<Connection>, ClientError> {
        let mut current = self.current.lock().await;
        if let Some(connection) = current.as_ref().filter(|connection| !Arc::ptr_eq(connection, old) && connection.is_alive()) {
            return Ok(connection.clone());
        }
        *current = None;
        let connection = Arc::new(self.successor(&old.hello.instance).await?);
        *current = Some(connection.clone());
        Ok(connection)
    }

    async fn establish(&self) -> Result<Connection, ClientError> {
        let connection = match self.open_living().await {
            Err(ClientError::NotRunning { .. }) if self.options.start => self.start(Instant::now() + START_LIMIT).await?,
            Err(ClientError::Rpc(error)) if error.is(ErrorKind::Retiring) => self.successor("").await?,
            other => other?,
        };
        if connection.hello.retiring {
            return self.successor(&connection.hello.instance).await;
        }
        self.upgrade(connection).await
    }

    /// Replaces an idle daemon of an older build. One that is at work serves on.
    async fn upgrade(&self, connection: Connection) -> Result<Connection, ClientError> {
        let (ours, theirs) = (&self.options.client.build, &connection.hello.build);
        // Without a program to start, the old daemon is better than none.
        if !self.options.start || !is_newer(ours, theirs) || find_daemon().is_err() {
            return Ok(connection);
        }
        let params = RetireParams { reason: format!("a client of build {ours}"), if_idle: Some(true), deadline_ms: None };
        let result = connection.call(Retire::NAME, raw(&params)?, limit(Retire::DEADLINE, None), None).await?;
        let result: ccd_protocol::daemon::RetireResult = parse(Retire::NAME, &result)?;
        if result.retiring {
            return self.successor(&connection.hello.instance).await;
        }
        let notice = format!(
            "ccd {theirs} is older than this client ({ours}) and serves on, because it is at work: {}. `ccctl stop` ends it.",
            result.waiting_for.join(", ")
        );
        self.notices.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(notice);
        Ok(connection)
    }

    async fn open(&self) -> Result<Connection, ClientError> {
        Connection::open(&self.options.paths.socket(), &self.options.client).await
    }

    /// Connects. A connection that breaks during the greeting was taken by a daemon in its last moment: a try or two
    /// later it is known to be gone.
    async fn open_living(&self) -> Result<Connection, ClientError> {
        let deadline = Instant::now() + DYING_LIMIT;
        loop {
            match self.open().await {
                Err(ClientError::ConnectionLost { .. }) if Instant::now() < deadline => tokio::time::sleep(POLL).await,
                other => return other,
            }
        }
    }

    /// The daemon that comes after `instance`, which ends or has ended: one that somebody else
    /// started, or our own.
    async fn successor(&self, instance: &str) -> Result<Connection, ClientError> {
        let deadline = Instant::now() + RETIRE_LIMIT;
        loop {
            let error = match self.open().await {
                Ok(connection) if connection.hello.instance != instance && !connection.hello.retiring => return Ok(connection),
                Ok(_) => ClientError::lost("daemon.hello", "the daemon is ending"),
                Err(ClientError::NotRunning { .. }) if self.options.start => return self.start(deadline).await,
                Err(error @ (ClientError::NotRunning { .. } | ClientError::SandboxDenied { .. })) => return Err(error),
                Err(error) => error,
            };
            if Instant::now() >= deadline {
                return Err(error);
            }
            tokio::time::sleep(POLL).await;
        }
    }

    /// Starts a daemon, or meets the one that another client is starting.
    async fn start(&self, deadline: Instant) -> Result<Connection, ClientError> {
        let paths = &self.options.paths;
        loop {
            let started = autostart::start(paths, &self.options.variables, deadline).await?;
            let (exit, held, words) = match started {
                Started::Ready => return self.meet(|| true, deadline).await,
                Started::Refused { exit, held, words } => (exit, held, words),
            };
            // Another one holds the lock: it is coming up and will answer, or it is ending and will leave the place to us.
            let holds = || held && lock::holder(&paths.lock()).is_some();
            match self.meet(holds, deadline).await {
                Err(ClientError::NotRunning { .. }) if held && Instant::now() < deadline => tokio::time::sleep(POLL).await,
                Err(ClientError::NotRunning { .. }) => {
                    let words = if words.is_empty() { "It said nothing.".to_owned() } else { words };
                    return Err(ClientError::StartFailed {
                        reason: format!("it ended at once ({exit}). {words}"),
                        tried: Vec::new(),
                        log_tail: log_tail(paths),
                    });
                }
                other => return other,
            }
        }
    }

    /// Connects to a daemon that is expected, as long as there is hope.
    async fn meet(&self, hope: impl Fn() -> bool, deadline: Instant) -> Result<Connection, ClientError> {
        loop {
            let error = match self.open().await {
                Err(error @ ClientError::NotRunning { .. }) => error,
                // It accepted us in its last moment.
                Err(ClientError::Rpc(error)) if error.is(ErrorKind::Retiring) => ClientError::Rpc(error),
                other => return other,
            };
            if !hope() || Instant::now() >= deadline {
                return Err(error);
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

/// A call that changes nothing and may be asked twice.
fn is_read(method: &str) -> bool {
    method.starts_with("graph.")
        || matches!(
            method,
            "daemon.hello"
                | "daemon.status"
                | "daemon.doctor"
                | "daemon.metrics"
                | "daemon.methods"
                | "workspace.open"
                | "workspace.status"
                | "workspace.list"
                | "workspace.read"
                | "edit.outcome"
                | "edit.grammar"
                | "ast.grep"
                | "ast.explain"
                | "ast.staged"
        )
}

fn limit(deadline: Deadline, asked_ms: Option<u64>) -> Duration {
    Duration::from_millis(asked_ms.unwrap_or(deadline.default_ms).min(deadline.cap_ms))
}
