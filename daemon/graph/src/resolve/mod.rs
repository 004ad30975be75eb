//! From the facts of all files to the edges of one.
//!
//! A name leads to a definition by scope (the functions and modules around it) or by an import path, followed through
//! re-exports and glob imports. Exactly one definition makes an edge `exact`. What leads out of the workspace is
//! `external` and stays outside, whatever the workspace calls by the same name. The rest, a method of a receiver whose
//! type is not known above all, is kept once as `candidate` of all definitions of that name.
//!
//! Resolution reads the model and the layout and changes neither, so files are resolved in parallel.

mod builtin;
mod classes;
mod inherent;
mod lookup;
mod path;
mod site;

use std::{cell::RefCell, rc::Rc, sync::Arc};

use ccd_grammars::LanguageId;
use rustc_hash::{FxHashMap, FxHashSet};
use smallvec::SmallVec;

use crate::{
    Confidence, EdgeKind, SymbolKind,
    edges::{Class, EdgeRecord, FileEdges, Target},
    facts::{DefId, Import, ImportKind, Join, NONE, Segment, StrId, Strings, flag},
    layout::{Layout, ModuleId},
    model::{FileEntry, FileId, Model, Name},
};

/// Imports followed one after another; more is a cycle.
const MAX_HOPS: u32 = 24;
/// Entities that one import leads to (a module and a function may have one name).
const MAX_TARGETS: usize = 4;
/// Definitions of one name told apart: more than one is undecided, however many there are.
const MAX_BESIDE: usize = 64;

/// What a name leads to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Entity {
    Definition(FileId, DefId),
    Module(ModuleId),
    /// Out of the workspace: the path that leads there.
    External(Arc<str>),
}

/// A definition in its file.
type Place = (FileId, DefId);

/// Sites that name bases, by class.
type Extends = FxHashMap<DefId, Vec<u32>>;

pub(crate) type Entities = SmallVec<[Entity; 2]>;

/// What is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Want {
    /// What can be called.
    Value,
    /// A type.
    Type,
    /// What a path can go through.
    Prefix,
    Macro,
    /// What an import brings in: anything.
    Any,
}

/// Resolves files of one state of the model.
pub(crate) struct Resolver<'m> {
    pub(crate) model: &'m Model,
    pub(crate) layout: &'m Layout,
    found: RefCell<FxHashMap<(ModuleId, Name, Want, bool), Entities>>,
    owners: RefCell<FxHashMap<Place, Option<Place>>>,
    /// The sites of a file that name bases, by class.
    extends: RefCell<FxHashMap<FileId, Rc<Extends>>>,
    /// The files that a file of C or C++ includes, and those that they include.
    included: RefCell<FxHashMap<ModuleId, Rc<[ModuleId]>>>,
    /// Modules and names that are being looked for: a glob import may lead back.
    under_way: RefCell<Vec<(ModuleId, Name, Want, bool)>>,
    /// The same for names in functions.
    local_way: RefCell<Vec<(FileId, DefId, Name, Want)>>,
    /// Something was not looked for because it is under way.
    cut: RefCell<bool>,
}

/// Whether a definition of this kind can be what is looked for.
fn fits(kind: SymbolKind, want: Want, language: LanguageId) -> bool {
    use SymbolKind as K;
    let rust = language == LanguageId::RUST;
    if matches!(want, Want::Value | Want::Type) && inherent::has_this(language) {
        return inherent::fits(kind, want, language);
    }
    match want {
        Want::Any => true,
        Want::Macro => kind == K::Macro,
        Want::Type => {
            matches!(kind, K::Struct | K::Class | K::Enum | K::Interface | K::Trait | K::TypeAlias | K::EnumMember)
                || !rust && kind != K::Module
        }
        Want::Value if rust => {
            matches!(kind, K::Function | K::Method | K::Test | K::Struct | K::EnumMember | K::Constant | K::Variable | K::Field)
        }
        Want::Value => !matches!(kind, K::Module | K::Impl),
        Want::Prefix if rust => matches!(kind, K::Struct | K::Enum | K::Trait | K::TypeAlias),
        Want::Prefix => true,
    }
}

