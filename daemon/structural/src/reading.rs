//! How a fragment of code is read: it is put into the scaffolds of its language and parsed as a file.

use std::ops::Range;

use ccd_grammars::{LanguageId, PARSE_LIMITS, Rung, Scaffold, Syntax, SyntaxNode, scaffold};

use crate::meta::{Kind, Meta, scan};

/// Other spellings are tried for this many metavariables.
const RESPELLED: usize = 16;

/// Where a metavariable stands in a file, and its index in [`Source::metas`].
pub(crate) type Hole = (Range<usize>, usize);

/// The text of a pattern and its metavariables.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) language: LanguageId,
    pub(crate) text: String,
    pub(crate) metas: Vec<Meta>,
    pub(crate) hints: Vec<String>,
    placeholder: String,
}

/// A fragment that was read.
#[derive(Debug)]
pub(crate) struct Fragment {
    pub(crate) syntax: Syntax,
    pub(crate) text: String,
    /// The node that the fragment is, or the siblings.
    pub(crate) roots: Vec<usize>,
    /// The fragment in the text.
    pub(crate) span: Range<usize>,
    pub(crate) holes: Vec<Hole>,
    /// Metavariables that are literal text here: they stand in strings or comments.
    pub(crate) literal: Vec<usize>,
    /// Lawful, and seldom meant: a keyword stands for the name of a member, or a terminator was put after a block.
    pub(crate) odd: bool,
}

/// A fragment that cannot be read so.
#[derive(Debug)]
pub(crate) struct Refusal {
    pub(crate) reason: String,
    /// In the pattern.
    pub(crate) at: Option<usize>,
    /// Nodes that are wrong; the fewer, the nearer it was.
    wrong: usize,
    pub(crate) tree: Option<Box<(Syntax, String, Range<usize>)>>,
}

impl Refusal {
    pub(crate) fn is_nearer_than(&self, other: &Self) -> bool {
        self.wrong < other.wrong
    }
}

/// How a metavariable is spelled.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spelling {
    Plain,
    /// An index into the holes of the scaffold.
    Hole(usize),
    /// Between the tags of JSX.
    Prose,
    /// As it was written.
    Literal,
}

impl Source {
    pub(crate) fn new(language: LanguageId, text: &str) -> Self {
        let scaffold = scaffold(language);
        let text = dedent(text);
        let (metas, hints) = scan(&text, scaffold.dollar);
        // Never a name that the pattern itself holds.
        let mut placeholder = scaffold.placeholder.clone();
        while text.contains(&placeholder) {
            placeholder.push('q');
        }
        Self { language, text, metas, hints, placeholder }
    }

    /// Reads it by one rung: as typed, then with the terminator after it, then with other spellings of metavariables.
    pub(crate) fn read(&self, rung: &Rung) -> Result<Fragment, Refusal> {
        let plain = vec![Spelling::Plain; self.metas.len()];
        let respell = !self.metas.is_empty() && self.metas.len() <= RESPELLED;
        let mut ways = vec![("", false)];
        if let Some(end) = rung.terminator.as_deref() {
            ways.push((end, false));
        }
        if respell {
            ways.extend(ways.clone().into_iter().map(|(end, _)| (end, true)));
            // Nothing is lacking after a block, as a rule, nor after what may be a statement.
            if self.text.ends_with('}') || self.metas.last().is_some_and(|meta| meta.at.end == self.text.len()) {
                ways.sort_by_key(|(end, _)| !end.is_empty());
            }
        }
        let mut first = None;
        for (end, respelled) in ways {
            let read = if respelled { self.respelled(rung, end) } else { self.attempt(rung, end, &plain) };
            match read {
                Ok(fragment) => return Ok(fragment),
                Err(refusal) => first = first.or(Some(refusal)),
            }
        }
        Err(first.expect("there is at least the way as typed"))
    }

