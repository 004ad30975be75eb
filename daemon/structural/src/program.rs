//! A fragment as a list of steps that a machine takes along the children of a candidate.

use ccd_grammars::{LanguageId, Syntax, SyntaxNode, scaffold};

use rustc_hash::FxHashMap;

use crate::{
    meta::Kind,
    reading::{Fragment, Hole, Source, spans},
};

/// Which separators do not count where a step is taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Loose {
    pub(crate) comma: bool,
    pub(crate) semicolon: bool,
    /// The list holds tokens that are not parsed: each is as good as a node.
    pub(crate) tokens: bool,
    /// The list is the head of a loop, where a declaration may hold the semicolon that stands after an expression.
    pub(crate) head: bool,
}

/// A step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Op {
    /// This token; `closes`: it may have a separator before it.
    Token { kind: u16, closes: bool },
    /// A quote, whichever.
    Quote,
    /// This separator if it is there.
    Optional { kind: u16 },
    /// Text that no node shows.
    Gap { text: Box<[u8]> },
    /// A named node of this kind and text.
    Leaf { kind: u16, text: Box<[u8]>, quotes: bool },
    /// Text between tags, whatever its blanks.
    Prose { kind: u16, text: Box<[u8]> },
    /// Into a node of this kind.
    Enter { kind: u16 },
    /// There are no more children; out.
    Exit,
    /// Any one named node.
    One { slot: Option<u16> },
    /// Any run.
    Many { slot: Option<u16> },
    /// All children of a node of this kind, or none where there is no such node.
    ManyIn { kind: u16, slot: Option<u16> },
    /// A node of this kind, whatever is in it.
    Kind { kind: u16 },
    /// It matches.
    End,
}

/// The steps of one reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Program {
    pub(crate) ops: Vec<(Op, Loose)>,
    /// A match is a run of siblings; else one node.
    pub(crate) run: bool,
    /// By step: whether what was bound before is asked for there or later.
    pub(crate) pending: Vec<bool>,
    /// Texts that every match holds, the longest first.
    pub(crate) literals: Vec<Vec<u8>>,
    /// The tokens in order, for regions that are not parsed.
    pub(crate) tokens: Vec<Vec<u8>>,
    /// The last token, if the pattern ends in a separator.
    pub(crate) ends_in_separator: bool,
    /// Slots whose text is told without the semicolon at its end.
    pub(crate) cut: Vec<u16>,
    /// The kinds of its roots.
    pub(crate) kind: String,
}

/// The names of a query; a slot is an index.
#[derive(Clone, Debug, Default)]
pub(crate) struct Slots {
    pub(crate) names: Vec<(String, bool)>,
}

impl Slots {
    /// The slot of a name; an error if it is the other kind of metavariable elsewhere.
    pub(crate) fn slot(&mut self, name: &str, many: bool) -> Result<u16, String> {
        match self.names.iter().position(|(known, _)| known == name) {
            Some(at) if self.names[at].1 == many => Ok(at as u16),
            Some(_) => Err(format!("`{name}` is used as `${name}`, one node, and as `$$${name}`, a run. Give them two names.")),
            None => {
                self.names.push((name.to_owned(), many));
                Ok((self.names.len() - 1) as u16)
            }
        }
    }

    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|(known, _)| known == name)
    }
}

/// A list of children that is being written down.
struct Frame {
    children: Vec<usize>,
    at: usize,
    loose: Loose,
    is_root: bool,
}

struct Writer<'a> {
    language: LanguageId,
    syntax: &'a Syntax,
    text: &'a str,
    source: &'a Source,
    holes: &'a [Hole],
    slots: &'a mut Slots,
    cut: Vec<u16>,
}

