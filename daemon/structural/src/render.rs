//! The text that takes the place of one match.

use std::{cell::RefCell, collections::BTreeMap, ops::Range};

use ccd_grammars::Syntax;

use crate::{
    Match,
    template::{Line, Part, Template, is_string},
};

/// Marks around what is put in, taken out at the end: where it begins, where its number ends, where it ends.
/// Unicode keeps these from standing for characters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    pub(crate) open: char,
    pub(crate) numbered: char,
    pub(crate) close: char,
}

impl Marks {
    /// Three that a text does not hold.
    pub(crate) fn for_text(text: &str) -> Option<Self> {
        let mut free = ('\u{fdd0}'..='\u{fdef}').filter(|mark| !text.contains(*mark));
        Some(Self { open: free.next()?, numbered: free.next()?, close: free.next()? })
    }
}

/// What is put in.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// In the place of a match.
    Whole,
    /// A single capture.
    One,
    /// A run of so many.
    Run(usize),
}

/// Something that is put in, and where it was in the old text.
#[derive(Clone, Debug)]
pub(crate) struct Put {
    pub(crate) what: What,
    pub(crate) source: Range<usize>,
}

/// A line, and whether it begins inside a string: then the end of the line before it is the string's own.
pub(crate) type Lines = Vec<(String, bool)>;

/// A match that is replaced.
#[derive(Debug)]
pub(crate) struct Edit {
    /// Of the old text.
    pub(crate) range: Range<usize>,
    pub(crate) lines: Lines,
    /// The match, and those inside it that are replaced as well.
    pub(crate) sites: Vec<Match>,
}

/// All edits, by where they begin.
pub(crate) type Edits = BTreeMap<usize, Edit>;

/// A file that is rewritten.
pub(crate) struct Page<'a> {
    pub(crate) text: &'a str,
    pub(crate) marks: Marks,
    /// All that was put in, by its number.
    pub(crate) puts: RefCell<Vec<Put>>,
    /// The strings of more than one line, by where they begin.
    strings: Vec<Range<usize>>,
    /// It is indented by tabs; else by so many blanks.
    tabs: bool,
    unit: usize,
}

impl<'a> Page<'a> {
    pub(crate) fn new(text: &'a str, syntax: &Syntax, marks: Marks) -> Self {
        let strings = syntax.nodes.iter().filter(|node| node.is_named() && text.as_bytes()[node.range()].contains(&b'\n'));
        let strings = strings.filter(|node| is_string(syntax.language.kind_name(node.kind))).map(|node| node.range()).collect();
        let (mut tabs, mut blanks, mut unit) = (0usize, 0usize, usize::MAX);
        for line in text.lines() {
            let indent = line.len() - line.trim_start_matches(' ').len();
            tabs += usize::from(line.starts_with('\t'));
            blanks += usize::from(indent > 1);
            if indent > 1 {
                unit = unit.min(indent);
            }
        }
        Self { text, marks, puts: RefCell::default(), strings, tabs: tabs > blanks, unit: if unit <= 8 { unit } else { 4 } }
    }

    fn in_string(&self, at: usize) -> bool {
        let after = self.strings.partition_point(|string| string.start < at);
        self.strings[..after].iter().rev().take(16).any(|string| at < string.end)
    }

    /// The mark before something that is put in.
    pub(crate) fn opened(&self, what: What, source: Range<usize>) -> String {
        let mut puts = self.puts.borrow_mut();
        puts.push(Put { what, source });
        format!("{}{}{}", self.marks.open, puts.len() - 1, self.marks.numbered)
    }

    /// What stands before the first character of a line, up to a place in it.
    pub(crate) fn indent_at(&self, at: usize) -> &'a str {
        let start = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = &self.text[start..at];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// A stretch of the old text with the edits in it made.
    fn stretch(&self, range: Range<usize>, edits: &Edits) -> Lines {
        let mut lines: Lines = vec![(String::new(), false)];
        let mut from = range.start;
        let push = |lines: &mut Lines, part: Range<usize>| {
            for (at, piece) in self.text[part.clone()].split('\n').enumerate() {
                let start = piece.as_ptr() as usize - self.text.as_ptr() as usize;
                let in_string = at > 0 && self.in_string(start);
                let last = lines.last_mut().expect("there is a first line");
                if at > 0 {
                    if !in_string && last.0.ends_with('\r') {
                        last.0.pop();
                    }
                    lines.push((String::new(), in_string));
                }
                lines.last_mut().expect("there is a first line").0.push_str(piece);
            }
        };
        for edit in edits.range(range.clone()).map(|(_, edit)| edit).filter(|edit| edit.range.end <= range.end) {
            push(&mut lines, from..edit.range.start);
            for (at, line) in edit.lines.iter().enumerate() {
                if at > 0 {
                    lines.push((String::new(), line.1));
                }
                lines.last_mut().expect("there is a first line").0.push_str(&line.0);
            }
            from = edit.range.end;
        }
        push(&mut lines, from..range.end);
        lines
    }

