//! Questions, answered from memory.
//!
//! Each question takes the read lock once, computes on that state, and says which state it was. Source text is read
//! only for what a page shows; a file that is gone since it was indexed hides its rows, and they are counted.

mod calls;
mod digest;
mod find;
mod impact;
mod outline;
mod search;
mod text;
mod views;
mod ways;

pub(crate) use text::Texts;

use std::sync::{PoisonError, RwLockReadGuard};

use crate::{
    Answer, Freshness, QueryError,
    engine::{Contents, Graph},
};

impl Graph {
    fn contents(&self) -> RwLockReadGuard<'_, Contents> {
        self.contents.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn answer<T>(&self, contents: &Contents, value: T) -> Answer<T> {
        Answer { value, state: self.state_of(contents) }
    }

    /// An index that has nothing yet cannot say "none".
    fn ready_for_answers(&self, contents: &Contents) -> Result<(), QueryError> {
        if !contents.model.by_path.is_empty() {
            return Ok(());
        }
        match self.state_of(contents).freshness {
            Freshness::Indexing { done, total } => Err(QueryError::NotReady { done, total }),
            Freshness::NotIndexed => Err(QueryError::NotReady { done: 0, total: 0 }),
            _ => Ok(()),
        }
    }
}
