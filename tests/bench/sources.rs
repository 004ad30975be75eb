//! What is measured on: a copy of a folder, or of sources that this machine has.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};

/// Files with these endings are copied: those that have a grammar.
const ENDINGS: [&str; 10] = ["rs", "go", "py", "ts", "tsx", "mts", "cts", "js", "jsx", "mjs"];

/// What the daemon reads of a file at most; larger ones would only be counted.
const FILE_BYTES: u64 = 1024 * 1024;

/// Enough for stable figures, and small enough for one sitting.
const TOTAL_BYTES: u64 = 120 * 1024 * 1024;

pub(crate) struct Sources {
    pub(crate) what: String,
    pub(crate) files: u64,
    pub(crate) lines: u64,
    /// A file of each run's changes.
    pub(crate) changed: PathBuf,
}

/// Copies the sources below `from` to `to`; without a folder, what is found on this machine.
pub(crate) fn copy(from: Option<&Path>, to: &Path) -> anyhow::Result<Sources> {
    let places = match from {
        Some(folder) => vec![(folder.to_owned(), String::new())],
        None => on_this_machine()?,
    };
    let what = match from {
        Some(folder) => folder.display().to_string(),
        None => format!("{} packages of this machine", places.len()),
    };
    let mut sources = Sources { what, files: 0, lines: 0, changed: to.join("bench_changed.rs") };
    let mut bytes = 0;
    for (place, name) in &places {
        copy_below(place, &to.join(name), &mut sources, &mut bytes)?;
    }
    if sources.files == 0 {
        bail!("no sources were found; name a folder");
    }
    fs::write(&sources.changed, "pub fn bench_unchanged() {}\n")?;
    Ok(sources)
}

/// Crates of cargo's registry, Go's library, packages with Python or TypeScript sources: whatever is there.
fn on_this_machine() -> anyhow::Result<Vec<(PathBuf, String)>> {
    let mut places = Vec::new();
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from).context("HOME is not set")?;
    let registry = cargo.unwrap_or_else(|| home.join(".cargo")).join("registry/src");
    for index in entries(&registry) {
        for package in entries(&index) {
            let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // Tables of constants: millions of lines without a definition.
            if !["windows", "linux-raw-sys", "libc-", "winapi"].iter().any(|skip| name.starts_with(skip)) {
                places.push((package, format!("rust/{name}")));
            }
        }
    }
    if let Some(go) = std::env::var_os("GOROOT").map(PathBuf::from).or_else(|| tools().map(|tools| tools.join("go/root"))) {
        places.push((go.join("src"), "go".to_owned()));
    }
    Ok(places)
}

/// Where `./tests/run` puts its tools: beside the programs that it builds.
fn tools() -> Option<PathBuf> {
    Some(std::env::current_exe().ok()?.parent()?.parent()?.join("tools"))
}

/// The entries of a folder in the order of their names; none if it cannot be read.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

fn copy_below(from: &Path, to: &Path, sources: &mut Sources, bytes: &mut u64) -> anyhow::Result<()> {
    let mut folders = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = folders.pop() {
        for path in entries(&from) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Ok(meta) = path.symlink_metadata() else { continue };
            if meta.is_dir() && !name.starts_with('.') && !["target", "node_modules"].contains(&name.as_str()) {
                folders.push((path, to.join(&name)));
            } else if meta.is_file() && wanted(&path) && meta.len() <= FILE_BYTES && *bytes < TOTAL_BYTES {
                let Ok(text) = fs::read(&path) else { continue };
                fs::create_dir_all(&to)?;
                fs::write(to.join(&name), &text)?;
                sources.files += u64::from(is_source(&path));
                sources.lines += if is_source(&path) { text.iter().filter(|byte| **byte == b'\n').count() as u64 } else { 0 };
                *bytes += meta.len();
            }
        }
    }
    Ok(())
}

fn is_source(path: &Path) -> bool {
    path.extension().and_then(|ending| ending.to_str()).is_some_and(|ending| ENDINGS.contains(&ending))
}

/// Sources, and what tells how their imports lead.
fn wanted(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    is_source(path) || name.is_some_and(|name| ["Cargo.toml", "go.mod", "package.json", "tsconfig.json"].contains(&name))
}
