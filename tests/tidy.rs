//! The house rules that a compiler does not check, over the whole tree.
//!
//! Each test is one rule. A breach is told as `file:line: what is wrong; what to do`, all of them at once.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use ccd_protocol::METHODS;

/// The folders of the top level; a new one is a decision about the architecture.
const FOLDERS: [&str; 6] = ["daemon", "protocol", "clients", "grammars", "systemd", "tests"];

/// Beyond this a file no longer fits in a head.
const LINES: usize = 600;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the tests lie in a folder of the tree").to_owned()
}

/// A file of the tree: its path from the root, and its text.
struct Source {
    path: String,
    text: String,
}

impl Source {
    fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Code that only tests run.
    fn is_test(&self) -> bool {
        self.path.starts_with("tests/") || self.path.contains("/tests/") || self.path.ends_with("/tests.rs")
    }

    /// The numbered lines of code that ship: without comments, and without the tests at the end of the file.
    fn shipped(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().enumerate().map(|(n, line)| (n + 1, line));
        let ends_at = |line: &str| self.is_rust() && line.trim() == "#[cfg(test)]";
        lines.take_while(move |(_, line)| !ends_at(line)).filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

/// What ccctl carries as data: a project of its own, not a part of this one.
const SAMPLE: &str = "clients/ctl/sample/";

/// Every text file of the tree that is ours, in the order of its path.
fn sources() -> Vec<Source> {
    let root = root();
    let mut sources = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let entry = entry.unwrap();
            let (path, name) = (entry.path(), entry.file_name().into_string().unwrap());
            let kind = entry.file_type().unwrap();
            if kind.is_dir() && !["target", ".git", "__pycache__", "node_modules"].contains(&name.as_str()) {
                folders.push(path);
            } else if kind.is_file()
                && name != "Cargo.lock"
                && name != ".git"
                && let Ok(text) = fs::read_to_string(&path)
            {
                let path = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
                if !path.starts_with(SAMPLE) {
                    sources.push(Source { path, text });
                }
            }
        }
    }
    sources.sort_by(|left, right| left.path.cmp(&right.path));
    sources
}

/// Fails with every breach that was found.
fn none(rule: &str, breaches: &[String]) {
    let mut message = String::new();
    for breach in breaches {
        let _ = writeln!(message, "  {breach}");
    }
    assert!(breaches.is_empty(), "{rule}\n{message}");
}

/// Breaches of "none of these words in code that ships, but in these places".
fn words(words: &[&str], allowed: &[&str], applies: impl Fn(&Source) -> bool, fix: &str) -> Vec<String> {
    let mut breaches = Vec::new();
    for source in sources() {
        if !source.is_rust()
            || source.is_test()
            || !applies(&source)
            || allowed.iter().any(|place| source.path.starts_with(place))
        {
            continue;
        }
        for (number, line) in source.shipped() {
            if let Some(word) = words.iter().find(|word| line.contains(**word)) {
                breaches.push(format!("{}:{number}: `{word}`; {fix}", source.path));
            }
        }
    }
    breaches
}

fn anywhere(_: &Source) -> bool {
    true
}

#[test]
fn the_top_level_is_as_the_architecture_says() {
    let mut breaches = Vec::new();
    for entry in fs::read_dir(root()).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        if entry.file_type().unwrap().is_dir() && !name.starts_with('.') && name != "target" && !FOLDERS.contains(&name.as_str())
        {
            breaches.push(format!("{name}/: put it into one of {}", FOLDERS.join(", ")));
        }
    }
    for folder in FOLDERS {
        if !fs::symlink_metadata(root().join(folder)).is_ok_and(|meta| meta.is_dir()) {
            breaches.push(format!("{folder}/: it is missing; ARCHITECTURE.md says what it holds"));
        }
    }
    none("The top level holds other folders than it should.", &breaches);
}

