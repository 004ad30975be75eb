//! Expressions and patterns, read from the tree without recursion.

use ccd_grammars::{LanguageId, Node};

use crate::facts::Join;

/// Segments kept of a chain of calls; the outer ones matter.
const MAX_SEGMENTS: usize = 12;
/// Names taken from one pattern.
const MAX_NAMES: usize = 256;

/// A segment with its name as a byte range of the text; empty for those without.
pub(crate) type RawSegment = (Join, (u32, u32));

pub(crate) fn bytes_of(node: Node<'_>) -> (u32, u32) {
    (node.start_byte() as u32, node.end_byte() as u32)
}

enum Step<'tree> {
    /// The chain begins here.
    Root(Join, (u32, u32)),
    /// A segment, and what stands before it.
    Segment(Join, (u32, u32), Option<Node<'tree>>),
    /// A wrapper that means what is in it.
    Through(Option<Node<'tree>>),
    /// A whole chain, last to first.
    Chain(Vec<RawSegment>),
}

/// The expression as a chain of segments, first to last.
pub(crate) fn read(language: LanguageId, node: Node<'_>, text: &[u8]) -> Vec<RawSegment> {
    let mut reversed = Vec::new();
    let mut at = Some(node);
    while let Some(node) = at {
        if reversed.len() >= MAX_SEGMENTS {
            break;
        }
        // What is called, and not what a call gives.
        let called = reversed.last().is_none_or(|(join, _)| *join == Join::Call);
        match step(language, node, text, called) {
            Step::Root(join, name) => {
                reversed.push((join, name));
                at = None;
            }
            Step::Segment(join, name, before) => {
                reversed.push((join, name));
                at = before;
            }
            Step::Through(inner) => at = inner,
            Step::Chain(chain) => {
                reversed.extend(chain);
                at = None;
            }
        }
    }
    if !reversed.last().is_some_and(|(join, _)| matches!(join, Join::Root | Join::This | Join::Super | Join::Other)) {
        reversed.push((Join::Other, (0, 0)));
    }
    reversed.reverse();
    reversed
}

fn step<'tree>(language: LanguageId, node: Node<'tree>, text: &[u8], called: bool) -> Step<'tree> {
    match language.family() {
        LanguageId::RUST => rust(node),
        LanguageId::GO => go(node),
        LanguageId::TYPESCRIPT => typescript(node),
        LanguageId::C => c(node),
        LanguageId::DART => dart(node, called),
        LanguageId::JAVA => java(node, called),
        _ => python(node, text),
    }
}

fn field<'tree>(node: Node<'tree>, name: &str) -> Option<Node<'tree>> {
    node.child_by_field_name(name)
}

fn named<'tree>(join: Join, name: Option<Node<'tree>>, before: Option<Node<'tree>>) -> Step<'tree> {
    Step::Segment(join, name.map_or((0, 0), bytes_of), before)
}

