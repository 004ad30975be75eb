//! Imports as each language writes them.

use ccd_grammars::{LanguageId, Node};

use super::expr::bytes_of;
use crate::facts::ImportKind;

/// Names of one import declaration; a longer one is data.
const MAX_IMPORTS: usize = 4096;

/// A byte range of the text.
pub(crate) type Span = (u32, u32);

/// An import as it is written.
#[derive(Clone, Debug)]
pub(crate) struct RawImport {
    pub(crate) kind: ImportKind,
    pub(crate) at: u32,
    /// Segments (Rust) or the module's text without quotes.
    pub(crate) path: Vec<Span>,
    pub(crate) item: Option<Span>,
    /// `item` is the module's default, which has no text of its own.
    pub(crate) default_item: bool,
    pub(crate) binding: Option<Span>,
    pub(crate) exported: bool,
    pub(crate) only_export: bool,
}

/// What a declaration of imports says.
#[derive(Clone, Debug, Default)]
pub(crate) struct RawImports {
    pub(crate) imports: Vec<RawImport>,
    /// (outer name, or none for the default; inner name)
    pub(crate) exports: Vec<(Option<Span>, Span)>,
}

fn import(kind: ImportKind, at: Node<'_>, path: Vec<Span>) -> RawImport {
    RawImport {
        kind,
        at: at.start_byte() as u32,
        path,
        item: None,
        default_item: false,
        binding: None,
        exported: false,
        only_export: false,
    }
}

pub(crate) fn read(language: LanguageId, node: Node<'_>, text: &[u8]) -> RawImports {
    let mut out = RawImports::default();
    match language.family() {
        LanguageId::RUST => rust(node, text, &mut out),
        LanguageId::GO => go(node, text, &mut out),
        LanguageId::TYPESCRIPT => typescript(node, text, &mut out),
        LanguageId::PYTHON => python(node, text, &mut out),
        LanguageId::C => c(node, &mut out),
        LanguageId::DART => dart(node, text, &mut out),
        LanguageId::JAVA => java(node, &mut out),
        _ => {}
    }
    out
}

fn children<'tree>(node: Node<'tree>) -> Vec<Node<'tree>> {
    let mut cursor = node.walk();
    node.named_children(&mut cursor).collect()
}

/// A string without its quotes.
pub(crate) fn unquoted(node: Node<'_>, text: &[u8]) -> Span {
    let (start, end) = bytes_of(node);
    let quoted = end - start >= 2 && matches!(text[start as usize], b'"' | b'\'' | b'`');
    if quoted { (start + 1, end - 1) } else { (start, end) }
}

fn rust(node: Node<'_>, text: &[u8], out: &mut RawImports) {
    let exported = text[node.byte_range()].starts_with(b"pub");
    if node.kind() == "extern_crate_declaration" {
        if let Some(name) = node.child_by_field_name("name") {
            let binding = node.child_by_field_name("alias").unwrap_or(name);
            let path = vec![(0, 0), bytes_of(name)];
            out.imports.push(RawImport { binding: Some(bytes_of(binding)), exported, ..import(ImportKind::Path, name, path) });
        }
        return;
    }
    let Some(argument) = node.child_by_field_name("argument") else { return };
    let mut pending = vec![(argument, Vec::new())];
    while let Some((node, prefix)) = pending.pop() {
        if out.imports.len() >= MAX_IMPORTS {
            return;
        }
        match node.kind() {
            "use_list" => {
                let items: Vec<_> = children(node).into_iter().map(|item| (item, prefix.clone())).collect();
                pending.extend(items.into_iter().rev());
            }
            "scoped_use_list" => {
                let mut path = prefix;
                match node.child_by_field_name("path") {
                    Some(first) => rust_path(first, &mut path),
                    None if path.is_empty() => path.push((0, 0)),
                    None => {}
                }
                if let Some(list) = node.child_by_field_name("list") {
                    pending.push((list, path));
                }
            }
            "use_wildcard" => {
                let mut path = prefix;
                if let Some(first) = node.named_child(0) {
                    rust_path(first, &mut path);
                }
                out.imports.push(RawImport { exported, ..import(ImportKind::Glob, node, path) });
            }
            "use_as_clause" => {
                let mut path = prefix;
                let Some(first) = node.child_by_field_name("path") else { continue };
                rust_path(first, &mut path);
                drop_self(&mut path, text);
                let alias = node
                    .child_by_field_name("alias")
                    .map(bytes_of)
                    .filter(|&(start, end)| &text[start as usize..end as usize] != b"_");
                out.imports.push(RawImport { binding: alias, exported, ..import(ImportKind::Path, first, path) });
            }
            "identifier" | "scoped_identifier" | "self" | "crate" | "super" => {
                let mut path = prefix;
                rust_path(node, &mut path);
                drop_self(&mut path, text);
                let binding = path.last().copied().filter(|&(start, end)| end > start);
                let at = node.child_by_field_name("name").unwrap_or(node);
                out.imports.push(RawImport { binding, exported, ..import(ImportKind::Path, at, path) });
            }
            _ => {}
        }
    }
}

