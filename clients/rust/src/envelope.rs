//! The JSON that models put around a patch, and how it is taken off.
//!
//! A closed table, and nothing by guessing: a patch that was guessed wrongly edits files wrongly.
//!
//! | input | result |
//! |---|---|
//! | patch text | itself |
//! | an object with `patch` or `input`, a string | the string |
//! | an object with `arguments`, a string: patch text, or the JSON text of a known envelope | unwrapped, if patch text is at its end |
//! | several of these | if each alone gives the same patch |
//! | anything else | refused; the refusal tells the shape and never the content |

use std::{borrow::Cow, fmt};

use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The first line of every patch.
const BEGIN: &str = "*** Begin Patch";
/// What a shell's here-document begins with; the daemon takes it off by rules of its own.
const HEREDOCS: [&str; 3] = ["<<EOF\n", "<<'EOF'\n", "<<\"EOF\"\n"];
/// Envelopes in envelopes: escaping doubles their size, so more are an attack or an accident.
const DEEPEST: usize = 8;

/// Not a patch, and not one of the known envelopes of one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("This is not a patch but {shape}. {HINT}")]
pub struct EnvelopeError {
    /// Property names and types, never content.
    pub shape: Shape,
}

/// What to do instead.
pub const HINT: &str = "Send raw patch text, from '*** Begin Patch' to '*** End Patch', without JSON or prose around it.";

/// What a refused input looks like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shape {
    /// No JSON object, and no patch either.
    Text,
    /// JSON, but no object.
    Json(Type),
    /// An object that is no known envelope: its properties, known names as they are.
    Object(Vec<(&'static str, Type)>),
    /// A property that is there twice.
    Repeated(&'static str),
    /// Known properties that give different patches.
    Differing,
    /// A known envelope without a patch at its end.
    NoPatchInside,
    /// Envelopes in envelopes, without end.
    TooDeep,
}

/// A type of JSON.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `null`.
    Null,
    /// `true` or `false`.
    Boolean,
    /// Any.
    Number,
    /// Any.
    String,
    /// Any.
    Array,
    /// Any.
    Object,
}

impl Type {
    const fn name(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Boolean => "boolean",
            Self::Number => "number",
            Self::String => "string",
            Self::Array => "array",
            Self::Object => "object",
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => f.write_str("other text"),
            Self::Json(kind) => write!(f, "JSON of the type {}", kind.name()),
            Self::Object(properties) if properties.is_empty() => f.write_str("an empty object"),
            Self::Object(properties) => {
                f.write_str("an object with ")?;
                for (index, (name, kind)) in properties.iter().enumerate() {
                    write!(f, "{}{name} ({})", if index > 0 { ", " } else { "" }, kind.name())?;
                }
                Ok(())
            }
            Self::Repeated(name) => write!(f, "an object with {name} twice"),
            Self::Differing => f.write_str("an object whose properties give different patches"),
            Self::NoPatchInside => f.write_str("an envelope without patch text inside"),
            Self::TooDeep => f.write_str("an envelope of too many envelopes"),
        }
    }
}

/// Takes off what is known to stand around a patch. The text of the patch itself is not looked into.
pub fn unwrap_patch(text: &str) -> Result<Cow<'_, str>, EnvelopeError> {
    let start = text.trim_start();
    if is_patch(text) || HEREDOCS.iter().any(|opening| start.strip_prefix(opening).is_some_and(is_patch)) {
        return Ok(Cow::Borrowed(text));
    }
    unwrap_object(text).map(Cow::Owned).map_err(|shape| EnvelopeError { shape })
}

fn is_patch(text: &str) -> bool {
    text.trim_start().starts_with(BEGIN)
}

/// Every path through the envelopes must lead to the same patch. Layers are worked through, not recursed into.
fn unwrap_object(text: &str) -> Result<String, Shape> {
    let mut patch: Option<String> = None;
    let mut layers = vec![(text.to_owned(), 0)];
    while let Some((layer, depth)) = layers.pop() {
        if depth == DEEPEST {
            return Err(Shape::TooDeep);
        }
        for (name, value) in properties(&layer, depth)? {
            if name == "arguments" && !is_patch(&value) {
                layers.push((value, depth + 1));
                continue;
            }
            if (depth > 0 || name == "arguments") && !is_patch(&value) {
                return Err(Shape::NoPatchInside);
            }
            match &patch {
                Some(other) if *other != value => return Err(Shape::Differing),
                Some(_) => {}
                None => patch = Some(value),
            }
        }
    }
    patch.ok_or(Shape::NoPatchInside)
}

