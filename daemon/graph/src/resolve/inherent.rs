//! What C, C++, Dart and Java have in common: members are called without `this`, from inside of the type.

use std::rc::Rc;

use ccd_grammars::LanguageId;
use rustc_hash::FxHashSet;

use super::{Entities, Entity, Resolver, Want, external};
use crate::{
    SymbolKind,
    facts::{DefId, Import, ImportKind, NONE, flag},
    layout::ModuleId,
    model::{FileEntry, FileId, Item, Model, Name},
};

/// Symbols of one name among which the body of a declaration is looked for.
const MAX_EQUALS: usize = 256;
/// Files that one includes, directly or through others.
const MAX_INCLUDED: usize = 2000;

/// Whether a plain name may mean a member of the type around.
pub(super) fn has_this(language: LanguageId) -> bool {
    matches!(language.family(), LanguageId::C | LanguageId::DART | LanguageId::JAVA)
}

/// Whether a definition of this kind can be what is called, or a type.
pub(super) fn fits(kind: SymbolKind, want: Want, language: LanguageId) -> bool {
    use SymbolKind as K;
    match kind {
        K::Struct | K::Class | K::TypeAlias => want == Want::Type || language != LanguageId::JAVA,
        K::Enum | K::Interface | K::Trait => want == Want::Type,
        K::Function | K::Method | K::Test => want == Want::Value,
        K::Constructor => want == Want::Value && language != LanguageId::JAVA,
        K::Variable | K::Constant | K::Field | K::Macro => want == Want::Value && language != LanguageId::JAVA,
        _ => false,
    }
}

fn is_type(kind: SymbolKind) -> bool {
    use SymbolKind as K;
    matches!(kind, K::Class | K::Struct | K::Interface | K::Enum | K::Impl)
}

fn is_callable(kind: SymbolKind) -> bool {
    use SymbolKind as K;
    matches!(kind, K::Function | K::Method | K::Constructor | K::Test | K::Macro)
}

/// Whether the workspace has no body of a function that is declared.
pub(super) fn is_only_declared(model: &Model, symbol: u32) -> bool {
    let Some((entry, at)) = model.place(symbol) else { return false };
    let name = entry.names[entry.facts.definitions[at as usize].name as usize];
    let symbols = model.by_name.get(&name).into_iter().flatten();
    !symbols.take(MAX_EQUALS).any(|&other| {
        let slot = model.symbols[other as usize];
        let callable = is_callable(slot.kind) && slot.kind != SymbolKind::Macro;
        callable
            && slot.flags & flag::DECLARED == 0
            && model.file(slot.file).is_some_and(|of| of.language.family() == LanguageId::C)
    })
}

