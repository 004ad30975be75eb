//! Files of C and C++, and the namespaces in them; where an `#include` leads.
//!
//! Compilers look beside the file, then in folders that their command line names. Those are not known from the sources:
//! a file is taken whose path ends with what is written, if it is the only one.

use ccd_grammars::LanguageId;
use rustc_hash::FxHashMap;

use super::{Layout, ModuleId, file_name, folder, inner_modules, joined};
use crate::model::{FileId, Model};

/// Files of one name that are looked through.
const MAX_EQUAL_NAMES: usize = 4096;

/// Modules of files by their names.
#[derive(Debug, Default)]
pub(crate) struct Files(FxHashMap<String, Vec<ModuleId>>);

pub(crate) fn lay_out(layout: &mut Layout, model: &Model) {
    let mut files: Vec<(&str, FileId, LanguageId)> = model
        .entries()
        .filter(|(_, entry)| entry.language.family() == LanguageId::C)
        .map(|(id, entry)| (&*entry.rel, id, entry.language))
        .collect();
    files.sort_unstable();
    let mut by_name: FxHashMap<String, Vec<ModuleId>> = FxHashMap::default();
    for (rel, id, language) in files {
        let module = layout.add(rel.to_owned(), language, None, (id, 0));
        layout.by_path.insert((LanguageId::C, rel.to_owned()), module);
        by_name.entry(file_name(rel).to_owned()).or_default().push(module);
        for (definition, container, name) in inner_modules(model, id) {
            let mut parent = layout.module_of_scope(id, container).unwrap_or(module);
            // `namespace a::b` is one definition and two namespaces.
            for part in name.split("::").map(str::trim) {
                parent = match layout.modules[parent as usize].children.get(part).copied() {
                    Some(first) => {
                        layout.modules[first as usize].scopes.push((id, definition));
                        first
                    }
                    None => {
                        let path = format!("{}::{part}", layout.module(parent).path);
                        let inner = layout.add(path, language, Some(parent), (id, definition));
                        layout.modules[parent as usize].children.insert(part.to_owned(), inner);
                        inner
                    }
                };
            }
            layout.by_scope.insert((id, definition), parent);
        }
    }
    layout.c = Files(by_name);
}

impl Files {
    /// The file that `#include` names; one in `<…>` is not looked for beside the file.
    pub(crate) fn included(&self, layout: &Layout, from: &str, written: &str) -> Option<ModuleId> {
        let inner = written.strip_prefix('<').and_then(|rest| rest.strip_suffix('>'));
        let path = inner.unwrap_or(written);
        if inner.is_none()
            && let Some(beside) = joined(folder(from), path)
            && let Some(module) = layout.by_path(LanguageId::C, &beside)
        {
            return Some(module);
        }
        let path = path.trim_start_matches("./");
        let path = path.rsplit("../").next().unwrap_or(path);
        let fits = |module: &&ModuleId| {
            let rel = layout.module(**module).path.as_str();
            let Some(before) = rel.strip_suffix(path) else { return false };
            // `<errno.h>` is the system's, unless a folder for headers has one.
            let system = inner.is_some() && !path.contains('/') && file_name(before.trim_end_matches('/')) != "include";
            (before.is_empty() || before.ends_with('/')) && !system
        };
        let mut found = self.0.get(file_name(path))?.iter().take(MAX_EQUAL_NAMES).filter(fits);
        let first = found.next()?;
        found.next().is_none().then_some(*first)
    }
}