/// `a::{self}` names `a`.
fn drop_self(path: &mut Vec<Span>, text: &[u8]) {
    if path.len() > 1 && path.last().is_some_and(|&(start, end)| &text[start as usize..end as usize] == b"self") {
        path.pop();
    }
}

fn rust_path(node: Node<'_>, path: &mut Vec<Span>) {
    let mut reversed = Vec::new();
    let mut at = Some(node);
    while let Some(node) = at {
        if node.kind() == "scoped_identifier" {
            if let Some(name) = node.child_by_field_name("name") {
                reversed.push(bytes_of(name));
            }
            at = node.child_by_field_name("path");
            if at.is_none() && path.is_empty() {
                // `::a`: an empty first segment stands for the crates.
                reversed.push((0, 0));
            }
        } else {
            reversed.push(bytes_of(node));
            at = None;
        }
    }
    path.extend(reversed.into_iter().rev());
}

fn go(node: Node<'_>, text: &[u8], out: &mut RawImports) {
    let Some(path) = node.child_by_field_name("path") else { return };
    let module = vec![unquoted(path, text)];
    let one = match node.child_by_field_name("name") {
        None => import(ImportKind::Module, path, module),
        Some(name) => match name.kind() {
            "dot" => import(ImportKind::Glob, path, module),
            "blank_identifier" => import(ImportKind::SideEffect, path, module),
            _ => RawImport { binding: Some(bytes_of(name)), ..import(ImportKind::Module, path, module) },
        },
    };
    out.imports.push(one);
}

fn typescript(node: Node<'_>, text: &[u8], out: &mut RawImports) {
    match node.kind() {
        "import_statement" => {
            let parts = children(node);
            let source = node.child_by_field_name("source");
            for part in &parts {
                match part.kind() {
                    "import_clause" => {
                        let Some(source) = source else { continue };
                        import_clause(*part, vec![unquoted(source, text)], out);
                    }
                    "import_require_clause" => {
                        let (Some(name), Some(source)) = (part.named_child(0), part.child_by_field_name("source")) else {
                            continue;
                        };
                        let module = vec![unquoted(source, text)];
                        out.imports.push(RawImport { binding: Some(bytes_of(name)), ..import(ImportKind::Module, name, module) });
                    }
                    _ => {}
                }
            }
            if let Some(source) = source
                && !parts.iter().any(|part| part.kind() == "import_clause")
            {
                out.imports.push(import(ImportKind::SideEffect, source, vec![unquoted(source, text)]));
            }
        }
        "export_statement" => export_statement(node, text, out),
        "call_expression" => {
            let source = node.child_by_field_name("arguments").and_then(|arguments| arguments.named_child(0));
            if let Some(source) = source {
                out.imports.push(import(ImportKind::SideEffect, source, vec![unquoted(source, text)]));
            }
        }
        _ => {}
    }
}

fn import_clause(clause: Node<'_>, module: Vec<Span>, out: &mut RawImports) {
    for part in children(clause) {
        match part.kind() {
            "identifier" => out.imports.push(RawImport {
                default_item: true,
                binding: Some(bytes_of(part)),
                ..import(ImportKind::Item, part, module.clone())
            }),
            "namespace_import" => {
                let binding = part.named_child(0).map(bytes_of);
                out.imports.push(RawImport { binding, ..import(ImportKind::Module, part, module.clone()) });
            }
            "named_imports" => {
                for specifier in children(part).into_iter().take(MAX_IMPORTS) {
                    let Some(name) = specifier.child_by_field_name("name") else { continue };
                    let binding = specifier.child_by_field_name("alias").unwrap_or(name);
                    out.imports.push(RawImport {
                        item: Some(bytes_of(name)),
                        binding: Some(bytes_of(binding)),
                        ..import(ImportKind::Item, name, module.clone())
                    });
                }
            }
            _ => {}
        }
    }
}

