//! What a process is told of its surroundings: an allow-list, never the daemon's own environment as a whole.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::Path,
};

use crate::lookup::{Dropped, clean_path};

/// What every child may know. No tokens, and nothing that makes a program load or run something else (`GIT_*`, `LD_*`,
/// `NODE_OPTIONS`, `RUSTC_WRAPPER`, `PYTHON*`): those are passed only if they are named.
const ALLOWED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
    "XDG_STATE_HOME",
];
/// And all that begin so.
const ALLOWED_PREFIX: &str = "LC_";

/// The environment of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Environment(BTreeMap<OsString, OsString>);

impl Environment {
    /// Nothing at all.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// Of these variables the ones that every child may know, and those named in `pass`: the declared ones of a server or an
    /// adapter, and those of the configuration. A name that ends in `*` passes all that begin so.
    #[must_use]
    pub fn allowed<N, V, P>(variables: impl IntoIterator<Item = (N, V)>, pass: &[P]) -> Self
    where
        N: Into<OsString>,
        V: Into<OsString>,
        P: AsRef<str>,
    {
        let variables = variables.into_iter().map(|(name, value)| (name.into(), value.into()));
        Self(variables.filter(|(name, _)| is_allowed(name, pass)).collect())
    }

    /// With this variable, whatever it was before.
    #[must_use]
    pub fn with(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.0.insert(name.into(), value.into());
        self
    }

    /// With a `PATH` from which a checkout can put nothing before the system's programs, and what was dropped of it
    /// ([`crate::clean_path`]).
    #[must_use]
    pub fn clean(mut self, roots: &[&Path]) -> (Self, Vec<Dropped>) {
        let Some(path) = self.0.get_mut(OsStr::new("PATH")) else { return (self, Vec::new()) };
        let (clean, dropped) = clean_path(path, roots);
        *path = clean;
        (self, dropped)
    }

    /// The value of a variable.
    #[must_use]
    pub fn get(&self, name: impl AsRef<OsStr>) -> Option<&OsStr> {
        self.0.get(name.as_ref()).map(OsString::as_os_str)
    }

    /// All of it, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = (&OsStr, &OsStr)> {
        self.0.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str()))
    }
}

fn is_allowed<P: AsRef<str>>(name: &OsStr, pass: &[P]) -> bool {
    let Some(name) = name.to_str() else { return false };
    let passes = |rule: &str| match rule.strip_suffix('*') {
        Some(prefix) => !prefix.is_empty() && name.starts_with(prefix),
        None => name == rule,
    };
    // The marker is set by the launcher, and by nobody else.
    name != crate::OWNER
        && (ALLOWED.contains(&name) || name.starts_with(ALLOWED_PREFIX) || pass.iter().any(|rule| passes(rule.as_ref())))
}

#[cfg(test)]
mod tests {
    use super::Environment;

    fn check(pass: &[&str], expected: &[&str]) {
        let names = [
            "PATH",
            "HOME",
            "LC_ALL",
            "GIT_DIR",
            "LD_PRELOAD",
            "NODE_OPTIONS",
            "RUSTC_WRAPPER",
            "PYTHONPATH",
            "GITHUB_TOKEN",
            "GOPATH",
            "CCD_OWNER",
        ];
        let environment = Environment::allowed(names.map(|name| (name, "x")), pass);
        let found: Vec<&str> = environment.iter().map(|(name, _)| name.to_str().unwrap()).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn only_what_is_named_is_passed() {
        check(&[], &["HOME", "LC_ALL", "PATH"]);
        check(&["GOPATH", "PYTHON*"], &["GOPATH", "HOME", "LC_ALL", "PATH", "PYTHONPATH"]);
        check(&["CCD_OWNER", "*"], &["HOME", "LC_ALL", "PATH"]);
    }

    #[test]
    fn the_path_can_be_cleaned() {
        let (clean, dropped) = Environment::empty().with("PATH", "/usr/bin::/src/app/bin:/bin").clean(&["/src/app".as_ref()]);
        assert_eq!((clean.get("PATH"), dropped.len()), (Some("/usr/bin:/bin".as_ref()), 2));
        assert_eq!(Environment::empty().clean(&[]).0, Environment::empty());
    }

    #[test]
    fn a_variable_can_be_set() {
        let environment = Environment::empty().with("A", "1").with("A", "2");
        assert_eq!(environment.get("A"), Some("2".as_ref()));
    }
}
