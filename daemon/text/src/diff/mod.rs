//! Unified diffs, as text and as data.
//!
//! Lines end at a line feed, as they do for `diff`, `patch` and `git apply`; a lone carriage return is a character of
//! its line. The lines themselves are compared by `imara-diff`, whose work is bounded by the heuristics of git; where
//! these do not hold, few changes are still found, and many are told as one coarse hunk between the equal ends.

mod few;

use std::fmt::Write as _;

use imara_diff::{Algorithm, InternedInput, Token};

/// Unchanged lines shown around a change.
const CONTEXT: usize = 3;
/// Lines of both texts together; beyond it a diff is coarse.
const MOST_LINES: usize = 1_000_000;
/// Pairs of equal lines, one of each text; beyond it a general diff takes seconds.
const MOST_PAIRS: u64 = 400_000_000;

/// What became of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// In the order of the file; changes less than seven lines apart share one.
    pub hunks: Vec<DiffHunk>,
    /// Lines.
    pub added: usize,
    /// Lines.
    pub removed: usize,
    /// One of the texts holds a NUL byte: then there are no hunks, and the counts are 0.
    pub binary: bool,
    old_absent: bool,
    new_absent: bool,
    changed: bool,
}

/// A change with the lines around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffHunk {
    /// The first line of `old_text`, from 1; of an empty one the line before it, as unified diffs count.
    pub old_line: usize,
    /// How many lines `old_text` has.
    pub old_lines: usize,
    /// As `old_line`.
    pub new_line: usize,
    /// How many lines `new_text` has.
    pub new_lines: usize,
    /// With the lines around it.
    pub old_text: String,
    /// With the lines around it.
    pub new_text: String,
    /// The lines behind the `@@` line, each with its ` `, `-` or `+`.
    body: String,
}

/// Compares two texts. None is a file that is not there.
pub fn diff(old: Option<&[u8]>, new: Option<&[u8]>) -> Diff {
    let (before, after) = (old.unwrap_or_default(), new.unwrap_or_default());
    let mut diff = Diff {
        old_absent: old.is_none(),
        new_absent: new.is_none(),
        changed: old != new,
        binary: old != new && (before.contains(&0) || after.contains(&0)),
        ..Diff::default()
    };
    if diff.binary || before == after {
        return diff;
    }
    let (before, after) = (lines(before), lines(after));
    let changes = changes(&before, &after);
    diff.added = changes.iter().map(|change| change.new.1 - change.new.0).sum();
    diff.removed = changes.iter().map(|change| change.old.1 - change.old.0).sum();
    let mut group = Vec::new();
    for change in changes {
        if group.last().is_some_and(|last: &Change| change.old.0 - last.old.1 > 2 * CONTEXT) {
            diff.hunks.push(hunk(&before, &after, &group));
            group.clear();
        }
        group.push(change);
    }
    if !group.is_empty() {
        diff.hunks.push(hunk(&before, &after, &group));
    }
    diff
}

/// Lines with their line feeds.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|&byte| byte == b'\n').collect()
}

/// Lines of the one text in the place of lines of the other: from, and to without.
struct Change {
    old: (usize, usize),
    new: (usize, usize),
}

fn changes(before: &[&[u8]], after: &[&[u8]]) -> Vec<Change> {
    let prefix = before.iter().zip(after).take_while(|(left, right)| left == right).count();
    let shorter = before.len().min(after.len()) - prefix;
    let backwards = before.iter().rev().zip(after.iter().rev()).take(shorter);
    let suffix = backwards.take_while(|(left, right)| left == right).count();
    let coarse = || vec![Change { old: (prefix, before.len() - suffix), new: (prefix, after.len() - suffix) }];
    if before.len() + after.len() - 2 * (prefix + suffix) > MOST_LINES {
        return coarse();
    }
    let mut input = InternedInput::default();
    input.update_before(before.iter().copied());
    input.update_after(after.iter().copied());
    let middle = (&input.before[prefix..before.len() - suffix], &input.after[prefix..after.len() - suffix]);
    if pairs(middle.0, middle.1, input.interner.num_tokens()) > MOST_PAIRS {
        return few::changes(&input.before, &input.after).unwrap_or_else(coarse);
    }
    let mut diff = imara_diff::Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let changes = diff.hunks().map(|hunk| Change {
        old: (hunk.before.start as usize, hunk.before.end as usize),
        new: (hunk.after.start as usize, hunk.after.end as usize),
    });
    changes.collect()
}

fn pairs(before: &[Token], after: &[Token], tokens: u32) -> u64 {
    let mut counts = vec![(0_u64, 0_u64); tokens as usize];
    before.iter().for_each(|token| counts[token.0 as usize].0 += 1);
    after.iter().for_each(|token| counts[token.0 as usize].1 += 1);
    counts.iter().map(|(before, after)| before * after).sum()
}

