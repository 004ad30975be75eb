//! Which checkouts a person has trusted.
//!
//! A grant names a folder, not a path: the canonical path with device, inode and, where the file system keeps it, the
//! time at which the folder was made. Grants lie in the state folder of the user, in one file that is replaced whole.
//! Nothing that lies in a checkout has a say: what a worktree says of itself counts only where the trusted repository
//! says the same. What cannot be read or decided is untrusted.

mod store;
mod worktree;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{SystemTime, UNIX_EPOCH},
};

use ccd_files::{KeptFileError, Root};
use ccd_protocol::workspace::{Allowed, TrustState, TrustWord, TrustedBy, TrustedRoot};

use crate::workspaces::place::shown;

/// Grants that are kept.
pub(crate) const GRANTS: usize = 1024;

/// A folder as it was when it was trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Grant {
    path: PathBuf,
    dev: u64,
    ino: u64,
    born_ns: Option<i128>,
    worktrees: bool,
    allow: Vec<Allowed>,
    /// Seconds since 1970.
    since: u64,
}

impl Grant {
    fn of(root: &Root, worktrees: bool, mut allow: Vec<Allowed>) -> Self {
        let (dev, ino) = root.identity();
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
        allow.sort_unstable();
        allow.dedup();
        Self { path: root.path().to_path_buf(), dev, ino, born_ns: root.born_ns(), worktrees, allow, since }
    }

    /// Whether this is the very folder that was trusted.
    fn is_of(&self, root: &Root) -> bool {
        let same_birth = match (self.born_ns, root.born_ns()) {
            (Some(then), Some(now)) => then == now,
            // One of them was not told: the numbers have to do.
            _ => true,
        };
        root.path() == self.path && root.identity() == (self.dev, self.ino) && same_birth
    }

    /// The trusted folder, if it still stands where it was.
    fn open(&self) -> Option<Root> {
        Root::open(&self.path, None).ok().filter(|root| self.is_of(root))
    }

    fn shown(&self) -> TrustedRoot {
        TrustedRoot { root: shown(&self.path), worktrees: self.worktrees, allow: self.allow.clone(), since: self.since }
    }
}

/// Why a grant was not made or taken back.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TrustError {
    #[error(transparent)]
    File(#[from] KeptFileError),
    #[error("{GRANTS} roots are trusted already")]
    Full,
}

/// The grants.
pub(crate) struct Trust {
    file: PathBuf,
    known: Mutex<Known>,
    /// One change of the file at a time; never held by those who ask.
    change: Mutex<()>,
}

