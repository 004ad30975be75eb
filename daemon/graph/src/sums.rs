//! What a file adds to the numbers that decide which files have to be resolved again.

use ccd_grammars::LanguageId;
use rustc_hash::FxHashSet;

use crate::{
    SymbolKind,
    facts::{DefId, ExprId, Facts, Import, ImportKind, Join, NONE, SiteKind, flag},
    layout::{file_name, folder},
    model::{FileEntry, Model, Name, SymbolSlot, stable_hash},
};

fn expr_bytes(facts: &Facts, expr: ExprId) -> Vec<u8> {
    let mut bytes = Vec::new();
    if expr != NONE {
        for segment in facts.expr(expr) {
            bytes.push(segment.join as u8);
            if segment.name != NONE {
                bytes.extend_from_slice(facts.strings.get(segment.name).as_bytes());
            }
        }
    }
    bytes
}

/// What a file adds to the sums of names, and to the shape.
pub(crate) fn sums(entry: &FileEntry, symbols: &[SymbolSlot]) -> (Vec<(Name, u64)>, u64, u64) {
    let mut places = stable_hash(&[b"file", entry.rel.as_bytes()]);
    let facts = &entry.facts;
    let key = |definition: DefId| symbols[entry.symbols[definition as usize] as usize].key;
    let mut out = Vec::with_capacity(facts.definitions.len() + 2 * facts.imports.len());
    let home = entry.home.to_le_bytes();
    let mut shape = 0u64;
    let presence = stable_hash(&[b"file", entry.rel.as_bytes(), &home]);
    out.extend(entry.place_names.iter().map(|&name| (name, presence)));
    let string = |id: u32| if id == NONE { &b""[..] } else { facts.strings.get(id).as_bytes() };
    if facts.package != NONE {
        places = places.wrapping_add(stable_hash(&[b"package", entry.rel.as_bytes(), string(facts.package)]));
    }
    for (at, d) in facts.definitions.iter().enumerate().skip(1) {
        let at = at as DefId;
        let owner = expr_bytes(facts, d.owner);
        let of_trait = expr_bytes(facts, d.of_trait);
        let sum = stable_hash(&[&key(at).to_le_bytes(), &[d.flags, d.kind as u8], &owner, &of_trait, &home]);
        out.push((entry.names[d.name as usize], sum));
        if d.owner != NONE && facts.last_name(d.owner) != NONE {
            out.push((entry.names[facts.last_name(d.owner) as usize], sum));
        }
        if d.kind == SymbolKind::Constructor {
            // What `super(…)` below the class means, which does not name it.
            out.push((entry.names[facts.definitions[d.container as usize].name as usize], sum));
        }
        if d.kind == SymbolKind::Module {
            let path = facts.mod_paths.iter().find(|(of, _)| *of == at).map_or(&b""[..], |&(_, path)| string(path));
            let module = [&key(at).to_le_bytes()[..], &at.to_le_bytes(), &[d.flags & flag::ELSEWHERE], path].concat();
            places = places.wrapping_add(stable_hash(&[b"mod", &module]));
        }
    }
    for import in &facts.imports {
        let path = expr_bytes(facts, import.path);
        let kind = [import.kind as u8, u8::from(import.exported), u8::from(import.only_export)];
        let scope = key(import.scope).to_le_bytes();
        let sum = stable_hash(&[b"import", &scope, &kind, &path, string(import.item), string(import.binding)]);
        // A part of a library of Dart decides what the library consists of.
        let of_library = import.kind == ImportKind::SideEffect || import.kind == ImportKind::Module && import.binding == NONE;
        if of_library && entry.language == LanguageId::DART {
            places = places.wrapping_add(stable_hash(&[b"part", entry.rel.as_bytes(), &path]));
        }
        if import.kind == ImportKind::Glob {
            shape = shape.wrapping_add(sum);
            continue;
        }
        let sum = stable_hash(&[&sum.to_le_bytes(), &home]);
        for id in [import.binding, import.item] {
            if id != NONE {
                out.push((entry.names[id as usize], sum));
            }
        }
    }
    for &(outer, inner) in &facts.exports {
        let sum = stable_hash(&[b"export", entry.rel.as_bytes(), string(outer), string(inner)]);
        out.push((entry.names[outer as usize], sum));
        out.push((entry.names[inner as usize], sum));
    }
    for site in facts.sites.iter().filter(|site| matches!(site.kind, SiteKind::Extends | SiteKind::Implements)) {
        // A base decides what `self.method` means below it.
        let sum = stable_hash(&[b"base", &key(site.scope).to_le_bytes(), &expr_bytes(facts, site.expr)]);
        out.push((entry.names[facts.definitions[site.scope as usize].name as usize], sum));
    }
    (out, shape, places)
}

