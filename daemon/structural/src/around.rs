//! What a rewrite leaves alone: the tree around the replacements must be what it was.
//!
//! A text can parse without an error and mean something else: an `else` that goes to another `if`, a loop that takes the
//! next statement for its body, a line that joins the one before it.

use std::ops::Range;

use ccd_grammars::{Syntax, SyntaxNode, scaffold};

/// A replaced stretch, before and after.
pub(crate) type Moved = (Range<usize>, Range<usize>);

/// A tree and its text.
pub(crate) struct Around<'a> {
    pub(crate) syntax: &'a Syntax,
    pub(crate) text: &'a str,
}

impl Around<'_> {
    /// The extent of a node without blanks around it and separators at its end.
    pub(crate) fn extent(&self, node: &SyntaxNode) -> Range<usize> {
        let range = node.range();
        let text = &self.text[range.clone()];
        let start = range.start + text.len() - text.trim_start().len();
        start..range.start + text.trim_end_matches(is_loose).len().max(start - range.start)
    }

    /// Past blanks, and comments.
    fn past_comments(&self, mut at: usize) -> usize {
        loop {
            at += self.text[at..].len() - self.text[at..].trim_start().len();
            let comment = self.at(at).find(|&node| self.syntax.nodes[node].is_extra());
            match comment.map(|node| self.syntax.nodes[node].range().end) {
                Some(end) if end > at => at = end,
                _ => return at,
            }
        }
    }

    /// The nodes that begin at a byte, the outermost first.
    pub(crate) fn at(&self, start: usize) -> impl Iterator<Item = usize> {
        let nodes = &self.syntax.nodes;
        let first = nodes.partition_point(|node| (node.start as usize) < start);
        (first..nodes.len()).take_while(move |&at| nodes[at].start as usize == start)
    }

    fn children(&self, parent: usize) -> Vec<Range<usize>> {
        let nodes = &self.syntax.nodes;
        let (mut found, mut at) = (Vec::new(), parent + 1);
        while at < nodes[parent].next as usize {
            let extent = self.extent(&nodes[at]);
            if !extent.is_empty() && !nodes[at].is_extra() {
                found.push(extent);
            }
            at = nodes[at].next as usize;
        }
        found
    }
}

fn is_loose(character: char) -> bool {
    character.is_whitespace() || matches!(character, ',' | ';')
}

/// Checks that every node of the old tree that holds a replacement has a counterpart with the same other children; gives the
/// number of a replacement where that is not so. `moved` is in order.
pub(crate) fn unchanged(old: &Around<'_>, new: &Around<'_>, moved: &[Moved]) -> Result<(), usize> {
    let nodes = &old.syntax.nodes;
    let mut at = 0;
    while at < nodes.len() {
        let node = &nodes[at];
        let extent = old.extent(node);
        let first = moved.partition_point(|(before, _)| before.end <= extent.start);
        let touching = moved[first..].iter().take_while(|(before, _)| before.start < extent.end).count();
        if touching == 0 {
            at = node.next as usize;
            continue;
        }
        let (before, after) = &moved[first];
        if before.start <= extent.start && extent.end <= before.end {
            // A block that is made by its indentation cannot be empty.
            let thin = &scaffold(old.syntax.language).thin;
            if after.is_empty() && node.field > 0 && thin.iter().any(|kind| kind == old.syntax.language.kind_name(node.kind)) {
                return Err(first);
            }
            at = node.next as usize;
            continue;
        }
        let only = touching == 1
            && old.text[extent.start..before.start.max(extent.start)].trim_matches(is_loose).is_empty()
            && old.text[before.end.min(extent.end)..extent.end].trim_matches(is_loose).is_empty();
        if !only && !has_counterpart(old, new, at, &moved[first..first + touching], moved) {
            return Err(first);
        }
        at += 1;
    }
    Ok(())
}

fn has_counterpart(old: &Around<'_>, new: &Around<'_>, at: usize, touching: &[Moved], moved: &[Moved]) -> bool {
    let node = &old.syntax.nodes[at];
    let extent = old.extent(node);
    let place = |extent: &Range<usize>| {
        let first = touching.iter().find(|(before, _)| before.end >= extent.start);
        let start = carried(extent.start, moved);
        let start = match first {
            // What follows on what was deleted may be a comment, which belongs to no node.
            Some((before, after)) if after.is_empty() && before.start <= extent.start => new.past_comments(start),
            _ => start + new.text[start..].len() - new.text[start..].trim_start().len(),
        };
        let end = carried(extent.end, moved).max(start);
        start..start + new.text[start..end].trim_end_matches(is_loose).len()
    };
    let Range { start, end } = place(&extent);
    // Both are in order.
    let touched = |child: &Range<usize>, side: fn(&Moved) -> &Range<usize>| {
        let next = touching.partition_point(|moved| side(moved).end <= child.start);
        touching.get(next).is_some_and(|moved| side(moved).start < child.end)
    };
    let (on_the_way, others): (Vec<_>, Vec<_>) = old.children(at).into_iter().partition(|child| touched(child, |moved| &moved.0));
    let others: Vec<Range<usize>> = others.iter().map(place).collect();
    // A part of each is still there, perhaps beside the stretch and not in it.
    let on_the_way: Vec<Range<usize>> = on_the_way.iter().map(place).collect();
    let is_counterpart = |candidate: usize| {
        let found = &new.syntax.nodes[candidate];
        if found.kind != node.kind || (at > 0 && new.extent(found).end != end) {
            return false;
        }
        let children = new.children(candidate).into_iter();
        let is_on_the_way = |child: &Range<usize>| {
            let first = on_the_way.partition_point(|other| other.start < child.start);
            on_the_way[first..].iter().take_while(|other| other.start == child.start).any(|other| other == child)
        };
        let left = children.filter(|child| !is_on_the_way(child) && !touched(child, |moved| &moved.1));
        left.eq(others.iter().cloned())
    };
    if at == 0 {
        return is_counterpart(0);
    }
    // What was wrapped around one thing is gone with the rest: a definition without its decorator.
    let collapsed = || {
        let [other] = &others[..] else { return false };
        touching.iter().all(|(_, after)| after.is_empty())
            && new.at(other.start).any(|at| new.extent(&new.syntax.nodes[at]) == *other)
    };
    new.at(start).any(is_counterpart) || collapsed()
}

/// Where a place of the old text is in the new one; the end of a replacement for one inside it: what a node has there beside
/// what is replaced are blanks and separators.
fn carried(place: usize, moved: &[Moved]) -> usize {
    let next = moved.partition_point(|(before, _)| before.end < place);
    match moved.get(next) {
        Some((before, after)) if before.start < place => after.end,
        _ => match moved[..next].last() {
            Some((before, after)) => place - before.end + after.end,
            None => place,
        },
    }
}
