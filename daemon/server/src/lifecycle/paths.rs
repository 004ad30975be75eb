//! Where the socket, the state, the cache and the configuration are.
//!
//! Never in TMPDIR: sandboxes change it from process to process, and client and daemon would not meet.

use std::path::{Path, PathBuf};

use ccd_protocol::{SOCKET_NAME, SOCKET_PATH_MAX, short_socket_name};

/// The folders of this user's daemon.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paths {
    /// Holds the lock, and the socket if its path is short enough.
    pub runtime: PathBuf,
    /// The folder that holds the socket.
    pub socket_folder: PathBuf,
    /// The socket.
    pub socket: PathBuf,
    /// Logs.
    pub state: PathBuf,
    /// The graph; can be deleted at any time.
    pub cache: PathBuf,
    /// `config.toml` lies in it.
    pub config: PathBuf,
    /// The user's home, which is no workspace.
    pub home: Option<PathBuf>,
}

/// Why there are no folders.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathsError {
    /// Neither variable says where.
    #[error("neither {variable} nor HOME is set; set one of them to an absolute path")]
    NoHome {
        /// The variable that would do.
        variable: &'static str,
    },
    /// A variable holds a relative path.
    #[error("{variable} is {value:?}; it must be an absolute path")]
    Relative {
        /// Which.
        variable: &'static str,
        /// What it holds.
        value: String,
    },
    /// The kernel takes no such path.
    #[error("the path of the socket, {path}, is longer than {SOCKET_PATH_MAX} bytes; set CCD_RUNTIME_DIR to a shorter folder")]
    TooLong {
        /// Which.
        path: String,
    },
}

impl Paths {
    /// From the environment of this process.
    pub fn from_env() -> Result<Self, PathsError> {
        let uid = rustix::process::geteuid().as_raw();
        Self::resolve(&|name| std::env::var_os(name).map(PathBuf::from), uid, &|path| {
            use std::os::unix::fs::MetadataExt;
            std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() && found.uid() == uid)
        })
    }

    fn resolve(
        variable: &dyn Fn(&'static str) -> Option<PathBuf>,
        uid: u32,
        is_ours: &dyn Fn(&Path) -> bool,
    ) -> Result<Self, PathsError> {
        let absolute = |name: &'static str| match variable(name).filter(|path| !path.as_os_str().is_empty()) {
            Some(path) if path.is_absolute() => Ok(Some(path)),
            Some(path) => Err(PathsError::Relative { variable: name, value: path.display().to_string() }),
            None => Ok(None),
        };
        // The base directory specification says that a relative XDG path is to be ignored.
        let xdg = |name: &'static str| variable(name).filter(|path| path.is_absolute());
        let home = xdg("HOME");
        let folder = |own: &'static str, base: &'static str, beneath_home: &str| match absolute(own)? {
            Some(path) => Ok(path),
            None => match (xdg(base), &home) {
                (Some(base), _) => Ok(base.join("ccd")),
                (None, Some(home)) => Ok(home.join(beneath_home).join("ccd")),
                (None, None) => Err(PathsError::NoHome { variable: own }),
            },
        };
        let state = folder("CCD_STATE_DIR", "XDG_STATE_HOME", ".local/state")?;
        let cache = folder("CCD_CACHE_DIR", "XDG_CACHE_HOME", ".cache")?;
        let config = folder("CCD_CONFIG_DIR", "XDG_CONFIG_HOME", ".config")?;
        let of_system = PathBuf::from(format!("/run/user/{uid}"));
        let fallback = || if is_ours(&of_system) { of_system.join("ccd") } else { state.join("run") };
        let runtime = match (absolute("CCD_RUNTIME_DIR")?, xdg("XDG_RUNTIME_DIR")) {
            (Some(path), _) => path,
            (None, Some(base)) => base.join("ccd"),
            (None, None) => fallback(),
        };
        let (socket_folder, socket) = socket(&runtime, &fallback())?;
        Ok(Self { runtime, socket_folder, socket, state, cache, config, home })
    }

    /// All of them beneath one folder, for tests of pieces.
    pub fn below(base: &Path) -> Self {
        let runtime = base.join("run");
        Self {
            socket: runtime.join(SOCKET_NAME),
            socket_folder: runtime.clone(),
            runtime,
            state: base.join("state"),
            cache: base.join("cache"),
            config: base.join("config"),
            home: None,
        }
    }

    /// The lock file.
    pub fn lock(&self) -> PathBuf {
        self.runtime.join("ccd.lock")
    }

    /// The configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }
}

/// The socket in its folder; under a short name in the fallback if the kernel would not take the path.
fn socket(runtime: &Path, fallback: &Path) -> Result<(PathBuf, PathBuf), PathsError> {
    let path = runtime.join(SOCKET_NAME);
    if path.as_os_str().len() <= SOCKET_PATH_MAX {
        return Ok((runtime.to_path_buf(), path));
    }
    let short = fallback.join(short_socket_name(runtime));
    if short.as_os_str().len() <= SOCKET_PATH_MAX {
        return Ok((fallback.to_path_buf(), short));
    }
    Err(PathsError::TooLong { path: path.display().to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolved(variables: &[(&str, &str)], run_user: bool) -> Result<Paths, PathsError> {
        let variable = |name: &'static str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| PathBuf::from(value));
        Paths::resolve(&variable, 7, &|_| run_user)
    }

    fn socket_of(variables: &[(&str, &str)], run_user: bool) -> String {
        match resolved(variables, run_user) {
            Ok(paths) => paths.socket.display().to_string(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn where_the_socket_is() {
        let home = ("HOME", "/h");
        assert_eq!(socket_of(&[home, ("CCD_RUNTIME_DIR", "/r"), ("XDG_RUNTIME_DIR", "/x")], true), "/r/ccd-1.sock");
        assert_eq!(socket_of(&[home, ("XDG_RUNTIME_DIR", "/x")], true), "/x/ccd/ccd-1.sock");
        assert_eq!(socket_of(&[home], true), "/run/user/7/ccd/ccd-1.sock");
        assert_eq!(socket_of(&[home], false), "/h/.local/state/ccd/run/ccd-1.sock");
        assert_eq!(socket_of(&[home, ("XDG_STATE_HOME", "/s")], false), "/s/ccd/run/ccd-1.sock");
        assert_eq!(socket_of(&[home, ("CCD_RUNTIME_DIR", "r")], true), "CCD_RUNTIME_DIR is \"r\"; it must be an absolute path");
        assert_eq!(socket_of(&[], true), "neither CCD_STATE_DIR nor HOME is set; set one of them to an absolute path");
    }

    #[test]
    fn a_long_path_gets_a_short_name_in_the_fallback() {
        let long = format!("/{}", "x".repeat(120));
        let paths = resolved(&[("HOME", "/h"), ("CCD_RUNTIME_DIR", &long)], true).expect("there is a fallback");
        assert_eq!(paths.socket_folder, Path::new("/run/user/7/ccd"));
        assert!(paths.socket.as_os_str().len() < 60);
        assert_eq!(paths.runtime, Path::new(&long));
        let error = socket_of(&[("HOME", &long), ("CCD_RUNTIME_DIR", &long)], false);
        assert!(error.ends_with("set CCD_RUNTIME_DIR to a shorter folder"), "{error}");
    }
}
