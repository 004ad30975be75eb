//! The walk.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Arc,
};

use ccd_files::{EntryKind, FileError, Root, Stat};
use ccd_grammars::LanguageId;

use crate::{
    Cancel, Limits, Skipped,
    ignored::{self, Rules},
};

/// Nested folders; a deeper tree is a mistake or an attack.
const MAX_FOLDER_DEPTH: usize = 256;

/// A source file found by a walk.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Relative to the root, UTF-8.
    pub rel: PathBuf,
    /// Of the file itself.
    pub stat: Stat,
    /// By its extension.
    pub language: LanguageId,
}

/// What a walk found.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    /// Source files of known languages, sorted by the bytes of their path.
    pub files: Vec<Entry>,
    /// Other files that say how a project is laid out (`Cargo.toml`, `go.mod`, `package.json`, `tsconfig*.json`,
    /// `pubspec.yaml`), sorted.
    pub manifests: Vec<PathBuf>,
    /// Folders walked, relative to the root (`""` is the root itself): those to watch.
    pub folders: Vec<PathBuf>,
    /// Left out, by reason.
    pub skipped: BTreeMap<&'static str, u64>,
    /// The source files among them, each with its reason; folders that are left out are only counted.
    pub left_out: Vec<(PathBuf, LanguageId, &'static str)>,
}

/// Why a walk has no result.
#[derive(Debug, thiserror::Error)]
pub enum WalkError {
    /// Cancelled by its token.
    #[error("cancelled")]
    Cancelled,
    /// The root itself cannot be listed.
    #[error("{0}")]
    Root(FileError),
}

/// Walks a whole workspace.
pub fn walk(root: &Root, limits: &Limits, cancel: &Cancel) -> Result<Walk, WalkError> {
    walk_below(root, Path::new(""), limits, cancel)
}

/// Walks a folder of a workspace, under the rules of the folders above it. A folder that those rules leave out
/// gives an empty walk.
pub fn walk_below(root: &Root, start: &Path, limits: &Limits, cancel: &Cancel) -> Result<Walk, WalkError> {
    let configured = ignored::configured(limits);
    let mut out = Walk::default();
    let Some(rules) = rules_above(root, start, &configured) else {
        return Ok(out);
    };
    let mut pending = vec![(start.to_path_buf(), rules)];
    while let Some((rel, above)) = pending.pop() {
        if cancel.is_cancelled() {
            return Err(WalkError::Cancelled);
        }
        let listed = root.open_folder(&rel).and_then(|folder| {
            let entries = folder.entries()?;
            Ok((folder, entries))
        });
        let (folder, entries) = match listed {
            Ok(listed) => listed,
            Err(error) if rel.as_os_str().is_empty() => return Err(WalkError::Root(error)),
            Err(FileError::NotFound) => continue,
            Err(_) => {
                count(&mut out, "unreadable");
                continue;
            }
        };
        let name = rel.file_name().unwrap_or_default();
        if !rel.as_os_str().is_empty() && ignored::is_foreign(name, &entries) {
            count(&mut out, "ignored");
            // Its marker may go, and only who watches the folder sees that.
            if !ignored::is_foreign_name(name) {
                out.folders.push(rel);
            }
            continue;
        }
        let has_file = entries.iter().any(|(name, kind)| name == ".gitignore" && *kind == EntryKind::File);
        let rules = above.inside(root, &rel, has_file);
        for (name, kind) in &entries {
            let path = rel.join(name);
            let is_dir = *kind == EntryKind::Directory;
            if name.as_bytes().starts_with(b".") || rules.ignores(&path, is_dir) || configured.matched(&path, is_dir).is_ignore()
            {
                match ccd_grammars::language_of(name) {
                    _ if is_dir => count(&mut out, "ignored"),
                    Some(language) => leave_out(&mut out, path, language, "ignored"),
                    None => {}
                }
                continue;
            }
            match kind {
                EntryKind::Directory if name.to_str().is_none() => count(&mut out, "path_not_utf8"),
                EntryKind::Directory if path.components().count() > MAX_FOLDER_DEPTH => count(&mut out, "too_deep"),
                EntryKind::Directory => pending.push((path, rules.clone())),
                EntryKind::File if is_manifest(name) => out.manifests.push(path),
                _ => match candidate(root, &folder, &path, name, *kind, limits) {
                    Some(Ok(entry)) => out.files.push(entry),
                    Some(Err(skipped)) => match ccd_grammars::language_of(name) {
                        Some(language) => leave_out(&mut out, path, language, skipped.reason()),
                        None => count(&mut out, skipped.reason()),
                    },
                    None => {}
                },
            }
        }
        out.folders.push(rel);
    }
    out.files.sort_unstable_by(|a, b| bytes(&a.rel).cmp(bytes(&b.rel)));
    out.manifests.sort_unstable();
    out.folders.sort_unstable();
    Ok(out)
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_bytes()
}

