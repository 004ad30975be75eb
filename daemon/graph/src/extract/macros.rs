//! Macro calls of Rust: their bodies are tokens, but hold calls, and sometimes items.

use ccd_grammars::{Node, Tree};

use super::{
    event::{Event, Within, push_site},
    expr::{RawSegment, bytes_of},
};
use crate::facts::{Join, SiteKind};

/// Tokens looked at in one body.
const MAX_TOKENS: usize = 200_000;

/// The inside of a body in braces, to be parsed as items: `cfg_x! { fn f() {} }`.
pub(crate) fn item_body(body: Node<'_>, text: &[u8]) -> Option<Within> {
    let (start, end) = (body.start_byte(), body.end_byte());
    if end - start < 4 || text[start] != b'{' || text[end - 1] != b'}' {
        return None;
    }
    let inside = &text[start + 1..end - 1];
    // A cheap look that spares a second parse of format strings and data.
    let item_words: [&[u8]; 7] = [b"fn ", b"struct ", b"enum ", b"mod ", b"impl", b"trait ", b"use "];
    if !item_words.iter().any(|word| inside.windows(word.len()).any(|window| window == *word)) {
        return None;
    }
    let (mut first, mut last) = (body.start_position(), body.end_position());
    first.column += 1;
    last.column -= 1;
    Some(Some((first, start + 1, last, end - 1)))
}

/// Whether a body that was parsed again consists of items.
pub(crate) fn holds_items(tree: &Tree) -> bool {
    let root = tree.root_node();
    let mut cursor = root.walk();
    let mut items = 0;
    for child in root.named_children(&mut cursor) {
        match child.kind() {
            "function_item"
            | "function_signature_item"
            | "struct_item"
            | "enum_item"
            | "union_item"
            | "mod_item"
            | "impl_item"
            | "trait_item"
            | "use_declaration"
            | "const_item"
            | "static_item"
            | "type_item"
            | "macro_definition"
            | "extern_crate_declaration"
            | "foreign_mod_item" => items += 1,
            "attribute_item"
            | "inner_attribute_item"
            | "line_comment"
            | "block_comment"
            | "macro_invocation"
            | "empty_statement" => {}
            // Statements: the body belongs to a function, and its tokens were scanned.
            "expression_statement" if child.named_child(0).is_some_and(|inner| inner.kind() == "macro_invocation") => {}
            _ => return false,
        }
    }
    items > 0
}

/// Finds calls among the tokens of a body: `name(`, `a::b(`, `x.y(`, `m!(`.
pub(crate) fn scan(body: Node<'_>, text: &[u8], events: &mut Vec<Event>) {
    let mut cursor = body.walk();
    if !cursor.goto_first_child() {
        return;
    }
    // The chain that ends at the last token, one for each open group.
    let mut chains: Vec<Chain> = vec![Chain::default()];
    for _ in 0..MAX_TOKENS {
        let node = cursor.node();
        let chain = chains.last_mut().expect("one chain a level, and the walk ends at the first");
        if node.kind() == "token_tree" {
            if text[node.start_byte()] == b'(' {
                chain.called(events);
            } else {
                chain.other_group(text[node.start_byte()], events);
            }
            if cursor.goto_first_child() {
                chains.push(Chain::default());
                continue;
            }
        } else {
            chain.token(node, text);
        }
        while !cursor.goto_next_sibling() {
            chains.pop();
            if chains.is_empty() || !cursor.goto_parent() {
                return;
            }
            if chains.is_empty() {
                return;
            }
        }
    }
}

#[derive(Default)]
struct Chain {
    segments: Vec<RawSegment>,
    /// What joins the next name to the segments.
    joint: Option<Join>,
    /// A `!` stands behind the name.
    bang: bool,
}

impl Chain {
    fn token(&mut self, node: Node<'_>, text: &[u8]) {
        let kind = node.kind();
        match kind {
            "identifier" | "self" | "super" | "crate" | "primitive_type" | "metavariable" => {
                let join = match self.joint.take() {
                    Some(join) if !self.segments.is_empty() => join,
                    Some(_) => Join::Other,
                    None => {
                        self.segments.clear();
                        if kind == "self" { Join::This } else { Join::Root }
                    }
                };
                if join == Join::Other {
                    self.segments.push((Join::Other, (0, 0)));
                    self.segments.push((Join::Member, bytes_of(node)));
                } else {
                    self.segments.push((join, bytes_of(node)));
                }
                self.bang = false;
            }
            _ => match &text[node.byte_range()] {
                b"." => self.join(Join::Member),
                b"::" => self.join(Join::Path),
                b"!" if !self.segments.is_empty() && self.joint.is_none() => self.bang = true,
                b"?" if !self.segments.is_empty() => {}
                _ => self.reset(),
            },
        }
    }

    fn join(&mut self, join: Join) {
        self.joint = Some(join);
        self.bang = false;
    }

    fn reset(&mut self) {
        *self = Self::default();
    }

    /// A group in parentheses follows.
    fn called(&mut self, events: &mut Vec<Event>) {
        if self.segments.is_empty() || self.joint.is_some() {
            // `(a + b).c()`: the group is the receiver.
            *self = Self { segments: vec![(Join::Other, (0, 0))], ..Self::default() };
            return;
        }
        let kind = if self.bang { SiteKind::Macro } else { SiteKind::Call };
        if self.segments.last().is_some_and(|(join, _)| !matches!(join, Join::Call | Join::Index | Join::Other)) {
            push_site(kind, self.segments.clone(), events);
        }
        self.segments.push((Join::Call, (0, 0)));
        self.bang = false;
    }

    /// A group in brackets or braces follows.
    fn other_group(&mut self, open: u8, events: &mut Vec<Event>) {
        if self.bang && !self.segments.is_empty() {
            push_site(SiteKind::Macro, self.segments.clone(), events);
        } else if open == b'[' && !self.segments.is_empty() && self.joint.is_none() {
            self.segments.push((Join::Index, (0, 0)));
            return;
        }
        self.reset();
    }
}
