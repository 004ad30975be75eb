//! Places in a text.

use std::fmt;

use schemars::JsonSchema;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};

/// A place in a file: `line` 1-based, `column` 1-based in Unicode scalar values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TextPosition {
    /// 1-based.
    pub line: u32,
    /// 1-based, in Unicode scalar values.
    pub column: u32,
}

/// A stretch of a file; `end` is exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The first character.
    pub start: TextPosition,
    /// The place behind the last character.
    pub end: TextPosition,
}

/// A place that a caller names: by column, or by the text that stands there, because a model cannot count columns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// Absolute path.
    pub path: String,
    /// 1-based.
    pub line: u32,
    /// 1-based, in Unicode scalar values. Give this or `text`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// A text on that line; its first character is meant. `text#2` names the second occurrence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// Which occurrence of `text`, 1-based; 1 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nth: Option<u32>,
}

/// A symbol as a caller names it: an id or a qualified name (a string), or a place in the text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum PositionOrName {
    /// An `id` of an earlier answer, or a qualified name (`tokio::spawn`, `pkg.Func`, `Class.method`, or the bare name).
    Name(String),
    /// The innermost definition at this place, or what the name there leads to.
    Position(Position),
}

/// Not derived: a derived one takes a place from an array as well, and cannot say what is wrong inside.
impl<'de> Deserialize<'de> for PositionOrName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;

        impl<'de> Visitor<'de> for Either {
            type Value = PositionOrName;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an id or a name (a string), or a place {path, line, and column or text}")
            }

            fn visit_str<E: de::Error>(self, name: &str) -> Result<PositionOrName, E> {
                Ok(PositionOrName::Name(name.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<PositionOrName, A::Error> {
                Position::deserialize(MapAccessDeserializer::new(fields)).map(PositionOrName::Position)
            }
        }

        deserializer.deserialize_any(Either)
    }
}
