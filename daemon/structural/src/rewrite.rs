//! The rewriting of one file, and the checks of what comes of it.

use std::ops::Range;

use ccd_grammars::{PARSE_LIMITS, Syntax, SyntaxNode};
use rustc_hash::FxHashSet;

use crate::{
    FindError, Match, Nested, RewriteError, Rewritten,
    around::{Around, Moved, unchanged},
    query::Query,
    render::{Edit, Edits, Marks, Page, Put, What},
    template::Template,
};

/// Pieces of work between two looks at the caller's flag.
const LOOK: usize = 256;

/// Warnings of one file.
const WARNINGS: usize = 20;

/// Something that was put in, in the new text.
#[derive(Debug)]
struct Placed {
    range: Range<usize>,
    put: Put,
}

/// Rewrites a file: searches the reading that is searched, and puts the template in the place of every match.
pub fn rewrite(
    query: &Query,
    template: &Template,
    nested: Nested,
    syntax: &Syntax,
    text: &str,
    cancelled: &dyn Fn() -> bool,
) -> Result<Rewritten, RewriteError> {
    let found = query.find(query.searched(), syntax, text.as_bytes(), cancelled)?.matches;
    if found.is_empty() {
        return Ok(Rewritten { text: text.to_owned(), ..Rewritten::default() });
    }
    let all = found.len();
    let marks = Marks::for_text(text).ok_or_else(|| RewriteError::SyntaxErrors {
        line: 1,
        what: "The file holds the noncharacters of Unicode and cannot be rewritten. Edit it by `edit`.".to_owned(),
    })?;
    let page = Page::new(text, syntax, marks);
    let work = Work { query, template, syntax, page: &page, cancelled };
    let edits = work.edits(nested, found)?;
    let mut sites: Vec<Match> = edits.values().flat_map(|edit| edit.sites.iter().cloned()).collect();
    sites.sort_by_key(|site| (site.range.start, site.range.end));
    check_around(syntax, text, &sites)?;
    let marked = apply(text, &edits, newline(text));
    let puts = page.puts.borrow();
    let attempt = |wrapped: &FxHashSet<usize>| -> Result<Attempt, RewriteError> {
        let (new, placed, moved) = unmark(&marked, marks, &puts, wrapped, &edits);
        let tree = Syntax::parse(query.language, new.as_bytes(), PARSE_LIMITS, cancelled)?;
        let (before, after) = (Around { syntax, text }, Around { syntax: &tree, text: &new });
        let parents = tree.parents();
        let mut broken = Vec::new();
        for (at, placed) in placed.iter().enumerate() {
            if at.is_multiple_of(LOOK) && cancelled() {
                return Err(FindError::Cancelled.into());
            }
            if !is_whole(&before, &after, &parents, placed, wrapped.contains(&at), template) {
                broken.push(at);
            }
        }
        let moved_wrong = if syntax.has_errors { None } else { unchanged(&before, &after, &moved).err() };
        Ok(Attempt { worse: wrong(&tree) > wrong(syntax), new, placed, tree, broken, moved_wrong })
    };
    let mut done = attempt(&FxHashSet::default())?;
    if !done.broken.is_empty() {
        // What came apart, or took something in, may hold together in parentheses; a run of several cannot.
        let single = |at: &usize| !matches!(done.placed[*at].put.what, What::Run(items) if items != 1);
        let wrapped: FxHashSet<usize> = done.broken.iter().copied().filter(single).collect();
        let again = attempt(&wrapped)?;
        if !again.worse && again.broken.is_empty() && again.moved_wrong.is_none() {
            done = again;
        }
    }
    if done.worse {
        return Err(syntax_error(query, &done.tree, &done.new, &done.placed));
    }
    if let Some(&at) = done.broken.first() {
        let placed = &done.placed[at];
        let line = line_of(text, placed.put.source.start);
        let what = if matches!(placed.put.what, What::Whole) {
            format!(
                "At line {line} the replacement would not hold together with the code around it, not even in parentheses. Change the rewrite, or narrow the pattern to leave this place out."
            )
        } else {
            format!(
                "At line {line} a capture would be torn apart, or mean something else, in the rewrite, and parentheses do not help. Change the rewrite."
            )
        };
        return Err(RewriteError::CaptureBrokenApart { line, what });
    }
    if let Some(at) = done.moved_wrong {
        let line = edits.values().nth(at).map_or(1, |edit| line_of(text, edit.range.start));
        let what = format!(
            "At line {line} the code around the match would mean something else: another statement, or another branch, would take its place. Put braces or a statement into the rewrite, or narrow the pattern to leave this place out."
        );
        return Err(RewriteError::CaptureBrokenApart { line, what });
    }
    let mut warnings = lost_comments(template, syntax, text, &sites);
    if let Ok(again) = query.find(query.searched(), &done.tree, done.new.as_bytes(), cancelled) {
        let outputs = done.placed.iter().filter(|placed| matches!(placed.put.what, What::Whole));
        let outputs: FxHashSet<(usize, usize)> = outputs.map(|placed| (placed.range.start, placed.range.end)).collect();
        if again.matches.iter().any(|found| outputs.contains(&(found.range.start, found.range.end))) {
            warnings.push("The result matches the pattern again: a second run would change it once more.".to_owned());
        }
    }
    warnings.truncate(WARNINGS);
    Ok(Rewritten { text: done.new, nested_skipped: all - sites.len(), sites, warnings })
}

