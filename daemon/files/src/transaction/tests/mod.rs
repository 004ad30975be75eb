//! Transactions over file systems that fail, and that lose what was not made durable.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]
#![allow(clippy::print_stderr, reason = "figures")]

mod crash;
mod fault;
mod faults;
mod journals;
mod power;

use std::{ffi::OsStr, path::PathBuf};

use ccd_text::Version;
use rustix::io::Errno;

use super::{
    change::{Change, Committed, Durability, Expect, Options, WriteMode},
    engine::Engine,
    fail::TransactionError,
    folders::Base,
    fs::{Fs, Open, write_all},
    outcome::{self, Outcome, OutcomeState},
    recover,
    store::{Limits, Store, now},
};

/// A root and a state folder on some file system.
pub(crate) struct Scene<F: Fs> {
    pub(crate) base: Base<F::Fd>,
    pub(crate) state: F::Fd,
}

pub(crate) const TXN: &str = "txn";

/// Makes the old files in the folders `root` and `state` of a folder.
pub(crate) fn scene<F: Fs>(fs: &F, top: &F::Fd, path: PathBuf) -> Scene<F> {
    for name in ["root", "state"] {
        fs.make_folder(top, OsStr::new(name), 0o700).unwrap();
    }
    let open = |name: &str| fs.open(top, OsStr::new(name), Open::Folder).unwrap();
    let root = open("root");
    for (name, text) in OLD {
        let fd = fs.open(&root, OsStr::new(name), Open::Create(0o644)).unwrap();
        write_all(fs, &fd, text.as_bytes()).unwrap();
    }
    let meta = fs.stat(&root).unwrap();
    Scene { base: Base { fd: root, path: path.join("root"), dev: meta.dev, ino: meta.ino }, state: open("state") }
}

/// Puts an idle stage where an earlier transaction leaves it.
pub(crate) fn warm<F: Fs>(fs: &F, scene: &Scene<F>) {
    let store = Store::open(fs, &scene.state, scene.base.path.clone(), Limits::default()).unwrap();
    let name = format!("{}-{}", scene.base.dev, scene.base.ino);
    fs.make_folder(&store.idle, OsStr::new(&name), 0o700).unwrap();
    let stages = fs.open(&store.idle, OsStr::new(&name), Open::Folder).unwrap();
    fs.make_folder(&stages, OsStr::new("idle"), 0o700).unwrap();
    fs.open(&stages, OsStr::new(".gitignore"), Open::Create(0o600)).unwrap();
}

/// Longer than one piece of a write in memory.
pub(crate) const OLD: [(&str, &str); 3] = [
    ("a", "a old, and longer than what the model of a disk writes in one piece, for a file that is written in place\n"),
    ("b", "b old\n"),
    ("gone", "gone\n"),
];

pub(crate) fn changes() -> Vec<Change> {
    let old = |name: &str| {
        let text = OLD.iter().find(|(old, _)| *old == name).unwrap().1;
        Expect::Version(Version::of(text.as_bytes()))
    };
    let write = |rel: &str, text: &str, expect| Change::Write {
        root: 0,
        rel: rel.into(),
        bytes: text.as_bytes().to_vec(),
        expect,
        metadata_from: None,
        create_parents: true,
    };
    vec![
        write("a", "a new\n", old("a")),
        write("b", "b new\n", old("b")),
        write("new/deep/c", "c\n", Expect::Absent),
        Change::Remove { root: 0, rel: "gone".into(), expect: old("gone"), link_itself: false },
    ]
}

pub(crate) fn options(durability: Durability, write_mode: WriteMode) -> Options {
    Options { durability, write_mode, ..Options::default() }
}

/// The transaction, as a caller does it.
pub(crate) fn run<F: Fs>(fs: &F, scene: &Scene<F>, options: Options) -> Result<Committed, TransactionError> {
    let fail = |errno| TransactionError::of(&scene.base.path, errno);
    let store = Store::open(fs, &scene.state, scene.base.path.clone(), Limits::default()).map_err(fail)?;
    let engine = Engine { fs, store: &store, roots: vec![scene.base.clone()], txn_id: TXN, options, memo: None };
    engine.run(&changes(), &mut |_| {
        let outcome = Outcome {
            txn_id: TXN.to_owned(),
            request: None,
            state: OutcomeState::Committed,
            time: now(),
            result: b"stored".to_vec(),
        };
        Ok(outcome::store(fs, &store, &outcome, options.durability == Durability::Power)?)
    })
}

/// Recovery, as a start of the daemon does it. Gives the state that is told of the transaction.
pub(crate) fn recovered<F: Fs>(fs: &F, scene: &Scene<F>) -> Result<Option<OutcomeState>, Errno> {
    let store = Store::open(fs, &scene.state, scene.base.path.clone(), Limits::default())?;
    recover::recover(fs, &store, &|_| Some(scene.base.clone()), &|_| true, true)?;
    recover::sweep(fs, &store, &scene.base)?;
    Ok(outcome::load(fs, &store, TXN)?.map(|outcome| outcome.state))
}

/// What is left of journals.
pub(crate) fn left<F: Fs>(fs: &F, scene: &Scene<F>) -> Vec<std::ffi::OsString> {
    let journals = fs.open(&scene.state, OsStr::new(super::store::JOURNALS), Open::Folder).unwrap();
    fs.list(&journals).unwrap()
}
