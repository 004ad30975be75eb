//! A syntax tree as one array, in the order of the text.
//!
//! A third of the memory of the parser's own tree, and walked by index: no cursor, no recursion, no climbing.

use std::time::Duration;

use crate::{LanguageId, ParseError, ParseLimits, parse};

/// A node. Its children follow it; its next sibling is at `next`, if that lies before its parent's `next`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntaxNode {
    /// The kind in the grammar; see [`LanguageId::kind_name`].
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
    pub fn range(&self) -> std::ops::Range<usize> {
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
    /// Parses a text.
    pub fn parse(language: LanguageId, text: &[u8], limits: ParseLimits, cancelled: &dyn Fn() -> bool) -> Result<Self, ParseError> {
        let tree = parse(language, text, None, limits, cancelled)?;
        let mut nodes = Vec::with_capacity(tree.root_node().descendant_count());
        let mut cursor = tree.walk();
        let mut open: Vec<usize> = Vec::new();
        let mut has_errors = false;
        loop {
            let node = cursor.node();
            let flag = |is: bool, flag: u8| if is { flag } else { 0 };
            let flags = flag(node.is_named(), SyntaxNode::NAMED)
                | flag(node.is_extra(), SyntaxNode::EXTRA)
                | flag(node.is_error(), SyntaxNode::ERROR)
                | flag(node.is_missing(), SyntaxNode::MISSING);
            has_errors |= flags & (SyntaxNode::ERROR | SyntaxNode::MISSING) != 0;
            nodes.push(SyntaxNode {
                kind: node.kind_id(),
                field: cursor.field_id().map_or(0, |field| u8::try_from(field.get()).unwrap_or(0)),
                flags,
                start: node.start_byte() as u32,
                end: node.end_byte() as u32,
                next: 0,
            });
            if cursor.goto_first_child() {
                open.push(nodes.len() - 1);
                continue;
            }
            let last = nodes.len() - 1;
            nodes[last].next = nodes.len() as u32;
            while !cursor.goto_next_sibling() {
                let Some(parent) = open.pop() else {
                    return Ok(Self { language, nodes: nodes.into_boxed_slice(), has_errors });
                };
                cursor.goto_parent();
                nodes[parent].next = nodes.len() as u32;
            }
        }
    }

    /// Its memory, in bytes.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.nodes)
    }
}

/// For a pattern or the result of a rewrite, where the caller has no limits of its own.
pub const PARSE_LIMITS: ParseLimits = ParseLimits { deadline: Duration::from_secs(2), max_depth: 10_000 };

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_array_holds_the_tree() {
        let text = "fn f() { g(1, /* two */ 2) }";
        let syntax = Syntax::parse(LanguageId::RUST, text.as_bytes(), PARSE_LIMITS, &|| false).unwrap();
        assert_eq!(syntax.nodes[0].next as usize, syntax.nodes.len());
        assert!(!syntax.has_errors);
        let mut at = 1;
        let mut kinds = Vec::new();
        while at < syntax.nodes.len() {
            if syntax.nodes[at].next as usize == at + 1 {
                kinds.push(&text[syntax.nodes[at].range()]);
            }
            at += 1;
        }
        assert_eq!(kinds, ["fn", "f", "(", ")", "{", "g", "(", "1", ",", "/* two */", "2", ")", "}"]);
    }
}
