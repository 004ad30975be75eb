//! Finds `ccd` and starts it. The only place of this side that starts a process.
//!
//! `ccd --detach` makes itself a session of its own and prints one line that begins with `ready` once
//! it serves. Until then its stderr is ours: what it says there is the reason of a failure.

use std::{
    ffi::OsString,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Stdio,
    time::Duration,
};

use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader},
    process::{Child, Command},
    time::{Instant, timeout_at},
};

use crate::{ClientError, Paths};

/// What is read of a failing daemon's stderr, and of its log, in bytes.
const TAIL_BYTES: u64 = 4096;

/// The lines of the log that an error carries.
const TAIL_LINES: usize = 20;

/// The `ccd` that would be started: `$CCD_BIN`, else the sibling of this program's own file, else the
/// first in PATH. The error says where it was looked for.
pub fn find_daemon() -> Result<PathBuf, Vec<String>> {
    find(std::env::var_os("CCD_BIN"), std::env::current_exe().ok(), std::env::var_os("PATH"))
}

fn find(set: Option<OsString>, own: Option<PathBuf>, path: Option<OsString>) -> Result<PathBuf, Vec<String>> {
    if let Some(set) = set.filter(|set| !set.is_empty()) {
        // Who names a program wants that one and no other.
        let program = PathBuf::from(&set);
        return if program.is_absolute() && is_program(&program) {
            Ok(program)
        } else {
            Err(vec![format!("$CCD_BIN = {} (not the absolute path of a program)", program.display())])
        };
    }
    let mut tried = vec!["$CCD_BIN (not set)".to_owned()];
    match own.as_deref().and_then(Path::parent).map(|folder| folder.join("ccd")) {
        Some(sibling) if is_program(&sibling) => return Ok(sibling),
        Some(sibling) => tried.push(sibling.display().to_string()),
        None => tried.push("beside this program (its own file is unknown)".to_owned()),
    }
    let path = path.unwrap_or_default();
    // An empty or relative entry means the working folder, and that may be a hostile checkout.
    let found = std::env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join("ccd"));
    for program in found {
        if is_program(&program) {
            return Ok(program);
        }
    }
    tried.push(format!("PATH = {}", path.to_string_lossy()));
    Err(tried)
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.file_type().is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// The last lines of the daemon's log, as far as there are any.
pub fn log_tail(paths: &Paths) -> String {
    use std::io::{Read as _, Seek as _, SeekFrom};
    let read = || -> std::io::Result<Vec<u8>> {
        let mut file = std::fs::File::open(paths.log())?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let text = read().map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].join("\n")
}

/// How an attempt to start ended.
pub(crate) enum Started {
    /// It serves.
    Ready,
    /// It ended by itself with this exit and these words; `held`: because another daemon holds the lock.
    Refused { exit: String, held: bool, words: String },
}

/// The exit code of a `ccd` that found another one at work.
const HELD: i32 = 3;

/// Starts `ccd --detach` and waits until it serves, refuses, or `deadline` passes.
pub(crate) async fn start(paths: &Paths, variables: &[(String, String)], deadline: Instant) -> Result<Started, ClientError> {
    let program = find_daemon().map_err(|tried| ClientError::StartFailed {
        reason: format!(
            "no `ccd` was found (looked at: {}). Build it with `cargo build --release`, or set CCD_BIN to its absolute path.",
            tried.join("; ")
        ),
        tried,
        log_tail: String::new(),
    })?;
    let failed = |reason: String| ClientError::StartFailed { reason, tried: Vec::new(), log_tail: log_tail(paths) };
    let mut child = Command::new(&program)
        .arg("--detach")
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| failed(format!("{} cannot be run: {error}.", program.display())))?;

    let stdout = child.stdout.take().expect("stdout is piped");
    let mut lines = BufReader::new(stdout.take(TAIL_BYTES)).lines();
    let ready = timeout_at(deadline, async {
        while let Ok(Some(line)) = lines.next_line().await {
            if line.starts_with("ready") {
                return true;
            }
        }
        false
    });
    match ready.await {
        Ok(true) => Ok(Started::Ready),
        Ok(false) => last_words(&mut child, deadline).await.map_err(failed),
        // It is left alone: a slow machine may still bring it up, and the next call will find it.
        Err(_) => Err(failed(format!(
            "{} did not report that it serves within the time limit; it may still be starting. Ask again in a moment, \
             or look at {}.",
            program.display(),
            paths.log().display()
        ))),
    }
}

/// Why it ended.
async fn last_words(child: &mut Child, deadline: Instant) -> Result<Started, String> {
    let stderr = child.stderr.take().expect("stderr is piped");
    let mut bytes = Vec::new();
    // A grandchild may hold the pipe: the words are taken as far as they came.
    let grace = (Instant::now() + Duration::from_millis(500)).min(deadline);
    let _ = timeout_at(grace, stderr.take(TAIL_BYTES).read_to_end(&mut bytes)).await;
    let words = String::from_utf8_lossy(&bytes).trim().to_owned();
    match timeout_at(deadline, child.wait()).await {
        Ok(Ok(status)) => Ok(Started::Refused { exit: status.to_string(), held: status.code() == Some(HELD), words }),
        Ok(Err(error)) => Err(format!("its end could not be seen: {error}. {words}")),
        Err(_) => Err(format!("it closed its output without reporting that it serves. {words}")),
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsString, fs, os::unix::fs::PermissionsExt as _, path::Path};

    use super::find;

    fn program(folder: &Path) -> std::path::PathBuf {
        fs::create_dir_all(folder).unwrap();
        let path = folder.join("ccd");
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn the_three_places_are_tried_in_order_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path();
        let (set, sibling, in_path) = (program(&base.join("set")), program(&base.join("own")), program(&base.join("path")));
        let own = || Some(base.join("own/ccctl"));
        let path = || Some(OsString::from(format!("rel::{}", base.join("path").display())));
        assert_eq!(find(Some(set.clone().into()), own(), path()), Ok(set));
        assert_eq!(find(None, own(), path()), Ok(sibling.clone()));
        fs::remove_file(&sibling).unwrap();
        assert_eq!(find(None, own(), path()), Ok(in_path.clone()));
        fs::set_permissions(&in_path, fs::Permissions::from_mode(0o644)).unwrap();
        let tried = find(None, own(), path()).unwrap_err();
        assert_eq!(tried.len(), 3, "{tried:?}");
        assert!(tried[1].ends_with("own/ccd") && tried[2].starts_with("PATH = "), "{tried:?}");
        assert!(find(Some("nowhere/ccd".into()), own(), path()).unwrap_err()[0].contains("$CCD_BIN"));
    }
}
