//! Recovery: what a process that ended in the middle left behind.
//!
//! A transaction that was not committed is undone, for its caller got no answer and will try again on the old text; one
//! that was is cleaned. Doing it twice, or being killed in it, changes nothing. Orphan stages are swept last, and never
//! one that a remaining journal names: it holds the only copy of somebody's bytes.

use std::{
    collections::HashSet,
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use rustix::io::Errno;

use super::{
    engine::save,
    fail::TransactionError,
    folders::{Base, Folders},
    fs::{Fs, Open, Rename, again, unless_absent},
    journal::{Journal, JournalRoot, OpKind, Stage, joined, read, stem},
    outcome::{self, OutcomeState},
    plan::STAGES,
    rollback::{kept, rollback},
    stage::{close_stages, empty_folder, unstage},
    store::{QUARANTINE, Store, now},
};

/// What recovery made of a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settled {
    /// The transaction.
    pub txn_id: String,
    /// [`OutcomeState::Committed`], [`OutcomeState::RolledBack`], [`OutcomeState::Conflict`] or, where it could not be
    /// settled, [`OutcomeState::RecoveryPending`] and [`OutcomeState::RollbackFailed`].
    pub state: OutcomeState,
    /// The roots it wrote to.
    pub roots: Vec<PathBuf>,
}

/// A transaction that is not settled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsettled {
    /// The root; of several, the first one.
    pub root: PathBuf,
    /// The transaction; of a damaged journal, the name of its file.
    pub txn_id: String,
    /// `pending` (to be undone), `committed` (to be cleaned), `conflict` or `damaged`.
    pub state: &'static str,
    /// The files it is about. Absolute.
    pub paths: Vec<PathBuf>,
    /// Where their bytes from before are. Absolute.
    pub kept: Vec<PathBuf>,
}

/// Finds the root of a journal, if it is there.
pub(crate) type Lookup<'l, F> = &'l dyn Fn(&JournalRoot) -> Option<Base<<F as Fs>::Fd>>;

