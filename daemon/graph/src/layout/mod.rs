//! How a project is laid out: which modules there are, which files they consist of, and what a written path names.
//!
//! It follows from the paths of the files, the manifests, and the module declarations, package clauses and glob imports
//! in the facts (the shape of the model), and is made anew only when one of them changes.

mod c;
mod dart;
mod go;
mod java;
mod python;
mod rust;
mod typescript;

use std::collections::BTreeMap;

use ccd_grammars::LanguageId;
use rustc_hash::FxHashMap;

use crate::{
    SymbolKind,
    facts::{DefId, flag},
    model::{FileId, Model, stable_hash},
};

/// A module: its index in [`Layout::modules`].
pub(crate) type ModuleId = u32;

/// The manifests of a workspace: path relative to the root, bytes.
pub(crate) type Manifests = BTreeMap<String, Vec<u8>>;

/// A namespace: a file, a package of several files, or a part of a file.
#[derive(Debug)]
pub(crate) struct Module {
    /// Its name as the language writes it (`tokio::net`, `example.com/m/pkg`, `pkg.mod`, a path).
    pub(crate) path: String,
    pub(crate) language: LanguageId,
    /// Definitions whose names are its names; several files make a package.
    pub(crate) scopes: Vec<(FileId, DefId)>,
    pub(crate) parent: Option<ModuleId>,
    /// Inner modules by name.
    pub(crate) children: FxHashMap<String, ModuleId>,
    /// The root of its crate; itself for a language without crates.
    pub(crate) root: ModuleId,
}

/// The layout.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub(crate) modules: Vec<Module>,
    by_scope: FxHashMap<(FileId, DefId), ModuleId>,
    /// By the name that other modules use, for languages where it is one string.
    by_path: FxHashMap<(LanguageId, String), ModuleId>,
    rust: rust::Crates,
    go: go::Packages,
    typescript: typescript::Resolution,
    python: python::Packages,
    c: c::Files,
    dart: dart::Packages,
}

impl Layout {
    /// Makes the layout of a model.
    pub(crate) fn new(model: &Model, manifests: &Manifests) -> Self {
        let mut layout = Self::default();
        rust::lay_out(&mut layout, model, manifests);
        go::lay_out(&mut layout, model, manifests);
        typescript::lay_out(&mut layout, model, manifests);
        python::lay_out(&mut layout, model);
        c::lay_out(&mut layout, model);
        dart::lay_out(&mut layout, model, manifests);
        java::lay_out(&mut layout, model);
        layout
    }

    fn add(&mut self, path: String, language: LanguageId, parent: Option<ModuleId>, scope: (FileId, DefId)) -> ModuleId {
        let id = self.modules.len() as ModuleId;
        let root = parent.map_or(id, |parent| self.modules[parent as usize].root);
        self.modules.push(Module { path, language, scopes: vec![scope], parent, children: FxHashMap::default(), root });
        self.by_scope.insert(scope, id);
        id
    }

    pub(crate) fn module(&self, id: ModuleId) -> &Module {
        &self.modules[id as usize]
    }

    /// The module that a definition opens, if it opens one.
    pub(crate) fn module_of_scope(&self, file: FileId, definition: DefId) -> Option<ModuleId> {
        self.by_scope.get(&(file, definition)).copied()
    }

    /// The innermost module around a definition.
    pub(crate) fn module_around(&self, model: &Model, file: FileId, definition: DefId) -> Option<ModuleId> {
        let facts = &model.file(file)?.facts;
        facts.chain(definition).find_map(|at| self.module_of_scope(file, at))
    }

    /// A module by the name that other modules use.
    pub(crate) fn by_path(&self, language: LanguageId, path: &str) -> Option<ModuleId> {
        self.by_path.get(&(language.family(), path.to_owned())).copied()
    }

    /// The crate that a name of the extern prelude means in a crate.
    pub(crate) fn rust_crate(&self, root: ModuleId, name: &str) -> Option<ModuleId> {
        self.rust.find(root, name)
    }

    /// The module that an import names, as seen from a file; none for Rust, whose paths are followed name by name.
    pub(crate) fn imported(&self, model: &Model, file: FileId, written: &str) -> Option<ModuleId> {
        let entry = model.file(file)?;
        match entry.language.family() {
            LanguageId::GO => self.go.imported(self, &entry.rel, written),
            LanguageId::TYPESCRIPT => self.typescript.imported(self, model, &entry.rel, written),
            LanguageId::PYTHON => self.python.imported(self, file, written),
            LanguageId::C => self.c.included(self, &entry.rel, written),
            LanguageId::DART => self.dart.imported(self, &entry.rel, written),
            LanguageId::JAVA => self.by_path(LanguageId::JAVA, written),
            _ => None,
        }
    }
}

