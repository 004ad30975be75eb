//! The store of a workspace: opening it, what its records hold, and taking them back in.

use std::{sync::Arc, time::Instant};

use ccd_grammars::LanguageId;
use ccd_text::Version;

use super::{Contents, Graph, LeftOut, Run, locked};
use crate::{
    codec::{self, Damaged, Reader, Writer},
    edges::{self, RESOLVER_VERSION},
    facts::EXTRACTOR_VERSION,
    model::{FileStamp, stable_hash},
    store::{self, StoreError},
};

/// Grows whenever records have another form.
const STORE_VERSION: u32 = 1;

/// Reasons as they are kept.
const REASONS: [&str; 11] = [
    "binary",
    "too_large",
    "generated",
    "too_deep",
    "path_not_utf8",
    "not_regular",
    "unreadable",
    "outside_root",
    "ignored",
    "budget_exceeded",
    "",
];

pub(super) fn file_key(rel: &str) -> Vec<u8> {
    [b"f/", rel.as_bytes()].concat()
}

pub(super) fn edges_key(rel: &str) -> Vec<u8> {
    [b"e/", rel.as_bytes()].concat()
}

/// The key of a file's facts, in the store of all workspaces.
pub(crate) fn facts_key(version: Version, language: LanguageId) -> Vec<u8> {
    let mut key = version.to_bytes().to_vec();
    key.push(language.number());
    key
}

pub(crate) fn schema() -> String {
    format!("ccd {STORE_VERSION}.{EXTRACTOR_VERSION}.{RESOLVER_VERSION}")
}

/// What is kept of a file beside its facts.
pub(super) fn file_record(contents: &Contents, rel: &str) -> Option<(Vec<u8>, Option<Vec<u8>>)> {
    let known = contents.model.by_path.get(rel).and_then(|&id| contents.model.file(id));
    let (version, stamp, language, reason) = match (known, contents.left_out.get(rel)) {
        (Some(file), _) => (file.version, file.stamp, file.language.number(), REASONS.len() - 1),
        (None, Some(one)) => (one.version, one.stamp, 0, REASONS.iter().position(|reason| *reason == one.reason)?),
        (None, None) => return None,
    };
    let mut w = Writer::default();
    w.0.extend_from_slice(&version.to_bytes());
    w.number(u64::from(language));
    w.number(reason as u64);
    w.number(stamp.size);
    w.0.extend_from_slice(&stamp.mtime_ns.to_le_bytes());
    w.number(stamp.ino);
    w.0.extend_from_slice(&stamp.read_ns.to_le_bytes());
    Some((file_key(rel), Some(w.0)))
}

fn fixed<const N: usize>(r: &mut Reader<'_>) -> Result<[u8; N], Damaged> {
    let (bytes, rest) = r.0.split_at_checked(N).ok_or(Damaged)?;
    r.0 = rest;
    bytes.try_into().map_err(|_| Damaged)
}

