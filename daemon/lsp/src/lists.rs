//! Lists of diagnostics as servers send them, read leniently.

use ccd_diagnostics::{Diagnostic, Related, Severity};
use serde::Deserialize;
use serde_json::Value;

use crate::{
    position::{Encoding, Places, WireRange},
    uri,
};

/// Diagnostics of one list that are read; a server that says more is flooding.
const MOST: usize = 5000;
/// Characters of a message that are kept.
const MESSAGE: usize = 4000;

/// One diagnostic as the wire has it. All is optional: a list is not lost for one odd member.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct WireDiagnostic {
    range: Value,
    severity: Value,
    code: Value,
    source: Value,
    message: Value,
    #[serde(rename = "relatedInformation")]
    related: Value,
}

/// The parameters of `textDocument/publishDiagnostics`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Published {
    pub(crate) uri: String,
    pub(crate) version: Option<i64>,
    pub(crate) diagnostics: Vec<Value>,
}

/// The answer to `textDocument/diagnostic`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Pulled {
    pub(crate) kind: String,
    pub(crate) items: Option<Vec<Value>>,
}

/// The diagnostics of a list, in our positions. `text` is the text that it is about.
pub(crate) fn read(items: Vec<Value>, text: &str, encoding: Encoding) -> Vec<Diagnostic> {
    let places = Places::new(text, encoding);
    items.into_iter().take(MOST).filter_map(|item| one(item, &places)).collect()
}

fn one(item: Value, places: &Places<'_>) -> Option<Diagnostic> {
    let wire: WireDiagnostic = serde_json::from_value(item).ok()?;
    let range: WireRange = serde_json::from_value(wire.range).unwrap_or_default();
    // A string, or an object with a `value` in the newest protocol.
    let message = wire.message.as_str().or_else(|| wire.message.get("value")?.as_str())?;
    Some(Diagnostic {
        severity: severity(&wire.severity),
        code: code(&wire.code),
        source: wire.source.as_str().map(plain),
        message: plain(message),
        range: places.range(range),
        related: wire.related.as_array().map(Vec::as_slice).unwrap_or_default().iter().filter_map(related).collect(),
    })
}

fn severity(value: &Value) -> Severity {
    match value.as_u64() {
        Some(2) => Severity::Warning,
        Some(3) => Severity::Information,
        Some(4) => Severity::Hint,
        // One that says nothing means an error.
        _ => Severity::Error,
    }
}

fn code(value: &Value) -> Option<String> {
    match value {
        Value::String(code) => Some(plain(code)),
        Value::Number(code) => Some(code.to_string()),
        Value::Object(code) => code.get("value").filter(|value| !value.is_object()).and_then(self::code),
        _ => None,
    }
}

/// Columns of related places are told as the server counts them: their text is not at hand.
fn related(item: &Value) -> Option<Related> {
    let range: WireRange = serde_json::from_value(item.get("location")?.get("range")?.clone()).ok()?;
    let path = uri::path(item.get("location")?.get("uri")?.as_str()?)?;
    Some(Related { path, range: range.unconverted(), message: plain(item.get("message")?.as_str()?) })
}

/// Of a server's words: without control characters but line feeds, and not endless.
pub(crate) fn plain(text: &str) -> String {
    let kept = text.chars().filter(|char| *char == '\n' || *char == '\t' || !char.is_control());
    kept.take(MESSAGE).collect()
}

/// A diagnostic of tsserver: lines and columns from 1, columns in UTF-16 code units.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct RawDiagnostic {
    start: RawPlace,
    end: RawPlace,
    text: String,
    code: Value,
    category: String,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct RawPlace {
    line: f64,
    offset: f64,
}

/// The list that tsserver answers with.
pub(crate) fn read_raw(items: &[Value], text: &str) -> Vec<Diagnostic> {
    let places = Places::new(text, Encoding::Utf16);
    let read = |item: &Value| {
        let raw: RawDiagnostic = serde_json::from_value(item.clone()).ok()?;
        let place = |place: RawPlace| (place.line, place.offset);
        Some(Diagnostic {
            severity: match raw.category.as_str() {
                "warning" => Severity::Warning,
                "suggestion" | "message" => Severity::Hint,
                _ => Severity::Error,
            },
            code: code(&raw.code),
            source: Some("ts".to_owned()),
            message: plain(&raw.text),
            range: places.range(WireRange::from_ones(place(raw.start), place(raw.end))),
            related: Vec::new(),
        })
    };
    items.iter().take(MOST).filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn odd_members_do_not_cost_the_list() {
        let list = vec![
            json!({"message": "a\u{1b}[1m", "range": {"start": {"line": 0, "character": 2}, "end": {"line": 0, "character": 3}}, "code": 7, "severity": 2}),
            json!({"message": "b", "range": "nowhere", "code": {"value": "E1"}, "severity": "bad", "tags": 3}),
            json!("nonsense"),
            json!({"severity": 1}),
            json!({"message": {"kind": "markdown", "value": "c"}}),
        ];
        let read = read(list, "abcd", Encoding::Utf16);
        let told: Vec<_> = read.iter().map(|one| (one.message.as_str(), one.severity, one.code.as_deref())).collect();
        assert_eq!(
            told,
            [("a[1m", Severity::Warning, Some("7")), ("b", Severity::Error, Some("E1")), ("c", Severity::Error, None),]
        );
        assert_eq!(read[0].range.start.column, 3);
    }

    #[test]
    fn tsserver_counts_from_one() {
        let item = json!({"start": {"line": 1, "offset": 3}, "end": {"line": 1, "offset": 4}, "text": "t", "code": 2345, "category": "error"});
        let read = read_raw(&[item], "😀x");
        assert_eq!((read[0].range.start.column, read[0].code.as_deref()), (2, Some("2345")));
    }
}
