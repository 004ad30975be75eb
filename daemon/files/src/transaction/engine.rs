//! The transaction itself: plan, stage, journal, apply, sync, commit, clean. Generic over the file system.

use std::{collections::HashSet, ffi::OsStr};

use rustix::io::Errno;

use super::{
    apply::{Stopped, apply, print_at},
    change::{Atomic, Change, Committed, Durability, Note, Options},
    fail::{Failure, Kept, TransactionError},
    failpoint::failpoint,
    folders::{Base, Folders},
    fs::{Fs, Rename, again, unless_absent},
    journal::{Journal, JournalRoot, Memo, OpKind, Stage, joined, stem},
    plan::{Lessons, Plan, STAGES, plan},
    recover,
    rollback::{kept, rollback, state, sync},
    stage::{stage, unstage},
    store::{Store, now},
    undo::{Saver, keeps},
};

/// Stores a success.
pub(crate) type Record<'r> = &'r mut dyn FnMut(&Committed) -> std::io::Result<()>;

/// One transaction and its surroundings.
pub(crate) struct Engine<'e, F: Fs> {
    pub(crate) fs: &'e F,
    pub(crate) store: &'e Store<F>,
    pub(crate) roots: Vec<Base<F::Fd>>,
    pub(crate) txn_id: &'e str,
    pub(crate) options: Options,
    pub(crate) memo: Option<&'e Memo>,
}

