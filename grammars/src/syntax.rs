//! A syntax tree as one array, in the order of the text.
//!
//! A third of the memory of the parser's own tree, and walked by index: no cursor, no recursion, no climbing.

use std::{ops::Range, sync::OnceLock, time::Duration};

use crate::{LanguageId, ParseError, ParseLimits, parse::parse_any_depth, scaffold};

/// A node. Its children follow it; its next sibling is at `next`, if that lies before its parent's `next`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxNode {
    /// The kind in the grammar (see [`LanguageId::kind_name`]), or [`SyntaxNode::GAP`].
    pub kind: u16,
    /// Its field in its parent, 0 for none.
    pub field: u8,
    /// [`SyntaxNode::NAMED`] and the others.
    pub flags: u8,
    /// First byte.
    pub start: u32,
    /// Byte after the last.
    pub end: u32,
    /// Index after the last node below this one.
    pub next: u32,
}

impl SyntaxNode {
    /// It is a rule of the grammar, not a token in quotes.
    pub const NAMED: u8 = 1;
    /// It may stand anywhere: a comment.
    pub const EXTRA: u8 = 2;
    /// The parser could make nothing of it.
    pub const ERROR: u8 = 4;
    /// The parser put it in.
    pub const MISSING: u8 = 8;
    /// The kind of text that a node holds beside its children and that the grammar shows no node for.
    pub const GAP: u16 = u16::MAX - 1;
    /// The kind that the library gives to errors.
    const ERROR_KIND: u16 = u16::MAX;

    /// Whether it is named.
    pub fn is_named(&self) -> bool {
        self.flags & Self::NAMED != 0
    }

    /// Whether it is a comment or the like.
    pub fn is_extra(&self) -> bool {
        self.flags & Self::EXTRA != 0
    }

    /// Whether it is an error or was put in.
    pub fn is_wrong(&self) -> bool {
        self.flags & (Self::ERROR | Self::MISSING) != 0
    }

    /// Its bytes.
    pub fn range(&self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// A syntax tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Syntax {
    /// Of which grammar.
    pub language: LanguageId,
    /// All nodes; the first is the root.
    pub nodes: Box<[SyntaxNode]>,
    /// Whether there is an error or a missing node.
    pub has_errors: bool,
}

impl Syntax {
    /// Parses a text of less than 4 GiB.
    pub fn parse(
        language: LanguageId,
        text: &[u8],
        limits: ParseLimits,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Self, ParseError> {
        let tree = parse_any_depth(language, text, None, limits.deadline, cancelled)?;
        let (kinds, max_depth) = (kinds(language), limits.max_depth as usize);
        let has_errors = tree.root_node().has_error();
        let mut nodes: Vec<SyntaxNode> = Vec::with_capacity(tree.root_node().descendant_count() + 1);
        let mut cursor = tree.walk();
        // The nodes around the current one, and where the last child of each ended.
        let mut open: Vec<(usize, u32)> = Vec::new();
        loop {
            let node = cursor.node();
            let (kind, range) = (node.kind_id(), node.byte_range());
            let (start, end) = (range.start as u32, range.end as u32);
            let mut flags = kinds.get(usize::from(kind)).copied().unwrap_or(SyntaxNode::NAMED);
            if flags & PROSE != 0 {
                // Blank text between the tags of JSX only sets them out.
                let blank = text.get(range).is_some_and(|text| text.trim_ascii().is_empty());
                flags = SyntaxNode::NAMED | if blank { SyntaxNode::EXTRA } else { 0 };
            } else if flags & SyntaxNode::EXTRA != 0 && !node.is_extra() {
                flags &= !SyntaxNode::EXTRA;
            }
            if has_errors {
                if kind == SyntaxNode::ERROR_KIND {
                    flags |= SyntaxNode::ERROR;
                }
                if node.is_missing() {
                    flags |= SyntaxNode::MISSING;
                }
            }
            if let Some((_, seen)) = open.last_mut() {
                push_gap(&mut nodes, text, *seen, start);
                *seen = end.max(*seen);
            }
            let field = cursor.field_id().map_or(0, |field| u8::try_from(field.get()).unwrap_or(0));
            nodes.push(SyntaxNode { kind, field, flags, start, end, next: nodes.len() as u32 + 1 });
            if cursor.goto_first_child() {
                open.push((nodes.len() - 1, start));
                if open.len() > max_depth {
                    return Err(ParseError::TooDeep);
                }
                continue;
            }
            while !cursor.goto_next_sibling() {
                let Some((parent, seen)) = open.pop() else {
                    return Ok(Self { language, nodes: nodes.into_boxed_slice(), has_errors });
                };
                let end = nodes[parent].end;
                push_gap(&mut nodes, text, seen, end);
                nodes[parent].next = nodes.len() as u32;
                cursor.goto_parent();
            }
        }
    }

    /// Its memory, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.nodes)
    }

