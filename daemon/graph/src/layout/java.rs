//! Packages of Java: the files whose package clauses name it, wherever they lie.
//!
//! Source: the Java language specification, chapter 7. Files without a clause are a package a folder.

use ccd_grammars::LanguageId;

use super::{Layout, folder};
use crate::{
    facts::NONE,
    model::{FileId, Model},
};

pub(crate) fn lay_out(layout: &mut Layout, model: &Model) {
    let mut files: Vec<(&str, FileId)> =
        model.entries().filter(|(_, entry)| entry.language == LanguageId::JAVA).map(|(id, entry)| (&*entry.rel, id)).collect();
    files.sort_unstable();
    for (rel, id) in files {
        let Some(entry) = model.file(id) else { continue };
        let package = if entry.facts.package == NONE { "" } else { entry.facts.strings.get(entry.facts.package) };
        let key = if package.is_empty() { format!("folder:{}", folder(rel)) } else { package.to_owned() };
        match layout.by_path(LanguageId::JAVA, &key) {
            Some(module) => {
                layout.modules[module as usize].scopes.push((id, 0));
                layout.by_scope.insert((id, 0), module);
            }
            None => {
                let module = layout.add(package.to_owned(), LanguageId::JAVA, None, (id, 0));
                layout.by_path.insert((LanguageId::JAVA, key), module);
            }
        }
    }
}
