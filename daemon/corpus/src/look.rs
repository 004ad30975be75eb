//! One path, looked at under the same rules as a walk.

use std::path::Path;

use ccd_files::{FileError, Root};

use crate::{
    Entry, Limits, Skipped,
    walk::{is_manifest, rules_for},
};

/// What a path is to a workspace.
#[derive(Clone, Debug)]
pub enum Looked {
    /// A source file.
    Source(Entry),
    /// A file that says how the project is laid out.
    Manifest,
    /// An ignore file: what it leaves out may have changed everywhere below.
    IgnoreFile,
    /// A folder that is walked.
    Folder,
    /// A source file that is left out, or anything that the ignore rules leave out.
    Skipped(Skipped),
    /// Nothing there any more.
    Gone,
    /// A file that no language claims.
    Other,
}

/// Looks at one path.
pub fn look(root: &Root, rel: &Path, limits: &Limits) -> Looked {
    let Some(name) = rel.file_name() else { return Looked::Folder };
    if name == ".gitignore" {
        return Looked::IgnoreFile;
    }
    let stat = match root.link_stat(rel) {
        Ok(stat) => stat,
        Err(FileError::NotFound) => return Looked::Gone,
        Err(error) => return Looked::Skipped(error.into()),
    };
    let Some(language) = ccd_grammars::language_of(name).map(Some).or_else(|| (stat.is_dir || is_manifest(name)).then_some(None))
    else {
        return Looked::Other;
    };
    if !rules_for(root, rel, stat.is_dir, limits) {
        return Looked::Skipped(Skipped::Ignored);
    }
    if stat.is_dir {
        return Looked::Folder;
    }
    if rel.to_str().is_none() {
        return Looked::Skipped(Skipped::PathNotUtf8);
    }
    if stat.is_link {
        return Looked::Skipped(Skipped::NotRegular { what: "link" });
    }
    if !stat.is_file {
        return Looked::Skipped(Skipped::NotRegular { what: "special file" });
    }
    match language {
        None => Looked::Manifest,
        Some(_) if stat.size > limits.max_file_bytes => {
            Looked::Skipped(Skipped::TooLarge { size: stat.size, limit: limits.max_file_bytes })
        }
        Some(language) => Looked::Source(Entry { rel: rel.to_path_buf(), stat, language }),
    }
}
