//! `ccctl doctor`: what can be seen from here, then what the daemon sees itself.

use std::{io, os::unix::fs::MetadataExt as _, path::Path};

use ccd_client::{BUILD, Client, ClientError, find_daemon, lock, render};
use ccd_protocol::{
    SOCKET_PATH_MAX,
    daemon::{Check, Doctor, DoctorParams, DoctorResult},
};

use crate::{
    outcome::{self, Exit, Failure},
    session::Session,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {}

pub(crate) async fn run(session: &Session, _args: Args) -> Result<Exit, Failure> {
    let mut checks = vec![program(), socket_path(session)];
    let paths = &session.paths;
    checks.push(private_folder("runtime_folder", &paths.runtime));
    checks.push(folder("state_folder", &paths.state));
    checks.push(folder("cache_folder", &paths.cache));
    checks.push(config(&paths.config_file()));
    let running = session.running().await;
    checks.push(connection(&running));
    checks.push(instance(session, running.is_ok()));
    if let Ok(client) = running {
        checks.push(versions(&client).await);
        let params = DoctorParams { workspace: Some(session.workspace()?), deadline_ms: None };
        match client.call::<Doctor>(&params).await {
            // It looks at the same folders: what it finds right was said already.
            Ok(result) => checks.extend(unsaid(&checks, result.checks)),
            Err(error) => {
                checks.push(failed("daemon_doctor", format!("the daemon's own checks failed: {error}"), "look at `ccctl logs`"))
            }
        }
    }
    let all_ok = checks.iter().all(|check| check.ok);
    let result = DoctorResult { checks };
    if session.json {
        outcome::data(&format!("{}\n", serde_json::json!(result)))?;
    } else {
        outcome::data(&render::doctor(&result, session.text))?;
    }
    Ok(if all_ok { Exit::Ok } else { Exit::Refused })
}

fn unsaid(said: &[Check], checks: Vec<Check>) -> Vec<Check> {
    checks.into_iter().filter(|check| !check.ok || said.iter().all(|earlier| earlier.id != check.id)).collect()
}

fn ok(id: &str, detail: impl Into<String>) -> Check {
    Check { id: id.to_owned(), ok: true, detail: detail.into(), fix: None }
}

fn failed(id: &str, detail: impl Into<String>, fix: impl Into<String>) -> Check {
    Check { id: id.to_owned(), ok: false, detail: detail.into(), fix: Some(fix.into()) }
}

fn program() -> Check {
    match find_daemon() {
        Ok(path) => ok("program", format!("ccd is {}", path.display())),
        Err(tried) => failed(
            "program",
            format!("no ccd was found; looked at {}", tried.join("; ")),
            "build it with `cargo build --release`, or set CCD_BIN to its absolute path",
        ),
    }
}

fn socket_path(session: &Session) -> Check {
    let socket = session.paths.socket();
    let length = socket.as_os_str().len();
    if length > SOCKET_PATH_MAX {
        let detail = format!("{} has {length} bytes; an address holds {SOCKET_PATH_MAX}", socket.display());
        return failed("socket_path", detail, "set CCD_RUNTIME_DIR to a shorter folder");
    }
    ok("socket_path", socket.display().to_string())
}

/// The runtime folder: a socket in a folder that others may write can be replaced by theirs.
fn private_folder(id: &str, path: &Path) -> Check {
    let uid = rustix::process::geteuid().as_raw();
    let name = path.display();
    let meta = match path.symlink_metadata() {
        Ok(meta) => meta,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return ok(id, format!("{name} is made by the daemon when it starts"));
        }
        Err(error) => return failed(id, format!("{name}: {error}"), "make the folders above it readable for you"),
    };
    let other = "set CCD_RUNTIME_DIR to a folder of your own, or remove this one; ccd never changes what it did not make";
    if meta.file_type().is_symlink() {
        return failed(id, format!("{name} is a link"), other);
    }
    if !meta.is_dir() {
        return failed(id, format!("{name} is no folder"), other);
    }
    if meta.uid() != uid {
        return failed(id, format!("{name} belongs to user {}, and this is user {uid}", meta.uid()), other);
    }
    let mode = meta.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return failed(id, format!("{name} is open to others (mode {mode:04o})"), format!("chmod 700 {name}"));
    }
    ok(id, format!("{name} is yours, mode {mode:04o}"))
}

fn folder(id: &str, path: &Path) -> Check {
    let name = path.display();
    match path.metadata() {
        Ok(meta) if !meta.is_dir() => failed(id, format!("{name} is no folder"), "move it away"),
        Ok(_) => match rustix::fs::access(path, rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK) {
            Ok(()) => ok(id, format!("{name} can be written")),
            Err(error) => failed(id, format!("{name} cannot be written: {error}"), format!("chmod u+rwx {name}")),
        },
        Err(error) if error.kind() == io::ErrorKind::NotFound => ok(id, format!("{name} is made when it is needed")),
        Err(error) => failed(id, format!("{name}: {error}"), "make the folders above it readable for you"),
    }
}

fn config(path: &Path) -> Check {
    match std::fs::read_to_string(path) {
        Ok(_) => ok("config", format!("{} is there; `daemon.reload` says whether it is right", path.display())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            ok("config", format!("{} is not there: all keys have their defaults", path.display()))
        }
        Err(error) => failed("config", format!("{}: {error}", path.display()), "make it readable for you, and UTF-8"),
    }
}

fn connection(running: &Result<Client, ClientError>) -> Check {
    match running {
        Ok(_) => ok("connection", "the daemon answers"),
        Err(ClientError::NotRunning { .. }) => {
            ok("connection", "the daemon does not run; the next command that needs it starts it")
        }
        Err(ClientError::SandboxDenied { setting, reason, .. }) => {
            failed("connection", format!("refused: {reason}"), setting.clone())
        }
        Err(error) => failed("connection", error.to_string(), "`ccctl logs` shows the daemon's last words"),
    }
}

fn instance(session: &Session, answers: bool) -> Check {
    let path = session.paths.lock();
    match (lock::holder(&path), answers) {
        (Some(pid), true) => ok("lock", format!("{} is held by process {pid}", path.display())),
        (None, true) => ok("lock", "held where this process cannot see it (another container, perhaps)"),
        (None, false) => ok("lock", "free"),
        (Some(pid), false) => failed(
            "lock",
            format!("process {pid} holds {} and does not answer on the socket", path.display()),
            format!("it is starting, ending or stuck: try again in 20 s; if it stays so, end it with `kill {pid}`"),
        ),
    }
}

async fn versions(client: &Client) -> Check {
    match client.hello().await {
        Ok(hello) if hello.build.split('+').next() == BUILD.split('+').next() => {
            ok("versions", format!("ccctl {BUILD}, ccd {}", hello.build))
        }
        Ok(hello) => failed(
            "versions",
            format!("ccctl {BUILD}, ccd {}", hello.build),
            "`ccctl stop`: the next command starts the ccd that belongs to this ccctl",
        ),
        Err(error) => failed("versions", error.to_string(), "`ccctl logs`"),
    }
}