#[test]
fn files_are_written_only_where_it_is_somebodys_job() {
    let writes = [
        "fs::write(",
        "File::create",
        "fs::rename(",
        "fs::remove_",
        "fs::create_dir",
        "fs::set_permissions(",
        "fs::copy(",
        "fs::hard_link(",
        "OpenOptions",
        ".set_len(",
        "OFlags::WRONLY",
        "OFlags::RDWR",
        "OFlags::CREATE",
        "renameat",
        "unlinkat",
        "mkdirat",
    ];
    let places = [
        // User files, and the private folders of the daemon.
        "daemon/files/src/",
        // The index, which may be deleted at any time.
        "daemon/graph/src/store",
        // Lock, socket and log.
        "daemon/server/src/lifecycle/",
        "daemon/server/src/telemetry",
        // Which daemons there were, in the state folder; what is left of the dead is ended by it.
        "daemon/process/src/instance.rs",
        // The report of a shim to itself, and its own `oom_score_adj`: nothing but /proc.
        "daemon/process/src/shim/exec.rs",
        // The terminal, to ask a person on it.
        "clients/ctl/src/commands/trust.rs",
        // /dev/null, in the place of the caller's streams.
        "daemon/server/src/main.rs",
        // A project in a temporary folder of its own.
        "clients/ctl/src/commands/demo/",
    ];
    none(
        "User files are written in one place, and ours in a few.",
        &words(&writes, &places, anywhere, "write through ccd-files, or name the place in tests/tidy.rs with its reason"),
    );
}

#[test]
fn processes_are_started_in_one_place() {
    none(
        "Processes are started by ccd-process; the client starts one, and only ccd.",
        &words(
            &["Command::new", "posix_spawn", "::fork("],
            &["clients/rust/src/autostart.rs", "daemon/process/src/"],
            anywhere,
            "a process needs an owner: start it through ccd_process::Launcher",
        ),
    );
}

#[test]
fn absence_is_not_guessed() {
    none(
        "`exists` and `is_file` of a path take an error for absence.",
        &words(
            &[".exists()", "Path::is_file", "Path::is_dir"],
            &[],
            anywhere,
            "use symlink_metadata and look at the error, or ccd-files",
        ),
    );
}

#[test]
fn every_channel_is_bounded() {
    none(
        "A channel without a bound grows until memory ends.",
        &words(
            &["unbounded_channel", "UnboundedSender", "unbounded(", "mpsc::channel()"],
            &[],
            anywhere,
            "give it a capacity, and say what happens when it is full",
        ),
    );
}

#[test]
fn nothing_is_unwrapped_outside_tests() {
    none(
        "A panic says nothing to its reader.",
        &words(&[".unwrap()"], &[], anywhere, "return the error, or `expect(\"why it holds\")`"),
    );
}

#[test]
fn syntax_trees_are_not_climbed() {
    let in_daemon = |source: &Source| source.path.starts_with("daemon/") || source.path.starts_with("grammars/");
    none(
        "`parent` of a node takes time in its depth, and `to_sexp` recurses: a file of brackets ends the process.",
        &words(
            &["to_sexp", "node.parent()", "node().parent()", "Node::parent"],
            &[],
            in_daemon,
            "keep the stack of ancestors during the walk",
        ),
    );
}

#[test]
fn files_fit_in_a_head() {
    let mut breaches = Vec::new();
    for source in sources().iter().filter(|source| source.is_rust()) {
        let count = source.text.lines().count();
        let reasoned = source.text.lines().next().is_some_and(|line| line.contains("(One file: "));
        if count > LINES && !reasoned {
            breaches.push(format!("{}:1: {count} lines; split it, or end its first line with `(One file: why.)`", source.path));
        }
        if !source.text.starts_with("//!") && !source.text.starts_with("#!") {
            breaches.push(format!("{}:1: begins with code; begin with a `//!` line that says what it is for", source.path));
        }
        let name = Path::new(&source.path).file_stem().unwrap().to_str().unwrap();
        if ["utils", "util", "helpers", "helper", "common", "manager", "misc"].contains(&name) {
            breaches.push(format!("{}:1: `{name}` says nothing; name it by what it holds", source.path));
        }
    }
    none("A file is too long, says not what it is, or has an empty name.", &breaches);
}