impl<'m> Resolver<'m> {
    pub(crate) fn new(model: &'m Model, layout: &'m Layout) -> Self {
        Self {
            model,
            layout,
            found: RefCell::default(),
            owners: RefCell::default(),
            extends: RefCell::default(),
            included: RefCell::default(),
            under_way: RefCell::default(),
            local_way: RefCell::default(),
            cut: RefCell::new(false),
        }
    }

    /// The edges of a file.
    pub(crate) fn resolve(&self, file: FileId) -> FileEdges {
        let Some(entry) = self.model.file(file) else { return FileEdges::default() };
        let mut out = Collector { edges: Vec::new(), paths: Strings::default(), known: FxHashMap::default() };
        for at in 0..entry.facts.imports.len() {
            self.import_edges(file, entry, at, &mut out);
        }
        self.way_edges(file, entry, &mut out);
        for site in &entry.facts.sites {
            self.site_edge(file, entry, site, &mut out);
        }
        self.trait_edges(file, entry, &mut out);
        out.edges.sort_by_key(|edge| (edge.place, edge.kind, edge.from));
        FileEdges { edges: out.edges, paths: out.paths }
    }

    fn import_edges(&self, file: FileId, entry: &FileEntry, at: usize, out: &mut Collector) {
        let import = &entry.facts.imports[at];
        let kind = import_kind(entry, import);
        let from = entry.facts.site_owner(import.scope);
        let name =
            [import.binding, import.item, entry.facts.last_name(import.path)].into_iter().find(|&id| id != NONE).unwrap_or(NONE);
        let found = match import.kind {
            // `import a.b` binds `a`, but what is imported is `a.b`.
            ImportKind::Module if entry.language == LanguageId::PYTHON => {
                let written = self.written(entry, import.path, NONE);
                match self.layout.imported(self.model, file, &written) {
                    Some(module) => [Entity::Module(module)].into_iter().collect(),
                    None => external(written),
                }
            }
            _ => self.import_target(file, at as u32, Want::Any, 0),
        };
        let mut targets = self.edge_targets(&found);
        targets.truncate(MAX_TARGETS);
        if targets.is_empty() {
            let written = self.written(entry, import.path, import.item);
            targets.push((Confidence::External, out.external(&written)));
        }
        for (confidence, to) in targets {
            let to = match to {
                Target::External(NONE) => {
                    let path =
                        found.iter().find_map(|one| if let Entity::External(path) = one { Some(path.to_string()) } else { None });
                    out.external(&path.unwrap_or_default())
                }
                to => to,
            };
            out.edges.push(EdgeRecord { from, kind, confidence, place: import.place, name, to });
        }
    }

    /// Edges to the files that imports name and that what they lead to does not stand in: a change there concerns the
    /// importing file as well, be it only the line that gives the name on.
    fn way_edges(&self, file: FileId, entry: &FileEntry, out: &mut Collector) {
        if !matches!(entry.language.family(), LanguageId::TYPESCRIPT | LanguageId::PYTHON) {
            return;
        }
        let mut known: FxHashSet<(DefId, FileId)> = FxHashSet::default();
        known.extend(out.edges.iter().filter_map(|edge| match edge.to {
            Target::Symbol(symbol) => Some((edge.from, self.model.symbols[symbol as usize].file)),
            _ => None,
        }));
        let mut last = None;
        for import in &entry.facts.imports {
            let written = self.written(entry, import.path, NONE);
            if last.as_ref() == Some(&(import.scope, written.clone())) {
                continue;
            }
            let from = entry.facts.site_owner(import.scope);
            let kind = import_kind(entry, import);
            for module in self.layout.way(self.model, file, &written) {
                let &(of, definition) = &self.layout.module(module).scopes[0];
                if of != file
                    && known.insert((from, of))
                    && let Some(to) = self.symbol(of, definition)
                {
                    out.edges.push(EdgeRecord { from, kind, confidence: Confidence::Exact, place: import.place, name: NONE, to });
                }
            }
            last = Some((import.scope, written));
        }
    }

