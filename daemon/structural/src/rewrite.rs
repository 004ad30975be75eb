//! The rewriting of one file, and the checks of what comes of it.

use std::ops::Range;

use ccd_grammars::{PARSE_LIMITS, Syntax, SyntaxNode};
use rustc_hash::FxHashSet;

use crate::{
    Match, Nested, RewriteError, Rewritten,
    query::Query,
    render::{Edit, Marks, Page},
    template::Template,
};

/// Warnings of one file.
const WARNINGS: usize = 20;

/// A capture or a replacement in the new text.
#[derive(Debug)]
struct Placed {
    range: Range<usize>,
    whole: bool,
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
    let (sites, edits) = {
        let marks = Marks::for_texts(&[text]).ok_or_else(|| RewriteError::SyntaxErrors {
            line: 1,
            what: "The file holds every noncharacter of Unicode and cannot be rewritten. Edit it by `edit`.".to_owned(),
        })?;
        let page = Page::new(text, syntax, marks);
        match nested {
            Nested::Outermost => outermost(query, template, syntax, &page, found),
            Nested::Recurse => recurse(query, template, syntax, &page, found),
        }
    };
    check_around(syntax, text, &sites)?;
    let marks = Marks::for_texts(&[text]).expect("checked above");
    let newline = newline(text);
    let marked = apply(text, &edits, newline, marks);
    let (mut new, mut placed) = unmark(&marked, marks, &FxHashSet::default());
    let mut tree = parse(query, &new, cancelled)?;
    let broken: FxHashSet<usize> = (0..placed.len()).filter(|&at| !is_whole(&tree, &new, &placed[at])).collect();
    if !broken.is_empty() || (tree.has_errors && !syntax.has_errors) {
        // What came apart, or took something in, may hold together in parentheses.
        let again = unmark(&marked, marks, &broken);
        let again_tree = if broken.is_empty() { None } else { parse(query, &again.0, cancelled).ok() };
        match again_tree.filter(|tree| !worse(syntax, tree)) {
            Some(parenthesised) => (new, placed, tree) = (again.0, again.1, parenthesised),
            None if worse(syntax, &tree) => {}
            None => return Err(apart(text, &sites, &edits, &placed, &broken)),
        }
    }
    if worse(syntax, &tree) {
        return Err(syntax_error(query, &tree, &new, &placed));
    }
    let broken: FxHashSet<usize> = (0..placed.len()).filter(|&at| !is_whole(&tree, &new, &placed[at])).collect();
    if !broken.is_empty() {
        return Err(apart(text, &sites, &edits, &placed, &broken));
    }
    let mut warnings = lost_comments(template, syntax, text, &sites);
    if let Ok(again) = query.find(query.searched(), &tree, new.as_bytes(), cancelled) {
        let outputs: FxHashSet<(usize, usize)> =
            placed.iter().filter(|placed| placed.whole).map(|placed| (placed.range.start, placed.range.end)).collect();
        if again.matches.iter().any(|found| outputs.contains(&(found.range.start, found.range.end))) {
            warnings.push("The result matches the pattern again: a second run would change it once more.".to_owned());
        }
    }
    warnings.truncate(WARNINGS);
    Ok(Rewritten { text: new, nested_skipped: all - sites.len(), sites, warnings })
}

/// The outer of matches that overlap; of those that only share a part, the first.
fn outermost(
    query: &Query,
    template: &Template,
    syntax: &Syntax,
    page: &Page<'_>,
    mut found: Vec<Match>,
) -> (Vec<Match>, Vec<Edit>) {
    found.sort_by_key(|found| (found.range.start, std::cmp::Reverse(found.range.end)));
    let (mut sites, mut edits): (Vec<Match>, Vec<Edit>) = (Vec::new(), Vec::new());
    let mut end = 0;
    for found in found {
        if !sites.is_empty() && found.range.start < end {
            continue;
        }
        end = found.range.end;
        edits.push(edit(query, template, syntax, page, &found, &[]));
        sites.push(found);
    }
    (sites, edits)
}

