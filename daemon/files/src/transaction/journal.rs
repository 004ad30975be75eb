//! The journal of a transaction: what it is about to do to which files, and how to tell ours from theirs.
//!
//! One file in the state folder, so that recovery finds it without knowing any workspace. Its name says how far
//! the transaction came: `.tmp` is not valid yet, `.prep` is to be undone, `.done` is committed, and `.conflict` is
//! undone but for files that somebody else changed. Lines of words, paths escaped byte by byte, a checksum at the end.

use std::{
    ffi::{OsStr, OsString},
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
};

use ccd_text::Version;
use rustix::io::Errno;

use super::fs::{Fs, Open, again, read_at, unless_absent, write_all};

const FORMAT: &str = "ccd-transaction 1";

/// What tells one state of a file from any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Print {
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    pub(crate) size: u64,
    /// None for a file that may be removed but not read.
    pub(crate) version: Option<Version>,
}

/// What is done to one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpKind {
    /// A folder is made.
    MakeFolder,
    /// The staged file and the one at the name change places.
    Exchange,
    /// The staged file goes to a name where nothing is.
    Create,
    /// The file or link goes into the stage.
    Remove,
    /// The file itself is written; copies of both states lie in the state folder.
    InPlace,
}

const KINDS: [(OpKind, &str); 5] = [
    (OpKind::MakeFolder, "folder"),
    (OpKind::Exchange, "exchange"),
    (OpKind::Create, "create"),
    (OpKind::Remove, "remove"),
    (OpKind::InPlace, "in-place"),
];

/// Where the other state of a file lies. For [`OpKind::InPlace`] the name is the stem of two files in the folder of
/// the journals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) folder: PathBuf,
    pub(crate) name: OsString,
}

impl Slot {
    /// The name under which the old file is linked where names cannot be exchanged.
    pub(crate) fn old(&self) -> OsString {
        joined(&self.name, ".old")
    }
}

/// One step. Paths count from the root and hold no links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Op {
    pub(crate) kind: OpKind,
    pub(crate) root: usize,
    pub(crate) path: PathBuf,
    /// Device and inode of the folder of the path, when it was there.
    pub(crate) parent: Option<(u64, u64)>,
    pub(crate) slot: Slot,
    pub(crate) pre: Option<Print>,
    pub(crate) post: Option<Print>,
}

impl Op {
    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new(""))
    }

    pub(crate) fn name(&self) -> &OsStr {
        self.path.file_name().unwrap_or_default()
    }
}

/// A root that a transaction writes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct JournalRoot {
    pub(crate) path: PathBuf,
    pub(crate) dev: u64,
    pub(crate) ino: u64,
    /// The name of its folder in `.ccd-tx`, if it has one.
    pub(crate) stage: Option<OsString>,
}

/// A whole journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Journal {
    pub(crate) txn_id: String,
    /// Which process wrote it.
    pub(crate) instance: String,
    /// When, in seconds since 1970.
    pub(crate) time: u64,
    /// Whether writes are made durable.
    pub(crate) power: bool,
    pub(crate) roots: Vec<JournalRoot>,
    pub(crate) ops: Vec<Op>,
    /// What recovery tells of a success whose caller got no answer.
    pub(crate) memo: Option<Memo>,
}

/// What a repetition of a call is answered from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memo {
    /// The hash of the request.
    pub request: [u8; 16],
    /// What was, or would have been, answered.
    pub result: Vec<u8>,
}

/// How far a transaction came; the ending of its journal's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Staging next to targets; nothing is applied.
    Staging,
    Prepared,
    Committed,
    Conflict,
}

impl Stage {
    pub(crate) const fn ending(self) -> &'static str {
        match self {
            Self::Staging => ".tmp",
            Self::Prepared => ".prep",
            Self::Committed => ".done",
            Self::Conflict => ".conflict",
        }
    }

    /// The stem and the stage of a file name.
    pub(crate) fn of(name: &OsStr) -> Option<(OsString, Self)> {
        let stages = [Self::Staging, Self::Prepared, Self::Committed, Self::Conflict];
        stages.into_iter().find_map(|stage| {
            let stem = name.as_bytes().strip_suffix(stage.ending().as_bytes())?;
            Some((OsString::from_vec(stem.to_vec()), stage))
        })
    }
}