    /// Definitions and modules as symbols; external ones with [`NONE`] in the place of the path.
    fn edge_targets(&self, found: &[Entity]) -> Vec<(Confidence, Target)> {
        let mut targets = Vec::new();
        for one in found {
            let target = match one {
                Entity::Definition(file, definition) => self.symbol(*file, *definition).map(|symbol| (Confidence::Exact, symbol)),
                Entity::Module(module) => {
                    let &(file, definition) = &self.layout.module(*module).scopes[0];
                    self.symbol(file, definition).map(|symbol| (Confidence::Exact, symbol))
                }
                Entity::External(_) => Some((Confidence::External, Target::External(NONE))),
            };
            targets.extend(target.filter(|target| !targets.contains(target)));
        }
        targets
    }

    fn symbol(&self, file: FileId, definition: DefId) -> Option<Target> {
        self.model.file(file)?.symbols.get(definition as usize).map(|&symbol| Target::Symbol(symbol))
    }

    /// An import as it is written, for what leads out.
    fn written(&self, entry: &FileEntry, path: u32, item: StrId) -> String {
        let facts = &entry.facts;
        let separator = entry.language.row().separator;
        let mut parts: Vec<&str> = facts
            .expr(path)
            .iter()
            .map(|segment| if segment.name == NONE { "" } else { facts.strings.get(segment.name) })
            .collect();
        if item != NONE {
            parts.push(facts.strings.get(item));
        }
        parts.retain(|part| !part.is_empty());
        parts.join(separator)
    }

    /// `impl Trait for Type`.
    fn trait_edges(&self, file: FileId, entry: &FileEntry, out: &mut Collector) {
        for (at, d) in entry.facts.definitions.iter().enumerate() {
            if d.of_trait == NONE {
                continue;
            }
            let name = entry.facts.last_name(d.of_trait);
            if name == NONE {
                continue;
            }
            let found = self.rust_path(file, d.container, entry.facts.expr(d.of_trait), Want::Type, 0);
            let (confidence, to) = self.decide(entry, &found.unwrap_or_default(), name, Class::Type, out);
            out.edges.push(EdgeRecord {
                from: at as DefId,
                kind: EdgeKind::Implements,
                confidence,
                place: d.name_range.0,
                name,
                to,
            });
        }
    }

    /// The target of an edge: one definition is exact; several, or none of a name that the workspace has, is undecided.
    pub(crate) fn decide(
        &self,
        entry: &FileEntry,
        found: &[Entity],
        name: StrId,
        class: Class,
        out: &mut Collector,
    ) -> (Confidence, Target) {
        let definitions = self.distinct(found);
        if let [(file, definition)] = definitions.as_slice()
            && let Some(symbol) = self.symbol(*file, *definition)
        {
            return (Confidence::Exact, symbol);
        }
        if definitions.is_empty()
            && let Some(path) = found.iter().find_map(|one| if let Entity::External(path) = one { Some(path) } else { None })
        {
            return (Confidence::External, out.external(path));
        }
        if definitions.is_empty() && !self.has_class(entry, name, class) {
            return (Confidence::External, out.external(entry.facts.strings.get(name)));
        }
        (Confidence::Candidate, Target::Undecided(class))
    }

    /// The same for a site: what leads out is told with the path that is written there.
    fn decide_site(
        &self,
        entry: &FileEntry,
        found: &[Entity],
        path: &[Segment],
        class: Class,
        out: &mut Collector,
    ) -> (Confidence, Target) {
        let name = path[path.len() - 1].name;
        let decided = self.decide(entry, found, name, class, out);
        let plain = path.len() > 1
            && path.iter().all(|segment| segment.name != NONE && !matches!(segment.join, Join::This | Join::Super));
        if decided.0 == Confidence::External && found.is_empty() && plain {
            let parts: Vec<&str> = path.iter().map(|segment| entry.facts.strings.get(segment.name)).collect();
            return (Confidence::External, out.external(&parts.join(entry.language.row().separator)));
        }
        decided
    }

