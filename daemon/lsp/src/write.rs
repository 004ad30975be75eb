//! The diagnostics that belong to one write: before it, after it, and the wait.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError},
    time::{Duration, Instant},
};

use ccd_diagnostics::{Change, ChangeId, Level, Report, Server as Reported, ServerState, Ticket, Written};
use ccd_text::diff;
use tokio::{sync::oneshot, time::timeout_at};

use crate::{
    desk::{FileChange, Job},
    detect::{Checkout, Claim, Reason, Unavailable},
    pool::{Entry, Key, Pool, Shared},
    session::Phase,
    settle::Settled,
};

/// A list of the old text that is not there by then comes late.
const BEFORE: Duration = Duration::from_secs(1);

/// A file that a write changes.
#[derive(Clone, Debug)]
pub struct Changed {
    /// Absolute, as it is called after the write.
    pub path: PathBuf,
    /// Its bytes before; none if it was not there.
    pub old: Option<Arc<[u8]>>,
    /// Its bytes after; none if it is gone.
    pub new: Option<Arc<[u8]>>,
    /// It was called so before: what is known of it goes with it. The old path is a file of its own, that is gone.
    pub moved_from: Option<PathBuf>,
}

/// A write whose servers are being waited for. Dropping it ends the wait, not the work: what comes later is told with
/// the run's next report.
#[derive(Debug)]
pub struct Pending {
    pool: Pool,
    change: Change,
    begun: Instant,
    servers: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    id: String,
    entry: Option<Entry>,
    end: Result<oneshot::Receiver<Settled>, Unavailable>,
}

/// What a write has to tell.
#[derive(Debug)]
pub struct Outcome {
    /// The news.
    pub report: Report,
    /// To be given back to the registry once the text was delivered.
    pub ticket: Ticket,
    /// Why servers are unavailable, by their ids.
    pub unavailable: BTreeMap<String, Unavailable>,
}

fn text(bytes: &[u8]) -> Arc<str> {
    String::from_utf8_lossy(bytes).into()
}

/// The lines of the new text that are new or stand where others were taken away.
fn changed_lines(old: Option<&[u8]>, new: &[u8]) -> Vec<(u32, u32)> {
    let narrow = |hunk: &ccd_text::DiffHunk| {
        let (old, new): (Vec<&str>, Vec<&str>) = (hunk.old_text.lines().collect(), hunk.new_text.lines().collect());
        let start = old.iter().zip(&new).take_while(|(one, other)| one == other).count();
        let most = old.len().min(new.len()) - start;
        let end = old.iter().rev().zip(new.iter().rev()).take(most).take_while(|(one, other)| one == other).count();
        let first = hunk.new_line + start;
        let last = (hunk.new_line + new.len()).saturating_sub(end + 1).max(first);
        (u32::try_from(first).unwrap_or(u32::MAX), u32::try_from(last).unwrap_or(u32::MAX))
    };
    diff(old, Some(new)).hunks.iter().map(narrow).collect()
}

impl Pool {
    /// A write is about to happen: the servers that are ready are asked for the lists of the old texts, for at most 1 s.
    /// Starts none. `dependents` are files that may break, nearest first; servers that can are asked for them too.
    pub async fn about_to_change(&self, checkout: &Checkout, files: &[(PathBuf, Arc<[u8]>)], dependents: &[PathBuf]) {
        let until = tokio::time::Instant::now() + BEFORE;
        let paths: Vec<&Path> = files.iter().map(|(path, _)| path.as_path()).collect();
        let groups = match timeout_at(until, self.groups(checkout, &paths)).await {
            Ok(groups) => groups,
            Err(_) => return,
        };
        let mut waits = Vec::new();
        for group in groups {
            let Some(key) = &group.key else { continue };
            let Some(entry) = self.0.ready(key) else { continue };
            let mine = files.iter().filter(|(path, _)| group.files.contains(path));
            let files = mine.map(|(path, bytes)| (path.clone(), text(bytes))).collect();
            let others = group.dependents(dependents);
            let (done, wait) = oneshot::channel();
            if entry.jobs.try_send(Job::Before { files, others, until, done }).is_ok() {
                waits.push((wait, self.0.busy(key)));
            }
        }
        for (wait, _busy) in waits {
            let _ = timeout_at(until, wait).await;
        }
    }

