//! What became of calls, so that a caller whose answer was lost can ask, and a call that is sent twice happens once.
//!
//! One small file a call. It survives the end of the process, and with [`super::Durability::Power`] that of the power.

use rustix::io::Errno;

use super::{
    fs::{Fs, read_at, unless_absent},
    journal::{put, stem, unword, word},
    ring::Entry,
    store::{Store, now},
};

/// How far a call came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutcomeState {
    /// It began, and nothing is decided.
    Preparing,
    /// It happened.
    Committed,
    /// It did not.
    RolledBack,
    /// It did not, and the files could not be put back yet.
    RollbackFailed,
    /// Recovery waits for a root that is not there.
    RecoveryPending,
    /// It did not, but for files that somebody else changed meanwhile.
    Conflict,
}

const STATES: [(OutcomeState, &str); 6] = [
    (OutcomeState::Preparing, "preparing"),
    (OutcomeState::Committed, "committed"),
    (OutcomeState::RolledBack, "rolled_back"),
    (OutcomeState::RollbackFailed, "rollback_failed"),
    (OutcomeState::RecoveryPending, "recovery_pending"),
    (OutcomeState::Conflict, "conflict"),
];

impl OutcomeState {
    /// As the protocol calls it.
    pub fn name(self) -> &'static str {
        STATES.iter().find(|(state, _)| *state == self).map_or("", |(_, name)| name)
    }
}

/// What is known of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The id of the call.
    pub txn_id: String,
    /// A hash of what was asked; the same id with another one is another call. None where only recovery knows of it.
    pub request: Option<[u8; 16]>,
    /// How far it came.
    pub state: OutcomeState,
    /// When that was written, in seconds since 1970.
    pub time: u64,
    /// The stored answer, opaque.
    pub result: Vec<u8>,
}

fn encode(outcome: &Outcome) -> Vec<u8> {
    let request =
        outcome.request.map_or_else(|| "-".to_owned(), |request| super::journal::hex(ccd_text::Version::from_bytes(request)));
    let head = format!("ccd-outcome 1 {} {} {request} {}\n", word(outcome.txn_id.as_bytes()), outcome.state.name(), outcome.time);
    let mut bytes = head.into_bytes();
    bytes.extend_from_slice(&outcome.result);
    let sum = ccd_text::Version::of(&bytes);
    bytes.extend_from_slice(&sum.to_bytes());
    bytes
}

fn decode(bytes: &[u8]) -> Option<Outcome> {
    let (bytes, sum) = bytes.split_at_checked(bytes.len().checked_sub(16)?)?;
    if ccd_text::Version::of(bytes).to_bytes() != sum {
        return None;
    }
    let end = bytes.iter().position(|byte| *byte == b'\n')?;
    let head = std::str::from_utf8(&bytes[..end]).ok()?;
    let words: Vec<&str> = head.split(' ').collect();
    let ["ccd-outcome", "1", txn_id, state, request, time] = words[..] else { return None };
    Some(Outcome {
        txn_id: String::from_utf8(unword(txn_id)?).ok()?,
        request: if request == "-" { None } else { Some(super::journal::unhex(request)?.to_bytes()) },
        state: STATES.iter().find(|(_, name)| *name == state)?.0,
        time: time.parse().ok()?,
        result: bytes[end + 1..].to_vec(),
    })
}

pub(crate) fn store<F: Fs>(fs: &F, store: &Store<F>, outcome: &Outcome, power: bool) -> Result<(), Errno> {
    let bytes = encode(outcome);
    let name = stem(&outcome.txn_id);
    put(fs, &store.outcomes, &name, &bytes, power)?;
    trim(fs, store, Some(Entry { name, time: outcome.time, bytes: bytes.len() as u64 }))
}

/// What is known of a call; none for one that is unknown, too old, or damaged.
pub(crate) fn load<F: Fs>(fs: &F, store: &Store<F>, txn_id: &str) -> Result<Option<Outcome>, Errno> {
    match read_at(fs, &store.outcomes, &stem(txn_id)) {
        Ok((_, bytes)) => Ok(decode(&bytes)
            .filter(|outcome| outcome.txn_id == txn_id && outcome.time.saturating_add(store.limits.outcome_seconds) >= now())),
        Err(Errno::NOENT) => Ok(None),
        Err(errno) => Err(errno),
    }
}

/// Lets go of what is too old or too much.
pub(crate) fn trim<F: Fs>(fs: &F, store: &Store<F>, new: Option<Entry>) -> Result<(), Errno> {
    let mut ring = store.outcome_ring.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if !ring.loaded {
        let mut entries = Vec::new();
        for name in fs.list(&store.outcomes)? {
            let found = read_at(fs, &store.outcomes, &name).ok();
            let bytes = found.as_ref().map_or(0, |(meta, _)| meta.size);
            let time = found.and_then(|(_, bytes)| decode(&bytes)).map_or(0, |outcome| outcome.time);
            entries.push(Entry { name, time, bytes });
        }
        ring.load(entries);
    }
    if let Some(new) = new {
        ring.push(new);
    }
    while let Some(name) = ring.over(now(), store.limits.outcome_seconds, store.limits.outcome_bytes) {
        unless_absent(fs.unlink(&store.outcomes, &name))?;
    }
    Ok(())
}

/// Notes what recovery made of a transaction, unless the call itself has noted it.
pub(crate) fn settle<F: Fs>(
    fs: &F,
    folder: &Store<F>,
    journal: &super::journal::Journal,
    state: OutcomeState,
) -> Result<(), Errno> {
    let (txn_id, power) = (journal.txn_id.as_str(), journal.power);
    let known = load(fs, folder, txn_id)?;
    if known.as_ref().is_some_and(|known| known.state == state) {
        return Ok(());
    }
    let memo = journal.memo.as_ref();
    let request = memo.map(|memo| memo.request).or_else(|| known?.request);
    let result = memo.filter(|_| state == OutcomeState::Committed).map(|memo| memo.result.clone()).unwrap_or_default();
    store(fs, folder, &Outcome { txn_id: txn_id.to_owned(), request, state, time: now(), result }, power)
}