impl Resolver<'_> {
    /// The type that `this` is of.
    pub(super) fn this_type(&self, file: FileId, scope: DefId) -> Option<(FileId, DefId)> {
        let facts = &self.model.file(file)?.facts;
        facts.chain(scope).find_map(|at| {
            let d = &facts.definitions[at as usize];
            if is_type(d.kind) {
                Some((file, at))
            } else if d.owner != NONE {
                self.owner_of(file, at)
            } else {
                None
            }
        })
    }

    /// What a name means where it stands.
    pub(super) fn lexical_with_this(&self, file: FileId, scope: DefId, name: Name, want: Want) -> Entities {
        let Some(entry) = self.model.file(file) else { return Entities::new() };
        let java = entry.language == LanguageId::JAVA;
        for around in entry.facts.chain(scope) {
            let d = &entry.facts.definitions[around as usize];
            if let Some(module) = self.layout.module_of_scope(file, around) {
                if java && around == 0 {
                    return self.java_name(file, entry, module, name, want);
                }
                let found = self.lookup(module, name, want, false, 0);
                if !found.is_empty() || around == 0 {
                    return found;
                }
                continue;
            }
            let of = if is_type(d.kind) {
                Some((file, around))
            } else {
                let found = self.of_function(file, entry, around, name, want);
                match found {
                    Some(found) if found.is_empty() => return found,
                    Some(found) => return found,
                    None => {}
                }
                (d.owner != NONE).then(|| self.owner_of(file, around)).flatten()
            };
            let Some((of, class)) = of else { continue };
            let mut found = self.members(of, class, name, want);
            found.retain(|one| self.entity_kind(one) != Some(SymbolKind::Constructor));
            if !found.is_empty() || want == Want::Value && self.may_inherit(of, class, name, java) {
                return found;
            }
        }
        Entities::new()
    }

    /// What the files that one of C or C++ includes hold under a name, in the namespace of the same name. Headers include
    /// each other in circles, so they are not followed one by one.
    pub(super) fn through_includes(&self, module: ModuleId, name: Name, want: Want) -> Entities {
        let mut names: Vec<&str> = Vec::new();
        let mut file = module;
        while let Some(parent) = self.layout.module(file).parent {
            names.extend(self.layout.module(file).path.rsplit("::").next());
            file = parent;
        }
        let mut found = Entities::new();
        for &included in self.included(file).iter() {
            let inner = names.iter().rev().try_fold(included, |at, part| self.layout.module(at).children.get(*part).copied());
            let Some(inner) = inner.map(|inner| self.layout.module(inner)) else { continue };
            for &(file, scope) in &inner.scopes {
                let Some(entry) = self.model.file(file) else { continue };
                for &(_, _, item) in entry.items_named(scope, name) {
                    let Item::Definition(at) = item else { continue };
                    let kind = entry.facts.definitions[at as usize].kind;
                    if kind == SymbolKind::Module {
                        let child = inner.children.get(self.model.text(name)).copied();
                        found.extend(child.filter(|_| matches!(want, Want::Prefix | Want::Any)).map(Entity::Module));
                    } else if super::fits(kind, want, entry.language) && found.len() < MAX_EQUALS {
                        found.push(Entity::Definition(file, at));
                    }
                }
            }
        }
        found
    }

    /// The files that one of C or C++ includes, and those that they include.
    fn included(&self, module: ModuleId) -> Rc<[ModuleId]> {
        if let Some(known) = self.included.borrow().get(&module) {
            return known.clone();
        }
        let mut seen: Vec<ModuleId> = Vec::new();
        let mut known: FxHashSet<ModuleId> = [module].into_iter().collect();
        let mut next = Some(module);
        let mut at = 0;
        while let Some(here) = next
            && seen.len() < MAX_INCLUDED
        {
            let (file, _) = self.layout.module(here).scopes[0];
            if let Some(entry) = self.model.file(file) {
                let includes = entry.facts.imports.iter().filter(|import| import.kind == ImportKind::Glob);
                let targets = includes.filter_map(|import| {
                    let written = self.written(entry, import.path, NONE);
                    self.layout.imported(self.model, file, &written)
                });
                seen.extend(targets.filter(|target| known.insert(*target)));
            }
            next = seen.get(at).copied();
            at += 1;
        }
        let made: Rc<[ModuleId]> = seen.into();
        self.included.borrow_mut().insert(module, made.clone());
        made
    }

    /// What a function holds under a name: itself what is defined in it. None: nothing that decides.
    fn of_function(&self, file: FileId, entry: &FileEntry, around: DefId, name: Name, want: Want) -> Option<Entities> {
        let mut found = Entities::new();
        let mut of_anonymous = false;
        for &(_, _, item) in entry.items_named(around, name) {
            let Item::Definition(at) = item else { continue };
            let kind = entry.facts.definitions[at as usize].kind;
            // A method in a function is of a class without a name: it is seen from there alone.
            if kind == SymbolKind::Method {
                of_anonymous = true;
            } else if super::fits(kind, want, entry.language) {
                found.push(Entity::Definition(file, at));
            }
        }
        (!found.is_empty() || of_anonymous && want == Want::Value).then_some(found)
    }

    /// Whether a base of a class has a member of this name, or might have one.
    fn may_inherit(&self, file: FileId, class: DefId, name: Name, unknown: bool) -> bool {
        let bases = self.bases((file, class));
        if bases.is_empty() {
            return false;
        }
        let above = self.above(&bases, |(file, class)| self.members(file, class, name, Want::Value));
        !above.found.is_empty() || unknown && (above.outside || above.unknown)
    }

    /// What a name means at the top of a file of Java: what the file imports by name, its package, what it imports whole.
    fn java_name(&self, file: FileId, entry: &FileEntry, module: ModuleId, name: Name, want: Want) -> Entities {
        let mut found = Entities::new();
        for &(_, _, item) in entry.items_named(0, name) {
            if let Item::Import(at) = item {
                found.extend(self.import_target(file, at, want, 0));
            }
        }
        found.retain(|one| self.entity_fits(one, want));
        if found.is_empty() {
            found = self.lookup(module, name, want, false, 0);
        }
        if found.is_empty() { self.through_globs(file, 0, name, want, false, 0) } else { found }
    }

    /// What an import of Java leads to: a package, a type in one, or a member of a type.
    pub(super) fn java_import(&self, entry: &FileEntry, import: &Import, want: Want) -> Entities {
        let written = self.written(entry, import.path, NONE);
        let whole = self.written(entry, import.path, import.item);
        // The longest beginning that is a package.
        let ends = written.bytes().enumerate().filter(|(_, byte)| *byte == b'.').map(|(at, _)| at);
        let ends: Vec<usize> = ends.chain([written.len()]).collect();
        let package = ends.iter().rev().find_map(|&end| Some((end, self.layout.by_path(LanguageId::JAVA, &written[..end])?)));
        let Some((end, module)) = package else { return external(whole) };
        let mut here: Entities = [Entity::Module(module)].into_iter().collect();
        let rest = written[end..].split('.').filter(|part| !part.is_empty());
        let item = (import.kind == ImportKind::Item && import.item != NONE).then(|| entry.facts.strings.get(import.item));
        let parts: Vec<&str> = rest.chain(item).collect();
        for (at, part) in parts.iter().enumerate() {
            let Some(name) = self.model.name_of(part.trim()) else { return external(whole) };
            let want = if at + 1 == parts.len() { want } else { Want::Prefix };
            here = here
                .iter()
                .flat_map(|one| match one {
                    Entity::Module(module) => self.lookup(*module, name, want, true, 0),
                    Entity::Definition(file, class) => self.children(*file, *class, name, want),
                    Entity::External(_) => Entities::new(),
                })
                .collect();
        }
        // A name of another kind is imported as well; a file that is not there yet leads out.
        if here.is_empty() && want == Want::Any { external(whole) } else { here }
    }

    /// What a site of these languages may be sure of. A function that is only declared is not where its body stands; one
    /// that can be called stands before a type of the same name.
    pub(super) fn settled(&self, mut found: Entities, want: Want) -> Entities {
        if want != Want::Value || found.len() == 1 && self.flags_of(&found[0]) & flag::DECLARED == 0 {
            return found;
        }
        if found.iter().any(|one| self.entity_kind(one).is_some_and(is_callable)) {
            found.retain(|one| self.entity_kind(one).is_some_and(is_callable));
        }
        if found.iter().any(|one| self.flags_of(one) & flag::DECLARED == 0) {
            found.retain(|one| self.flags_of(one) & flag::DECLARED == 0);
            return found;
        }
        // Declarations alone: one of them stands for the function if the workspace has no body of it.
        let only = found.iter().all(|one| match one {
            Entity::Definition(file, at) => {
                self.model.file(*file).is_some_and(|entry| is_only_declared(self.model, entry.symbols[*at as usize]))
            }
            _ => true,
        });
        let first = found.first().cloned();
        found.retain(|one| only && Some(&*one) == first.as_ref());
        found
    }

    fn flags_of(&self, one: &Entity) -> u8 {
        match one {
            Entity::Definition(file, at) => self.model.file(*file).map_or(0, |entry| entry.facts.definitions[*at as usize].flags),
            _ => 0,
        }
    }
}