    /// Different definitions. Overloads, and declarations beside their body, are one.
    fn distinct(&self, found: &[Entity]) -> SmallVec<[(FileId, DefId); 2]> {
        let mut out: SmallVec<[(FileId, DefId); 2]> = SmallVec::new();
        let mut replaced = None;
        for one in found {
            // Two are undecided as well as thousands.
            if out.len() >= MAX_BESIDE {
                break;
            }
            let Entity::Definition(file, definition) = *one else { continue };
            if out.contains(&(file, definition)) {
                continue;
            }
            let Some(entry) = self.model.file(file) else { continue };
            let facts = &entry.facts;
            let same = |a: DefId, b: DefId| {
                let (a, b) = (&facts.definitions[a as usize], &facts.definitions[b as usize]);
                a.container == b.container && a.name == b.name
            };
            if entry.language == LanguageId::PYTHON {
                // What is replaced is gone; those of other branches stay beside each other.
                if facts.definitions[definition as usize].flags & flag::REPLACED != 0 {
                    replaced = Some((file, definition));
                } else {
                    out.push((file, definition));
                }
                continue;
            }
            let merges = entry.language.family() == LanguageId::TYPESCRIPT;
            match out.iter().position(|&(other, d)| merges && other == file && same(d, definition)) {
                // The last one with a body stands.
                Some(at) if facts.definitions[definition as usize].flags & flag::NO_BODY == 0 => out[at] = (file, definition),
                Some(_) => {}
                None => out.push((file, definition)),
            }
        }
        if out.is_empty() {
            out.extend(replaced);
        }
        out
    }

    /// Whether the workspace has a definition of this name and class in a language that this one can call.
    pub(crate) fn has_class(&self, entry: &FileEntry, name: StrId, class: Class) -> bool {
        let Some(name) = entry.name(name) else { return false };
        let symbols = self.model.by_name.get(&name);
        symbols.into_iter().flatten().any(|&symbol| is_candidate(self.model, symbol, class, entry.language))
    }

    /// What an import leads to.
    pub(crate) fn import_target(&self, file: FileId, at: u32, want: Want, hops: u32) -> Entities {
        let Some(entry) = self.model.file(file) else { return Entities::new() };
        let import = &entry.facts.imports[at as usize];
        if hops > MAX_HOPS {
            *self.cut.borrow_mut() = true;
            return Entities::new();
        }
        if entry.language == LanguageId::RUST {
            let path = entry.facts.expr(import.path);
            return self.rust_path(file, import.scope, path, want, hops + 1).unwrap_or_default();
        }
        if entry.language == LanguageId::JAVA {
            return self.java_import(entry, import, want);
        }
        let written = self.written(entry, import.path, NONE);
        let module = self.layout.imported(self.model, file, &written);
        match (import.kind, module) {
            (ImportKind::Item, Some(module)) => {
                let Some(item) = entry.name(import.item) else { return Entities::new() };
                let found = self.lookup(module, item, want, true, hops + 1);
                // `from package import module`.
                match self.layout.module(module).children.get(self.model.text(item)) {
                    Some(&child) if found.is_empty() => [Entity::Module(child)].into_iter().collect(),
                    _ => found,
                }
            }
            // `from . import x` where the folder is no package with a file of its own.
            (ImportKind::Item, None) => {
                let item = entry.facts.strings.get(import.item);
                let joint = if written.ends_with('.') { "" } else { "." };
                match self.layout.imported(self.model, file, &format!("{written}{joint}{item}")) {
                    Some(module) if entry.language == LanguageId::PYTHON => [Entity::Module(module)].into_iter().collect(),
                    _ => external(self.written(entry, import.path, import.item)),
                }
            }
            (_, Some(module)) => {
                [Entity::Module(self.bound_module(entry, import.binding, &written, module))].into_iter().collect()
            }
            (_, None) if self.binds_first(entry, import.binding, &written) => {
                external(written.split('.').next().unwrap_or_default().to_owned())
            }
            (_, None) => external(written),
        }
    }

