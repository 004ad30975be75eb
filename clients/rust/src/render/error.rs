//! Errors: the sentence, then what helps to ask better.

use ccd_protocol::{RpcError, graph::Symbol};
use serde_json::Value;

use super::{Options, graph::symbol_line, page::Page, refusal};

/// The message, and a line for each `hint`, candidate or place where something was looked for.
pub fn error(error: &RpcError, options: Options) -> String {
    let mut page = Page::new(options);
    page.text(&error.message);
    let list = |name: &str| error.data.fields.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    for candidate in list("candidates") {
        match serde_json::from_value::<Symbol>(candidate.clone()) {
            Ok(symbol) => page.line(format!("  {}  id: {}", symbol_line(&symbol), symbol.id)),
            Err(_) => page.line(format!("  {}", plain(candidate))),
        }
    }
    if !list("candidates").is_empty() {
        page.foot("hint: name one of them by its id, or by path:line");
    }
    refusal::details(&mut page, error);
    let closest: Vec<String> = list("closest").iter().map(plain).collect();
    if !closest.is_empty() {
        page.foot(format!("hint: closest: {}", closest.join(", ")));
    }
    if let Some(tail) = error.data.fields.get("log_tail").and_then(Value::as_str).filter(|tail| !tail.is_empty()) {
        page.line("The end of its log:");
        for line in tail.lines() {
            page.line(format!("  {line}"));
        }
    }
    if error.data.retryable {
        page.foot(match error.data.fields.get("retry_after_ms").and_then(Value::as_u64) {
            Some(ms) => format!("hint: the same call can succeed later; try again in {ms} ms"),
            None => "hint: the same call can succeed later".to_owned(),
        });
    }
    if let Some(reference) = error.data.fields.get("ref").and_then(Value::as_str) {
        page.foot(format!("hint: `ccctl logs` has the details under {reference}"));
    }
    page.finish()
}

/// A string as it is, a symbol by its qualified name, anything else as JSON.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Object(fields) => match fields.get("qualified").or_else(|| fields.get("name")) {
            Some(Value::String(name)) => name.clone(),
            _ => value.to_string(),
        },
        other => other.to_string(),
    }
}