    /// Reads it as a whole file.
    pub(crate) fn read_file(&self, rung: &Rung) -> Result<Fragment, Refusal> {
        match self.read(rung) {
            // A file is no pattern, and need not be one.
            Err(refusal) if refusal.wrong == 1 && refusal.tree.is_some() => self.whole(rung).ok_or(refusal),
            other => other,
        }
    }

    fn whole(&self, rung: &Rung) -> Option<Fragment> {
        let mut spellings = vec![Spelling::Plain; self.metas.len()];
        loop {
            let (text, span, holes) = self.spell(rung, "", &spellings);
            let syntax = Syntax::parse(self.language, text.as_bytes(), PARSE_LIMITS, &|| false).ok()?;
            let place = |(hole, meta): &Hole| Some((*meta, spelling_at(&syntax, hole, spellings[*meta])?));
            let inert: Vec<(usize, Spelling)> = holes.iter().filter_map(place).collect();
            for (meta, spelling) in &inert {
                spellings[*meta] = *spelling;
            }
            if inert.is_empty() {
                let literal = (0..spellings.len()).filter(|&at| spellings[at] == Spelling::Literal).collect();
                let whole = holes.iter().all(|(hole, _)| exact(&syntax, &text, hole).is_some());
                return (whole && !syntax.has_errors).then_some(Fragment {
                    syntax,
                    text,
                    roots: vec![0],
                    span,
                    holes,
                    literal,
                    odd: false,
                });
            }
        }
    }

    /// Changes the spelling of one metavariable after the other as long as that leaves fewer errors.
    fn respelled(&self, rung: &Rung, end: &str) -> Result<Fragment, Refusal> {
        let holes = scaffold(self.language).holes.len();
        let mut spellings = vec![Spelling::Plain; self.metas.len()];
        let mut least = match self.attempt(rung, end, &spellings) {
            Ok(fragment) => return Ok(fragment),
            Err(refusal) => refusal,
        };
        for at in 0..spellings.len() {
            let mut best = Spelling::Plain;
            for hole in 0..holes {
                spellings[at] = Spelling::Hole(hole);
                match self.attempt(rung, end, &spellings) {
                    Ok(fragment) => return Ok(fragment),
                    Err(refusal) if refusal.wrong < least.wrong => (least, best) = (refusal, Spelling::Hole(hole)),
                    Err(_) => {}
                }
            }
            spellings[at] = best;
        }
        Err(least)
    }

    /// Takes what stands in strings and comments literally, which is known only after a parse.
    fn attempt(&self, rung: &Rung, end: &str, spellings: &[Spelling]) -> Result<Fragment, Refusal> {
        let mut spellings = spellings.to_vec();
        loop {
            let (text, span, holes) = self.spell(rung, end, &spellings);
            let parsed = Syntax::parse(self.language, text.as_bytes(), PARSE_LIMITS, &|| false);
            let syntax = match parsed {
                Ok(syntax) => syntax,
                Err(error) => return Err(Refusal { reason: error.to_string(), at: None, wrong: usize::MAX, tree: None }),
            };
            let place = |(hole, meta): &Hole| Some((*meta, spelling_at(&syntax, hole, spellings[*meta])?));
            let inert: Vec<(usize, Spelling)> = holes.iter().filter_map(place).collect();
            if inert.is_empty() {
                let literal = (0..spellings.len()).filter(|&at| spellings[at] == Spelling::Literal).collect();
                return self.locate(rung, end, Fragment { syntax, text, roots: Vec::new(), span, holes, literal, odd: false });
            }
            for (meta, spelling) in inert {
                spellings[meta] = spelling;
            }
        }
    }

