//! Which symbol a caller means.

use ccd_grammars::LanguageId;
use ccd_text::Place;

use super::views::{kind_rank, order};
use crate::{
    QueryError, SymbolKind, SymbolQuery,
    edges::Target,
    engine::Contents,
    facts::{DefId, NONE, flag},
    model::{FileEntry, SymId, stable_hash},
    names,
    resolve::{Entity, Resolver, Want},
};

/// Candidates listed.
const MAX_CANDIDATES: usize = 50;
/// Near names listed.
const MAX_CLOSEST: usize = 5;

impl Contents {
    /// The one symbol that is meant.
    pub(crate) fn find(&self, query: &SymbolQuery) -> Result<SymId, QueryError> {
        match query {
            SymbolQuery::Name(name) => self.find_by_name(name.trim()),
            SymbolQuery::Place { rel, place } => {
                let unknown = || QueryError::SymbolUnknown {
                    name: format!("{}:{}:{}", rel.display(), place.line, place.column),
                    closest: Vec::new(),
                };
                let file = self.model.file_at(rel).ok_or_else(unknown)?;
                self.find_at(file, *place).ok_or_else(unknown)
            }
        }
    }

    fn find_at(&self, file: u32, place: Place) -> Option<SymId> {
        let entry = self.model.file(file)?;
        let facts = &entry.facts;
        let within = |range: (Place, Place)| range.0 <= place && place < range.1;
        // A definition's own name, then a name that leads somewhere, then what is around.
        if let Some(at) = facts.definitions.iter().position(|d| within(d.name_range)) {
            return Some(entry.symbols[at]);
        }
        let site = entry.edges.edges.iter().find(|edge| {
            let length = if edge.name == NONE { 0 } else { facts.strings.get(edge.name).chars().count() as u32 };
            let column = edge.place.column;
            edge.place.line == place.line && (column..column + length).contains(&place.column)
        });
        if let Some(Target::Symbol(symbol)) = site.map(|edge| edge.to) {
            return Some(symbol);
        }
        let innermost =
            facts.definitions.iter().enumerate().filter(|(_, d)| within(d.range)).max_by_key(|(at, d)| (d.range.0, *at));
        innermost.map(|(at, _)| entry.symbols[at])
    }

    fn find_by_name(&self, name: &str) -> Result<SymId, QueryError> {
        if name.contains('#')
            && let Some(symbol) = self.model.symbol_by_key(stable_hash(&[name.as_bytes()]))
            && self.model.place(symbol).is_some()
        {
            return Ok(symbol);
        }
        let found = self.named(name);
        match found.as_slice() {
            [] => Err(QueryError::SymbolUnknown { name: name.to_owned(), closest: self.closest(name) }),
            [one] => Ok(*one),
            several => Err(QueryError::SymbolAmbiguous {
                name: name.to_owned(),
                count: several.len() as u64,
                candidates: several.iter().take(MAX_CANDIDATES).filter_map(|&symbol| self.view(symbol)).collect(),
            }),
        }
    }

    /// Every symbol that a bare or qualified name means, best first.
    pub(crate) fn named(&self, name: &str) -> Vec<SymId> {
        let parts = parts_of(name);
        let Some((last, above)) = parts.split_last() else { return Vec::new() };
        let mut found: Vec<SymId> = Vec::new();
        if let Some(id) = self.model.name_of(last) {
            let all = self.model.by_name.get(&id).into_iter().flatten().copied();
            found.extend(all.filter(|&symbol| self.is_real(symbol) && self.has_containers(symbol, above)));
        }
        // Modules are named by the layout.
        for (at, module) in self.layout.modules.iter().enumerate() {
            let path = parts_of(&module.path);
            let whole = module.path == name;
            if whole || (!above.is_empty() || found.is_empty()) && ends_with(&path, &parts) {
                let &(file, scope) = &self.layout.module(at as u32).scopes[0];
                found.extend(self.model.file(file).and_then(|entry| entry.symbols.get(scope as usize).copied()));
            }
        }
        // A name that is given out elsewhere than where it is defined.
        if found.is_empty() && !above.is_empty() {
            found.extend(self.by_public_path(&parts));
        }
        found.sort_by_key(|&symbol| self.rank(symbol));
        found.dedup();
        self.without_overloads(found)
    }

