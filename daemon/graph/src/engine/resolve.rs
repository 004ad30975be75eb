//! The pass that makes edges: only for files whose inputs are others than when their edges were made.

use std::sync::{
    Arc, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use ccd_corpus::Cancel;

use super::{Graph, Run, load};
use crate::{
    IndexError,
    edges::{self, FileEdges, RESOLVER_VERSION},
    layout::Layout,
    model::FileId,
    resolve::Resolver,
};

/// Files resolved by one thread before it hands over.
const STRIDE: usize = 16;

impl Graph {
    /// Resolves what has to be, and says how many files that were.
    pub(super) fn resolve_pass(&self, run: &Run, cancel: &Cancel) -> Result<u64, IndexError> {
        {
            let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
            let now = (contents.model.shape(), contents.model.places());
            if contents.laid_out != Some(now) {
                let layout = Arc::new(Layout::new(&contents.model, &contents.manifests));
                let model = &contents.model;
                let placed: Vec<(FileId, u64, u64)> =
                    model.entries().map(|(id, _)| (id, layout.home(model, id), layout.routes(model, id))).collect();
                for (id, home, routes) in placed {
                    contents.model.set_place(id, home, routes);
                }
                contents.layout = layout;
                let now = (contents.model.shape(), now.1);
                if contents.laid_out.map(|(shape, _)| shape) != Some(now.0) {
                    contents.model.check_all();
                }
                contents.laid_out = Some(now);
            }
        }
        let contents = self.contents.read().unwrap_or_else(PoisonError::into_inner);
        let model = &contents.model;
        let mut pending: Vec<(FileId, u64)> = Vec::new();
        for (id, entry) in model.to_check() {
            let inputs = model.inputs(entry, RESOLVER_VERSION);
            if entry.inputs != Some(inputs) {
                pending.push((id, inputs));
            }
        }
        if pending.is_empty() {
            drop(contents);
            self.contents.write().unwrap_or_else(PoisonError::into_inner).model.checked();
            return Ok(0);
        }
        self.shared.count_resolved(pending.len() as u64);
        let layout = contents.layout.clone();
        let workers = if pending.len() <= STRIDE { 1 } else { self.shared.workers() };
        let next = AtomicUsize::new(0);
        let work = || {
            let resolver = Resolver::new(model, &layout);
            let mut done: Vec<(FileId, u64, FileEdges)> = Vec::new();
            loop {
                let start = next.fetch_add(STRIDE, Ordering::Relaxed);
                let Some(part) = pending.get(start..).filter(|part| !part.is_empty()) else { return done };
                for &(id, inputs) in part.iter().take(STRIDE) {
                    if cancel.is_cancelled() {
                        return done;
                    }
                    done.push((id, inputs, resolver.resolve(id)));
                }
            }
        };
        let done: Vec<(FileId, u64, FileEdges)> = if workers == 1 {
            work()
        } else {
            std::thread::scope(|scope| {
                let parts: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
                parts.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect()
            })
        };
        let mut changes = Vec::with_capacity(done.len());
        for (id, inputs, made) in &done {
            let Some(entry) = model.file(*id) else { continue };
            let mut value = inputs.to_le_bytes().to_vec();
            value.extend(edges::encode(made, model));
            changes.push((load::edges_key(&entry.rel), Some(value)));
        }
        drop(contents);
        self.write(run, changes);
        let mut contents = self.contents.write().unwrap_or_else(PoisonError::into_inner);
        let count = done.len() as u64;
        for (id, inputs, made) in done {
            contents.model.set_edges(id, Arc::new(made), Some(inputs));
        }
        if cancel.is_cancelled() {
            return Err(IndexError::Cancelled);
        }
        contents.model.checked();
        Ok(count)
    }
}