    /// The file that a rung makes of the fragment; the fragment in it; the metavariables in it.
    fn spell(&self, rung: &Rung, end: &str, spellings: &[Spelling]) -> (String, Range<usize>, Vec<Hole>) {
        let mut text = rung.before.clone();
        text.push_str(&rung.indent);
        let start = text.len();
        let mut holes = Vec::new();
        let mut from = 0;
        let push = |text: &mut String, part: &str| {
            if rung.indent.is_empty() {
                text.push_str(part)
            } else {
                text.push_str(&part.replace('\n', &format!("\n{}", rung.indent)))
            }
        };
        for (at, meta) in self.metas.iter().enumerate() {
            push(&mut text, &self.text[from..meta.at.start]);
            from = meta.at.end;
            let written = &self.text[meta.at.clone()];
            let twice = if meta.kind == Kind::Many { self.placeholder.as_str() } else { "" };
            let rest = if meta.name.is_empty() { "_".to_owned() } else { meta.name.clone() };
            let name = format!("{}{twice}{rest}", self.placeholder);
            let hole = text.len();
            match spellings[at] {
                Spelling::Literal => {
                    text.push_str(written);
                    continue;
                }
                Spelling::Plain => text.push_str(&name),
                Spelling::Prose => text.push_str(&scaffold(self.language).prose.as_deref().unwrap_or("%").replace('%', &name)),
                Spelling::Hole(hole) => text.push_str(&scaffold(self.language).holes[hole].replace('%', &name)),
            }
            holes.push((hole..text.len(), at));
        }
        push(&mut text, &self.text[from..]);
        let span = start..text.len();
        text.push_str(end);
        text.push_str(&rung.after);
        (text, span, holes)
    }

    /// Finds the node or the siblings that the fragment is, and checks them.
    fn locate(&self, rung: &Rung, end: &str, mut fragment: Fragment) -> Result<Fragment, Refusal> {
        let scaffold = scaffold(self.language);
        if fragment.syntax.has_errors {
            return Err(self.wrong(fragment));
        }
        fragment.odd = !end.is_empty() && self.text.ends_with('}');
        let refuse = |fragment: Fragment, at: Option<usize>, reason: String| {
            let tree = Some(Box::new((fragment.syntax, fragment.text, fragment.span)));
            Err(Refusal { reason, at, wrong: 1, tree })
        };
        if let Some((_, meta)) = fragment.holes.iter().find(|(hole, _)| exact(&fragment.syntax, &fragment.text, hole).is_none()) {
            let meta = &self.metas[*meta];
            let reason = format!("`{}` is not a node of its own here", meta.written());
            return refuse(fragment, Some(meta.at.start), reason);
        }
        let with_end = fragment.span.start..fragment.span.end + end.len();
        let found = exact(&fragment.syntax, &fragment.text, &fragment.span)
            .or_else(|| exact(&fragment.syntax, &fragment.text, &with_end));
        // A whole file, and a list of statements, are what stands in them.
        let holds_others = |root: usize| {
            let kind = self.language.kind_name(fragment.syntax.nodes[root].kind);
            root == 0 || scaffold.thin.iter().any(|thin| thin == kind)
        };
        let inner = found.filter(|&root| holds_others(root)).map(|root| children(&fragment.syntax, root));
        fragment.roots = match (found, inner) {
            (_, Some(inner)) if inner.len() > 1 && is_sequence(rung, scaffold, self.language, &fragment, &inner) => inner,
            (Some(root), _) if root > 0 => vec![root],
            _ => match siblings(&fragment, &with_end) {
                Some(roots) if is_sequence(rung, scaffold, self.language, &fragment, &roots) => roots,
                Some(_) => return refuse(fragment, None, "it is several nodes, and no statements in a row".to_owned()),
                None => {
                    return refuse(fragment, None, "it does not stand alone: it would be a part of something larger".to_owned());
                }
            },
        };
        let last = fragment.roots.last().map_or(0, |&root| fragment.syntax.nodes[root].next as usize);
        for at in fragment.roots[0]..last {
            let node = &fragment.syntax.nodes[at];
            let text = &fragment.text[node.range()];
            if !node.is_named() || !scaffold.reserved.iter().any(|word| word == text) {
                continue;
            }
            let kind = self.language.kind_name(node.kind);
            fragment.odd |= kind == "property_identifier" && !["statement", "expression"].contains(&rung.name.as_str());
            if scaffold.names.iter().any(|name| name == kind) {
                let at = node.start as usize - fragment.span.start;
                let reason = format!("`{text}` is a keyword and is no name here");
                return refuse(fragment, Some(at.min(self.text.len())), reason);
            }
        }
        Ok(fragment)
    }

