//! A small program around transactions, for tests that kill it, or let its system calls fail.
//!
//! `tx_driver apply ROOT STATE TXN DURABILITY SPEC...` does one transaction, with a SPEC being `write:REL:TEXT`,
//! `inplace:REL:TEXT`, `add:REL:TEXT` or `remove:REL`; `recover ROOT STATE` settles what is left; `flip ROOT STATE
//! DURABILITY` goes on for ever between two states of five files. One thread, so that a system call is easily named.
#![allow(clippy::print_stdout, reason = "its output is what the tests read")]

use std::{error::Error, path::Path, sync::Arc, time::Duration};

use ccd_files::{
    Change, Durability, Expect, Limits, Options, Outcome, OutcomeState, Root, State, Transaction, WriteMode, failpoint,
};
use ccd_text::Version;

const WAIT: Duration = Duration::from_secs(5);

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = args.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["apply", root, state, txn, durability, specs @ ..] => apply(root, state, txn, durability, specs),
        ["recover", root, state] => recover(root, state),
        ["flip", root, state, durability] => {
            for round in 0_u64.. {
                let specs: Vec<String> = (0..5).map(|file| format!("write:f{file}:state {} of {file}\n", round % 2)).collect();
                let specs: Vec<&str> = specs.iter().map(String::as_str).collect();
                apply(root, state, &format!("flip-{}-{round}", std::process::id()), durability, &specs)?;
            }
            Ok(())
        }
        _ => Err("usage: see the head of the source".into()),
    }
}

fn durability(word: &str) -> Durability {
    if word == "process" { Durability::Process } else { Durability::Power }
}

fn apply(root: &str, state: &str, txn: &str, how: &str, specs: &[&str]) -> Result<(), Box<dyn Error>> {
    let root = Arc::new(Root::open(Path::new(root), None)?);
    let state = State::open(Path::new(state), Limits::default())?;
    let mut options = Options { durability: durability(how), ..Options::default() };
    let locks = state.lock(&[root.identity()], WAIT)?;
    let mut changes = Vec::new();
    for spec in specs {
        let mut parts = spec.splitn(3, ':');
        let (op, rel) = (parts.next().unwrap_or_default(), Path::new(parts.next().unwrap_or_default()));
        let bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
        let expect = match op {
            "add" => Expect::Absent,
            _ => Expect::Version(Version::of(&root.read(rel, 1 << 20)?.bytes)),
        };
        if op == "inplace" {
            options.write_mode = WriteMode::InPlace;
        }
        changes.push(match op {
            "remove" => Change::Remove { root: 0, rel: rel.into(), expect, link_itself: false },
            _ => Change::Write { root: 0, rel: rel.into(), bytes, expect, metadata_from: None, create_parents: true },
        });
    }
    let transaction = Transaction { state: &state, txn_id: txn.to_owned(), roots: vec![root], options, changes, memo: None };
    let result = transaction.commit(&locks, &mut |_| {
        let outcome = Outcome {
            txn_id: txn.to_owned(),
            request: Some([7; 16]),
            state: OutcomeState::Committed,
            time: std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            result: b"stored".to_vec(),
        };
        state.put_outcome(&outcome, options.durability)
    });
    match result {
        Ok(committed) => {
            failpoint("replied")?;
            println!("committed {:?} {:?}", committed.atomic, committed.notes);
            Ok(())
        }
        Err(error) => {
            println!("refused {error:?}");
            Err(error.into())
        }
    }
}

fn recover(root: &str, state: &str) -> Result<(), Box<dyn Error>> {
    let root = Arc::new(Root::open(Path::new(root), None)?);
    let state = State::open(Path::new(state), Limits::default())?;
    let open = |path: &Path| Root::open(path, None).ok().map(Arc::new);
    for settled in state.recover(&open)? {
        println!("settled {} {}", settled.txn_id, settled.state.name());
    }
    state.recover_root(&root, &open)?;
    for left in state.unsettled(&open)? {
        println!("unsettled {} {}", left.txn_id, left.state);
    }
    Ok(())
}
