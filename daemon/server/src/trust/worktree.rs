//! Whether a folder is a git worktree of a repository, as both sides say it, by the identity of files and folders.

use std::path::{Path, PathBuf};

use ccd_files::Root;

/// Bytes of a file that names a path.
const LONGEST: u64 = 4096 + 64;
/// Worktrees of a repository that are looked at.
const MOST: usize = 4096;

/// The folder of a repository with one folder a worktree.
const WORKTREES: &str = ".git/worktrees";

/// The repository says so: one of its own `.git/worktrees/*/gitdir` names the `.git` file of this very folder. And the
/// folder says so: that file names this very `.git/worktrees/*`. Paths are followed to what they name, and compared by
/// device and inode; a `.git` file that is a hard link to another worktree's lies in another folder, and the folder
/// that the repository names must be this one.
pub(super) fn is_of(folder: &Root, repository: &Root) -> bool {
    looked_at(folder, repository).unwrap_or(false)
}

fn looked_at(folder: &Root, repository: &Root) -> Option<bool> {
    let own = folder.link_stat(Path::new(".git")).ok().filter(|own| own.is_file)?;
    if !repository.link_stat(Path::new(".git")).ok()?.is_dir {
        return None;
    }
    let back = PathBuf::from(text(folder, Path::new(".git"))?.strip_prefix("gitdir:")?.trim());
    let back = std::fs::metadata(folder.path().join(back)).ok()?;
    for (name, _) in repository.open_folder(Path::new(WORKTREES)).ok()?.entries().ok()?.into_iter().take(MOST) {
        let entry = Path::new(WORKTREES).join(name);
        let Ok(found) = repository.link_stat(&entry) else { continue };
        if !found.is_dir || (found.dev, found.ino) != identity(&back) {
            continue;
        }
        let Some(named) = text(repository, &entry.join("gitdir")) else { continue };
        // Relative where git was asked for that (`worktree.useRelativePaths`).
        let named = repository.path().join(&entry).join(named.trim_end_matches(['\n', '\r']));
        let (Some(parent), Some(last)) = (named.parent(), named.file_name()) else { continue };
        let (Ok(parent), Ok(file)) = (std::fs::metadata(parent), std::fs::symlink_metadata(&named)) else { continue };
        return Some(last == ".git" && identity(&parent) == folder.identity() && identity(&file) == (own.dev, own.ino));
    }
    Some(false)
}

fn identity(found: &std::fs::Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt as _;
    (found.dev(), found.ino())
}

fn text(root: &Root, rel: &Path) -> Option<String> {
    String::from_utf8(root.read(rel, LONGEST).ok()?.bytes).ok()
}