/// Writes the steps of a fragment.
pub(crate) fn compile(source: &Source, fragment: &Fragment, slots: &mut Slots) -> Result<Program, String> {
    if fragment.syntax.nodes[fragment.roots[0]].is_extra() {
        return Err("A comment is no code: search for its text.".to_owned());
    }
    let mut writer = Writer {
        language: source.language,
        syntax: &fragment.syntax,
        text: &fragment.text,
        source,
        holes: &fragment.holes,
        slots,
        cut: Vec::new(),
    };
    let mut ops = Vec::new();
    let run = fragment.roots.len() > 1;
    let loose = if run { Loose { semicolon: true, ..writer.loose(None, &fragment.roots) } } else { Loose::default() };
    let mut frames = vec![Frame { children: fragment.roots.clone(), at: 0, loose, is_root: !run }];
    while let Some(frame) = frames.last_mut() {
        let Some(&child) = frame.children.get(frame.at) else {
            let left = frame.loose;
            frames.pop();
            if !frames.is_empty() {
                ops.push((Op::Exit, left));
            }
            continue;
        };
        frame.at += 1;
        let (loose, is_root, rest) = (frame.loose, frame.is_root, frame.children[frame.at..].to_vec());
        if let Some(op) = writer.leaf(child, loose, is_root, &rest)? {
            ops.extend(op.map(|op| (op, loose)));
            continue;
        }
        let children = writer.children(child);
        let inner = writer.loose(Some(child), &children);
        ops.push((Op::Enter { kind: writer.syntax.nodes[child].kind }, loose));
        frames.push(Frame { children, at: 0, loose: inner, is_root: false });
    }
    ops.push((Op::End, Loose::default()));

    let kinds: Vec<&str> =
        fragment.roots.iter().map(|&root| writer.syntax.nodes[root].kind).map(|kind| source.language.kind_name(kind)).collect();
    let (literals, tokens) = texts(&writer, &fragment.roots);
    let end = fragment.roots.last().map_or(0, |&root| fragment.syntax.nodes[root].range().end).min(fragment.span.end);
    let ends_in_separator = matches!(fragment.text.as_bytes()[end - 1], b',' | b';');
    let cut = writer.cut;
    Ok(Program { cut, pending: pending(&ops), ops, run, literals, tokens, ends_in_separator, kind: kinds.join(" ") })
}

/// The steps for any node of a kind.
pub(crate) fn of_kind(kind: u16, name: &str) -> Program {
    let ops = vec![(Op::Kind { kind }, Loose::default()), (Op::End, Loose::default())];
    Program {
        pending: vec![false; ops.len()],
        ops,
        run: false,
        literals: Vec::new(),
        tokens: Vec::new(),
        ends_in_separator: false,
        cut: Vec::new(),
        kind: name.to_owned(),
    }
}

/// By step: whether a name that is bound before it is used at it or later.
fn pending(ops: &[(Op, Loose)]) -> Vec<bool> {
    let slot = |op: &Op| match op {
        Op::One { slot } | Op::Many { slot } | Op::ManyIn { slot, .. } => *slot,
        _ => None,
    };
    let mut uses: FxHashMap<u16, (usize, usize)> = FxHashMap::default();
    for (at, (op, _)) in ops.iter().enumerate() {
        if let Some(slot) = slot(op) {
            uses.entry(slot).or_insert((at, at)).1 = at;
        }
    }
    let repeated: Vec<(usize, usize)> = uses.into_values().filter(|(first, last)| first < last).collect();
    (0..ops.len()).map(|at| repeated.iter().any(|(first, last)| *first < at && at <= *last)).collect()
}

