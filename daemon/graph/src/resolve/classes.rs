//! What `super` names: the members of a class as its bases give them.

use std::rc::Rc;

use ccd_grammars::LanguageId;
use rustc_hash::FxHashSet;

use super::{Collector, Entities, Entity, Extends, Place, Resolver, Want, builtin, external, inherent};
use crate::{
    Confidence, SymbolKind,
    edges::{Class, Target},
    facts::{Join, NONE, Segment, SiteFact, SiteKind},
    model::{FileEntry, FileId},
};

/// Classes looked at for one name.
const MAX_CLASSES: usize = 64;

/// Where a written base of a class leads.
#[derive(Clone, Debug)]
pub(super) enum Base {
    Class(Place),
    /// Out of the workspace.
    Outside(String),
    Unknown,
}

/// A base that is still to be looked at.
struct Pending {
    base: Base,
    /// Nothing else can come before it in the order of the bases.
    first: bool,
    /// It is the only base of its class, and so are those on the way to it.
    alone: bool,
}

/// What the bases of a class say about a member.
#[derive(Default)]
pub(super) struct Above {
    pub(super) found: Entities,
    /// What was found is surely what is meant, if it is one.
    sure: bool,
    /// A base leads out of the workspace.
    pub(super) outside: bool,
    /// A base leads nowhere that can be seen, or there is none.
    pub(super) unknown: bool,
}