impl<F: Fs> Engine<'_, F> {
    /// Does all of it or nothing. `record` is told after the commit and before the journal goes.
    pub(crate) fn run(&self, changes: &[Change], record: Record<'_>) -> Result<Committed, TransactionError> {
        recover::ensure_settled(self.fs, self.store, &self.roots, self.txn_id)?;
        let mut lessons = Lessons::default();
        loop {
            match self.attempt(changes, &mut lessons, record) {
                Attempt::Done(result) => return *result,
                Attempt::Again => {}
            }
        }
    }

    fn attempt(&self, changes: &[Change], lessons: &mut Lessons, record: Record<'_>) -> Attempt {
        let folders = Folders::new(self.fs, self.roots.clone());
        let stem = stem(self.txn_id);
        let mut plan = match plan(&folders, changes, self.options, &stem, lessons) {
            Ok(plan) => plan,
            Err(error) => return Attempt::failed(error),
        };
        if let Err(errno) = failpoint("planned") {
            return Attempt::failed(self.failed(errno));
        }
        if plan.steps.is_empty() {
            let committed = Committed {
                files: plan.files,
                atomic: Atomic::Exchange,
                notes: plan.notes,
                made_dirs: Vec::new(),
                undoable: false,
                no_change: true,
            };
            // Nothing was written, so there is nothing that a journal would have to tell.
            let _ = record(&committed);
            return Attempt::Done(Box::new(Ok(committed)));
        }
        let journal = match self.prepare(&folders, &mut plan, &stem) {
            Ok(journal) => journal,
            Err(error) => return Attempt::failed(error),
        };
        let mut atomic = Atomic::Exchange;
        for (at, op) in journal.ops.iter().enumerate() {
            let step = apply(&folders, &self.store.journals, op, journal.power).and_then(|how| {
                match failpoint(&format!("swapped:{}", at + 1)) {
                    Ok(()) => Ok(how),
                    Err(errno) => Err(self.failed(errno).into()),
                }
            });
            let stopped = match step {
                Ok(how) => {
                    atomic = atomic.max(how);
                    continue;
                }
                Err(stopped) => stopped,
            };
            // A refusal to write in place comes before the first byte of it.
            let untouched =
                op.kind == OpKind::InPlace && matches!(stopped, Stopped::Failed(TransactionError::ContentChanged { .. }));
            let steps = if untouched { at } else { at + 1 };
            let change = plan.steps[at].change;
            let (cause, again) = match stopped {
                Stopped::Failed(error) => (error, false),
                Stopped::OtherMount => (self.stopped(&folders, op, Errno::XDEV), lessons.beside.insert(change)),
                Stopped::MountPoint => {
                    let possible = op.kind == OpKind::Exchange && lessons.in_place.insert(change);
                    (self.stopped(&folders, op, Errno::BUSY), possible)
                }
            };
            return match self.undo(&folders, &journal, &stem, steps, cause) {
                error if again && error.rolled_back() => Attempt::Again,
                error => Attempt::failed(error),
            };
        }
        if let Err((cause, committed)) = self.commit(&folders, &journal, &stem)
            && !committed
        {
            return Attempt::failed(self.undo(&folders, &journal, &stem, journal.ops.len(), cause));
        }
        let _ = failpoint("committed");
        Attempt::Done(Box::new(Ok(self.finish(&folders, &journal, &stem, plan, atomic, record))))
    }

    /// Stages the files and writes the journal. What fails here leaves nothing.
    fn prepare(&self, folders: &Folders<'_, F>, plan: &mut Plan, stem: &OsStr) -> Result<Journal, TransactionError> {
        let power = self.options.durability == Durability::Power;
        let mut journal = Journal {
            txn_id: self.txn_id.to_owned(),
            instance: std::process::id().to_string(),
            time: now(),
            power,
            roots: self
                .roots
                .iter()
                .map(|root| JournalRoot { path: root.path.clone(), dev: root.dev, ino: root.ino, stage: None })
                .collect(),
            ops: Vec::new(),
            memo: None,
        };
        for step in &plan.steps {
            if step.op.slot.folder.starts_with(STAGES) {
                journal.roots[step.op.root].stage = Some(stem.to_owned());
            }
        }
        let fail = |errno| TransactionError::of(&self.roots[0].path, errno);
        let journals = &self.store.journals;
        let mut steps = || {
            // The next start finds by this what a process that ended here leaves, whatever folder it lies in.
            journal.ops = plan.steps.iter().map(|step| step.op.clone()).collect();
            super::journal::put(self.fs, journals, &joined(stem, Stage::Staging.ending()), &journal.encode(), false)
                .map_err(fail)?;
            let staged = stage(folders, self.store, plan, self.options, power);
            journal.ops = plan.steps.iter().map(|step| step.op.clone()).collect();
            staged?;
            journal.memo = self.memo.cloned();
            failpoint("staged").map_err(fail)?;
            journal.write(self.fs, journals, stem, Stage::Prepared).map_err(fail)?;
            failpoint("prepared").map_err(fail)
        };
        let result = steps();
        let prepared = joined(stem, Stage::Prepared.ending());
        if result.is_err() {
            // First the journal: without it what is staged is an orphan, which any later sweep removes.
            let _ = self.fs.unlink(journals, &prepared);
            let _ = unstage(folders, self.store, &journal, &HashSet::new());
        }
        let _ = self.fs.unlink(journals, &joined(stem, Stage::Staging.ending()));
        result.map(|()| journal)
    }

    /// Makes the new state durable and passes the commit point. An error says whether that was passed all the same.
    fn commit(&self, folders: &Folders<'_, F>, journal: &Journal, stem: &OsStr) -> Result<(), (TransactionError, bool)> {
        let fail = |errno| self.failed(errno);
        if journal.power {
            sync(folders, &journal.ops).map_err(|errno| (fail(errno), false))?;
        }
        failpoint("synced").map_err(|errno| (fail(errno), false))?;
        let (fs, journals) = (self.fs, &self.store.journals);
        let prepared = joined(stem, Stage::Prepared.ending());
        let done = joined(stem, Stage::Committed.ending());
        fs.rename(journals, &prepared, journals, &done, Rename::Replace).map_err(|errno| (fail(errno), false))?;
        if journal.power
            && let Err(errno) = again(|| fs.sync_folder(journals))
        {
            // Whether the commit is durable cannot be told. If its record can be taken back it did not happen; if not,
            // it did, as recovery will see it.
            let back = fs.rename(journals, &done, journals, &prepared, Rename::Replace);
            return Err((fail(errno), back.is_err()));
        }
        Ok(())
    }

    /// Takes steps back. Says how it ended.
    fn undo(
        &self,
        folders: &Folders<'_, F>,
        journal: &Journal,
        stem: &OsStr,
        steps: usize,
        cause: TransactionError,
    ) -> TransactionError {
        let (fs, journals) = (self.fs, &self.store.journals);
        let place = self.store.journal_path();
        let conflicts = match rollback(folders, journals, journal, steps) {
            Ok(conflicts) => conflicts,
            Err(_) => return self.not_undone(folders, journal, cause),
        };
        if let Err(_errno) = recover::close_rolled_back(fs, self.store, folders, journal, stem, &conflicts) {
            // The files are back; the journal says the same thing once more to recovery.
            return if conflicts.is_empty() { cause } else { self.not_undone(folders, journal, cause) };
        }
        if conflicts.is_empty() {
            return cause;
        }
        let mut conflicts: Vec<_> = conflicts.into_iter().collect();
        conflicts.sort_unstable();
        let paths = conflicts.into_iter().map(|at| {
            let op = &journal.ops[at];
            Kept { path: folders.absolute(op.root, &op.path), kept: kept(folders, journals, &place, op) }
        });
        TransactionError::Conflict { cause: Box::new(cause), paths: paths.collect() }
    }

    fn not_undone(&self, folders: &Folders<'_, F>, journal: &Journal, cause: TransactionError) -> TransactionError {
        let place = self.store.journal_path();
        let files = journal.ops.iter().filter(|op| op.kind != OpKind::MakeFolder);
        TransactionError::RollbackFailed {
            cause: Box::new(cause),
            paths: files.clone().map(|op| (folders.absolute(op.root, &op.path), state(folders, op))).collect(),
            recovery_files: files.filter_map(|op| kept(folders, &self.store.journals, &place, op)).collect(),
        }
    }

    /// After the commit: nothing here can fail the call any more. What cannot be cleaned is cleaned by recovery.
    fn finish(
        &self,
        folders: &Folders<'_, F>,
        journal: &Journal,
        stem: &OsStr,
        plan: Plan,
        atomic: Atomic,
        record: Record<'_>,
    ) -> Committed {
        let mut notes = plan.notes;
        let undoable = save(folders, self.store, journal, &mut notes, false).unwrap_or(false);
        let unstaged = unstage(folders, self.store, journal, &HashSet::new());
        let made = journal.ops.iter().filter(|op| op.kind == OpKind::MakeFolder);
        let committed = Committed {
            files: plan.files,
            atomic,
            notes,
            made_dirs: made.map(|op| folders.absolute(op.root, &op.path)).collect(),
            undoable,
            no_change: false,
        };
        // Where the success could not be recorded the journal stays and tells it.
        let recorded = record(&committed);
        if recorded.is_ok() && unstaged.is_ok() {
            let _ = unless_absent(self.fs.unlink(&self.store.journals, &joined(stem, Stage::Committed.ending())));
        }
        let _ = failpoint("cleaned");
        committed
    }

    fn failed(&self, errno: Errno) -> TransactionError {
        TransactionError::of(&self.roots[0].path, errno)
    }

    fn stopped(&self, folders: &Folders<'_, F>, op: &super::journal::Op, errno: Errno) -> TransactionError {
        let path = folders.absolute(op.root, &op.path);
        TransactionError::CommitFailed(Failure { path, os_error: crate::error::errno_name(errno) })
    }
}

