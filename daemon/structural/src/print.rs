//! Syntax trees as S-expressions, with metavariables as they were written.

use std::{fmt::Write as _, ops::Range};

use ccd_grammars::{Syntax, SyntaxNode};

use crate::reading::{Fragment, Hole, Source, spans};

/// Bytes of a tree that is shown.
const MOST: usize = 8 << 10;

/// The nodes of a fragment.
pub(crate) fn roots(fragment: &Fragment, source: &Source) -> String {
    let mut out = String::new();
    for &root in &fragment.roots {
        if !out.is_empty() {
            out.push(' ');
        }
        print(&mut out, &fragment.syntax, &fragment.text, root, source, &fragment.holes);
    }
    out
}

/// The smallest node around a span.
pub(crate) fn part(syntax: &Syntax, text: &str, span: &Range<usize>, source: &Source) -> String {
    let holds = |node: &SyntaxNode| node.range().start <= span.start && span.end <= node.range().end;
    let mut out = String::new();
    print(&mut out, syntax, text, syntax.nodes.iter().rposition(holds).unwrap_or(0), source, &[]);
    out
}

fn print(out: &mut String, syntax: &Syntax, text: &str, root: usize, source: &Source, holes: &[Hole]) {
    let last = syntax.nodes[root].next as usize;
    // Where the nodes end that are open.
    let mut open: Vec<usize> = Vec::new();
    let mut at = root;
    while at < last {
        while open.last().is_some_and(|&end| end <= at) {
            out.push(')');
            open.pop();
        }
        if out.len() > MOST {
            out.push_str(" …");
            break;
        }
        let node = &syntax.nodes[at];
        let next = node.next as usize;
        if !node.is_named() && !node.is_wrong() {
            at += 1;
            continue;
        }
        if at > root {
            out.push(' ');
        }
        if let Some(field) = syntax.language.field_name(node.field)
            && at > root
        {
            let _ = write!(out, "{field}: ");
        }
        if let Some((_, meta)) = holes.iter().find(|(hole, _)| spans(node, text, hole)) {
            out.push_str(&source.metas[*meta].written());
            at = next;
            continue;
        }
        let missing = if node.flags & SyntaxNode::MISSING != 0 { "MISSING " } else { "" };
        let _ = write!(out, "({missing}{}", syntax.language.kind_name(node.kind));
        if next == at + 1 && node.is_named() {
            let leaf = &text[node.range()];
            let short: String = leaf.chars().take(40).collect();
            let _ = write!(out, " {short:?})");
        } else {
            open.push(next);
        }
        at += 1;
    }
    for _ in open {
        out.push(')');
    }
}