/// What came of putting it all in.
struct Attempt {
    new: String,
    placed: Vec<Placed>,
    tree: Syntax,
    /// There are more errors than before.
    worse: bool,
    /// What is not one piece.
    broken: Vec<usize>,
    /// The edit around which the tree is another.
    moved_wrong: Option<usize>,
}

struct Work<'a> {
    query: &'a Query,
    template: &'a Template,
    syntax: &'a Syntax,
    page: &'a Page<'a>,
    cancelled: &'a dyn Fn() -> bool,
}

impl Work<'_> {
    fn edits(&self, nested: Nested, mut found: Vec<Match>) -> Result<Edits, RewriteError> {
        match nested {
            Nested::Outermost => found.sort_by_key(|found| (found.range.start, std::cmp::Reverse(found.range.end))),
            Nested::Recurse => found.sort_by_key(|found| (found.range.len(), found.range.start)),
        }
        let mut edits = Edits::new();
        for (at, found) in found.into_iter().enumerate() {
            if at.is_multiple_of(LOOK) && (self.cancelled)() {
                return Err(FindError::Cancelled.into());
            }
            let (start, end) = (found.range.start, found.range.end);
            let before = edits.range(..start).next_back().is_some_and(|(_, edit)| edit.range.end > start);
            let inside: Vec<usize> = edits.range(start..end).map(|(at, _)| *at).collect();
            match nested {
                // The outer of matches that overlap; of those that only share a part, the first.
                Nested::Outermost => {
                    if !before && inside.is_empty() {
                        self.add(&mut edits, found, Vec::new());
                    }
                }
                // The inner first; those around them take their results.
                Nested::Recurse => {
                    let cut = inside.last().is_some_and(|last| edits[last].range.end > end);
                    if !before && !cut {
                        self.add(&mut edits, found, inside);
                    }
                }
            }
        }
        Ok(edits)
    }

    /// Adds an edit, and takes those inside it in. What no capture of it holds is lost with its match.
    fn add(&self, edits: &mut Edits, found: Match, inside: Vec<usize>) {
        let mut edit = self.edit(&found, edits);
        let one = found.captures.iter().filter(|(name, _)| self.template.uses(name)).map(|(_, range)| range.clone());
        let run = found.multi.iter().filter(|(name, ..)| self.template.uses(name)).filter_map(|(_, span, _)| span.clone());
        let kept: Vec<Range<usize>> = one.chain(run).collect();
        for at in inside {
            let Some(inner) = edits.remove(&at) else { continue };
            if kept.iter().any(|kept| kept.start <= inner.range.start && inner.range.end <= kept.end) {
                edit.sites.extend(inner.sites);
            }
        }
        edit.sites.push(found);
        // A deletion may take more with it than its match, and so may the one before it.
        if let Some(other) = edits.remove(&edit.range.start) {
            edit.range.end = edit.range.end.max(other.range.end);
            edit.sites.extend(other.sites);
        }
        edits.insert(edit.range.start, edit);
    }

    /// What is done about one match.
    fn edit(&self, found: &Match, edits: &Edits) -> Edit {
        let text = self.page.text;
        let mut range = found.range.clone();
        if self.template.is_empty() {
            let range = deletion(self.syntax, text, range);
            return Edit { range, lines: vec![(String::new(), false)], sites: Vec::new() };
        }
        let separator = |at: usize| matches!(text.as_bytes()[at], b',' | b';');
        let ends = self.query.ends_in_separator() || self.template.ends_with(&[',', ';']);
        // A separator that neither the pattern nor the template has stays where it is.
        let last = found.captures.iter().any(|(name, capture)| capture.end == range.end && self.template.uses(name));
        if !ends && !last && range.len() > 1 && separator(range.end - 1) {
            range.end -= 1;
            range.end = range.start + text[range.clone()].trim_end().len();
        }
        let open = self.page.opened(What::Whole, range.clone());
        let mut lines = self.page.fill(self.template, found, edits);
        // One that the template has and that stands there already is not written twice.
        let next = text[range.end..].trim_start().as_bytes().first().copied();
        if let Some(end) = next.filter(|next| matches!(next, b',' | b';'))
            && !text[range.clone()].ends_with(char::from(end))
            && let Some((last, _)) = lines.last_mut()
            && last.trim_end().ends_with(char::from(end))
        {
            last.truncate(last.trim_end().len() - 1);
        }
        lines[0].0.insert_str(0, &open);
        lines.last_mut().expect("there is a first line").0.push(self.page.marks.close);
        Edit { range, lines, sites: Vec::new() }
    }
}

