//! From a request to complete new files, on the bytes that are there now. Nothing is written.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use ccd_files::{Change, Changed, Expect, FileError, Reason, TransactionError};
use ccd_patch::{Change as PatchChange, Done, Kind, Op, Pass, Plan, PlanError, Target, Was};
use ccd_text::Version;

use crate::{
    ledger::{Ledger, LedgerLimits},
    replace::{Replacement, replace},
    request::{EditError, FileOp, NoteOutcome, Request},
    stages::Stage,
    tree::{Key, PatchTree, TreeError, normal},
};

/// What a file is to be.
#[derive(Clone, Debug)]
pub(crate) enum After {
    Bytes(Arc<[u8]>),
    Gone,
    /// Only known when it is there: an undo brings back what was kept.
    OnDisk,
}

/// A file that changes.
#[derive(Clone, Debug)]
pub(crate) struct FilePlan {
    pub(crate) key: Key,
    pub(crate) op: FileOp,
    pub(crate) from: Option<Key>,
    pub(crate) before: Option<Arc<[u8]>>,
    pub(crate) after: After,
    /// What the file that was moved here had; its diff is told where it was.
    pub(crate) source: Option<Arc<[u8]>>,
}

/// All that a request comes to.
#[derive(Debug)]
pub(crate) struct Planned {
    pub(crate) changes: Vec<Change>,
    pub(crate) files: Vec<FilePlan>,
    pub(crate) summary: String,
    pub(crate) operations: Option<Vec<Done>>,
    pub(crate) notes: Vec<NoteOutcome>,
    patch: Option<Plan<Key>>,
}

impl Planned {
    /// How the lines of a hunk were found.
    pub(crate) fn matched(&self, key: &Key, line: usize, lines: usize) -> Option<(Pass, usize)> {
        self.patch.as_ref()?.matched(key, line, lines)
    }

    /// Files with their bytes before.
    pub(crate) fn before(&self, request: &Request) -> Vec<(PathBuf, Option<Arc<[u8]>>)> {
        self.files.iter().map(|file| (request.reach.absolute(&file.key), file.before.clone())).collect()
    }
}

/// One file, followed to what a write to it changes.
struct Subject {
    key: Key,
    path: PathBuf,
    before: Option<Arc<[u8]>>,
}

fn subject(request: &Request, path: &Path) -> Result<Subject, EditError> {
    let absolute = normal(Path::new("/"), path.to_str().unwrap_or_default());
    let failed = |error| EditError::Path { path: absolute.clone(), error };
    let located = request.reach.locate(&absolute).map_err(failed)?;
    let is_link = located.link.is_some();
    let key = located.link.unwrap_or(located.entry);
    let path = request.reach.absolute(&key);
    let before = match request.reach.kind(&key).map_err(failed)? {
        Kind::Absent if is_link => return Err(EditError::NotFound { path: absolute, dangling: true }),
        Kind::Absent => None,
        Kind::Directory => return Err(EditError::IsDirectory { path }),
        Kind::Special(what) => return Err(EditError::NotRegular { path, what }),
        Kind::Link => return Err(EditError::NotRegular { path, what: "link" }),
        Kind::File { .. } => Some(request.reach.read(&key).map_err(failed)?),
    };
    Ok(Subject { key, path, before })
}

fn difference(path: &Path, expected: Option<Version>, now: Option<Version>) -> Changed {
    let reason = match (expected, now) {
        (None, _) => Reason::Created,
        (_, None) => Reason::Removed,
        _ => Reason::Changed,
    };
    Changed { path: path.to_path_buf(), expected, now, reason }
}

fn changed(path: &Path, expected: Option<Version>, now: Option<Version>) -> EditError {
    TransactionError::ContentChanged { paths: vec![difference(path, expected, now)] }.into()
}

fn expected(request: &Request, subject: &Subject) -> Result<(), EditError> {
    let now = subject.before.as_deref().map(Version::of);
    match request.expect.get(&subject.path) {
        Some(expected) if now != Some(*expected) => Err(changed(&subject.path, Some(*expected), now)),
        _ => Ok(()),
    }
}