impl Layout {
    /// The modules that a written import of TypeScript or Python names: the last one, and the packages before it, which
    /// Python runs on the way there.
    pub(crate) fn way(&self, model: &Model, file: FileId, written: &str) -> Vec<ModuleId> {
        let python = model.file(file).is_some_and(|entry| entry.language == LanguageId::PYTHON);
        let dots = if python { written.bytes().take_while(|&byte| byte == b'.').count() } else { written.len() };
        let inner = written.bytes().enumerate().skip(dots).filter(|&(_, byte)| byte == b'.').map(|(at, _)| at);
        inner.chain([written.len()]).filter_map(|end| self.imported(model, file, &written[..end])).collect()
    }

    /// A hash of what a file is here: its module, and the crate or package around it.
    pub(crate) fn home(&self, model: &Model, file: FileId) -> u64 {
        let Some(module) = self.module_of_scope(file, 0) else { return 1 };
        let module = self.module(module);
        // A crate is told from others by the file of its root; a package of several files has no first one.
        let &(root, _) = &self.module(module.root).scopes[0];
        let root = model.file(root).filter(|entry| entry.language == LanguageId::RUST).map_or("", |entry| &*entry.rel);
        let parent = module.parent.map_or("", |parent| self.module(parent).path.as_str());
        // Where a crate's names lead is a matter of its manifest, which is part of the shape.
        let package = model.file(file).filter(|entry| entry.facts.package != crate::facts::NONE);
        let package = package.map_or("", |entry| entry.facts.strings.get(entry.facts.package));
        stable_hash(&[module.path.as_bytes(), parent.as_bytes(), root.as_bytes(), package.as_bytes()])
    }

    /// A hash of the modules that the imports of a file lead to.
    pub(crate) fn routes(&self, model: &Model, file: FileId) -> u64 {
        let Some(entry) = model.file(file).filter(|entry| entry.language != LanguageId::RUST) else { return 0 };
        let facts = &entry.facts;
        let text = |id: u32| if id == crate::facts::NONE { "" } else { facts.strings.get(id) };
        let mut last = (u32::MAX, None);
        let mut way: Vec<ModuleId> = Vec::new();
        facts.imports.iter().fold(1u64, |hash, import| {
            let written = facts.expr(import.path).first().map_or(crate::facts::NONE, |segment| segment.name);
            if last.0 != written {
                last = (written, self.imported(model, file, text(written)));
                way = if entry.language == LanguageId::PYTHON { self.way(model, file, text(written)) } else { Vec::new() };
            }
            let item = text(import.item);
            // An import of a package is told as one of its first file.
            let path = |module: Option<ModuleId>| {
                let module = module.map(|module| self.module(module));
                let first = module.and_then(|module| model.file(module.scopes[0].0)).map_or("", |entry| &*entry.rel);
                [module.map_or("", |module| &module.path), " ", first].concat()
            };
            let child = last.1.and_then(|module| self.module(module).children.get(item).copied());
            // `from . import x` without a package around it.
            let joint = if text(written).ends_with('.') { "" } else { "." };
            let beside = match last.1 {
                None if entry.language == LanguageId::PYTHON && !item.is_empty() => {
                    self.imported(model, file, &format!("{}{joint}{item}", text(written)))
                }
                _ => None,
            };
            let way = way.iter().map(|&module| path(Some(module)));
            let parts = [path(last.1), path(child), path(beside)].into_iter().chain(way).collect::<Vec<_>>().join("\n");
            hash.rotate_left(5) ^ stable_hash(&[parts.as_bytes()])
        })
    }
}

/// The folder of a path; empty for one at the root.
pub(crate) fn folder(rel: &str) -> &str {
    rel.rsplit_once('/').map_or("", |(folder, _)| folder)
}

/// The name of a path without its folder.
pub(crate) fn file_name(rel: &str) -> &str {
    rel.rsplit_once('/').map_or(rel, |(_, name)| name)
}

/// A path with `.` and `..` taken out; none if it leads out of the root.
pub(crate) fn joined(folder: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Definitions of a file that are modules with their own body.
fn inner_modules(model: &Model, file: FileId) -> Vec<(DefId, DefId, String)> {
    let Some(entry) = model.file(file) else { return Vec::new() };
    let facts = &entry.facts;
    let is_module = |d: &crate::facts::Definition| d.kind == SymbolKind::Module && d.flags & flag::ELSEWHERE == 0;
    facts
        .definitions
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(_, d)| is_module(d))
        .map(|(at, d)| (at as DefId, d.container, facts.strings.get(d.name).to_owned()))
        .collect()
}
