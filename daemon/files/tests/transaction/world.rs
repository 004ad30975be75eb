//! A root and a state folder in a temporary place, and what one asks of them.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ccd_files::{
    Change, Committed, Durability, Expect, Limits, Options, Root, State, Transaction, TransactionError, private_folder,
};
use ccd_text::Version;

pub(crate) struct World {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) root: Arc<Root>,
    pub(crate) state: State,
    pub(crate) options: Options,
    next: AtomicU64,
}

/// Every path with its bytes (of a link: where it leads) and mode.
pub(crate) type Tree = BTreeMap<PathBuf, (String, u32)>;

pub(crate) fn tree(root: &Path) -> Tree {
    let mut tree = Tree::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let text = if meta.is_dir() {
                folders.push(path.clone());
                "folder".to_owned()
            } else if meta.is_symlink() {
                format!("-> {}", fs::read_link(&path).unwrap().display())
            } else if meta.is_file() {
                String::from_utf8_lossy(&fs::read(&path).unwrap()).into_owned()
            } else {
                "special".to_owned()
            };
            tree.insert(path.strip_prefix(root).unwrap().to_owned(), (text, meta.permissions().mode() & 0o7777));
        }
    }
    tree
}

/// Journals and copies that are left in a state folder.
pub(crate) fn journals(state: &Path) -> Vec<String> {
    let entries = fs::read_dir(state.join("transactions")).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

impl World {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let (root, state) = (dir.path().join("root"), dir.path().join("state"));
        fs::create_dir(&root).unwrap();
        private_folder(&state).unwrap();
        let root = Arc::new(Root::open(&root, None).unwrap());
        let state = State::open(&state, Limits::default()).unwrap();
        let options = Options { durability: Durability::Process, ..Options::default() };
        Self { dir, root, state, options, next: AtomicU64::new(1) }
    }

    pub(crate) fn path(&self, rel: &str) -> PathBuf {
        self.root.path().join(rel)
    }

    pub(crate) fn state_path(&self) -> PathBuf {
        self.dir.path().join("state")
    }

    pub(crate) fn put(&self, rel: &str, text: &str) {
        let path = self.path(rel);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn text(&self, rel: &str) -> String {
        fs::read_to_string(self.path(rel)).unwrap()
    }

    pub(crate) fn tree(&self) -> Tree {
        tree(self.root.path())
    }

    pub(crate) fn commit_as(&self, txn: &str, changes: Vec<Change>) -> Result<Committed, TransactionError> {
        let locks = self.state.lock(&[self.root.identity()], Duration::from_secs(5)).unwrap();
        let transaction = Transaction {
            state: &self.state,
            txn_id: txn.to_owned(),
            roots: vec![self.root.clone()],
            options: self.options,
            changes,
            memo: None,
        };
        transaction.commit(&locks, &mut |_| Ok(()))
    }

    pub(crate) fn commit(&self, changes: Vec<Change>) -> Result<Committed, TransactionError> {
        let txn = format!("t{}", self.next.fetch_add(1, Ordering::Relaxed));
        self.commit_as(&txn, changes)
    }

    /// A transaction that must be refused and leave everything as it was, with nothing beside.
    pub(crate) fn refused(&self, changes: Vec<Change>) -> TransactionError {
        let before = self.tree();
        let error = self.commit(changes).unwrap_err();
        assert_eq!(self.tree(), before, "after {error:?}");
        assert_eq!(journals(&self.state_path()), [""; 0], "after {error:?}");
        assert!(error.rolled_back());
        error
    }

    pub(crate) fn no_litter(&self) {
        assert_eq!(journals(&self.state_path()), [""; 0]);
        let left: Vec<_> = self.tree().into_keys().filter(|path| path.to_string_lossy().contains(".ccd-")).collect();
        assert_eq!(left, [""; 0].map(PathBuf::from));
    }
}

pub(crate) fn version(text: &str) -> Expect {
    Expect::Version(Version::of(text.as_bytes()))
}

pub(crate) fn write(rel: &str, text: &str, expect: Expect) -> Change {
    Change::Write { root: 0, rel: rel.into(), bytes: text.as_bytes().to_vec(), expect, metadata_from: None, create_parents: true }
}

pub(crate) fn moved(from: &str, to: &str, text: &str, before: &str) -> [Change; 2] {
    let write = Change::Write {
        root: 0,
        rel: to.into(),
        bytes: text.as_bytes().to_vec(),
        expect: Expect::Any,
        metadata_from: Some((0, from.into())),
        create_parents: true,
    };
    [write, remove(from, version(before))]
}

pub(crate) fn remove(rel: &str, expect: Expect) -> Change {
    Change::Remove { root: 0, rel: rel.into(), expect, link_itself: true }
}