/// What goes with a match that is deleted: the rest of its statement, its line if it is alone on it, a comma of its list.
fn deletion(syntax: &Syntax, text: &str, range: Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let (mut start, mut end) = (range.start, range.end);
    let page = Around { syntax, text };
    let blanks_after = |end: usize| end + bytes[end..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    // The next thing that is no blank and no comment.
    let next = |mut at: usize| loop {
        at += bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        match page.at(at).find(|&node| syntax.nodes[node].is_extra()) {
            Some(comment) if syntax.nodes[comment].range().end > at => at = syntax.nodes[comment].range().end,
            _ => return at,
        }
    };
    // The node around it that holds only it and a semicolon.
    let ends = page.at(start).map(|at| syntax.nodes[at].range().end);
    let around = ends.filter(|&outer| outer > end && text[end..outer].trim() == ";").min();
    if let Some(around) = around {
        end = around;
    } else if bytes.get(next(end)) == Some(&b',') {
        end = blanks_after(next(end) + 1);
    } else if bytes.get(blanks_after(end)) == Some(&b';') && bytes[start..end].last() != Some(&b';') {
        end = blanks_after(end) + 1;
    } else {
        let before = text[..start].trim_end();
        if before.ends_with(',') && matches!(bytes.get(next(end)), Some(b')' | b']' | b'}' | b'>')) {
            start = before.len() - 1;
            return start..end;
        }
    }
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[end..].find('\n').map_or(text.len(), |at| end + at + 1);
    if text[line_start..start].trim().is_empty() {
        if text[end..line_end].trim().is_empty() {
            return line_start..line_end;
        }
        // What follows on the line begins where this began.
        end = blanks_after(end);
    } else if text[end..line_end].trim().is_empty() {
        start = line_start + text[line_start..start].trim_end().len();
    }
    start..end
}

/// No match is rewritten in an item that was not understood.
fn check_around(syntax: &Syntax, text: &str, sites: &[Match]) -> Result<(), RewriteError> {
    if !syntax.has_errors {
        return Ok(());
    }
    let nodes = &syntax.nodes;
    let mut at = 1;
    while at < nodes.len() {
        let next = nodes[at].next as usize;
        let range = nodes[at].range();
        let wrong = nodes[0].is_wrong() || nodes[at..next].iter().any(SyntaxNode::is_wrong);
        if let Some(site) = sites.iter().find(|site| wrong && site.range.start < range.end && range.start < site.range.end) {
            let line = line_of(text, site.range.start);
            let what = format!(
                "The code around line {line} has syntax errors, so a match in it may not be what it seems. Mend it first, or edit this place by `edit`."
            );
            return Err(RewriteError::SyntaxErrors { line, what });
        }
        at = next;
    }
    Ok(())
}

fn line_of(text: &str, at: usize) -> usize {
    text.as_bytes()[..at.min(text.len())].iter().filter(|&&byte| byte == b'\n').count() + 1
}

fn newline(text: &str) -> &'static str {
    let all = text.matches('\n').count();
    if text.matches("\r\n").count() * 2 > all { "\r\n" } else { "\n" }
}

fn apply(text: &str, edits: &Edits, newline: &str) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut from = 0;
    for edit in edits.values() {
        // Two deletions may both take the same separator.
        let start = edit.range.start.max(from);
        out.push_str(&text[from..start]);
        for (at, (line, in_string)) in edit.lines.iter().enumerate() {
            if at > 0 {
                out.push_str(if *in_string { "\n" } else { newline });
            }
            out.push_str(line);
        }
        from = edit.range.end.max(from);
    }
    out.push_str(&text[from..]);
    out
}

