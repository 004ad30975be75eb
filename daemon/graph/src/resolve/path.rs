//! Written paths and names, from where they stand.

use ccd_grammars::LanguageId;

use super::{Entities, Entity, Resolver, Want, builtin, external, inherent};
use crate::{
    SymbolKind,
    facts::{DefId, Join, NONE, Segment},
    layout::ModuleId,
    model::{FileEntry, FileId, Item, Name},
};

impl Resolver<'_> {
    /// What a path of Rust names. None: its beginning leads nowhere, as far as can be seen.
    pub(crate) fn rust_path(&self, file: FileId, scope: DefId, path: &[Segment], want: Want, hops: u32) -> Option<Entities> {
        let entry = self.model.file(file)?;
        let text = |segment: &Segment| if segment.name == NONE { "" } else { entry.facts.strings.get(segment.name) };
        let last = path.len().checked_sub(1)?;
        if path.iter().any(|segment| matches!(segment.join, Join::Other | Join::Call | Join::Index | Join::Member)) {
            return None;
        }
        let module = self.layout.module_around(self.model, file, scope)?;
        let want_at = |at: usize| if at == last { want } else { Want::Prefix };
        let one = |module: ModuleId| -> Entities { [Entity::Module(module)].into_iter().collect() };
        let mut at = 1;
        let mut here: Entities = match text(&path[0]) {
            "crate" | "$crate" => one(self.layout.module(module).root),
            "self" => one(module),
            "super" => one(self.layout.module(module).parent?),
            "Self" => self.self_type(file, scope).map(|(file, at)| Entity::Definition(file, at)).into_iter().collect(),
            "" => {
                // `::name`: a crate.
                at = 2;
                let name = path.get(1).map(text)?;
                match self.layout.rust_crate(self.layout.module(module).root, name) {
                    Some(root) => one(root),
                    None => external(name.to_owned()),
                }
            }
            name => {
                let id = entry.name(path[0].name)?;
                let found = self.rust_name(file, scope, id, want_at(0), hops);
                if found.is_empty() {
                    match self.layout.rust_crate(self.layout.module(module).root, name) {
                        Some(root) if matches!(want_at(0), Want::Prefix | Want::Any) => one(root),
                        _ if builtin::rust_root(name) => external(name.to_owned()),
                        // A lower-case beginning that is no module is a crate from outside.
                        _ if last > 0 && name.starts_with(|letter: char| letter.is_ascii_lowercase()) => {
                            external(name.to_owned())
                        }
                        _ => return None,
                    }
                } else {
                    found
                }
            }
        };
        while at <= last {
            let name = text(&path[at]);
            if name == "super" || name == "self" {
                here = here
                    .iter()
                    .filter_map(|one| match one {
                        Entity::Module(module) if name == "super" => self.layout.module(*module).parent.map(Entity::Module),
                        Entity::Module(module) => Some(Entity::Module(*module)),
                        _ => None,
                    })
                    .collect();
                at += 1;
                continue;
            }
            let id = entry.name(path[at].name)?;
            let mut next = Entities::new();
            for one in &here {
                match one {
                    Entity::Module(module) => next.extend(self.lookup(*module, id, want_at(at), true, hops + 1)),
                    Entity::Definition(file, definition) => next.extend(self.members(*file, *definition, id, want_at(at))),
                    Entity::External(path) => next.extend(external(format!("{path}::{name}"))),
                }
            }
            // A module and a type of one name: what only one of them has is meant.
            if next.iter().any(|one| !matches!(one, Entity::External(_))) {
                next.retain(|one| !matches!(one, Entity::External(_)));
            }
            if next.is_empty() && here.iter().all(|one| matches!(one, Entity::Definition(..))) && !here.is_empty() {
                // A type of the workspace has no such member that is written out: derived, or from outside by a trait.
                return Some(Entities::new());
            }
            here = next;
            at += 1;
        }
        here.retain(|one| self.entity_fits(one, want));
        Some(here)
    }

    /// What a single name of Rust means where it stands.
    fn rust_name(&self, file: FileId, scope: DefId, name: Name, want: Want, hops: u32) -> Entities {
        let Some(entry) = self.model.file(file) else { return Entities::new() };
        for around in entry.facts.chain(scope) {
            if let Some(module) = self.layout.module_of_scope(file, around) {
                return self.lookup(module, name, want, false, hops + 1);
            }
            let kind = entry.facts.definitions[around as usize].kind;
            if matches!(kind, SymbolKind::Function | SymbolKind::Method | SymbolKind::Test) {
                let found = self.local_items(file, entry, around, name, want, hops);
                if !found.is_empty() {
                    return found;
                }
            }
        }
        Entities::new()
    }

    /// Items of a function: those defined or imported in it.
    fn local_items(&self, file: FileId, entry: &FileEntry, around: DefId, name: Name, want: Want, hops: u32) -> Entities {
        // An import of a function is looked for in the function itself again, and so may be every glob import on its way.
        let key = (file, around, name, want);
        if self.local_way.borrow().contains(&key) {
            *self.cut.borrow_mut() = true;
            return Entities::new();
        }
        self.local_way.borrow_mut().push(key);
        let found = self.local_items_once(file, entry, around, name, want, hops);
        self.local_way.borrow_mut().pop();
        found
    }

    fn local_items_once(&self, file: FileId, entry: &FileEntry, around: DefId, name: Name, want: Want, hops: u32) -> Entities {
        let mut found = Entities::new();
        for &(_, _, item) in entry.items_named(around, name) {
            match item {
                Item::Definition(at) => found.push(Entity::Definition(file, at)),
                Item::Import(at) => found.extend(self.import_target(file, at, want, hops + 1)),
            }
        }
        found.retain(|one| self.entity_fits(one, want));
        if found.is_empty() { self.through_globs(file, around, name, want, false, hops) } else { found }
    }

    /// The type or trait that `Self` and `self` mean.
    pub(crate) fn self_type(&self, file: FileId, scope: DefId) -> Option<(FileId, DefId)> {
        let entry = self.model.file(file)?;
        let facts = &entry.facts;
        for around in facts.chain(scope) {
            match facts.definitions[around as usize].kind {
                SymbolKind::Impl => {
                    let inside = facts.definitions.iter().position(|d| d.container == around);
                    return match inside {
                        Some(member) => self.owner_of(file, member as DefId),
                        None => None,
                    };
                }
                SymbolKind::Trait | SymbolKind::Class | SymbolKind::Struct | SymbolKind::Enum => return Some((file, around)),
                SymbolKind::Module => return None,
                _ => {}
            }
        }
        None
    }

    /// What a name means where it stands, in the languages without paths of modules.
    pub(crate) fn lexical(&self, file: FileId, scope: DefId, name: Name, want: Want) -> Entities {
        let Some(entry) = self.model.file(file) else { return Entities::new() };
        if inherent::has_this(entry.language) {
            return self.lexical_with_this(file, scope, name, want);
        }
        for around in entry.facts.chain(scope) {
            if let Some(module) = self.layout.module_of_scope(file, around) {
                // Imports of Go are of the file, not of the package.
                if entry.language == LanguageId::GO {
                    let imported = self.go_import(file, entry, name);
                    if !imported.is_empty() {
                        return imported;
                    }
                }
                let found = self.lookup(module, name, want, false, 0);
                if !found.is_empty() || around == 0 {
                    return found;
                }
                continue;
            }
            // Members of a class are not in the scope of its methods.
            let kind = entry.facts.definitions[around as usize].kind;
            if !matches!(kind, SymbolKind::Class | SymbolKind::Interface | SymbolKind::Enum | SymbolKind::Struct) {
                let found = self.local_items(file, entry, around, name, want, 0);
                if !found.is_empty() {
                    return found;
                }
            }
        }
        Entities::new()
    }

    /// The package that a name means in a file of Go.
    fn go_import(&self, file: FileId, entry: &FileEntry, name: Name) -> Entities {
        let text = self.model.text(name);
        for (at, import) in entry.facts.imports.iter().enumerate() {
            if import.kind != crate::facts::ImportKind::Module || import.binding != NONE {
                continue;
            }
            let found = self.import_target(file, at as u32, Want::Prefix, 0);
            let bound = match found.first() {
                // A package is bound by the name of its clause.
                Some(Entity::Module(module)) => {
                    let &(of, _) = &self.layout.module(*module).scopes[0];
                    self.model.file(of).is_some_and(|other| {
                        let package = other.facts.package;
                        package != NONE && other.facts.strings.get(package).trim_end_matches("_test") == text
                    })
                }
                Some(Entity::External(path)) => builtin::go_package_name(path) == text,
                _ => false,
            };
            if bound {
                return found;
            }
        }
        Entities::new()
    }

    /// What `a.b.c` names by scope and imports alone. None: its beginning leads nowhere.
    pub(crate) fn dotted(&self, file: FileId, scope: DefId, path: &[Segment], want: Want) -> Option<Entities> {
        let entry = self.model.file(file)?;
        let last = path.len().checked_sub(1)?;
        let first = &path[0];
        if first.join != Join::Root || path[1..].iter().any(|segment| !matches!(segment.join, Join::Member | Join::Path)) {
            return None;
        }
        let name = entry.name(first.name)?;
        let mut here = self.lexical(file, scope, name, if last == 0 { want } else { Want::Prefix });
        if here.is_empty() {
            return None;
        }
        for (at, segment) in path.iter().enumerate().skip(1) {
            let name = entry.name(segment.name)?;
            let want = if at == last { want } else { Want::Prefix };
            let mut next = Entities::new();
            for one in &here {
                match one {
                    Entity::Module(module) => next.extend(self.lookup(*module, name, want, true, 0)),
                    Entity::Definition(of, definition) => next.extend(self.static_members(*of, *definition, name, want)),
                    Entity::External(path) => next.extend(external(format!("{path}.{}", self.model.text(name)))),
                }
            }
            here = next;
        }
        Some(here)
    }

    /// What `Type.name` can mean without knowing a value: members of classes, enums, object literals and namespaces.
    fn static_members(&self, file: FileId, definition: DefId, name: Name, want: Want) -> Entities {
        let Some(entry) = self.model.file(file) else { return Entities::new() };
        let kind = entry.facts.definitions[definition as usize].kind;
        match kind {
            // C++: members are also defined outside.
            SymbolKind::Class if entry.language.family() == LanguageId::C => self.members(file, definition, name, want),
            SymbolKind::Class | SymbolKind::Enum | SymbolKind::Interface | SymbolKind::Constant | SymbolKind::Variable => {
                self.children(file, definition, name, want)
            }
            // A method expression of Go, `Type.Method`.
            SymbolKind::Struct | SymbolKind::TypeAlias => self.members(file, definition, name, want),
            _ => Entities::new(),
        }
    }
}
