//! Which files are searched.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use ccd_corpus::{Cancel, Entry, Limits, Walk, WalkError};
use ccd_files::{FileError, Root};
use ccd_grammars::LanguageId;
use globset::GlobMatcher;

/// What narrows a search.
#[derive(Debug)]
pub(crate) struct Within {
    /// The grammars; files of others are not looked at.
    pub(crate) languages: Vec<LanguageId>,
    /// Over the path relative to the root.
    pub(crate) glob: Option<GlobMatcher>,
    /// Files and folders, relative to the root; none is the whole root.
    pub(crate) paths: Option<Vec<PathBuf>>,
}

/// The files.
#[derive(Debug, Default)]
pub(crate) struct Scope {
    /// By the bytes of their path.
    pub(crate) files: Vec<Entry>,
    /// Left out, by reason.
    pub(crate) skipped: BTreeMap<&'static str, u64>,
    /// Those that are left out because they are too large.
    pub(crate) too_large: Vec<(PathBuf, LanguageId)>,
}

/// Why there is no scope.
#[derive(Debug)]
pub(crate) enum ScopeError {
    /// The caller is gone.
    Cancelled,
    /// This path cannot be searched.
    File(PathBuf, FileError),
}

impl Within {
    /// The grammar that a file is searched with, if it is wanted. A header counts as C by its name, and C++ reads both.
    fn takes(&self, rel: &Path, language: LanguageId) -> Option<LanguageId> {
        let header = || language == LanguageId::C && rel.extension().is_some_and(|ending| ending == "h");
        let grammar = if self.languages.contains(&language) {
            language
        } else if self.languages.contains(&LanguageId::CPP) && header() {
            LanguageId::CPP
        } else {
            return None;
        };
        self.matches(rel).then_some(grammar)
    }

    fn matches(&self, rel: &Path) -> bool {
        self.glob.as_ref().is_none_or(|glob| glob.is_match(rel))
    }
}

/// Finds the files of a search. Blocks.
pub(crate) fn scope(root: &Root, within: &Within, limits: &Limits, cancel: &Cancel) -> Result<Scope, ScopeError> {
    let mut scope = Scope::default();
    let whole = [PathBuf::new()];
    let mut folders: Vec<PathBuf> = Vec::new();
    for rel in within.paths.as_deref().unwrap_or(&whole) {
        let failed = |error| ScopeError::File(rel.clone(), error);
        let traced = root.trace(rel).map_err(failed)?;
        let target = match traced.link {
            Some(target) => target.map_err(failed)?,
            None => traced.entry,
        };
        let stat = root.stat(&target).map_err(failed)?;
        if stat.is_dir {
            folders.push(target);
        } else if !stat.is_file {
            // Its kind is known to who opens it.
            root.open_file(&target).map_err(failed)?;
        } else if within.matches(&target) {
            scope.name(target, stat, within, limits);
        }
    }
    // A folder in another one is walked with it.
    folders.sort_unstable();
    folders.dedup_by(|inner, outer| inner.starts_with(&*outer));
    for folder in folders {
        let walk = ccd_corpus::walk_below(root, &folder, limits, cancel).map_err(|error| match error {
            WalkError::Cancelled => ScopeError::Cancelled,
            WalkError::Root(error) => ScopeError::File(folder.clone(), error),
        })?;
        if walk.folders.is_empty() {
            scope.skip("ignored", 1);
        }
        scope.take(walk, within);
    }
    scope.files.sort_unstable_by(|a, b| a.rel.as_os_str().as_encoded_bytes().cmp(b.rel.as_os_str().as_encoded_bytes()));
    scope.files.dedup_by(|a, b| a.rel == b.rel);
    scope.too_large.sort_unstable();
    scope.too_large.dedup();
    if !scope.too_large.is_empty() {
        scope.skipped.insert("too_large", scope.too_large.len() as u64);
    }
    Ok(scope)
}

impl Scope {
    fn skip(&mut self, reason: &'static str, files: u64) {
        *self.skipped.entry(reason).or_default() += files;
    }

    /// What a walk found, as far as it is wanted. Folders that were left out may hold anything, and count.
    fn take(&mut self, walk: Walk, within: &Within) {
        let mut folders = walk.skipped;
        for (_, _, reason) in &walk.left_out {
            if let Some(count) = folders.get_mut(reason) {
                *count -= 1;
            }
        }
        for (reason, count) in folders.into_iter().filter(|(_, count)| *count > 0) {
            self.skip(reason, count);
        }
        for (rel, language, reason) in walk.left_out {
            if let Some(language) = within.takes(&rel, language) {
                match reason {
                    "too_large" => self.too_large.push((rel, language)),
                    reason => self.skip(reason, 1),
                }
            }
        }
        let wanted = |file: Entry| Some(Entry { language: within.takes(&file.rel, file.language)?, ..file });
        self.files.extend(walk.files.into_iter().filter_map(wanted));
    }

    /// A file that was asked for by its name: it is read in the language asked for.
    fn name(&mut self, rel: PathBuf, stat: ccd_files::Stat, within: &Within, limits: &Limits) {
        let own = ccd_grammars::language_of_path(&rel).filter(|own| within.languages.contains(own));
        let Some(language) = own.or_else(|| within.languages.first().copied()) else { return };
        if stat.size > limits.max_file_bytes {
            self.too_large.push((rel, language));
        } else {
            self.files.push(Entry { rel, stat, language });
        }
    }
}
