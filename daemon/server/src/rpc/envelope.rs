//! The strict envelope, parsed before jsonrpsee sees anything.
//!
//! An id that jsonrpsee cannot hold (negative, fractional, a bool, given twice) would make the message parse as a
//! notification, which is never answered: a client would wait for ever. So the envelope is read here, member by
//! member, and a request whose id is present but unusable is answered `invalid_request` with `id: null`.

use std::{borrow::Cow, fmt};

use jsonrpsee::types::Id;
use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, SeqAccess, Visitor},
};
use serde_json::value::RawValue;

/// Entries of one batch.
pub(crate) const MAX_BATCH: usize = 64;

/// What a line or body holds.
pub(crate) enum Message<'a> {
    /// One request or notification.
    Single(Entry<'a>),
    /// Several, in order.
    Batch(Vec<&'a RawValue>),
    /// More than [`MAX_BATCH`]; how many.
    BatchTooLong(usize),
    /// JSON, but neither an object nor an array.
    NotARequest,
    /// Not JSON.
    Broken(String),
}

/// One entry: what it asks, or why it asks nothing.
pub(crate) type Entry<'a> = Result<Request<'a>, Refusal<'a>>;

/// A request or notification whose envelope is sound.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    /// None for a notification.
    pub(crate) id: Option<Id<'a>>,
    /// The wire name.
    pub(crate) method: Cow<'a, str>,
    /// An object, if given.
    pub(crate) params: Option<&'a RawValue>,
}

/// Why an envelope is refused.
#[derive(Debug)]
pub(crate) struct Refusal<'a> {
    /// The id to answer with; null if it cannot be used.
    pub(crate) id: Id<'a>,
    /// `params` is no object: answered `invalid_params`, all else `invalid_request`.
    pub(crate) params: bool,
    /// What is wrong.
    pub(crate) why: &'static str,
}

/// Reads a line or body.
pub(crate) fn parse(text: &[u8]) -> Message<'_> {
    match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
        Some(b'{') => match serde_json::from_slice::<Members<'_>>(text) {
            Ok(members) => Message::Single(members.check()),
            Err(error) => Message::Broken(broken(&error)),
        },
        Some(b'[') => match serde_json::from_slice::<Batch<'_>>(text) {
            Ok(batch) if batch.count > MAX_BATCH => Message::BatchTooLong(batch.count),
            Ok(batch) => Message::Batch(batch.entries),
            Err(error) => Message::Broken(broken(&error)),
        },
        _ => match serde_json::from_slice::<IgnoredAny>(text) {
            Ok(_) => Message::NotARequest,
            Err(error) => Message::Broken(broken(&error)),
        },
    }
}

/// Reads one entry of a batch.
pub(crate) fn entry(text: &RawValue) -> Entry<'_> {
    if !text.get().starts_with('{') {
        return Err(Refusal { id: Id::Null, params: false, why: "an entry of a batch must be a request object" });
    }
    match serde_json::from_str::<Members<'_>>(text.get()) {
        Ok(members) => members.check(),
        Err(_) => Err(Refusal { id: Id::Null, params: false, why: "the entry cannot be read" }),
    }
}

fn broken(error: &serde_json::Error) -> String {
    // The words of serde_json may quote the text; the place alone is enough for a caller.
    let what = if error.is_eof() { "the value ends too early" } else { "it is not JSON" };
    format!("{what} (column {})", error.column())
}

/// The members of an envelope as they stand, each at most once.
#[derive(Default)]
struct Members<'a> {
    version: Option<&'a RawValue>,
    id: Option<&'a RawValue>,
    method: Option<&'a RawValue>,
    params: Option<&'a RawValue>,
    id_twice: bool,
    other_twice: bool,
}

impl<'a> Members<'a> {
    fn check(self) -> Entry<'a> {
        let refuse = |id, why| Err(Refusal { id, params: false, why });
        if self.id_twice {
            return refuse(Id::Null, "`id` is given twice");
        }
        let id = match self.id {
            None => None,
            Some(raw) => match usable_id(raw) {
                Some(id) => Some(id),
                None => return refuse(Id::Null, "`id` must be an unsigned integer or a string"),
            },
        };
        let answer_to = |id: &Option<Id<'a>>| id.clone().unwrap_or(Id::Null);
        if self.other_twice {
            return refuse(answer_to(&id), "`jsonrpc`, `method` or `params` is given twice");
        }
        if self.version.is_none_or(|version| version.get() != "\"2.0\"") {
            return refuse(answer_to(&id), "`jsonrpc` must be \"2.0\"");
        }
        let method = match self.method.map(|raw| serde_json::from_str::<Text<'a>>(raw.get())) {
            Some(Ok(method)) => method.0,
            _ => return refuse(answer_to(&id), "`method` must be a string"),
        };
        if self.params.is_some_and(|params| !params.get().starts_with('{')) {
            return Err(Refusal { id: answer_to(&id), params: true, why: "`params` must be an object (fields by name)" });
        }
        Ok(Request { id, method, params: self.params })
    }
}

