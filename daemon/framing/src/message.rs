//! A body that was found to be a JSON object.

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// The text of one JSON object, checked and not yet read.
///
/// The check does not recurse, so any depth passes it; reading it into a type stops at 128 levels with an error. That is
/// the failure of one message and never of the connection.
#[derive(Clone, Debug)]
pub struct Message(Box<RawValue>);

impl Message {
    /// The body if it is a JSON object; else why not.
    pub(crate) fn check(body: Vec<u8>) -> Result<Self, String> {
        let text = String::from_utf8(body).map_err(|error| format!("no UTF-8: {}", error.utf8_error()))?;
        let raw = RawValue::from_string(text).map_err(|error| format!("no JSON: {error}"))?;
        if raw.get().starts_with('{') { Ok(Self(raw)) } else { Err("no JSON object".to_owned()) }
    }

    /// The object's text.
    #[must_use]
    pub fn get(&self) -> &str {
        self.0.get()
    }

    /// The object as a type.
    ///
    /// # Errors
    /// If it is not of that type, or deeper than 128 levels.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0.get())
    }

    /// The object, to be passed on unread.
    #[must_use]
    pub fn into_raw(self) -> Box<RawValue> {
        self.0
    }
}

/// Messages are equal if their texts are.
impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}