/// One hunk of changes that stand close together.
fn hunk(before: &[&[u8]], after: &[&[u8]], group: &[Change]) -> DiffHunk {
    let (first, last) = (&group[0], &group[group.len() - 1]);
    let above = first.old.0.min(CONTEXT);
    let below = (before.len() - last.old.1).min(CONTEXT);
    let (old_from, old_to) = (first.old.0 - above, last.old.1 + below);
    let (new_from, new_to) = (first.new.0 - above, last.new.1 + below);
    let mut body = String::new();
    let mut push = |sign: char, lines: &[&[u8]]| {
        for line in lines {
            body.push(sign);
            body.push_str(&String::from_utf8_lossy(line));
            if !line.ends_with(b"\n") {
                body.push_str("\n\\ No newline at end of file\n");
            }
        }
    };
    let mut next = old_from;
    for change in group {
        push(' ', &before[next..change.old.0]);
        push('-', &before[change.old.0..change.old.1]);
        push('+', &after[change.new.0..change.new.1]);
        next = change.old.1;
    }
    push(' ', &before[next..old_to]);
    let text = |lines: &[&[u8]]| String::from_utf8_lossy(&lines.concat()).into_owned();
    DiffHunk {
        old_line: old_from + usize::from(old_to > old_from),
        old_lines: old_to - old_from,
        new_line: new_from + usize::from(new_to > new_from),
        new_lines: new_to - new_from,
        old_text: text(&before[old_from..old_to]),
        new_text: text(&after[new_from..new_to]),
        body,
    }
}

impl Diff {
    /// Nothing is different, the file's being there included.
    pub fn is_empty(&self) -> bool {
        !self.changed
    }

    /// The canonical text: names behind `a/` and `b/`, `/dev/null` for what is not there. Empty if nothing changed.
    /// Texts of several files follow each other as they are; bytes that are no UTF-8 are replaced.
    pub fn unified(&self, path: &str) -> String {
        if !self.changed {
            return String::new();
        }
        let name = |side: &str, absent: bool| if absent { "/dev/null".to_owned() } else { quoted(&format!("{side}/{path}")) };
        let (old, new) = (name("a", self.old_absent), name("b", self.new_absent));
        if self.binary {
            return format!("Binary files {old} and {new} differ\n");
        }
        let mut text = format!("--- {old}\n+++ {new}\n");
        for hunk in &self.hunks {
            text.push_str("@@ -");
            push_range(&mut text, hunk.old_line, hunk.old_lines);
            text.push_str(" +");
            push_range(&mut text, hunk.new_line, hunk.new_lines);
            text.push_str(" @@\n");
            text.push_str(&hunk.body);
        }
        text
    }
}

fn push_range(text: &mut String, line: usize, lines: usize) {
    let _ = if lines == 1 { write!(text, "{line}") } else { write!(text, "{line},{lines}") };
}

