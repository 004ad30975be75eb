//! What kind of symbol a definition is, whether it is a test, and whether others may use it.

use ccd_grammars::{DefinitionRole, LanguageId};

use super::{
    build::{Builder, is_callable},
    event::{RawDefinition, ValueKind},
};
use crate::{SymbolKind, facts::NONE};

impl Builder<'_> {
    /// The kind of the symbol; none if it is none.
    pub(super) fn kind(&self, raw: &RawDefinition, container_kind: SymbolKind) -> Option<SymbolKind> {
        use DefinitionRole as D;
        use SymbolKind as K;
        let in_type = matches!(container_kind, K::Class | K::Interface | K::Trait | K::Impl | K::Struct | K::Enum);
        // Inside a function, an anonymous function or a block, plain variables are no symbols.
        let in_code = self.language != LanguageId::RUST && (is_callable(container_kind) || self.in_block());
        Some(match raw.role {
            D::Module => K::Module,
            D::Constructor => K::Constructor,
            D::Function if self.language.family() == LanguageId::C => return self.c_function(raw, container_kind),
            D::Function if in_type => K::Method,
            D::Function => K::Function,
            D::Method => {
                let name = raw.names.first().map_or(&b""[..], |&span| self.slice(span));
                if name == b"constructor" && container_kind == K::Class { K::Constructor } else { K::Method }
            }
            D::Field => K::Field,
            D::Constant | D::Variable | D::Property => match raw.value {
                ValueKind::Function if in_type => K::Method,
                ValueKind::Function => K::Function,
                ValueKind::Class => K::Class,
                _ if raw.role == D::Property => K::Property,
                _ if in_code => return None,
                _ if in_type && self.language == LanguageId::PYTHON => K::Property,
                _ if raw.role == D::Constant => K::Constant,
                _ => self.variable_kind(raw),
            },
            D::Struct => K::Struct,
            D::Class => K::Class,
            D::Enum => K::Enum,
            D::EnumMember => K::EnumMember,
            D::Interface => K::Interface,
            D::Trait => K::Trait,
            D::Impl => K::Impl,
            D::TypeAlias => K::TypeAlias,
            D::Macro => K::Macro,
            D::Test => K::Test,
        })
    }

    /// The kind of a function of C or C++; none for what only looks like one.
    fn c_function(&self, raw: &RawDefinition, container: SymbolKind) -> Option<SymbolKind> {
        use SymbolKind as K;
        let name = raw.names.first().map_or(&b""[..], |&span| self.slice(span));
        // `Type name(value);` in a body is a variable.
        if !raw.has_body && (is_callable(container) || self.in_block()) {
            return None;
        }
        let around = self.facts.definitions[self.scope() as usize].name;
        let of = match raw.owner.last() {
            Some(&(_, span)) => Some(self.slice(span)),
            None if matches!(container, K::Class | K::Struct) => Some(self.facts.strings.get(around).as_bytes()),
            None => None,
        };
        Some(match of {
            None => K::Function,
            Some(of) if of == name => K::Constructor,
            Some(_) => K::Method,
        })
    }

    /// Whether the innermost open thing is a block, other than the body of a namespace.
    pub(super) fn in_block(&self) -> bool {
        let mut open = self.open.iter().rev();
        let block = open.next().is_some_and(|open| open.definition.is_none());
        let of_namespace = open.next().and_then(|open| open.definition);
        block && of_namespace.is_none_or(|at| self.facts.definitions[at as usize].kind != SymbolKind::Module)
    }

    pub(super) fn variable_kind(&self, raw: &RawDefinition) -> SymbolKind {
        let constant = match self.language.family() {
            LanguageId::TYPESCRIPT => self.wrap.is_some_and(|(_, last)| self.text[last as usize..].starts_with(b"const")),
            // Upper case says constant.
            LanguageId::PYTHON => raw.names.first().is_some_and(|&span| {
                let name = self.slice(span);
                name.iter().any(u8::is_ascii_uppercase) && !name.iter().any(u8::is_ascii_lowercase)
            }),
            _ => false,
        };
        if constant { SymbolKind::Constant } else { SymbolKind::Variable }
    }

    pub(super) fn any_attribute(&self, attributes: &[(u32, u32)], word: &[u8]) -> bool {
        attributes.iter().any(|&span| self.slice(span).windows(word.len()).any(|window| window == word))
    }

    pub(super) fn is_test(&self, raw: &RawDefinition, attributes: &[(u32, u32)], head: u32) -> bool {
        let name = raw.names.first().map_or(&b""[..], |&span| self.slice(span));
        match self.language {
            LanguageId::RUST => attributes.iter().any(|&span| {
                let inner = self.slice(span);
                let inner = inner.strip_prefix(b"#[").unwrap_or(inner);
                let path: &[u8] = inner.split(|&byte| matches!(byte, b'(' | b']' | b' ' | b'=')).next().unwrap_or_default();
                let last = path.rsplit(|&byte| byte == b':').next().unwrap_or_default();
                matches!(last, b"test" | b"rstest" | b"test_case" | b"bench" | b"wasm_bindgen_test" | b"quickcheck")
            }),
            LanguageId::GO => {
                let head = self.slice((head, raw.head_end));
                [&b"Test"[..], b"Benchmark", b"Fuzz"].iter().any(|prefix| name.starts_with(prefix))
                    && [&b"*testing.T"[..], b"*testing.B", b"*testing.F"]
                        .iter()
                        .any(|kind| head.windows(kind.len()).any(|w| w == *kind))
            }
            LanguageId::PYTHON => name.starts_with(b"test_"),
            LanguageId::JAVA => {
                let head = self.slice((head, raw.head_end));
                head.split(|&byte| byte == b'@').skip(1).any(|rest| {
                    let name = rest.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'.').next().unwrap_or_default();
                    let last = name.rsplit(|&byte| byte == b'.').next().unwrap_or_default();
                    matches!(last, b"Test" | b"ParameterizedTest" | b"RepeatedTest" | b"TestFactory" | b"TestTemplate")
                })
            }
            _ => false,
        }
    }

    /// Whether a word stands before the name of a definition.
    fn says(&self, raw: &RawDefinition, head: u32, word: &[u8]) -> bool {
        let name = raw.names.first().map_or(head, |&(start, _)| start.max(head));
        self.slice((head, name)).split(|byte| !byte.is_ascii_alphanumeric()).any(|part| part == word)
    }

    pub(super) fn exported(
        &self,
        raw: &RawDefinition,
        kind: SymbolKind,
        head: u32,
        container: SymbolKind,
        of_trait: bool,
    ) -> bool {
        use SymbolKind as K;
        let name = raw.names.first().map_or(&b""[..], |&span| self.slice(span));
        match self.language.family() {
            LanguageId::RUST => match kind {
                K::EnumMember => true,
                K::Impl => of_trait,
                _ if container == K::Trait => true,
                _ if container == K::Impl && self.in_trait_impl() => true,
                _ => raw.visibility.is_some_and(|span| !self.slice(span).starts_with(b"pub(self")),
            },
            LanguageId::GO => name.first().is_some_and(u8::is_ascii_uppercase),
            LanguageId::PYTHON => !name.starts_with(b"_") || name.ends_with(b"__"),
            LanguageId::DART => kind != K::Test && !name.starts_with(b"_"),
            LanguageId::JAVA => kind != K::Test && !self.says(raw, head, b"private"),
            // Of another file; what stands in a class is of the class.
            LanguageId::C => {
                let file_only = matches!(kind, K::Function | K::Variable | K::Constant) && self.says(raw, head, b"static");
                kind != K::Test && !file_only
            }
            _ => match kind {
                K::Test => false,
                _ if matches!(container, K::Class | K::Interface | K::Enum) => {
                    raw.visibility.is_none_or(|span| self.slice(span) == b"public")
                }
                _ => self.slice((head, raw.head_end.max(head))).starts_with(b"export"),
            },
        }
    }

    pub(super) fn in_trait_impl(&self) -> bool {
        self.facts.definitions[self.scope() as usize].of_trait != NONE
    }
}