enum Attempt {
    Done(Box<Result<Committed, TransactionError>>),
    Again,
}

impl Attempt {
    fn failed(error: TransactionError) -> Self {
        Self::Done(Box::new(Err(error)))
    }
}

/// Moves what was replaced to where an undo finds it. Looks once more whether another process wrote into it.
pub(crate) fn save<F: Fs>(
    folders: &Folders<'_, F>,
    store: &Store<F>,
    journal: &Journal,
    notes: &mut Vec<Note>,
    goes_on: bool,
) -> Result<bool, Errno> {
    let fs = folders.fs;
    let mut saver = Saver::new(fs, store, journal, goes_on)?;
    let mut whole = true;
    for (at, op) in journal.ops.iter().enumerate() {
        if op.kind == OpKind::MakeFolder {
            continue;
        }
        if !keeps(op.kind) {
            saver.file(op.root, &op.path, None, op.post, None);
            continue;
        }
        let (folder, name) = match op.kind {
            OpKind::InPlace => (store.journals.clone(), joined(&op.slot.name, ".pre")),
            _ => {
                let folder = folders.get(op.root, &op.slot.folder)?;
                let old = op.slot.old();
                let weak = fs.stat_at(&folder, &old).is_ok();
                (folder, if weak { old } else { op.slot.name.clone() })
            }
        };
        let taken_before = std::ffi::OsString::from(at.to_string());
        if goes_on && saver.has(&taken_before) {
            saver.file(op.root, &op.path, op.pre, op.post, Some(&taken_before));
            continue;
        }
        let found = print_at(fs, &folder, &name)?;
        let same = found.map(|found| found.version) == op.pre.map(|pre| pre.version);
        let kept = std::ffi::OsString::from(if same { format!("{at}") } else { format!("late-{at}") });
        let taken = saver.take(&folder, &name, &kept);
        if !same && found.is_some() {
            let kept = taken.is_ok().then(|| saver.path(&kept));
            notes.push(Note::LateWrite { path: folders.absolute(op.root, &op.path), kept });
        }
        whole &= same && taken.is_ok();
        saver.file(op.root, &op.path, op.pre, op.post, Some(&kept));
    }
    Ok(saver.finish()? && whole)
}
