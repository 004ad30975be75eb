//! What the scenarios share: a real daemon in folders of its own, a raw client, and waiting with a deadline.
//!
//! The daemon is a child that is killed when its value is dropped; its log is shown when a test fails. Nothing sleeps
//! for a guessed time: [`eventually`] looks again until its deadline.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader, ErrorKind, Read, Write},
    os::unix::net::UnixStream,
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

/// Everything that a scenario waits for comes within this.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// The `ccd` under test: `$CCD_BIN`, else the one beside the test's own profile folder.
pub fn ccd() -> PathBuf {
    if let Some(set) = std::env::var_os("CCD_BIN") {
        return PathBuf::from(set);
    }
    let own = std::env::current_exe().unwrap();
    let profile = own.parent().and_then(Path::parent).unwrap();
    let program = profile.join("ccd");
    assert!(program.symlink_metadata().is_ok(), "there is no {}; run ./tests/run, which builds it first", program.display());
    program
}

/// Looks until there is a value, or fails after [`PATIENCE`].
pub fn eventually<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "waited in vain: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The folders of one daemon, and room for projects. Removed at drop.
pub struct Folders {
    base: tempfile::TempDir,
}

impl Default for Folders {
    fn default() -> Self {
        Self::new()
    }
}

impl Folders {
    /// Empty ones.
    pub fn new() -> Self {
        // A short name: a socket's path has 107 bytes.
        Self { base: tempfile::Builder::new().prefix("ccd").tempdir().unwrap() }
    }

    /// A path in them.
    pub fn path(&self, rel: &str) -> PathBuf {
        self.base.path().canonicalize().unwrap().join(rel)
    }

    /// The socket.
    pub fn socket(&self) -> PathBuf {
        self.path("run/ccd-1.sock")
    }

    /// Writes the configuration.
    pub fn configure(&self, text: &str) {
        self.write("config/config.toml", text);
    }

    /// Writes a file, with its folders.
    pub fn write(&self, rel: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(rel);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    /// The log, as far as there is one.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.path("state/log/ccd.log")).unwrap_or_default()
    }

    /// `ccd` with these folders and nothing else that leads out of them.
    pub fn command(&self) -> Command {
        let mut command = Command::new(ccd());
        command
            .env_remove("LISTEN_FDS")
            .env_remove("LISTEN_PID")
            .env_remove("NOTIFY_SOCKET")
            .env_remove("JOURNAL_STREAM")
            .env("HOME", self.path("home"))
            .env("CCD_RUNTIME_DIR", self.path("run"))
            .env("CCD_STATE_DIR", self.path("state"))
            .env("CCD_CACHE_DIR", self.path("cache"))
            .env("CCD_CONFIG_DIR", self.path("config"))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Starts a daemon in them and waits until it serves.
    pub fn start(&self) -> Running {
        self.start_with(&[])
    }

    /// The same with variables of its environment.
    pub fn start_with(&self, variables: &[(&str, &str)]) -> Running {
        let child = self.command().envs(variables.iter().copied()).spawn().unwrap();
        let mut running = Running { child, log: self.path("state/log/ccd.log"), socket: self.socket() };
        eventually("the daemon serves", || {
            assert!(running.child.try_wait().unwrap().is_none(), "the daemon ended: {}", running.stderr());
            UnixStream::connect(self.socket()).ok()
        });
        running
    }

    /// Runs `ccd` to its end; its exit, and what it said on standard error.
    pub fn refused(&self) -> (ExitStatus, String) {
        let mut child = Owned(self.command().spawn().unwrap());
        let status = eventually("it ends", || child.0.try_wait().unwrap());
        let mut said = String::new();
        child.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (status, said)
    }
}

struct Owned(Child);

impl Drop for Owned {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A running daemon; killed at drop.
pub struct Running {
    /// The process.
    pub child: Child,
    log: PathBuf,
    /// Where it serves.
    pub socket: PathBuf,
}

impl Running {
    /// A connection.
    pub fn connect(&self) -> Client {
        Client::new(UnixStream::connect(&self.socket).unwrap())
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to this process.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let pid = rustix::process::Pid::from_raw(self.pid().try_into().unwrap()).unwrap();
        rustix::process::kill_process(pid, signal).unwrap();
    }

    /// Waits for its end.
    pub fn ended(&mut self) -> ExitStatus {
        eventually("the daemon ends", || self.child.try_wait().unwrap())
    }

    /// Resident bytes.
    pub fn resident(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = text.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
    }

