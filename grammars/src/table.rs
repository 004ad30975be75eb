//! The table of languages.

use std::{ffi::OsStr, path::Path, sync::OnceLock};

/// A language: an index into [`LANGUAGES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LanguageId(pub(crate) u8);

impl LanguageId {
    /// Rust.
    pub const RUST: Self = Self(0);
    /// Go.
    pub const GO: Self = Self(1);
    /// TypeScript without JSX.
    pub const TYPESCRIPT: Self = Self(2);
    /// TypeScript with JSX.
    pub const TSX: Self = Self(3);
    /// JavaScript, JSX included.
    pub const JAVASCRIPT: Self = Self(4);
    /// Python.
    pub const PYTHON: Self = Self(5);
    /// Dart.
    pub const DART: Self = Self(6);
    /// C.
    pub const C: Self = Self(7);
    /// C++.
    pub const CPP: Self = Self(8);
    /// Java.
    pub const JAVA: Self = Self(9);

    /// Its row.
    pub fn row(self) -> &'static Language {
        &LANGUAGES[usize::from(self.0)]
    }

    /// Its name on the wire.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The language of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        LANGUAGES.iter().position(|row| row.name == name).map(|at| Self(at as u8))
    }

    pub(crate) fn grammar(self) -> &'static tree_sitter::Language {
        static GRAMMARS: [OnceLock<tree_sitter::Language>; 16] = [const { OnceLock::new() }; 16];
        GRAMMARS[usize::from(self.0)].get_or_init(self.row().grammar)
    }

    /// The name of a kind of node; empty for a number that is none.
    pub fn kind_name(self, kind: u16) -> &'static str {
        match kind {
            u16::MAX => "ERROR",
            kind => self.grammar().node_kind_for_id(kind).unwrap_or_default(),
        }
    }

    /// The number of a kind of node that can stand in a tree.
    pub fn kind_id(self, name: &str, named: bool) -> Option<u16> {
        let grammar = self.grammar();
        let kind = grammar.id_for_node_kind(name, named);
        (kind != 0 && grammar.node_kind_is_visible(kind)).then_some(kind)
    }

    /// The names of all named kinds that can stand in a tree, sorted.
    pub fn kind_names(self) -> Vec<&'static str> {
        let grammar = self.grammar();
        let kinds = 0..grammar.node_kind_count() as u16;
        let shown = kinds.filter(|kind| grammar.node_kind_is_visible(*kind) && grammar.node_kind_is_named(*kind));
        let mut names: Vec<_> = shown.filter_map(|kind| grammar.node_kind_for_id(kind)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The name of a field.
    pub fn field_name(self, field: u8) -> Option<&'static str> {
        self.grammar().field_name_for_id(u16::from(field))
    }

    /// The number of a field.
    pub fn field_id(self, name: &str) -> Option<u8> {
        self.grammar().field_id_for_name(name).and_then(|field| u8::try_from(field.get()).ok())
    }

    /// The names of all fields, sorted.
    pub fn field_names(self) -> Vec<&'static str> {
        let grammar = self.grammar();
        let mut names: Vec<_> = (1..=grammar.field_count() as u16).filter_map(|field| grammar.field_name_for_id(field)).collect();
        names.sort_unstable();
        names
    }

    /// As a number for a store.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// From a store.
    pub fn from_number(number: u8) -> Option<Self> {
        (usize::from(number) < LANGUAGES.len()).then_some(Self(number))
    }

    /// All of them.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..LANGUAGES.len() as u8).map(Self)
    }

    /// The languages whose files may import each other: TypeScript, TSX and JavaScript are one family, C and C++ another.
    pub fn family(self) -> Self {
        match self {
            Self::TSX | Self::JAVASCRIPT => Self::TYPESCRIPT,
            Self::CPP => Self::C,
            other => other,
        }
    }

    /// Whether a module is a file, known by its path, which is no part of the names in it.
    pub fn names_files(self) -> bool {
        matches!(self.family(), Self::TYPESCRIPT | Self::C | Self::DART)
    }
}

/// A row of the table.
pub struct Language {
    /// On the wire.
    pub name: &'static str,
    /// Without the dot, lower case.
    pub extensions: &'static [&'static str],
    /// What stands between the parts of a qualified name.
    pub separator: &'static str,
    /// The text of its `scaffold.toml`.
    pub(crate) scaffold: &'static str,
    pub(crate) grammar: fn() -> tree_sitter::Language,
    /// The texts of its queries, in order; a later pattern stands over an earlier one for the same node.
    pub(crate) queries: &'static [&'static str],
}