/// The name of the files of a transaction: its id where that can be a name, else a hash of it.
pub(crate) fn stem(txn_id: &str) -> OsString {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if !txn_id.is_empty() && txn_id.len() <= 64 && txn_id.bytes().all(plain) {
        txn_id.into()
    } else {
        OsString::from(format!("id-{}", hex(Version::of(txn_id.as_bytes()))))
    }
}

pub(crate) fn joined(name: &OsStr, ending: &str) -> OsString {
    let mut name = name.to_owned();
    name.push(ending);
    name
}

impl Journal {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut text = format!("{FORMAT}\ntxn {}\ninstance {}\n", word(self.txn_id.as_bytes()), word(self.instance.as_bytes()));
        text.push_str(&format!("time {}\n", self.time));
        text.push_str(if self.power { "durability power\n" } else { "durability process\n" });
        for root in &self.roots {
            let stage = root.stage.as_ref().map_or_else(|| "-".to_owned(), |stage| word(stage.as_bytes()));
            text.push_str(&format!("root {} {} {} {stage}\n", root.dev, root.ino, path(&root.path)));
        }
        for op in &self.ops {
            let kind = KINDS.iter().find(|(kind, _)| *kind == op.kind).map_or("", |(_, name)| name);
            let parent = op.parent.map_or_else(|| "-".to_owned(), |(dev, ino)| format!("{dev}:{ino}"));
            let (folder, name) = (path(&op.slot.folder), word(op.slot.name.as_bytes()));
            let (pre, post) = (print(op.pre), print(op.post));
            text.push_str(&format!("op {kind} {} {} {parent} {folder} {name} {pre} {post}\n", op.root, path(&op.path)));
        }
        if let Some(memo) = &self.memo {
            text.push_str(&format!("memo {} {}\n", hex(Version::from_bytes(memo.request)), word(&memo.result)));
        }
        sealed(text)
    }

    /// None for a file that is torn, or not ours.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let text = unsealed(bytes)?;
        let mut lines = text.lines();
        if lines.next()? != FORMAT {
            return None;
        }
        let mut journal = Self {
            txn_id: String::new(),
            instance: String::new(),
            time: 0,
            power: true,
            roots: Vec::new(),
            ops: Vec::new(),
            memo: None,
        };
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            match words.as_slice() {
                ["txn", id] => journal.txn_id = String::from_utf8(unword(id)?).ok()?,
                ["instance", id] => journal.instance = String::from_utf8(unword(id)?).ok()?,
                ["memo", request, result] => {
                    journal.memo = Some(Memo { request: unhex(request)?.to_bytes(), result: unword(result)? });
                }
                ["time", seconds] => journal.time = seconds.parse().ok()?,
                ["durability", what] => journal.power = *what == "power",
                ["root", dev, ino, path, stage] => journal.roots.push(JournalRoot {
                    path: unpath(path)?,
                    dev: dev.parse().ok()?,
                    ino: ino.parse().ok()?,
                    stage: if *stage == "-" { None } else { Some(OsString::from_vec(unword(stage)?)) },
                }),
                ["op", kind, root, path, parent, folder, name, pre, post] => {
                    let op = Op {
                        kind: KINDS.iter().find(|(_, name)| name == kind)?.0,
                        root: root.parse().ok()?,
                        path: unpath(path)?,
                        parent: match parent.split_once(':') {
                            None => None,
                            Some((dev, ino)) => Some((dev.parse().ok()?, ino.parse().ok()?)),
                        },
                        slot: Slot { folder: unpath(folder)?, name: OsString::from_vec(unword(name)?) },
                        pre: unprint(pre)?,
                        post: unprint(post)?,
                    };
                    if op.root >= journal.roots.len() {
                        return None;
                    }
                    journal.ops.push(op);
                }
                _ => return None,
            }
        }
        Some(journal)
    }

    /// Writes it under another name and puts it in place in one step.
    pub(crate) fn write<F: Fs>(&self, fs: &F, folder: &F::Fd, stem: &OsStr, stage: Stage) -> Result<(), Errno> {
        put(fs, folder, &joined(stem, stage.ending()), &self.encode(), self.power)
    }
}

