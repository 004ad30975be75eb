//! Modules of Python: a file is one, a folder with `__init__.py` a package.
//!
//! Source: the language reference, "The import system". Where the path begins cannot be known from the sources alone:
//! the folder above the topmost package, the workspace root and `src` are taken.

use ccd_grammars::LanguageId;
use rustc_hash::FxHashSet;

use super::{Layout, ModuleId, file_name, folder};
use crate::model::{FileId, Model};

/// Which modules are packages.
#[derive(Debug, Default)]
pub(crate) struct Packages(FxHashSet<ModuleId>);

pub(crate) fn lay_out(layout: &mut Layout, model: &Model) {
    let mut files: Vec<(&str, FileId)> =
        model.entries().filter(|(_, entry)| entry.language == LanguageId::PYTHON).map(|(id, entry)| (&*entry.rel, id)).collect();
    // Packages before their modules; stubs behind sources.
    files.sort_by_key(|(rel, _)| (rel.ends_with(".pyi"), folder(rel).len(), file_name(rel) != "__init__.py", *rel));
    for (rel, id) in files {
        let own = rel.trim_end_matches(".pyi").trim_end_matches(".py");
        let is_package = file_name(own) == "__init__";
        let place = if is_package { folder(own) } else { own };
        // The topmost folder in a row that is a package.
        let mut top = folder(place);
        if is_package || has_init(model, top) {
            while has_init(model, top) && !top.is_empty() {
                top = folder(top);
            }
        }
        let dotted = |base: &str| place[base.len()..].trim_start_matches('/').replace('/', ".");
        let name = dotted(top);
        let module = layout.add(name.clone(), LanguageId::PYTHON, None, (id, 0));
        for alias in [name, dotted(""), dotted(if place.starts_with("src/") { "src" } else { "" })] {
            if !alias.is_empty() {
                layout.by_path.entry((LanguageId::PYTHON, alias)).or_insert(module);
            }
        }
        if is_package {
            layout.python.0.insert(module);
        }
        // Where relative imports begin.
        layout.by_path.entry((LanguageId::PYTHON, format!("place:{place}"))).or_insert(module);
        let parent = layout.by_path(LanguageId::PYTHON, &format!("place:{}", folder(place)));
        if let Some(parent) = parent
            && parent != module
        {
            layout.modules[parent as usize].children.entry(file_name(place).to_owned()).or_insert(module);
            layout.modules[module as usize].parent = Some(parent);
        }
    }
}

fn has_init(model: &Model, base: &str) -> bool {
    ["__init__.py", "__init__.pyi"].iter().any(|init| {
        let path = if base.is_empty() { (*init).to_owned() } else { format!("{base}/{init}") };
        model.by_path.contains_key(path.as_str())
    })
}

impl Packages {
    /// The module of a dotted name, relative ones counted from the file.
    pub(crate) fn imported(&self, layout: &Layout, file: FileId, written: &str) -> Option<ModuleId> {
        let dots = written.bytes().take_while(|&byte| byte == b'.').count();
        let name = written[dots..].trim();
        if dots == 0 {
            return layout.by_path(LanguageId::PYTHON, name);
        }
        let module = layout.module_of_scope(file, 0)?;
        // One dot is the package: the module itself if it is one.
        let mut at = if self.0.contains(&module) { module } else { layout.module(module).parent? };
        for _ in 1..dots {
            at = layout.module(at).parent?;
        }
        name.split('.').filter(|part| !part.is_empty()).try_fold(at, |at, part| layout.module(at).children.get(part).copied())
    }
}