fn unnamed(join: Join, before: Option<Node<'_>>) -> Step<'_> {
    Step::Segment(join, (0, 0), before)
}

fn first(node: Node<'_>) -> Option<Node<'_>> {
    node.named_child(0)
}

fn last(node: Node<'_>) -> Option<Node<'_>> {
    node.named_child(node.named_child_count().checked_sub(1)? as u32)
}

const OTHER: Step<'static> = Step::Root(Join::Other, (0, 0));

fn rust(node: Node<'_>) -> Step<'_> {
    match node.kind() {
        "self" => Step::Root(Join::This, bytes_of(node)),
        "identifier" | "type_identifier" | "crate" | "super" | "metavariable" | "primitive_type" | "field_identifier" => {
            Step::Root(Join::Root, bytes_of(node))
        }
        "scoped_identifier" | "scoped_type_identifier" => match field(node, "path") {
            Some(path) => named(Join::Path, field(node, "name"), Some(path)),
            // `::name`: from the crates.
            None => named(Join::Path, field(node, "name"), None),
        },
        "field_expression" => named(Join::Member, field(node, "field"), field(node, "value")),
        "generic_function" => Step::Through(field(node, "function")),
        "generic_type" | "generic_type_with_turbofish" | "reference_type" | "pointer_type" => Step::Through(field(node, "type")),
        "call_expression" => unnamed(Join::Call, field(node, "function")),
        "index_expression" => unnamed(Join::Index, first(node)),
        "try_expression" | "await_expression" | "parenthesized_expression" => Step::Through(first(node)),
        "reference_expression" | "unary_expression" => Step::Through(last(node)),
        "dynamic_type" | "abstract_type" => Step::Through(field(node, "trait")),
        "higher_ranked_trait_bound" => Step::Through(field(node, "type")),
        _ => OTHER,
    }
}

fn go(node: Node<'_>) -> Step<'_> {
    match node.kind() {
        "identifier" | "type_identifier" | "package_identifier" | "field_identifier" => Step::Root(Join::Root, bytes_of(node)),
        "selector_expression" => named(Join::Member, field(node, "field"), field(node, "operand")),
        "qualified_type" => named(Join::Member, field(node, "name"), field(node, "package")),
        "call_expression" => unnamed(Join::Call, field(node, "function")),
        "index_expression" => unnamed(Join::Index, field(node, "operand")),
        "type_conversion_expression" => unnamed(Join::Call, field(node, "type")),
        "type_instantiation_expression" | "generic_type" => Step::Through(field(node, "type")),
        "parenthesized_expression" | "pointer_type" | "parenthesized_type" => Step::Through(first(node)),
        "unary_expression" => Step::Through(field(node, "operand")),
        _ => OTHER,
    }
}

fn typescript(node: Node<'_>) -> Step<'_> {
    match node.kind() {
        "this" => Step::Root(Join::This, bytes_of(node)),
        "super" => Step::Root(Join::Super, bytes_of(node)),
        "identifier" | "type_identifier" | "property_identifier" | "undefined" | "import" | "jsx_identifier" => {
            Step::Root(Join::Root, bytes_of(node))
        }
        "member_expression" | "nested_identifier" | "jsx_member_expression" => {
            named(Join::Member, field(node, "property"), field(node, "object"))
        }
        "nested_type_identifier" => named(Join::Member, field(node, "name"), field(node, "module")),
        "call_expression" => unnamed(Join::Call, field(node, "function")),
        "new_expression" => unnamed(Join::Call, field(node, "constructor")),
        "subscript_expression" => unnamed(Join::Index, field(node, "object")),
        "generic_type" => Step::Through(field(node, "name")),
        "parenthesized_expression"
        | "non_null_expression"
        | "await_expression"
        | "as_expression"
        | "satisfies_expression"
        | "instantiation_expression" => Step::Through(first(node)),
        _ => OTHER,
    }
}

fn python<'tree>(node: Node<'tree>, text: &[u8]) -> Step<'tree> {
    match node.kind() {
        // The first parameter of a method has this name by convention that no linter lets pass.
        "identifier" if &text[node.byte_range()] == b"self" || &text[node.byte_range()] == b"cls" => {
            Step::Root(Join::This, bytes_of(node))
        }
        "identifier" => Step::Root(Join::Root, bytes_of(node)),
        "attribute" => named(Join::Member, field(node, "attribute"), field(node, "object")),
        "call" => match field(node, "function") {
            Some(function) if &text[function.byte_range()] == b"super" => Step::Root(Join::Super, bytes_of(function)),
            function => unnamed(Join::Call, function),
        },
        "subscript" => unnamed(Join::Index, field(node, "value")),
        "parenthesized_expression" | "await" => Step::Through(first(node)),
        _ => OTHER,
    }
}

fn c(node: Node<'_>) -> Step<'_> {
    match node.kind() {
        "this" => Step::Root(Join::This, bytes_of(node)),
        "identifier" | "type_identifier" | "namespace_identifier" | "field_identifier" => Step::Root(Join::Root, bytes_of(node)),
        "qualified_identifier" => Step::Chain(qualified(node)),
        "field_expression" => {
            let name =
                field(node, "field").map(|name| if name.kind() == "template_method" { field(name, "name") } else { Some(name) });
            named(Join::Member, name.flatten(), field(node, "argument"))
        }
        "call_expression" => unnamed(Join::Call, field(node, "function")),
        "subscript_expression" => unnamed(Join::Index, field(node, "argument")),
        "template_function" | "template_type" | "template_method" => Step::Through(field(node, "name")),
        "pointer_expression" => Step::Through(field(node, "argument")),
        "parenthesized_expression" => Step::Through(first(node)),
        _ => OTHER,
    }
}

/// `a::b<T>::c`, last to first: it nests to the right.
pub(crate) fn qualified(node: Node<'_>) -> Vec<RawSegment> {
    let mut spans = Vec::new();
    let mut at = Some(node);
    while let Some(node) = at {
        let part = if node.kind() == "qualified_identifier" { field(node, "scope") } else { Some(node) };
        at = if node.kind() == "qualified_identifier" { field(node, "name") } else { None };
        // `::name` is looked for like `name`.
        let Some(part) = part else { continue };
        let name = match part.kind() {
            "template_type" | "template_function" | "template_method" => field(part, "name").unwrap_or(part),
            _ => part,
        };
        spans.push(bytes_of(name));
    }
    let joins = std::iter::once(Join::Root).chain(std::iter::repeat(Join::Path));
    let mut chain: Vec<RawSegment> = joins.zip(spans).collect();
    if chain.len() > MAX_SEGMENTS {
        chain.drain(..chain.len() - MAX_SEGMENTS);
        chain[0].0 = Join::Other;
    }
    chain.reverse();
    chain
}

fn dart(node: Node<'_>, called: bool) -> Step<'_> {
    match node.kind() {
        "this" => Step::Root(Join::This, bytes_of(node)),
        "super" => Step::Root(Join::Super, bytes_of(node)),
        "identifier" | "type_identifier" => Step::Root(Join::Root, bytes_of(node)),
        // `this` and `super` are no fields.
        "member_expression" | "null_aware_member_expression" => {
            named(Join::Member, field(node, "property"), field(node, "object").or_else(|| node.child(0)))
        }
        "cascade_call_expression" => named(Join::Member, field(node, "property"), None),
        "static_member_shorthand" => named(Join::Member, first(node), None),
        "constructor_invocation" if called => match field(node, "constructor") {
            Some(constructor) => named(Join::Member, Some(constructor), field(node, "type")),
            None => Step::Through(field(node, "type")),
        },
        "constructor_invocation" => unnamed(Join::Call, Some(node)),
        "new_expression" | "const_object_expression" => unnamed(Join::Call, field(node, "type")),
        "type" => {
            let mut cursor = node.walk();
            let names: Vec<_> = node.named_children(&mut cursor).filter(|part| part.kind() == "type_identifier").collect();
            let joins = std::iter::once(Join::Root).chain(std::iter::repeat(Join::Member));
            let mut chain: Vec<RawSegment> = joins.zip(names.into_iter().map(bytes_of)).collect();
            chain.reverse();
            Step::Chain(chain)
        }
        "call_expression" => unnamed(Join::Call, field(node, "function")),
        "index_expression" => unnamed(Join::Index, field(node, "object")),
        "instantiation_expression" => Step::Through(field(node, "function")),
        "null_assertion_expression" => Step::Through(field(node, "value")),
        "parenthesized_expression" => Step::Through(first(node)),
        _ => OTHER,
    }
}

fn java(node: Node<'_>, called: bool) -> Step<'_> {
    match node.kind() {
        "this" => Step::Root(Join::This, bytes_of(node)),
        "super" => Step::Root(Join::Super, bytes_of(node)),
        "identifier" | "type_identifier" => Step::Root(Join::Root, bytes_of(node)),
        "method_invocation" if called => {
            let mut cursor = node.walk();
            let object = field(node, "object");
            // `Type.super.name()`: of an interface.
            let of_type = object.is_some_and(|object| object.kind() != "super")
                && node.children(&mut cursor).any(|part| part.kind() == "super");
            match (object, field(node, "name")) {
                (None, Some(name)) => Step::Root(Join::Root, bytes_of(name)),
                (_, name) => named(Join::Member, name, object.filter(|_| !of_type)),
            }
        }
        "method_invocation" => unnamed(Join::Call, Some(node)),
        "method_reference" => named(Join::Member, last(node), first(node)),
        "object_creation_expression" => unnamed(Join::Call, field(node, "type")),
        "field_access" => named(Join::Member, field(node, "field"), field(node, "object")),
        "scoped_type_identifier" => named(Join::Member, last(node), first(node)),
        "array_access" => unnamed(Join::Index, field(node, "array")),
        "annotated_type" => Step::Through(last(node)),
        "generic_type" | "parenthesized_expression" => Step::Through(first(node)),
        _ => OTHER,
    }
}

/// The names that a pattern binds, as byte ranges.
pub(crate) fn names_in_pattern(language: LanguageId, pattern: Node<'_>, text: &[u8]) -> Vec<(u32, u32)> {
    let rust = language == LanguageId::RUST;
    let mut names = Vec::new();
    let mut cursor = pattern.walk();
    'walk: loop {
        let node = cursor.node();
        let kind = node.kind();
        let default = matches!(kind, "default_parameter" | "typed_default_parameter");
        let skip = match kind {
            "scoped_identifier"
            | "scoped_type_identifier"
            | "attribute"
            | "subscript"
            | "member_expression"
            | "selector_expression"
            | "index_expression"
            | "call_expression"
            | "call"
            | "type"
            | "type_annotation"
            | "keyword_pattern"
            | "subscript_expression" => true,
            _ => matches!(cursor.field_name(), Some("type" | "right" | "default_value")) && cursor.depth() > 0,
        };
        if !skip {
            if matches!(kind, "identifier" | "shorthand_field_identifier" | "shorthand_property_identifier_pattern") {
                let name = &text[node.byte_range()];
                // A pattern's upper-case name is a constant or a variant, which is matched and not bound.
                let constant = rust && name.first().is_some_and(u8::is_ascii_uppercase);
                if !constant && name != b"_" && names.len() < MAX_NAMES {
                    names.push(bytes_of(node));
                }
            }
            if default {
                if let Some(name) = field(node, "name") {
                    names.push(bytes_of(name));
                }
            } else if cursor.goto_first_child() {
                continue;
            }
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                break 'walk;
            }
        }
    }
    names
}
