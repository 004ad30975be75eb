//! Names in modules and types.

use ccd_grammars::LanguageId;

use super::{Entities, Entity, Resolver, Want, fits};
use crate::{
    SymbolKind,
    facts::{DefId, ImportKind, NONE, flag},
    layout::ModuleId,
    model::{FileEntry, FileId, Item, Name},
};

/// Meanings of one name in one module that are told apart.
const MAX_FOUND: usize = 256;

impl Resolver<'_> {
    /// What a name means in a module: its definitions, its imports, then what its glob imports bring.
    /// `outside`: as another module sees it.
    pub(crate) fn lookup(&self, module: ModuleId, name: Name, want: Want, outside: bool, hops: u32) -> Entities {
        let key = (module, name, want, outside);
        if let Some(found) = self.found.borrow().get(&key) {
            return found.clone();
        }
        if self.under_way.borrow().contains(&key) {
            *self.cut.borrow_mut() = true;
            return Entities::new();
        }
        let first = self.under_way.borrow().is_empty();
        if first {
            *self.cut.borrow_mut() = false;
        }
        self.under_way.borrow_mut().push(key);
        let found = self.look_up(module, name, want, outside, hops);
        self.under_way.borrow_mut().pop();
        // What was found on the way round a cycle may be less than all; only the whole answer is kept.
        if first || !*self.cut.borrow() {
            self.found.borrow_mut().insert(key, found.clone());
        }
        found
    }

    fn look_up(&self, module: ModuleId, name: Name, want: Want, outside: bool, hops: u32) -> Entities {
        let of = self.layout.module(module);
        let family = of.language.family();
        let mut found = Entities::new();
        let mut push = |one: Entity| {
            // Thousands of one name would be looked through, and copied, for each of their calls.
            if found.len() < MAX_FOUND && !found.contains(&one) {
                found.push(one);
            }
        };
        for &(file, scope) in &of.scopes {
            let Some(entry) = self.model.file(file) else { continue };
            let typescript = family == LanguageId::TYPESCRIPT;
            if typescript && outside && scope == 0 {
                self.exported(file, name, want, hops).into_iter().for_each(&mut push);
                continue;
            }
            if family == LanguageId::DART && outside {
                self.given_on(file, name, want, hops).into_iter().for_each(&mut push);
            }
            for &(_, _, item) in entry.items_named(scope, name) {
                match item {
                    Item::Definition(at) => {
                        let kind = entry.facts.definitions[at as usize].kind;
                        if kind == SymbolKind::Module {
                            if matches!(want, Want::Prefix | Want::Any)
                                && let Some(&child) = of.children.get(self.model.text(name))
                            {
                                push(Entity::Module(child));
                            }
                        } else if fits(kind, want, entry.language) {
                            push(Entity::Definition(file, at));
                        }
                    }
                    // Imports of Java are of the file, not of the package.
                    Item::Import(_) if family == LanguageId::JAVA => {}
                    Item::Import(at) => {
                        self.import_target(file, at, want, hops)
                            .into_iter()
                            .filter(|one| self.entity_fits(one, want))
                            .for_each(&mut push);
                    }
                }
            }
            // What an import binds stands over definitions of the same name only where the language lets both be.
        }
        if family == LanguageId::PYTHON
            && found.is_empty()
            && let Some(&child) = of.children.get(self.model.text(name))
        {
            found.push(Entity::Module(child));
        }
        if family == LanguageId::RUST && want == Want::Macro && found.is_empty() && of.parent.is_none() {
            found.extend(self.exported_macros(module, name));
        }
        if found.is_empty() && family == LanguageId::C {
            return self.through_includes(module, name, want);
        }
        if found.is_empty() && family != LanguageId::JAVA {
            for &(file, scope) in &of.scopes {
                found = self.through_globs(file, scope, name, want, outside, hops);
                if !found.is_empty() {
                    break;
                }
            }
        }
        found
    }

    pub(crate) fn entity_fits(&self, one: &Entity, want: Want) -> bool {
        match one {
            Entity::Definition(file, at) => {
                self.model.file(*file).is_some_and(|entry| fits(entry.facts.definitions[*at as usize].kind, want, entry.language))
            }
            Entity::Module(_) => matches!(want, Want::Prefix | Want::Any),
            Entity::External(_) => true,
        }
    }

    /// What the glob imports of a scope bring under a name.
    pub(crate) fn through_globs(&self, file: FileId, scope: DefId, name: Name, want: Want, outside: bool, hops: u32) -> Entities {
        let Some(entry) = self.model.file(file) else { return Entities::new() };
        for (at, import) in entry.facts.imports.iter().enumerate() {
            if import.kind != ImportKind::Glob || import.scope != scope {
                continue;
            }
            // `export *` does not bind in its own file; a private glob of Rust is not seen from other crates, but such
            // code would not compile.
            if import.only_export && !outside {
                continue;
            }
            // What a library of Dart imports is its own matter.
            if entry.language == LanguageId::DART && outside && !import.only_export {
                continue;
            }
            for target in self.import_target(file, at as u32, Want::Prefix, hops + 1) {
                let found = match target {
                    Entity::Module(module) => self.lookup(module, name, want, true, hops + 1),
                    Entity::Definition(of, definition) => self.children(of, definition, name, want),
                    Entity::External(_) => Entities::new(),
                };
                if !found.is_empty() {
                    return found;
                }
            }
        }
        Entities::new()
    }

    /// Whether a glob import of a scope, or of one around it, leads out.
    pub(crate) fn has_external_glob(&self, file: FileId, scope: DefId) -> bool {
        let Some(entry) = self.model.file(file) else { return false };
        entry.facts.imports.iter().enumerate().any(|(at, import)| {
            import.kind == ImportKind::Glob
                && entry.facts.chain(scope).any(|around| around == import.scope)
                && self.import_target(file, at as u32, Want::Prefix, 0).iter().any(|one| matches!(one, Entity::External(_)))
        })
    }

    /// What a file of TypeScript or JavaScript gives out under a name.
    fn exported(&self, file: FileId, name: Name, want: Want, hops: u32) -> Entities {
        let Some(entry) = self.model.file(file) else { return Entities::new() };
        let facts = &entry.facts;
        let mut found = Entities::new();
        for &(outer, inner) in entry.exports.iter().filter(|(outer, _)| *outer == name) {
            let _ = outer;
            found.extend(self.in_file(file, inner, want, hops));
        }
        found.extend(self.given_on(file, name, want, hops));
        if found.is_empty() {
            let plain = entry.language == LanguageId::JAVASCRIPT;
            for &(_, _, item) in entry.items_named(0, name) {
                if let Item::Definition(at) = item {
                    let d = &facts.definitions[at as usize];
                    // Scripts give out by other means (`module.exports`), declaration files without a word.
                    let given = plain || d.flags & flag::EXPORTED != 0 || entry.rel.ends_with(".d.ts");
                    if d.kind == SymbolKind::Module {
                        let module = self.layout.module_of_scope(file, at).filter(|_| matches!(want, Want::Prefix | Want::Any));
                        found.extend(module.map(Entity::Module));
                    } else if given && fits(d.kind, want, entry.language) {
                        found.push(Entity::Definition(file, at));
                    }
                }
            }
        }
        found
    }

    /// What a file gives on from another under a name, without binding it (`export { x } from`, `export … show x`).
    fn given_on(&self, file: FileId, name: Name, want: Want, hops: u32) -> Entities {
        let Some(entry) = self.model.file(file) else { return Entities::new() };
        let mut found = Entities::new();
        for (at, import) in entry.facts.imports.iter().enumerate() {
            if import.only_export && import.binding != NONE && entry.name(import.binding) == Some(name) {
                found.extend(self.import_target(file, at as u32, want, hops));
            }
        }
        found
    }

    /// What a name means at the top of a file.
    fn in_file(&self, file: FileId, name: Name, want: Want, hops: u32) -> Entities {
        match self.layout.module_of_scope(file, 0) {
            Some(module) => self.lookup(module, name, want, false, hops + 1),
            None => Entities::new(),
        }
    }

    /// Macros that a crate gives out at its root, wherever they stand in it.
    fn exported_macros(&self, root: ModuleId, name: Name) -> Entities {
        let symbols = self.model.by_name.get(&name).into_iter().flatten();
        symbols
            .filter_map(|&symbol| {
                let slot = self.model.symbols[symbol as usize];
                let (entry, definition) = self.model.place(symbol)?;
                let d = &entry.facts.definitions[definition as usize];
                let exported = d.kind == SymbolKind::Macro && d.flags & flag::MACRO_EXPORT != 0;
                let module = self.layout.module_around(self.model, slot.file, definition)?;
                (exported && self.layout.module(module).root == root).then_some(Entity::Definition(slot.file, definition))
            })
            .collect()
    }

    /// Definitions that stand in another one, and in the body of a Python class those that are imported there.
    pub(crate) fn children(&self, file: FileId, definition: DefId, name: Name, want: Want) -> Entities {
        let Some(entry) = self.model.file(file) else { return Entities::new() };
        let imports = entry.language == LanguageId::PYTHON && is_class(entry, definition);
        let mut found = Entities::new();
        for &(_, _, item) in entry.items_named(definition, name) {
            match item {
                Item::Definition(at) if fits(entry.facts.definitions[at as usize].kind, want, entry.language) => {
                    found.push(Entity::Definition(file, at));
                }
                Item::Import(at) if imports => found.extend(self.import_target(file, at, want, 0)),
                _ => {}
            }
        }
        found
    }

    /// The members of a type: what stands in it, and what belongs to it from elsewhere. Own ones over those of traits.
    pub(crate) fn members(&self, file: FileId, definition: DefId, name: Name, want: Want) -> Entities {
        let mut found = self.children(file, definition, name, want);
        let Some(entry) = self.model.file(file) else { return found };
        let type_name = entry.names[entry.facts.definitions[definition as usize].name as usize];
        let mut of_traits = Entities::new();
        for &(of, member) in self.model.members.get(&(type_name, name)).into_iter().flatten() {
            if self.owner_of(of, member) != Some((file, definition)) {
                continue;
            }
            let Some(other) = self.model.file(of) else { continue };
            let facts = &other.facts;
            let container = facts.definitions[member as usize].container;
            let of_trait = container != NONE && facts.definitions[container as usize].of_trait != NONE;
            let list = if of_trait { &mut of_traits } else { &mut found };
            let one = Entity::Definition(of, member);
            if !list.contains(&one) {
                list.push(one);
            }
        }
        if found.is_empty() { of_traits } else { found }
    }

    /// The type that a method belongs to though it does not stand in it.
    pub(crate) fn owner_of(&self, file: FileId, member: DefId) -> Option<(FileId, DefId)> {
        let entry = self.model.file(file)?;
        let facts = &entry.facts;
        let d = &facts.definitions[member as usize];
        // Rust: the type of the `impl` around it. Go: the receiver.
        let holder = if d.owner != NONE { member } else { d.container };
        if let Some(&known) = self.owners.borrow().get(&(file, holder)) {
            return known;
        }
        let holder_definition = &facts.definitions[holder as usize];
        let owner = holder_definition.owner;
        let found = if owner == NONE {
            None
        } else if entry.language == LanguageId::RUST {
            let path = facts.expr(owner);
            let entities = self.rust_path(file, holder_definition.container, path, Want::Type, 0).unwrap_or_default();
            first_definition(&entities)
        } else if entry.language.family() == LanguageId::C {
            // From the namespace around: the member itself would be asked for its owner.
            let path = facts.expr(owner);
            first_definition(&self.dotted(file, holder_definition.container, path, Want::Type).unwrap_or_default())
        } else {
            let module = self.layout.module_of_scope(file, 0)?;
            let name = entry.name(facts.last_name(owner))?;
            first_definition(&self.lookup(module, name, Want::Type, false, 0))
        };
        self.owners.borrow_mut().insert((file, holder), found);
        found
    }
}

fn first_definition(entities: &[Entity]) -> Option<(FileId, DefId)> {
    entities.iter().find_map(|one| match one {
        Entity::Definition(file, at) => Some((*file, *at)),
        _ => None,
    })
}

fn is_class(entry: &FileEntry, definition: DefId) -> bool {
    entry.facts.definitions[definition as usize].kind == SymbolKind::Class
}
