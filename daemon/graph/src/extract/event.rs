//! Matches of the queries, read into values without nodes.

use std::time::Instant;

use ccd_corpus::Cancel;
use ccd_grammars::{Captured, DefinitionRole, LanguageId, Node, ParseError, Point, Role, Tree};

use super::{
    declarator,
    expr::{self, RawSegment, bytes_of},
    imports::{self, RawImports},
    macros,
};
use crate::facts::{Join, SiteKind};

/// A part of a file to parse by itself: points and byte offsets of its start and end.
pub(crate) type Within = Option<(Point, usize, Point, usize)>;

/// What a variable's value is, as far as it decides the symbol's kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ValueKind {
    None,
    Function,
    Class,
    /// A struct that has no name of its own.
    Record,
    Other,
}

#[derive(Debug)]
pub(crate) enum Data {
    Definition(Box<RawDefinition>),
    Scope,
    /// A block that runs in the place of others.
    Branch,
    /// Names that a pattern binds.
    Local(Vec<(u32, u32)>),
    Doc,
    Attribute,
    Wrap,
    Site(SiteKind, Vec<RawSegment>),
    Import(Box<RawImports>),
    Package,
}

#[derive(Debug)]
pub(crate) struct RawDefinition {
    pub(crate) role: DefinitionRole,
    /// Usually one; several for a pattern.
    pub(crate) names: Vec<(u32, u32)>,
    pub(crate) owner: Vec<RawSegment>,
    pub(crate) of_trait: Vec<RawSegment>,
    pub(crate) value: ValueKind,
    /// Where the signature ends.
    pub(crate) head_end: u32,
    pub(crate) has_body: bool,
    /// Rust: it says `pub`; TypeScript: it says `private`, `protected` or `#`.
    pub(crate) visibility: Option<(u32, u32)>,
}

#[derive(Debug)]
pub(crate) struct Event {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) pattern: u32,
    pub(crate) data: Data,
}

/// Reads every match of a tree. Bodies of macros that may hold items are added to `pending`.
pub(crate) fn read(
    (language, tree, text): (LanguageId, &Tree, &[u8]),
    deadline: Instant,
    cancel: &Cancel,
    events: &mut Vec<Event>,
    pending: &mut Vec<Within>,
) -> Result<(), ParseError> {
    ccd_grammars::capture(language, tree, text, deadline, &|| cancel.is_cancelled(), |captured| {
        let (role, node) = captured.main;
        let data = match role {
            Role::Definition(role) => match (definition(language, role, &captured, text), required(language, &captured, text)) {
                (_, Some(required)) => Data::Import(Box::new(required)),
                (Some(raw), None) => Data::Definition(Box::new(raw)),
                (None, None) => return,
            },
            Role::Scope => Data::Scope,
            Role::Branch => Data::Branch,
            Role::Local if language.family() == LanguageId::C => Data::Local(declarator::locals(node)),
            Role::Local => Data::Local(expr::names_in_pattern(language, node, text)),
            Role::Doc => Data::Doc,
            Role::Attribute => Data::Attribute,
            Role::Wrap => Data::Wrap,
            Role::Call | Role::New => {
                let kind = if role == Role::Call { SiteKind::Call } else { SiteKind::New };
                return site(language, kind, captured.part(Role::Callee), text, events);
            }
            Role::Macro => {
                site(language, SiteKind::Macro, captured.part(Role::Callee), text, events);
                if let Some(body) = captured.part(Role::Body) {
                    macros::scan(body, text, events);
                    pending.extend(macros::item_body(body, text));
                }
                return;
            }
            Role::Extends => return site(language, SiteKind::Extends, Some(node), text, events),
            Role::Implements => return site(language, SiteKind::Implements, Some(node), text, events),
            Role::Import => Data::Import(Box::new(imports::read(language, node, text))),
            Role::Package => Data::Package,
            _ => return,
        };
        let (start, mut end) = bytes_of(node);
        // The line end belongs to the node of a line of the preprocessor.
        if node.kind().starts_with("preproc") && text[..end as usize].ends_with(b"\n") {
            end -= 1;
        }
        events.push(Event { start, end, pattern: captured.pattern as u32, data });
    })
}