fn single(subject: Subject, bytes: Arc<[u8]>, op_word: &str) -> Planned {
    let unchanged = subject.before.as_deref() == Some(&*bytes);
    let (op, letter) = if subject.before.is_some() { (FileOp::Update, 'M') } else { (FileOp::Add, 'A') };
    let summary = format!("Success. {op_word} the following files:\n{letter} {}\n", subject.path.display());
    if unchanged {
        let note = NoteOutcome {
            kind: "no_change",
            path: Some(subject.path.clone()),
            detail: Some("The file is as it was asked to be.".to_owned()),
        };
        return Planned { changes: Vec::new(), files: Vec::new(), summary, operations: None, notes: vec![note], patch: None };
    }
    let expect = subject.before.as_deref().map_or(Expect::Absent, |before| Expect::Version(Version::of(before)));
    let change = Change::Write {
        root: subject.key.root,
        rel: subject.key.rel.clone(),
        bytes: bytes.to_vec(),
        expect,
        metadata_from: None,
        create_parents: true,
    };
    let file = FilePlan { key: subject.key, op, from: None, before: subject.before, after: After::Bytes(bytes), source: None };
    Planned { changes: vec![change], files: vec![file], summary, operations: None, notes: Vec::new(), patch: None }
}

pub(crate) fn write(
    request: &Request,
    ledger: &Ledger,
    limits: LedgerLimits,
    path: &Path,
    content: &str,
    (create, overwrite): (bool, bool),
) -> Result<Planned, EditError> {
    let subject = subject(request, path)?;
    if content.len() as u64 > request.max_write {
        return Err(EditError::TooLarge { path: subject.path, size: content.len() as u64, limit: request.max_write });
    }
    expected(request, &subject)?;
    match subject.before.as_deref().map(Version::of) {
        None if !create => return Err(EditError::NotFound { path: subject.path, dangling: false }),
        Some(now) if !overwrite => return Err(changed(&subject.path, None, Some(now))),
        Some(now) if !request.force && !request.expect.contains_key(&subject.path) => {
            let seen = request.run.as_deref().and_then(|run| ledger.seen(run, &subject.path, limits));
            match seen {
                Some(seen) if seen == now => {}
                Some(seen) => return Err(changed(&subject.path, Some(seen), Some(now))),
                None => return Err(EditError::UnseenOverwrite { path: subject.path, version: now }),
            }
        }
        _ => {}
    }
    Ok(single(subject, content.as_bytes().into(), "Wrote"))
}

pub(crate) fn edit(request: &Request, path: &Path, replacements: &[Replacement]) -> Result<Planned, EditError> {
    let subject = subject(request, path)?;
    expected(request, &subject)?;
    let Some(before) = subject.before.clone() else {
        return Err(EditError::NotFound { path: subject.path, dangling: false });
    };
    let Ok(text) = std::str::from_utf8(&before) else {
        return Err(EditError::NotText { path: subject.path });
    };
    let after = replace(text, replacements).map_err(|error| EditError::Replace { path: subject.path.clone(), error })?;
    Ok(single(subject, after.into_bytes().into(), "Updated"))
}