impl Resolver<'_> {
    /// `super.name`, `super().name`, and `super(…)`.
    pub(super) fn super_site(
        &self,
        file: FileId,
        entry: &FileEntry,
        site: &SiteFact,
        path: &[Segment],
        out: &mut Collector,
    ) -> (Confidence, Target) {
        let facts = &entry.facts;
        let name = path[path.len() - 1].name;
        let text = facts.strings.get(name);
        let kind = |at: u32| facts.definitions[at as usize].kind;
        let class = facts.chain(site.scope).find(|&at| kind(at) == SymbolKind::Class);
        // In a method of an object, `super` is of that object.
        let class = class.filter(|&class| {
            let mut inside = facts.chain(site.scope).take_while(|&at| at != class);
            !inside.any(|at| kind(at) == SymbolKind::Method && facts.definitions[at as usize].container != class)
        });
        let bases = class.map(|class| self.bases((file, class))).unwrap_or_default();
        if path.len() == 1 {
            let found = self.super_constructor(&bases, entry.language);
            // A base that is not known is no definition of the name `super`.
            let found = if found.is_empty() { external(text.to_owned()) } else { found };
            return self.decide(entry, &found, name, Class::Free, out);
        }
        let Some(member) = entry.name(name) else { return self.decide(entry, &[], name, Class::Member, out) };
        let above = self.above(&bases, |class| self.children(class.0, class.1, member, Want::Value));
        if above.sure && !above.found.is_empty() {
            return self.decide(entry, &above.found, name, Class::Member, out);
        }
        // What no base of a Python class has is of `object`, if it has a name of that kind.
        let of_object = entry.language == LanguageId::PYTHON && text.starts_with("__") && text.ends_with("__");
        let outside = above.found.is_empty() && !above.unknown && (above.outside || of_object);
        if !outside && self.has_class(entry, name, Class::Member) {
            // More than one may be meant, or something that is not seen.
            return (Confidence::Candidate, Target::Undecided(Class::Member));
        }
        (Confidence::External, out.external(&format!("super.{text}")))
    }

    /// The constructor that `super(…)` runs; the base itself where none is written.
    fn super_constructor(&self, bases: &[Base], language: LanguageId) -> Entities {
        let above = match self.model.name_of("constructor") {
            _ if inherent::has_this(language) => self.above(bases, |class| self.named_constructors(class)),
            Some(name) => self.above(bases, |class| {
                let mut found = self.children(class.0, class.1, name, Want::Value);
                found.retain(|one| self.entity_kind(one) == Some(SymbolKind::Constructor));
                found
            }),
            None => Above::default(),
        };
        if above.sure && !above.found.is_empty() {
            return above.found;
        }
        match bases {
            [Base::Class((file, class))] => [Entity::Definition(*file, *class)].into_iter().collect(),
            [Base::Outside(path)] => external(path.clone()),
            _ => Entities::new(),
        }
    }

    /// The constructors of a class that have its name.
    fn named_constructors(&self, (file, class): Place) -> Entities {
        let Some(entry) = self.model.file(file) else { return Entities::new() };
        let name = entry.names[entry.facts.definitions[class as usize].name as usize];
        let mut found = self.children(file, class, name, Want::Any);
        found.retain(|one| self.entity_kind(one) == Some(SymbolKind::Constructor));
        found
    }

    /// Looks through bases, left to right and upwards.
    pub(super) fn above(&self, bases: &[Base], own: impl Fn(Place) -> Entities) -> Above {
        let mut above = Above { sure: true, unknown: bases.is_empty(), ..Above::default() };
        let mut seen: FxHashSet<Place> = FxHashSet::default();
        let mut pending: Vec<Pending> = below(bases, true, true);
        while let Some(next) = pending.pop() {
            let class = match next.base {
                Base::Class(class) if seen.len() < MAX_CLASSES => class,
                Base::Outside(_) => {
                    // A member that is found behind it may be hidden by one that is not seen.
                    above.sure &= !above.found.is_empty();
                    above.outside = true;
                    continue;
                }
                _ => {
                    above.sure &= !above.found.is_empty();
                    above.unknown = true;
                    continue;
                }
            };
            if !seen.insert(class) {
                continue;
            }
            let found = own(class);
            if found.is_empty() {
                pending.extend(below(&self.bases(class), next.first, next.alone));
                continue;
            }
            above.found.extend(found);
            if next.first && above.sure {
                break;
            }
        }
        above.sure &= self.distinct(&above.found).len() == 1;
        above
    }

    /// The bases of a class as they are written.
    pub(super) fn bases(&self, (file, class): Place) -> Vec<Base> {
        let Some(entry) = self.model.file(file) else { return Vec::new() };
        // Found once a file: every `super` in it asks.
        let known = self.extends.borrow().get(&file).cloned();
        let extends = known.unwrap_or_else(|| {
            let mut made = Extends::default();
            for (at, site) in entry.facts.sites.iter().enumerate().filter(|(_, site)| site.kind == SiteKind::Extends) {
                made.entry(site.scope).or_default().push(at as u32);
            }
            let made = Rc::new(made);
            self.extends.borrow_mut().insert(file, made.clone());
            made
        });
        let sites = extends.get(&class).into_iter().flatten().take(MAX_CLASSES);
        let mut bases: Vec<Base> = sites.map(|&at| self.base(file, entry, &entry.facts.sites[at as usize])).collect();
        if entry.language == LanguageId::DART {
            // The last mixin stands before those to its left, and the base class behind them all.
            bases.reverse();
        }
        bases
    }

    fn base(&self, file: FileId, entry: &FileEntry, site: &SiteFact) -> Base {
        let path = entry.facts.expr(site.expr);
        let plain =
            path[0].join == Join::Root && path[1..].iter().all(|segment| matches!(segment.join, Join::Member | Join::Path));
        if !plain || site.local {
            return Base::Unknown;
        }
        let text: Vec<&str> =
            path.iter().filter(|part| part.name != NONE).map(|part| entry.facts.strings.get(part.name)).collect();
        let Some(found) = self.dotted(file, site.scope, path, Want::Type) else {
            let known = builtin::is_builtin(entry.language, text[0]);
            let outside = known || !self.has_class(entry, path[path.len() - 1].name, Class::Type);
            return if outside { Base::Outside(text.join(".")) } else { Base::Unknown };
        };
        // An interface may have the name of a class, which it adds to.
        let mut classes = found.clone();
        let more = matches!(entry.language.family(), LanguageId::C | LanguageId::JAVA);
        classes.retain(|one| match self.entity_kind(one) {
            Some(SymbolKind::Class) => true,
            Some(SymbolKind::Struct | SymbolKind::Interface) => more,
            _ => false,
        });
        match (self.distinct(&classes).as_slice(), found.first()) {
            (&[class], _) => Base::Class(class),
            ([], Some(Entity::External(path))) => Base::Outside(path.to_string()),
            _ => Base::Unknown,
        }
    }
}

/// The bases of one class as they are to be looked at: the last one pushed is taken first.
fn below(bases: &[Base], first: bool, alone: bool) -> Vec<Pending> {
    let pending = bases.iter().enumerate().map(|(at, base)| Pending {
        base: base.clone(),
        first: first && alone && at == 0,
        alone: alone && bases.len() == 1,
    });
    pending.rev().collect()
}
