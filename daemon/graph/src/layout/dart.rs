//! Libraries of Dart: a file is one, together with its parts.
//!
//! Source: the Dart language specification, "Libraries and Scripts", and the package layout conventions: `package:name/`
//! is the folder `lib` beside the `pubspec.yaml` that has the name.

use ccd_grammars::LanguageId;

use super::{Layout, Manifests, ModuleId, file_name, folder, joined};
use crate::{
    facts::{Import, ImportKind, NONE},
    model::{FileEntry, FileId, Model},
};

/// Folders of packages by their names.
#[derive(Debug, Default)]
pub(crate) struct Packages(Vec<(String, String)>);

pub(crate) fn lay_out(layout: &mut Layout, model: &Model, manifests: &Manifests) {
    for (path, bytes) in manifests.iter().filter(|(path, _)| file_name(path) == "pubspec.yaml") {
        let text = String::from_utf8_lossy(bytes);
        let name = text.lines().find_map(|line| line.strip_prefix("name:"));
        if let Some(name) = name {
            let name = name.split('#').next().unwrap_or_default().trim().trim_matches(['"', '\'']);
            layout.dart.0.push((name.to_owned(), folder(path).to_owned()));
        }
    }
    let mut files: Vec<(&str, FileId)> =
        model.entries().filter(|(_, entry)| entry.language == LanguageId::DART).map(|(id, entry)| (&*entry.rel, id)).collect();
    files.sort_unstable();
    for &(rel, id) in &files {
        let module = layout.add(rel.to_owned(), LanguageId::DART, None, (id, 0));
        layout.by_path.insert((LanguageId::DART, rel.to_owned()), module);
        if let Some(entry) = model.file(id).filter(|entry| entry.facts.package != NONE) {
            let name = format!("library:{}", entry.facts.strings.get(entry.facts.package));
            layout.by_path.entry((LanguageId::DART, name)).or_insert(module);
        }
    }
    // Parts know the names of their library, and it knows theirs.
    for (rel, id) in files {
        let Some(entry) = model.file(id) else { continue };
        let Some(library) = layout.by_path(LanguageId::DART, rel) else { continue };
        for import in entry.facts.imports.iter().filter(|import| import.kind == ImportKind::SideEffect) {
            let Some(part) = layout.dart.imported(layout, rel, written(entry, import)) else { continue };
            let (of, _) = layout.module(part).scopes[0];
            if of != id && model.file(of).is_some_and(|part| is_part_of(layout, part, library)) {
                layout.modules[library as usize].scopes.push((of, 0));
                layout.by_scope.insert((of, 0), library);
            }
        }
    }
}

/// Whether a file says `part of` this library.
fn is_part_of(layout: &Layout, part: &FileEntry, library: ModuleId) -> bool {
    let imports = part.facts.imports.iter();
    let mut said = imports.filter(|import| import.kind == ImportKind::Module && import.binding == NONE);
    said.any(|import| layout.dart.imported(layout, &part.rel, written(part, import)) == Some(library))
}

fn written<'f>(entry: &'f FileEntry, import: &Import) -> &'f str {
    match entry.facts.last_name(import.path) {
        NONE => "",
        name => entry.facts.strings.get(name),
    }
}

impl Packages {
    pub(crate) fn imported(&self, layout: &Layout, from: &str, written: &str) -> Option<ModuleId> {
        let path = match written.strip_prefix("package:") {
            Some(path) => {
                let (name, rest) = path.split_once('/')?;
                let (_, base) = self.0.iter().find(|(known, _)| known == name)?;
                joined(base, &format!("lib/{rest}"))?
            }
            None if written.starts_with("dart:") => return None,
            None => joined(folder(from), written)?,
        };
        // `part of` may name the library in the place of its file.
        layout.by_path(LanguageId::DART, &path).or_else(|| layout.by_path(LanguageId::DART, &format!("library:{written}")))
    }
}
