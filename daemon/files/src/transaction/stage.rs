//! Staging: the new files, complete with their metadata, where one rename puts them in place.
//!
//! Room runs out here, or not at all: nothing after it needs more than an entry in a folder.

use std::{
    collections::HashSet,
    ffi::OsStr,
    path::{Path, PathBuf},
};

use ccd_text::Version;
use rustix::io::Errno;

use super::{
    change::{Body, MetadataPolicy, Note, Options},
    fail::{Failure, TransactionError},
    folders::{Base, Folders},
    fs::{Fs, Kind, Open, Rename, again, read_at, unless_absent, write_all},
    journal::{Journal, Op, OpKind, Print, joined},
    metadata::Applied,
    plan::{Plan, STAGES},
    store::Store,
};

/// Beyond so many files one `syncfs` costs less than a sync of each.
pub(crate) const MANY: usize = 8;

/// Writes every new file of a plan. The plan's steps know afterwards how to recognise them.
pub(crate) fn stage<F: Fs>(
    folders: &Folders<'_, F>,
    store: &Store<F>,
    plan: &mut Plan,
    options: Options,
    power: bool,
) -> Result<(), TransactionError> {
    let fs = folders.fs;
    for root in stages(plan.steps.iter().map(|step| &step.op)) {
        make_stage(folders, store, root.0, &root.1)?;
    }
    let bodies = plan.steps.iter().filter(|step| step.body.is_some()).count();
    let each = power && bodies <= MANY;
    let mut synced_late: HashSet<(usize, PathBuf)> = HashSet::new();
    for step in &mut plan.steps {
        let op = &mut step.op;
        let path = folders.absolute(op.root, &op.path);
        let fail = |errno| TransactionError::of(&path, errno);
        let Some(body) = &step.body else { continue };
        let bytes = match body {
            Body::Link(target) => {
                let folder = folders.get(op.root, &op.slot.folder).map_err(fail)?;
                fs.make_link(&folder, &op.slot.name, target.as_os_str()).map_err(fail)?;
                op.post = Some(link_print(fs, &folder, &op.slot.name).map_err(fail)?);
                if power {
                    synced_late.insert((op.root, op.slot.folder.clone()));
                }
                continue;
            }
            Body::Bytes(bytes) => bytes,
        };
        if op.kind == OpKind::InPlace {
            copies(folders, &store.journals, op, bytes, power).map_err(|error| error.unwrap_or_else(fail))?;
            continue;
        }
        let folder = folders.get(op.root, &op.slot.folder).map_err(fail)?;
        // A new file's mode is what the user's umask leaves of this; the stage itself is closed to others.
        let mode = if step.attributes.is_some() { 0o600 } else { 0o666 };
        let fd = again(|| fs.open(&folder, &op.slot.name, Open::Create(mode))).map_err(fail)?;
        write_all(fs, &fd, bytes).map_err(fail)?;
        if let Some(attributes) = &step.attributes {
            let notes = &mut plan.notes;
            let mut lost = |what| {
                let warn = options.metadata == MetadataPolicy::Warn;
                if warn {
                    notes.push(Note::MetadataLost { path: path.clone(), what });
                }
                warn
            };
            attributes.apply(fs, &fd, &mut lost).map_err(|why| match why {
                Applied::Failed(errno) => fail(errno),
                Applied::Refused(what) => TransactionError::Metadata { path: path.clone(), what },
            })?;
        }
        if each {
            again(|| fs.sync(&fd)).map_err(fail)?;
        } else if power {
            synced_late.insert((op.root, op.slot.folder.clone()));
        }
        let meta = fs.stat(&fd).map_err(fail)?;
        op.post = Some(Print { dev: meta.dev, ino: meta.ino, size: bytes.len() as u64, version: Some(Version::of(bytes)) });
    }
    if power {
        // Without the way to it, an old file in the stage would be lost with its new name.
        for (root, stage) in stages(plan.steps.iter().map(|step| &step.op)) {
            let fail = |errno| TransactionError::of(&folders.absolute(root, &stage), errno);
            for above in [Path::new(STAGES), Path::new("")] {
                let fd = folders.get(root, above).map_err(fail)?;
                again(|| fs.sync_folder(&fd)).map_err(fail)?;
            }
        }
    }
    for (root, folder) in synced_late {
        let fail = |errno| TransactionError::of(&folders.absolute(root, &folder), errno);
        let fd = folders.get(root, &folder).map_err(fail)?;
        again(|| fs.sync_all(&fd)).map_err(fail)?;
    }
    Ok(())
}

/// What identifies a link.
pub(crate) fn link_print<F: Fs>(fs: &F, folder: &F::Fd, name: &OsStr) -> Result<Print, Errno> {
    use std::os::unix::ffi::OsStrExt;
    let target = fs.read_link(folder, name)?;
    let meta = fs.stat_at(folder, name)?;
    Ok(Print { dev: meta.dev, ino: meta.ino, size: meta.size, version: Some(Version::of(target.as_bytes())) })
}