/// Every language.
pub static LANGUAGES: &[Language] = &[
    Language {
        name: "rust",
        extensions: &["rs"],
        separator: "::",
        scaffold: include_str!("../languages/rust/scaffold.toml"),
        grammar: || tree_sitter_rust::LANGUAGE.into(),
        queries: &[
            include_str!("../languages/rust/symbols.scm"),
            include_str!("../languages/rust/calls.scm"),
            include_str!("../languages/rust/imports.scm"),
        ],
    },
    Language {
        name: "go",
        extensions: &["go"],
        separator: ".",
        scaffold: include_str!("../languages/go/scaffold.toml"),
        grammar: || tree_sitter_go::LANGUAGE.into(),
        queries: &[
            include_str!("../languages/go/symbols.scm"),
            include_str!("../languages/go/calls.scm"),
            include_str!("../languages/go/imports.scm"),
        ],
    },
    Language {
        name: "typescript",
        extensions: &["ts", "mts", "cts"],
        separator: ".",
        scaffold: include_str!("../languages/typescript/scaffold.toml"),
        grammar: || tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
        queries: &[
            include_str!("../languages/ecmascript/symbols.scm"),
            include_str!("../languages/typescript/symbols.scm"),
            include_str!("../languages/ecmascript/calls.scm"),
            include_str!("../languages/typescript/calls.scm"),
            include_str!("../languages/ecmascript/imports.scm"),
            include_str!("../languages/typescript/imports.scm"),
        ],
    },
    Language {
        name: "tsx",
        extensions: &["tsx"],
        separator: ".",
        scaffold: include_str!("../languages/tsx/scaffold.toml"),
        grammar: || tree_sitter_typescript::LANGUAGE_TSX.into(),
        queries: &[
            include_str!("../languages/ecmascript/symbols.scm"),
            include_str!("../languages/typescript/symbols.scm"),
            include_str!("../languages/ecmascript/calls.scm"),
            include_str!("../languages/typescript/calls.scm"),
            include_str!("../languages/ecmascript/imports.scm"),
            include_str!("../languages/typescript/imports.scm"),
            include_str!("../languages/tsx/calls.scm"),
        ],
    },
    Language {
        name: "javascript",
        extensions: &["js", "mjs", "cjs", "jsx"],
        separator: ".",
        scaffold: include_str!("../languages/javascript/scaffold.toml"),
        grammar: || tree_sitter_javascript::LANGUAGE.into(),
        queries: &[
            include_str!("../languages/ecmascript/symbols.scm"),
            include_str!("../languages/javascript/symbols.scm"),
            include_str!("../languages/ecmascript/calls.scm"),
            include_str!("../languages/javascript/calls.scm"),
            include_str!("../languages/ecmascript/imports.scm"),
        ],
    },
    Language {
        name: "python",
        extensions: &["py", "pyi"],
        separator: ".",
        scaffold: include_str!("../languages/python/scaffold.toml"),
        grammar: || tree_sitter_python::LANGUAGE.into(),
        queries: &[
            include_str!("../languages/python/symbols.scm"),
            include_str!("../languages/python/calls.scm"),
            include_str!("../languages/python/imports.scm"),
        ],
    },
    Language {
        name: "dart",
        extensions: &["dart"],
        separator: ".",
        scaffold: include_str!("../languages/dart/scaffold.toml"),
        grammar: || tree_sitter_dart::LANGUAGE.into(),
        queries: &[
            include_str!("../languages/dart/symbols.scm"),
            include_str!("../languages/dart/calls.scm"),
            include_str!("../languages/dart/imports.scm"),
        ],
    },
    Language {
        name: "c",
        // A header says nowhere which of the two languages it is written in.
        extensions: &["c", "h"],
        separator: "::",
        scaffold: include_str!("../languages/c/scaffold.toml"),
        grammar: || tree_sitter_c::LANGUAGE.into(),
        queries: &[
            include_str!("../languages/c/symbols.scm"),
            include_str!("../languages/c/calls.scm"),
            include_str!("../languages/c/imports.scm"),
        ],
    },
    Language {
        name: "cpp",
        extensions: &["cc", "cpp", "cxx", "c++", "hpp", "hh", "hxx", "h++", "ipp", "inl"],
        separator: "::",
        scaffold: include_str!("../languages/cpp/scaffold.toml"),
        grammar: || tree_sitter_cpp::LANGUAGE.into(),
        queries: &[
            include_str!("../languages/c/symbols.scm"),
            include_str!("../languages/cpp/symbols.scm"),
            include_str!("../languages/c/calls.scm"),
            include_str!("../languages/cpp/calls.scm"),
            include_str!("../languages/c/imports.scm"),
        ],
    },
    Language {
        name: "java",
        extensions: &["java"],
        separator: ".",
        scaffold: include_str!("../languages/java/scaffold.toml"),
        grammar: || tree_sitter_java::LANGUAGE.into(),
        queries: &[
            include_str!("../languages/java/symbols.scm"),
            include_str!("../languages/java/calls.scm"),
            include_str!("../languages/java/imports.scm"),
        ],
    },
];