    /// The parent of every node; that of the root is the root.
    pub fn parents(&self) -> Vec<u32> {
        let mut parents = Vec::with_capacity(self.nodes.len());
        let mut open: Vec<u32> = Vec::new();
        for at in 0..self.nodes.len() {
            while open.last().is_some_and(|&parent| self.nodes[parent as usize].next as usize <= at) {
                open.pop();
            }
            parents.push(open.last().copied().unwrap_or(0));
            open.push(at as u32);
        }
        parents
    }
}

fn push_gap(nodes: &mut Vec<SyntaxNode>, text: &[u8], from: u32, to: u32) {
    let Some(gap) = text.get(from as usize..to as usize) else { return };
    // A backslash joins two lines; a mark of byte order opens a file.
    if gap.trim_ascii().iter().all(|byte| byte.is_ascii_whitespace() || matches!(byte, b'\\' | 0x0b | 0xef | 0xbb | 0xbf)) {
        return;
    }
    let lead = gap.len() - gap.trim_ascii_start().len();
    let trail = gap.len() - gap.trim_ascii_end().len();
    nodes.push(SyntaxNode {
        kind: SyntaxNode::GAP,
        field: 0,
        flags: 0,
        start: from + lead as u32,
        end: to - trail as u32,
        next: nodes.len() as u32 + 1,
    });
}

/// Of a kind, not of a node: it is text for readers.
const PROSE: u8 = 16;

static KINDS: [OnceLock<Box<[u8]>>; 16] = [const { OnceLock::new() }; 16];

/// The flags of every kind of a grammar: whether it is named, and whether a node of it can be an extra at all.
fn kinds(language: LanguageId) -> &'static [u8] {
    KINDS[usize::from(language.number())].get_or_init(|| {
        let grammar = language.grammar();
        let operands = &scaffold(language).operands;
        let flags = |kind| {
            let name = grammar.node_kind_for_id(kind).unwrap_or_default();
            let named = grammar.node_kind_is_named(kind) || operands.iter().any(|operand| operand == name);
            let named = if named { SyntaxNode::NAMED } else { 0 };
            let extra = if name.contains("comment") || name.contains("continuation") { SyntaxNode::EXTRA } else { 0 };
            let prose = if name == "jsx_text" { PROSE } else { 0 };
            named | extra | prose
        };
        (0..grammar.node_kind_count() as u16).map(flags).collect()
    })
}

/// For a pattern or the result of a rewrite, where the caller has no limits of its own.
pub const PARSE_LIMITS: ParseLimits = ParseLimits { deadline: Duration::from_secs(2), max_depth: 10_000 };

#[cfg(test)]
mod tests {
    use super::*;

    fn leaves(language: LanguageId, text: &str) -> Vec<&str> {
        let syntax = Syntax::parse(language, text.as_bytes(), PARSE_LIMITS, &|| false).unwrap();
        assert_eq!(syntax.nodes[0].next as usize, syntax.nodes.len());
        let parents = syntax.parents();
        let leaves = syntax.nodes.iter().enumerate().filter(|(at, node)| node.next as usize == at + 1 && node.start < node.end);
        leaves
            .map(|(at, node)| {
                let parent = &syntax.nodes[parents[at] as usize];
                assert!(parent.start <= node.start && node.end <= parent.end);
                &text[node.range()]
            })
            .collect()
    }

    #[test]
    fn the_array_holds_every_token() {
        assert_eq!(
            leaves(LanguageId::RUST, "fn f() { g(1, \"a b\") }"),
            ["fn", "f", "(", ")", "{", "g", "(", "1", ",", "\"", "a b", "\"", ")", "}"]
        );
        assert_eq!(leaves(LanguageId::PYTHON, "x = 1 + \\\n  2 # c\n"), ["x", "=", "1", "+", "\\\n", "2", "# c"]);
    }

    #[test]
    fn what_no_node_shows_is_a_gap() {
        let text = "fn f() { m!(a + /* b */ c); }";
        let joined = leaves(LanguageId::RUST, text).concat();
        assert_eq!(joined.replace(' ', ""), text.replace(' ', ""));
    }

    #[test]
    fn only_trees_with_errors_have_wrong_nodes() {
        let good = Syntax::parse(LanguageId::GO, b"package p\n\nfunc f() {}\n", PARSE_LIMITS, &|| false).unwrap();
        assert!(!good.has_errors && good.nodes.iter().all(|node| !node.is_wrong()));
        let bad = Syntax::parse(LanguageId::GO, b"package p\n\nfunc f( {\n", PARSE_LIMITS, &|| false).unwrap();
        assert!(bad.has_errors && bad.nodes.iter().any(SyntaxNode::is_wrong));
    }
}
