//! Failures within a budget of bytes.
//!
//! A refusal is read by a model, which pays for every byte, and which needs all failing hunks more than it needs all
//! about each. So texts get shorter first, then what is merely helpful goes, and only then hunks at the end.

use crate::{explain::Miss, plan::Failure};

/// From full to bare: bytes a text, other places, whether the nearby line is told.
const LEVELS: [(usize, usize, bool); 5] = [(400, 5, true), (200, 5, true), (120, 2, true), (80, 1, false), (40, 0, false)];

/// What the names and punctuation of one failure take as JSON.
const FRAME: usize = 230;

/// Makes the failures fit into about so many bytes of JSON, with the paths as they are here. Returns how many at the end had to go; the first stays.
pub fn brief(failures: &mut Vec<Failure>, bytes: usize) -> usize {
    for (text, others, nearby) in LEVELS {
        if failures.iter().map(size).sum::<usize>() <= bytes {
            return 0;
        }
        for Failure { miss, .. } in failures.iter_mut() {
            shorten(miss, text, others, nearby);
        }
    }
    let mut left = bytes;
    let fitting = failures.iter().take_while(|failure| {
        let size = size(failure);
        let fits = size <= left;
        left = left.saturating_sub(size);
        fits
    });
    let keep = fitting.count().max(1).min(failures.len());
    let dropped = failures.len() - keep;
    failures.truncate(keep);
    dropped
}

fn shorten(miss: &mut Miss, text: usize, others: usize, nearby: bool) {
    let clip = |line: &mut String| {
        if line.len() > text {
            *line = ccd_text::clip(line.as_bytes(), text - '…'.len_utf8());
        }
    };
    if let Some(difference) = &mut miss.first_difference {
        clip(&mut difference.expected);
        difference.found.as_mut().map(clip);
    }
    match &mut miss.nearby {
        Some(near) if nearby => clip(&mut near.text),
        near => *near = None,
    }
    miss.other_candidates.truncate(others);
}

/// About what a failure takes as JSON.
fn size(failure: &Failure) -> usize {
    let miss = &failure.miss;
    let difference = miss.first_difference.as_ref();
    let texts = [
        Some(failure.path.as_str()),
        difference.map(|difference| difference.expected.as_str()),
        difference.and_then(|difference| difference.found.as_deref()),
        miss.nearby.as_ref().map(|near| near.text.as_str()),
    ];
    FRAME + texts.into_iter().flatten().map(escaped).sum::<usize>() + 8 * miss.other_candidates.len()
}

/// The bytes of a text inside a JSON string.
fn escaped(text: &str) -> usize {
    let extra = text.bytes().map(|byte| match byte {
        b'"' | b'\\' | b'\n' | b'\r' | b'\t' => 1,
        0..0x20 => 5,
        _ => 0,
    });
    text.len() + extra.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain::{Difference, DifferenceKind, Nearby, Sought};

    fn failures(count: usize, length: usize) -> Vec<Failure> {
        let miss = |hunk| Miss {
            hunk,
            patch_line: hunk,
            what: Sought::Lines,
            matched_prefix: 0,
            first_difference: Some(Difference {
                line: 1,
                expected: "é".repeat(length / 2),
                found: Some("\t".repeat(length)),
                kind: DifferenceKind::Content,
            }),
            nearby: Some(Nearby { line: 1, text: "z".repeat(length) }),
            other_candidates: vec![1, 2, 3, 4, 5],
            already_applied: false,
        };
        (1..=count).map(|hunk| Failure { path: "src/a.rs".to_owned(), miss: miss(hunk) }).collect()
    }

    fn check(count: usize, length: usize, dropped: usize) {
        let mut failures = failures(count, length);
        assert_eq!(brief(&mut failures, 6000), dropped, "of {count} failures with lines of {length} bytes");
        assert_eq!(failures.len(), count - dropped);
        assert!(count == 1 || failures.iter().map(size).sum::<usize>() <= 6000);
    }

    #[test]
    fn all_hunks_are_told_before_all_about_each() {
        check(1, 400, 0);
        check(10, 400, 0);
        check(16, 400, 0);
        check(20, 10, 0);
        let mut few = failures(2, 400);
        brief(&mut few, 6000);
        assert_eq!(few, failures(2, 400));
    }

    #[test]
    fn the_last_of_too_many_go() {
        let mut many = failures(5000, 400);
        let dropped = brief(&mut many, 6000);
        assert!(many.len() > 10 && dropped + many.len() == 5000);
        assert_eq!(many[0].miss.hunk, 1);
    }
}