    /// The indentation of a line of a template, as the file has it.
    fn translated(&self, indent: &str, template: &Template, prefix: &str) -> String {
        let tabbed = template.lines.iter().any(|line| line.indent.contains('\t'));
        let into_tabs = prefix.contains('\t') || (prefix.is_empty() && self.tabs);
        if into_tabs && !tabbed {
            let unit = template.lines.iter().map(|line| line.indent.len()).filter(|&len| len > 0).min().unwrap_or(1);
            return "\t".repeat(indent.len() / unit) + &" ".repeat(indent.len() % unit);
        }
        if tabbed && !into_tabs && (!prefix.is_empty() || !self.tabs) {
            return indent.replace('\t', &" ".repeat(self.unit));
        }
        indent.to_owned()
    }

    /// Fills a template in. `edits`: those made inside the captures.
    pub(crate) fn fill(&self, template: &Template, found: &Match, edits: &Edits) -> Lines {
        let prefix = self.indent_at(found.range.start);
        let mut out: Lines = Vec::new();
        for (number, line) in template.lines.iter().enumerate() {
            let indent = if number == 0 {
                prefix.to_owned()
            } else {
                prefix.to_owned() + &self.translated(&line.indent, template, prefix)
            };
            let mut composed: Lines = vec![(String::new(), line.in_string)];
            if number > 0 && !line.in_string && !line.parts.is_empty() {
                composed[0].0.clone_from(&indent);
            }
            if number == 0 {
                composed[0].0.push_str(&line.indent);
            }
            let emptied = self.compose(&mut composed, line, &indent, found, edits);
            // A line that held an empty run alone is gone.
            let blank = composed.len() == 1 && composed[0].0.trim().is_empty();
            if !(emptied && blank && template.lines.len() > 1) {
                out.append(&mut composed);
            }
        }
        if out.is_empty() { vec![(String::new(), false)] } else { out }
    }

    /// Puts the parts of a line together; tells whether a run in it is empty.
    fn compose(&self, composed: &mut Lines, line: &Line, indent: &str, found: &Match, edits: &Edits) -> bool {
        let mut emptied = false;
        // What an empty run takes away of the text that follows.
        let mut after_empty = false;
        for part in &line.parts {
            let last = composed.last_mut().expect("there is a first line");
            match part {
                Part::Text(text) => {
                    let text = if std::mem::take(&mut after_empty) { self.after_empty(&mut last.0, text) } else { text.as_str() };
                    last.0.push_str(text);
                }
                Part::One(name) => {
                    let range = found.captures.iter().find(|(bound, _)| bound == name).map(|(_, range)| range.clone());
                    let Some(range) = range else { continue };
                    last.0.push_str(&self.opened(What::One, range.clone()));
                    self.put(composed, range, indent, edits);
                    composed.last_mut().expect("there is a first line").0.push(self.marks.close);
                }
                Part::Many(name) => {
                    let run = found.multi.iter().find(|(bound, _, _)| bound == name);
                    match run.and_then(|(_, span, items)| Some((span.clone()?, items.len()))) {
                        Some((span, items)) => {
                            last.0.push_str(&self.opened(What::Run(items), span.clone()));
                            self.put(composed, span, indent, edits);
                            composed.last_mut().expect("there is a first line").0.push(self.marks.close);
                        }
                        None => {
                            emptied = true;
                            after_empty = true;
                        }
                    }
                }
            }
        }
        if after_empty {
            let last = composed.last_mut().expect("there is a first line");
            self.after_empty(&mut last.0, "");
            last.0.truncate(last.0.trim_end_matches(' ').len());
        }
        emptied
    }

    /// An empty run takes one separator with it: that after it, else that before it. Gives what is left of the text after.
    fn after_empty<'t>(&self, before: &mut String, text: &'t str) -> &'t str {
        let next = text.trim_start();
        if let Some(rest) = next.strip_prefix([',', ';']) {
            return rest.trim_start_matches(' ');
        }
        let trimmed = before.trim_end();
        if let Some(rest) = trimmed.strip_suffix([',', ';']) {
            before.truncate(rest.len());
            return text;
        }
        if before.ends_with(' ') { text.trim_start_matches(' ') } else { text }
    }

    /// A capture, its lines set in by what the line has on which it comes to stand.
    fn put(&self, composed: &mut Lines, range: Range<usize>, indent: &str, edits: &Edits) {
        let own = self.indent_at(range.start);
        for (at, (text, in_string)) in self.stretch(range, edits).into_iter().enumerate() {
            if at == 0 {
                composed.last_mut().expect("there is a first line").0.push_str(&text);
            } else if in_string {
                composed.push((text, true));
            } else {
                let shared = own.bytes().zip(text.bytes()).take_while(|(own, has)| own == has).count();
                let rest = &text[shared..];
                composed.push((if rest.trim().is_empty() { String::new() } else { format!("{indent}{rest}") }, false));
            }
        }
    }
}