/// Both states of a file that is written in place, in the folder of the journals.
fn copies<F: Fs>(
    folders: &Folders<'_, F>,
    journals: &F::Fd,
    op: &mut Op,
    bytes: &[u8],
    power: bool,
) -> Result<(), Result<TransactionError, Errno>>
where
{
    let fs = folders.fs;
    let parent = folders.get(op.root, op.folder()).map_err(Err)?;
    let (meta, before) = read_at(fs, &parent, op.name()).map_err(Err)?;
    let version = Version::of(&before);
    let pre = op.pre.expect("a file that is written in place is there");
    if (meta.dev, meta.ino) != (pre.dev, pre.ino) || Some(version) != pre.version {
        let path = folders.absolute(op.root, &op.path);
        return Err(Ok(super::apply::changed(path, Some(pre), Some(version))));
    }
    for (ending, content) in [(".pre", before.as_slice()), (".new", bytes)] {
        let name = joined(&op.slot.name, ending);
        unless_absent(fs.unlink(journals, &name)).map_err(Err)?;
        let fd = again(|| fs.open(journals, &name, Open::Create(0o600))).map_err(Err)?;
        write_all(fs, &fd, content).map_err(Err)?;
        if power {
            again(|| fs.sync(&fd)).map_err(Err)?;
        }
    }
    op.post = Some(Print { dev: meta.dev, ino: meta.ino, size: bytes.len() as u64, version: Some(Version::of(bytes)) });
    Ok(())
}

/// The stages in roots that these steps use: root and folder.
pub(crate) fn stages<'o>(ops: impl Iterator<Item = &'o Op>) -> Vec<(usize, PathBuf)> {
    let mut stages: Vec<(usize, PathBuf)> = Vec::new();
    for op in ops {
        if op.slot.folder.starts_with(STAGES) && !stages.contains(&(op.root, op.slot.folder.clone())) {
            stages.push((op.root, op.slot.folder.clone()));
        }
    }
    stages
}

/// Makes the stage of a root. One that is left of an earlier transaction of the same id is an orphan: no journal
/// names it, or this transaction would not have begun.
fn make_stage<F: Fs>(folders: &Folders<'_, F>, store: &Store<F>, root: usize, stage: &Path) -> Result<(), TransactionError> {
    let fs = folders.fs;
    let path = folders.absolute(root, stage);
    let fail = |errno| TransactionError::of(&path, errno);
    let base = folders.roots[root].fd.clone();
    if unpark(folders, store, root, stage).is_ok() {
        return Ok(());
    }
    match fs.make_folder(&base, OsStr::new(STAGES), 0o700) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(errno) => return Err(fail(errno)),
    }
    let meta = fs.stat_at(&base, OsStr::new(STAGES)).map_err(fail)?;
    // A checkout may bring an entry of this name; whatever is not a closed folder of ours is left alone.
    let ours = meta.uid == rustix::process::geteuid().as_raw() && meta.mode & 0o077 == 0;
    if meta.kind != Kind::Directory || !ours {
        return Err(TransactionError::CommitFailed(Failure { path, os_error: "EEXIST".to_owned() }));
    }
    let stages = folders.get(root, Path::new(STAGES)).map_err(fail)?;
    match again(|| fs.open(&stages, OsStr::new(".gitignore"), Open::Create(0o600))) {
        Ok(fd) => write_all(fs, &fd, b"*\n").map_err(fail)?,
        Err(Errno::EXIST) => {}
        Err(errno) => return Err(fail(errno)),
    }
    let name = stage.file_name().unwrap_or_default();
    match fs.make_folder(&stages, name, 0o700) {
        Err(Errno::EXIST) => {
            empty_folder(fs, &stages, name).map_err(fail)?;
            fs.make_folder(&stages, name, 0o700).map_err(fail)
        }
        other => other.map_err(fail),
    }
}

/// The stage in a folder of stages that nobody uses.
const IDLE: &str = "idle";

/// The name of a root's stages while they are idle. They only ever serve the same root: what a folder inherited from
/// it (labels, ACLs) they pass on to new files.
fn parked<Fd>(base: &Base<Fd>) -> std::ffi::OsString {
    format!("{}-{}", base.dev, base.ino).into()
}