/// The files in the folder of the journals.
fn journals<F: Fs>(fs: &F, store: &Store<F>) -> Result<Vec<(OsString, OsString, Stage)>, Errno> {
    let mut found = Vec::new();
    for name in fs.list(&store.journals)? {
        if let Some((stem, stage)) = Stage::of(&name) {
            found.push((name, stem, stage));
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    Ok(found)
}

/// The folders of a journal; none when one of its roots is not there.
fn folders<'f, F: Fs>(fs: &'f F, journal: &Journal, lookup: Lookup<'_, F>) -> Option<Folders<'f, F>> {
    let mut roots = Vec::new();
    for root in &journal.roots {
        let base = lookup(root)?;
        // Another folder at the same path is another root.
        if (base.dev, base.ino) != (root.dev, root.ino) {
            return None;
        }
        roots.push(base);
    }
    Some(Folders::new(fs, roots))
}

/// Settles what can be settled. `concerns` chooses journals; damaged ones are always set aside. `staging` is for a
/// caller who knows that nobody is at work: it takes what is being staged for abandoned.
pub(crate) fn recover<F: Fs>(
    fs: &F,
    store: &Store<F>,
    lookup: Lookup<'_, F>,
    concerns: &dyn Fn(&Journal) -> bool,
    staging: bool,
) -> Result<Vec<Settled>, Errno> {
    let found = journals(fs, store)?;
    let mut settled = Vec::new();
    for (name, stem, stage) in &found {
        if *stage == Stage::Staging && !staging {
            continue;
        }
        let journal = match read(fs, &store.journals, name) {
            Ok(journal) => journal,
            Err(Errno::NOENT) => continue,
            Err(errno) => return Err(errno),
        };
        if *stage == Stage::Staging {
            forget_staging(fs, store, lookup, name, stem, journal.as_ref())?;
            continue;
        }
        let Some(journal) = journal else {
            quarantine(fs, store, name)?;
            continue;
        };
        if !concerns(&journal) {
            continue;
        }
        let state = match folders(fs, &journal, lookup) {
            None if *stage == Stage::Conflict => continue,
            None => OutcomeState::RecoveryPending,
            Some(folders) => match stage {
                Stage::Prepared => undo(fs, store, &folders, &journal, stem),
                Stage::Committed => clean(fs, store, &folders, &journal, name),
                _ => {
                    age(fs, store, &folders, &journal, name)?;
                    continue;
                }
            },
        };
        let roots = journal.roots.iter().map(|root| root.path.clone()).collect();
        settled.push(Settled { txn_id: journal.txn_id, state, roots });
    }
    if staging {
        sweep_copies(fs, store)?;
    }
    Ok(settled)
}

/// Removes copies of files, made to write those in place, that no journal names.
fn sweep_copies<F: Fs>(fs: &F, store: &Store<F>) -> Result<(), Errno> {
    let named = named(fs, store)?;
    for name in fs.list(&store.journals)? {
        let bytes = name.as_bytes();
        let copy = bytes.strip_suffix(b".pre").or_else(|| bytes.strip_suffix(b".new"));
        let Some(dash) = copy.and_then(|copy| copy.iter().rposition(|byte| *byte == b'-')) else { continue };
        if !named.contains(OsStr::from_bytes(&bytes[..dash])) {
            unless_absent(fs.unlink(&store.journals, &name))?;
        }
    }
    Ok(())
}

/// The stems of all journals that are left, damaged ones too.
fn named<F: Fs>(fs: &F, store: &Store<F>) -> Result<HashSet<OsString>, Errno> {
    let mut named: HashSet<OsString> = journals(fs, store)?.into_iter().map(|(_, stem, _)| stem).collect();
    for name in quarantined(fs, store)? {
        let name = OsString::from_vec(name.as_bytes().strip_suffix(b".bad").unwrap_or(name.as_bytes()).to_vec());
        named.insert(Stage::of(&name).map_or(name, |(stem, _)| stem));
    }
    Ok(named)
}

fn undo<F: Fs>(fs: &F, store: &Store<F>, folders: &Folders<'_, F>, journal: &Journal, stem: &OsStr) -> OutcomeState {
    let Ok(conflicts) = rollback(folders, &store.journals, journal, journal.ops.len()) else {
        return OutcomeState::RollbackFailed;
    };
    let state = if conflicts.is_empty() { OutcomeState::RolledBack } else { OutcomeState::Conflict };
    // The answer is there before the journal goes, or nobody could give it any more.
    let noted = outcome::settle(fs, store, journal, state);
    let closed = noted.and_then(|()| close_rolled_back(fs, store, folders, journal, stem, &conflicts));
    if closed.is_ok() { state } else { OutcomeState::RollbackFailed }
}

/// After an undo: removes the stage and the journal, or keeps both where there is a conflict.
pub(crate) fn close_rolled_back<F: Fs>(
    fs: &F,
    store: &Store<F>,
    folders: &Folders<'_, F>,
    journal: &Journal,
    stem: &OsStr,
    conflicts: &HashSet<usize>,
) -> Result<(), Errno> {
    let journals = &store.journals;
    let prepared = joined(stem, Stage::Prepared.ending());
    if conflicts.is_empty() {
        unstage(folders, store, journal, conflicts)?;
        unless_absent(fs.unlink(journals, &prepared))?;
    } else {
        let mut left = journal.clone();
        let mut at = 0;
        left.ops.retain(|_| {
            at += 1;
            conflicts.contains(&(at - 1))
        });
        // What is no longer in the journal has to be gone before it.
        unstage(folders, store, journal, conflicts)?;
        left.write(fs, journals, stem, Stage::Conflict)?;
        unless_absent(fs.unlink(journals, &prepared))?;
    }
    if journal.power { again(|| fs.sync_folder(journals)) } else { Ok(()) }
}

fn clean<F: Fs>(fs: &F, store: &Store<F>, folders: &Folders<'_, F>, journal: &Journal, name: &OsStr) -> OutcomeState {
    let state = OutcomeState::Committed;
    // What was half saved when the process ended is lost to an undo, not to anybody else.
    let _ = save(folders, store, journal, &mut Vec::new(), true);
    let settled = outcome::settle(fs, store, journal, state).and_then(|()| unstage(folders, store, journal, &HashSet::new()));
    if settled.is_ok() {
        let _ = fs.unlink(&store.journals, name);
    }
    state
}

/// A conflict is over when its old bytes were taken away, or nobody came for them in a long time.
fn age<F: Fs>(fs: &F, store: &Store<F>, folders: &Folders<'_, F>, journal: &Journal, name: &OsStr) -> Result<(), Errno> {
    let place = store.journal_path();
    let old = journal.time.saturating_add(store.limits.conflict_seconds) < now();
    let any = journal.ops.iter().any(|op| kept(folders, &store.journals, &place, op).is_some());
    if any && !old {
        return Ok(());
    }
    unstage(folders, store, journal, &HashSet::new())?;
    unless_absent(fs.unlink(&store.journals, name))
}

/// Removes what was staged for a transaction that never became valid.
fn forget_staging<F: Fs>(
    fs: &F,
    store: &Store<F>,
    lookup: Lookup<'_, F>,
    name: &OsStr,
    stem: &OsStr,
    journal: Option<&Journal>,
) -> Result<(), Errno> {
    // A valid journal of the same transaction means that the same places hold the bytes from before.
    let base = Stage::of(stem).map_or_else(|| stem.to_owned(), |(base, _)| base);
    let valid = [Stage::Prepared, Stage::Committed, Stage::Conflict];
    let any_valid = valid.iter().any(|stage| fs.stat_at(&store.journals, &joined(&base, stage.ending())).is_ok());
    if !any_valid && let Some(journal) = journal {
        let Some(folders) = folders(fs, journal, lookup) else { return Ok(()) };
        unstage(&folders, store, journal, &HashSet::new())?;
        unless_absent(fs.unlink(&store.journals, name))?;
        // A stage that was about to be used again has another name.
        return folders.roots.iter().try_for_each(|root| sweep(fs, store, root));
    }
    unless_absent(fs.unlink(&store.journals, name))
}

/// Sets a damaged journal aside. Its stage stays: nobody can tell what is in it.
fn quarantine<F: Fs>(fs: &F, store: &Store<F>, name: &OsStr) -> Result<(), Errno> {
    match fs.make_folder(&store.journals, OsStr::new(QUARANTINE), 0o700) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(errno),
    }
    let folder = again(|| fs.open(&store.journals, OsStr::new(QUARANTINE), Open::Folder))?;
    fs.rename(&store.journals, name, &folder, &joined(name, ".bad"), Rename::Replace)
}

fn quarantined<F: Fs>(fs: &F, store: &Store<F>) -> Result<Vec<OsString>, Errno> {
    match again(|| fs.open(&store.journals, OsStr::new(QUARANTINE), Open::Folder)) {
        Ok(folder) => fs.list(&folder),
        Err(Errno::NOENT) => Ok(Vec::new()),
        Err(errno) => Err(errno),
    }
}

/// Removes the stages of a root that no journal names. Only after [`recover`].
pub(crate) fn sweep<F: Fs>(fs: &F, store: &Store<F>, root: &Base<F::Fd>) -> Result<(), Errno> {
    let folders = Folders::new(fs, vec![root.clone()]);
    let stages = match folders.get(0, Path::new(STAGES)) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(()),
        other => other?,
    };
    let meta = fs.stat(&stages)?;
    if meta.uid != rustix::process::geteuid().as_raw() || meta.mode & 0o077 != 0 {
        // Not one that we made.
        return Ok(());
    }
    let named = named(fs, store)?;
    for stage in fs.list(&stages)? {
        if stage != ".gitignore" && !named.contains(&stage) {
            empty_folder(fs, &stages, &stage)?;
        }
    }
    close_stages(&folders, 0)
}