/// The properties of a known envelope, all of them strings.
fn properties(layer: &str, depth: usize) -> Result<Vec<(&'static str, String)>, Shape> {
    let entries = match serde_json::from_str::<Json>(layer) {
        Ok(Json::Object(entries)) => entries,
        Ok(Json::Other(kind)) if depth == 0 => return Err(Shape::Json(kind)),
        Err(_) if depth == 0 => return Err(Shape::Text),
        Ok(Json::Other(_)) | Err(_) => return Err(Shape::NoPatchInside),
    };
    for (index, (name, _)) in entries.iter().enumerate() {
        if entries[..index].iter().any(|(other, _)| other == name) {
            return Err(Shape::Repeated(known(name)));
        }
    }
    let shape = || Shape::Object(entries.iter().map(|(name, value)| (known(name), value.kind())).collect());
    if entries.is_empty() {
        return Err(shape());
    }
    let strings: Option<Vec<_>> = entries
        .iter()
        .map(|(name, value)| match value {
            Value::String(text) if known(name) != UNKNOWN => Some((known(name), text.clone())),
            _ => None,
        })
        .collect();
    strings.ok_or_else(shape)
}

const UNKNOWN: &str = "<unknown>";

/// The name, if it may be told: an unknown one may be content.
fn known(name: &str) -> &'static str {
    ["patch", "input", "arguments"].into_iter().find(|known| *known == name).unwrap_or(UNKNOWN)
}

/// A JSON text, an object with all its entries in order: a map would hide that a name is there twice.
enum Json {
    Object(Vec<(String, Value)>),
    Other(Type),
}

enum Value {
    String(String),
    Other(Type),
}

impl Value {
    fn kind(&self) -> Type {
        match self {
            Self::String(_) => Type::String,
            Self::Other(kind) => *kind,
        }
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = Json;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Json::Object(entries))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Json, A::Error> {
                Kinds.visit_seq(seq).map(|value| Json::Other(value.kind()))
            }
            fn visit_str<E: de::Error>(self, _: &str) -> Result<Json, E> {
                Ok(Json::Other(Type::String))
            }
            fn visit_bool<E: de::Error>(self, _: bool) -> Result<Json, E> {
                Ok(Json::Other(Type::Boolean))
            }
            fn visit_u64<E: de::Error>(self, _: u64) -> Result<Json, E> {
                Ok(Json::Other(Type::Number))
            }
            fn visit_i64<E: de::Error>(self, _: i64) -> Result<Json, E> {
                Ok(Json::Other(Type::Number))
            }
            fn visit_f64<E: de::Error>(self, _: f64) -> Result<Json, E> {
                Ok(Json::Other(Type::Number))
            }
            fn visit_unit<E: de::Error>(self) -> Result<Json, E> {
                Ok(Json::Other(Type::Null))
            }
        }
        deserializer.deserialize_any(Entries)
    }
}

struct Kinds;

