//! The file of the grants: JSON, replaced whole. What is not exactly as we write it is not believed.

use std::path::{Path, PathBuf};

use ccd_files::{KeptFileError, read_kept, write_kept};
use ccd_protocol::workspace::Allowed;
use serde::{Deserialize, Serialize};

use super::{GRANTS, Grant};

/// The format; a file of another one is not read.
const FORMAT: u32 = 1;
/// Bytes of the file.
const LARGEST: u64 = 16 << 20;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: u32,
    grants: Vec<Entry>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// Roots are UTF-8.
    path: String,
    dev: u64,
    ino: u64,
    /// As text: JSON's numbers end before it does.
    born_ns: Option<String>,
    worktrees: bool,
    allow: Vec<Allowed>,
    since: u64,
}

/// Why there is nothing to read from.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    /// Its bytes are not ours, or not whole: another file can take its place.
    #[error("{0}")]
    Damaged(String),
    /// Nobody knows what is in it: it must not be replaced.
    #[error(transparent)]
    Unreadable(KeptFileError),
}

/// The grants, none if there is no file.
pub(super) fn read(path: &Path) -> Result<Vec<Grant>, Fault> {
    let bytes = read_kept(path, LARGEST).map_err(|error| match error {
        KeptFileError::Foreign { .. } | KeptFileError::TooLarge { .. } => Fault::Damaged(error.to_string()),
        KeptFileError::Folder(_) | KeptFileError::Io { .. } => Fault::Unreadable(error),
    })?;
    let Some(bytes) = bytes else { return Ok(Vec::new()) };
    let damaged = |why: String| Fault::Damaged(format!("{} is damaged ({why})", path.display()));
    let file: File = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
    if file.format != FORMAT || file.grants.len() > GRANTS {
        return Err(damaged(format!("format {}, {} grants", file.format, file.grants.len())));
    }
    let mut grants = Vec::new();
    for entry in file.grants {
        let born_ns = match entry.born_ns.map(|text| text.parse::<i128>()).transpose() {
            Ok(born) => born,
            Err(error) => return Err(damaged(error.to_string())),
        };
        let path = PathBuf::from(entry.path);
        if !path.is_absolute() {
            return Err(damaged("a path is not absolute".to_owned()));
        }
        let (dev, ino, since) = (entry.dev, entry.ino, entry.since);
        grants.push(Grant { path, dev, ino, born_ns, worktrees: entry.worktrees, allow: entry.allow, since });
    }
    Ok(grants)
}

/// Replaces the file.
pub(super) fn write(path: &Path, grants: &[Grant]) -> Result<(), KeptFileError> {
    let fail = |error| KeptFileError::Io { path: path.to_path_buf(), error };
    let entry = |grant: &Grant| {
        let path = grant.path.to_str().ok_or(std::io::ErrorKind::InvalidInput)?;
        Ok(Entry {
            path: path.to_owned(),
            dev: grant.dev,
            ino: grant.ino,
            born_ns: grant.born_ns.map(|born| born.to_string()),
            worktrees: grant.worktrees,
            allow: grant.allow.clone(),
            since: grant.since,
        })
    };
    let grants = grants.iter().map(entry).collect::<Result<_, std::io::Error>>().map_err(fail)?;
    let mut bytes = serde_json::to_vec(&File { format: FORMAT, grants }).map_err(|error| fail(error.into()))?;
    bytes.push(b'\n');
    // The state folder may not be there yet, and is private like the folder in it.
    if let Some(state) = path.parent().and_then(Path::parent) {
        ccd_files::private_folder(state)?;
    }
    write_kept(path, &bytes)
}

/// A file that cannot be used makes room for a new one, and is kept.
pub(super) fn set_aside(path: &Path) {
    if let Err(error) = ccd_files::set_aside_kept(path) {
        tracing::warn!(%error, "the damaged file of trusted roots cannot be set aside");
    }
}
