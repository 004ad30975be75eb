//! The configuration: one TOML file, read at the start and on reload, checked whole, swapped whole.
//!
//! Nothing is read from a checkout. A file that is not there is an empty one; a wrong one is refused with its line.

mod deadlines;
mod sections;
mod values;

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use rustix::fs::{Mode, OFlags};
use serde_json::Value;

pub use sections::{Config, Durability, Edit, HardLinks, Index, Metadata, WatchMode, WriteMode};
pub use values::{IdleExit, Level, Whole};

/// Keys that take effect with the next daemon.
const NEEDS_RESTART: [&str; 3] = ["log.file_mib", "log.files", "daemon.workers"];

/// Bytes of the file.
const LONGEST: u64 = 1 << 20;

/// What is wrong with the file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {reason}", file.display(), line.map(|line| format!(", line {line}")).unwrap_or_default())]
pub struct ConfigError {
    /// Which.
    pub file: PathBuf,
    /// 1-based; none if the file cannot be read at all.
    pub line: Option<u32>,
    /// In words.
    pub reason: String,
}

/// Reads and checks a file.
pub fn load(file: &Path) -> Result<Config, ConfigError> {
    match text_of(file) {
        Ok(text) => parse(file, &text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Config::default()),
        Err(error) => Err(ConfigError { file: file.to_path_buf(), line: None, reason: format!("cannot be read: {error}") }),
    }
}

/// A FIFO or a device must not hold up the start, or be read without end.
fn text_of(file: &Path) -> io::Result<String> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = File::from(rustix::fs::open(file, flags, Mode::empty())?);
    if !opened.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    opened.take(LONGEST + 1).read_to_string(&mut text)?;
    if text.len() as u64 > LONGEST {
        return Err(io::Error::other(format!("it is longer than {LONGEST} bytes")));
    }
    Ok(text)
}

fn parse(file: &Path, text: &str) -> Result<Config, ConfigError> {
    let fail = |line, reason| ConfigError { file: file.to_path_buf(), line, reason };
    let config: Config = toml::from_str(text).map_err(|error| {
        let line = error.span().map(|span| line_of(text, span.start));
        let message = error.message();
        fail(line, message.split_whitespace().collect::<Vec<_>>().join(" "))
    })?;
    let limits = &config.limits;
    if limits.connection_mib.0 < limits.request_mib.0 {
        let reason = format!("limits.connection_mib must be at least limits.request_mib ({})", limits.request_mib.0);
        return Err(fail(line_with(text, "connection_mib").or_else(|| line_with(text, "request_mib")), reason));
    }
    if let Some(root) = config.roots.keys().find(|root| !root.starts_with('/')) {
        return Err(fail(line_with(text, root), format!("roots.\"{root}\" must be an absolute path")));
    }
    Ok(config)
}

fn line_of(text: &str, offset: usize) -> u32 {
    let before = &text.as_bytes()[..offset.min(text.len())];
    u32::try_from(before.iter().filter(|&&byte| byte == b'\n').count()).unwrap_or(u32::MAX - 1) + 1
}

fn line_with(text: &str, key: &str) -> Option<u32> {
    text.lines().position(|line| line.contains(key)).and_then(|at| u32::try_from(at + 1).ok())
}

/// The keys in which two configurations differ: those in force at once, and those of the next daemon.
pub fn changes(old: &Config, new: &Config) -> (Vec<String>, Vec<String>) {
    let (old, new) = (flat(old), flat(new));
    let mut keys: Vec<&String> = old.keys().chain(new.keys()).filter(|key| old.get(*key) != new.get(*key)).collect();
    keys.sort();
    keys.dedup();
    let (restart, applied): (Vec<String>, Vec<String>) =
        keys.into_iter().cloned().partition(|key| NEEDS_RESTART.contains(&key.as_str()));
    (applied, restart)
}

