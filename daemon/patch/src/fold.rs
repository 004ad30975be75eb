//! The folding of operations into final states.
//!
//! What the patch has touched is an overlay over the tree. A failed operation leaves its names as they were, or, where
//! that would only make the next one fail too, marks them as spoilt: what follows from a fault is not told.

use std::{
    collections::{HashMap, HashSet},
    fmt::Write as _,
    sync::Arc,
};

use crate::{
    apply::{Match, UpdateError, apply_while},
    plan::{Change, Done, Failure, Fault, HunkMatch, Note, NoteKind, Op, Plan, PlanError, Target, Was, Why},
    seek::Pass,
    syntax::{Action, Hunk, Operation},
    tree::{Kind, Tree},
};

/// A name as the operations so far have left it.
#[derive(Clone)]
enum Node<K> {
    Absent,
    Directory,
    File {
        /// None while it has the bytes of the tree, which are read when they are needed.
        body: Option<Arc<[u8]>>,
        metadata: Option<K>,
    },
    Link,
    Special(&'static str),
}

/// A name that was touched.
struct Touched<K> {
    path: String,
    /// The line of the patch of the operation that touched it first.
    line: usize,
    was: Was,
    now: Node<K>,
}

pub(crate) struct Fold<'t, T: Tree> {
    tree: &'t mut T,
    /// Of the operation under way.
    line: usize,
    touched: HashMap<T::Key, Touched<T::Key>>,
    order: Vec<T::Key>,
    originals: HashMap<T::Key, Arc<[u8]>>,
    /// The first name, as key and as written, of each file that was looked at.
    identities: HashMap<(u64, u64), (T::Key, String)>,
    directories: Vec<T::Key>,
    made: HashSet<T::Key>,
    spoilt: HashSet<T::Key>,
    operations: Vec<Done>,
    matches: Vec<HunkMatch<T::Key>>,
    notes: Vec<Note>,
    faults: Vec<Fault<T::Error>>,
    failures: Vec<Failure>,
}

/// A path, followed: the name itself and the name of the file it means.
struct Place<K> {
    entry: K,
    file: K,
}

impl<K: PartialEq> Place<K> {
    fn is_link(&self) -> bool {
        self.entry != self.file
    }
}

/// The path that is at fault, and why.
type Failed<'p, E> = (&'p str, Why<E>);

impl<'t, T: Tree> Fold<'t, T> {
    pub(crate) fn new(tree: &'t mut T) -> Self {
        Self {
            tree,
            line: 1,
            touched: HashMap::new(),
            order: Vec::new(),
            originals: HashMap::new(),
            identities: HashMap::new(),
            directories: Vec::new(),
            made: HashSet::new(),
            spoilt: HashSet::new(),
            operations: Vec::new(),
            matches: Vec::new(),
            notes: Vec::new(),
            faults: Vec::new(),
            failures: Vec::new(),
        }
    }

    pub(crate) fn operation(&mut self, operation: &Operation<'_>) {
        let path = operation.path;
        self.line = operation.line;
        let (op, move_to) = match &operation.action {
            Action::Add { .. } => (Op::Add, None),
            Action::Delete => (Op::Delete, None),
            Action::Update { move_to: None, .. } => (Op::Update, None),
            Action::Update { move_to: Some(to), .. } => (Op::Move, Some(*to)),
        };
        self.operations.push(Done { op, path: path.to_owned(), move_to: move_to.map(str::to_owned) });
        let done = match &operation.action {
            Action::Add { lines } => self.add(path, lines),
            Action::Delete => self.delete(path),
            Action::Update { move_to, hunks } => self.update(path, *move_to, hunks),
        };
        let Err((at, why)) = done else { return };
        // What the operation would have changed is unknown from here on.
        let located = [Some(path), move_to].into_iter().flatten().filter_map(|path| self.tree.locate(path).ok());
        let keys: Vec<T::Key> = located.flat_map(|located| [Some(located.entry), located.link]).flatten().collect();
        let follows = keys.iter().any(|key| self.spoilt.contains(key));
        self.spoilt.extend(keys);
        if !follows {
            let at_destination = at != path;
            self.faults.push(Fault { op, path: at.to_owned(), at_destination, patch_line: operation.line, why });
        }
    }