/// What a file adds to the shape by where its imports lead: in C, C++ and Dart, what a file brings in whole it gives on
/// to those that bring it in, which do not name what lies behind it.
pub(crate) fn sum_of_routes(entry: &FileEntry) -> u64 {
    let gives_on = matches!(entry.language.family(), LanguageId::C | LanguageId::DART);
    let whole = |import: &Import| import.kind == ImportKind::Glob;
    if gives_on && entry.facts.imports.iter().any(whole) {
        stable_hash(&[b"routes", entry.rel.as_bytes(), &entry.routes.to_le_bytes()])
    } else {
        0
    }
}

/// Names under which the file knows others, or gives them out.
pub(crate) fn renames(entry: &FileEntry) -> Vec<(Name, Name)> {
    let facts = &entry.facts;
    let mut out = Vec::new();
    let mut push = |alias: u32, original: u32| {
        if alias != NONE && original != NONE && entry.names[alias as usize] != entry.names[original as usize] {
            out.push((entry.names[alias as usize], entry.names[original as usize]));
        }
    };
    for import in &facts.imports {
        match import.kind {
            ImportKind::Path => push(import.binding, facts.last_name(import.path)),
            ImportKind::Item => push(import.binding, import.item),
            _ => {}
        }
    }
    for &(outer, inner) in &facts.exports {
        push(outer, inner);
    }
    out
}

/// Whether a file has sites that are looked for through the bases of classes: it says `super`, or calls members of a class
/// that has bases without `this`.
pub(crate) fn looks_up(language: LanguageId, facts: &Facts) -> bool {
    let says_super = facts.segments.iter().any(|segment| segment.join == Join::Super);
    let in_class = || {
        facts.sites.iter().any(|site| site.kind == SiteKind::Extends)
            || facts.definitions.iter().any(|d| d.owner != NONE && d.kind != SymbolKind::Impl)
    };
    says_super || matches!(language.family(), LanguageId::C | LanguageId::DART | LanguageId::JAVA) && in_class()
}

/// Names by which a file knows the bases of its classes.
pub(crate) fn base_names(entry: &FileEntry) -> Vec<Name> {
    let facts = &entry.facts;
    let sites = facts.sites.iter().filter(|site| site.kind == SiteKind::Extends);
    let segments = sites.flat_map(|site| facts.expr(site.expr)).filter(|segment| segment.name != NONE);
    segments.map(|segment| entry.names[segment.name as usize]).collect()
}

/// What the bodies of a file's Python classes import: the name, and the last part of the module's.
pub(crate) fn class_imports(entry: &FileEntry) -> Vec<(Name, &str)> {
    let facts = &entry.facts;
    if entry.language != LanguageId::PYTHON {
        return Vec::new();
    }
    let in_class =
        |import: &&Import| import.kind == ImportKind::Item && facts.definitions[import.scope as usize].kind == SymbolKind::Class;
    let imports = facts.imports.iter().filter(in_class);
    imports
        .filter_map(|import| {
            let module = facts.last_name(import.path);
            let module = if module == NONE { "" } else { facts.strings.get(module) };
            let last = match module.rsplit('.').next().unwrap_or(module) {
                // `from . import x`: the package, which its folder names.
                "" => file_name(folder(&entry.rel)),
                last => last,
            };
            Some((entry.name(import.item)?, last))
        })
        .collect()
}

/// The sums of all names of bases and of what they stand for, taken together. What `super` names follows from a chain of
/// classes of which its file mentions only the first, so all such files follow from all chains.
pub(crate) fn sum_of_bases(model: &Model) -> u64 {
    let mut seen: FxHashSet<Name> = model.bases.keys().copied().collect();
    let mut pending: Vec<Name> = seen.iter().copied().collect();
    let mut total = 0u64;
    while let Some(name) = pending.pop() {
        // Names have other numbers in another process.
        if let Some(&sum) = model.name_sums.get(&name).filter(|&&sum| sum != 0) {
            total = total.wrapping_add(stable_hash(&[&sum.to_le_bytes(), model.text(name).as_bytes()]));
        }
        let originals = model.renames.get(&name).into_iter().flatten();
        pending.extend(originals.map(|&(original, _)| original).filter(|&original| seen.insert(original)));
    }
    total
}