    /// `import a.b` binds `a`, not `a.b`.
    fn bound_module(&self, entry: &FileEntry, binding: StrId, written: &str, module: ModuleId) -> ModuleId {
        if !self.binds_first(entry, binding, written) {
            return module;
        }
        let first = written.split('.').next().unwrap_or_default();
        self.layout.by_path(LanguageId::PYTHON, first).unwrap_or(module)
    }

    fn binds_first(&self, entry: &FileEntry, binding: StrId, written: &str) -> bool {
        let first = written.split('.').next().unwrap_or_default();
        entry.language == LanguageId::PYTHON && binding != NONE && first != written && entry.facts.strings.get(binding) == first
    }
}

fn import_kind(entry: &FileEntry, import: &Import) -> EdgeKind {
    if import.exported && entry.language != LanguageId::PYTHON { EdgeKind::ReExports } else { EdgeKind::Imports }
}

pub(crate) fn external(path: String) -> Entities {
    [Entity::External(path.into())].into_iter().collect()
}

/// Whether a symbol may be what an undecided edge of this class means, seen from a language.
pub(crate) fn is_candidate(model: &Model, symbol: u32, class: Class, from: LanguageId) -> bool {
    use SymbolKind as K;
    let Some((entry, definition)) = model.place(symbol) else { return false };
    if entry.language.family() != from.family() {
        return false;
    }
    let facts = &entry.facts;
    let d = &facts.definitions[definition as usize];
    match class {
        Class::Macro => d.kind == K::Macro,
        Class::Type => matches!(d.kind, K::Struct | K::Class | K::Enum | K::Interface | K::Trait | K::TypeAlias),
        Class::Free => match d.kind {
            K::Function if d.flags & flag::DECLARED != 0 => inherent::is_only_declared(model, symbol),
            K::Function | K::Struct | K::Class | K::EnumMember => true,
            // A method of the class around is called without `this`.
            K::Method if inherent::has_this(from) => d.flags & flag::DECLARED == 0 || inherent::is_only_declared(model, symbol),
            K::Macro => from.family() == LanguageId::C,
            K::Test | K::TypeAlias | K::Interface => from.family() == LanguageId::GO,
            _ => false,
        },
        Class::Member => match d.kind {
            K::Method | K::Constructor => d.flags & flag::DECLARED == 0 || inherent::is_only_declared(model, symbol),
            // A function in a field, which is how C has methods.
            K::Field => from == LanguageId::C,
            // Tests in a class are methods.
            K::Test => from == LanguageId::PYTHON && d.container != 0,
            // A function that the body of a class imports is a method there.
            K::Function if from == LanguageId::PYTHON && d.container == 0 => {
                let name = entry.names[d.name as usize];
                entry.place_names.iter().any(|&place| model.class_imports.contains_key(&(name, place)))
            }
            _ => false,
        },
    }
}

/// Gathers the edges of a file.
pub(crate) struct Collector {
    pub(crate) edges: Vec<EdgeRecord>,
    paths: Strings,
    known: FxHashMap<String, StrId>,
}

impl Collector {
    pub(crate) fn external(&mut self, path: &str) -> Target {
        if let Some(&id) = self.known.get(path) {
            return Target::External(id);
        }
        self.paths.text.push_str(path);
        self.paths.ends.push(self.paths.text.len() as u32);
        let id = self.paths.ends.len() as StrId - 1;
        self.known.insert(path.to_owned(), id);
        Target::External(id)
    }
}
