//! The queries of a language, compiled once and run in one pass.

use std::{ops::ControlFlow, sync::OnceLock, time::Instant};

use tree_sitter::{Node, Query, QueryCursor, QueryCursorOptions, QueryCursorState, StreamingIterator, Tree};

use crate::{LanguageId, ParseError};

/// Kinds of definition that a query can name, as `@def.<word>`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words are the field's own")]
pub enum DefinitionRole {
    Module,
    Function,
    Method,
    Constructor,
    Field,
    Constant,
    Variable,
    Struct,
    Class,
    Enum,
    EnumMember,
    Interface,
    Trait,
    Impl,
    TypeAlias,
    Macro,
    Property,
    Test,
}

/// What a capture means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// `@def.<kind>`: a whole definition. Its match holds `name`, and may hold `owner`, `trait` and `value`.
    Definition(DefinitionRole),
    /// `@name`: the name of a definition, or a pattern that holds several.
    Name,
    /// `@owner`: the type that a definition belongs to though it does not stand in it (`impl T`, `func (r T)`).
    Owner,
    /// `@trait`: the trait of an `impl`.
    Trait,
    /// `@value`: what a variable is set to, or what a type is made of.
    Value,
    /// `@scope`: where local names live.
    Scope,
    /// `@branch`: a block that runs in the place of others.
    Branch,
    /// `@local`: a pattern that binds local names.
    Local,
    /// `@doc`: a comment.
    Doc,
    /// `@attr`: an attribute or decorator before a definition.
    Attribute,
    /// `@wrap`: what stands around a definition and belongs to it (`export`, `const`).
    Wrap,
    /// `@call`: a call; its match holds `callee`.
    Call,
    /// `@new`: a construction; its match holds `callee`.
    New,
    /// `@macro`: a macro call; its match holds `callee` and `body`.
    Macro,
    /// `@callee`: what is called.
    Callee,
    /// `@body`: the tokens of a macro call, or the body of a definition whose grammar has no field of that name.
    Body,
    /// `@extends`: a base of the definition around it.
    Extends,
    /// `@implements`: an interface of the definition around it.
    Implements,
    /// `@import`: a declaration that brings names in or gives them out.
    Import,
    /// `@package`: the name of the package that the file belongs to.
    Package,
    /// A capture for predicates alone (`@_x`).
    Ignored,
}

/// The captures of one match.
#[derive(Clone, Debug)]
pub struct Captured<'tree> {
    /// The node that the pattern is about, and what it is.
    pub main: (Role, Node<'tree>),
    /// Which pattern, in the order of the query texts.
    pub pattern: usize,
    /// The rest.
    pub parts: [Option<(Role, Node<'tree>)>; 4],
}

impl<'tree> Captured<'tree> {
    /// The part of this role.
    pub fn part(&self, role: Role) -> Option<Node<'tree>> {
        self.parts.iter().flatten().find(|(found, _)| *found == role).map(|(_, node)| *node)
    }
}

struct Compiled {
    query: Query,
    roles: Vec<Role>,
}

static COMPILED: [OnceLock<Compiled>; 16] = [const { OnceLock::new() }; 16];

fn compiled(language: LanguageId) -> &'static Compiled {
    COMPILED[usize::from(language.number())].get_or_init(|| {
        let row = language.row();
        let text = row.queries.concat();
        let query = Query::new(language.grammar(), &text).unwrap_or_else(|error| panic!("queries of {}: {error}", row.name));
        let roles = query.capture_names().iter().map(|name| role(name)).collect();
        Compiled { query, roles }
    })
}

fn role(name: &str) -> Role {
    use DefinitionRole as D;
    match name {
        "name" => Role::Name,
        "owner" => Role::Owner,
        "trait" => Role::Trait,
        "value" => Role::Value,
        "scope" => Role::Scope,
        "branch" => Role::Branch,
        "local" => Role::Local,
        "doc" => Role::Doc,
        "attr" => Role::Attribute,
        "wrap" => Role::Wrap,
        "call" => Role::Call,
        "new" => Role::New,
        "macro" => Role::Macro,
        "callee" => Role::Callee,
        "body" => Role::Body,
        "extends" => Role::Extends,
        "implements" => Role::Implements,
        "import" => Role::Import,
        "package" => Role::Package,
        "def.module" => Role::Definition(D::Module),
        "def.function" => Role::Definition(D::Function),
        "def.method" => Role::Definition(D::Method),
        "def.constructor" => Role::Definition(D::Constructor),
        "def.field" => Role::Definition(D::Field),
        "def.constant" => Role::Definition(D::Constant),
        "def.variable" => Role::Definition(D::Variable),
        "def.struct" => Role::Definition(D::Struct),
        "def.class" => Role::Definition(D::Class),
        "def.enum" => Role::Definition(D::Enum),
        "def.enum_member" => Role::Definition(D::EnumMember),
        "def.interface" => Role::Definition(D::Interface),
        "def.trait" => Role::Definition(D::Trait),
        "def.impl" => Role::Definition(D::Impl),
        "def.type_alias" => Role::Definition(D::TypeAlias),
        "def.macro" => Role::Definition(D::Macro),
        "def.property" => Role::Definition(D::Property),
        "def.test" => Role::Definition(D::Test),
        other => {
            assert!(other.starts_with('_'), "@{other} is no capture that is known");
            Role::Ignored
        }
    }
}

/// Matches between two looks at the clock.
const LOOK: u32 = 256;

/// Runs the queries of a language over a tree and hands out every match, until `deadline` at the latest: a tree that was
/// parsed quickly can take its queries minutes. What was handed out before an error is not all there is.
pub fn capture<'tree>(
    language: LanguageId,
    tree: &'tree Tree,
    text: &[u8],
    deadline: Instant,
    cancelled: &dyn Fn() -> bool,
    mut each: impl FnMut(Captured<'tree>),
) -> Result<(), ParseError> {
    let compiled = compiled(language);
    let mut cursor = QueryCursor::new();
    let stopped = || {
        if cancelled() { Some(ParseError::Cancelled) } else { (Instant::now() > deadline).then_some(ParseError::Deadline) }
    };
    // Within the search for one match; it ends the search as if there were no more.
    let mut cut = None;
    let mut watch = |_: &QueryCursorState| {
        cut = stopped();
        if cut.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = QueryCursorOptions::new().progress_callback(&mut watch);
    let mut matches = cursor.matches_with_options(&compiled.query, tree.root_node(), text, options);
    let mut count = 0u32;
    while let Some(found) = matches.next() {
        count += 1;
        if count.is_multiple_of(LOOK)
            && let Some(error) = stopped()
        {
            return Err(error);
        }
        let mut main = None;
        let mut parts = [None; 4];
        let mut used = 0;
        for capture in found.captures() {
            let role = compiled.roles[capture.index as usize];
            match role {
                Role::Ignored => {}
                Role::Name | Role::Owner | Role::Trait | Role::Value | Role::Callee | Role::Body => {
                    if used < parts.len() {
                        parts[used] = Some((role, capture.node));
                        used += 1;
                    }
                }
                role => main = Some((role, capture.node)),
            }
        }
        if let Some(main) = main {
            each(Captured { main, pattern: found.pattern_index, parts });
        }
    }
    drop(matches);
    cut.map_or(Ok(()), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_queries_of_every_language_compile() {
        for language in LanguageId::all() {
            assert!(compiled(language).query.pattern_count() > 10, "{}", language.name());
        }
    }
}