    /// A refusal for a parse with errors.
    fn wrong(&self, fragment: Fragment) -> Refusal {
        let nodes = &fragment.syntax.nodes;
        let wrong = nodes.iter().filter(|node| node.is_wrong()).count().max(1);
        // A token that the grammar hides may be what is missing.
        let Some(first) = nodes.iter().find(|node| node.is_wrong()) else {
            let span = fragment.span.clone();
            let tree = Some(Box::new((fragment.syntax, fragment.text, span)));
            return Refusal { reason: "its end is missing".to_owned(), at: None, wrong, tree };
        };
        let at = self.original(&fragment, first.start as usize);
        let reason = if first.flags & SyntaxNode::MISSING != 0 {
            format!("`{}` is missing", self.language.kind_name(first.kind))
        } else {
            let range = first.range();
            let shown = range.start.max(fragment.span.start)..range.end.min(fragment.span.end);
            let text = if shown.is_empty() { String::new() } else { self.as_written(&fragment, shown) };
            let short: String = text.trim().chars().take(24).collect();
            if short.is_empty() { "a syntax error".to_owned() } else { format!("a syntax error at `{short}`") }
        };
        let span = fragment.span.clone();
        Refusal { reason, at, wrong, tree: Some(Box::new((fragment.syntax, fragment.text, span))) }
    }

    /// A part of the file, with the metavariables as they were written.
    fn as_written(&self, fragment: &Fragment, part: Range<usize>) -> String {
        let mut text = String::new();
        let mut from = part.start;
        for (hole, meta) in fragment.holes.iter().filter(|(hole, _)| part.start <= hole.start && hole.end <= part.end) {
            text.push_str(fragment.text.get(from..hole.start).unwrap_or_default());
            text.push_str(&self.text[self.metas[*meta].at.clone()]);
            from = hole.end;
        }
        text.push_str(fragment.text.get(from..part.end).unwrap_or_default());
        text
    }

    /// Where a place in the file is in the pattern; none outside it.
    fn original(&self, fragment: &Fragment, at: usize) -> Option<usize> {
        if at < fragment.span.start || at > fragment.span.end {
            return None;
        }
        let mut place = at - fragment.span.start;
        for (hole, meta) in &fragment.holes {
            let written = self.metas[*meta].at.clone();
            if at >= hole.end {
                place = place + written.len() - hole.len().min(place + written.len());
            } else if at >= hole.start {
                return Some(written.start);
            }
        }
        Some(place.min(self.text.len()))
    }
}

/// Without blank ends, and without the indentation that all lines share.
fn dedent(text: &str) -> String {
    let text = text.trim_end().trim_start_matches(['\n', '\r']);
    let indents = text.lines().filter(|line| !line.trim().is_empty()).map(|line| line.len() - line.trim_start().len());
    let shared = indents.min().unwrap_or(0);
    if shared == 0 {
        return text.to_owned();
    }
    let lines: Vec<&str> = text.split('\n').map(|line| line.get(shared..).unwrap_or_default()).collect();
    lines.join("\n")
}

/// The deepest named node of exactly this extent.
pub(crate) fn exact(syntax: &Syntax, text: &str, span: &Range<usize>) -> Option<usize> {
    syntax.nodes.iter().rposition(|node| node.is_named() && spans(node, text, span))
}