fn export_statement(node: Node<'_>, text: &[u8], out: &mut RawImports) {
    let source = node.child_by_field_name("source");
    let mut cursor = node.walk();
    let parts: Vec<_> = node.children(&mut cursor).collect();
    let is_default = parts.iter().any(|part| part.kind() == "default");
    if is_default {
        let inner = node.child_by_field_name("value").or_else(|| node.child_by_field_name("declaration"));
        let name =
            inner.and_then(|inner| if inner.kind() == "identifier" { Some(inner) } else { inner.child_by_field_name("name") });
        if let Some(name) = name {
            out.exports.push((None, bytes_of(name)));
        }
        return;
    }
    for part in &parts {
        match (part.kind(), source) {
            ("export_clause", source) => {
                for specifier in children(*part).into_iter().take(MAX_IMPORTS) {
                    let Some(name) = specifier.child_by_field_name("name") else { continue };
                    let outer = specifier.child_by_field_name("alias").unwrap_or(name);
                    match source {
                        Some(source) => out.imports.push(RawImport {
                            item: Some(bytes_of(name)),
                            binding: Some(bytes_of(outer)),
                            exported: true,
                            only_export: true,
                            ..import(ImportKind::Item, name, vec![unquoted(source, text)])
                        }),
                        None => out.exports.push((Some(bytes_of(outer)), bytes_of(name))),
                    }
                }
            }
            ("namespace_export", Some(source)) => out.imports.push(RawImport {
                binding: part.named_child(0).map(bytes_of),
                exported: true,
                only_export: true,
                ..import(ImportKind::Module, *part, vec![unquoted(source, text)])
            }),
            ("*", Some(source)) => out.imports.push(RawImport {
                exported: true,
                only_export: true,
                ..import(ImportKind::Glob, *part, vec![unquoted(source, text)])
            }),
            _ => {}
        }
    }
}

/// What `const <pattern> = require("…")` imports; none if the call is another.
pub(crate) fn required(pattern: Node<'_>, call: Node<'_>, text: &[u8]) -> Option<RawImports> {
    let callee = call.child_by_field_name("function")?;
    let source = call.child_by_field_name("arguments")?.named_child(0)?;
    if &text[callee.byte_range()] != b"require" || source.kind() != "string" {
        return None;
    }
    let module = vec![unquoted(source, text)];
    let mut out = RawImports::default();
    if pattern.kind() == "identifier" {
        out.imports.push(RawImport { binding: Some(bytes_of(pattern)), ..import(ImportKind::Module, source, module) });
        return Some(out);
    }
    for part in children(pattern).into_iter().take(MAX_IMPORTS) {
        let (item, binding) = match part.kind() {
            "shorthand_property_identifier_pattern" => (part, part),
            "pair_pattern" => match (part.child_by_field_name("key"), part.child_by_field_name("value")) {
                (Some(key), Some(value)) if value.kind() == "identifier" => (key, value),
                _ => continue,
            },
            _ => continue,
        };
        out.imports.push(RawImport {
            item: Some(bytes_of(item)),
            binding: Some(bytes_of(binding)),
            ..import(ImportKind::Item, source, module.clone())
        });
    }
    Some(out)
}

