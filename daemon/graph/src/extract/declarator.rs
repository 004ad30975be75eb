//! Declarators of C and C++: the name that a declaration gives, out of the pointers, arrays and parameters around it.

use ccd_grammars::Node;

use super::expr::{self, RawSegment, bytes_of};
use crate::facts::Join;

/// What a declarator declares.
pub(crate) struct Declared {
    pub(crate) names: Vec<(u32, u32)>,
    /// The type or namespace before the name (`A::f`).
    pub(crate) owner: Vec<RawSegment>,
    pub(crate) is_function: bool,
}

/// Reads a declarator; none if there is no name in it.
pub(crate) fn read(declarator: Node<'_>) -> Option<Declared> {
    let mut at = declarator;
    let mut owner: Vec<RawSegment> = Vec::new();
    // Whether what stands directly around the name makes a function of it.
    let mut is_function = false;
    loop {
        match at.kind() {
            "identifier"
            | "field_identifier"
            | "type_identifier"
            | "namespace_identifier"
            | "destructor_name"
            | "operator_name"
            | "primitive_type" => {
                let empty = at.start_byte() == at.end_byte();
                return (!empty).then(|| Declared { names: vec![bytes_of(at)], owner, is_function });
            }
            "nested_namespace_specifier" => return Some(Declared { names: vec![bytes_of(at)], owner, is_function: false }),
            // `operator bool`: up to the parameters.
            "operator_cast" => {
                let end = at.child_by_field_name("declarator").map_or(at.end_byte(), |inner| inner.start_byte()) as u32;
                let name = (at.start_byte() as u32, end);
                return Some(Declared { names: vec![name], owner, is_function: true });
            }
            "structured_binding_declarator" => {
                let mut cursor = at.walk();
                let names = at.named_children(&mut cursor).filter(|part| part.kind() == "identifier").map(bytes_of).collect();
                return Some(Declared { names, owner, is_function: false });
            }
            "qualified_identifier" => {
                let mut chain = expr::qualified(at);
                chain.remove(0);
                chain.reverse();
                owner = chain;
                let mut name = at;
                while name.kind() == "qualified_identifier" {
                    name = name.child_by_field_name("name")?;
                }
                at = name;
            }
            "template_function" | "template_method" | "template_type" => at = at.child_by_field_name("name")?,
            kind => {
                is_function = match kind {
                    "function_declarator" => true,
                    "parenthesized_declarator" | "attributed_declarator" => is_function,
                    _ => false,
                };
                // `int CALLBACK(name)(int)`, `int PRIVATE(name)[]`: no function gives a function or an array.
                if matches!(kind, "function_declarator" | "array_declarator")
                    && let Some(name) = at.child_by_field_name("declarator").and_then(in_macro)
                {
                    return Some(Declared { names: vec![bytes_of(name)], owner, is_function });
                }
                at = match at.child_by_field_name("declarator") {
                    Some(inner) => inner,
                    None => inner(at)?,
                };
            }
        }
    }
}

/// The name that a macro in the place of a name has for its one argument.
fn in_macro(declarator: Node<'_>) -> Option<Node<'_>> {
    if declarator.kind() != "function_declarator" || declarator.child_by_field_name("declarator")?.kind().ends_with("declarator")
    {
        return None;
    }
    let parameters = declarator.child_by_field_name("parameters")?;
    let only = parameters.named_child(0).filter(|_| parameters.named_child_count() == 1)?;
    let name = if only.kind() == "parameter_declaration" { only.child_by_field_name("type")? } else { only };
    matches!(name.kind(), "type_identifier" | "identifier").then_some(name)
}

/// The declarator in one whose grammar gives it no field.
fn inner(declarator: Node<'_>) -> Option<Node<'_>> {
    let mut cursor = declarator.walk();
    let is_name = |kind: &str| kind.ends_with("declarator") || kind.ends_with("identifier") || kind.ends_with("_name");
    let kinds = |kind: &str| is_name(kind) && !kind.starts_with("abstract_") || kind == "operator_cast";
    declarator.named_children(&mut cursor).find(|part| kinds(part.kind()))
}

/// The names that a declarator binds where it stands.
pub(crate) fn locals(declarator: Node<'_>) -> Vec<(u32, u32)> {
    read(declarator)
        .filter(|declared| declared.owner.iter().all(|(join, _)| *join == Join::Other))
        .map_or_else(Vec::new, |one| one.names)
}
