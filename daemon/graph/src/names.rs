//! Names of symbols: qualified ones for people, ids for programs.

use ccd_grammars::LanguageId;

use crate::{
    SymbolKind,
    facts::{DefId, Facts, NONE},
};

/// The word of a kind in ids and on the wire.
pub(crate) fn kind_word(kind: SymbolKind) -> &'static str {
    use SymbolKind as K;
    match kind {
        K::Module => "module",
        K::Function => "function",
        K::Method => "method",
        K::Constructor => "constructor",
        K::Field => "field",
        K::Constant => "constant",
        K::Variable => "variable",
        K::Struct => "struct",
        K::Class => "class",
        K::Enum => "enum",
        K::EnumMember => "enum_member",
        K::Interface => "interface",
        K::Trait => "trait",
        K::Impl => "impl",
        K::TypeAlias => "type_alias",
        K::Macro => "macro",
        K::Property => "property",
        K::Test => "test",
    }
}

/// The name with its containers inside the file, as it is kept in ids: an `impl` counts with its trait.
pub(crate) fn local_key(facts: &Facts, definition: DefId) -> String {
    let mut parts: Vec<&str> = Vec::new();
    let mut owner = None;
    for at in facts.chain(definition) {
        if at == 0 {
            break;
        }
        let one = &facts.definitions[at as usize];
        parts.push(facts.strings.get(one.name));
        if owner.is_none() && one.owner != NONE && one.kind != SymbolKind::Impl {
            owner = Some(facts.last_name(one.owner)).filter(|&name| name != NONE);
            if let Some(name) = owner {
                parts.push(facts.strings.get(name));
            }
        }
    }
    parts.reverse();
    parts.join("/")
}

/// The name with its containers inside the file, as a person writes it: `Type::method`, also for a method of a
/// trait that is implemented.
pub(crate) fn local_qualified(language: LanguageId, facts: &Facts, definition: DefId) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for at in facts.chain(definition) {
        if at == 0 {
            break;
        }
        let one = &facts.definitions[at as usize];
        let impl_of = one.kind == SymbolKind::Impl && at != definition;
        if !impl_of {
            parts.push(facts.strings.get(one.name));
        }
        if one.owner != NONE && !impl_of && one.kind != SymbolKind::Impl {
            // `void ns::Type::f()` says where the type is.
            let names = facts.expr(one.owner).iter().rev().filter(|segment| segment.name != NONE);
            parts.extend(names.map(|segment| facts.strings.get(segment.name)));
        } else if one.owner != NONE && impl_of {
            let name = facts.last_name(one.owner);
            if name != NONE {
                parts.push(facts.strings.get(name));
            }
        }
    }
    parts.reverse();
    parts.join(language.row().separator)
}

/// The id of a symbol: path, kind, local key, and the ordinal among its equals where there are several.
pub(crate) fn id(rel: &str, facts: &Facts, definition: DefId) -> String {
    let one = &facts.definitions[definition as usize];
    let mut id = format!("{rel}#{}", kind_word(one.kind));
    if definition != 0 {
        id.push(':');
        id.push_str(&local_key(facts, definition));
    }
    if one.ordinal > 0 {
        id.push_str(&format!("~{}", one.ordinal + 1));
    }
    id
}