/// The inner first; those around them take their results. A match that no capture of the one around it holds is lost with it.
fn recurse(
    query: &Query,
    template: &Template,
    syntax: &Syntax,
    page: &Page<'_>,
    mut found: Vec<Match>,
) -> (Vec<Match>, Vec<Edit>) {
    found.sort_by_key(|found| (found.range.len(), found.range.start));
    let (mut sites, mut edits): (Vec<Match>, Vec<Edit>) = (Vec::new(), Vec::new());
    for found in found {
        let overlaps = |range: &Range<usize>| range.start < found.range.end && found.range.start < range.end;
        let inside = |range: &Range<usize>| found.range.start <= range.start && range.end <= found.range.end;
        if edits.iter().any(|edit| overlaps(&edit.range) && !inside(&edit.range)) {
            continue;
        }
        let new = edit(query, template, syntax, page, &found, &edits);
        let spans = found.captures.iter().filter(|(name, _)| template.uses(name)).map(|(_, range)| range.clone());
        let runs = found.multi.iter().filter(|(name, ..)| template.uses(name)).filter_map(|(_, span, _)| span.clone());
        let kept: Vec<Range<usize>> = spans.chain(runs).collect();
        sites.retain(|site: &Match| {
            !inside(&site.range) || kept.iter().any(|kept| kept.start <= site.range.start && site.range.end <= kept.end)
        });
        edits.retain(|edit| !inside(&edit.range));
        let at = edits.partition_point(|edit| edit.range.start < new.range.start);
        edits.insert(at, new);
        sites.push(found);
    }
    sites.sort_by_key(|site| (site.range.start, site.range.end));
    (sites, edits)
}

/// What is done about one match.
fn edit(query: &Query, template: &Template, syntax: &Syntax, page: &Page<'_>, found: &Match, edits: &[Edit]) -> Edit {
    let text = page.text;
    let mut range = found.range.clone();
    if template.is_empty() {
        return Edit { range: deletion(syntax, text, range), lines: vec![(String::new(), false)] };
    }
    let separator = |at: usize| matches!(text.as_bytes()[at], b',' | b';');
    // A separator that neither the pattern nor the template has stays where it is.
    if !query.ends_in_separator() && !template.ends_with(&[',', ';']) && range.len() > 1 && separator(range.end - 1) {
        range.end -= 1;
        range.end = range.start + text[range.clone()].trim_end().len();
    }
    let mut lines = page.fill(template, found, edits);
    // One that the template has and that stands there already is not written twice.
    let next = text[range.end..].trim_start().as_bytes().first().copied();
    if let Some(end) = next.filter(|next| matches!(next, b',' | b';'))
        && !text[range.clone()].ends_with(char::from(end))
        && let Some((last, _)) = lines.last_mut()
        && last.trim_end().ends_with(char::from(end))
    {
        last.truncate(last.trim_end().len() - 1);
    }
    let [open, close] = page.marks.whole;
    lines[0].0.insert(0, open);
    lines.last_mut().expect("there is a first line").0.push(close);
    Edit { range, lines }
}

