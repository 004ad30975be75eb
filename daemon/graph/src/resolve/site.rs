//! Sites: calls, constructions, bases.

use ccd_grammars::LanguageId;

use super::{Collector, Entities, Entity, Resolver, Want, builtin, inherent};
use crate::{
    Confidence, EdgeKind, SymbolKind,
    edges::{Class, EdgeRecord, Target},
    facts::{Join, NONE, Segment, SiteFact, SiteKind},
    model::{FileEntry, FileId},
};

impl Resolver<'_> {
    pub(crate) fn site_edge(&self, file: FileId, entry: &FileEntry, site: &SiteFact, out: &mut Collector) {
        let facts = &entry.facts;
        let path = facts.expr(site.expr);
        let name = path[path.len() - 1].name;
        let want = match site.kind {
            SiteKind::Call | SiteKind::Instance => Want::Value,
            SiteKind::Macro => Want::Macro,
            SiteKind::New | SiteKind::Extends | SiteKind::Implements => Want::Type,
        };
        let rust = entry.language == LanguageId::RUST;
        let class = match want {
            Want::Macro => Class::Macro,
            Want::Type if rust || site.kind != SiteKind::New => Class::Type,
            _ if path.last().is_some_and(|segment| segment.join == Join::Member) => Class::Member,
            _ if rust && path.len() > 1 => Class::Member,
            _ => Class::Free,
        };
        // A value in a variable or parameter is called: no definition is named.
        if site.local && path.len() == 1 && want == Want::Value {
            return;
        }
        if site.kind == SiteKind::Instance && !self.is_generic(file, site, path) {
            return;
        }
        let (confidence, to) = self.site_target(file, entry, site, path, want, class, out);
        let from = match site.kind {
            SiteKind::Extends | SiteKind::Implements => site.scope,
            _ => facts.site_owner(site.scope),
        };
        let kind = self.edge_kind(site.kind, to);
        out.edges.push(EdgeRecord { from, kind, confidence, place: site.place, name, to });
    }

    /// Whether `f` of `f[x](…)` is a function or type, and not a table: only what its name leads to can tell.
    fn is_generic(&self, file: FileId, site: &SiteFact, path: &[Segment]) -> bool {
        use SymbolKind as K;
        let found = self.dotted(file, site.scope, path, Want::Value).unwrap_or_default();
        !site.local
            && !found.is_empty()
            && found.iter().all(|one| match one {
                Entity::Definition(..) => {
                    matches!(self.entity_kind(one), Some(K::Function | K::Test | K::Struct | K::TypeAlias | K::Interface))
                }
                Entity::Module(_) => false,
                Entity::External(_) => true,
            })
    }

    fn edge_kind(&self, site: SiteKind, to: Target) -> EdgeKind {
        use SymbolKind as K;
        match site {
            SiteKind::Extends => EdgeKind::Extends,
            SiteKind::Implements => EdgeKind::Implements,
            SiteKind::New => EdgeKind::Instantiates,
            SiteKind::Macro => EdgeKind::Calls,
            SiteKind::Call | SiteKind::Instance => {
                let kind = match to {
                    Target::Symbol(symbol) => {
                        self.model.place(symbol).map(|(entry, at)| entry.facts.definitions[at as usize].kind)
                    }
                    _ => None,
                };
                match kind {
                    Some(K::Struct | K::Class | K::EnumMember | K::TypeAlias | K::Interface | K::Enum) => EdgeKind::Instantiates,
                    _ => EdgeKind::Calls,
                }
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "a site as it was taken apart by the caller")]
    fn site_target(
        &self,
        file: FileId,
        entry: &FileEntry,
        site: &SiteFact,
        path: &[Segment],
        want: Want,
        class: Class,
        out: &mut Collector,
    ) -> (Confidence, Target) {
        let name = path[path.len() - 1].name;
        let with_this = inherent::has_this(entry.language);
        // `self.name`, `this.name`.
        if let [first, member] = path
            && first.join == Join::This
            && member.join == Join::Member
        {
            let found = self.own_member(file, entry, site, member.name, want);
            let found = if with_this { self.settled(found, want) } else { found };
            return self.decide(entry, &found, name, Class::Member, out);
        }
        if path[0].join == Join::Super && path.len() <= 2 {
            return self.super_site(file, entry, site, path, out);
        }
        if entry.language == LanguageId::RUST {
            return self.rust_site(file, entry, site, path, want, class, out);
        }
        let plain_chain =
            path[0].join == Join::Root && path[1..].iter().all(|segment| matches!(segment.join, Join::Member | Join::Path));
        // `value.name()`: what stands before is no type or namespace.
        let of_value = entry.language.family() == LanguageId::C && path[1..].iter().any(|segment| segment.join == Join::Member);
        if !plain_chain || site.local || of_value {
            return self.decide(entry, &[], name, class, out);
        }
        match self.dotted(file, site.scope, path, want) {
            Some(found) if with_this => self.decide_site(entry, &self.settled(found, want), path, class, out),
            Some(found) => self.decide_site(entry, &found, path, class, out),
            None => {
                let root = entry.facts.strings.get(path[0].name);
                if builtin::is_builtin(entry.language, root) {
                    let text: Vec<&str> = path.iter().map(|segment| entry.facts.strings.get(segment.name)).collect();
                    return (Confidence::External, out.external(&text.join(entry.language.row().separator)));
                }
                self.decide_site(entry, &[], path, class, out)
            }
        }
    }

    /// What `self.name` names: a definition of the very type.
    fn own_member(&self, file: FileId, entry: &FileEntry, site: &SiteFact, member: u32, want: Want) -> Entities {
        let Some(name) = entry.name(member) else { return Entities::new() };
        let facts = &entry.facts;
        if inherent::has_this(entry.language) {
            return self.this_type(file, site.scope).map(|(of, class)| self.members(of, class, name, want)).unwrap_or_default();
        }
        if entry.language != LanguageId::RUST {
            let class = facts.chain(site.scope).find(|&at| facts.definitions[at as usize].kind == SymbolKind::Class);
            return class.map(|class| self.children(file, class, name, want)).unwrap_or_default();
        }
        // The block around it first: two traits may give one type methods of the same name.
        let holder = facts
            .chain(site.scope)
            .find(|&at| matches!(facts.definitions[at as usize].kind, SymbolKind::Impl | SymbolKind::Trait));
        let Some(holder) = holder else { return Entities::new() };
        let methods_only = |found: Entities| -> Entities {
            found.into_iter().filter(|one| self.entity_kind(one) == Some(SymbolKind::Method)).collect()
        };
        let own =
            self.self_type(file, site.scope).map(|(of, at)| methods_only(self.members(of, at, name, want))).unwrap_or_default();
        let inherent = own.iter().any(|one| !self.is_of_trait(one));
        if !own.is_empty() && inherent {
            return own;
        }
        let here = methods_only(self.children(file, holder, name, want));
        if here.is_empty() { own } else { here }
    }

    pub(super) fn entity_kind(&self, one: &Entity) -> Option<SymbolKind> {
        match one {
            Entity::Definition(file, at) => Some(self.model.file(*file)?.facts.definitions[*at as usize].kind),
            _ => None,
        }
    }

    fn is_of_trait(&self, one: &Entity) -> bool {
        let Entity::Definition(file, at) = one else { return false };
        self.model.file(*file).is_some_and(|entry| {
            let container = entry.facts.definitions[*at as usize].container;
            container != NONE && entry.facts.definitions[container as usize].of_trait != NONE
        })
    }

    #[expect(clippy::too_many_arguments, reason = "a site as it was taken apart by the caller")]
    fn rust_site(
        &self,
        file: FileId,
        entry: &FileEntry,
        site: &SiteFact,
        path: &[Segment],
        want: Want,
        class: Class,
        out: &mut Collector,
    ) -> (Confidence, Target) {
        let name = path[path.len() - 1].name;
        let text = entry.facts.strings.get(name);
        if path.iter().any(|segment| !matches!(segment.join, Join::Root | Join::Path | Join::This)) {
            // A method of a value, or a path that begins in an expression.
            return self.decide(entry, &[], name, Class::Member, out);
        }
        let found = self.rust_path(file, site.scope, path, want, 0);
        if let Some(found) = &found
            && !found.is_empty()
        {
            return self.decide(entry, found, name, class, out);
        }
        if want == Want::Macro {
            return self.macro_by_text(file, entry, name, out);
        }
        // The path leads to a type of the workspace that has no such member written out.
        if found.is_some() && path.len() > 1 {
            let found = self.decide(entry, &[], name, class, out);
            return if builtin::rust_derived(text) { (Confidence::External, out.external(text)) } else { found };
        }
        if path.len() == 1 && builtin::rust_prelude(text) {
            return (Confidence::External, out.external(text));
        }
        if path.len() > 1 {
            let first = path[0].name;
            let root = if first == NONE { "" } else { entry.facts.strings.get(first) };
            // A type from a glob import that leads out, or from the prelude.
            if builtin::rust_prelude(root) || root.len() > 2 && self.has_external_glob(file, site.scope) {
                let whole: Vec<&str> = path.iter().filter(|s| s.name != NONE).map(|s| entry.facts.strings.get(s.name)).collect();
                return (Confidence::External, out.external(&whole.join("::")));
            }
        }
        self.decide_site(entry, &[], path, class, out)
    }

    /// Macros are also in scope by the order of the text: one in the file, or the only one of the crate.
    fn macro_by_text(&self, file: FileId, entry: &FileEntry, name: u32, out: &mut Collector) -> (Confidence, Target) {
        let text = entry.facts.strings.get(name);
        let Some(id) = entry.name(name) else { return (Confidence::External, out.external(text)) };
        let root = self.layout.module_of_scope(file, 0).map(|module| self.layout.module(module).root);
        let mut here = Entities::new();
        let mut in_crate = Entities::new();
        for &symbol in self.model.by_name.get(&id).into_iter().flatten() {
            let of = self.model.symbols[symbol as usize].file;
            let Some((other, at)) = self.model.place(symbol) else { continue };
            if other.facts.definitions[at as usize].kind != SymbolKind::Macro {
                continue;
            }
            if of == file {
                here.push(Entity::Definition(of, at));
            }
            let module = self.layout.module_around(self.model, of, at);
            if root.is_some() && module.map(|module| self.layout.module(module).root) == root {
                in_crate.push(Entity::Definition(of, at));
            }
        }
        let found = if here.is_empty() { in_crate } else { here };
        if found.is_empty() && builtin::rust_macro(text) {
            return (Confidence::External, out.external(text));
        }
        self.decide(entry, &found, name, Class::Macro, out)
    }
}