#[test]
fn the_tree_speaks_of_itself_only() {
    let words = [
        (concat!("/wo", "rk/"), "a path of one machine; write a relative or an invented one"),
        (concat!("far", "m-"), "a name from outside; say what it means here"),
        (concat!("issue", " #"), "a number that a reader cannot look up; say what went wrong"),
        (concat!("TO", "DO"), "do it, or write down the limit as a fact"),
        (concat!("FIX", "ME"), "fix it, or write down the limit as a fact"),
    ];
    let mut breaches = Vec::new();
    for source in sources() {
        for (number, line) in source.text.lines().enumerate() {
            for (word, fix) in words {
                if line.contains(word) {
                    breaches.push(format!("{}:{}: `{word}`: {fix}", source.path, number + 1));
                }
            }
            let outside = concat!("../sha", "red");
            if line.contains(outside) && source.path != ".ci/run" {
                breaches.push(format!("{}:{}: `{outside}`: only .ci/run looks beside the checkout", source.path, number + 1));
            }
        }
    }
    none("A line speaks of what is not here.", &breaches);
}

/// The manifest of every crate, by the name of its package.
fn manifests() -> BTreeMap<String, (String, toml::Table)> {
    let manifests = sources().into_iter().filter(|source| source.path.ends_with("/Cargo.toml"));
    manifests
        .map(|source| {
            let table: toml::Table = source.text.parse().unwrap();
            (table["package"]["name"].as_str().unwrap().to_owned(), (source.path, table))
        })
        .collect()
}

#[test]
fn crates_depend_in_one_direction() {
    // Who may depend on whom, inside. A crate that is not listed is a new one: decide, and add it.
    let inside: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("ccd-protocol", &[][..]),
        ("ccd-text", &[]),
        ("ccd-watch", &[]),
        ("ccd-framing", &[]),
        ("ccd-process", &[]),
        ("ccd-diagnostics", &[]),
        ("ccd-lsp", &["ccd-diagnostics", "ccd-framing", "ccd-process", "ccd-text"]),
        ("ccd-patch", &["ccd-text"]),
        ("ccd-files", &["ccd-text"]),
        ("ccd-grammars", &["ccd-text"]),
        ("ccd-corpus", &["ccd-files", "ccd-grammars", "ccd-text"]),
        ("ccd-graph", &["ccd-corpus", "ccd-files", "ccd-grammars", "ccd-text"]),
        ("ccd-structural", &["ccd-grammars"]),
        ("ccd-edit", &["ccd-files", "ccd-patch", "ccd-text"]),
        (
            "ccd",
            &[
                "ccd-protocol",
                "ccd-corpus",
                "ccd-edit",
                "ccd-files",
                "ccd-grammars",
                "ccd-graph",
                "ccd-patch",
                "ccd-process",
                "ccd-structural",
                "ccd-text",
                "ccd-watch",
            ],
        ),
        ("ccd-client", &["ccd-protocol"]),
        ("ccctl", &["ccd-client", "ccd-protocol"]),
    ]);
    // Crates from outside that have their place.
    let outside: BTreeMap<&str, &[&str]> = BTreeMap::from([
        ("jsonrpsee", &["ccd", "ccd-client"][..]),
        ("sled", &["ccd-graph"]),
        ("notify", &["ccd-watch"]),
        ("ignore", &["ccd-corpus"]),
        ("schemars", &["ccd-protocol"]),
        ("tracing-subscriber", &["ccd"]),
        ("hyper", &["ccd"]),
        ("clap", &["ccd", "ccctl"]),
        ("anyhow", &["ccd", "ccctl"]),
    ]);
    let manifests = manifests();
    let mut breaches = Vec::new();
    for (name, (path, table)) in &manifests {
        if name == "ccd-tests" {
            continue;
        }
        let Some(allowed) = inside.get(name.as_str()) else {
            breaches.push(format!("{path}:1: the crate `{name}` has no row in tests/tidy.rs; add what it may depend on"));
            continue;
        };
        let dependencies = table.get("dependencies").and_then(toml::Value::as_table);
        for dependency in dependencies.into_iter().flat_map(toml::Table::keys) {
            if manifests.contains_key(dependency) && !allowed.contains(&dependency.as_str()) {
                breaches.push(format!("{path}:1: `{name}` depends on `{dependency}`; it may depend on: {}", allowed.join(", ")));
            }
            if let Some(places) = outside.get(dependency.as_str())
                && !places.contains(&name.as_str())
            {
                breaches.push(format!(
                    "{path}:1: `{dependency}` has its place in {}; ask there for what `{name}` needs",
                    places.join(", ")
                ));
            }
        }
        for (dependency, value) in dependencies.into_iter().flatten() {
            if value.is_str() || value.get("version").is_some() {
                breaches.push(format!("{path}:1: the version of `{dependency}` belongs into the workspace's Cargo.toml"));
            }
        }
        if table.get("lints").and_then(|lints| lints.get("workspace")) != Some(&toml::Value::Boolean(true)) {
            breaches.push(format!("{path}:1: add `[lints] workspace = true`"));
        }
    }
    none("A dependency goes the wrong way.", &breaches);
}

