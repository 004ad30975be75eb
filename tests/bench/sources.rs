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

/// Bytes of a language at most: enough for stable figures, and small enough for one sitting.
const RUST_BYTES: u64 = 60 * 1024 * 1024;
const GO_BYTES: u64 = 40 * 1024 * 1024;
const PYTHON_BYTES: u64 = 20 * 1024 * 1024;

/// A folder to copy from, where to, and how many bytes of its group.
struct Place {
    from: PathBuf,
    to: String,
    bytes: u64,
}

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
        Some(folder) => vec![vec![Place { from: folder.to_owned(), to: String::new(), bytes: u64::MAX }]],
        None => on_this_machine()?,
    };
    let what = match from {
        Some(folder) => folder.display().to_string(),
        None => format!("{} packages of this machine", places.iter().map(Vec::len).sum::<usize>()),
    };
    let mut sources = Sources { what, files: 0, lines: 0, changed: to.join("bench_changed.rs") };
    for group in &places {
        let mut bytes = 0;
        for place in group {
            copy_below(place, &to.join(&place.to), &mut sources, &mut bytes)?;
        }
    }
    if sources.files == 0 {
        bail!("no sources were found; name a folder");
    }
    fs::write(&sources.changed, "pub fn bench_unchanged() {}\n")?;
    Ok(sources)
}

/// Crates of cargo's registry, and the libraries of Go and Python: whatever is there.
fn on_this_machine() -> anyhow::Result<Vec<Vec<Place>>> {
    let mut rust = Vec::new();
    let cargo = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(PathBuf::from).context("HOME is not set")?;
    let registry = cargo.unwrap_or_else(|| home.join(".cargo")).join("registry/src");
    for package in entries(&registry).iter().flat_map(|index| entries(index)) {
        let name = package.file_name().unwrap_or_default().to_string_lossy().into_owned();
        // Tables of constants: millions of lines without a definition.
        if !["windows", "linux-raw-sys", "libc-", "winapi"].iter().any(|skip| name.starts_with(skip)) {
            rust.push(Place { from: package, to: format!("rust/{name}"), bytes: RUST_BYTES });
        }
    }
    let go = std::env::var_os("GOROOT").map(PathBuf::from).or_else(|| tools().map(|tools| tools.join("go/root")));
    let go = go.map(|go| Place { from: go.join("src"), to: "go".to_owned(), bytes: GO_BYTES });
    let python =
        std::process::Command::new("python3").args(["-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"]).output();
    let python = python.ok().and_then(|output| String::from_utf8(output.stdout).ok()).map(|path| Place {
        from: PathBuf::from(path.trim()),
        to: "python".to_owned(),
        bytes: PYTHON_BYTES,
    });
    Ok(vec![rust, go.into_iter().collect(), python.into_iter().collect()])
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

fn copy_below(place: &Place, to: &Path, sources: &mut Sources, bytes: &mut u64) -> anyhow::Result<()> {
    let mut folders = vec![(place.from.clone(), to.to_owned())];
    while let Some((from, to)) = folders.pop() {
        for path in entries(&from) {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let Ok(meta) = path.symlink_metadata() else { continue };
            if meta.is_dir() && !name.starts_with('.') && !["target", "node_modules", "site-packages"].contains(&name.as_str()) {
                folders.push((path, to.join(&name)));
            } else if meta.is_file() && wanted(&path) && meta.len() <= FILE_BYTES && *bytes < place.bytes {
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