/// Whether a node is of this extent; some hold the end of their line as well.
pub(crate) fn spans(node: &SyntaxNode, text: &str, span: &Range<usize>) -> bool {
    let range = node.range();
    range.start == span.start && range.end >= span.end && text.as_bytes()[span.end..range.end].iter().all(u8::is_ascii_whitespace)
}

/// How a metavariable must be spelled that stands in text and not in code: in a string, a comment, between tags.
fn spelling_at(syntax: &Syntax, span: &Range<usize>, now: Spelling) -> Option<Spelling> {
    let holds = |node: &SyntaxNode| node.range().start <= span.start && span.end <= node.range().end;
    let inner = syntax.nodes.iter().rposition(holds)?;
    let node = &syntax.nodes[inner];
    let kind = syntax.language.kind_name(node.kind);
    if kind == "jsx_text" {
        return Some(if now == Spelling::Prose { Spelling::Literal } else { Spelling::Prose });
    }
    let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    let is_text = has(&["string", "comment", "content", "fragment", "char", "regex", "heredoc", "escape"]);
    // A whole string may be the spelling of a metavariable; the inside of one is not.
    let is_inside = node.next as usize == inner + 1 && has(&["content", "fragment", "comment"]);
    (is_text && (node.range() != *span || is_inside)).then_some(Spelling::Literal)
}

/// The children of a node, without comments.
fn children(syntax: &Syntax, parent: usize) -> Vec<usize> {
    let (mut found, mut at) = (Vec::new(), parent + 1);
    while at < syntax.nodes[parent].next as usize {
        let node = &syntax.nodes[at];
        if !node.is_extra() && node.start < node.end {
            found.push(at);
        }
        at = node.next as usize;
    }
    found
}

/// The children of one node that are exactly this extent.
fn siblings(fragment: &Fragment, with_end: &Range<usize>) -> Option<Vec<usize>> {
    let nodes = &fragment.syntax.nodes;
    let holds = |node: &SyntaxNode| {
        let range = node.range();
        range.start <= fragment.span.start && fragment.span.end <= range.end && node.kind != SyntaxNode::GAP
    };
    let parent = nodes.iter().rposition(holds)?;
    let mut found = Vec::new();
    let mut at = parent + 1;
    while at < nodes[parent].next as usize {
        let mut range = nodes[at].range();
        range.end = range.start + fragment.text[range.clone()].trim_ascii_end().len();
        if range.start >= fragment.span.start && range.end <= with_end.end && !range.is_empty() {
            found.push(at);
        }
        at = nodes[at].next as usize;
    }
    let (first, last) = (nodes[*found.first()?].range(), nodes[*found.last()?]);
    let ends = [fragment.span.end, with_end.end].iter().any(|&end| spans(&last, &fragment.text, &(last.start as usize..end)));
    (first.start == fragment.span.start && ends && found.len() > 1).then_some(found)
}

/// Whether siblings are statements in a row, or the pieces of one expression.
fn is_sequence(rung: &Rung, scaffold: &Scaffold, language: LanguageId, fragment: &Fragment, roots: &[usize]) -> bool {
    let nodes = &fragment.syntax.nodes;
    let kind = |at: usize| language.kind_name(nodes[at].kind);
    let is_piece = |at: &usize| scaffold.pieces.iter().any(|piece| piece == kind(*at));
    if roots.len() > 1 && roots[1..].iter().all(is_piece) && nodes[roots[0]].is_named() && !is_piece(&roots[0]) {
        return true;
    }
    let is_statement = |at: &usize| nodes[*at].is_named() || kind(*at) == ";";
    let apart = |pair: &[usize]| {
        let (before, after) = (nodes[pair[0]].range(), nodes[pair[1]].range());
        let between = &fragment.text[before.end..after.start];
        between.contains('\n') || kind(pair[1]) == ";" || matches!(fragment.text.as_bytes()[before.end - 1], b';' | b'}')
    };
    rung.sequence && roots.iter().all(is_statement) && roots.windows(2).all(apart)
}