    /// A write of a run stands on the disk: all its servers are told, started where they do not run. Does not wait for them.
    pub async fn committed(&self, checkout: &Checkout, run: &str, files: &[Changed], dependents: &[PathBuf]) -> Pending {
        let begun = Instant::now();
        let change = self.begin(checkout, run, files);
        let servers = self.tell(checkout, Some(change.id()), files, dependents).await;
        Pending { pool: self.clone(), change, begun, servers }
    }

    /// The servers of these files are started if need be, see the files as they are, and are waited for. What they say is
    /// nobody's news; it is in the registry afterwards.
    pub async fn look(
        &self,
        checkout: &Checkout,
        files: &[(PathBuf, Arc<[u8]>)],
        limit: Duration,
    ) -> (Vec<Reported>, BTreeMap<String, Unavailable>) {
        let begun = Instant::now();
        let same = |(path, bytes): &(PathBuf, Arc<[u8]>)| Changed {
            path: path.clone(),
            old: Some(Arc::clone(bytes)),
            new: Some(Arc::clone(bytes)),
            moved_from: None,
        };
        let files: Vec<Changed> = files.iter().map(same).collect();
        states(self.tell(checkout, None, &files, &[]).await, begun, limit).await
    }

    async fn tell(
        &self,
        checkout: &Checkout,
        change: Option<ChangeId>,
        files: &[Changed],
        dependents: &[PathBuf],
    ) -> Vec<Waiting> {
        let paths: Vec<&Path> = files.iter().map(|file| file.path.as_path()).collect();
        let mut servers = Vec::new();
        for group in self.groups(checkout, &paths).await {
            let id = group.claim.server.id.clone();
            let (entry, end) = match self.hand_over(checkout, change, &group, files, dependents) {
                Ok((entry, end)) => (Some(entry), Ok(end)),
                Err(error) => (None, Err(error)),
            };
            servers.push(Waiting { id, entry, end });
        }
        servers
    }

    fn begin(&self, checkout: &Checkout, run: &str, files: &[Changed]) -> Change {
        let mut registry = self.0.registry.lock().unwrap_or_else(PoisonError::into_inner);
        for file in files {
            if let Some(from) = &file.moved_from {
                registry.moved(from, &file.path);
            }
            if file.new.is_none() {
                registry.deleted(&file.path);
            }
        }
        let written = files.iter().filter_map(|file| {
            let new = file.new.as_ref()?;
            let lines = changed_lines(file.old.as_deref(), new);
            Some(Written { path: file.path.clone(), lines, made: file.old.is_none() && file.moved_from.is_none() })
        });
        registry.begin(run, &checkout.root, written.collect())
    }

    fn hand_over(
        &self,
        checkout: &Checkout,
        change: Option<ChangeId>,
        group: &Group,
        files: &[Changed],
        dependents: &[PathBuf],
    ) -> Result<(Entry, oneshot::Receiver<Settled>), Unavailable> {
        let found = group.claim.found.as_ref().map_err(Clone::clone)?;
        let key = group.key.as_ref().ok_or_else(|| Unavailable {
            reason: Reason::NoMarker,
            detail: "no root marker".to_owned(),
            fix: String::new(),
        })?;
        let entry = self.0.session(key, &group.claim, found, checkout)?;
        let mine = files.iter().filter(|file| group.files.contains(&file.path));
        let files = mine.map(|file| FileChange {
            path: file.path.clone(),
            old: file.old.as_deref().map(text),
            new: file.new.as_deref().map(text),
        });
        let (done, end) = oneshot::channel();
        let (files, others, held) = (files.collect(), group.dependents(dependents), self.0.busy(key));
        // A full queue drops the job, which is a time-out of this write.
        let _ = entry.jobs.try_send(Job::Change { change, files, others, done, held });
        Ok((entry, end))
    }

