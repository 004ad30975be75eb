//! What a run is told: the shape of a report, its caps and its order.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
};

use crate::{Diagnostic, Key, present::Item};

/// How sure it is that the change made a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attributed {
    /// The server's list from before the change does not hold it.
    ByServer,
    /// There is no list from before; it touches a line that the change wrote.
    ByRange,
}

/// A diagnostic that is told.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// Absolute.
    pub path: PathBuf,
    /// What it says.
    pub diagnostic: Arc<Diagnostic>,
    /// Its identity.
    pub key: Key,
    /// With what is new; none where nobody says whose doing it is.
    pub attributed: Option<Attributed>,
}

/// What is known of the text before a change; the worst is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Baseline {
    /// What the server said of it was there before the change.
    Known,
    /// It came after the change.
    Late,
    /// It never came.
    Unknown,
}

/// How far a server is with a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerState {
    /// It has spoken about the change.
    Settled,
    /// It took the text and was quiet since.
    Assumed,
    /// The time was over before it spoke. Not clean.
    TimedOut,
    /// It cannot speak.
    Unavailable {
        /// One word of the list: `no_binary`, `untrusted`, …
        reason: String,
    },
}

/// How a report stands: the worst of its servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// None were asked for.
    Off,
    /// No server claims the files.
    NoneClaims,
    /// All have spoken.
    Settled,
    /// One is only assumed to have.
    Assumed,
    /// One had not when the time was over.
    TimedOut,
    /// One cannot.
    Unavailable,
}

impl State {
    /// As it is told.
    pub fn word(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::NoneClaims => "none_claims",
            Self::Settled => "settled",
            Self::Assumed => "assumed",
            Self::TimedOut => "timed_out",
            Self::Unavailable => "unavailable",
        }
    }

    /// The worst of these; `none_claims` if there are none.
    pub fn of(servers: &[Server]) -> Self {
        let of_one = |server: &Server| match server.state {
            ServerState::Settled => Self::Settled,
            ServerState::Assumed => Self::Assumed,
            ServerState::TimedOut => Self::TimedOut,
            ServerState::Unavailable { .. } => Self::Unavailable,
        };
        servers.iter().map(of_one).max().unwrap_or(Self::NoneClaims)
    }
}

/// A server of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    /// Its id, as it is told.
    pub id: String,
    /// Under what names its lists are published: a server that also runs a checker has two.
    pub publishers: Vec<Arc<str>>,
    /// How far it is.
    pub state: ServerState,
    /// Milliseconds that the change waited for it.
    pub waited_ms: u64,
}

impl Server {
    /// Whether its lists are those of the text as it is now, so that what is not in them is gone.
    pub(crate) fn has_spoken(&self) -> bool {
        matches!(self.state, ServerState::Settled | ServerState::Assumed)
    }
}

/// Whether all that the run was told is remembered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remembered {
    /// All of it.
    Yes,
    /// Some files were forgotten, least recently used ones first: there was too much.
    Partial,
}

/// The diagnostics that are news to a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// Made by this change, in the files that it wrote.
    pub new: Vec<Told>,
    /// Made by this change, in other files.
    pub elsewhere: Vec<Told>,
    /// Perhaps older than this change, or another run's doing.
    pub unattributed: Vec<Told>,
    /// Made by earlier changes of this run, and not told yet.
    pub carried_over: Vec<Told>,
    /// How many that the run knew are gone, at the level asked.
    pub fixed: u64,
    /// How many were left out by the caps, at the level asked.
    pub suppressed: u64,
    /// How many stand that the run knows already, at the level asked, in the files looked at.
    pub standing: u64,
    /// Whether the run's memory is whole.
    pub remembered: Remembered,
    /// The worst of the servers.
    pub baseline: Baseline,
    /// The worst of the servers.
    pub state: State,
    /// With `unavailable`: the reason of the first server that is.
    pub reason: Option<String>,
    /// Each server with what is known of it from before.
    pub servers: Vec<(Server, Baseline)>,
}

/// How much is told at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// Of `new`, a file.
    pub per_file: usize,
    /// Of `elsewhere`, and of `carried_over`, in all.
    pub elsewhere: usize,
    /// Files of `elsewhere`, and of `carried_over`.
    pub elsewhere_files: usize,
    /// Of `unattributed`, in all.
    pub unattributed: usize,
}

impl Default for Caps {
    fn default() -> Self {
        Self { per_file: 20, elsewhere: 20, elsewhere_files: 5, unattributed: 5 }
    }
}

/// Something that may be told: the path, the item, and how it is attributed.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) path: PathBuf,
    pub(crate) item: Item,
    pub(crate) attributed: Option<Attributed>,
}

impl Candidate {
    pub(crate) fn told(&self) -> Told {
        Told {
            path: self.path.clone(),
            diagnostic: Arc::clone(&self.item.folded.diagnostic),
            key: self.item.folded.key,
            attributed: self.attributed,
        }
    }
}

/// Errors first, then by place. Nothing of it depends on when things arrived.
pub(crate) fn order(candidates: &mut [Candidate]) {
    candidates.sort_by(|a, b| {
        let (one, other) = (&a.item.folded.diagnostic, &b.item.folded.diagnostic);
        one.severity
            .cmp(&other.severity)
            .then_with(|| a.path.cmp(&b.path))
            .then_with(|| one.range.cmp(&other.range))
            .then_with(|| one.code.cmp(&other.code))
            .then_with(|| one.message.cmp(&other.message))
    });
}

/// Splits sorted candidates into those that are told and those that are left out.
pub(crate) fn cut(mut all: Vec<Candidate>, per_file: usize, total: usize, files: usize) -> (Vec<Candidate>, Vec<Candidate>) {
    order(&mut all);
    let mut counts: BTreeMap<PathBuf, usize> = BTreeMap::new();
    let mut taken_files: BTreeSet<PathBuf> = BTreeSet::new();
    let (mut told, mut left) = (Vec::new(), Vec::new());
    for candidate in all {
        let known_file = taken_files.contains(&candidate.path);
        let count = counts.entry(candidate.path.clone()).or_default();
        if told.len() < total && *count < per_file && (known_file || taken_files.len() < files) {
            *count += 1;
            taken_files.insert(candidate.path.clone());
            told.push(candidate);
        } else {
            left.push(candidate);
        }
    }
    (told, left)
}
