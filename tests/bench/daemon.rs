//! A daemon of one's own, and the socket as plainly as it can be spoken to.

use std::{
    fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::{fs::MetadataExt as _, net::UnixStream},
    path::Path,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail};
use ccd_client::Paths;
use serde_json::{Value, json};

pub(crate) struct Daemon {
    child: Child,
    pub(crate) paths: Paths,
    /// From exec to the line `ready`.
    pub(crate) start: Duration,
}

impl Daemon {
    /// Starts one in folders below `base`.
    pub(crate) fn start(base: &Path) -> anyhow::Result<Self> {
        let paths = Paths::below(base);
        let program = ccd_client::find_daemon().map_err(|tried| anyhow::anyhow!("no ccd; looked at {}", tried.join("; ")))?;
        let begun = Instant::now();
        let mut child = Command::new(program)
            .arg("--detach")
            .envs(paths.variables())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .context("ccd does not run")?;
        let mut line = String::new();
        BufReader::new(child.stdout.take().context("stdout is piped")?).read_line(&mut line)?;
        if !line.starts_with("ready") {
            bail!("ccd did not become ready: {line:?}");
        }
        Ok(Self { start: begun.elapsed(), child, paths })
    }

    /// Ends it and waits.
    pub(crate) fn stop(mut self) -> anyhow::Result<()> {
        Wire::connect(&self.paths)?.call("daemon.retire", &json!({"reason": "measured", "if_idle": false}))?;
        let deadline = Instant::now() + Duration::from_secs(20);
        while Instant::now() < deadline {
            // The process that was started may be the daemon itself or have left it behind: the lock tells.
            let _ = self.child.try_wait()?;
            if ccd_client::lock::holder(&self.paths.lock()).is_none() {
                let _ = self.child.try_wait()?;
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        bail!("the daemon did not end within 20 s")
    }
}

/// A measurement that failed leaves nothing running.
impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One connection, one call at a time.
pub(crate) struct Wire {
    stream: UnixStream,
    reader: BufReader<UnixStream>,
    line: String,
    id: u64,
}

impl Wire {
    pub(crate) fn connect(paths: &Paths) -> anyhow::Result<Self> {
        let stream = UnixStream::connect(paths.socket())?;
        stream.set_read_timeout(Some(Duration::from_secs(3600)))?;
        Ok(Self { reader: BufReader::new(stream.try_clone()?), stream, line: String::new(), id: 0 })
    }

    /// The time from the first byte of the request to the last of the answer.
    pub(crate) fn time(&mut self, method: &str, params: &Value) -> anyhow::Result<Duration> {
        self.id += 1;
        let mut request = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}).to_string();
        request.push('\n');
        let begun = Instant::now();
        self.stream.write_all(request.as_bytes())?;
        self.line.clear();
        if self.reader.read_line(&mut self.line)? == 0 {
            bail!("the daemon closed the connection during {method}");
        }
        Ok(begun.elapsed())
    }

    pub(crate) fn call(&mut self, method: &str, params: &Value) -> anyhow::Result<Value> {
        self.call_if_ready(method, params)?.with_context(|| format!("{method}: the index has no answer yet"))
    }

    /// `None` as long as the index has no answer.
    pub(crate) fn call_if_ready(&mut self, method: &str, params: &Value) -> anyhow::Result<Option<Value>> {
        self.time(method, params)?;
        let mut answer: Value = serde_json::from_str(&self.line)?;
        match answer.get("error") {
            Some(error) if error["data"]["kind"] == "index_not_ready" => Ok(None),
            Some(error) => bail!("{method}: {error}"),
            None => Ok(Some(answer["result"].take())),
        }
    }
}

/// A line of `/proc/<pid>/status` in MiB: `VmRSS` is now, `VmHWM` the most so far.
pub(crate) fn memory_mib(pid: u64, field: &str) -> anyhow::Result<f64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':')).context("no such line")?;
    let kib: f64 = line.trim().trim_end_matches("kB").trim().parse()?;
    Ok(kib / 1024.0)
}

/// Bytes on disk below a folder.
pub(crate) fn disk_bytes(folder: &Path) -> u64 {
    let mut total = 0;
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let Ok(meta) = entry.metadata() else { continue };
            total += meta.blocks() * 512;
            if meta.is_dir() {
                folders.push(entry.path());
            }
        }
    }
    total
}
