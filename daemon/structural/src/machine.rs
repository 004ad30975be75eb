//! The machine that takes the steps of a program along a syntax tree.
//!
//! Where it has a choice (how far a run goes) it notes it, and comes back to it when a later step fails: without
//! recursion, and with every step counted. A choice that failed is not tried again from the same place, unless what
//! was bound before it is asked for after it.

use ccd_grammars::{LanguageId, Syntax, SyntaxNode, scaffold};
use rustc_hash::FxHashSet;

use crate::{
    FindError,
    program::{Loose, Op, Program},
};

/// Steps that a file may take, besides some for each of its nodes.
pub(crate) const STEPS: u64 = 20_000_000;

/// What a slot holds: a range of node indices, of siblings with all that is below them.
pub(crate) type Bound = Option<(u32, u32)>;

/// The kinds of a grammar that steps ask for.
#[derive(Debug)]
pub(crate) struct Kinds {
    comma: u16,
    semicolon: u16,
    quotes: [u16; 2],
    closers: Vec<u16>,
    /// Of the closers those that only close.
    brackets: Vec<u16>,
    openers: Vec<u16>,
    thin: Vec<u16>,
    pieces: Vec<u16>,
    alike: Vec<Vec<u16>>,
    glue: Vec<u16>,
    pub(crate) opaque: Vec<u16>,
}

impl Kinds {
    pub(crate) fn new(language: LanguageId) -> Self {
        let token = |name: &str| language.kind_id(name, false).unwrap_or(SyntaxNode::GAP);
        let tokens = |names: &[&str]| names.iter().filter_map(|name| language.kind_id(name, false)).collect();
        let named = |names: &[String]| names.iter().filter_map(|name| language.kind_id(name, true)).collect();
        let scaffold = scaffold(language);
        Self {
            comma: token(","),
            semicolon: token(";"),
            quotes: [token("\""), token("'")],
            closers: tokens(&[")", "]", "}", ">", "|", "end"]),
            brackets: tokens(&[")", "]", "}"]),
            openers: tokens(&["(", "[", "{", "<", ",", "|"]),
            thin: named(&scaffold.thin),
            pieces: named(&scaffold.pieces),
            glue: scaffold.glue.iter().filter_map(|token| language.kind_id(token, false)).collect(),
            alike: scaffold.alike.iter().map(|group| named(group)).collect(),
            opaque: named(&scaffold.opaque),
        }
    }
}

impl Kinds {
    /// Whether two kinds are the same but for their quotes.
    fn same(&self, one: u16, other: u16) -> bool {
        one == other || self.alike.iter().any(|group| group.contains(&one) && group.contains(&other))
    }
}

/// A place to come back to.
struct Choice {
    pc: usize,
    /// From where what is chosen is taken, and how far it went.
    from: u32,
    to: u32,
    bound: usize,
    lists: usize,
}

/// What was done to the lists since a choice.
enum Undo {
    Entered,
    Left(u32),
}

/// What a candidate is tried with, kept for the next one.
#[derive(Default)]
struct Scratch {
    slots: Vec<Bound>,
    trail: Vec<u16>,
    /// The ends of the lists that are open.
    lists: Vec<u32>,
    undo: Vec<Undo>,
    choices: Vec<Choice>,
    failed: FxHashSet<(u32, u32)>,
}

/// Searches one file.
pub(crate) struct Machine<'a> {
    spare: Vec<Scratch>,
    pub(crate) kinds: &'a Kinds,
    pub(crate) syntax: &'a Syntax,
    pub(crate) text: &'a [u8],
    pub(crate) relaxed: bool,
    pub(crate) steps: u64,
    pub(crate) budget: u64,
}

/// Whether a choice that failed at a step fails there always.
fn memo(program: &Program, pc: usize, final_say: bool) -> bool {
    !final_say && !program.pending[pc] && !program.pending[pc + 1]
}

/// A candidate that matches so far.
pub(crate) struct Held<'b> {
    /// By slot.
    pub(crate) slots: &'b [Bound],
    /// The first node, and the index after the last.
    pub(crate) first: u32,
    pub(crate) after: u32,
}

impl<'a> Machine<'a> {
    pub(crate) fn new(kinds: &'a Kinds, syntax: &'a Syntax, text: &'a [u8], relaxed: bool) -> Self {
        let budget = STEPS + 64 * syntax.nodes.len() as u64;
        Self { spare: Vec::new(), kinds, syntax, text, relaxed, steps: 0, budget }
    }

