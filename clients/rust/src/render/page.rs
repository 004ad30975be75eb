//! A text that grows line by line within a budget.

use std::fmt::Write as _;

use super::Options;

/// Kept free for the footer.
const FOOT: usize = 512;

/// The longest single line of a list, in bytes; a signature may be a page long.
const LINE: usize = 400;

pub(super) struct Page {
    out: String,
    room: usize,
    left_out: usize,
    tail: String,
    foot: Vec<String>,
}

impl Page {
    pub(super) fn new(options: Options) -> Self {
        Self {
            out: String::new(),
            room: options.max_bytes.saturating_sub(FOOT),
            left_out: 0,
            tail: String::new(),
            foot: Vec::new(),
        }
    }

    /// Keeps room for a text behind the lines, which is not cut off by them. Comes before the lines.
    pub(super) fn tail(&mut self, text: String) {
        self.room = self.room.saturating_sub(text.len());
        self.tail = text;
    }

    /// Adds a line, cleaned. Once one did not fit, none does: what is shown is the best part, without holes.
    pub(super) fn line(&mut self, line: impl AsRef<str>) {
        let mut line = clean(line.as_ref());
        if line.len() > LINE {
            cut(&mut line, LINE - 3);
            line.push('…');
        }
        self.push(&line);
    }

    /// Adds text of several lines, as it is but for control characters.
    pub(super) fn text(&mut self, text: &str) {
        for line in text.split('\n') {
            self.push(&clean_text(line.strip_suffix('\r').unwrap_or(line)));
        }
    }

    /// Adds a line at the end, which is never cut off.
    pub(super) fn foot(&mut self, line: impl AsRef<str>) {
        let mut line = clean(line.as_ref());
        cut(&mut line, FOOT / 3);
        self.foot.push(line);
    }

    pub(super) fn finish(mut self) -> String {
        if self.left_out > 0 {
            let _ = writeln!(self.out, "(cut: {} more lines did not fit; ask for less, or for more bytes)", self.left_out);
        }
        self.out.push_str(&self.tail);
        for line in &self.foot {
            self.out.push_str(line);
            self.out.push('\n');
        }
        self.out
    }

    fn push(&mut self, line: &str) {
        if self.left_out > 0 || self.out.len() + line.len() + 1 > self.room {
            self.left_out += 1;
            return;
        }
        self.out.push_str(line);
        self.out.push('\n');
    }
}

/// Cuts at the last character that ends within `bytes`.
fn cut(line: &mut String, bytes: usize) {
    let end = (0..=bytes.min(line.len())).rev().find(|at| line.is_char_boundary(*at));
    line.truncate(end.unwrap_or(0));
}

/// One line: control characters, line ends, and what turns the direction of text are written as escapes.
pub fn clean(text: &str) -> String {
    escape(text, false)
}

/// A line of source: as [`clean`], but tabs stay.
pub fn clean_text(text: &str) -> String {
    escape(text, true)
}

fn escape(text: &str, keep_tabs: bool) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\t' if keep_tabs => out.push(c),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || turns_text(c) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out
}

/// Line separators and the characters that reorder a line on the screen: with them a name can pose as another.
fn turns_text(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::{Page, clean, clean_text};
    use crate::render::Options;

    #[test]
    fn what_a_repository_says_cannot_drive_the_terminal() {
        assert_eq!(clean("a\u{1b}[2Jb\nc\u{202e}d\u{9b}"), "a\\u{1b}[2Jb\\nc\\u{202e}d\\u{9b}");
        assert_eq!(clean_text("\tx\u{7}"), "\tx\\u{7}");
    }

    #[test]
    fn a_page_stays_within_its_budget_and_says_what_is_missing() {
        let mut page = Page::new(Options::with_max_bytes(1024));
        for n in 0..100 {
            page.line(format!("line {n} ü"));
        }
        page.line("x".repeat(5000));
        page.foot("100 lines");
        let text = page.finish();
        assert!(text.len() <= 1024, "{}", text.len());
        assert!(text.starts_with("line 0 ü\nline 1 ü\n"));
        assert!(text.contains("more lines did not fit"), "{text}");
        assert!(text.ends_with("100 lines\n"));
    }
}