pub(crate) fn patch(request: &Request, text: &str, cwd: &Path, stopped: &dyn Fn() -> bool) -> Result<Planned, EditError> {
    let patch = ccd_patch::parse(text)?;
    let mut tree = PatchTree { reach: &request.reach, cwd: cwd.to_path_buf(), stopped };
    let plan = match ccd_patch::plan(&patch, &mut tree) {
        Ok(plan) => plan,
        Err(PlanError::Nothing) => return Err(EditError::Nothing),
        Err(PlanError::Refused { .. }) if stopped() => return Err(EditError::Cancelled),
        Err(PlanError::Refused { faults, failures }) => {
            return Err(EditError::Refused { faults, failures, failure_id: None, cwd: cwd.to_path_buf() });
        }
    };
    let absolute = |path: &str| normal(cwd, path);
    let mut files = Vec::new();
    let mut changes = Vec::new();
    for target in &plan.targets {
        let before = before(request, target)?;
        let path = request.reach.absolute(&target.key);
        if let Some(wanted) = request.expect.get(&path) {
            let now = before.as_deref().map(Version::of);
            if now != Some(*wanted) {
                return Err(changed(&path, Some(*wanted), now));
            }
        }
        changes.push(change(target, before.as_deref()));
        let (op, after) = match &target.change {
            PatchChange::Write { body, .. } if target.was == Was::Absent => (FileOp::Add, After::Bytes(body.clone())),
            PatchChange::Write { body, .. } => (FileOp::Update, After::Bytes(body.clone())),
            PatchChange::Delete => (FileOp::Delete, After::Gone),
        };
        files.push(FilePlan { key: target.key.clone(), op, from: None, before, after, source: None });
    }
    join_moves(request, &plan, cwd, &mut files);
    let notes = plan
        .notes
        .iter()
        .map(|note| NoteOutcome { kind: note.kind.name(), path: note.path.as_deref().map(absolute), detail: note.detail.clone() })
        .collect();
    Ok(Planned {
        changes,
        files,
        summary: plan.summary.clone(),
        operations: Some(plan.operations.clone()),
        notes,
        patch: Some(plan),
    })
}

/// The bytes before; planning does not read what is only deleted.
fn before(request: &Request, target: &Target<Key>) -> Result<Option<Arc<[u8]>>, EditError> {
    match (&target.before, target.was) {
        (Some(bytes), _) => Ok(Some(bytes.clone())),
        (None, Was::File) => match request.reach.read(&target.key) {
            Ok(bytes) => Ok(Some(bytes)),
            // A large file can be deleted; its diff is not told.
            Err(TreeError::File(FileError::TooLarge { .. })) => Ok(None),
            Err(error) => Err(EditError::Path { path: request.reach.absolute(&target.key), error }),
        },
        (None, _) => Ok(None),
    }
}

fn change(target: &Target<Key>, before: Option<&[u8]>) -> Change {
    let (root, rel) = (target.key.root, target.key.rel.clone());
    let version = before.map(|bytes| Expect::Version(Version::of(bytes)));
    match &target.change {
        PatchChange::Write { body, metadata } => {
            let source = metadata.as_ref().filter(|source| **source != target.key);
            Change::Write {
                root,
                rel,
                bytes: body.to_vec(),
                expect: if target.was == Was::Absent { Expect::Absent } else { version.unwrap_or(Expect::Any) },
                metadata_from: source.map(|source| (source.root, source.rel.clone())),
                create_parents: true,
            }
        }
        PatchChange::Delete => {
            let link = target.was == Was::Link;
            let expect = match version {
                _ if link => Expect::Any,
                Some(version) => version,
                None => Expect::Any,
            };
            Change::Remove { root, rel, expect, link_itself: link }
        }
    }
}

/// A move is one file that was elsewhere, and not two.
fn join_moves(request: &Request, plan: &Plan<Key>, cwd: &Path, files: &mut Vec<FilePlan>) {
    for done in plan.operations.iter().filter(|done| done.op == Op::Move) {
        let Some(to) = &done.move_to else { continue };
        let key = |path: &str| {
            let located = request.reach.locate(&normal(cwd, path)).ok()?;
            Some((located.entry, located.link))
        };
        let (Some((source, _)), Some((entry, link))) = (key(&done.path), key(to)) else { continue };
        let target = link.unwrap_or(entry);
        let from = files.iter().position(|file| file.key == source && matches!(file.after, After::Gone));
        let into = files.iter().position(|file| file.key == target && matches!(file.after, After::Bytes(_)));
        if let (Some(from), Some(into)) = (from, into) {
            let gone = files[from].clone();
            files[into].op = FileOp::Move;
            files[into].from = Some(gone.key);
            files[into].source = gone.before;
            files.remove(from);
        }
    }
}

