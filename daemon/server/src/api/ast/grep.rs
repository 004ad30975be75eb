//! `ast.grep`.

use std::{collections::BTreeMap, sync::Arc};

use ccd_corpus::Cancel;
use ccd_protocol::{ErrorKind, RpcError, ast as wire};

use super::{
    Job,
    asked::{Asked, asked},
    compiled, epoch, limits, refusal, unable, until, view,
};
use crate::{
    api::workspace::token,
    daemon::Daemon,
    rpc::{call::Call, params::wrong},
    search::{Compiled, Counted, Kept, Readings, count, first_named, page},
    workspaces::Target,
};

/// Files with syntax errors that are named.
const NAMED: usize = 100;
/// A first page whose files change while they are read is tried so often.
const TRIES: u32 = 3;

/// Where a page begins: the result it is of, the offset, and a check that the question is the same.
struct Cursor {
    result: u64,
    offset: usize,
}

fn stale(why: &str) -> RpcError {
    RpcError::new(ErrorKind::CursorStale, format!("The page cannot be given: {why}. Ask again without the cursor."))
        .with("why", why)
}

/// What was asked, without the page. The instance is a part: another daemon keeps other results.
fn question(daemon: &Daemon, root: &str, params: &wire::GrepParams) -> [u8; 8] {
    let mut hasher = blake3::Hasher::new();
    for part in [&daemon.instance, root, &serde_json::to_string(params).unwrap_or_default()] {
        hasher.update(part.as_bytes());
        hasher.update(&[0]);
    }
    let mut hash = [0; 8];
    hash.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
    hash
}

fn instance_mark(daemon: &Daemon) -> u32 {
    let hash = blake3::hash(daemon.instance.as_bytes());
    u32::from_be_bytes([hash.as_bytes()[0], hash.as_bytes()[1], hash.as_bytes()[2], hash.as_bytes()[3]])
}

fn cursor_text(daemon: &Daemon, question: [u8; 8], result: u64, offset: usize) -> String {
    format!("{:08x}-{result:x}-{offset:x}-{:016x}", instance_mark(daemon), u64::from_be_bytes(question))
}

fn read_cursor(daemon: &Daemon, question: [u8; 8], text: &str) -> Result<Cursor, RpcError> {
    let broken = || wrong("cursor", "the `next_cursor` of the page before, for the same question");
    let parts: Vec<u64> =
        text.split('-').map(|part| u64::from_str_radix(part, 16)).collect::<Result<_, _>>().map_err(|_| broken())?;
    let [instance, result, offset, of] = parts[..] else { return Err(broken()) };
    if instance != u64::from(instance_mark(daemon)) {
        return Err(stale("the daemon was restarted"));
    }
    if of != u64::from_be_bytes(question) {
        return Err(broken());
    }
    Ok(Cursor { result, offset: usize::try_from(offset).map_err(|_| broken())? })
}

pub(in crate::api) async fn grep(call: Call, mut params: wire::GrepParams) -> Result<wire::GrepResult, RpcError> {
    let limit = match params.limit.take() {
        Some(0) => return Err(wrong("limit", "at least 1")),
        limit => limit.unwrap_or(50).min(1000) as usize,
    };
    let token = token(params.progress.take())?;
    let given = params.cursor.take();
    let until = until::<wire::Grep>(&call, params.deadline_ms.take())?;
    let asked = asked!(params, params.relaxed.unwrap_or(false))?;
    let compiled = compiled(&call, &asked).await?;
    let target = call.target(asked.at.clone()).await?;
    let question = question(&call.daemon, &target.workspace.path, &params);
    let cursor = given.as_deref().map(|text| read_cursor(&call.daemon, question, text)).transpose()?;
    let explain = params.explain.unwrap_or(false);
    let daemon = Arc::clone(&call.daemon);
    call.search(move |cancel: &Cancel| {
        let workspace = Arc::clone(&target.workspace);
        let limits = limits(&daemon, &workspace);
        let job = Job { daemon: &daemon, workspace: &workspace, limits, cancel, until };
        if let Some(cursor) = cursor {
            return job.further(question, &cursor, limit);
        }
        let mut compiled = compiled;
        for _ in 0..TRIES {
            let kept = job.counted(&target, &asked, compiled, question, explain, token.as_ref())?;
            match job.shown_page(&kept, 0, limit) {
                Ok((matches, next)) => {
                    let kept = Arc::new(kept);
                    let next_cursor =
                        next.map(|offset| cursor_text(&daemon, question, daemon.results.keep(Arc::clone(&kept)), offset));
                    return Ok(wire::GrepResult { matches, next_cursor, ..kept.head.clone() });
                }
                // Somebody writes just now.
                Err(_) => compiled = kept.compiled,
            }
        }
        Err(refusal::incomplete("files change while they are searched", 0, 0))
    })
    .await?
}

