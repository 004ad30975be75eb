//! What a method is, and the table of those that are built.

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{ErrorKind, ast, daemon, edit, events, graph, workspace};

/// How a method runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Answered from memory on the connection's own task, also while every worker is busy.
    Instant,
    /// A task that may do IO. It is cancelled by `rpc.cancel`, by a disconnect and by its deadline.
    Work,
    /// A task that prepares like work, and then writes: what has begun to be written is finished, whoever is gone.
    Publish,
}

/// The time a call may take, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// Without `deadline_ms`.
    pub default_ms: u64,
    /// The most that `deadline_ms` may ask for.
    pub cap_ms: u64,
}

impl Deadline {
    /// A deadline of `default` seconds that a caller may raise to `cap` seconds.
    pub const fn seconds(default: u64, cap: u64) -> Self {
        Self { default_ms: default * 1000, cap_ms: cap * 1000 }
    }
}

/// What the parameters of every method have in common.
pub trait CallParams {
    /// `deadline_ms` as the caller gave it.
    fn deadline_ms(&self) -> Option<u64>;
}

/// A method of the socket.
pub trait Method {
    /// The wire name, `namespace.verb`.
    const NAME: &'static str;
    /// How it runs.
    const KIND: Kind;
    /// How long it may take.
    const DEADLINE: Deadline;
    /// One sentence: what it answers.
    const DOC: &'static str;
    /// The kinds of error that are its own, beside those that every call may get.
    const ERRORS: &'static [ErrorKind];
    /// Its parameters.
    type Params: CallParams + Serialize + DeserializeOwned + JsonSchema + Send + 'static;
    /// Its result.
    type Result: Serialize + DeserializeOwned + JsonSchema + Send + 'static;
}

/// A method as data.
pub struct MethodInfo {
    /// See [`Method::NAME`].
    pub name: &'static str,
    /// See [`Method::KIND`].
    pub kind: Kind,
    /// See [`Method::DEADLINE`].
    pub deadline: Deadline,
    /// See [`Method::DOC`].
    pub doc: &'static str,
    /// See [`Method::ERRORS`].
    pub errors: &'static [ErrorKind],
    /// Writes the schema of the parameters.
    pub params_schema: fn(&mut SchemaGenerator) -> Schema,
    /// Writes the schema of the result.
    pub result_schema: fn(&mut SchemaGenerator) -> Schema,
}

impl MethodInfo {
    const fn of<M: Method>() -> Self {
        Self {
            name: M::NAME,
            kind: M::KIND,
            deadline: M::DEADLINE,
            doc: M::DOC,
            errors: M::ERRORS,
            params_schema: |generator| generator.subschema_for::<M::Params>(),
            result_schema: |generator| generator.subschema_for::<M::Result>(),
        }
    }
}

/// Every method that is built, in the order of the reference.
pub static METHODS: &[MethodInfo] = &[
    MethodInfo::of::<daemon::Hello>(),
    MethodInfo::of::<daemon::Status>(),
    MethodInfo::of::<daemon::Doctor>(),
    MethodInfo::of::<daemon::Metrics>(),
    MethodInfo::of::<daemon::Reload>(),
    MethodInfo::of::<daemon::Retire>(),
    MethodInfo::of::<daemon::Methods>(),
    MethodInfo::of::<workspace::Open>(),
    MethodInfo::of::<workspace::Status>(),
    MethodInfo::of::<workspace::List>(),
    MethodInfo::of::<workspace::Trust>(),
    MethodInfo::of::<workspace::Close>(),
    MethodInfo::of::<workspace::Read>(),
    MethodInfo::of::<graph::Index>(),
    MethodInfo::of::<graph::Search>(),
    MethodInfo::of::<graph::Outline>(),
    MethodInfo::of::<graph::SymbolInfo>(),
    MethodInfo::of::<graph::Callers>(),
    MethodInfo::of::<graph::Callees>(),
    MethodInfo::of::<graph::Imports>(),
    MethodInfo::of::<graph::Importers>(),
    MethodInfo::of::<graph::Impact>(),
    MethodInfo::of::<graph::Paths>(),
    MethodInfo::of::<graph::Digest>(),
    MethodInfo::of::<edit::Write>(),
    MethodInfo::of::<edit::Edit>(),
    MethodInfo::of::<edit::ApplyPatch>(),
    MethodInfo::of::<edit::Amend>(),
    MethodInfo::of::<edit::Undo>(),
    MethodInfo::of::<edit::Outcome>(),
    MethodInfo::of::<edit::Grammar>(),
    MethodInfo::of::<ast::Grep>(),
    MethodInfo::of::<ast::Explain>(),
    MethodInfo::of::<ast::Edit>(),
    MethodInfo::of::<ast::Resolve>(),
    MethodInfo::of::<ast::Staged>(),
    MethodInfo::of::<events::Subscribe>(),
    MethodInfo::of::<events::Unsubscribe>(),
];

/// Implements [`Method`] for a unit type, and [`CallParams`] for its parameters.
macro_rules! method {
    (
        $(#[doc = $doc:literal])+
        $type:ident = $name:literal, $kind:ident, $default:literal / $cap:literal,
        $params:ty => $result:ty $(, errors: [$($error:ident),* $(,)?])?
    ) => {
        $(#[doc = $doc])+
        pub struct $type;

        impl crate::Method for $type {
            const NAME: &'static str = $name;
            const KIND: crate::Kind = crate::Kind::$kind;
            const DEADLINE: crate::Deadline = crate::Deadline::seconds($default, $cap);
            const DOC: &'static str = concat!($($doc),+);
            const ERRORS: &'static [crate::ErrorKind] = &[$($(crate::ErrorKind::$error),*)?];
            type Params = $params;
            type Result = $result;
        }

        impl crate::CallParams for $params {
            fn deadline_ms(&self) -> Option<u64> {
                self.deadline_ms
            }
        }
    };
}
pub(crate) use method;
