//! A refused patch with some hunks sent again.

use crate::{
    parse::parse,
    syntax::{Action, Hunk, Patch, SyntaxError},
};

/// A hunk sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replacement<'t> {
    /// Of the hunk in the patch, from 1.
    pub index: usize,
    /// Its lines. With `@@` lines at the beginning these replace the hunk's own; without, the hunk keeps its own.
    pub text: &'t str,
}

/// Why a patch cannot be amended so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmendError {
    /// Of the patch, or of the patch as amended.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// No such hunk.
    #[error("the patch has no hunk {index}; its hunks are numbered from 1 to {hunks} over the whole patch")]
    UnknownHunk {
        /// As given.
        index: usize,
        /// How many there are.
        hunks: usize,
    },
    /// Twice the same hunk.
    #[error("hunk {index} is given twice")]
    Twice {
        /// As given.
        index: usize,
    },
    /// Not the body of exactly one hunk.
    #[error(
        "the text for hunk {index} is not the body of one hunk: line {line} of it is `{excerpt}`. A hunk is at most some '@@' lines, then lines that start with ' ', '+' or '-'"
    )]
    NotOneHunk {
        /// As given.
        index: usize,
        /// Of the given text, from 1.
        line: usize,
        /// The line.
        excerpt: String,
    },
    /// No line in it.
    #[error("the text for hunk {index} has no lines; a hunk cannot be dropped")]
    Empty {
        /// As given.
        index: usize,
    },
}

/// The text of the patch with these hunks replaced and everything else as it was.
pub fn amend(text: &str, replacements: &[Replacement<'_>]) -> Result<String, AmendError> {
    let patch = parse(text)?;
    let hunks: Vec<&Hunk<'_>> = patch.hunks().collect();
    let mut replacements = replacements.to_vec();
    replacements.sort_by_key(|replacement| replacement.index);
    let mut amended = String::with_capacity(text.len());
    let mut next = 0;
    for (at, &Replacement { index, text: new }) in replacements.iter().enumerate() {
        if at > 0 && replacements[at - 1].index == index {
            return Err(AmendError::Twice { index });
        }
        let Some(hunk) = index.checked_sub(1).and_then(|at| hunks.get(at)) else {
            return Err(AmendError::UnknownHunk { index, hunks: hunks.len() });
        };
        let has_context = body(index, new)?;
        let from = if has_context || hunk.line == hunk.lines_from { hunk.span.start } else { hunk.body };
        amended.push_str(&text[next..from]);
        amended.push_str(without_line_end(new));
        next = hunk.span.end;
    }
    amended.push_str(&text[next..]);
    let same = shape(&parse(&amended)?).eq(shape(&patch));
    // Each text alone was the body of one hunk, so no other section or hunk can have come of it; still the promise that
    // none is added or dropped rests on this look at the whole.
    match replacements.first() {
        Some(&Replacement { index, .. }) if !same => Err(AmendError::NotOneHunk { index, line: 1, excerpt: String::new() }),
        _ => Ok(amended),
    }
}

/// Checks that the text is the body of one hunk, and says whether it brings its own `@@`.
fn body(index: usize, text: &str) -> Result<bool, AmendError> {
    let (mut has_context, mut has_lines, mut ended) = (false, false, false);
    for (at, line) in without_line_end(text).split('\n').enumerate() {
        let line = line.strip_suffix('\r').unwrap_or(line);
        let trimmed = line.trim_end();
        if !has_lines && (trimmed == "@@" || trimmed.starts_with("@@ ")) {
            has_context = true;
        } else if !ended && has_lines && trimmed == "*** End of File" {
            ended = true;
        } else if ended && trimmed.is_empty() {
        } else if !ended && matches!(line.as_bytes().first(), None | Some(b' ' | b'+' | b'-')) {
            // An empty text is one empty line to `split`, but no line to a reader.
            has_lines |= !text.is_empty();
        } else {
            let excerpt = ccd_text::clip(line.as_bytes(), 200);
            return Err(AmendError::NotOneHunk { index, line: at + 1, excerpt });
        }
    }
    if has_lines { Ok(has_context) } else { Err(AmendError::Empty { index }) }
}

/// The line end belongs to the patch around it.
fn without_line_end(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

/// What an amendment leaves alone: the sections, and how many hunks each has.
fn shape<'p>(patch: &'p Patch<'_>) -> impl Iterator<Item = (&'p str, Option<&'p str>, usize)> {
    patch.operations.iter().map(|operation| match &operation.action {
        Action::Update { move_to, hunks } => (operation.path, *move_to, hunks.len()),
        Action::Add { lines } => (operation.path, None, lines.len()),
        Action::Delete => (operation.path, None, 0),
    })
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    const PATCH: &str = "*** Begin Patch\r\n*** Update File: a\n-one\n+ONE\n@@ class A\n@@ def b\n-two\n+TWO\n*** End of File\n\n*** Update File: b\n@@\n-three\n+THREE\n*** End Patch\n";

    fn check(replacements: &[(usize, &str)], expected: Expect) {
        let replacements: Vec<_> = replacements.iter().map(|&(index, text)| Replacement { index, text }).collect();
        expected.assert_eq(&match amend(PATCH, &replacements) {
            Ok(text) => text.replace('\r', "␍"),
            Err(error) => format!("error: {error}\n"),
        });
    }

    #[test]
    fn only_the_named_hunks_change() {
        check(
            &[(3, "-drei\n+DREI\n"), (1, " zero\n-eins\n+ONE")],
            expect![[r#"
                *** Begin Patch␍
                *** Update File: a
                 zero
                -eins
                +ONE
                @@ class A
                @@ def b
                -two
                +TWO
                *** End of File

                *** Update File: b
                @@
                -drei
                +DREI
                *** End Patch
            "#]],
        );
    }

    #[test]
    fn a_hunk_may_bring_its_context() {
        check(
            &[(2, "@@ def c\n-zwei\n+TWO\n")],
            expect![[r#"
                *** Begin Patch␍
                *** Update File: a
                -one
                +ONE
                @@ def c
                -zwei
                +TWO
                *** Update File: b
                @@
                -three
                +THREE
                *** End Patch
            "#]],
        );
    }

    #[test]
    fn what_is_not_one_hunk_is_refused() {
        check(
            &[(4, "-a\n")],
            expect![[r#"
            error: the patch has no hunk 4; its hunks are numbered from 1 to 3 over the whole patch
        "#]],
        );
        check(
            &[(1, "-a\n"), (1, "-b\n")],
            expect![[r#"
            error: hunk 1 is given twice
        "#]],
        );
        check(
            &[(1, "-a\n@@\n-b\n")],
            expect![[r#"
            error: the text for hunk 1 is not the body of one hunk: line 2 of it is `@@`. A hunk is at most some '@@' lines, then lines that start with ' ', '+' or '-'
        "#]],
        );
        check(
            &[(1, "*** Delete File: a\n")],
            expect![[r#"
            error: the text for hunk 1 is not the body of one hunk: line 1 of it is `*** Delete File: a`. A hunk is at most some '@@' lines, then lines that start with ' ', '+' or '-'
        "#]],
        );
        check(
            &[(1, "")],
            expect![[r#"
            error: the text for hunk 1 has no lines; a hunk cannot be dropped
        "#]],
        );
        check(
            &[(1, "@@ x\n")],
            expect![[r#"
            error: the text for hunk 1 has no lines; a hunk cannot be dropped
        "#]],
        );
    }
}
