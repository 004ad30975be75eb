//! One edit, from the request to the outcome.

use std::{
    io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use ccd_files::{
    Atomic, Change, Committed, Expect, Limits, Memo, Note, Outcome, OutcomeState, Root, Settled, State, Transaction,
    TransactionError, Unsettled,
};
use ccd_text::{LineEnding, Version};
use dashmap::DashMap;

use crate::{
    failures::{Failures, Refused},
    ledger::{Ledger, LedgerLimits},
    plan::{self, After, Planned},
    request::{Answer, EditError, EditOutcome, FileOp, FileOutcome, HunkOutcome, Missing, NoteOutcome, Observer, Request, What},
    stages::Stages,
};

/// How often a plan is made again because the files changed under it.
const PLANS: usize = 3;

/// The edits of a daemon.
#[derive(Debug)]
pub struct Editor {
    folder: PathBuf,
    limits: Limits,
    state: OnceLock<Result<State, String>>,
    /// Of all runs.
    pub ledger: Ledger,
    failures: Failures,
    /// Prepared changes.
    pub stages: Stages,
    under_way: DashMap<String, ()>,
    /// Received, and perhaps not begun; how often.
    announced: DashMap<String, usize>,
    /// Whether a journal may lie there that nobody has looked for since the last edit.
    unsure: AtomicBool,
    settled: Mutex<Vec<Settled>>,
}

/// Takes an id off the list of those under way.
struct UnderWay<'e>(&'e Editor, String);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.unsure.store(true, Ordering::Release);
        self.0.under_way.remove(&self.1);
    }
}

fn open_root(path: &Path) -> Option<Arc<Root>> {
    Root::open(path, None).ok().map(Arc::new)
}

impl Editor {
    /// Over a state folder, which is made when it is first needed. `instance` names the daemon, for the ids of stages.
    pub fn new(folder: PathBuf, limits: Limits, instance: &str) -> Self {
        Self {
            folder,
            limits,
            state: OnceLock::new(),
            ledger: Ledger::default(),
            failures: Failures::default(),
            stages: Stages::new(instance),
            under_way: DashMap::new(),
            announced: DashMap::new(),
            unsure: AtomicBool::new(true),
            settled: Mutex::default(),
        }
    }

    /// Opens the state folder and settles what an earlier process left. Edits wait for it. Blocks.
    pub fn recover(&self) -> Result<Vec<Settled>, EditError> {
        self.state()?;
        Ok(std::mem::take(&mut *self.settled.lock().unwrap_or_else(PoisonError::into_inner)))
    }

    fn state(&self) -> Result<&State, EditError> {
        let opened = self.state.get_or_init(|| {
            ccd_files::private_folder(&self.folder).map_err(|error| error.to_string())?;
            let state = State::open(&self.folder, self.limits).map_err(|error| error.to_string())?;
            match state.recover(&open_root) {
                Ok(settled) => {
                    for one in &settled {
                        tracing::info!(txn = %one.txn_id, state = one.state.name(), "settled what an earlier process left");
                    }
                    *self.settled.lock().unwrap_or_else(PoisonError::into_inner) = settled;
                }
                Err(error) => tracing::error!(%error, "recovery failed"),
            }
            Ok(state)
        });
        opened.as_ref().map_err(|error| EditError::State(error.clone()))
    }

    /// Settles what concerns a root that is used for the first time. Blocks.
    pub fn recover_root(&self, root: &Arc<Root>) -> Result<(), EditError> {
        let state = self.state()?;
        state.recover_root(root, &open_root).map(drop).map_err(|error| EditError::State(error.to_string()))
    }

    /// Transactions that are not settled.
    pub fn unsettled(&self) -> Vec<Unsettled> {
        let Some(Ok(state)) = self.state.get() else { return Vec::new() };
        if self.under_way.is_empty() && !self.unsure.swap(false, Ordering::AcqRel) {
            return Vec::new();
        }
        let found = state.unsettled(&open_root);
        if !matches!(&found, Ok(found) if found.is_empty()) {
            self.unsure.store(true, Ordering::Release);
        }
        found.unwrap_or_default()
    }