fn flat(config: &Config) -> BTreeMap<String, Value> {
    let mut out = BTreeMap::new();
    let mut rest = vec![(String::new(), serde_json::to_value(config).unwrap_or_default())];
    while let Some((prefix, value)) = rest.pop() {
        match value {
            Value::Object(fields) => rest.extend(fields.into_iter().map(|(key, value)| {
                let path = if prefix.is_empty() { key } else { format!("{prefix}.{key}") };
                (path, value)
            })),
            value => {
                out.insert(prefix, value);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let said = match parse(Path::new("c.toml"), text) {
            Ok(_) => "ok".to_owned(),
            Err(error) => error.to_string(),
        };
        assert_eq!(said, expected, "{text}");
    }

    #[test]
    fn a_wrong_key_or_value_is_named_with_its_line() {
        check("", "ok");
        check("[log]\nlevel = \"debug\"\n", "ok");
        check("[log]\n\nlevel = \"loud\"\n", "c.toml, line 3: must be error, warn, info, debug or trace");
        check("[limits]\nrequest_mib = 0\n", "c.toml, line 2: must be 1 to 1024, not 0");
        check("[limits]\nrequest_mib = \"8\"\n", "c.toml, line 2: invalid type: string \"8\", expected i64");
        check("[daemon]\nidle_exit_s = 59\n", "c.toml, line 2: must be 0 (never) or at least 60, not 59");
        check("[limits]\nmemory_mib = 1\n", "c.toml, line 2: must be at least 256, not 1");
        check(
            "[limits]\nrequest_mib = 64\nconnection_mib = 8\n",
            "c.toml, line 3: limits.connection_mib must be at least limits.request_mib (64)",
        );
        check("[roots.x]\n", "c.toml, line 1: roots.\"x\" must be an absolute path");
        check("[watch]\nmode = \"fast\"\n", "c.toml, line 2: unknown variant `fast`, expected one of `auto`, `poll`, `off`");
        check("[index]\nignore = [\"a[\"]\n", "c.toml, line 2: is no glob: unclosed character class; missing ']'");
        let unknown = parse(Path::new("c.toml"), "[log]\nlevel = \"info\"\nlevl = 1\n").expect_err("unknown");
        assert_eq!(unknown.line, Some(3));
        assert!(unknown.reason.contains("unknown field `levl`"), "{unknown}");
        assert_eq!(parse(Path::new("c.toml"), "a = \n").expect_err("no TOML").line, Some(1));
    }

    #[test]
    fn deadlines_by_method() {
        check("[limits.deadline_s]\ngraph.search = 5\n\"graph.index\" = 60\nedit.apply_patch = 30\n", "ok");
        check("[limits.deadline_s]\ngraph.search = 61\n", "c.toml, line 2: must be 1 to 60 for graph.search, not 61");
        check("[limits.deadline_s]\nfoo.bar = 5\n", "c.toml, line 2: there is no method `foo.bar`");
        check("[limits.deadline_s]\n\"graph.nope\" = 3\n", "c.toml, line 2: there is no method `graph.nope`");
        check("[limits.deadline_s]\nlsp.hover = 3\n", "ok");
    }

    #[test]
    fn keys_of_parts_that_are_not_built_are_read() {
        check(
            "[lsp.servers.fake]\ncommand = [\"python3\", \"x.py\"]\nlanguages = [\"fake\"]\nextensions = [\".fake\"]\nroot_markers = [\"fake.root\"]\nprobe = false\nenv = [\"FAKE_HOME\"]\ninit_options = {}\n\
             [dap.adapters.x]\ncommand = [\"x-dap\"]\ntransport = \"stdio\"\nprobe = [\"--version\"]\nlaunch = {}\n\
             [trust]\nfolders = [\"~/src\"]\n[roots.\"/p\"]\nindex.max_file_kib = 64\nedit.write_mode = \"in_place\"\nlsp.disable = [\"gopls\"]\n\
             [edit]\nprotected = [\".git/**\"]\n[runs]\nkeys = 100\n[stages]\nttl_s = 10\n[diagnostics]\nlevel = \"all\"\n[env]\npass = [\"PATH\"]\n",
            "ok",
        );
        check("[trust]\nfolders = [\"src\"]\n", "c.toml, line 2: must be an absolute path or begin with `~/`");
    }

    #[test]
    fn what_changes_live_and_what_does_not() {
        let old = Config::default();
        let new = parse(Path::new("c.toml"), "[log]\nfiles = 2\n[limits]\nin_flight = 8\ndeadline_s.graph.search = 9\n")
            .expect("right");
        let (applied, restart) = changes(&old, &new);
        assert_eq!(applied, ["limits.deadline_s.graph.search", "limits.in_flight"]);
        assert_eq!(restart, ["log.files"]);
    }
}