    fn node(&self, at: u32) -> &'a SyntaxNode {
        &self.syntax.nodes[at as usize]
    }

    /// Whether a program can begin at a node at all.
    pub(crate) fn may_begin(&self, program: &Program, at: u32) -> bool {
        let node = self.node(at);
        match &program.ops[0].0 {
            Op::Enter { kind } | Op::Leaf { kind, .. } => self.kinds.same(node.kind, *kind),
            Op::Kind { kind } | Op::Prose { kind, .. } | Op::Token { kind, .. } => node.kind == *kind,
            _ => node.is_named() && !node.is_extra() && !self.kinds.pieces.contains(&node.kind),
        }
    }

    /// Tries a candidate that ends before `end` in its list; `given`: what is bound from the start. `accept` has the last
    /// word on every way in which it matches; `final_say` tells that it asks for what was bound.
    pub(crate) fn run(
        &mut self,
        program: &Program,
        first: u32,
        end: u32,
        given: &[Bound],
        final_say: bool,
        accept: &mut dyn FnMut(&mut Self, Held<'_>) -> Result<bool, FindError>,
    ) -> Result<bool, FindError> {
        let mut scratch = self.spare.pop().unwrap_or_default();
        let found = self.run_in(&mut scratch, program, (first, end), given, final_say, accept);
        self.spare.push(scratch);
        found
    }

    fn run_in(
        &mut self,
        scratch: &mut Scratch,
        program: &Program,
        (first, end): (u32, u32),
        given: &[Bound],
        final_say: bool,
        accept: &mut dyn FnMut(&mut Self, Held<'_>) -> Result<bool, FindError>,
    ) -> Result<bool, FindError> {
        let Scratch { slots, trail, lists, undo, choices, failed } = scratch;
        slots.clear();
        slots.extend_from_slice(given);
        trail.clear();
        lists.clear();
        lists.push(if program.run { end } else { self.node(first).next });
        undo.clear();
        choices.clear();
        failed.clear();
        let (mut pc, mut at) = (0usize, first);
        loop {
            self.steps += 1;
            if self.steps > self.budget {
                return Err(FindError::Budget { steps: self.budget });
            }
            let (op, loose) = &program.ops[pc];
            let list = *lists.last().expect("the outermost list is never left");
            let went = match op {
                Op::End => {
                    if accept(self, Held { slots, first, after: at })? {
                        return Ok(true);
                    }
                    None
                }
                Op::Kind { kind } => (self.node(at).kind == *kind).then(|| self.node(at).next),
                Op::Exit => self.exit(at, list, *loose).inspect(|_| {
                    undo.push(Undo::Left(list));
                    lists.pop();
                }),
                Op::Enter { kind } => {
                    self.settle_on(at, list, *loose, true).filter(|&at| self.kinds.same(self.node(at).kind, *kind)).map(|at| {
                        undo.push(Undo::Entered);
                        lists.push(self.node(at).next);
                        at + 1
                    })
                }
                Op::One { slot } => match self.settle_on(at, list, *loose, true).filter(|&at| self.is_one(at, *loose)) {
                    Some(found) => {
                        let next = self.node(found).next;
                        let pieces = next < list && self.kinds.pieces.contains(&self.node(next).kind);
                        if pieces {
                            choices.push(Choice { pc, from: found, to: next, bound: trail.len(), lists: undo.len() });
                        }
                        self.bind(slots, trail, *slot, (found, next)).then_some(next)
                    }
                    None => None,
                },
                Op::Many { .. } if memo(program, pc, final_say) && failed.contains(&(pc as u32, at)) => None,
                Op::Many { slot } => {
                    choices.push(Choice { pc, from: at, to: at, bound: trail.len(), lists: undo.len() });
                    self.bind(slots, trail, *slot, (at, at)).then_some(at)
                }
                Op::ManyIn { kind, slot } => {
                    let found = self.settle(at, list, *loose).filter(|&at| at < list && self.node(at).kind == *kind);
                    let (bound, next) = match found {
                        Some(found) => {
                            let next = self.node(found).next;
                            (self.trimmed(found + 1, next), next)
                        }
                        None => ((at, at), at),
                    };
                    self.bind(slots, trail, *slot, bound).then_some(next)
                }
                op => self.step(op, at, list, *loose),
            };
            if let Some(next) = went {
                at = next;
                pc += 1;
                continue;
            }
            // Back to the last choice that can go on.
            loop {
                let others = choices.len() > 1;
                let Some(choice) = choices.last_mut() else { return Ok(false) };
                for slot in trail.drain(choice.bound..) {
                    slots[slot as usize] = None;
                }
                for done in undo.drain(choice.lists..).rev() {
                    match done {
                        Undo::Entered => drop(lists.pop()),
                        Undo::Left(list) => lists.push(list),
                    }
                }
                let (op, loose) = &program.ops[choice.pc];
                let list = *lists.last().expect("the outermost list is never left");
                // Only an earlier choice can lead to the same place again.
                let memo = others && memo(program, choice.pc, final_say);
                if memo {
                    failed.insert((choice.pc as u32, choice.to));
                }
                self.steps += 1;
                let further = match op {
                    Op::One { .. } => {
                        (choice.to < list && self.kinds.pieces.contains(&self.node(choice.to).kind)).then_some(choice.to)
                    }
                    _ => self.settle(choice.to, list, *loose).filter(|&at| at < list && self.is_item(at, *loose)),
                };
                let Some(further) = further else {
                    choices.pop();
                    continue;
                };
                // A run begins at its first node.
                if choice.from == choice.to {
                    choice.from = further;
                }
                choice.to = self.node(further).next;
                let (Op::One { slot } | Op::Many { slot }) = op else { unreachable!("only these leave a choice") };
                let bound = (choice.from, choice.to);
                (pc, at) = (choice.pc + 1, choice.to);
                // From there on it was tried to the end.
                if memo && failed.contains(&(choice.pc as u32, choice.to)) {
                    choices.pop();
                    continue;
                }
                if self.bind(slots, trail, *slot, bound) {
                    break;
                }
            }
        }
    }

    /// A step without a choice and without a name.
    fn step(&self, op: &Op, at: u32, list: u32, loose: Loose) -> Option<u32> {
        let named = !matches!(op, Op::Token { .. } | Op::Quote | Op::Optional { .. } | Op::Gap { .. });
        if let Op::Optional { kind } = op {
            let found = self.settle(at, list, loose)?;
            return Some(if found < list && self.node(found).kind == *kind { self.node(found).next } else { at });
        }
        let mut found = self.settle_on(at, list, loose, named)?;
        if let Op::Token { kind, closes } = op {
            if *closes && self.is_separator(found) && *kind != self.node(found).kind {
                let next = self.settle(self.node(found).next, list, loose)?;
                if next < list && self.kinds.closers.contains(&self.node(next).kind) {
                    found = next;
                }
            }
            if self.relaxed {
                while found < list && self.node(found).kind != *kind && !self.node(found).is_named() {
                    found = self.settle(self.node(found).next, list, loose)?;
                }
            }
            if found >= list {
                return None;
            }
        }
        let node = self.node(found);
        let text = || &self.text[node.range()];
        let holds = match op {
            Op::Token { kind, .. } => node.kind == *kind,
            Op::Quote => self.kinds.quotes.contains(&node.kind),
            Op::Gap { text: wanted } => node.kind == SyntaxNode::GAP && text() == &**wanted,
            Op::Leaf { kind, text: wanted, quotes: false } => self.kinds.same(node.kind, *kind) && text() == &**wanted,
            Op::Leaf { kind, text: wanted, .. } => {
                let plain = |byte: u8| if byte == b'\'' { b'"' } else { byte };
                node.kind == *kind && text().iter().map(|&byte| plain(byte)).eq(wanted.iter().map(|&byte| plain(byte)))
            }
            Op::Prose { kind, text: wanted } => {
                let words = |text: &[u8]| {
                    text.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty()).map(<[u8]>::to_vec).collect::<Vec<_>>()
                };
                node.kind == *kind && words(text()) == words(wanted)
            }
            _ => unreachable!("taken by the caller"),
        };
        holds.then_some(node.next)
    }

    /// Past comments and what is loose. None: two commas in a row, or one at the start, stand for something left out.
    fn settle(&self, mut at: u32, list: u32, loose: Loose) -> Option<u32> {
        while at < list {
            let node = self.node(at);
            if node.is_extra() || node.start == node.end {
                at = node.next;
            } else if loose.comma && node.kind == self.kinds.comma {
                let before = self.node(at - 1);
                if !before.is_named() && self.kinds.openers.contains(&before.kind) {
                    return None;
                }
                at = node.next;
            } else if loose.semicolon && (node.kind == self.kinds.semicolon || self.kinds.glue.contains(&node.kind)) {
                at = node.next;
            } else {
                break;
            }
        }
        Some(at)
    }

    /// Onto a node; in a relaxed search past tokens to a named one.
    fn settle_on(&self, at: u32, list: u32, loose: Loose, named: bool) -> Option<u32> {
        let mut at = self.settle(at, list, loose)?;
        while self.relaxed && named && at < list && !self.node(at).is_named() {
            at = self.settle(self.node(at).next, list, loose)?;
        }
        (at < list).then_some(at)
    }

    /// Out of a list that has nothing more but one separator.
    fn exit(&self, at: u32, list: u32, loose: Loose) -> Option<u32> {
        let mut at = self.settle(at, list, loose)?;
        if at < list && self.is_separator(at) {
            at = self.settle(self.node(at).next, list, loose)?;
        }
        while self.relaxed && at < list && !self.node(at).is_named() {
            at = self.settle(self.node(at).next, list, loose)?;
        }
        (at == list).then_some(at)
    }

    fn is_separator(&self, at: u32) -> bool {
        [self.kinds.comma, self.kinds.semicolon].contains(&self.node(at).kind)
    }

    /// Whether a metavariable can stand for a node: what holds several things only by chance is as good as what it holds.
    fn is_one(&self, at: u32, loose: Loose) -> bool {
        let mut at = at;
        if loose.tokens {
            return self.is_item(at, loose);
        }
        loop {
            let node = self.node(at);
            if !node.is_named() || node.is_wrong() {
                return false;
            }
            if !self.kinds.thin.contains(&node.kind) {
                return true;
            }
            let (mut only, mut child) = (None, at + 1);
            while child < node.next {
                let inner = self.node(child);
                if inner.is_named() && !inner.is_extra() {
                    if only.is_some() {
                        return false;
                    }
                    only = Some(child);
                }
                child = inner.next;
            }
            match only {
                Some(only) => at = only,
                None => return true,
            }
        }
    }

    /// Whether a run can go on with a node.
    fn is_item(&self, at: u32, loose: Loose) -> bool {
        let node = self.node(at);
        let token = loose.tokens && !self.kinds.brackets.contains(&node.kind);
        (node.is_named() || token) && node.flags & SyntaxNode::ERROR == 0
    }

    /// Without separators and comments at the ends.
    fn trimmed(&self, from: u32, to: u32) -> (u32, u32) {
        let (mut first, mut last) = (None, from);
        let mut at = from;
        while at < to {
            let node = self.node(at);
            if node.is_named() && !node.is_extra() {
                first = first.or(Some(at));
                last = node.next;
            }
            at = node.next;
        }
        (first.unwrap_or(from), last)
    }

    /// Binds a slot, or compares with what it holds.
    fn bind(&mut self, slots: &mut [Bound], trail: &mut Vec<u16>, slot: Option<u16>, found: (u32, u32)) -> bool {
        let Some(slot) = slot else { return true };
        match slots[slot as usize] {
            Some(first) => self.same(first, found),
            None => {
                slots[slot as usize] = Some(found);
                trail.push(slot);
                true
            }
        }
    }

    /// Whether two ranges of nodes have the same tokens.
    pub(crate) fn same(&mut self, one: (u32, u32), other: (u32, u32)) -> bool {
        let (text, nodes) = (self.text, &self.syntax.nodes);
        let bytes = |(from, to): (u32, u32)| if from == to { &[][..] } else { &text[self.span((from, to))] };
        if bytes(one) == bytes(other) {
            return true;
        }
        let leaves = |(from, to): (u32, u32)| {
            let mut at = from as usize;
            std::iter::from_fn(move || {
                while at < to as usize {
                    let node = &nodes[at];
                    if node.is_extra() {
                        at = node.next as usize;
                        continue;
                    }
                    at += 1;
                    if node.next as usize == at && node.start < node.end {
                        return Some(&text[node.range()]);
                    }
                }
                None
            })
        };
        let mut steps = 0;
        let same = leaves(one).inspect(|_| steps += 1).eq(leaves(other));
        self.steps += steps;
        same
    }

    /// The bytes of a range of siblings.
    pub(crate) fn span(&self, (from, to): (u32, u32)) -> std::ops::Range<usize> {
        let start = self.node(from).start as usize;
        let (mut at, mut end) = (from, start);
        while at < to {
            let node = self.node(at);
            if !node.is_extra() || at == from {
                end = node.end as usize;
            }
            at = node.next;
        }
        // Some nodes hold the end of their line.
        start..start + self.text[start..end].trim_ascii_end().len()
    }

    /// The named nodes of a range of siblings.
    pub(crate) fn items(&self, (from, to): (u32, u32)) -> Vec<u32> {
        let mut items = Vec::new();
        let mut at = from;
        while at < to {
            let node = self.node(at);
            if node.is_named() && !node.is_extra() {
                items.push(at);
            }
            at = node.next;
        }
        items
    }
}
