//! Paths that are refused unless the caller says otherwise: files that decide what other programs run.

use std::path::Path;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// What is protected without a word in the configuration.
pub const PROTECTED: &[&str] = &[
    "**/.git/**",
    "**/.git",
    "**/.hg/**",
    "**/.svn/**",
    "**/.vscode/{tasks,launch,settings}.json",
    "**/.claude/**",
    "**/.codex/**",
    "**/.cursor/**",
    "**/.mcp.json",
    "**/.envrc",
    "**/.husky/**",
    "**/.cargo/config*",
];

/// Whether a path may be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// It may.
    Open,
    /// Only if the request allows protected paths.
    Protected,
    /// Never: it is ours.
    Own,
}

/// The protected paths of a configuration.
#[derive(Clone, Debug)]
pub struct Protected {
    protected: GlobSet,
    open: GlobSet,
}

impl Default for Protected {
    fn default() -> Self {
        Self::new(PROTECTED.iter().copied(), std::iter::empty())
    }
}

impl Protected {
    /// Globs of what is protected, and of exceptions. One that is no glob is passed over; the configuration refuses it.
    pub fn new<'g>(protected: impl Iterator<Item = &'g str>, open: impl Iterator<Item = &'g str>) -> Self {
        Self { protected: set(protected), open: set(open) }
    }

    /// What a path, relative to its root, is.
    pub fn of(&self, rel: &Path) -> Protection {
        if rel.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b".ccd-")) {
            return Protection::Own;
        }
        if self.protected.is_match(rel) && !self.open.is_match(rel) { Protection::Protected } else { Protection::Open }
    }
}

fn set<'g>(globs: impl Iterator<Item = &'g str>) -> GlobSet {
    let mut builder = GlobSetBuilder::new();
    for glob in globs {
        // On a disk that ignores case, `.GIT/config` is the same file.
        if let Ok(glob) = GlobBuilder::new(glob).case_insensitive(true).literal_separator(true).build() {
            builder.add(glob);
        }
    }
    builder.build().unwrap_or_else(|_| GlobSet::empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_protected() {
        let protected = Protected::new(PROTECTED.iter().copied(), ["**/.cursor/notes.md"].into_iter());
        for (path, expected) in [
            (".git/config", Protection::Protected),
            ("sub/.git/hooks/pre-commit", Protection::Protected),
            (".GIT/config", Protection::Protected),
            (".git", Protection::Protected),
            (".gitignore", Protection::Open),
            (".github/workflows/x.yml", Protection::Open),
            (".vscode/settings.json", Protection::Protected),
            (".vscode/extensions.json", Protection::Open),
            (".cursor/notes.md", Protection::Open),
            (".cursor/mcp.json", Protection::Protected),
            (".cargo/config.toml", Protection::Protected),
            (".envrc", Protection::Protected),
            (".ccd-tx/1/a", Protection::Own),
            ("a/.ccd-1.tmp", Protection::Own),
            ("src/main.rs", Protection::Open),
        ] {
            assert_eq!(protected.of(Path::new(path)), expected, "{path}");
        }
    }
}