/// Puts the folder of the stages away, instead of removing it: to remove a folder takes some file systems
/// milliseconds, to rename one takes microseconds.
fn park<F: Fs>(folders: &Folders<'_, F>, store: &Store<F>, root: usize, stage: &Path) -> Result<(), Errno> {
    let fs = folders.fs;
    let base = &folders.roots[root];
    let name = stage.file_name().unwrap_or_default();
    let stages = folders.get(root, Path::new(STAGES))?;
    let alone = fs.list(&stages)?.iter().all(|entry| entry == ".gitignore" || entry == name);
    if !alone || !fs.list(&folders.get(root, stage)?)?.is_empty() {
        return Err(Errno::NOTEMPTY);
    }
    fs.rename(&stages, name, &stages, OsStr::new(IDLE), Rename::Keep)?;
    fs.rename(&base.fd, OsStr::new(STAGES), &store.idle, &parked(base), Rename::Keep)?;
    folders.forget(root, Path::new(STAGES));
    Ok(())
}

/// Takes the root's own stages again. What fails halfway is an empty folder, which goes with the stages.
fn unpark<F: Fs>(folders: &Folders<'_, F>, store: &Store<F>, root: usize, stage: &Path) -> Result<(), Errno> {
    let fs = folders.fs;
    let base = &folders.roots[root];
    fs.rename(&store.idle, &parked(base), &base.fd, OsStr::new(STAGES), Rename::Keep)?;
    let stages = folders.get(root, Path::new(STAGES))?;
    let name = stage.file_name().unwrap_or_default();
    fs.rename(&stages, OsStr::new(IDLE), &stages, name, Rename::Keep)?;
    if fs.list(&folders.get(root, stage)?)?.is_empty() { Ok(()) } else { Err(Errno::NOTEMPTY) }
}

/// Removes a folder of ours and the files in it.
pub(crate) fn empty_folder<F: Fs>(fs: &F, above: &F::Fd, name: &OsStr) -> Result<(), Errno> {
    let folder = match again(|| fs.open(above, name, Open::Folder)) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    for entry in fs.list(&folder)? {
        unless_absent(fs.unlink(&folder, &entry))?;
    }
    unless_absent(fs.remove_folder(above, name))
}

/// Removes what staging left: everything but the slots that are kept. Says what could not be removed.
pub(crate) fn unstage<F: Fs>(
    folders: &Folders<'_, F>,
    store: &Store<F>,
    journal: &Journal,
    keep: &HashSet<usize>,
) -> Result<(), Errno> {
    let fs = folders.fs;
    let mut result = Ok(());
    let mut also = |outcome: Result<(), Errno>| {
        if let Err(errno) = unless_absent(outcome) {
            result = Err(errno);
        }
    };
    for (at, op) in journal.ops.iter().enumerate() {
        if keep.contains(&at) || op.kind == OpKind::MakeFolder {
            continue;
        }
        if op.kind == OpKind::InPlace {
            also(fs.unlink(&store.journals, &joined(&op.slot.name, ".pre")));
            also(fs.unlink(&store.journals, &joined(&op.slot.name, ".new")));
        } else if !op.slot.folder.starts_with(STAGES) {
            also(folders.get(op.root, &op.slot.folder).and_then(|folder| fs.unlink(&folder, &op.slot.name)));
            also(folders.get(op.root, &op.slot.folder).and_then(|folder| fs.unlink(&folder, &op.slot.old())));
        }
    }
    for (root, stage) in stages(journal.ops.iter()) {
        let kept: Vec<_> = keep.iter().map(|at| &journal.ops[*at]).filter(|op| op.root == root).collect();
        // It may be gone, and the folder around it not: the process ended between the two.
        if let Ok(folder) = folders.get(root, &stage) {
            match fs.list(&folder) {
                Err(errno) => also(Err(errno)),
                Ok(names) => {
                    for name in names {
                        if !kept.iter().any(|op| op.slot.name == name || op.slot.old() == name) {
                            also(fs.unlink(&folder, &name));
                        }
                    }
                }
            }
        }
        if kept.is_empty() && park(folders, store, root, &stage).is_err() {
            also(
                folders
                    .get(root, Path::new(STAGES))
                    .and_then(|above| fs.remove_folder(&above, stage.file_name().unwrap_or_default())),
            );
            folders.forget(root, &stage);
            also(close_stages(folders, root));
        }
    }
    result
}

/// Removes the folder of the stages when it holds none.
pub(crate) fn close_stages<F: Fs>(folders: &Folders<'_, F>, root: usize) -> Result<(), Errno> {
    let fs = folders.fs;
    let stages = match folders.get(root, Path::new(STAGES)) {
        Err(Errno::NOENT) => return Ok(()),
        other => other?,
    };
    if fs.list(&stages)?.iter().any(|name| name != ".gitignore" && name != IDLE) {
        return Ok(());
    }
    empty_folder(fs, &stages, OsStr::new(IDLE))?;
    unless_absent(fs.unlink(&stages, OsStr::new(".gitignore")))?;
    folders.forget(root, Path::new(STAGES));
    unless_absent(fs.remove_folder(&folders.roots[root].fd, OsStr::new(STAGES)))
}