/// Takes the marks out; puts parentheses around those of these numbers. Tells what is where, and what became of every edit.
fn unmark(
    marked: &str,
    marks: Marks,
    puts: &[Put],
    wrapped: &FxHashSet<usize>,
    edits: &Edits,
) -> (String, Vec<Placed>, Vec<Moved>) {
    let mut out = String::with_capacity(marked.len());
    let mut placed: Vec<Placed> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut rest = marked;
    while let Some(at) = rest.find([marks.open, marks.close]) {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        if let Some(after) = rest.strip_prefix(marks.open) {
            let (number, after) = after.split_once(marks.numbered).expect("a mark has a number");
            rest = after;
            let number: usize = number.parse().expect("a mark has a number");
            placed.push(Placed { range: out.len()..out.len(), put: puts[number].clone() });
            open.push(placed.len() - 1);
            if wrapped.contains(&(placed.len() - 1)) {
                out.push('(');
            }
        } else {
            rest = &rest[marks.close.len_utf8()..];
            let at = open.pop().expect("marks come in pairs");
            if wrapped.contains(&at) {
                out.push(')');
            }
            placed[at].range.end = out.len();
        }
    }
    out.push_str(rest);
    let mut moved: Vec<Moved> = Vec::with_capacity(edits.len());
    let mut wholes = placed.iter().filter(|placed| matches!(placed.put.what, What::Whole)).peekable();
    let (mut before_end, mut after_end) = (0, 0);
    for edit in edits.values() {
        let start = edit.range.start.max(before_end);
        let new_start = start - before_end + after_end;
        // Those inside others begin later and end earlier.
        while wholes.peek().is_some_and(|whole| whole.range.start < new_start) {
            wholes.next();
        }
        let deleted = edit.lines.len() == 1 && edit.lines[0].0.is_empty();
        let new_end = if deleted { new_start } else { wholes.peek().map_or(new_start, |whole| whole.range.end) };
        before_end = edit.range.end.max(before_end);
        after_end = new_end;
        moved.push((start..before_end, new_start..new_end));
    }
    (out, placed, moved)
}

fn wrong(syntax: &Syntax) -> usize {
    if syntax.has_errors { syntax.nodes.iter().filter(|node| node.is_wrong()).count().max(1) } else { 0 }
}

fn syntax_error(query: &Query, tree: &Syntax, new: &str, placed: &[Placed]) -> RewriteError {
    let in_output = |node: &&SyntaxNode| {
        node.is_wrong()
            && placed.iter().any(|placed| {
                matches!(placed.put.what, What::Whole)
                    && node.range().start <= placed.range.end
                    && placed.range.start <= node.range().end
            })
    };
    let first = tree.nodes.iter().find(in_output).or_else(|| tree.nodes.iter().find(|node| node.is_wrong()));
    let line = line_of(new, first.map_or(0, |node| node.start as usize));
    let shown = new.lines().nth(line - 1).unwrap_or_default().trim();
    let shown: String = shown.chars().take(120).collect();
    let what =
        format!("The result would be no {} any more: line {line} would be `{shown}`. Change the rewrite.", query.language.name());
    RewriteError::SyntaxErrors { line, what }
}

