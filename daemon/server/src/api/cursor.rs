//! Cursors: where the next page begins, and on which state of which question.
//!
//! A client treats it as opaque. It holds no secret: a changed one is recognised by its check sum and refused.

use ccd_graph::State;
use ccd_protocol::{ErrorKind, RpcError};
use serde::Serialize;

use crate::rpc::params::wrong;

/// What a cursor of a call must agree with.
pub(super) struct Question {
    /// Of the daemon's run, the graph, the method and the parameters without limit and cursor.
    hash: [u8; 8],
    incarnation: u64,
}

/// Where a page begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cursor {
    pub(super) offset: usize,
    /// Generation and epoch that the page must be of; none for the first.
    of: Option<(u64, u64)>,
}

impl Question {
    /// `params` are those of the call without limit, cursor and deadline.
    pub(super) fn new(instance: &str, root: &str, incarnation: u64, method: &str, params: &impl Serialize) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in [instance, root, method] {
            hasher.update(part.as_bytes());
            hasher.update(&[0]);
        }
        hasher.update(serde_json::to_string(params).unwrap_or_default().as_bytes());
        let mut hash = [0; 8];
        hash.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        Self { hash, incarnation }
    }

    fn seal(&self, numbers: &[u64; 4]) -> [u8; 4] {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.hash);
        for number in numbers {
            hasher.update(&number.to_le_bytes());
        }
        let mut seal = [0; 4];
        seal.copy_from_slice(&hasher.finalize().as_bytes()[..4]);
        seal
    }

    /// Reads the cursor of a call.
    pub(super) fn read(&self, given: Option<&str>) -> Result<Cursor, RpcError> {
        let Some(text) = given else { return Ok(Cursor::default()) };
        let broken = || wrong("cursor", "the `next_cursor` of the page before, for the same question");
        let mut numbers = [0; 4];
        let mut parts = text.split('-');
        for number in &mut numbers {
            *number = parts.next().and_then(|part| u64::from_str_radix(part, 16).ok()).ok_or_else(broken)?;
        }
        let seal = parts.next().and_then(|part| u32::from_str_radix(part, 16).ok()).ok_or_else(broken)?;
        if parts.next().is_some() || seal.to_be_bytes() != self.seal(&numbers) {
            return Err(broken());
        }
        let [offset, generation, epoch, incarnation] = numbers;
        if incarnation != self.incarnation {
            return Err(stale());
        }
        Ok(Cursor { offset: usize::try_from(offset).map_err(|_| broken())?, of: Some((generation, epoch)) })
    }

    /// The cursor of the next page, if there is one.
    pub(super) fn next(&self, cursor: Cursor, items: usize, total: u64, state: &State) -> Option<String> {
        let offset = cursor.offset as u64 + items as u64;
        if items == 0 || offset >= total {
            return None;
        }
        let numbers = [offset, state.generation, state.epoch, self.incarnation];
        let seal = u32::from_be_bytes(self.seal(&numbers));
        Some(numbers.iter().map(|number| format!("{number:x}-")).collect::<String>() + &format!("{seal:08x}"))
    }
}

impl Cursor {
    /// Whether the page is of the state that the cursor was made on.
    pub(super) fn check(&self, state: &State) -> Result<(), RpcError> {
        match self.of {
            Some(of) if of != (state.generation, state.epoch) => Err(stale()),
            _ => Ok(()),
        }
    }
}

fn stale() -> RpcError {
    RpcError::new(ErrorKind::CursorStale, "The graph has changed since the page before. Ask again without the cursor.")
        .with("why", "generation changed")
}

#[cfg(test)]
mod tests {
    use ccd_graph::Freshness;

    use super::*;

    fn state(generation: u64) -> State {
        State { freshness: Freshness::Ready, generation, epoch: 1 }
    }

    #[test]
    fn a_cursor_belongs_to_its_question_and_state() {
        let question = Question::new("i", "/p", 1, "graph.search", &"a");
        let first = question.read(None).expect("the first page");
        let text = question.next(first, 20, 50, &state(7)).expect("there is more");
        let second = question.read(Some(&text)).expect("its own");
        assert_eq!(second.offset, 20);
        second.check(&state(7)).expect("the same state");
        assert!(second.check(&state(8)).expect_err("another").is(ErrorKind::CursorStale));
        assert_eq!(question.next(second, 30, 50, &state(7)), None);

        for broken in ["", "x", "1-2-3-4-5", &text.replacen('1', "2", 1), &format!("{text}-0")] {
            let error = question.read(Some(broken)).expect_err(broken);
            assert_eq!(error.data.fields["field"], "cursor");
        }
        let other = Question::new("i", "/p", 1, "graph.search", &"b");
        assert!(other.read(Some(&text)).expect_err("another question").is(ErrorKind::InvalidParams));
    }

    #[test]
    fn a_cursor_of_an_unloaded_graph_is_stale() {
        let before = Question::new("i", "/p", 1, "graph.search", &"a");
        let text = before.next(Cursor::default(), 1, 2, &state(1)).expect("there is more");
        let after = Question::new("i", "/p", 2, "graph.search", &"a");
        assert!(after.read(Some(&text)).expect_err("unloaded in between").is(ErrorKind::CursorStale));
    }
}
