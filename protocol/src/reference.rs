//! The reference of the protocol, made from its types: `API.md` for people, `schema.json` for programs.

use std::fmt::Write as _;

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::{ErrorKind, Kind, METHODS, PROTOCOL, events};

/// `schema.json`: every method with the schemas of its parameters and result, and the kinds of error.
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft2020_12().into_generator();
    let mut methods = Map::new();
    for method in METHODS {
        let params = (method.params_schema)(&mut generator);
        let result = (method.result_schema)(&mut generator);
        methods.insert(
            method.name.to_owned(),
            json!({
                "kind": method.kind,
                "doc": method.doc.trim(),
                "deadline_ms": method.deadline.default_ms,
                "deadline_cap_ms": method.deadline.cap_ms,
                "errors": method.errors.iter().map(|kind| kind.name()).collect::<Vec<_>>(),
                "params": params,
                "result": result,
            }),
        );
    }
    let event = generator.subschema_for::<events::Event>();
    let errors: Vec<Value> =
        ErrorKind::ALL.iter().map(|kind| json!({"kind": kind.name(), "code": kind.code(), "doc": kind.doc().trim()})).collect();
    let definitions: Map<String, Value> = generator.take_definitions(true).into_iter().collect();
    json!({
        "protocol": PROTOCOL,
        "methods": methods,
        "event": event,
        "errors": errors,
        "$defs": definitions,
    })
}

/// `API.md`.
pub fn markdown() -> String {
    let schema = schema();
    let definitions = &schema["$defs"];
    let mut out = String::new();
    out.push_str(&format!(
        "# The JSON-RPC API, protocol {PROTOCOL}\n\n\
         Made from the types of this crate; do not edit. `cargo test -p ccd-protocol` says when it is old, and\n\
         `CCD_WRITE_REFERENCE=1 cargo test -p ccd-protocol` writes it again.\n\n\
         One Unix socket. One JSON-RPC 2.0 value per line, or HTTP POST with one value as the body. `params` and `result` are objects;\n\
         absent optional fields are omitted. Lines and columns are 1-based, columns in Unicode scalar values, range ends exclusive.\n\n\
         ## Methods\n"
    ));
    for method in METHODS {
        let entry = &schema["methods"][method.name];
        let kind = match method.kind {
            Kind::Instant => "instant",
            Kind::Work => "work",
            Kind::Publish => "publishes",
        };
        let _ = write!(
            out,
            "\n### `{}`\n\n{}\n\nKind: {kind}; deadline {} ms, at most {} ms.\n",
            method.name,
            method.doc.trim(),
            method.deadline.default_ms,
            method.deadline.cap_ms
        );
        if !method.errors.is_empty() {
            let names: Vec<String> = method.errors.iter().map(|kind| format!("`{kind}`")).collect();
            let _ = writeln!(out, "\nErrors: {}.", names.join(", "));
        }
        for (title, field) in [("Parameters", "params"), ("Result", "result")] {
            let _ = writeln!(out, "\n{title}:\n");
            fields(&mut out, resolve(&entry[field], definitions), definitions);
        }
    }
    out.push_str("\n## Types\n");
    if let Some(named) = definitions.as_object() {
        for (name, definition) in named {
            if is_of_method(name) {
                continue;
            }
            let _ = writeln!(out, "\n### {name}\n");
            if let Some(doc) = definition["description"].as_str() {
                let _ = writeln!(out, "{}\n", one_line(doc));
            }
            fields(&mut out, definition, definitions);
        }
    }
    out.push_str("\n## Errors\n\n| code | kind | meaning |\n|---|---|---|\n");
    for kind in ErrorKind::ALL {
        let _ = writeln!(out, "| {} | `{kind}` | {} |", kind.code(), kind.doc().trim());
    }
    out
}

fn is_of_method(name: &str) -> bool {
    let name = name.trim_end_matches(|c: char| c.is_ascii_digit());
    name.ends_with("Params") || name.ends_with("Result")
}

fn resolve<'a>(schema: &'a Value, definitions: &'a Value) -> &'a Value {
    match schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        Some(name) => &definitions[name],
        None => schema,
    }
}

fn fields(out: &mut String, schema: &Value, definitions: &Value) {
    if let Some(values) = schema["enum"].as_array() {
        for value in values {
            let _ = writeln!(out, "- `{}`", value.as_str().unwrap_or_default());
        }
        return;
    }
    if let Some(variants) = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array()) {
        for variant in variants {
            let variant_doc = one_line(variant["description"].as_str().unwrap_or_default());
            match variant["const"].as_str() {
                Some(word) => {
                    let _ = writeln!(out, "- `{word}`: {variant_doc}");
                }
                None => {
                    let _ = writeln!(out, "- {}: {variant_doc}", type_name(variant));
                }
            }
        }
        return;
    }
    let empty = Vec::new();
    let required = schema["required"].as_array().unwrap_or(&empty);
    match schema["properties"].as_object() {
        Some(properties) if !properties.is_empty() => {
            for (name, property) in properties {
                let optional = if required.iter().any(|field| field == name) { "" } else { "?" };
                let doc = property["description"].as_str().or_else(|| resolve(property, definitions)["description"].as_str());
                let _ = writeln!(out, "- `{name}`{optional} {}: {}", type_name(property), one_line(doc.unwrap_or_default()));
            }
        }
        _ => out.push_str("none\n"),
    }
}

fn type_name(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.strip_prefix("#/$defs/")) {
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(variants) = schema["anyOf"].as_array() {
        let names: Vec<String> = variants.iter().filter(|v| v["type"] != "null").map(type_name).collect();
        return names.join(" or ");
    }
    let name = |value: &Value| match value.as_str().unwrap_or_default() {
        "array" => format!("array of {}", type_name(&schema["items"])),
        "object" if schema["additionalProperties"].is_object() => {
            format!("object of {}", type_name(&schema["additionalProperties"]))
        }
        other => other.to_owned(),
    };
    match &schema["type"] {
        Value::Array(types) => {
            let names: Vec<String> = types.iter().filter(|t| *t != "null").map(name).collect();
            names.join(" or ")
        }
        Value::Null => "any".to_owned(),
        one => name(one),
    }
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