/// The language of a file, by the extension of its name.
pub fn language_of(name: &OsStr) -> Option<LanguageId> {
    let extension = Path::new(name).extension()?.to_str()?;
    let matches = |row: &Language| row.extensions.iter().any(|known| known.eq_ignore_ascii_case(extension));
    LANGUAGES.iter().position(matches).map(|at| LanguageId(at as u8))
}

/// The language whose grammar reads a text. It is that of its name, but for a header that declares what only C++ has: the
/// ending `.h` says nothing about which of the two it is.
pub fn grammar_of(language: LanguageId, text: &[u8]) -> LanguageId {
    let declares = |line: &[u8]| {
        let line = line.trim_ascii_start();
        let starts = |word: &[u8]| line.starts_with(word) && line.get(word.len()).is_some_and(|&next| b" \t<:".contains(&next));
        [&b"class"[..], b"namespace", b"template", b"using", b"constexpr"].into_iter().any(starts)
            || [&b"public:"[..], b"private:", b"protected:"].iter().any(|word| line.starts_with(word))
    };
    // A name that is also a word of prose: a comment that begins with it has no end that code has.
    let ends = |line: &[u8]| line.trim_ascii_end().last().is_some_and(|last| b"{;:>,".contains(last));
    let macro_ends = |line: &[u8]| line.starts_with(b"namespace ") && line.trim_ascii_end().ends_with(b")");
    let lines = || text.split(|&byte| byte == b'\n');
    let cpp = language == LanguageId::C && lines().any(|line| declares(line) && ends(line) || macro_ends(line));
    if cpp { LanguageId::CPP } else { language }
}

/// The language of a path.
pub fn language_of_path(path: &Path) -> Option<LanguageId> {
    language_of(path.file_name()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_constants_name_their_rows() {
        for (id, name) in [
            (LanguageId::RUST, "rust"),
            (LanguageId::GO, "go"),
            (LanguageId::TYPESCRIPT, "typescript"),
            (LanguageId::TSX, "tsx"),
            (LanguageId::JAVASCRIPT, "javascript"),
            (LanguageId::PYTHON, "python"),
            (LanguageId::DART, "dart"),
            (LanguageId::C, "c"),
            (LanguageId::CPP, "cpp"),
            (LanguageId::JAVA, "java"),
        ] {
            assert_eq!(id.name(), name);
            assert_eq!(LanguageId::by_name(name), Some(id));
        }
        assert_eq!(LANGUAGES.len(), 10);
    }

    #[test]
    fn a_header_is_what_it_declares() {
        for (text, expected) in [
            ("struct list { int n; };\n", LanguageId::C),
            ("/*\n class of things that begin a line\n*/\nint f(void);\n", LanguageId::C),
            ("namespace x {\n}\n", LanguageId::CPP),
            ("namespace std VISIBILITY(default)\n{\n}\n", LanguageId::CPP),
            ("struct S {\n public:\n  int f();\n};\n", LanguageId::CPP),
            ("template <class T>\nT f(T t);\n", LanguageId::CPP),
        ] {
            assert_eq!(grammar_of(LanguageId::C, text.as_bytes()), expected, "{text}");
        }
        assert_eq!(grammar_of(LanguageId::PYTHON, b"class A:\n"), LanguageId::PYTHON);
    }

    #[test]
    fn extensions_lead_to_one_language() {
        assert_eq!(language_of(OsStr::new("a.test.TSX")), Some(LanguageId::TSX));
        assert_eq!(language_of(OsStr::new("a.rs.bak")), None);
        assert_eq!(language_of(OsStr::new("rs")), None);
        let mut all: Vec<_> = LANGUAGES.iter().flat_map(|row| row.extensions).collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), count);
    }
}
