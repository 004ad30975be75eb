//! What a repository says of itself, read as files: git is never run.

use std::path::{Path, PathBuf};

use ccd_files::Root;

/// Bytes of a file of the repository that is read: a name each.
const LONGEST: u64 = 4096;

/// The repository's own folder where it lies elsewhere, as that of a linked worktree does: `.git` is then a file that
/// names it. None where `.git` is a folder, or names nothing.
pub fn git_folder(root: &Root) -> Option<PathBuf> {
    Some(elsewhere(root)?.path().to_path_buf())
}

/// `HEAD` and the commit that it names: a change of it means that another tree may lie here. Only compared, never told:
/// where the repository lies elsewhere, these are bytes from a place that the checkout chose.
pub fn head(root: &Root) -> Option<Vec<u8>> {
    let Some(own) = elsewhere(root) else {
        return head_of(&|rel| bytes(root, &Path::new(".git").join(rel)));
    };
    // What worktrees share, branches too, lies in the repository that they are of.
    let shared = named(&own, Path::new("commondir"), "").unwrap_or_default();
    let shared = Root::open(&own.path().join(shared), None).ok();
    head_of(&|rel| bytes(&own, rel).or_else(|| bytes(shared.as_ref()?, rel)))
}

fn head_of(read: &dyn Fn(&Path) -> Option<Vec<u8>>) -> Option<Vec<u8>> {
    let head = read(Path::new("HEAD"))?;
    let reference = head.strip_prefix(b"ref: ").and_then(|name| read(Path::new(String::from_utf8_lossy(name).trim())));
    Some([head, reference.unwrap_or_default()].concat())
}

fn elsewhere(root: &Root) -> Option<Root> {
    let folder = named(root, Path::new(".git"), "gitdir:")?;
    Root::open(&root.path().join(folder), None).ok()
}

/// The path that a file names after a word.
fn named(root: &Root, file: &Path, word: &str) -> Option<PathBuf> {
    let bytes = bytes(root, file)?;
    let name = std::str::from_utf8(&bytes).ok()?.strip_prefix(word)?.trim();
    (!name.is_empty()).then(|| PathBuf::from(name))
}

fn bytes(root: &Root, rel: &Path) -> Option<Vec<u8>> {
    root.read(rel, LONGEST).ok().map(|file| file.bytes)
}