/// Sees to it that no earlier transaction stands in the way, settling it if need be.
pub(crate) fn ensure_settled<F: Fs>(
    fs: &F,
    store: &Store<F>,
    roots: &[Base<F::Fd>],
    txn_id: &str,
) -> Result<(), TransactionError> {
    let fail = |errno| TransactionError::of(&store.journal_path(), errno);
    let found = journals(fs, store).map_err(fail)?;
    let own = stem(txn_id);
    if found.is_empty() {
        return Ok(());
    }
    let ours = |root: &JournalRoot| roots.iter().find(|base| (base.dev, base.ino) == (root.dev, root.ino));
    let concerns = |journal: &Journal| {
        stem(&journal.txn_id) == own
            || journal.roots.iter().any(|root| ours(root).is_some() || roots.iter().any(|base| base.path == root.path))
    };
    let waits = found.iter().any(|(_, _, stage)| matches!(stage, Stage::Prepared | Stage::Committed));
    if waits {
        // A journal of several roots needs all of them.
        let lookup = |root: &JournalRoot| ours(root).cloned();
        recover(fs, store, &lookup, &concerns, false).map_err(fail)?;
    }
    for (name, stem, stage) in journals(fs, store).map_err(fail)? {
        let blocks = match stage {
            Stage::Prepared => true,
            Stage::Committed | Stage::Conflict => stem == own,
            Stage::Staging => false,
        };
        if blocks
            && let Some(journal) = read(fs, &store.journals, &name).map_err(fail)?
            && concerns(&journal)
        {
            let root = journal.roots.first().map(|root| root.path.clone()).unwrap_or_default();
            return Err(TransactionError::RecoveryPending { root, txn_id: journal.txn_id });
        }
    }
    Ok(())
}