/// Version, language, why it is left out (empty if it is not), stamp.
type FileRecord = (Version, LanguageId, &'static str, FileStamp);

fn file_of(value: &[u8]) -> Result<FileRecord, Damaged> {
    let mut r = Reader(value);
    let version = Version::from_bytes(fixed(&mut r)?);
    let language = u8::try_from(r.number()?).ok().and_then(LanguageId::from_number).ok_or(Damaged)?;
    let reason = REASONS.get(r.number()? as usize).copied().ok_or(Damaged)?;
    let size = r.number()?;
    let mtime_ns = i128::from_le_bytes(fixed(&mut r)?);
    let ino = r.number()?;
    let read_ns = i128::from_le_bytes(fixed(&mut r)?);
    Ok((version, language, reason, FileStamp { size, mtime_ns, ino, read_ns }))
}

impl Graph {
    /// Opens the workspace's store. Without one the graph is kept in memory alone, and that is said.
    pub(super) fn open_store(&self, run: &mut Run) {
        let (dev, ino) = self.root.identity();
        let path = self.root.path().as_os_str().as_encoded_bytes();
        let key = stable_hash(&[path, &dev.to_le_bytes(), &ino.to_le_bytes()]);
        let name = self.root.path().file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let name: String =
            name.chars().filter(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(*letter)).take(40).collect();
        let folder = self.shared.cache().join("roots").join(format!("{name}-{key:016x}")).join("db");
        run.folder.clone_from(&folder);
        match self.shared.private(&["roots"]).and_then(|()| store::open(&folder, &schema())) {
            Ok(opened) => {
                run.store = Some(opened.store);
                if let Some(reason) = opened.rebuilt {
                    tracing::warn!(root = %self.root.path().display(), "{reason}");
                    locked(&self.facade).rebuilt = Some((reason, Instant::now()));
                }
            }
            Err(error) => {
                let what = match error {
                    StoreError::Locked => "another process holds the store".to_owned(),
                    StoreError::Failed(reason) => reason,
                };
                tracing::warn!(root = %self.root.path().display(), "the index is kept in memory alone: {what}");
                let reason = format!("the index is kept in memory alone, because its store cannot be used: {what}");
                locked(&self.facade).rebuilt = Some((reason, Instant::now()));
            }
        }
    }

    /// Takes in what the store holds. Records that are damaged, or whose facts are gone, are read from the files again.
    pub(super) fn load(&self, run: &Run) {
        let Some(store) = &run.store else { return };
        let mut files = Vec::new();
        let mut damaged = 0;
        let scanned = store.scan(b"f/", &mut |key, value| match (std::str::from_utf8(&key[2..]), file_of(&value)) {
            (Ok(rel), Ok(file)) => files.push((rel.to_owned(), file)),
            _ => damaged += 1,
        });
        let missing = store::expected(&run.folder).unwrap_or(0).saturating_sub(files.len() as u64);
        let scan_failed = scanned.as_ref().err().map(ToString::to_string);
        damaged += scanned.unwrap_or(0);
        let facts = self.load_facts(&files);
        let mut contents = self.contents.write().unwrap_or_else(std::sync::PoisonError::into_inner);
        for ((rel, (version, language, reason, stamp)), facts) in files.into_iter().zip(facts) {
            if !reason.is_empty() {
                contents.left_out.insert(rel, LeftOut { stamp, version, reason });
            } else if let Some(facts) = facts {
                contents.model.put(&rel, language, version, stamp, facts);
            }
        }
        let mut loaded = Vec::new();
        let edges_scan = store.scan(b"e/", &mut |key, value| {
            let Some((inputs, packed)) = value.split_at_checked(8) else { return };
            let Ok(inputs) = inputs.try_into() else { return };
            let id = std::str::from_utf8(&key[2..]).ok().and_then(|rel| contents.model.by_path.get(rel).copied());
            let Some(file) = id.and_then(|id| contents.model.file(id)) else { return };
            if let Ok(edges) = edges::decode(packed, &file.facts, &contents.model) {
                loaded.push((id.expect("its file was found"), u64::from_le_bytes(inputs), edges));
            }
        });
        for (id, inputs, edges) in loaded {
            contents.model.set_edges(id, Arc::new(edges), Some(inputs));
        }
        drop(contents);
        damaged += edges_scan.as_ref().copied().unwrap_or(0);
        let failed = scan_failed.or_else(|| edges_scan.err().map(|error| error.to_string()));
        let already = locked(&self.facade).rebuilt.is_some();
        if (damaged > 0 || missing > 0 || failed.is_some()) && !already {
            let why = failed.unwrap_or_else(|| format!("{damaged} records are damaged and {missing} are missing"));
            let reason = format!("parts of the index were rebuilt because its store was damaged: {why}");
            tracing::warn!(root = %self.root.path().display(), "{reason}");
            locked(&self.facade).rebuilt = Some((reason, Instant::now()));
        }
    }

    /// The facts of many files, on all cores.
    fn load_facts(&self, files: &[(String, FileRecord)]) -> Vec<Option<Arc<crate::facts::Facts>>> {
        let one = |(version, language, reason, _): &FileRecord| {
            if !reason.is_empty() {
                return None;
            }
            let packed = self.shared.facts(*version, *language)?;
            codec::decode(&packed).ok().map(Arc::new)
        };
        let share = files.len().div_ceil(self.shared.workers()).max(1);
        std::thread::scope(|scope| {
            let parts: Vec<_> = files
                .chunks(share)
                .map(|part| scope.spawn(move || part.iter().map(|(_, file)| one(file)).collect::<Vec<_>>()))
                .collect();
            parts.into_iter().flat_map(|part| part.join().unwrap_or_default()).collect()
        })
    }
}