    /// The servers of these files, each once, with its files.
    async fn groups(&self, checkout: &Checkout, files: &[&Path]) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for file in files {
            for claim in self.serving(checkout, file).await {
                let key = claim.found.as_ref().ok().and_then(|found| Shared::key(&claim, found, checkout));
                let same = |group: &&mut Group| group.claim.server.id == claim.server.id && group.key == key;
                match groups.iter_mut().find(same) {
                    Some(group) => group.files.push(file.to_path_buf()),
                    None => groups.push(Group { claim, key, files: vec![file.to_path_buf()] }),
                }
            }
        }
        groups
    }
}

#[derive(Debug)]
struct Group {
    claim: Claim,
    key: Option<Key>,
    files: Vec<PathBuf>,
}

impl Group {
    /// Those that the server claims too, at most ten.
    fn dependents(&self, dependents: &[PathBuf]) -> Vec<PathBuf> {
        let root = self.claim.root.as_deref();
        let mine = dependents.iter().filter(|path| {
            self.claim.server.language_of(path).is_some()
                && root.is_some_and(|root| path.starts_with(root))
                && !self.files.contains(path)
        });
        mine.take(10).cloned().collect()
    }
}

impl Pending {
    /// Waits for all servers together until they have spoken, for at most so long since the write, and says what is news.
    pub async fn wait(self, limit: Duration, level: Level) -> Outcome {
        let (servers, unavailable) = states(self.servers, self.begun, limit).await;
        let registry = self.pool.0.registry.lock().unwrap_or_else(PoisonError::into_inner);
        let (report, ticket) = registry.report(&self.change, level, servers);
        drop(registry);
        Outcome { report, ticket, unavailable }
    }
}

/// How far each got, waited for together, for at most so long since the beginning.
async fn states(waiting: Vec<Waiting>, begun: Instant, limit: Duration) -> (Vec<Reported>, BTreeMap<String, Unavailable>) {
    let until = tokio::time::Instant::from_std(begun + limit);
    let mut servers = Vec::new();
    let mut unavailable = BTreeMap::new();
    for Waiting { id, entry, end } in waiting {
        let state = match end {
            Err(error) => Err(error),
            Ok(wait) => {
                let settled = timeout_at(until, wait).await;
                let ended = entry.as_ref().and_then(|entry| match &*entry.session.phase.borrow() {
                    Phase::Ended { reason, detail } => Some((reason.unwrap_or(Reason::Crashed), detail.clone())),
                    _ => None,
                });
                match (settled, ended) {
                    (Ok(Ok(Settled::Spoken)), _) => Ok(ServerState::Settled),
                    (Ok(Ok(Settled::Assumed)), _) => Ok(ServerState::Assumed),
                    (_, Some((reason, detail))) => {
                        let fix = format!("repair what it says, then call lsp.restart for {id}");
                        Err(Unavailable { reason, detail, fix })
                    }
                    _ => Ok(ServerState::TimedOut),
                }
            }
        };
        let state = state.unwrap_or_else(|error| {
            let reason = error.reason.word().to_owned();
            unavailable.insert(id.clone(), error);
            ServerState::Unavailable { reason }
        });
        let publishers = entry.map(|entry| entry.session.publishers()).unwrap_or_default();
        let waited_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        servers.push(Reported { id, publishers, state, waited_ms });
    }
    (servers, unavailable)
}

#[cfg(test)]
mod tests {
    use super::changed_lines;

    #[test]
    fn changed_lines_are_those_of_the_new_text() {
        let check = |old: &str, new: &str| changed_lines(Some(old.as_bytes()), new.as_bytes());
        assert_eq!(check("a\nb\nc\n", "a\nx\nc\n"), [(2, 2)]);
        assert_eq!(check("a\nb\nc\n", "a\nb\nb2\nb3\nc\n"), [(3, 4)]);
        assert_eq!(check("a\nb\nc\n", "a\nc\n"), [(2, 2)]);
        assert_eq!(changed_lines(None, b"a\nb\n"), [(1, 2)]);
    }
}
