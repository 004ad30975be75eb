//! The facts of one file: everything that can be said of it without another.
//!
//! They follow from the bytes and the extractor's version alone, so they are kept by content hash and shared by all
//! workspaces. Strings stand once in a table; the rest refers to them by number.

/// Grows whenever the same bytes give other facts.
pub(crate) const EXTRACTOR_VERSION: u32 = 5;

/// A string of the file's table.
pub(crate) type StrId = u32;
/// A definition: its index in [`Facts::definitions`]. 0 is the file's module.
pub(crate) type DefId = u32;
/// An expression: its index in [`Facts::exprs`].
pub(crate) type ExprId = u32;

/// Stands for "none" where an index is stored.
pub(crate) const NONE: u32 = u32::MAX;

/// Strings, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Strings {
    pub(crate) text: String,
    pub(crate) ends: Vec<u32>,
}

impl Strings {
    pub(crate) fn get(&self, id: StrId) -> &str {
        let at = id as usize;
        let start = if at == 0 { 0 } else { self.ends[at - 1] as usize };
        &self.text[start..self.ends[at] as usize]
    }

    pub(crate) fn len(&self) -> usize {
        self.ends.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|id| self.get(id as StrId))
    }
}

/// Line and column, 1-based.
pub(crate) type Place = ccd_text::Place;

/// Flags of a definition.
pub(crate) mod flag {
    /// Usable outside its module.
    pub(crate) const EXPORTED: u8 = 1;
    /// `mod x;`: its content is another file.
    pub(crate) const ELSEWHERE: u8 = 2;
    /// A macro that is given out by its crate's root.
    pub(crate) const MACRO_EXPORT: u8 = 4;
    /// An overload or declaration without a body.
    pub(crate) const NO_BODY: u8 = 8;
    /// Python: a later definition of the same name stands in its place whenever it is reached. Not so for those in
    /// different branches (`if` and `else`, `try` and `except`).
    pub(crate) const REPLACED: u8 = 16;
    /// C, C++: a function that is declared here; its body stands elsewhere.
    pub(crate) const DECLARED: u8 = 32;
}

/// A definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) kind: crate::SymbolKind,
    pub(crate) flags: u8,
    pub(crate) name: StrId,
    /// The definition around it; [`NONE`] for the file's module.
    pub(crate) container: DefId,
    /// Among those of the same kind and qualified name in this file, from 0.
    pub(crate) ordinal: u16,
    /// The type it belongs to though it does not stand in it.
    pub(crate) owner: ExprId,
    /// The trait of an `impl`.
    pub(crate) of_trait: ExprId,
    /// Bytes: where its doc comment or attributes begin, where itself begins, where it ends.
    pub(crate) bytes: (u32, u32, u32),
    pub(crate) range: (Place, Place),
    pub(crate) name_range: (Place, Place),
    /// Offset and length in [`Facts::signatures`].
    pub(crate) signature: (u32, u32),
}

/// What joins a segment of an expression to the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Join {
    /// The first segment: a name.
    Root,
    /// The first segment: `this` or a receiver called `self`.
    This,
    /// The first segment: anything else (a literal, a block).
    Other,
    /// `.name`
    Member,
    /// `::name`
    Path,
    /// `(…)`
    Call,
    /// `[…]`
    Index,
    /// The first segment: `super`, or `super(…)` of Python: the class around it as its bases know it.
    Super,
}

/// A segment of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) join: Join,
    /// [`NONE`] for those without a name.
    pub(crate) name: StrId,
}

/// What a site does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum SiteKind {
    Call,
    New,
    Macro,
    Extends,
    Implements,
    /// Go: a call of `f[x]`, a generic function with its one type argument or an element of `f`.
    Instance,
}

/// A place that leads somewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SiteFact {
    pub(crate) kind: SiteKind,
    /// The innermost definition around it.
    pub(crate) scope: DefId,
    pub(crate) place: Place,
    pub(crate) expr: ExprId,
    /// The first segment is the name of a parameter or variable around it.
    pub(crate) local: bool,
}

/// How an import binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ImportKind {
    /// A path that leads to a module or to a name in one (Rust): all segments are in `path`.
    Path,
    /// The module itself under a name.
    Module,
    /// A name of the module: `item`.
    Item,
    /// All names of the module.
    Glob,
    /// The module is only run.
    SideEffect,
}

/// An import or re-export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Import {
    pub(crate) kind: ImportKind,
    /// The innermost definition around it.
    pub(crate) scope: DefId,
    pub(crate) place: Place,
    /// The path (Rust), or one segment: the module as it is written.
    pub(crate) path: ExprId,
    /// With [`ImportKind::Item`].
    pub(crate) item: StrId,
    /// The name it has here; [`NONE`] if it binds none.
    pub(crate) binding: StrId,
    /// It is given out to others as well.
    pub(crate) exported: bool,
    /// It is only given out: the name is not bound in this file.
    pub(crate) only_export: bool,
}

/// The facts of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Facts {
    pub(crate) strings: Strings,
    pub(crate) signatures: String,
    pub(crate) definitions: Vec<Definition>,
    pub(crate) exprs: Vec<(u32, u32)>,
    pub(crate) segments: Vec<Segment>,
    pub(crate) sites: Vec<SiteFact>,
    pub(crate) imports: Vec<Import>,
    /// Names given out under another or the same name: (outer, inner).
    pub(crate) exports: Vec<(StrId, StrId)>,
    /// `#[path = "…"]` of a `mod x;`.
    pub(crate) mod_paths: Vec<(DefId, StrId)>,
    /// The package clause; [`NONE`] if there is none.
    pub(crate) package: StrId,
    /// The tree holds an error.
    pub(crate) parse_error: bool,
    /// The header says that a tool wrote it.
    pub(crate) generated: bool,
    /// Lines of the file.
    pub(crate) lines: u32,
}

impl Facts {
    pub(crate) fn expr(&self, id: ExprId) -> &[Segment] {
        let (start, len) = self.exprs[id as usize];
        &self.segments[start as usize..(start + len) as usize]
    }

    pub(crate) fn signature(&self, definition: &Definition) -> &str {
        let (start, len) = definition.signature;
        &self.signatures[start as usize..(start + len) as usize]
    }

    /// The definitions around one, innermost first, itself included.
    pub(crate) fn chain(&self, definition: DefId) -> impl Iterator<Item = DefId> {
        std::iter::successors(Some(definition), |&at| {
            let outer = self.definitions[at as usize].container;
            (outer != NONE).then_some(outer)
        })
    }

    /// The innermost named function, method or test around a site; else the file's module.
    pub(crate) fn site_owner(&self, scope: DefId) -> DefId {
        use crate::SymbolKind as K;
        self.chain(scope)
            .find(|&at| {
                matches!(self.definitions[at as usize].kind, K::Function | K::Method | K::Constructor | K::Test | K::Macro)
            })
            .unwrap_or(0)
    }

    /// The last name of an expression: what a definition it leads to is called.
    pub(crate) fn last_name(&self, id: ExprId) -> StrId {
        self.expr(id).iter().rev().find(|segment| segment.name != NONE).map_or(NONE, |segment| segment.name)
    }
}