    fn stderr(&mut self) -> String {
        let mut said = String::new();
        if let Some(mut stderr) = self.child.stderr.take() {
            let _ = stderr.read_to_string(&mut said);
        }
        said
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        if std::thread::panicking() {
            let log = std::fs::read_to_string(&self.log).unwrap_or_default();
            let _ = writeln!(std::io::stderr(), "--- the daemon's log\n{log}--- its standard error\n{}", self.stderr());
        }
    }
}

/// A client that speaks lines and checks nothing.
pub struct Client {
    stream: UnixStream,
    reader: BufReader<UnixStream>,
    next: u64,
    /// Lines that are no answer to what was asked: events, answers to other calls.
    pub aside: Vec<Value>,
}

impl Client {
    /// Over a connected stream.
    pub fn new(stream: UnixStream) -> Self {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.set_write_timeout(Some(PATIENCE)).unwrap();
        let reader = BufReader::new(stream.try_clone().unwrap());
        Self { stream, reader, next: 0, aside: Vec::new() }
    }

    /// The stream itself.
    pub fn stream(&self) -> &UnixStream {
        &self.stream
    }

    /// Sends bytes as they are.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.stream.write_all(bytes.as_ref()).unwrap();
    }

    /// The next line, as text; none at the end of the connection.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        match self.reader.read_line(&mut line) {
            Ok(0) => None,
            Ok(_) => Some(line.trim_end().to_owned()),
            Err(error) if error.kind() == ErrorKind::ConnectionReset => None,
            Err(error) => panic!("no line came: {error}"),
        }
    }

    /// The next line, as JSON.
    pub fn read(&mut self) -> Value {
        let line = self.line().expect("the connection was closed");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("no JSON ({error}): {line}"))
    }

    /// Sends one line and reads one.
    pub fn ask(&mut self, line: &str) -> Value {
        self.send(format!("{line}\n"));
        self.read()
    }

    /// Sends a call without waiting for its answer; its id.
    pub fn begin(&mut self, method: &str, params: Value) -> u64 {
        self.next += 1;
        let call = json!({"jsonrpc": "2.0", "id": self.next, "method": method, "params": params});
        self.send(format!("{call}\n"));
        self.next
    }

    /// The answer to a call; what comes before it goes [aside](Self::aside).
    pub fn answer(&mut self, id: u64) -> Value {
        if let Some(at) = self.aside.iter().position(|value| value["id"] == id) {
            return self.aside.remove(at);
        }
        loop {
            let value = self.read();
            if value["id"] == id {
                return value;
            }
            self.aside.push(value);
        }
    }

    /// A call that succeeds; its result.
    pub fn call(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let mut answer = self.answer(id);
        assert!(answer["error"].is_null(), "{method} failed: {}", answer["error"]);
        answer["result"].take()
    }

    /// A call that fails; its error.
    pub fn refuse(&mut self, method: &str, params: Value) -> Value {
        let id = self.begin(method, params);
        let mut answer = self.answer(id);
        assert!(answer["result"].is_null(), "{method} succeeded: {}", answer["result"]);
        answer["error"].take()
    }

    /// The next event of a topic.
    pub fn event(&mut self, topic: &str) -> Value {
        let of_topic = |value: &Value| value["method"] == "event" && value["params"]["result"]["topic"] == topic;
        if let Some(at) = self.aside.iter().position(of_topic) {
            return self.aside.remove(at)["params"]["result"].take();
        }
        loop {
            let mut value = self.read();
            if of_topic(&value) {
                return value["params"]["result"].take();
            }
            self.aside.push(value);
        }
    }
}

/// An error is of this kind and code, and says whether a retry helps.
#[track_caller]
pub fn is_error(error: &Value, kind: &str, code: i64) {
    assert_eq!((error["data"]["kind"].as_str(), error["code"].as_i64()), (Some(kind), Some(code)), "{error}");
    assert!(error["data"]["retryable"].is_boolean(), "{error}");
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{error}");
}

/// What is in a folder: files with their bytes, links with their targets, folders; texts as Rust writes them.
pub fn tree(root: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut pending = vec![root.to_path_buf()];
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let rel = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            let kind = path.symlink_metadata().unwrap().file_type();
            if kind.is_symlink() {
                found.insert(rel, format!("-> {}", std::fs::read_link(&path).unwrap().display()));
            } else if kind.is_dir() {
                found.insert(rel, "folder".to_owned());
                pending.push(path);
            } else {
                found.insert(rel, format!("{:?}", String::from_utf8_lossy(&std::fs::read(&path).unwrap())));
            }
        }
    }
    found
}
