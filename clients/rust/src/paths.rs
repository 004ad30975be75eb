//! Where the folders of ccd are. The daemon decides by the same rules.
//!
//! Never `TMPDIR`: sandboxes change it from process to process, and client and daemon would not meet.

use std::{
    ffi::OsString,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use ccd_protocol::SOCKET_NAME;

/// The longest path that a socket address holds.
pub const SOCKET_PATH_MAX: usize = 107;

/// The folders of one daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Socket and lock.
    pub runtime: PathBuf,
    /// Logs.
    pub state: PathBuf,
    /// The index; may be deleted at any time.
    pub cache: PathBuf,
    /// `config.toml`.
    pub config: PathBuf,
}

impl Paths {
    /// As this process' environment says.
    pub fn from_env() -> Self {
        Self::of(&|name| std::env::var_os(name), rustix::process::getuid().as_raw())
    }

    /// Folders of a daemon of one's own, all below `base`.
    pub fn below(base: &Path) -> Self {
        Self { runtime: base.join("run"), state: base.join("state"), cache: base.join("cache"), config: base.join("config") }
    }

    /// The variables that make a daemon use these folders.
    pub fn variables(&self) -> [(&'static str, &Path); 4] {
        [
            ("CCD_RUNTIME_DIR", &self.runtime),
            ("CCD_STATE_DIR", &self.state),
            ("CCD_CACHE_DIR", &self.cache),
            ("CCD_CONFIG_DIR", &self.config),
        ]
    }

    /// The socket.
    pub fn socket(&self) -> PathBuf {
        self.runtime.join(SOCKET_NAME)
    }

    /// The lock that a running daemon holds.
    pub fn lock(&self) -> PathBuf {
        self.runtime.join("ccd.lock")
    }

    /// The daemon's log, if it does not write to the journal.
    pub fn log(&self) -> PathBuf {
        self.state.join("log").join("ccd.log")
    }

    /// The configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    fn of(env: &dyn Fn(&str) -> Option<OsString>, uid: u32) -> Self {
        // An empty or relative value is no folder: the rules of XDG say to ignore it.
        let folder = |name: &str| env(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let home = || folder("HOME").unwrap_or_else(|| PathBuf::from("/"));
        let xdg = |name: &str, below_home: &str| folder(name).unwrap_or_else(|| home().join(below_home)).join("ccd");
        let state = xdg("XDG_STATE_HOME", ".local/state");
        let runtime = folder("CCD_RUNTIME_DIR")
            .or_else(|| folder("XDG_RUNTIME_DIR").map(|path| path.join("ccd")))
            .or_else(|| {
                let login = PathBuf::from(format!("/run/user/{uid}"));
                let ours = login.symlink_metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == uid);
                ours.then(|| login.join("ccd"))
            })
            .unwrap_or_else(|| state.join("run"));
        Self {
            runtime,
            state: folder("CCD_STATE_DIR").unwrap_or(state),
            cache: folder("CCD_CACHE_DIR").unwrap_or_else(|| xdg("XDG_CACHE_HOME", ".cache")),
            config: folder("CCD_CONFIG_DIR").unwrap_or_else(|| xdg("XDG_CONFIG_HOME", ".config")),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsString, path::Path};

    use super::Paths;

    // No such user: the login folder of a real one would decide otherwise.
    const UID: u32 = 4_000_000_000;

    fn check(env: &[(&str, &str)], runtime: &str, state: &str) {
        let get = |name: &str| env.iter().find(|(key, _)| *key == name).map(|(_, value)| OsString::from(value));
        let paths = Paths::of(&get, UID);
        assert_eq!((paths.runtime.as_path(), paths.state.as_path()), (Path::new(runtime), Path::new(state)), "{env:?}");
    }

    #[test]
    fn the_first_rule_that_holds_decides() {
        check(&[("HOME", "/h")], "/h/.local/state/ccd/run", "/h/.local/state/ccd");
        check(&[("HOME", "/h"), ("XDG_STATE_HOME", "/s")], "/s/ccd/run", "/s/ccd");
        check(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/r")], "/r/ccd", "/h/.local/state/ccd");
        check(&[("HOME", "/h"), ("XDG_RUNTIME_DIR", "/r"), ("CCD_RUNTIME_DIR", "/c")], "/c", "/h/.local/state/ccd");
        check(&[("HOME", "/h"), ("CCD_STATE_DIR", "/x")], "/h/.local/state/ccd/run", "/x");
        check(
            &[("HOME", "/h"), ("XDG_RUNTIME_DIR", ""), ("CCD_RUNTIME_DIR", "rel")],
            "/h/.local/state/ccd/run",
            "/h/.local/state/ccd",
        );
    }
}