impl Job<'_> {
    /// A page of a result that is kept.
    fn further(&self, question: [u8; 8], cursor: &Cursor, limit: usize) -> Result<wire::GrepResult, RpcError> {
        let gone = || stale("the result is not kept any more");
        let kept = self.daemon.results.get(cursor.result).filter(|kept| kept.question == question).ok_or_else(gone)?;
        let changed = |rel: &str| stale(&format!("{rel} has changed since it was counted"));
        if let Some(rel) = kept.changed(&self.workspace.root(), &self.limits) {
            return Err(changed(rel));
        }
        let (matches, next) = self.shown_page(&kept, cursor.offset, limit).map_err(|rel| changed(&rel))?;
        let next_cursor = next.map(|offset| cursor_text(self.daemon, question, cursor.result, offset));
        Ok(wire::GrepResult { matches, next_cursor, ..kept.head.clone() })
    }

    /// The matches of a page, and where the next one begins. An error is the file that is another by now.
    fn shown_page(&self, kept: &Kept, offset: usize, limit: usize) -> Result<(Vec<wire::AstMatch>, Option<usize>), String> {
        let root = self.workspace.root();
        let mut matches = Vec::new();
        let shown = page(&root, &self.daemon.trees, &kept.compiled, &kept.files, &self.limits, (offset, limit), &mut |place| {
            let (found, bytes) = view::found(&self.workspace.path, place, first_named(&kept.compiled, place.language));
            matches.push(found);
            bytes
        })
        .map_err(|stale| stale.0)?;
        let next = offset + shown;
        Ok((matches, (shown > 0 && (next as u64) < kept.head.total).then_some(next)))
    }

    /// Searches everything.
    fn counted(
        &self,
        target: &Target,
        asked: &Asked,
        compiled: Compiled,
        question: [u8; 8],
        explain: bool,
        token: Option<&Arc<str>>,
    ) -> Result<Kept, RpcError> {
        let scope = self.scope(target, asked)?;
        let (root, trees) = (self.workspace.root(), &self.daemon.trees);
        let counted = self.bounded(token, |bounds| count(&root, trees, &compiled, &scope.files, &self.limits, bounds));
        if self.cancel.is_cancelled() {
            return Err(refusal::cancelled());
        }
        if let [only] = scope.files.as_slice() {
            let path = self.shown(only.rel.to_str().unwrap_or_default());
            if let Some((_, steps)) = &counted.budget {
                return Err(refusal::budget(path, *steps));
            }
            if counted.too_deep.is_some() {
                return Err(refusal::too_deep(path, self.limits.max_depth));
            }
        }
        let others = if counted.total > 0 {
            None
        } else {
            self.bounded(None, |bounds| counted.others(&root, trees, &compiled, &scope.files, &self.limits, bounds))
        };
        let with_tree = explain || counted.total == 0;
        let head = self.head(&scope.skipped, &compiled, &counted, others.as_ref(), with_tree);
        Ok(Kept::new(question, compiled, counted.files, head))
    }

    fn head(
        &self,
        left_out: &BTreeMap<&'static str, u64>,
        compiled: &Compiled,
        counted: &Counted,
        others: Option<&Readings>,
        with_tree: bool,
    ) -> wire::GrepResult {
        let mut skipped: BTreeMap<String, u64> = BTreeMap::new();
        for (reason, files) in left_out.iter().chain(&counted.skipped) {
            *skipped.entry((*reason).to_owned()).or_default() += files;
        }
        let mut hints: Vec<String> = Vec::new();
        for (_, query) in compiled.queries() {
            hints.extend(query.hints().iter().filter(|hint| !hints.contains(hint)).cloned().collect::<Vec<_>>());
        }
        if counted.skipped.contains_key("pattern_unparsable") {
            hints.extend(unable(compiled));
        }
        let readings = readings(compiled, counted, others, with_tree);
        if counted.total == 0
            && let Some(best) = readings.iter().filter(|reading| !reading.searched).max_by_key(|reading| reading.total)
            && let Some(total) = best.total.filter(|total| *total > 0)
        {
            let searched = readings.iter().find(|reading| reading.searched).map_or("", |reading| &reading.kind);
            hints.push(format!(
                "0 matches as {searched}, but {total} as {}: ask again with `reading: \"{}\"`.",
                best.kind, best.reading
            ));
        }
        let tree = compiled.queries().next().filter(|_| with_tree).map(|(_, query)| query.tree(query.searched()).to_owned());
        wire::GrepResult {
            matches: Vec::new(),
            readings,
            total: counted.total,
            files_matched: counted.files.len() as u64,
            files_searched: counted.searched,
            skipped,
            parse_errors: counted.parse_errors.len() as u64,
            parse_error_files: counted.parse_errors.iter().take(NAMED).cloned().collect(),
            macro_bodies_not_searched: counted.macro_bodies,
            hints,
            complete: counted.complete,
            next_cursor: None,
            tree: tree.filter(|tree| !tree.is_empty()),
            epoch: epoch(self.workspace),
        }
    }
}

/// The readings of all grammars, merged by their name and kind.
fn readings(compiled: &Compiled, counted: &Counted, others: Option<&Readings>, with_tree: bool) -> Vec<wire::Reading> {
    let mut merged: Vec<wire::Reading> = Vec::new();
    for (language, query) in compiled.queries() {
        for (at, reading) in query.readings().iter().enumerate() {
            let searched = at == query.searched();
            let total = match searched {
                true => Some(counted.by_language.get(&language).copied().unwrap_or(0)),
                false => others.and_then(|others| others.get(&(language, at)).copied()),
            };
            let known = merged.iter_mut().find(|known| known.reading == reading.name && known.kind == reading.kind);
            if let Some(known) = known {
                known.searched |= searched;
                known.total = match (known.total, total) {
                    (None, total) | (total, None) => total,
                    (Some(one), Some(other)) => Some(one + other),
                };
            } else {
                merged.push(wire::Reading {
                    reading: reading.name.to_owned(),
                    kind: reading.kind.clone(),
                    total,
                    searched,
                    tree: with_tree.then(|| query.tree(at).to_owned()),
                });
            }
        }
    }
    merged
}