/// A stage, onto exactly the bytes that it was made from. All files are looked at, and all that differ are told.
pub(crate) fn stage(request: &Request, stage: &Stage) -> Result<Planned, EditError> {
    let mut planned = Planned {
        changes: Vec::new(),
        files: Vec::new(),
        summary: "Success. Updated the following files:\n".to_owned(),
        operations: None,
        notes: Vec::new(),
        patch: None,
    };
    let mut differing = Vec::new();
    for file in &stage.draft.files {
        let expected = request.expect.get(&file.path).copied().unwrap_or(file.version);
        let other = |reason| Changed { path: file.path.clone(), expected: Some(expected), now: None, reason };
        let subject = match subject(request, &file.path) {
            Ok(subject) if subject.path == file.path => subject,
            // A link, a folder, or more than a file that can be rewritten.
            Ok(_) | Err(EditError::IsDirectory { .. } | EditError::NotRegular { .. }) => {
                differing.push(other(Reason::Changed));
                continue;
            }
            Err(EditError::Path { error: TreeError::File(FileError::TooLarge { .. }), .. }) => {
                differing.push(other(Reason::Changed));
                continue;
            }
            Err(EditError::NotFound { .. } | EditError::Path { error: TreeError::File(FileError::NotFound), .. }) => {
                differing.push(other(Reason::Removed));
                continue;
            }
            Err(error) => return Err(error),
        };
        let now = subject.before.as_deref().map(Version::of);
        let length = subject.before.as_deref().map_or(0, <[u8]>::len);
        if now != Some(file.version) || length != file.length || expected != file.version {
            differing.push(difference(&file.path, Some(expected), now));
            continue;
        }
        planned.summary.push_str(&format!("M {}\n", file.rel.display()));
        planned.changes.push(Change::Write {
            root: subject.key.root,
            rel: subject.key.rel.clone(),
            bytes: file.text.to_vec(),
            expect: Expect::Version(file.version),
            metadata_from: None,
            create_parents: false,
        });
        planned.files.push(FilePlan {
            key: subject.key,
            op: FileOp::Update,
            from: None,
            before: subject.before,
            after: After::Bytes(Arc::clone(&file.text)),
            source: None,
        });
    }
    if differing.is_empty() { Ok(planned) } else { Err(TransactionError::ContentChanged { paths: differing }.into()) }
}

/// An earlier transaction, backwards.
pub(crate) fn undo(request: &Request, entry: &ccd_files::UndoEntry, txn_id: &str) -> Result<Planned, EditError> {
    let mut roots = Vec::new();
    for (path, dev, ino) in &entry.roots {
        let at = request.reach.roots.iter().position(|root| root.identity() == (*dev, *ino));
        let outside = || EditError::Path { path: path.clone(), error: TreeError::Outside { resolved: path.clone() } };
        roots.push(at.ok_or_else(outside)?);
    }
    let mut planned = Planned {
        changes: Vec::new(),
        files: Vec::new(),
        summary: format!("Success. Undid {txn_id}. Updated the following files:\n"),
        operations: None,
        notes: Vec::new(),
        patch: None,
    };
    for change in &entry.changes {
        let mut change = change.clone();
        let (root, rel, op, after) = match &mut change {
            Change::Write { root, rel, bytes, .. } => (root, rel, FileOp::Update, After::Bytes(bytes.as_slice().into())),
            Change::Remove { root, rel, .. } => (root, rel, FileOp::Delete, After::Gone),
            Change::Restore { root, rel, .. } => (root, rel, FileOp::Add, After::OnDisk),
        };
        let Some(&at) = roots.get(*root) else {
            return Err(EditError::State("the record of the transaction is damaged".to_owned()));
        };
        *root = at;
        let key = Key { root: at, rel: rel.clone() };
        let path = request.reach.absolute(&key);
        request.reach.permit(&key).map_err(|error| EditError::Path { path: path.clone(), error })?;
        let letter = match op {
            FileOp::Add => 'A',
            FileOp::Delete => 'D',
            _ => 'M',
        };
        planned.summary.push_str(&format!("{letter} {}\n", path.display()));
        let before = request.reach.roots[at].read(&key.rel, request.reach.max_bytes).ok().map(|file| file.bytes.into());
        planned.files.push(FilePlan { key, op, from: None, before, after, source: None });
        planned.changes.push(change);
    }
    Ok(planned)
}
