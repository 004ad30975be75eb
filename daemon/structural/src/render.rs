//! The text that takes the place of one match.

use std::ops::Range;

use ccd_grammars::Syntax;

use crate::{
    Match,
    template::{Line, Part, Template, is_string},
};

/// Marks in the new text, taken out at the end. Unicode keeps these from standing for characters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Marks {
    /// Around a single capture.
    pub(crate) capture: [char; 2],
    /// Around a replacement.
    pub(crate) whole: [char; 2],
}

impl Marks {
    /// Four that a text does not hold.
    pub(crate) fn for_texts(texts: &[&str]) -> Option<Self> {
        let mut free = ('\u{fdd0}'..='\u{fdef}').filter(|mark| !texts.iter().any(|text| text.contains(*mark)));
        let mut next = || free.next();
        Some(Self { capture: [next()?, next()?], whole: [next()?, next()?] })
    }
}

/// A line, and whether it begins inside a string.
pub(crate) type Lines = Vec<(String, bool)>;

/// A match that is replaced.
#[derive(Debug)]
pub(crate) struct Edit {
    /// Of the old text.
    pub(crate) range: Range<usize>,
    pub(crate) lines: Lines,
}

/// A file that is rewritten.
pub(crate) struct Page<'a> {
    pub(crate) text: &'a str,
    pub(crate) marks: Marks,
    /// The strings of more than one line.
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
        Self { text, marks, strings, tabs: tabs > blanks, unit: if unit <= 8 { unit } else { 4 } }
    }

    fn in_string(&self, at: usize) -> bool {
        self.strings.iter().any(|string| string.start < at && at < string.end)
    }

    /// What stands before the first character of a line, up to a place in it.
    pub(crate) fn indent_at(&self, at: usize) -> &'a str {
        let start = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let line = &self.text[start..at];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }

    /// A stretch of the old text with the edits in it made.
    fn stretch(&self, range: Range<usize>, edits: &[Edit]) -> Lines {
        let mut lines: Lines = vec![(String::new(), false)];
        let mut from = range.start;
        let push = |lines: &mut Lines, part: Range<usize>| {
            for (at, piece) in self.text[part.clone()].split('\n').enumerate() {
                if at > 0 {
                    let start = piece.as_ptr() as usize - self.text.as_ptr() as usize;
                    lines.push((String::new(), self.in_string(start)));
                }
                let last = lines.last_mut().expect("there is a first line");
                last.0.push_str(piece.strip_suffix('\r').unwrap_or(piece));
            }
        };
        for edit in edits.iter().filter(|edit| range.start <= edit.range.start && edit.range.end <= range.end) {
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
    pub(crate) fn fill(&self, template: &Template, found: &Match, edits: &[Edit]) -> Lines {
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
    fn compose(&self, composed: &mut Lines, line: &Line, indent: &str, found: &Match, edits: &[Edit]) -> bool {
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
                    last.0.push(self.marks.capture[0]);
                    self.put(composed, range, indent, edits);
                    composed.last_mut().expect("there is a first line").0.push(self.marks.capture[1]);
                }
                Part::Many(name) => {
                    let span = found.multi.iter().find(|(bound, _, _)| bound == name).and_then(|(_, span, _)| span.clone());
                    match span {
                        Some(span) => self.put(composed, span, indent, edits),
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
    fn put(&self, composed: &mut Lines, range: Range<usize>, indent: &str, edits: &[Edit]) {
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
