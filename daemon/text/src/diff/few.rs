//! The differences of two texts that have few.
//!
//! Where nearly all lines are the same few ones, a general diff takes time in the square of the length. An edit of
//! such a file is small all the same; Myers' greedy walk finds it in time linear in the length for each line changed,
//! and gives up at a bound.

use imara_diff::Token;

use super::Change;

/// Lines removed and added together; beyond it nothing is found.
const MOST: usize = 400;

/// The changes, or none if there are more than [`MOST`] changed lines.
pub(super) fn changes(before: &[Token], after: &[Token]) -> Option<Vec<Change>> {
    let (old, new) = (before.len() as isize, after.len() as isize);
    // Of each number of changed lines, how far the walk got in `before` on each diagonal, every second one.
    let mut reached: Vec<Vec<isize>> = Vec::new();
    for changed in 0..=MOST as isize {
        let mut row = Vec::with_capacity(changed as usize + 1);
        for diagonal in (-changed..=changed).step_by(2) {
            let mut x = start(&reached, changed, diagonal).0;
            while x < old && x - diagonal < new && before[x as usize] == after[(x - diagonal) as usize] {
                x += 1;
            }
            row.push(x);
            if x >= old && x - diagonal >= new {
                return Some(traced(&reached, changed, old, new));
            }
        }
        reached.push(row);
    }
    None
}

/// Where a diagonal begins after one more change, and whether that was an addition. Walks outside the texts are ended by
/// the comparison of their lines.
fn start(reached: &[Vec<isize>], changed: isize, diagonal: isize) -> (isize, bool) {
    let Some(last) = reached.last().filter(|_| changed > 0).map(|_| &reached[changed as usize - 1]) else {
        return (0, false);
    };
    let at = |diagonal: isize| last.get(((diagonal + changed - 1) / 2) as usize).copied();
    let down = if diagonal < changed { at(diagonal + 1) } else { None };
    let right = if diagonal > -changed { at(diagonal - 1).map(|x| x + 1) } else { None };
    match (down, right) {
        (Some(down), Some(right)) if right > down => (right, false),
        (Some(down), _) => (down, true),
        (None, right) => (right.unwrap_or(0), false),
    }
}

/// Back from the end to the beginning; changes that touch are one.
fn traced(reached: &[Vec<isize>], changed: isize, old: isize, new: isize) -> Vec<Change> {
    let mut changes: Vec<Change> = Vec::new();
    let mut diagonal = old - new;
    for changed in (1..=changed).rev() {
        let (x, added) = start(reached, changed, diagonal);
        let y = x - diagonal;
        let change = if added {
            Change { old: (x as usize, x as usize), new: (y as usize - 1, y as usize) }
        } else {
            Change { old: (x as usize - 1, x as usize), new: (y as usize, y as usize) }
        };
        diagonal += if added { 1 } else { -1 };
        match changes.last_mut() {
            Some(next) if next.old.0 == change.old.1 && next.new.0 == change.new.1 => {
                next.old.0 = change.old.0;
                next.new.0 = change.new.0;
            }
            _ => changes.push(change),
        }
    }
    changes.reverse();
    changes
}