/// Whether what was put in is one piece of the new tree: a node, or for what may be several siblings in a row.
fn is_whole(
    before: &Around<'_>,
    after: &Around<'_>,
    parents: &[u32],
    placed: &Placed,
    wrapped: bool,
    template: &Template,
) -> bool {
    let (tree, text) = (after.syntax, after.text);
    let inside = &text[placed.range.clone()];
    let start = placed.range.start + inside.len() - inside.trim_start().len();
    let end = placed.range.start + inside.trim_end().len();
    if start >= end {
        return true;
    }
    let loose = |character: char| character.is_whitespace() || matches!(character, ',' | ';');
    let inner = (start + text[start..end].trim_end_matches(loose).len()).min(end);
    let outer = end + text[end..].len() - text[end..].trim_start_matches(loose).len();
    let fits = |node: &SyntaxNode| (inner..=outer).contains(&(node.end as usize));
    let nodes = &tree.nodes;
    // Text between tags begins with its blanks.
    let starts = [start, placed.range.start];
    let starts = if starts[0] == starts[1] { &starts[..1] } else { &starts[..] };
    let exact: Vec<usize> = starts.iter().flat_map(|&start| after.at(start)).filter(|&at| at > 0 && fits(&nodes[at])).collect();
    let row = || starts.iter().any(|&start| is_row(after, parents, start, inner..=outer));
    // The grammar takes braces after an arrow for an object; JavaScript does not.
    let kind = |at: usize| tree.language.kind_name(nodes[at].kind);
    if !wrapped && exact.iter().any(|&at| kind(at) == "object" && kind(parents[at] as usize) == "arrow_function") {
        return false;
    }
    // Nor does it take these for expressions where a statement begins.
    let begins = after.at(start).any(|at| kind(at) == "expression_statement");
    let bare = |at: &usize| ["function_expression", "class", "object"].contains(&kind(*at));
    let began = before
        .at(placed.put.source.start)
        .any(|at| tree.language.kind_name(before.syntax.nodes[at].kind) == "expression_statement");
    if !wrapped && begins && !began && exact.iter().any(bare) {
        return false;
    }
    match placed.put.what {
        What::One if wrapped => !exact.is_empty(),
        What::One => {
            let source = before
                .at(placed.put.source.start)
                .filter(|&at| before.extent(&before.syntax.nodes[at]).end == placed.put.source.end);
            let old: Vec<&SyntaxNode> = source.map(|at| &before.syntax.nodes[at]).collect();
            let new = exact.iter().map(|&at| &nodes[at]);
            // A keyword of one statement is no expression of another.
            let named = new.clone().any(SyntaxNode::is_named) || !old.iter().any(|node| node.is_named());
            named
                && (!exact.is_empty() || is_row(after, parents, start, inner..=outer))
                && means_the_same(tree, &old, new.collect())
        }
        What::Whole if !exact.is_empty() => true,
        What::Whole => !template.is_one && row(),
        What::Run(_) => !exact.is_empty() || row(),
    }
}

/// Whether siblings in a row are exactly this.
fn is_row(page: &Around<'_>, parents: &[u32], start: usize, ends: std::ops::RangeInclusive<usize>) -> bool {
    let nodes = &page.syntax.nodes;
    page.at(start).any(|first| {
        let parent = nodes[parents[first] as usize].next as usize;
        let mut at = first;
        while first > 0 && at < parent {
            let end = nodes[at].end as usize;
            if ends.contains(&end) {
                return true;
            }
            if end > *ends.end() {
                return false;
            }
            at = nodes[at].next as usize;
        }
        false
    })
}

/// Whether an expression is still one: an object may have become a block, a function a declaration.
fn means_the_same(tree: &Syntax, old: &[&SyntaxNode], new: Vec<&SyntaxNode>) -> bool {
    let is_leaf = |node: &&SyntaxNode| node.start == node.end || !node.is_named();
    let shared = new.iter().any(|new| new.is_named() && old.iter().any(|old| old.kind == new.kind));
    // A keyword that was an expression by itself, and is a name now.
    if !shared && old.len() > 1 && old.iter().any(|node| !node.is_named()) {
        return false;
    }
    if shared || old.iter().all(is_leaf) || new.is_empty() {
        return true;
    }
    let is_statement = |node: &&SyntaxNode| {
        let kind = tree.language.kind_name(node.kind);
        ["block", "declaration", "statement"].iter().any(|word| kind.contains(word)) && kind != "expression_statement"
    };
    !new.iter().any(is_statement) || old.iter().any(is_statement)
}

/// Comments in what is replaced that no capture carries over.
fn lost_comments(template: &Template, syntax: &Syntax, text: &str, sites: &[Match]) -> Vec<String> {
    let mut warnings = Vec::new();
    let comments = syntax.nodes.iter().filter(|node| node.is_extra() && syntax.language.kind_name(node.kind).contains("comment"));
    for comment in comments {
        let range = comment.range();
        let within = |outer: &Range<usize>| outer.start <= range.start && range.end <= outer.end;
        let at = sites.partition_point(|site| site.range.start <= range.start);
        let Some(site) = sites[..at].iter().rev().take(64).find(|site| within(&site.range)) else { continue };
        let kept = site.captures.iter().any(|(name, range)| template.uses(name) && within(range))
            || site.multi.iter().any(|(name, span, _)| template.uses(name) && span.as_ref().is_some_and(within));
        if !kept && warnings.len() < WARNINGS {
            warnings.push(format!("A comment at line {} is lost.", line_of(text, range.start)));
        }
    }
    warnings
}