#[derive(Default)]
struct Known {
    grants: Arc<Vec<Grant>>,
    /// Why the file could not be read; nothing is trusted by it then.
    fault: Option<String>,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Trust {
    /// The grants in this folder. Blocks for one small file.
    pub(crate) fn new(folder: &Path) -> Self {
        let file = folder.join("trust").join("grants.json");
        let known = match store::read(&file) {
            Ok(grants) => Known { grants: Arc::new(grants), fault: None },
            Err(fault) => {
                let fault = fault.to_string();
                tracing::error!(fault, "the file of trusted roots cannot be used; no root is trusted by a grant");
                Known { grants: Arc::default(), fault: Some(fault) }
            }
        };
        Self { file, known: Mutex::new(known), change: Mutex::new(()) }
    }

    fn grants(&self) -> Arc<Vec<Grant>> {
        Arc::clone(&locked(&self.known).grants)
    }

    /// All grants, by root. From memory.
    pub(crate) fn list(&self) -> Vec<TrustedRoot> {
        self.grants().iter().map(Grant::shown).collect()
    }

    /// What is not as it should be. From memory.
    pub(crate) fn notice(&self) -> Option<String> {
        let fault = locked(&self.known).fault.clone()?;
        Some(format!("No root is trusted by a grant: {fault}. `ccctl trust` sets a damaged file aside and begins a new one."))
    }

    /// Grants trust; true if that changed anything. When it returns, it survives a power cut. Blocks.
    pub(crate) fn grant(&self, root: &Root, worktrees: bool, allow: Vec<Allowed>) -> Result<bool, TrustError> {
        let grant = Grant::of(root, worktrees, allow);
        self.change(|grants| {
            let old = grants.iter().find(|known| known.path == grant.path);
            if old.is_some_and(|old| Grant { since: grant.since, ..old.clone() } == grant) {
                return Ok(false);
            }
            grants.retain(|known| known.path != grant.path);
            if grants.len() >= GRANTS {
                return Err(TrustError::Full);
            }
            grants.push(grant);
            Ok(true)
        })
    }

    /// Takes trust back from whatever was trusted at a path; true if something was. Blocks.
    pub(crate) fn revoke(&self, path: &Path) -> Result<bool, TrustError> {
        self.change(|grants| {
            let before = grants.len();
            grants.retain(|known| known.path != path);
            Ok(grants.len() < before)
        })
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Grant>) -> Result<bool, TrustError>) -> Result<bool, TrustError> {
        let _one = locked(&self.change);
        // The file and not our memory of it: a daemon with another runtime folder may share it, and what that one took
        // back must not return.
        let (mut grants, damaged) = match store::read(&self.file) {
            Ok(grants) => (grants, false),
            Err(store::Fault::Damaged(_)) => (Vec::new(), true),
            Err(store::Fault::Unreadable(error)) => return Err(error.into()),
        };
        let changed = change(&mut grants)?;
        if changed {
            if damaged {
                store::set_aside(&self.file);
            }
            grants.sort_by(|a, b| a.path.cmp(&b.path));
            if let Err(error) = store::write(&self.file, &grants) {
                // The last step may have failed alone: what stands now is what the file says.
                if let Ok(grants) = store::read(&self.file) {
                    *locked(&self.known) = Known { grants: Arc::new(grants), fault: None };
                }
                return Err(error.into());
            }
        }
        if changed || !damaged {
            *locked(&self.known) = Known { grants: Arc::new(grants), fault: None };
        }
        Ok(changed)
    }

    /// How a root stands. `folders` are those of the configuration, with `~/` for the home. Looks at the disk: blocks.
    pub(crate) fn of<'a>(&self, root: &Root, folders: impl IntoIterator<Item = &'a str>, home: Option<&Path>) -> TrustState {
        let trusted = |by, from: Option<String>, allow: &[Allowed]| TrustState {
            state: TrustWord::Trusted,
            by: Some(by),
            from,
            allow: allow.to_vec(),
            detail: None,
            fix: None,
        };
        let grants = self.grants();
        // A root that was moved away or replaced while it was held open is not where it was trusted.
        let stands = root.is_current();
        if let Some(grant) = grants.iter().find(|grant| stands && grant.is_of(root)) {
            return trusted(TrustedBy::Grant, None, &grant.allow);
        }
        if stands {
            for grant in grants.iter().filter(|grant| grant.worktrees && grant.path != root.path()) {
                if grant.open().is_some_and(|repository| worktree::is_of(root, &repository)) {
                    return trusted(TrustedBy::Worktree, Some(shown(&grant.path)), &grant.allow);
                }
            }
            for folder in folders {
                let path = match (folder.strip_prefix("~/"), home) {
                    (Some(rest), Some(home)) => home.join(rest),
                    (Some(_), None) => continue,
                    (None, _) => PathBuf::from(folder),
                };
                let Ok(path) = std::fs::canonicalize(path) else { continue };
                if root.path() != path && root.path().starts_with(&path) {
                    return trusted(TrustedBy::Config, Some(folder.to_owned()), &[]);
                }
            }
        }
        let replaced = grants.iter().any(|grant| grant.path == root.path());
        TrustState {
            detail: replaced.then(|| {
                "Another folder lies here than the one that was trusted; trust is of a folder, not of its path.".to_owned()
            }),
            ..untrusted(root.path())
        }
    }
}

/// A root that nobody trusts.
pub(crate) fn untrusted(root: &Path) -> TrustState {
    TrustState {
        state: TrustWord::Untrusted,
        by: None,
        from: None,
        allow: Vec::new(),
        detail: None,
        fix: Some(format!("ccctl trust {}", quoted(&shown(root)))),
    }
}

/// A path as a shell takes it.
fn quoted(path: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@%:,=".contains(c);
    if path.chars().all(plain) { path.to_owned() } else { format!("'{}'", path.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests;