/// The journals that wait: their transactions, with all roots.
pub(crate) fn waiting<F: Fs>(fs: &F, store: &Store<F>) -> Result<Vec<Journal>, Errno> {
    let mut waiting = Vec::new();
    for (name, _, stage) in journals(fs, store)? {
        if stage != Stage::Staging
            && let Ok(Some(journal)) = read(fs, &store.journals, &name)
        {
            waiting.push(journal);
        }
    }
    Ok(waiting)
}

/// What is not settled.
pub(crate) fn unsettled<F: Fs>(fs: &F, store: &Store<F>, lookup: Lookup<'_, F>) -> Result<Vec<Unsettled>, Errno> {
    let mut list = Vec::new();
    let place = store.journal_path();
    for (name, _, stage) in journals(fs, store)? {
        let state = match stage {
            Stage::Staging => continue,
            Stage::Prepared => "pending",
            Stage::Committed => "committed",
            Stage::Conflict => "conflict",
        };
        let Ok(Some(journal)) = read(fs, &store.journals, &name) else { continue };
        let files = journal.ops.iter().filter(|op| op.kind != OpKind::MakeFolder);
        let kept = match folders(fs, &journal, lookup) {
            Some(folders) => files.clone().filter_map(|op| kept(&folders, &store.journals, &place, op)).collect(),
            None => Vec::new(),
        };
        list.push(Unsettled {
            root: journal.roots.first().map(|root| root.path.clone()).unwrap_or_default(),
            txn_id: journal.txn_id.clone(),
            state,
            paths: files.map(|op| journal.roots[op.root].path.join(&op.path)).collect(),
            kept,
        });
    }
    for name in quarantined(fs, store)? {
        let kept = vec![place.join(QUARANTINE).join(&name)];
        let txn_id = name.to_string_lossy().into_owned();
        list.push(Unsettled { root: PathBuf::new(), txn_id, state: "damaged", paths: Vec::new(), kept });
    }
    Ok(list)
}