fn count(walk: &mut Walk, reason: &'static str) {
    *walk.skipped.entry(reason).or_default() += 1;
}

fn leave_out(walk: &mut Walk, path: PathBuf, language: LanguageId, reason: &'static str) {
    count(walk, reason);
    walk.left_out.push((path, language, reason));
}

/// The rules that hold just above a folder, or none if one of them leaves it or a folder above it out.
fn rules_above(root: &Root, start: &Path, configured: &ignore::gitignore::Gitignore) -> Option<Arc<Rules>> {
    let mut rules = Rules::of_root(root);
    let mut at = PathBuf::new();
    for part in start.components() {
        rules = rules.inside(root, &at, true);
        at.push(part);
        if is_left_out(&rules, configured, &at, true) || is_foreign_below(root, &at) {
            return None;
        }
    }
    Some(rules)
}

/// Whether the rules take a path in.
pub(crate) fn rules_for(root: &Root, rel: &Path, is_dir: bool, limits: &Limits) -> bool {
    let configured = ignored::configured(limits);
    let folder = rel.parent().unwrap_or(Path::new(""));
    let Some(above) = rules_above(root, folder, &configured) else { return false };
    let rules = above.inside(root, folder, true);
    !(is_left_out(&rules, &configured, rel, is_dir) || is_dir && is_foreign_below(root, rel))
}

fn is_left_out(rules: &Rules, configured: &ignore::gitignore::Gitignore, rel: &Path, is_dir: bool) -> bool {
    let hidden = rel.file_name().is_some_and(|name| name.as_bytes().starts_with(b"."));
    hidden || rules.ignores(rel, is_dir) || configured.matched(rel, is_dir).is_ignore()
}

fn is_foreign_below(root: &Root, rel: &Path) -> bool {
    let marked = |marker: &str| root.link_stat(&rel.join(marker)).is_ok_and(|stat| stat.is_file);
    rel.file_name().is_some_and(ignored::is_foreign_name) || ignored::MARKERS.iter().any(|marker| marked(marker))
}

pub(crate) fn is_manifest(name: &OsStr) -> bool {
    match name.to_str() {
        Some("Cargo.toml" | "go.mod" | "go.work" | "package.json" | "pyproject.toml" | "pubspec.yaml") => true,
        Some(name) => name.starts_with("tsconfig") && name.ends_with(".json") || name == "jsconfig.json",
        None => false,
    }
}

/// A file with the extension of a known language, or why it is left out. None for all others.
fn candidate(
    root: &Root,
    folder: &ccd_files::Folder,
    rel: &Path,
    name: &OsStr,
    kind: EntryKind,
    limits: &Limits,
) -> Option<Result<Entry, Skipped>> {
    let language = ccd_grammars::language_of(name);
    match kind {
        EntryKind::Link => match root.stat(rel) {
            Err(FileError::Outside { resolved }) => Some(Err(Skipped::OutsideRoot { resolved })),
            // Its target is found by itself if it is a source of this workspace.
            Ok(stat) if stat.is_dir || language.is_some() => Some(Err(Skipped::NotRegular { what: "link" })),
            Err(_) if language.is_some() => Some(Err(Skipped::NotRegular { what: "link" })),
            _ => None,
        },
        EntryKind::Special => language.map(|_| Err(Skipped::NotRegular { what: "special file" })),
        _ => {
            let language = language?;
            if name.to_str().is_none() {
                return Some(Err(Skipped::PathNotUtf8));
            }
            match folder.stat(name) {
                Ok(stat) if stat.size > limits.max_file_bytes => {
                    Some(Err(Skipped::TooLarge { size: stat.size, limit: limits.max_file_bytes }))
                }
                Ok(stat) => Some(Ok(Entry { rel: rel.to_path_buf(), stat, language })),
                Err(FileError::NotFound) => None,
                Err(error) => Some(Err(error.into())),
            }
        }
    }
}
