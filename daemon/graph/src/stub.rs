//! Placeholder while the graph is built.
#![allow(unused_variables, missing_docs, reason = "placeholder")]
use crate::view::*;
use ccd_corpus::{Cancel, Limits};
use ccd_files::Root;
use std::{
    path::{Path, PathBuf},
    sync::Arc,
};
pub struct Shared;
impl Shared {
    pub fn new(cache: PathBuf) -> Arc<Self> {
        Arc::new(Self)
    }
    pub fn counters(&self) -> Counters {
        Counters::default()
    }
    pub fn notices(&self) -> Vec<String> {
        Vec::new()
    }
    pub fn close(&self) {}
}
pub struct Graph {
    root: Arc<Root>,
}
type Outcome<T> = Result<Answer<T>, QueryError>;
const NOT_READY: QueryError = QueryError::NotReady { done: 0, total: 0 };
impl Graph {
    pub fn new(root: Arc<Root>, shared: Arc<Shared>, limits: Limits) -> Self {
        Self { root }
    }
    pub fn index(
        &self,
        request: &IndexRequest,
        cancel: &Cancel,
        progress: &(dyn Fn(u64, u64) + Sync),
    ) -> Result<IndexReport, IndexError> {
        ccd_corpus::walk(&self.root, &Limits::default(), cancel).map_err(|_| IndexError::Cancelled)?;
        Ok(IndexReport::default())
    }
    pub fn expect_run(&self) {}
    pub fn mark_stale(&self, files: u64) {}
    pub fn folders(&self) -> Vec<PathBuf> {
        Vec::new()
    }
    pub fn state(&self) -> State {
        State { freshness: Freshness::NotIndexed, generation: 0, epoch: 0 }
    }
    pub fn status(&self) -> Status {
        Status {
            state: self.state(),
            files: 0,
            symbols: 0,
            edges: 0,
            skipped: Default::default(),
            parse_errors: 0,
            rebuilt: None,
            last_error: None,
        }
    }
    pub fn check_fresh(&self, limit: usize, cancel: &Cancel) -> u64 {
        0
    }
    pub fn search(&self, q: &SearchQuery, cancel: &Cancel) -> Outcome<Page<SymbolView>> {
        Err(NOT_READY)
    }
    pub fn outline(&self, rel: &Path, depth: u32, cancel: &Cancel) -> Outcome<Outline> {
        Err(NOT_READY)
    }
    pub fn symbol(&self, q: &SymbolQuery, with_source: Option<usize>, cancel: &Cancel) -> Outcome<SymbolDetail> {
        Err(NOT_READY)
    }
    pub fn callers(&self, q: &CallQuery, cancel: &Cancel) -> Outcome<Page<EdgeView>> {
        Err(NOT_READY)
    }
    pub fn callees(&self, q: &CallQuery, cancel: &Cancel) -> Outcome<Page<EdgeView>> {
        Err(NOT_READY)
    }
    pub fn imports(&self, q: &ImportQuery, cancel: &Cancel) -> Outcome<Page<EdgeView>> {
        Err(NOT_READY)
    }
    pub fn importers(&self, q: &ImportQuery, cancel: &Cancel) -> Outcome<Page<EdgeView>> {
        Err(NOT_READY)
    }
    pub fn impact(&self, q: &ImpactQuery, cancel: &Cancel) -> Outcome<Impact> {
        Err(NOT_READY)
    }
    pub fn path(&self, from: &SymbolQuery, to: &SymbolQuery, max_depth: u32, cancel: &Cancel) -> Outcome<Ways> {
        Err(NOT_READY)
    }
    pub fn digest(&self, cancel: &Cancel) -> Outcome<Digest> {
        Err(NOT_READY)
    }
    pub fn close(&self) {}
}
