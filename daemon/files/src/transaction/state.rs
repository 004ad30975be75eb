//! What callers hold: the state folder, and a transaction over it.

use std::{
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use rustix::io::Errno;

use super::{
    change::{Change, Committed, Durability, Options},
    engine::Engine,
    fail::TransactionError,
    folders::{Base, Folders, locate},
    fs::{Fs, Open},
    journal::{Journal, JournalRoot, Memo, stem},
    lock::{LockError, RootLocks, quiet},
    outcome::{self, Outcome, OutcomeState},
    real::RealFs,
    recover::{self, Settled, Unsettled},
    store::{LOCKS, Limits, Store},
    undo::{self, UndoEntry},
};
use crate::Root;

/// For how long recovery waits for a process that is at work on the same root.
const PATIENCE: Duration = Duration::from_secs(5);

/// The state folder of transactions: journals, locks, what can be undone, and outcomes. One a user.
#[derive(Debug)]
pub struct State {
    store: Store<RealFs>,
    locks: Arc<OwnedFd>,
}

fn base(root: &Root) -> Result<Base<Arc<OwnedFd>>, Errno> {
    let (dev, ino) = root.identity();
    Ok(Base { fd: RealFs::root(root)?, path: root.path().to_path_buf(), dev, ino })
}

impl State {
    /// Opens the folder, which must be there and closed to others ([`crate::private_folder`]).
    pub fn open(path: &Path, limits: Limits) -> io::Result<Self> {
        let state = RealFs::own(path)?;
        let store = Store::open(&RealFs, &state, path.to_path_buf(), limits)?;
        match RealFs.make_folder(&state, LOCKS.as_ref(), 0o700) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(errno) => return Err(errno.into()),
        }
        let locks = RealFs.open(&state, LOCKS.as_ref(), Open::Folder)?;
        Ok(Self { store, locks })
    }

    /// Locks roots, by their identities, against every other transaction. Those of the roots written to, and of every
    /// open root around or inside them. Blocks for at most `wait`.
    pub fn lock(&self, identities: &[(u64, u64)], wait: Duration) -> Result<RootLocks, LockError> {
        RootLocks::take(&self.locks, identities, wait)
    }

    /// Settles what earlier processes left, before edits are accepted. `open` opens a root by its path; a transaction
    /// whose root is not there waits. A root that another process is at work on is left to that process.
    pub fn recover(&self, open: &dyn Fn(&Path) -> Option<Arc<Root>>) -> io::Result<Vec<Settled>> {
        // Here, and not in the first edit: both read all that is kept.
        self.trim()?;
        if let Some(_alone) = quiet(&self.locks) {
            // Nobody is at work, so what is being staged is abandoned.
            return Ok(self.settle(open, &|_| true, true)?);
        }
        let mut settled = Vec::new();
        for journal in recover::waiting(&RealFs, &self.store)? {
            let keys: Vec<(u64, u64)> = journal.roots.iter().map(|root| (root.dev, root.ino)).collect();
            let Ok(_locks) = self.lock(&keys, PATIENCE) else { continue };
            settled.extend(self.settle(open, &|other| other.txn_id == journal.txn_id, false)?);
        }
        Ok(settled)
    }

    fn settle(
        &self,
        open: &dyn Fn(&Path) -> Option<Arc<Root>>,
        concerns: &dyn Fn(&Journal) -> bool,
        staging: bool,
    ) -> Result<Vec<Settled>, Errno> {
        let lookup = |root: &JournalRoot| base(&*open(&root.path)?).ok();
        let settled = recover::recover(&RealFs, &self.store, &lookup, concerns, staging)?;
        for done in &settled {
            for root in &done.roots {
                if let Some(root) = open(root) {
                    recover::sweep(&RealFs, &self.store, &base(&root)?)?;
                }
            }
        }
        Ok(settled)
    }

    /// Settles what concerns a root that is used for the first time, and removes stages of it that no journal names. The
    /// caller holds no lock of it.
    /// The caller holds no lock of it.
    pub fn recover_root(&self, root: &Arc<Root>, open: &dyn Fn(&Path) -> Option<Arc<Root>>) -> io::Result<Vec<Settled>> {
        let identity = root.identity();
        let mut settled = Vec::new();
        for journal in recover::waiting(&RealFs, &self.store)? {
            if journal.roots.iter().any(|other| (other.dev, other.ino) == identity) {
                let keys: Vec<(u64, u64)> = journal.roots.iter().map(|root| (root.dev, root.ino)).collect();
                let Ok(_locks) = self.lock(&keys, PATIENCE) else { return Ok(settled) };
                settled.extend(self.settle(open, &|other| other.txn_id == journal.txn_id, false)?);
            }
        }
        let Ok(_lock) = self.lock(&[identity], PATIENCE) else { return Ok(settled) };
        recover::sweep(&RealFs, &self.store, &base(root)?)?;
        Ok(settled)
    }

    /// What is not settled.
    pub fn unsettled(&self, open: &dyn Fn(&Path) -> Option<Arc<Root>>) -> io::Result<Vec<Unsettled>> {
        let lookup = |root: &JournalRoot| base(&*open(&root.path)?).ok();
        Ok(recover::unsettled(&RealFs, &self.store, &lookup)?)
    }

    /// What is known of a call; none for one that is unknown or too long ago. While a journal of it waits, that is
    /// what is told.
    pub fn outcome(&self, txn_id: &str) -> io::Result<Option<Outcome>> {
        let known = outcome::load(&RealFs, &self.store, txn_id)?;
        let waits = recover::waiting(&RealFs, &self.store)?.iter().any(|journal| stem(&journal.txn_id) == stem(txn_id));
        Ok(match known {
            Some(known) if known.state == OutcomeState::Preparing && waits => {
                Some(Outcome { state: OutcomeState::RecoveryPending, ..known })
            }
            other => other,
        })
    }

    /// Stores what became of a call.
    pub fn put_outcome(&self, outcome: &Outcome, durability: Durability) -> io::Result<()> {
        Ok(outcome::store(&RealFs, &self.store, outcome, durability == Durability::Power)?)
    }

    /// The way back from a transaction; none when it is not kept, or no longer.
    pub fn undo(&self, txn_id: &str) -> io::Result<Option<UndoEntry>> {
        Ok(undo::load(&RealFs, &self.store, txn_id)?)
    }

    /// Lets go of what is kept for too long. To be called now and then.
    pub fn trim(&self) -> io::Result<()> {
        undo::trim(&RealFs, &self.store)?;
        Ok(outcome::trim(&RealFs, &self.store, None)?)
    }

    /// Lets go of the way back, after it was gone.
    pub fn forget_undo(&self, txn_id: &str) -> io::Result<()> {
        Ok(undo::forget(&RealFs, &self.store, txn_id)?)
    }
}