/// `const x = require("…")` imports.
fn required(language: LanguageId, captured: &Captured<'_>, text: &[u8]) -> Option<RawImports> {
    if language.family() != LanguageId::TYPESCRIPT {
        return None;
    }
    let value = captured.part(Role::Value).filter(|value| value.kind() == "call_expression")?;
    imports::required(captured.part(Role::Name)?, value, text)
}

fn site(language: LanguageId, kind: SiteKind, callee: Option<Node<'_>>, text: &[u8], events: &mut Vec<Event>) {
    let Some(callee) = callee else { return };
    // Base classes are listed among keyword arguments in Python.
    if callee.kind() == "keyword_argument" || callee.kind() == "lifetime" {
        return;
    }
    let mut segments = expr::read(language, callee, text);
    let mut kind = kind;
    // The grammar cannot tell `f[T](x)` from `table[i](x)`: what `f` is decides.
    if language == LanguageId::GO && kind == SiteKind::Call {
        let indexed = segments.last().is_some_and(|(join, _)| *join == Join::Index);
        if indexed {
            segments.pop();
        }
        if indexed || callee.kind() == "generic_type" {
            kind = SiteKind::Instance;
        }
    }
    push_site(kind, segments, events);
}

/// Adds a site at the place of the name it leads to.
pub(crate) fn push_site(kind: SiteKind, segments: Vec<RawSegment>, events: &mut Vec<Event>) {
    let Some(&(_, (start, end))) = segments.last() else { return };
    if end > start {
        events.push(Event { start, end, pattern: u32::MAX, data: Data::Site(kind, segments) });
    }
}

fn definition(language: LanguageId, role: DefinitionRole, captured: &Captured<'_>, text: &[u8]) -> Option<RawDefinition> {
    let node = captured.main.1;
    let read = |role| captured.part(role).map(|node| expr::read(language, node, text)).unwrap_or_default();
    let value_node = captured.part(Role::Value);
    let mut role = role;
    let mut owner = read(Role::Owner);
    let names = match captured.part(Role::Name) {
        Some(name) if language.family() == LanguageId::C => {
            let declared = declarator::read(name)?;
            let function = declared.is_function && role != DefinitionRole::TypeAlias;
            match role {
                DefinitionRole::Variable | DefinitionRole::Field | DefinitionRole::Constant if function => {
                    role = DefinitionRole::Function;
                }
                // `MACRO { … }`
                DefinitionRole::Function if !function => return None,
                _ => {}
            }
            if owner.is_empty() {
                owner = declared.owner;
            }
            declared.names
        }
        Some(name) => match name.kind() {
            "object_pattern" | "array_pattern" | "pattern_list" | "tuple_pattern" | "list_pattern" => {
                expr::names_in_pattern(language, name, text)
            }
            // `obj.x = …` and `a[i] = …` define nothing.
            "attribute" | "subscript" => return None,
            "string" | "string_literal" | "template_string" | "computed_property_name" => vec![imports::unquoted(name, text)],
            _ => vec![bytes_of(name)],
        },
        // An `impl` is named by its type.
        None => vec![bytes_of(captured.part(Role::Owner)?)],
    };
    let body = node
        .child_by_field_name("body")
        .or_else(|| value_node.and_then(|value| value.child_by_field_name("body")))
        .or_else(|| captured.part(Role::Body));
    let value = match value_node.map(|value| value.kind()) {
        None => ValueKind::None,
        Some("arrow_function" | "function_expression" | "generator_function" | "func_literal" | "lambda") => ValueKind::Function,
        // Go lists values.
        Some("expression_list")
            if value_node.and_then(|value| value.named_child(0)).is_some_and(|one| one.kind() == "func_literal") =>
        {
            ValueKind::Function
        }
        Some("class") => ValueKind::Class,
        Some("struct_specifier" | "union_specifier") => ValueKind::Record,
        Some(_) => ValueKind::Other,
    };
    let mut cursor = node.walk();
    let visibility = node
        .children(&mut cursor)
        .take(8)
        .find(|child| matches!(child.kind(), "visibility_modifier" | "accessibility_modifier" | "private_property_identifier"))
        .map(bytes_of);
    Some(RawDefinition {
        role,
        names,
        owner,
        of_trait: read(Role::Trait),
        value,
        head_end: body.map_or(node.end_byte(), |body| body.start_byte()) as u32,
        has_body: body.is_some(),
        visibility,
    })
}