/// A name in which a line end or tab would be taken for the end of the name, as git writes it.
fn quoted(name: &str) -> String {
    if !name.chars().any(|c| c.is_control() || c == '"' || c == '\\') {
        return name.to_owned();
    }
    let mut text = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\t' => text.push_str("\\t"),
            '\r' => text.push_str("\\r"),
            c if c.is_control() => {
                for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                    let _ = write!(text, "\\{byte:03o}");
                }
            }
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use proptest::prelude::*;

    use super::*;

    fn check(old: Option<&str>, new: Option<&str>, expected: Expect) {
        expected.assert_eq(&diff(old.map(str::as_bytes), new.map(str::as_bytes)).unified("d/f"));
    }

    #[test]
    fn what_is_not_there_is_null() {
        check(
            None,
            Some("a\nb\n"),
            expect![[r#"
            --- /dev/null
            +++ b/d/f
            @@ -0,0 +1,2 @@
            +a
            +b
        "#]],
        );
        check(
            Some("a\n"),
            None,
            expect![[r#"
            --- a/d/f
            +++ /dev/null
            @@ -1 +0,0 @@
            -a
        "#]],
        );
        check(
            None,
            Some(""),
            expect![[r#"
            --- /dev/null
            +++ b/d/f
        "#]],
        );
        check(Some("a"), Some("a"), expect![""]);
    }

    #[test]
    fn an_end_without_a_line_feed_is_said() {
        check(
            Some("a\nb"),
            Some("a\nb\n"),
            expect![[r#"
            --- a/d/f
            +++ b/d/f
            @@ -1,2 +1,2 @@
             a
            -b
            \ No newline at end of file
            +b
        "#]],
        );
        check(
            Some("a\nb\nc"),
            Some("A\nb\nc"),
            expect![[r#"
            --- a/d/f
            +++ b/d/f
            @@ -1,3 +1,3 @@
            -a
            +A
             b
             c
            \ No newline at end of file
        "#]],
        );
    }

    #[test]
    fn distant_changes_are_hunks_of_their_own() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n";
        check(
            Some(old),
            Some("one\n2\n3\n4\n5\n6\n7\n8\n9\nten\n"),
            expect![[r#"
            --- a/d/f
            +++ b/d/f
            @@ -1,4 +1,4 @@
            -1
            +one
             2
             3
             4
            @@ -7,4 +7,4 @@
             7
             8
             9
            -10
            +ten
        "#]],
        );
        check(
            Some(old),
            Some("1\ntwo\n3\n4\n5\n6\n7\n8\nnine\n10\n"),
            expect![[r#"
            --- a/d/f
            +++ b/d/f
            @@ -1,10 +1,10 @@
             1
            -2
            +two
             3
             4
             5
             6
             7
             8
            -9
            +nine
             10
        "#]],
        );
    }

    #[test]
    fn names_and_bytes_that_would_mislead() {
        expect![[r#"
            --- "a/a\tb"
            +++ "b/a\tb"
            @@ -1 +1 @@
            -�
            +a
        "#]]
        .assert_eq(&diff(Some(b"\xff\n"), Some(b"a\n")).unified("a\tb"));
        expect![[r#"
            Binary files a/f and b/f differ
        "#]]
        .assert_eq(&diff(Some(b"\0"), Some(b"a")).unified("f"));
    }

    #[test]
    fn a_hunk_as_data() {
        let diff = diff(Some(b"a\nb\n"), Some(b"a\nc\nd\n"));
        assert_eq!((diff.added, diff.removed), (2, 1));
        let hunk = &diff.hunks[0];
        assert_eq!((hunk.old_line, hunk.old_text.as_str()), (1, "a\nb\n"));
        assert_eq!((hunk.new_line, hunk.new_text.as_str()), (1, "a\nc\nd\n"));
    }

    #[test]
    fn a_long_rewrite_is_coarse_and_fast() {
        let text = |word: &str| (0..MOST_LINES).fold(String::new(), |text, line| text + word + &line.to_string() + "\n");
        let diff = diff(Some(text("a").as_bytes()), Some(text("b").as_bytes()));
        assert_eq!((diff.hunks.len(), diff.added, diff.removed), (1, MOST_LINES, MOST_LINES));
    }

    #[test]
    fn few_changes_of_a_text_of_few_different_lines_are_found() {
        let text = |changed: &[usize]| {
            (0..200_000).fold(String::new(), |text, line| {
                let word = if changed.contains(&line) {
                    "c"
                } else if line * line % 7 < 3 {
                    "a"
                } else {
                    "b"
                };
                text + word + "\n"
            })
        };
        let found = diff(Some(text(&[]).as_bytes()), Some(text(&[10, 100_000, 199_990]).as_bytes()));
        let lines: Vec<usize> = found.hunks.iter().map(|hunk| hunk.old_line).collect();
        assert_eq!((lines, found.added, found.removed), (vec![8, 99_998, 199_988], 3, 3));
        let many: Vec<usize> = (10..199_990).step_by(400).collect();
        let found = diff(Some(text(&[]).as_bytes()), Some(text(&many).as_bytes()));
        assert_eq!(found.hunks.len(), 1);
    }

    /// Applies the hunks as data.
    fn applied(old: &str, diff: &Diff) -> String {
        let lines: Vec<&str> = old.split_inclusive('\n').collect();
        let (mut text, mut next) = (String::new(), 0);
        for hunk in &diff.hunks {
            let from = hunk.old_line - usize::from(hunk.old_lines > 0);
            text.extend(lines[next..from].iter().copied());
            assert_eq!(lines[from..from + hunk.old_lines].concat(), hunk.old_text);
            assert_eq!(text.matches('\n').count() + usize::from(hunk.new_lines > 0), hunk.new_line);
            text.push_str(&hunk.new_text);
            next = from + hunk.old_lines;
        }
        text.extend(lines[next..].iter().copied());
        text
    }

    proptest! {
        #[test]
        fn few_changes_lead_from_one_text_to_the_other(old in proptest::collection::vec(0_u32..3, 0..30), new in proptest::collection::vec(0_u32..3, 0..30)) {
            let token = |of: &[u32]| of.iter().copied().map(Token).collect::<Vec<_>>();
            let (before, after) = (token(&old), token(&new));
            let (mut made, mut next) = (Vec::new(), 0);
            for change in few::changes(&before, &after).unwrap() {
                made.extend_from_slice(&before[next..change.old.0]);
                prop_assert_eq!(made.len(), change.new.0);
                made.extend_from_slice(&after[change.new.0..change.new.1]);
                next = change.old.1;
            }
            made.extend_from_slice(&before[next..]);
            prop_assert_eq!(made, after);
        }

        #[test]
        fn the_hunks_turn_the_old_text_into_the_new(old in "([ab]?\n?){0,30}", new in "([ab]?\n?){0,30}") {
            let diff = diff(Some(old.as_bytes()), Some(new.as_bytes()));
            prop_assert_eq!(applied(&old, &diff), new);
        }
    }
}