/// What goes with a match that is deleted: the rest of its statement, its line if it is alone on it, a comma of its list.
fn deletion(syntax: &Syntax, text: &str, range: Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let (mut start, mut end) = (range.start, range.end);
    let blanks_after = |end: usize| end + bytes[end..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    // The node around it that holds only it and a semicolon.
    let around = syntax.nodes.iter().find(|node| {
        let outer = node.range();
        outer.start == start && outer.end > end && text[end..outer.end].trim() == ";"
    });
    if let Some(around) = around {
        end = around.range().end;
    } else if bytes.get(blanks_after(end)) == Some(&b',') {
        end = blanks_after(blanks_after(end) + 1);
    } else if bytes.get(blanks_after(end)) == Some(&b';') && bytes[start..end].last() != Some(&b';') {
        end = blanks_after(end) + 1;
    } else {
        let before = text[..start].trim_end();
        if before.ends_with(',') && matches!(bytes.get(blanks_after(end)), Some(b')' | b']' | b'}' | b'>')) {
            start = before.len() - 1;
            return start..end;
        }
    }
    let line_start = text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line_end = text[end..].find('\n').map_or(text.len(), |at| end + at + 1);
    if text[line_start..start].trim().is_empty() && text[end..line_end].trim().is_empty() {
        return line_start..line_end;
    }
    if text[end..line_end].trim().is_empty() {
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

fn apply(text: &str, edits: &[Edit], newline: &str, _: Marks) -> String {
    let mut out = String::with_capacity(text.len() + 64);
    let mut from = 0;
    for edit in edits {
        out.push_str(&text[from..edit.range.start]);
        for (at, (line, _)) in edit.lines.iter().enumerate() {
            if at > 0 {
                out.push_str(newline);
            }
            out.push_str(line);
        }
        from = edit.range.end;
    }
    out.push_str(&text[from..]);
    out
}

/// Takes the marks out; puts parentheses around those of these numbers.
fn unmark(marked: &str, marks: Marks, wrapped: &FxHashSet<usize>) -> (String, Vec<Placed>) {
    let mut out = String::with_capacity(marked.len());
    let mut placed: Vec<Placed> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    for character in marked.chars() {
        let (opens, closes) =
            ([marks.capture[0], marks.whole[0]].contains(&character), [marks.capture[1], marks.whole[1]].contains(&character));
        if opens {
            let start = out.len();
            placed.push(Placed { range: start..start, whole: character == marks.whole[0] });
            open.push(placed.len() - 1);
            if wrapped.contains(&(placed.len() - 1)) {
                out.push('(');
            }
        } else if closes {
            let at = open.pop().expect("marks come in pairs");
            if wrapped.contains(&at) {
                out.push(')');
            }
            placed[at].range.end = out.len();
        } else {
            out.push(character);
        }
    }
    (out, placed)
}

fn parse(query: &Query, text: &str, cancelled: &dyn Fn() -> bool) -> Result<Syntax, RewriteError> {
    Ok(Syntax::parse(query.language, text.as_bytes(), PARSE_LIMITS, cancelled)?)
}

fn wrong(syntax: &Syntax) -> usize {
    if syntax.has_errors { syntax.nodes.iter().filter(|node| node.is_wrong()).count().max(1) } else { 0 }
}

fn worse(old: &Syntax, new: &Syntax) -> bool {
    wrong(new) > wrong(old)
}

fn syntax_error(query: &Query, tree: &Syntax, new: &str, placed: &[Placed]) -> RewriteError {
    let in_output = |node: &&SyntaxNode| {
        node.is_wrong()
            && placed
                .iter()
                .any(|placed| placed.whole && node.range().start <= placed.range.end && placed.range.start <= node.range().end)
    };
    let first = tree.nodes.iter().find(in_output).or_else(|| tree.nodes.iter().find(|node| node.is_wrong()));
    let line = line_of(new, first.map_or(0, |node| node.start as usize));
    let shown = new.lines().nth(line - 1).unwrap_or_default().trim();
    let shown: String = shown.chars().take(120).collect();
    let what =
        format!("The result would be no {} any more: line {line} would be `{shown}`. Change the rewrite.", query.language.name());
    RewriteError::SyntaxErrors { line, what }
}

/// Whether what was put in is one piece of the new tree: a node, or for a replacement siblings in a row.
fn is_whole(tree: &Syntax, text: &str, placed: &Placed) -> bool {
    let bytes = text.as_bytes();
    let range = placed.range.start..placed.range.start + text[placed.range.clone()].trim_end().len();
    if range.is_empty() {
        return true;
    }
    let lead = text[range.clone()].len() - text[range.clone()].trim_start().len();
    let (start, end) = (range.start + lead, range.end);
    let inner = text[start..end].trim_end_matches([',', ';', ' ', '\t', '\r', '\n']).len() + start;
    let outer = end + bytes[end..].iter().take_while(|byte| byte.is_ascii_whitespace() || matches!(byte, b',' | b';')).count();
    let fits = |at: usize| (inner.min(end)..=outer).contains(&at);
    // Down to the deepest node around it.
    let nodes = &tree.nodes;
    let mut at = 0;
    loop {
        let node = &nodes[at];
        if node.start as usize == start && fits(node.end as usize) {
            return true;
        }
        let (mut child, mut into, mut first, mut last) = (at + 1, None, false, false);
        let mut extras_only = true;
        while child < node.next as usize {
            let range = nodes[child].range();
            if range.start <= start && end <= range.end {
                into = Some(child);
            }
            if range.start < range.end && range.start >= start && range.end <= outer {
                first |= range.start == start;
                last |= fits(range.end);
                extras_only &= nodes[child].is_extra();
            }
            child = nodes[child].next as usize;
        }
        match into {
            Some(child) => at = child,
            // Siblings in a row: statements, arguments, the pieces of a chain.
            None => return first && last && !extras_only && (placed.whole || has_pieces(tree)),
        }
    }
}

fn has_pieces(tree: &Syntax) -> bool {
    !ccd_grammars::scaffold(tree.language).pieces.is_empty()
}

fn apart(text: &str, sites: &[Match], edits: &[Edit], placed: &[Placed], broken: &FxHashSet<usize>) -> RewriteError {
    let first = broken.iter().min().copied().unwrap_or(0);
    // Replacements are marked in order, one for each edit that is no deletion; those inside others count for the outer.
    let outer = placed[..=first].iter().filter(|placed| placed.whole).count().max(1) - 1;
    let at = edits.get(outer.min(edits.len() - 1)).map_or(sites[0].range.start, |edit| edit.range.start);
    let line = line_of(text, at);
    let what = if placed[first].whole {
        format!(
            "At line {line} the replacement would not hold together with the code around it, not even in parentheses. Change the rewrite, or narrow the pattern to leave this place out."
        )
    } else {
        format!(
            "At line {line} a capture would be torn apart by the code around it in the rewrite, and parentheses do not help. Change the rewrite."
        )
    };
    RewriteError::CaptureBrokenApart { line, what }
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