impl<'de> Visitor<'de> for Kinds {
    type Value = Value;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }
    fn visit_string<E: de::Error>(self, text: String) -> Result<Value, E> {
        Ok(Value::String(text))
    }
    fn visit_bool<E: de::Error>(self, _: bool) -> Result<Value, E> {
        Ok(Value::Other(Type::Boolean))
    }
    fn visit_u64<E: de::Error>(self, _: u64) -> Result<Value, E> {
        Ok(Value::Other(Type::Number))
    }
    fn visit_i64<E: de::Error>(self, _: i64) -> Result<Value, E> {
        Ok(Value::Other(Type::Number))
    }
    fn visit_f64<E: de::Error>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Other(Type::Number))
    }
    fn visit_unit<E: de::Error>(self) -> Result<Value, E> {
        Ok(Value::Other(Type::Null))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Other(Type::Array))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Other(Type::Object))
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Kinds)
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn check(input: &str, expected: Expect) {
        expected.assert_eq(&match unwrap_patch(input) {
            Ok(patch) => patch.into_owned(),
            Err(error) => format!("refused: {}", error.shape),
        });
    }

    #[test]
    fn patch_text_is_itself() {
        check(
            "*** Begin Patch\n*** End Patch",
            expect![[r#"
            *** Begin Patch
            *** End Patch"#]],
        );
        assert_eq!(unwrap_patch(" \n*** Begin Patch").unwrap(), " \n*** Begin Patch");
        assert_eq!(unwrap_patch("<<'EOF'\n*** Begin Patch").unwrap(), "<<'EOF'\n*** Begin Patch");
    }

    #[test]
    fn known_envelopes_are_taken_off() {
        check(r#"{"patch":"*** Begin Patch"}"#, expect!["*** Begin Patch"]);
        check(r#" {"input":"anything"} "#, expect!["anything"]);
        check(r#"{"arguments":" *** Begin Patch"}"#, expect![" *** Begin Patch"]);
        check(r#"{"arguments":"{\"input\":\"*** Begin Patch\"}"}"#, expect!["*** Begin Patch"]);
        check(r#"{"arguments":"{\"arguments\":\"{\\\"patch\\\":\\\"*** Begin Patch\\\"}\"}"}"#, expect!["*** Begin Patch"]);
        check(
            r#"{"patch":"*** Begin Patch","input":"*** Begin Patch","arguments":"*** Begin Patch"}"#,
            expect!["*** Begin Patch"],
        );
    }

    #[test]
    fn everything_else_is_refused_by_its_shape() {
        check("Here is it:\n*** Begin Patch", expect!["refused: other text"]);
        check("\u{feff}*** Begin Patch", expect!["refused: other text"]);
        check("", expect!["refused: other text"]);
        check("{}", expect!["refused: an empty object"]);
        check(r#""*** Begin Patch""#, expect!["refused: JSON of the type string"]);
        check(r#"["*** Begin Patch"]"#, expect!["refused: JSON of the type array"]);
        check(r#"{"patch":1,"secret":{"a":[1]}}"#, expect!["refused: an object with patch (number), <unknown> (object)"]);
        check(r#"{"patch":"*** Begin Patch","why":"x"}"#, expect!["refused: an object with patch (string), <unknown> (string)"]);
        check(r#"{"patch":"*** Begin Patch","patch":"*** Begin Patch"}"#, expect!["refused: an object with patch twice"]);
        check(r#"{"patch":"*** Begin Patch","p\u0061tch":"*** Begin Patch"}"#, expect!["refused: an object with patch twice"]);
        check(
            r#"{"arguments":"{\"input\":\"*** Begin Patch\",\"input\":\"*** Begin Patch\"}"}"#,
            expect!["refused: an object with input twice"],
        );
        check(
            r#"{"patch":"*** Begin Patch a","input":"*** Begin Patch b"}"#,
            expect!["refused: an object whose properties give different patches"],
        );
        check(
            r#"{"patch":"*** Begin Patch","arguments":"{\"input\":\"*** Begin Patch \"}"}"#,
            expect!["refused: an object whose properties give different patches"],
        );
        check(r#"{"arguments":"ls"}"#, expect!["refused: an envelope without patch text inside"]);
        check(r#"{"arguments":"{\"patch\":\"ls\"}"}"#, expect!["refused: an envelope without patch text inside"]);
        check(r#"{"patch":"*** Begin Patch"} trailing"#, expect!["refused: other text"]);
        check(r#"{"patch":null}"#, expect!["refused: an object with patch (null)"]);
    }

    #[test]
    fn envelopes_have_a_deepest_layer() {
        let mut text = "*** Begin Patch".to_owned();
        for _ in 0..DEEPEST {
            text = serde_json::json!({ "arguments": text }).to_string();
        }
        assert_eq!(unwrap_patch(&text).unwrap(), "*** Begin Patch");
        let text = serde_json::json!({ "arguments": text }).to_string();
        assert_eq!(unwrap_patch(&text).unwrap_err().shape, Shape::TooDeep);
    }
}
