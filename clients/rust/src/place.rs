//! From what a person or a model types to what the wire takes: absolute paths, a root, a symbol.

use std::path::{Component, Path, PathBuf};

use ccd_protocol::{Position, PositionOrName};

/// The workspace of a folder: the nearest enclosing folder with a `.git` (a folder or, in a worktree, a file), else itself.
pub fn root_of(folder: &Path) -> PathBuf {
    let mut at = folder;
    loop {
        if at.join(".git").symlink_metadata().is_ok() {
            return at.to_owned();
        }
        match at.parent() {
            Some(parent) => at = parent,
            None => return folder.to_owned(),
        }
    }
}

/// `path` as an absolute path; a relative one counts from `cwd`. `.` and `..` are taken out by their
/// letters; links are the daemon's affair.
pub fn absolute(cwd: &Path, path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in cwd.join(path).components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// A file as a caller names it: relative to `cwd`, or, as answers print it, relative to `root`.
pub fn file(cwd: &Path, root: &Path, path: &str) -> PathBuf {
    let here = absolute(cwd, Path::new(path));
    if here.symlink_metadata().is_ok() {
        return here;
    }
    let below_root = absolute(root, Path::new(path));
    if below_root.symlink_metadata().is_ok() { below_root } else { here }
}

/// A symbol as a caller names it: `path:line`, `path:line:column` and `path:line:text` are places, all
/// else is a name or an id.
pub fn symbol(cwd: &Path, root: &Path, text: &str) -> PositionOrName {
    let mut parts = text.splitn(3, ':');
    let (path, line, rest) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    let line = line.and_then(|line| line.parse::<u32>().ok()).filter(|line| *line > 0);
    let Some(line) = line.filter(|_| !path.is_empty()) else { return PositionOrName::Name(text.to_owned()) };
    let column = rest.and_then(|rest| rest.parse::<u32>().ok());
    PositionOrName::Position(Position {
        path: file(cwd, root, path).display().to_string(),
        line,
        // A line alone means the definition that stands on it, wherever it is indented to.
        column: column.or_else(|| rest.is_none().then_some(1)),
        text: rest.filter(|_| column.is_none()).map(str::to_owned),
        nth: None,
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use ccd_protocol::PositionOrName;

    use super::{absolute, root_of, symbol};

    #[test]
    fn the_nearest_checkout_is_the_root() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c");
        fs::create_dir_all(&deep).unwrap();
        fs::write(folder.path().join("a/.git"), "gitdir: elsewhere").unwrap();
        assert_eq!(root_of(&deep), folder.path().join("a"));
    }

    #[test]
    fn dots_are_taken_out() {
        assert_eq!(absolute(Path::new("/p/q"), Path::new("../r/./s.rs")), Path::new("/p/r/s.rs"));
        assert_eq!(absolute(Path::new("/p"), Path::new("/x/../..")), Path::new("/"));
    }

    #[test]
    fn places_and_names_are_told_apart() {
        let check = |text: &str, expected: &str| {
            let found = match symbol(Path::new("/cwd"), Path::new("/root"), text) {
                PositionOrName::Name(name) => format!("name {name}"),
                PositionOrName::Position(at) => format!("{} {} {:?} {:?}", at.path, at.line, at.column, at.text),
            };
            assert_eq!(found, expected);
        };
        check("tokio::spawn", "name tokio::spawn");
        check("Class.method", "name Class.method");
        check("src/a.rs:12", "/cwd/src/a.rs 12 Some(1) None");
        check("src/a.rs:12:7", "/cwd/src/a.rs 12 Some(7) None");
        check("src/a.rs:12:let x: T", "/cwd/src/a.rs 12 None Some(\"let x: T\")");
        check("src/a.rs:function:12", "name src/a.rs:function:12");
        check("a:0", "name a:0");
    }
}