#[test]
fn every_method_and_command_is_documented() {
    let reference = fs::read_to_string(root().join("protocol/API.md")).unwrap();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let mut breaches = Vec::new();
    for method in METHODS {
        if !reference.contains(&format!("### `{}`", method.name)) {
            breaches.push(format!(
                "protocol/API.md:1: `{}` is missing; CCD_WRITE_REFERENCE=1 cargo test -p ccd-protocol",
                method.name
            ));
        }
    }
    for command in commands() {
        if !readme.contains(&format!("`ccctl {command}")) {
            breaches.push(format!("README.md:1: `ccctl {command}` is missing; add it to the table of commands"));
        }
    }
    none("Something is offered and not documented.", &breaches);
}

#[test]
fn every_method_has_a_scenario() {
    let scenarios: Vec<Source> = sources().into_iter().filter(|source| source.path.starts_with("tests/")).collect();
    let asks = |source: &Source, name: &str| source.text.contains(&format!("\"{name}\""));
    let missing = METHODS.iter().filter(|method| !scenarios.iter().any(|source| asks(source, method.name)));
    let breaches: Vec<String> =
        missing.map(|method| format!("tests/scenarios/: nothing asks for `{}`; add a scenario", method.name)).collect();
    none("A method is offered that no scenario asks for.", &breaches);
}

/// The commands of ccctl, from the enum that declares them.
fn commands() -> BTreeSet<String> {
    let args = fs::read_to_string(root().join("clients/ctl/src/args.rs")).unwrap();
    let variants = args.lines().filter_map(|line| line.trim().split_once("(commands::"));
    let commands: BTreeSet<String> = variants.map(|(name, _)| name.to_lowercase()).collect();
    assert!(commands.contains("status"), "the commands are no longer declared as this test reads them: {commands:?}");
    commands
}

#[test]
fn the_list_of_what_a_machine_needs_is_the_same_everywhere() {
    let run = fs::read_to_string(root().join("tests/run")).unwrap();
    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    let needs: Vec<&str> =
        run.lines().filter_map(|line| line.strip_prefix("need \"")?.strip_suffix('"')?.rsplit('"').next()).collect();
    assert!(needs.len() > 5, "tests/run no longer lists its needs as this test reads them");
    let missing = needs.iter().filter(|command| !readme.contains(**command));
    let breaches: Vec<String> = missing.map(|command| format!("README.md:1: `{command}` of tests/run is missing")).collect();
    none("README.md and tests/run tell different lists.", &breaches);
}

#[test]
fn the_code_is_formatted() {
    let output = Command::new(env!("CARGO"))
        .args(["fmt", "--all", "--check", "--", "--files-with-diff"])
        .current_dir(root())
        .stdin(Stdio::null())
        .output()
        .expect("cargo runs this test");
    assert!(
        output.status.success(),
        "not formatted; run `cargo fmt --all`:\n{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}
