//! How alike two lines are.

use std::borrow::Cow;

/// A line without white space, in lower case.
pub(crate) type Loose<'t> = Cow<'t, str>;

pub(crate) fn loose(line: &str) -> Loose<'_> {
    let trimmed = line.trim();
    let asis = trimmed.bytes().all(|byte| byte.is_ascii_graphic() && !byte.is_ascii_uppercase());
    if asis {
        Cow::Borrowed(trimmed)
    } else {
        Cow::Owned(trimmed.chars().filter(|c| !c.is_whitespace()).flat_map(char::to_lowercase).collect())
    }
}

/// Longer lines are compared by their beginning.
const LONGEST: usize = 200;
/// In percent; what is less alike is not shown as what was meant.
const LEAST: u32 = 50;

/// A line as the pairs of its neighbouring bytes: enough to see a changed word, and cheap.
pub(crate) struct Words {
    pairs: Vec<u16>,
    text: String,
}

impl Words {
    /// None for a line too short to be like another one.
    pub(crate) fn of(line: &str) -> Option<Self> {
        let text = loose(line).into_owned();
        let pairs = pairs(&text);
        (pairs.len() >= 2).then_some(Self { pairs, text })
    }

    /// In percent: the share of pairs in common (Dice), or 90 where the line contains this one.
    pub(crate) fn likeness(&self, line: &str) -> Option<u32> {
        let other = loose(line);
        // A line less than a third as long, or over three times longer, has too few pairs in common.
        let (short, long) = (self.text.len().min(other.len()), self.text.len().max(other.len()));
        if self.text.len() >= 4 && other.contains(&self.text) {
            return Some(90);
        }
        if short * 3 < long.min(LONGEST) {
            return None;
        }
        let theirs = pairs(&other);
        let (mut mine_at, mut their_at, mut same) = (0, 0, 0);
        while let (Some(mine), Some(their)) = (self.pairs.get(mine_at), theirs.get(their_at)) {
            mine_at += usize::from(mine <= their);
            their_at += usize::from(their <= mine);
            same += usize::from(mine == their);
        }
        let likeness = (200 * same / (self.pairs.len() + theirs.len()).max(1)) as u32;
        (likeness >= LEAST).then_some(likeness)
    }
}

fn pairs(text: &str) -> Vec<u16> {
    let bytes = &text.as_bytes()[..text.len().min(LONGEST)];
    let mut pairs: Vec<u16> = bytes.windows(2).map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    pairs.sort_unstable();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(left: &str, right: &str, alike: bool) {
        assert_eq!(Words::of(left).and_then(|words| words.likeness(right)).is_some(), alike, "{left:?} and {right:?}");
    }

    #[test]
    fn a_changed_word_is_alike_and_another_line_is_not() {
        check("let m = 2;", "let m = 3;", true);
        check("def area", "    def area(self):", true);
        check("return total * rate", "return total * self.rate", true);
        check("return total * rate", "import os", false);
        check("}", "}", false);
    }
}