fn usable_id(raw: &RawValue) -> Option<Id<'_>> {
    let text = raw.get();
    match text.as_bytes().first()? {
        b'0'..=b'9' => serde_json::from_str::<u64>(text).ok().map(Id::Number),
        b'"' => serde_json::from_str::<Text<'_>>(text).ok().map(|text| Id::Str(text.0)),
        _ => None,
    }
}

/// A string that is borrowed where it holds no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Object<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Object<'a> {
            type Value = Members<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a request object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Members::default();
                while let Some(key) = map.next_key::<Text<'de>>()? {
                    let slot = match &*key.0 {
                        "jsonrpc" => &mut members.version,
                        "id" => {
                            members.id_twice |= members.id.is_some();
                            members.id = Some(map.next_value()?);
                            continue;
                        }
                        "method" => &mut members.method,
                        "params" => &mut members.params,
                        // Unknown members are allowed: others put trace ids there.
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                            continue;
                        }
                    };
                    members.other_twice |= slot.is_some();
                    *slot = Some(map.next_value()?);
                }
                Ok(members)
            }
        }
        deserializer.deserialize_map(Object(std::marker::PhantomData))
    }
}

/// A batch, of which no more entries are kept than are allowed.
struct Batch<'a> {
    entries: Vec<&'a RawValue>,
    count: usize,
}

impl<'de: 'a, 'a> Deserialize<'de> for Batch<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries<'a>(std::marker::PhantomData<&'a ()>);
        impl<'de: 'a, 'a> Visitor<'de> for Entries<'a> {
            type Value = Batch<'a>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a batch of requests")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut batch = Batch { entries: Vec::new(), count: 0 };
                while batch.count < MAX_BATCH {
                    match seq.next_element()? {
                        Some(entry) => batch.entries.push(entry),
                        None => return Ok(batch),
                    }
                    batch.count += 1;
                }
                while seq.next_element::<IgnoredAny>()?.is_some() {
                    batch.count += 1;
                }
                Ok(batch)
            }
        }
        deserializer.deserialize_seq(Entries(std::marker::PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> String {
        let entry = |entry: Entry<'_>| match entry {
            Ok(request) => format!("{:?} {}", request.id.map(|id| id.to_string()), request.method),
            Err(refusal) => format!("refused, id {}: {}", refusal.id, refusal.why),
        };
        match parse(text.as_bytes()) {
            Message::Single(single) => entry(single),
            Message::Batch(entries) => entries.iter().map(|raw| entry(super::entry(raw))).collect::<Vec<_>>().join("; "),
            Message::BatchTooLong(count) => format!("batch of {count}"),
            Message::NotARequest => "no request".to_owned(),
            Message::Broken(why) => format!("broken: {why}"),
        }
    }

    fn check(text: &str, expected: &str) {
        assert_eq!(said(text), expected, "{text}");
    }

    #[test]
    fn ids() {
        check(r#"{"jsonrpc":"2.0","id":1,"method":"a"}"#, r#"Some("1") a"#);
        check(r#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"a"}"#, r#"Some("18446744073709551615") a"#);
        check(r#"{"jsonrpc":"2.0","id":"x\n","method":"a"}"#, "Some(\"x\\n\") a");
        check(r#"{"jsonrpc":"2.0","method":"a"}"#, "None a");
        let bad = "refused, id null: `id` must be an unsigned integer or a string";
        for id in ["-1", "1.5", "1e3", "true", "null", "[1]", "{}", "18446744073709551616"] {
            check(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"a"}}"#), bad);
        }
        check(r#"{"jsonrpc":"2.0","id":1,"id":1,"method":"a"}"#, "refused, id null: `id` is given twice");
    }

    #[test]
    fn members() {
        check(r#"{"id":1,"method":"a"}"#, "refused, id 1: `jsonrpc` must be \"2.0\"");
        check(r#"{"jsonrpc":"2.0","id":1}"#, "refused, id 1: `method` must be a string");
        check(r#"{"jsonrpc":"2.0","id":1,"method":7}"#, "refused, id 1: `method` must be a string");
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"a","params":[1]}"#,
            "refused, id 1: `params` must be an object (fields by name)",
        );
        check(r#"{"jsonrpc":"2.0","id":1,"method":"\u0061","trace":{"x":[]}}"#, r#"Some("1") a"#);
    }

    #[test]
    fn what_is_no_request() {
        check("7", "no request");
        check("\"x\"", "no request");
        check("{", "broken: the value ends too early (column 1)");
        check("hello", "broken: it is not JSON (column 1)");
        check("[]", "");
        check(r#"[1,{"jsonrpc":"2.0","method":"a"}]"#, "refused, id null: an entry of a batch must be a request object; None a");
        check(&format!("[{}]", vec!["1"; 65].join(",")), "batch of 65");
    }

    #[test]
    fn deep_nesting_is_no_recursion() {
        let deep = 200_000;
        let open = "[".repeat(deep);
        let close = "]".repeat(deep);
        check(&open, "broken: the value ends too early (column 200000)");
        check(&format!("{open}{close}"), "refused, id null: an entry of a batch must be a request object");
        check(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"a","params":{{"x":{open}{close}}}}}"#), r#"Some("1") a"#);
    }
}
