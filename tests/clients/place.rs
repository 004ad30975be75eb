//! Folders of one test, with a small project, and running the clients in them.

use std::{
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use ccd_client::{ConnectOptions, Paths, lock};
use serde_json::Value;

/// Folders of one test, with a small project, and the daemon that ccctl starts in them.
pub(crate) struct Place {
    folder: tempfile::TempDir,
    pub(crate) base: PathBuf,
    pub(crate) paths: Paths,
}

impl Place {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().canonicalize().unwrap();
        let place = Self { paths: Paths::below(&base), base, folder };
        place.write("project/.git/HEAD", "ref: refs/heads/main\n");
        place.write("project/src/lib.py", "def helper():\n    return 1\n\n\ndef main():\n    return helper()\n");
        place.write("project/src/other.py", "class Box:\n    def helper(self):\n        return 2\n");
        place
    }

    pub(crate) fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.base.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    pub(crate) fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.write(name, text);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    pub(crate) fn command(&self, program: impl AsRef<Path>, arguments: &[&str]) -> Command {
        let mut command = Command::new(program.as_ref());
        command.args(arguments).current_dir(self.base.join("project/src")).stdin(Stdio::null()).env("CCD_BIN", needed("CCD_BIN"));
        command.envs(self.paths.variables());
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Ran {
        Ran::of(self.command(needed("CCCTL_BIN"), arguments))
    }

    /// Runs ccctl with this on its standard input.
    pub(crate) fn fed(&self, arguments: &[&str], input: &str) -> Ran {
        let mut command = self.command(needed("CCCTL_BIN"), arguments);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        // Who refuses its arguments does not read.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        Ran::from(child.wait_with_output().unwrap())
    }

    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.base.join(path)).unwrap()
    }

    /// The values of a result in JSON.
    pub(crate) fn json(&self, arguments: &[&str]) -> Value {
        let ran = self.run(&[&["--json"], arguments].concat());
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran:?}"))
    }

    pub(crate) fn options(&self) -> ConnectOptions {
        ConnectOptions::new("test").in_folders(self.paths.clone())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let ran = self.run(&["stop"]);
        if !std::thread::panicking() {
            assert!([0, 3].contains(&ran.code), "{ran:?}");
            assert_eq!(lock::holder(&self.paths.lock()), None, "a daemon is left behind in {}", self.folder.path().display());
        }
    }
}

#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    pub(crate) fn of(mut command: Command) -> Self {
        // A program that was just copied is busy while another test's child holds the copy open between fork and exec.
        let until = Instant::now() + ccd_tests::PATIENCE;
        let output = loop {
            match command.output() {
                Err(error) if error.kind() == std::io::ErrorKind::ExecutableFileBusy && Instant::now() < until => {
                    std::thread::sleep(Duration::from_millis(5));
                }
                output => break output.unwrap(),
            }
        };
        Self::from(output)
    }
}

impl From<Output> for Ran {
    fn from(Output { status, stdout, stderr }: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        Self { code: status.code().unwrap_or(-1), stdout: text(stdout), stderr: text(stderr) }
    }
}

/// A variable that `./tests/run` sets.
pub(crate) fn needed(name: &str) -> PathBuf {
    let value =
        std::env::var_os(name).unwrap_or_else(|| panic!("{name} is not set: run ./tests/run, which builds what it names"));
    PathBuf::from(value)
}
