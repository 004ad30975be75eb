//! A journal comes back as it was written, or not at all.

use std::{
    ffi::OsString,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::PathBuf,
};

use ccd_text::Version;

use crate::transaction::journal::{Journal, JournalRoot, Memo, Op, OpKind, Print, Slot, Stage, joined, stem};

fn journal() -> Journal {
    let odd = PathBuf::from(OsString::from_vec(b"a b/\n%=\xff\x00-".to_vec()));
    let print = |version| Some(Print { dev: 1, ino: u64::MAX, size: 0, version });
    let op = |kind, pre, post| Op {
        kind,
        root: 0,
        path: odd.clone(),
        parent: Some((3, 4)),
        slot: Slot { folder: PathBuf::from(".ccd-tx/x"), name: "0".into() },
        pre,
        post,
    };
    Journal {
        txn_id: "an id\n".to_owned(),
        instance: String::new(),
        time: 12,
        power: false,
        roots: vec![JournalRoot { path: odd.clone(), dev: 1, ino: 2, stage: Some("x".into()) }],
        ops: vec![
            op(OpKind::Exchange, print(Some(Version::of(b"x"))), print(Some(Version::of(b"y")))),
            op(OpKind::Remove, print(None), None),
            Op { parent: None, slot: Slot::default(), ..op(OpKind::MakeFolder, None, None) },
        ],
        memo: Some(Memo { request: [255; 16], result: b"{\"a\": \"b%\n\xff\"}".to_vec() }),
    }
}

#[test]
fn a_journal_comes_back_whole_or_not_at_all() {
    let bytes = journal().encode();
    assert_eq!(Journal::decode(&bytes), Some(journal()));
    for cut in 0..bytes.len() {
        assert_eq!(Journal::decode(&bytes[..cut]), None, "cut at {cut}");
    }
    for at in 0..bytes.len() {
        for bit in [1, 0x20, 0x80] {
            let mut changed = bytes.clone();
            changed[at] ^= bit;
            assert_eq!(Journal::decode(&changed), None, "changed at {at}");
        }
    }
}

#[test]
fn ids_become_names_of_files() {
    assert_eq!(stem("01J-x_9"), "01J-x_9");
    for odd in ["", "../x", "a.prep", "a b", &"x".repeat(65)] {
        let name = stem(odd);
        assert!(name.as_bytes().starts_with(b"id-") && name.len() == 35, "{name:?}");
        assert_eq!(Stage::of(&joined(&name, ".prep")), Some((name, Stage::Prepared)));
    }
}