    fn add<'p>(&mut self, path: &'p str, lines: &[&str]) -> Result<(), Failed<'p, T::Error>> {
        let place = self.locate(path)?;
        self.writable(path, &place)?;
        let replaces = matches!(self.state(&place.file, path)?, Node::File { .. });
        let mut body = Vec::with_capacity(lines.iter().map(|line| line.len() + 1).sum());
        for line in lines {
            body.extend_from_slice(line.as_bytes());
            body.push(b'\n');
        }
        if replaces {
            self.note(NoteKind::ReplacedExisting, path, None);
        }
        let metadata = self.metadata(&place.file);
        self.set(&place.file, Node::File { body: Some(body.into()), metadata });
        Ok(())
    }

    fn delete<'p>(&mut self, path: &'p str) -> Result<(), Failed<'p, T::Error>> {
        let place = self.locate(path)?;
        match self.state(&place.entry, path)? {
            Node::Absent => return Err((path, Why::NotFound)),
            Node::Directory => return Err((path, Why::IsDirectory)),
            Node::Special(what) => return Err((path, Why::NotRegular(what))),
            Node::File { .. } | Node::Link => {}
        }
        self.set(&place.entry, Node::Absent);
        Ok(())
    }

    fn update<'p>(&mut self, path: &'p str, move_to: Option<&'p str>, hunks: &[Hunk<'_>]) -> Result<(), Failed<'p, T::Error>> {
        let source = self.locate(path)?;
        match self.state(&source.file, path)? {
            Node::File { .. } => {}
            Node::Absent if source.is_link() => return Err((path, Why::DanglingLink)),
            Node::Absent => return Err((path, Why::NotFound)),
            Node::Directory => return Err((path, Why::IsDirectory)),
            Node::Special(what) => return Err((path, Why::NotRegular(what))),
            Node::Link => return Err((path, Why::NotRegular("symbolic link"))),
        }
        let before = self.bytes(&source.file).map_err(|error| (path, Why::Tree(error)))?;
        let body: Arc<[u8]> = match apply_while(&before, hunks, &|| self.tree.stopped()) {
            Ok(updated) => {
                for at in updated.matches {
                    self.note_match(path, &at);
                    self.matches.push(HunkMatch { key: source.file.clone(), path: path.to_owned(), at });
                }
                updated.bytes.into()
            }
            Err(UpdateError::Stopped) => return Err((path, Why::Stopped)),
            Err(UpdateError::NotText { detail }) => return Err((path, Why::NotText(detail))),
            Err(UpdateError::Misses(misses)) => {
                self.failures.extend(misses.into_iter().map(|miss| Failure { path: path.to_owned(), miss }));
                // The file goes on as it was, so that later operations on it, or on its new name, are checked as well.
                before
            }
        };
        let metadata = self.metadata(&source.file);
        let Some(to) = move_to else {
            self.set(&source.file, Node::File { body: Some(body), metadata });
            return Ok(());
        };
        let destination = self.locate(to)?;
        if destination.entry == source.entry || destination.file == source.entry {
            if let Some(done) = self.operations.last_mut() {
                *done = Done { op: Op::Update, path: to.to_owned(), move_to: None };
            }
            self.set(&source.file, Node::File { body: Some(body), metadata });
            return Ok(());
        }
        self.writable(to, &destination)?;
        self.set(&destination.file, Node::File { body: Some(body), metadata });
        self.set(&source.entry, Node::Absent);
        Ok(())
    }

    /// Follows a path. A link that the patch deleted or replaced is none any more.
    fn locate<'p>(&mut self, path: &'p str) -> Result<Place<T::Key>, Failed<'p, T::Error>> {
        let located = self.tree.locate(path).map_err(|error| (path, Why::Tree(error)))?;
        if located.through.iter().any(|link| self.touched.get(link).is_some_and(|touched| !matches!(touched.now, Node::Link))) {
            return Err((path, Why::ThroughDeletedLink));
        }
        let entry = located.entry;
        let file = match located.link {
            Some(link) if matches!(self.state(&entry, path)?, Node::Link) => link,
            _ => entry.clone(),
        };
        Ok(Place { entry, file })
    }

    /// Refuses a place where no file can be written, and remembers the folders that it needs.
    fn writable<'p>(&mut self, path: &'p str, place: &Place<T::Key>) -> Result<(), Failed<'p, T::Error>> {
        match self.state(&place.file, path)? {
            Node::Absent if place.is_link() => return Err((path, Why::DanglingLink)),
            Node::Directory => return Err((path, Why::IsDirectory)),
            Node::Special(what) => return Err((path, Why::NotRegular(what))),
            Node::Link => return Err((path, Why::DanglingLink)),
            Node::File { .. } => return Ok(()),
            Node::Absent => {}
        }
        let mut missing = Vec::new();
        let mut next = self.tree.parent(&place.file);
        while let Some(folder) = next {
            if self.made.contains(&folder) {
                break;
            }
            match self.state(&folder, path)? {
                Node::Directory => break,
                Node::Absent => {}
                Node::File { .. } | Node::Link | Node::Special(_) => return Err((path, Why::BelowFile)),
            }
            next = self.tree.parent(&folder);
            missing.push(folder);
        }
        for folder in missing.into_iter().rev() {
            self.made.insert(folder.clone());
            self.directories.push(folder);
        }
        Ok(())
    }

    /// What is at a name now. Looking is touching: two names of one file are refused however they are used.
    fn state<'p>(&mut self, key: &T::Key, path: &'p str) -> Result<Node<T::Key>, Failed<'p, T::Error>> {
        if self.made.contains(key) {
            return Ok(Node::Directory);
        }
        if let Some(touched) = self.touched.get(key) {
            return Ok(touched.now.clone());
        }
        let (was, now) = match self.tree.kind(key).map_err(|error| (path, Why::Tree(error)))? {
            Kind::Absent => (Was::Absent, Node::Absent),
            Kind::File { identity } => {
                if let Some(identity) = identity {
                    let (first, other) = self.identities.entry(identity).or_insert_with(|| (key.clone(), path.to_owned()));
                    if first != key {
                        return Err((path, Why::SameFile { other: other.clone() }));
                    }
                }
                (Was::File, Node::File { body: None, metadata: Some(key.clone()) })
            }
            Kind::Link => (Was::Link, Node::Link),
            Kind::Directory => return Ok(Node::Directory),
            Kind::Special(what) => return Ok(Node::Special(what)),
        };
        self.order.push(key.clone());
        self.touched.insert(key.clone(), Touched { path: path.to_owned(), line: self.line, was, now: now.clone() });
        Ok(now)
    }

    fn set(&mut self, key: &T::Key, now: Node<T::Key>) {
        if let Some(touched) = self.touched.get_mut(key) {
            touched.now = now;
        }
    }

    /// Whose metadata the file at a name has.
    fn metadata(&self, key: &T::Key) -> Option<T::Key> {
        match &self.touched.get(key)?.now {
            Node::File { metadata, .. } => metadata.clone(),
            _ => None,
        }
    }

    /// The bytes of a file now.
    fn bytes(&mut self, key: &T::Key) -> Result<Arc<[u8]>, T::Error> {
        match self.touched.get(key).map(|touched| &touched.now) {
            Some(Node::File { body: Some(body), .. }) => Ok(Arc::clone(body)),
            _ => self.original(key),
        }
    }

    /// The bytes of a file before the patch.
    fn original(&mut self, key: &T::Key) -> Result<Arc<[u8]>, T::Error> {
        if let Some(bytes) = self.originals.get(key) {
            return Ok(Arc::clone(bytes));
        }
        let bytes = self.tree.read(key)?;
        self.originals.insert(key.clone(), Arc::clone(&bytes));
        Ok(bytes)
    }

    fn note(&mut self, kind: NoteKind, path: &str, detail: Option<String>) {
        self.notes.push(Note { kind, path: Some(path.to_owned()), detail });
    }

    fn note_match(&mut self, path: &str, at: &Match) {
        let Match { hunk, line, pass, other_matches: others, .. } = at;
        if *pass > Pass::Exact {
            self.note(NoteKind::MatchedLoosely, path, Some(format!("hunk {hunk}, line {line}, pass {pass}")));
        }
        if *others > 0 {
            let detail = format!("hunk {hunk} was put at line {line}; it fits at {others} more");
            self.note(NoteKind::AmbiguousMatch, path, Some(detail));
        }
        if at.appended_away_from_context {
            let detail = format!("hunk {hunk} has no old lines, so its lines were put at the end of the file, line {line}");
            self.note(NoteKind::AppendedAwayFromContext, path, Some(detail));
        }
    }

    pub(crate) fn finish(mut self) -> Result<Plan<T::Key>, PlanError<T::Error>> {
        let mut targets = Vec::new();
        if self.faults.is_empty() && self.failures.is_empty() {
            for key in std::mem::take(&mut self.order) {
                let Some(touched) = self.touched.remove(&key) else { continue };
                match self.target(&key, touched) {
                    Ok(target) => targets.extend(target),
                    Err(fault) => self.faults.push(fault),
                }
            }
        }
        if !self.faults.is_empty() || !self.failures.is_empty() {
            return Err(PlanError::Refused { faults: self.faults, failures: self.failures });
        }
        let summary = summary(&self.operations);
        let mut plan = Plan {
            targets,
            directories: self.directories,
            operations: self.operations,
            summary,
            matches: self.matches,
            notes: self.notes,
        };
        if plan.is_unchanged() {
            plan.notes.push(Note { kind: NoteKind::NoChange, path: None, detail: None });
        }
        Ok(plan)
    }

    /// What is to be done about a name; nothing if it is as it was.
    fn target(&mut self, key: &T::Key, touched: Touched<T::Key>) -> Result<Option<Target<T::Key>>, Fault<T::Error>> {
        let Touched { path, line, was, now } = touched;
        let mut before = self.originals.get(key).cloned();
        let change = match now {
            Node::File { body: Some(body), metadata } => {
                if was == Was::File {
                    let bytes = self.original(key).map_err(|error| {
                        let (path, why) = (path.clone(), Why::Tree(error));
                        Fault { op: Op::Update, path, at_destination: false, patch_line: line, why }
                    })?;
                    // A file that was deleted and added again is the same file if it says the same.
                    if bytes == body && metadata.as_ref().is_none_or(|from| from == key) {
                        return Ok(None);
                    }
                    before = Some(bytes);
                }
                Change::Write { body, metadata }
            }
            Node::Absent if was != Was::Absent => Change::Delete,
            _ => return Ok(None),
        };
        Ok(Some(Target { key: key.clone(), path, was, before, change }))
    }
}

/// In the words of the reference: additions, then changes, then deletions, each in the order of the patch.
fn summary(operations: &[Done]) -> String {
    let mut summary = String::from("Success. Updated the following files:\n");
    for (letter, ops) in [('A', &[Op::Add][..]), ('M', &[Op::Update, Op::Move]), ('D', &[Op::Delete])] {
        for done in operations.iter().filter(|done| ops.contains(&done.op)) {
            let _ = writeln!(summary, "{letter} {}", done.move_to.as_deref().unwrap_or(&done.path));
        }
    }
    summary
}
