//! Values with a range: what is out of it is refused while the file is read, so that the error knows its line.

use std::{fmt, str::FromStr};

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{Error, Visitor},
};

/// A whole number from `MIN` to `MAX`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Whole<const MIN: u64, const MAX: u64>(pub u64);

/// No upper end but the one of TOML's integers.
pub(super) const NO_END: u64 = i64::MAX as u64;

impl<const MIN: u64, const MAX: u64> Serialize for Whole<MIN, MAX> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

impl<'de, const MIN: u64, const MAX: u64> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = i64::deserialize(deserializer)?;
        match u64::try_from(number) {
            Ok(number) if (MIN..=MAX).contains(&number) => Ok(Self(number)),
            _ if MAX == NO_END => Err(D::Error::custom(format!("must be at least {MIN}, not {number}"))),
            _ => Err(D::Error::custom(format!("must be {MIN} to {MAX}, not {number}"))),
        }
    }
}

/// Seconds until an idle daemon ends: 0 is never, else at least 60.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct IdleExit(pub u64);

impl<'de> Deserialize<'de> for IdleExit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match i64::deserialize(deserializer)? {
            0 => Ok(Self(0)),
            seconds @ 60.. => Ok(Self(seconds.unsigned_abs())),
            seconds => Err(D::Error::custom(format!("must be 0 (never) or at least 60, not {seconds}"))),
        }
    }
}

/// A glob that can be compiled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Glob(pub String);

impl<'de> Deserialize<'de> for Glob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // Patterns of ignore files may begin with `!` or `/`, which a glob does not know.
        let bare = text.strip_prefix('!').unwrap_or(&text);
        match globset::Glob::new(bare.strip_prefix('/').unwrap_or(bare)) {
            Ok(_) => Ok(Self(text)),
            Err(error) => Err(D::Error::custom(format!("is no glob: {}", error.kind()))),
        }
    }
}

/// The name of a variable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Variable(pub String);

impl<'de> Deserialize<'de> for Variable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            Ok(Self(name))
        } else {
            Err(D::Error::custom("must be the name of a variable (letters, digits, `_`)"))
        }
    }
}

/// A folder: absolute, or beneath the home.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Folder(pub String);

impl<'de> Deserialize<'de> for Folder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let path = String::deserialize(deserializer)?;
        if path.starts_with('/') || path.starts_with("~/") {
            Ok(Self(path))
        } else {
            Err(D::Error::custom("must be an absolute path or begin with `~/`"))
        }
    }
}

/// Words of which exactly one is right.
macro_rules! words {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $vdoc:literal])+ $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        pub enum $name { $($(#[doc = $vdoc])+ #[serde(rename = $word)] $variant),+ }
    };
}
pub(super) use words;

/// What a probe of a server runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Probe {
    /// No probe: marker and binary decide.
    Off,
    /// These arguments.
    Arguments(Vec<String>),
}

impl Serialize for Probe {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Probe::Off => serializer.serialize_bool(false),
            Probe::Arguments(arguments) => arguments.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Probe {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Probe;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("false or a list of arguments")
            }
            fn visit_bool<E: Error>(self, on: bool) -> Result<Probe, E> {
                if on { Err(E::custom("must be false or a list of arguments")) } else { Ok(Probe::Off) }
            }
            fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Probe, A::Error> {
                let mut arguments = Vec::new();
                while let Some(argument) = seq.next_element()? {
                    arguments.push(argument);
                }
                Ok(Probe::Arguments(arguments))
            }
        }
        deserializer.deserialize_any(Either)
    }
}

/// A level of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level(pub tracing::Level);

impl Serialize for Level {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0.as_str().to_ascii_lowercase())
    }
}

impl<'de> Deserialize<'de> for Level {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        match word.as_str() {
            "error" | "warn" | "info" | "debug" | "trace" => Ok(Self(tracing::Level::from_str(&word).map_err(D::Error::custom)?)),
            _ => Err(D::Error::custom("must be error, warn, info, debug or trace")),
        }
    }
}