fn python(node: Node<'_>, text: &[u8], out: &mut RawImports) {
    let aliased = |node: Node<'_>| -> Option<(Span, Option<Span>, u32)> {
        if node.kind() == "aliased_import" {
            let name = node.child_by_field_name("name")?;
            Some((bytes_of(name), node.child_by_field_name("alias").map(bytes_of), name.start_byte() as u32))
        } else {
            Some((bytes_of(node), None, node.start_byte() as u32))
        }
    };
    if node.kind() == "import_statement" {
        for name in children(node).into_iter().take(MAX_IMPORTS) {
            let Some((path, alias, at)) = aliased(name) else { continue };
            // `import a.b` binds `a`; `import a.b as x` binds `a.b`.
            let first = text[path.0 as usize..path.1 as usize].iter().position(|&byte| byte == b'.');
            let binding = alias.unwrap_or_else(|| first.map_or(path, |dot| (path.0, path.0 + dot as u32)));
            out.imports.push(RawImport { at, binding: Some(binding), ..import(ImportKind::Module, name, vec![path]) });
            if alias.is_some() {
                continue;
            }
        }
        return;
    }
    let Some(module) = node.child_by_field_name("module_name") else { return };
    let path = vec![bytes_of(module)];
    let mut cursor = node.walk();
    let names: Vec<_> = node.children_by_field_name("name", &mut cursor).collect();
    if names.is_empty() {
        let glob = children(node).into_iter().find(|part| part.kind() == "wildcard_import");
        if let Some(glob) = glob {
            out.imports.push(RawImport { exported: true, ..import(ImportKind::Glob, glob, path) });
        }
        return;
    }
    for name in names.into_iter().take(MAX_IMPORTS) {
        let Some((item, alias, at)) = aliased(name) else { continue };
        out.imports.push(RawImport {
            at,
            item: Some(item),
            binding: Some(alias.unwrap_or(item)),
            exported: true,
            ..import(ImportKind::Item, name, path.clone())
        });
    }
}

/// `#include "x.h"` brings in all that the file holds. One in `<…>` keeps its marks: it is looked for elsewhere.
fn c(node: Node<'_>, out: &mut RawImports) {
    let Some(path) = node.child_by_field_name("path") else { return };
    let (start, end) = bytes_of(path);
    match path.kind() {
        "string_literal" if end - start > 2 => {
            out.imports.push(import(ImportKind::Glob, path, vec![(start + 1, end - 1)]));
        }
        "system_lib_string" => out.imports.push(import(ImportKind::Glob, path, vec![(start, end)])),
        _ => {}
    }
}

fn dart(node: Node<'_>, text: &[u8], out: &mut RawImports) {
    let exported = node.kind() == "library_export";
    let parts = if node.kind() == "library_import" { node.named_child(0) } else { Some(node) };
    let Some(parts) = parts else { return };
    let uri = parts.child_by_field_name("uri").or_else(|| parts.named_child(0));
    // The first string is the one without a condition.
    let mut at = uri;
    while let Some(node) = at
        && matches!(node.kind(), "configurable_uri" | "uri")
    {
        at = node.named_child(0);
    }
    let Some(uri) = at else { return };
    let path = vec![unquoted(uri, text)];
    match node.kind() {
        "part_directive" => return out.imports.push(import(ImportKind::SideEffect, uri, path)),
        // The library itself, under no name.
        "part_of_directive" => return out.imports.push(import(ImportKind::Module, uri, path)),
        _ => {}
    }
    let make = |kind, at| RawImport { exported, only_export: exported, ..import(kind, at, path.clone()) };
    if let Some(alias) = parts.child_by_field_name("alias") {
        out.imports.push(RawImport { binding: Some(bytes_of(alias)), ..make(ImportKind::Module, uri) });
        return;
    }
    let shows = |part: &Node<'_>| part.kind() == "combinator" && text[part.byte_range()].starts_with(b"show");
    let shown: Vec<Node<'_>> = children(parts).into_iter().filter(shows).flat_map(children).collect();
    if shown.is_empty() {
        out.imports.push(make(ImportKind::Glob, uri));
    }
    for name in shown.into_iter().take(MAX_IMPORTS) {
        let name_span = Some(bytes_of(name));
        out.imports.push(RawImport { item: name_span, binding: name_span, ..make(ImportKind::Item, name) });
    }
}

fn java(node: Node<'_>, out: &mut RawImports) {
    let parts = children(node);
    let Some(name) = parts.iter().find(|part| matches!(part.kind(), "scoped_identifier" | "identifier")) else { return };
    if parts.iter().any(|part| part.kind() == "asterisk") {
        out.imports.push(import(ImportKind::Glob, *name, vec![bytes_of(*name)]));
        return;
    }
    let (Some(scope), Some(item)) = (name.child_by_field_name("scope"), name.child_by_field_name("name")) else { return };
    let item_span = Some(bytes_of(item));
    out.imports.push(RawImport { item: item_span, binding: item_span, ..import(ImportKind::Item, item, vec![bytes_of(scope)]) });
}