    /// What is known of a transaction.
    pub fn outcome(&self, txn_id: &str) -> Result<Option<Outcome>, EditError> {
        if self.under_way.contains_key(txn_id) {
            return Ok(Some(preparing(txn_id)));
        }
        self.state()?.outcome(txn_id).map_err(|error| EditError::State(error.to_string()))
    }

    /// What is known of a transaction, without waiting: none while what an earlier process left is being settled.
    pub fn known(&self, txn_id: &str) -> Option<Result<Option<Outcome>, EditError>> {
        self.state.get()?;
        let known = self.outcome(txn_id);
        if matches!(known, Ok(None)) && self.announced.contains_key(txn_id) {
            return Some(Ok(Some(preparing(txn_id))));
        }
        Some(known)
    }

    /// A call of this id was received: until it is [retracted](Self::retract), nobody is told that nothing is known of it.
    pub fn announce(&self, txn_id: &str) {
        *self.announced.entry(txn_id.to_owned()).or_default() += 1;
    }

    /// That call has its answer.
    pub fn retract(&self, txn_id: &str) {
        if let Some(mut count) = self.announced.get_mut(txn_id) {
            *count -= 1;
        }
        self.announced.remove_if(txn_id, |_, count| *count == 0);
    }

    /// Does what a request asks, or nothing. `encode` makes the bytes that are stored for a repetition. Blocks. From the
    /// moment the transaction begins it cannot be cancelled.
    pub fn apply(
        &self,
        request: &Request,
        ledger: LedgerLimits,
        observer: &dyn Observer,
        encode: &dyn Fn(&EditOutcome) -> Vec<u8>,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Answer, EditError> {
        let state = self.state()?;
        let txn_id = request.txn_id.clone().unwrap_or_else(|| fresh_id(&request.hash));
        if let Some(stored) = self.stored(&txn_id, &request.hash, request.reach.roots[0].path())? {
            return Ok(Answer::Stored(stored));
        }
        if self.under_way.insert(txn_id.clone(), ()).is_some() {
            return Err(EditError::UnderWay { txn_id });
        }
        let _under_way = UnderWay(self, txn_id.clone());

        let mut planned = self.plan(state, request, ledger, cancelled)?;
        if cancelled() {
            return Err(EditError::Cancelled);
        }
        if request.dry_run || planned.changes.is_empty() {
            let mut outcome = describe(request, &planned, &txn_id);
            outcome.applied = !request.dry_run;
            return Ok(Answer::Done(Box::new(outcome)));
        }
        observer.about_to_change(&planned.before(request));
        let locks = state.lock(&request.locks, request.lock_wait)?;
        if let What::Stage { id } = &request.what {
            // Who had the lock before may have accepted it.
            self.stages.unused(id).map_err(|why| EditError::Stage { id: id.clone(), why })?;
        }
        // Nobody of ours writes any more. What others have written since is found by its text again, a few times.
        let mut plans = 1;
        while can_plan_again(&request.what) && plans < PLANS && !still_as_planned(request, &planned) {
            if cancelled() {
                return Err(EditError::Cancelled);
            }
            plans += 1;
            planned = self.plan(state, request, ledger, cancelled)?;
            if planned.changes.is_empty() {
                return Ok(Answer::Done(Box::new(describe(request, &planned, &txn_id))));
            }
        }
        if cancelled() {
            return Err(EditError::Cancelled);
        }
        let foreseen = describe(request, &planned, &txn_id);
        let transaction = Transaction {
            state,
            txn_id: txn_id.clone(),
            roots: request.reach.roots.clone(),
            options: request.options,
            changes: planned.changes.clone(),
            memo: Some(Memo { request: request.hash, result: encode(&foreseen) }),
        };
        let mut outcome = None;
        // Who writes from here on keeps what they wrote, and the caller is told.
        let committed = transaction.commit(&locks, &mut |committed: &Committed| {
            let described = happened(request, &planned, foreseen.clone(), committed);
            let stored = self.store(state, request, &txn_id, OutcomeState::Committed, encode(&described));
            outcome = Some(described);
            stored
        });
        // What a person has to look at is told of the transaction from now on, not only in this answer.
        let left = match &committed {
            Err(TransactionError::Conflict { .. }) => Some(OutcomeState::Conflict),
            Err(TransactionError::RollbackFailed { .. }) => Some(OutcomeState::RollbackFailed),
            _ => None,
        };
        if let Some(became) = left {
            let _ = self.store(state, request, &txn_id, became, Vec::new());
        }
        committed?;
        self.note(request, &planned, ledger);
        if let What::Stage { id } = &request.what {
            self.stages.used(id, &txn_id);
        }
        let paths = changed_paths(request, &planned);
        drop(locks);
        observer.committed(&paths);
        self.finished(state, request);
        let outcome = outcome.unwrap_or(foreseen);
        // It has happened: nothing can make an error of it any more.
        let _ = ccd_files::failpoint("replied");
        Ok(Answer::Done(Box::new(outcome)))
    }

    /// What was answered to an earlier call of this id, if it asked for the same; none if nothing of it happened. Blocks.
    pub fn stored(&self, txn_id: &str, request: &[u8; 16], root: &Path) -> Result<Option<Vec<u8>>, EditError> {
        let Some(known) = self.outcome(txn_id)? else { return Ok(None) };
        let txn_id = txn_id.to_owned();
        match known.state {
            OutcomeState::Preparing => Err(EditError::UnderWay { txn_id }),
            OutcomeState::Committed if known.request.is_some_and(|hash| hash != *request) => {
                Err(EditError::TxnIdReused { txn_id })
            }
            OutcomeState::Committed if !known.result.is_empty() => Ok(Some(known.result)),
            OutcomeState::RecoveryPending | OutcomeState::RollbackFailed => {
                Err(TransactionError::RecoveryPending { root: root.to_path_buf(), txn_id }.into())
            }
            // Of the one nobody knows any more what was asked, and doing it again could be doing it twice; of the
            // other the old bytes are still kept under this id.
            OutcomeState::Committed | OutcomeState::Conflict => Err(EditError::TxnIdReused { txn_id }),
            OutcomeState::RolledBack => Ok(None),
        }
    }

    fn plan(
        &self,
        state: &State,
        request: &Request,
        ledger: LedgerLimits,
        cancelled: &dyn Fn() -> bool,
    ) -> Result<Planned, EditError> {
        match &request.what {
            What::Write { path, content, create, overwrite } => {
                plan::write(request, &self.ledger, ledger, path, content, (*create, *overwrite))
            }
            What::Edit { path, replacements } => plan::edit(request, path, replacements),
            What::Patch { text, cwd } => self.refusable(request, text, cwd, cancelled),
            What::Amend { failure_id, hunks } => {
                let missing = |why| EditError::FailureUnknown { id: failure_id.clone(), why };
                let refused = self.failures.get(failure_id).map_err(missing)?;
                let replacements: Vec<ccd_patch::Replacement<'_>> =
                    hunks.iter().map(|(index, text)| ccd_patch::Replacement { index: *index, text }).collect();
                let text = ccd_patch::amend(&refused.text, &replacements).map_err(EditError::Amend)?;
                self.refusable(request, &text, &refused.cwd, cancelled)
            }
            What::Stage { id } => {
                let refused = |why| EditError::Stage { id: id.clone(), why };
                plan::stage(request, &*self.stages.get(id).map_err(refused)?)
            }
            What::Undo { txn_id } => {
                let entry = state.undo(txn_id).map_err(|error| EditError::State(error.to_string()))?;
                let entry =
                    entry.ok_or_else(|| EditError::UndoUnknown { id: txn_id.clone(), why: self.why_not(state, txn_id) })?;
                plan::undo(request, &entry, txn_id)
            }
        }
    }

    fn why_not(&self, state: &State, txn_id: &str) -> Missing {
        match state.outcome(txn_id) {
            Ok(Some(known)) if known.state == OutcomeState::Committed => Missing::Used,
            _ => Missing::Unknown,
        }
    }

    /// A patch whose refusal is kept for an amended one.
    fn refusable(&self, request: &Request, text: &str, cwd: &Path, cancelled: &dyn Fn() -> bool) -> Result<Planned, EditError> {
        plan::patch(request, text, cwd, cancelled).map_err(|error| match error {
            EditError::Refused { faults, failures, cwd, .. } => {
                let keep = Refused { text: text.to_owned(), cwd: cwd.clone() };
                let failure_id = (!failures.is_empty()).then(|| self.failures.keep(request.run.as_deref(), keep));
                EditError::Refused { faults, failures, failure_id, cwd }
            }
            other => other,
        })
    }

    /// Stores what became of a call, for a repetition of it and for those who ask.
    fn store(&self, state: &State, request: &Request, txn_id: &str, became: OutcomeState, result: Vec<u8>) -> io::Result<()> {
        let outcome = Outcome { txn_id: txn_id.to_owned(), request: Some(request.hash), state: became, time: seconds(), result };
        state.put_outcome(&outcome, request.options.durability).inspect_err(|error| {
            tracing::warn!(%error, txn = txn_id, "the outcome could not be stored");
        })
    }

    fn note(&self, request: &Request, planned: &Planned, limits: LedgerLimits) {
        let Some(run) = &request.run else { return };
        for file in &planned.files {
            let path = request.reach.absolute(&file.key);
            match &file.after {
                After::Bytes(bytes) => self.ledger.note(run, &path, Version::of(bytes), limits),
                After::Gone | After::OnDisk => self.ledger.forget(run, &path),
            }
            if let Some(from) = &file.from {
                self.ledger.forget(run, &request.reach.absolute(from));
            }
        }
    }

    fn finished(&self, state: &State, request: &Request) {
        match &request.what {
            What::Amend { failure_id, .. } => self.failures.used(failure_id),
            What::Undo { txn_id } => {
                if let Err(error) = state.forget_undo(txn_id) {
                    tracing::debug!(%error, "what was undone could not be let go of");
                }
            }
            _ => {}
        }
    }
}

/// Whether the files still hold what the plan was made from.
fn still_as_planned(request: &Request, planned: &Planned) -> bool {
    planned.changes.iter().all(|change| {
        let (Change::Write { root, rel, expect, .. } | Change::Remove { root, rel, expect, .. }) = change else { return true };
        let Some(folder) = request.reach.roots.get(*root) else { return true };
        match expect {
            Expect::Any => true,
            Expect::Absent => matches!(folder.stat(rel), Err(ccd_files::FileError::NotFound)),
            Expect::Version(version) => {
                folder.read(rel, request.reach.max_bytes).is_ok_and(|read| Version::of(&read.bytes) == *version)
            }
        }
    })
}

fn can_plan_again(what: &What) -> bool {
    matches!(what, What::Edit { .. } | What::Patch { .. } | What::Amend { .. } | What::Stage { .. })
}

fn preparing(txn_id: &str) -> Outcome {
    Outcome { txn_id: txn_id.to_owned(), request: None, state: OutcomeState::Preparing, time: 0, result: Vec::new() }
}

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// An id that no other call has.
fn fresh_id(hash: &[u8; 16]) -> String {
    static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("t{now:x}-{:x}-{count:x}{:02x}", std::process::id(), hash[0])
}

fn changed_paths(request: &Request, planned: &Planned) -> Vec<PathBuf> {
    let keys = planned.files.iter().flat_map(|file| [Some(&file.key), file.from.as_ref()]).flatten();
    keys.map(|key| request.reach.absolute(key)).collect()
}

/// The outcome of a plan, as it would be, or as it was committed.
fn describe(request: &Request, planned: &Planned, txn_id: &str) -> EditOutcome {
    let mut files = Vec::new();
    let mut diffs: Vec<(PathBuf, String, Vec<HunkOutcome>)> = Vec::new();
    for file in &planned.files {
        let path = request.reach.absolute(&file.key);
        let after: Option<Arc<[u8]>> = match &file.after {
            After::Bytes(bytes) => Some(bytes.clone()),
            After::Gone => None,
            After::OnDisk => request
                .reach
                .roots
                .get(file.key.root)
                .and_then(|root| root.read(&file.key.rel, request.reach.max_bytes).ok())
                .map(|read| read.bytes.into()),
        };
        let rel = file.key.rel.to_string_lossy();
        let diff = ccd_text::diff(file.before.as_deref(), after.as_deref());
        let (mut added, mut removed) = (diff.added, diff.removed);
        let hunks = diff.hunks.iter().map(|hunk| HunkOutcome {
            path: path.clone(),
            matched: planned.matched(&file.key, hunk.old_line, hunk.old_lines),
            hunk: hunk.clone(),
        });
        diffs.push((path.clone(), diff.unified(&rel), hunks.collect()));
        let from = file.from.as_ref().map(|from| {
            let gone = ccd_text::diff(file.source.as_deref(), None);
            let shown = request.reach.absolute(from);
            // A move shows as one deletion and one addition; its counts are those of what changed on the way.
            diffs.push((shown.clone(), gone.unified(&from.rel.to_string_lossy()), Vec::new()));
            let changed = ccd_text::diff(file.source.as_deref(), after.as_deref());
            (added, removed) = (changed.added, changed.removed);
            shown
        });
        let ending = after.as_deref().or(file.before.as_deref()).map_or(LineEnding::Lf, LineEnding::of);
        let version = match file.op {
            FileOp::Delete => None,
            _ => after.as_deref().map(Version::of),
        };
        files.push(FileOutcome { key: file.key.clone(), path, op: file.op, from, version, line_ending: ending, added, removed });
    }
    diffs.sort_by(|a, b| a.0.cmp(&b.0));
    EditOutcome {
        txn_id: txn_id.to_owned(),
        applied: true,
        summary: planned.summary.clone(),
        diff: diffs.iter().map(|(_, text, _)| text.as_str()).collect(),
        hunks: diffs.into_iter().flat_map(|(_, _, hunks)| hunks).collect(),
        files,
        operations: planned.operations.clone(),
        atomic: Atomic::Exchange,
        notes: planned.notes.clone(),
        undoable: false,
    }
}

/// What is known only now that it has happened.
fn happened(request: &Request, planned: &Planned, foreseen: EditOutcome, committed: &Committed) -> EditOutcome {
    let restores = planned.files.iter().any(|file| matches!(file.after, After::OnDisk));
    let mut outcome = if restores { describe(request, planned, &foreseen.txn_id) } else { foreseen };
    outcome.notes.extend(committed.notes.iter().map(note));
    outcome.atomic = committed.atomic;
    outcome.undoable = committed.undoable;
    outcome
}

fn note(note: &Note) -> NoteOutcome {
    match note {
        Note::HardlinkBroken { path, count } => NoteOutcome {
            kind: "hardlink_broken",
            path: Some(path.clone()),
            detail: Some(format!("The file had {count} names; the others keep the old text.")),
        },
        Note::LateWrite { path, kept } => NoteOutcome {
            kind: "late_write",
            path: Some(path.clone()),
            detail: Some(match kept {
                Some(kept) => format!("Another process wrote into the old file meanwhile; it is kept as {}.", kept.display()),
                None => "Another process wrote into the old file meanwhile.".to_owned(),
            }),
        },
        Note::MetadataLost { path, what } => NoteOutcome {
            kind: "metadata_lost",
            path: Some(path.clone()),
            detail: Some(format!("The {what} of the file could not be kept.")),
        },
    }
}