/// A checksum at the end of a text.
pub(crate) fn sealed(mut text: String) -> Vec<u8> {
    let sum = Version::of(text.as_bytes());
    text.push_str(&format!("sum {}\n", hex(sum)));
    text.into_bytes()
}

/// The text before a checksum that holds.
pub(crate) fn unsealed(bytes: &[u8]) -> Option<&str> {
    let text = std::str::from_utf8(bytes).ok()?;
    let (body, last) = text.strip_suffix('\n')?.rsplit_once('\n')?;
    let body = &text[..=body.len()];
    (last.strip_prefix("sum ")? == hex(Version::of(body.as_bytes()))).then_some(body)
}

/// Writes a file of ours so that it is there as a whole or not at all.
pub(crate) fn put<F: Fs>(fs: &F, folder: &F::Fd, name: &OsStr, bytes: &[u8], power: bool) -> Result<(), Errno> {
    let unfinished = joined(name, ".tmp");
    let write = || {
        unless_absent(fs.unlink(folder, &unfinished))?;
        let fd = again(|| fs.open(folder, &unfinished, Open::Create(0o600)))?;
        write_all(fs, &fd, bytes)?;
        if power {
            again(|| fs.sync(&fd))?;
        }
        fs.rename(folder, &unfinished, folder, name, super::fs::Rename::Replace)
    };
    if let Err(errno) = write() {
        // What is left of it is deleted by recovery.
        let _ = fs.unlink(folder, &unfinished);
        return Err(errno);
    }
    if power { again(|| fs.sync_folder(folder)) } else { Ok(()) }
}

/// Reads a journal; `Ok(None)` for one that is damaged.
pub(crate) fn read<F: Fs>(fs: &F, folder: &F::Fd, name: &OsStr) -> Result<Option<Journal>, Errno> {
    let (_, bytes) = read_at(fs, folder, name)?;
    Ok(Journal::decode(&bytes))
}

pub(crate) fn hex(version: Version) -> String {
    version.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn unhex(text: &str) -> Option<Version> {
    let mut bytes = [0; 16];
    if text.len() != 32 || !text.is_ascii() {
        return None;
    }
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[at * 2..at * 2 + 2], 16).ok()?;
    }
    Some(Version::from_bytes(bytes))
}

/// Bytes as one word of a line; it begins with `=`, so that no bytes are a word as well.
pub(crate) fn word(bytes: &[u8]) -> String {
    let mut word = String::from("=");
    for byte in bytes {
        if byte.is_ascii_graphic() && *byte != b'%' {
            word.push(char::from(*byte));
        } else {
            word.push_str(&format!("%{byte:02x}"));
        }
    }
    word
}

pub(crate) fn unword(word: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = word.strip_prefix('=')?.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            bytes.push(u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?);
        } else {
            bytes.push(byte);
        }
    }
    Some(bytes)
}

pub(crate) fn path(path: &Path) -> String {
    word(path.as_os_str().as_bytes())
}

pub(crate) fn unpath(word: &str) -> Option<PathBuf> {
    Some(PathBuf::from(OsString::from_vec(unword(word)?)))
}

fn print(print: Option<Print>) -> String {
    let Some(print) = print else { return "-".to_owned() };
    let version = print.version.map_or_else(|| "?".to_owned(), hex);
    format!("{}:{}:{}:{version}", print.dev, print.ino, print.size)
}

/// The outer none says that the word is no print.
#[expect(clippy::option_option, reason = "absent and wrong are two things")]
fn unprint(word: &str) -> Option<Option<Print>> {
    if word == "-" {
        return Some(None);
    }
    let parts: Vec<&str> = word.split(':').collect();
    let [dev, ino, size, version] = parts.as_slice() else { return None };
    Some(Some(Print {
        dev: dev.parse().ok()?,
        ino: ino.parse().ok()?,
        size: size.parse().ok()?,
        version: if *version == "?" { None } else { Some(unhex(version)?) },
    }))
}