impl Writer<'_> {
    fn name(&self, at: usize) -> &'static str {
        let node = &self.syntax.nodes[at];
        if node.kind == SyntaxNode::GAP { "" } else { self.language.kind_name(node.kind) }
    }

    fn is_thin(&self, at: usize) -> bool {
        scaffold(self.language).thin.iter().any(|kind| kind == self.name(at))
    }

    /// Without comments.
    fn children(&self, parent: usize) -> Vec<usize> {
        let nodes = &self.syntax.nodes;
        let mut children = Vec::new();
        let mut at = parent + 1;
        while at < nodes[parent].next as usize {
            if !nodes[at].is_extra() && nodes[at].start < nodes[at].end {
                children.push(at);
            }
            at = nodes[at].next as usize;
        }
        children
    }

    /// The metavariable that a node is.
    fn meta(&self, at: usize) -> Option<usize> {
        let node = &self.syntax.nodes[at];
        self.holes.iter().find(|(hole, _)| node.is_named() && spans(node, self.text, hole)).map(|&(_, meta)| meta)
    }

    /// The run that a node is: alone, or with the terminator of the statement that it would be.
    fn many(&self, at: usize) -> Option<usize> {
        if let Some(meta) = self.meta(at) {
            return (self.source.metas[meta].kind == Kind::Many).then_some(meta);
        }
        let children = self.children(at);
        let [first, rest @ ..] = children.as_slice() else { return None };
        let ends = !rest.is_empty() && rest.iter().all(|&child| [",", ";"].contains(&self.name(child)));
        let meta = self.meta(*first).filter(|_| ends)?;
        (self.source.metas[meta].kind == Kind::Many).then_some(meta)
    }

    /// The one metavariable of a statement that is it and a semicolon.
    fn ended(&self, at: usize) -> Option<usize> {
        match self.children(at)[..] {
            [first, end] if self.name(end) == ";" => self.meta(first),
            _ => None,
        }
    }

    /// Where a list holds a run, separators do not count: an empty run has none. Between statements they never do.
    fn loose(&self, parent: Option<usize>, children: &[usize]) -> Loose {
        let positional = parent.is_some_and(|at| self.name(at).starts_with("for_"));
        let runs = !positional && children.iter().any(|&child| self.many(child).is_some());
        let statements = parent.is_some_and(|at| self.is_thin(at));
        let opaque = |at: usize| scaffold(self.language).opaque.iter().any(|kind| kind == self.name(at));
        // A list is separated by one of the two.
        let has = |token: &str| children.iter().any(|&child| self.name(child) == token);
        Loose {
            comma: runs && !has(";"),
            semicolon: (runs && !has(",")) || statements,
            tokens: parent.is_some_and(opaque),
            head: positional,
        }
    }

    fn slot(&mut self, meta: usize) -> Result<Option<u16>, String> {
        let meta = &self.source.metas[meta];
        let many = meta.kind == Kind::Many;
        meta.bound().map(|name| self.slots.slot(name, many)).transpose()
    }

    /// The step for a node that is not gone into; `rest`: what follows it in its list. None: go into it.
    fn leaf(&mut self, at: usize, loose: Loose, is_root: bool, rest: &[usize]) -> Result<Option<Option<Op>>, String> {
        let node = self.syntax.nodes[at];
        let text = &self.text.as_bytes()[node.range()];
        if let Some(meta) = self.many(at) {
            if is_root {
                return Err(format!(
                    "`{}` alone is any code at all. Write what stands around it.",
                    self.source.metas[meta].written()
                ));
            }
            let slot = self.slot(meta)?;
            return Ok(Some(Some(if self.is_thin(at) { Op::ManyIn { kind: node.kind, slot } } else { Op::Many { slot } })));
        }
        // The last is the body.
        let head = loose.head && !rest.is_empty();
        if let Some(meta) = self.meta(at).or_else(|| self.ended(at).filter(|_| head)) {
            let slot = self.slot(meta)?;
            if head {
                self.cut.extend(slot);
            }
            return Ok(Some(Some(Op::One { slot })));
        }
        if node.kind == SyntaxNode::GAP {
            return Ok(Some(Some(Op::Gap { text: text.into() })));
        }
        let name = self.name(at);
        if !node.is_named() {
            let closes = |at: &usize| matches!(self.name(*at), ")" | "]" | "}" | ">" | "|" | "end");
            return Ok(Some(match name {
                "," if loose.comma => None,
                ";" if loose.semicolon => None,
                ";" if loose.head => Some(Op::Optional { kind: node.kind }),
                "," | ";" if rest.iter().all(closes) => Some(Op::Optional { kind: node.kind }),
                "\"" | "'" => Some(Op::Quote),
                _ => Some(Op::Token { kind: node.kind, closes: closes(&at) }),
            }));
        }
        if name == "jsx_text" {
            return Ok(Some(Some(Op::Prose { kind: node.kind, text: text.into() })));
        }
        if node.next as usize == at + 1 {
            let quotes = ["string_start", "string_end"].contains(&name);
            return Ok(Some(Some(Op::Leaf { kind: node.kind, text: text.into(), quotes })));
        }
        Ok(None)
    }
}

/// The texts that a match must hold, and all tokens in order.
fn texts(writer: &Writer<'_>, roots: &[usize]) -> (Vec<Vec<u8>>, Vec<Vec<u8>>) {
    let (mut literals, mut tokens): (Vec<Vec<u8>>, Vec<Vec<u8>>) = (Vec::new(), Vec::new());
    let nodes = &writer.syntax.nodes;
    let last = roots.last().map_or(0, |&root| nodes[root].next as usize);
    let mut at = roots[0];
    while at < last {
        let node = nodes[at];
        let in_hole = writer.holes.iter().any(|(hole, _)| hole.start <= node.start as usize && node.end as usize <= hole.end);
        if node.is_extra() || in_hole {
            at = node.next as usize;
            continue;
        }
        if node.next as usize == at + 1 && node.start < node.end {
            let text = &writer.text.as_bytes()[node.range()];
            let name = writer.name(at);
            let word = text.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') && text.len() > 2;
            if name != "jsx_text" && !["string_start", "string_end"].contains(&name) {
                if (node.is_named() || word) && !literals.iter().any(|known| known == text) {
                    literals.push(text.to_vec());
                }
                if ![b",".as_slice(), b";"].contains(&text) {
                    tokens.push(text.to_vec());
                }
            }
        }
        at += 1;
    }
    literals.sort_by_key(|literal| std::cmp::Reverse(literal.len()));
    (literals, tokens)
}
