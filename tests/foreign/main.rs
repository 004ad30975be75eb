//! Foreign sources: what the graph finds in them is held against what other parsers, or a person, found.
//!
//! The sources are those that the build itself downloaded, and those that `tests/run` put below its tools folder.
#![allow(clippy::print_stdout, reason = "what agreed with the judges")]
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod callers;
mod definitions;
mod rust;

use std::{
    fs,
    path::{Path, PathBuf},
};

use ccd_tests::{Client, Folders, Running};
use serde_json::{Value, json};

/// The unpacked sources of a crate in the version that the build uses.
fn crate_sources(name: &str) -> PathBuf {
    let lock: toml::Table = fs::read_to_string(repository().join("Cargo.lock")).unwrap().parse().unwrap();
    let packages = lock["package"].as_array().unwrap();
    let version = packages
        .iter()
        .find(|package| package["name"].as_str() == Some(name))
        .map(|package| package["version"].as_str().unwrap());
    let version = version.unwrap_or_else(|| panic!("{name} is not in Cargo.lock"));
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| Path::new(&home).join(".cargo"))).unwrap();
    let registries = fs::read_dir(home.join("registry/src")).unwrap();
    let found = registries.map(|registry| registry.unwrap().path().join(format!("{name}-{version}")));
    let found = found.into_iter().find(|path| path.symlink_metadata().is_ok());
    found.unwrap_or_else(|| panic!("the sources of {name} {version} are not in {}; run ./tests/run", home.display()))
}

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_path_buf()
}

/// A thing that `tests/run` gets.
fn tool(variable: &str) -> PathBuf {
    let path = std::env::var_os(variable).map(PathBuf::from);
    path.filter(|path| path.symlink_metadata().is_ok())
        .unwrap_or_else(|| panic!("${variable} is not set to what is there; run ./tests/run"))
}

/// Copies the files of a folder whose names end so, in the same places.
fn copy(from: &Path, to: &Path, endings: &[&str]) {
    let mut pending = vec![PathBuf::new()];
    while let Some(rel) = pending.pop() {
        for entry in fs::read_dir(from.join(&rel)).unwrap() {
            let entry = entry.unwrap();
            let rel = rel.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                pending.push(rel);
            } else if endings.iter().any(|ending| rel.to_str().is_some_and(|rel| rel.ends_with(ending))) {
                fs::create_dir_all(to.join(&rel).parent().unwrap()).unwrap();
                fs::copy(from.join(&rel), to.join(&rel)).unwrap();
            }
        }
    }
}

/// A daemon that has indexed a folder.
struct Indexed {
    root: PathBuf,
    client: Client,
    _daemon: Running,
    _folders: Folders,
}

impl Indexed {
    /// Indexes a copy of a folder's sources.
    fn new(from: &Path, endings: &[&str]) -> Self {
        let folders = Folders::new();
        let root = folders.path("tree");
        fs::create_dir_all(&root).unwrap();
        copy(from, &root, endings);
        let daemon = folders.start();
        let mut client = daemon.connect();
        let report = client.call("graph.index", json!({"workspace": root}));
        assert_eq!(report["state"], "ready", "{report}");
        assert!(report["files_parsed"].as_u64().unwrap() > 0, "{report}");
        Self { root, client, _daemon: daemon, _folders: folders }
    }

    fn ask(&mut self, method: &str, mut params: Value) -> Value {
        params["workspace"] = json!(self.root);
        self.client.call(method, params)
    }

    /// Every definition of a file: line of the name, name, kind.
    fn definitions(&mut self, rel: &str) -> Vec<(u64, String, String)> {
        let path = self.root.join(rel);
        let outline = self.ask("graph.outline", json!({"path": path, "depth": 16}));
        let mut found = Vec::new();
        let mut pending: Vec<Value> = outline["symbols"].as_array().unwrap().clone();
        while let Some(symbol) = pending.pop() {
            let text = |field: &str| symbol[field].as_str().unwrap().to_owned();
            found.push((symbol["name_range"]["start"]["line"].as_u64().unwrap(), text("name"), text("kind")));
            pending.extend(symbol["children"].as_array().into_iter().flatten().cloned());
        }
        assert_eq!(outline["total"].as_u64().unwrap(), found.len() as u64, "{rel} nests deeper than an outline goes");
        found
    }

    /// Files of the copy, relative to it.
    fn files(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut pending = vec![self.root.clone()];
        while let Some(folder) = pending.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.symlink_metadata().unwrap().is_dir() {
                    pending.push(path);
                } else {
                    found.push(path.strip_prefix(&self.root).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        found.sort_unstable();
        found
    }
}
