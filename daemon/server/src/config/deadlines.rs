//! `limits.deadline_s.<method>`: seconds by method, each within the cap of its method.

use std::{collections::BTreeMap, fmt};

use ccd_protocol::METHODS;
use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeSeed, Error, MapAccess, Visitor},
};

/// Namespaces whose methods may be named although none of them is built yet.
const PLANNED: [&str; 4] = ["lsp", "diagnostics", "ast", "debug"];
/// The cap of a method that is not built.
const CAP_S: u64 = 3600;

/// Of a namespace with methods, all are known.
fn is_planned(space: &str) -> bool {
    PLANNED.contains(&space) && !METHODS.iter().any(|method| method.name.split_once('.').is_some_and(|(own, _)| own == space))
}

/// Seconds by wire name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Deadlines(pub BTreeMap<String, u64>);

impl<'de> Deserialize<'de> for Deadlines {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut found = BTreeMap::new();
        Level { prefix: String::new(), found: &mut found }.deserialize(deserializer)?;
        Ok(Self(found))
    }
}

/// A dotted key (`graph.search = 5`) is a table of its own in TOML, a quoted one (`"graph.search" = 5`) is not.
struct Level<'a> {
    prefix: String,
    found: &'a mut BTreeMap<String, u64>,
}

impl<'de> DeserializeSeed<'de> for Level<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("seconds by method")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            let prefix = if self.prefix.is_empty() { key } else { format!("{}.{key}", self.prefix) };
            map.next_value_seed(Level { prefix, found: self.found })?;
        }
        Ok(())
    }

    fn visit_i64<E: Error>(self, seconds: i64) -> Result<(), E> {
        let name = self.prefix;
        let cap = match METHODS.iter().find(|method| method.name == name) {
            Some(method) => method.deadline.cap_ms / 1000,
            None if name.split_once('.').is_some_and(|(space, verb)| is_planned(space) && !verb.is_empty()) => CAP_S,
            None => return Err(E::custom(format!("there is no method `{name}`"))),
        };
        match u64::try_from(seconds) {
            Ok(seconds) if (1..=cap).contains(&seconds) => {
                self.found.insert(name, seconds);
                Ok(())
            }
            _ => Err(E::custom(format!("must be 1 to {cap} for {name}, not {seconds}"))),
        }
    }
}
