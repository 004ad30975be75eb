//! Where the folders of ccd are. The daemon decides by the same rules.
//!
//! Never `TMPDIR`: sandboxes change it from process to process, and client and daemon would not meet.

use std::{
    ffi::OsString,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use ccd_protocol::{SOCKET_NAME, SOCKET_PATH_MAX, short_socket_name};

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
    /// Where the socket is if its path below `runtime` would be too long.
    fallback: PathBuf,
}

impl Paths {
    /// As this process' environment says.
    pub fn from_env() -> Self {
        Self::of(&|name| std::env::var_os(name), rustix::process::geteuid().as_raw())
    }

    /// Folders of a daemon of one's own, all below `base`.
    pub fn below(base: &Path) -> Self {
        let folder =
            |name: &str| Some(base.join(name.strip_prefix("CCD_")?.strip_suffix("_DIR")?.to_lowercase()).into_os_string());
        Self::of(&folder, rustix::process::geteuid().as_raw())
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

    /// The socket: in the runtime folder, or under a short name in the fallback if the kernel would not take that path.
    pub fn socket(&self) -> PathBuf {
        let path = self.runtime.join(SOCKET_NAME);
        if path.as_os_str().len() <= SOCKET_PATH_MAX {
            return path;
        }
        self.fallback.join(short_socket_name(&self.runtime))
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
        // A relative value is no folder by the rules of XDG. One of ours is a mistake that the daemon
        // will name: it is taken as it is, so that no other daemon is met instead.
        let own = |name: &str| env(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let xdg = |name: &str| own(name).filter(|path| path.is_absolute());
        let base = |name: &str, below_home: &str| {
            xdg(name).unwrap_or_else(|| xdg("HOME").unwrap_or_else(|| PathBuf::from("/")).join(below_home)).join("ccd")
        };
        let state = own("CCD_STATE_DIR").unwrap_or_else(|| base("XDG_STATE_HOME", ".local/state"));
        let login = PathBuf::from(format!("/run/user/{uid}"));
        let ours = login.symlink_metadata().is_ok_and(|meta| meta.is_dir() && meta.uid() == uid);
        let fallback = if ours { login.join("ccd") } else { state.join("run") };
        Self {
            runtime: own("CCD_RUNTIME_DIR")
                .or_else(|| Some(xdg("XDG_RUNTIME_DIR")?.join("ccd")))
                .unwrap_or_else(|| fallback.clone()),
            state,
            cache: own("CCD_CACHE_DIR").unwrap_or_else(|| base("XDG_CACHE_HOME", ".cache")),
            config: own("CCD_CONFIG_DIR").unwrap_or_else(|| base("XDG_CONFIG_HOME", ".config")),
            fallback,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{ffi::OsString, path::Path};

    use super::Paths;

    #[test]
    fn a_long_path_gets_a_short_name_in_the_fallback() {
        let long = format!("/{}", "x".repeat(120));
        let get = |name: &str| match name {
            "HOME" => Some(OsString::from("/h")),
            "CCD_RUNTIME_DIR" => Some(OsString::from(&long)),
            _ => None,
        };
        let paths = Paths::of(&get, UID);
        let socket = paths.socket().display().to_string();
        assert!(
            socket.starts_with("/h/.local/state/ccd/run/") && socket.ends_with("-ccd-1.sock") && socket.len() < 60,
            "{socket}"
        );
        assert_eq!(paths.lock(), Path::new(&long).join("ccd.lock"));
    }

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
        check(&[("HOME", "/h"), ("CCD_STATE_DIR", "/x")], "/x/run", "/x");
        check(
            &[("HOME", "/h"), ("XDG_RUNTIME_DIR", ""), ("XDG_STATE_HOME", "rel")],
            "/h/.local/state/ccd/run",
            "/h/.local/state/ccd",
        );
        check(&[("HOME", "/h"), ("CCD_RUNTIME_DIR", "rel")], "rel", "/h/.local/state/ccd");
    }
}