/// A set of changes that happens as a whole or not at all.
#[derive(Debug)]
pub struct Transaction<'s> {
    /// The state folder.
    pub state: &'s State,
    /// Its id, chosen by the caller; one that is not settled cannot be used again.
    pub txn_id: String,
    /// The roots, by whose index changes name them.
    pub roots: Vec<Arc<Root>>,
    /// How it goes about it.
    pub options: Options,
    /// What it does, in this order.
    pub changes: Vec<Change>,
    /// What a repetition of the call is told when the process ends between the commit and `record`.
    pub memo: Option<Memo>,
}

impl Transaction<'_> {
    /// Does all of it or nothing. `record` is told of the success after the commit point and before the journal goes:
    /// what it stores there with [`State::put_outcome`] is known whenever the process ends. When that fails the journal
    /// stays, and recovery notes that the transaction happened. Panics when the locks are not those of the roots.
    pub fn commit(
        self,
        locks: &RootLocks,
        record: &mut dyn FnMut(&Committed) -> io::Result<()>,
    ) -> Result<Committed, TransactionError> {
        let mut roots = Vec::new();
        for root in &self.roots {
            assert!(locks.holds(root.identity()), "the caller locks every root that it writes to");
            roots.push(base(root).map_err(|errno| TransactionError::of(root.path(), errno))?);
        }
        let (store, memo) = (&self.state.store, self.memo.as_ref());
        let engine = Engine { fs: &RealFs, store, roots, txn_id: &self.txn_id, options: self.options, memo };
        engine.run(&self.changes, record)
    }
}

impl Root {
    /// The path of the file that a write to a path would change: from the root, links followed. It need not be there.
    /// Two paths with one answer are one file.
    pub fn target(&self, rel: &Path) -> Result<PathBuf, TransactionError> {
        let base = base(self).map_err(|errno| TransactionError::of(self.path(), errno))?;
        Ok(locate(&Folders::new(&RealFs, vec![base]), 0, rel, true, |_| false)?.path)
    }
}