    fn is_real(&self, symbol: SymId) -> bool {
        self.model.place(symbol).is_some_and(|(entry, at)| {
            let d = &entry.facts.definitions[at as usize];
            // `mod x;` is told as the file that it names.
            at != 0 && d.kind != SymbolKind::Impl && d.flags & flag::ELSEWHERE == 0
        })
    }

    fn has_containers(&self, symbol: SymId, above: &[&str]) -> bool {
        if above.is_empty() {
            return true;
        }
        let Some((entry, at)) = self.model.place(symbol) else { return false };
        let file = self.model.symbols[symbol as usize].file;
        let module = self.layout.module_of_scope(file, 0).map(|module| self.layout.module(module).path.as_str());
        let (_, qualified) = super::views::full_names(module, &entry.rel, entry.language, &entry.facts, at);
        let qualified = parts_of(&qualified);
        if ends_with(&qualified[..qualified.len() - 1], above) {
            return true;
        }
        // Go: the import path in the place of the package's name.
        let mut path: Vec<&str> = module.map(|module| parts_of(module)).unwrap_or_default();
        let local = names::local_qualified(entry.language, &entry.facts, at);
        path.extend(parts_of(&local));
        ends_with(&path[..path.len() - 1], above)
    }

    fn by_public_path(&self, parts: &[&str]) -> Vec<SymId> {
        let resolver = Resolver::new(&self.model, &self.layout);
        let mut found = Vec::new();
        for (at, module) in self.layout.modules.iter().enumerate() {
            let path = parts_of(&module.path);
            let starts = !path.is_empty() && path.len() < parts.len() && parts[..path.len()] == path[..];
            if !starts {
                continue;
            }
            let mut here = vec![Entity::Module(at as u32)];
            let rest = &parts[path.len()..];
            for (step, part) in rest.iter().enumerate() {
                let Some(name) = self.model.name_of(part) else { return found };
                let want = if step + 1 == rest.len() { Want::Any } else { Want::Prefix };
                here = here
                    .iter()
                    .flat_map(|one| match one {
                        Entity::Module(module) => resolver.lookup(*module, name, want, true, 0),
                        Entity::Definition(file, definition) => resolver.members(*file, *definition, name, want),
                        Entity::External(_) => Default::default(),
                    })
                    .collect();
            }
            for one in here {
                if let Entity::Definition(file, definition) = one
                    && let Some(&symbol) = self.model.file(file).and_then(|entry| entry.symbols.get(definition as usize))
                    && !found.contains(&symbol)
                {
                    found.push(symbol);
                }
            }
        }
        found
    }

    /// Best first: what a reader would mean before what tests and fields are called.
    pub(crate) fn rank(&self, symbol: SymId) -> (u8, bool, &str, DefId) {
        let (rel, definition) = order(&self.model, symbol);
        let Some((entry, at)) = self.model.place(symbol) else { return (u8::MAX, true, rel, definition) };
        let d = &entry.facts.definitions[at as usize];
        (kind_rank(d.kind), d.flags & flag::EXPORTED == 0 || d.flags & flag::DECLARED != 0, rel, definition)
    }

    /// Overloads of one function are one: the one with the body, else the first.
    fn without_overloads(&self, found: Vec<SymId>) -> Vec<SymId> {
        let mut kept: Vec<SymId> = Vec::with_capacity(found.len());
        for symbol in found {
            let overloads = self.overloads(symbol);
            let same = kept.iter().position(|known| overloads.contains(known));
            match same {
                Some(at) if self.has_body(symbol) => kept[at] = symbol,
                Some(_) => {}
                None => kept.push(symbol),
            }
        }
        kept
    }

    fn has_body(&self, symbol: SymId) -> bool {
        self.model.place(symbol).is_some_and(|(entry, at)| entry.facts.definitions[at as usize].flags & flag::NO_BODY == 0)
    }

    /// The symbols that are one function written several times, itself included.
    pub(crate) fn overloads(&self, symbol: SymId) -> Vec<SymId> {
        let Some((entry, at)) = self.model.place(symbol) else { return vec![symbol] };
        let d = &entry.facts.definitions[at as usize];
        let callable = matches!(d.kind, SymbolKind::Function | SymbolKind::Method | SymbolKind::Constructor);
        if callable && entry.language.family() == LanguageId::C {
            return self.declarations(symbol, entry, at);
        }
        if !callable || !matches!(entry.language.family(), LanguageId::TYPESCRIPT | LanguageId::PYTHON) {
            return vec![symbol];
        }
        let same = entry
            .facts
            .definitions
            .iter()
            .enumerate()
            .filter(|(_, other)| other.container == d.container && other.name == d.name && other.kind == d.kind);
        same.map(|(at, _)| entry.symbols[at]).collect()
    }

    /// A function of C or C++ with the declarations of it elsewhere, or a declaration with what it may declare.
    fn declarations(&self, symbol: SymId, entry: &FileEntry, at: DefId) -> Vec<SymId> {
        let declared = |symbol: SymId| self.model.symbols[symbol as usize].flags & flag::DECLARED != 0;
        let name = entry.names[entry.facts.definitions[at as usize].name as usize];
        let qualified = names::local_qualified(entry.language, &entry.facts, at);
        let same = |other: SymId| {
            (declared(symbol) || declared(other))
                && self.model.place(other).is_some_and(|(other, at)| {
                    let d = &other.facts.definitions[at as usize];
                    let callable = matches!(d.kind, SymbolKind::Function | SymbolKind::Method | SymbolKind::Constructor);
                    let names = names::local_qualified(other.language, &other.facts, at);
                    // A body may name the namespace by opening it.
                    let (long, short) = if names.len() > qualified.len() { (&names, &qualified) } else { (&qualified, &names) };
                    callable
                        && other.language.family() == LanguageId::C
                        && long
                            .strip_suffix(short.as_str())
                            .is_some_and(|rest| rest.is_empty() || rest.ends_with("::") && short.contains("::"))
                })
        };
        let all = self.model.by_name.get(&name).into_iter().flatten().copied();
        all.filter(|&other| other == symbol || same(other)).collect()
    }

    /// Names that look like one that is not there.
    fn closest(&self, name: &str) -> Vec<String> {
        let wanted = parts_of(name).last().copied().unwrap_or(name).to_lowercase();
        if wanted.is_empty() {
            return Vec::new();
        }
        let mut near: Vec<(usize, &str)> = Vec::new();
        for (&id, symbols) in &self.model.by_name {
            let text = self.model.text(id);
            if text.is_empty() || text.len().abs_diff(wanted.len()) > 3 || !symbols.iter().any(|&symbol| self.is_real(symbol)) {
                continue;
            }
            let distance = strsim::levenshtein(&text.to_lowercase(), &wanted);
            if distance <= 1 + wanted.len() / 4 {
                near.push((distance, text));
            }
        }
        near.sort_unstable();
        near.into_iter().take(MAX_CLOSEST).map(|(_, text)| text.to_owned()).collect()
    }
}

/// The parts of a name, whatever joins them.
pub(crate) fn parts_of(name: &str) -> Vec<&str> {
    name.split([':', '.', '/', '#']).filter(|part| !part.is_empty()).collect()
}

fn ends_with(all: &[&str], end: &[&str]) -> bool {
    all.len() >= end.len() && all[all.len() - end.len()..] == *end
}
