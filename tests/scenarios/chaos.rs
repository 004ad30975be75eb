//! Daemons that are killed, stopped and failed in the middle of an edit: everything is old or everything is new.
//!
//! The places are named by `CCD_FAILPOINT`, which a daemon built with the feature `failpoints` heeds; `./tests/run` builds
//! one. A daemon without it answers the first edit of [`heeds_failpoints`], and the test fails naming that command.

use std::{collections::BTreeMap, fs, io::Write as _};

use ccd_tests::{Client, Folders, eventually, is_error, tree};
use rustix::process::Signal;
use serde_json::{Value, json};

const PLACES: [&str; 12] = [
    "planned",
    "staged",
    "prepared",
    "checked",
    "swapped:1",
    "swapped:2",
    "swapped:3",
    "swapped:4",
    "synced",
    "committed",
    "cleaned",
    "replied",
];

const PATCH: &str = "*** Begin Patch\n*** Update File: a.txt\n@@\n-old a\n+new a\n*** Add File: made/here/b.txt\n+new b\n\
                     *** Delete File: c.txt\n*** Update File: d.txt\n*** Move to: moved.txt\n@@\n-old d\n+new d\n*** End Patch\n";

fn fill(folders: &Folders) {
    folders.write("p/a.txt", "old a\n");
    folders.write("p/c.txt", "old c\n");
    folders.write("p/d.txt", "old d\n");
}

fn pairs(list: &[(&str, &str)]) -> BTreeMap<String, String> {
    let shown = |text: &str| if text == "folder" { text.to_owned() } else { format!("{text:?}") };
    list.iter().map(|(path, text)| ((*path).to_owned(), shown(text))).collect()
}

fn old() -> BTreeMap<String, String> {
    pairs(&[("a.txt", "old a\n"), ("c.txt", "old c\n"), ("d.txt", "old d\n")])
}

fn new() -> BTreeMap<String, String> {
    pairs(&[
        ("a.txt", "new a\n"),
        ("made", "folder"),
        ("made/here", "folder"),
        ("made/here/b.txt", "new b\n"),
        ("moved.txt", "new d\n"),
    ])
}

fn settled(client: &mut Client, txn_id: &str) -> Value {
    eventually("recovery is over", || {
        let known = client.call("edit.outcome", json!({"txn_id": txn_id}));
        (known["state"] != "recovery_pending").then_some(known)
    })
}

fn journals(folders: &Folders) -> Vec<String> {
    let names = fs::read_dir(folders.path("state/edits/transactions")).unwrap();
    names.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).filter(|name| name.contains('.')).collect()
}

#[test]
fn killed_at_any_place_all_is_old_or_all_is_new() {
    let (mut olds, mut news) = (0, 0);
    for durability in ["power", "process"] {
        for place in PLACES {
            let folders = Folders::new();
            folders.configure(&format!("[edit]\ndurability = \"{durability}\"\n"));
            fill(&folders);
            let p = folders.path("p");
            let mut daemon = folders.start_with(&[("CCD_FAILPOINT", &format!("{place}:kill"))]);
            let mut client = daemon.connect();
            client.begin("edit.apply_patch", json!({"workspace": p, "patch": PATCH, "txn_id": "t"}));
            let answer = client.line();
            assert!(
                answer.is_none(),
                "{place}: the daemon was not killed. It has to be built with the feature failpoints, as ./tests/run does: {answer:?}"
            );
            daemon.ended();
            drop(daemon);
            for _ in 0..2 {
                let daemon = folders.start();
                let mut client = daemon.connect();
                let known = settled(&mut client, "t");
                let found = tree(&p);
                match known["state"].as_str().unwrap() {
                    "committed" => assert_eq!(found, new(), "{place}, {durability}"),
                    "unknown" | "rolled_back" => assert_eq!(found, old(), "{place}, {durability}"),
                    other => panic!("{place}: {other}"),
                }
                assert_eq!(journals(&folders), [""; 0], "{place}: a journal is left");
                let status = client.call("daemon.status", json!({}));
                assert_eq!(status["transactions"], json!([]), "{place}");
            }
            // A caller that never got its answer sends it again: it is applied once, whatever became of the first.
            let daemon = folders.start();
            let mut client = daemon.connect();
            let was_new = tree(&p) == new();
            let again = client.call("edit.apply_patch", json!({"workspace": p, "patch": PATCH, "txn_id": "t"}));
            assert_eq!(again.get("replayed").is_some(), was_new, "{place}: {again}");
            assert_eq!(tree(&p), new(), "{place}");
            if was_new { news += 1 } else { olds += 1 }
        }
    }
    println!("{} kills: {olds} all old, {news} all new", olds + news);
    assert!(olds > 0 && news > 0);
}

#[test]
fn an_error_at_any_place_refuses_all_or_changes_nothing_of_the_success() {
    for place in PLACES {
        let folders = Folders::new();
        fill(&folders);
        let p = folders.path("p");
        let daemon = folders.start_with(&[("CCD_FAILPOINT", &format!("{place}:error"))]);
        let mut client = daemon.connect();
        let id = client.begin("edit.apply_patch", json!({"workspace": p, "patch": PATCH}));
        let answer = client.answer(id);
        match answer.get("result") {
            Some(_) => assert_eq!(tree(&p), new(), "{place}"),
            None => {
                assert_eq!(tree(&p), old(), "{place}: {answer}");
                assert!(["io", "commit_failed"].contains(&answer["error"]["data"]["kind"].as_str().unwrap()), "{answer}");
                assert_eq!(answer["error"]["data"]["rolled_back"], true, "{answer}");
            }
        }
        let late = ["committed", "cleaned", "replied"].contains(&place);
        assert!(!late || answer.get("result").is_some(), "{place}: an error after the commit: {answer}");
        assert_eq!(journals(&folders), [""; 0], "{place}: a journal is left");
    }
}

#[test]
fn who_writes_in_the_last_moment_is_not_overwritten() {
    let folders = Folders::new();
    fill(&folders);
    let p = folders.path("p");
    let daemon = folders.start_with(&[("CCD_FAILPOINT", "checked:pause")]);
    let mut client = daemon.connect();
    let patch = "*** Begin Patch\n*** Update File: d.txt\n@@\n-old d\n+new d\n*** Update File: a.txt\n@@\n-old a\n+new a\n*** End Patch\n";
    let id = client.begin("edit.apply_patch", json!({"workspace": p, "patch": patch}));
    let stat = format!("/proc/{}/stat", daemon.pid());
    let stopped = || {
        let text = fs::read_to_string(&stat).unwrap();
        text.rsplit(')').next().unwrap().trim_start().starts_with('T')
    };
    eventually("the daemon stands still", || stopped().then_some(()));
    // Another process replaces one of them, as editors do.
    fs::write(p.join("a.new"), "theirs\n").unwrap();
    fs::rename(p.join("a.new"), p.join("a.txt")).unwrap();
    let answer = loop {
        daemon.signal(Signal::CONT);
        client.stream().set_read_timeout(Some(std::time::Duration::from_millis(50))).unwrap();
        if let Ok(answer) = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| client.answer(id))) {
            break answer;
        }
    };
    let error = &answer["error"];
    is_error(error, "content_changed", 1204);
    let told = &error["data"]["paths"][0];
    let version = client.call("workspace.read", json!({"workspace": p, "path": p.join("a.txt")}))["version"].clone();
    assert_eq!((&told["path"], &told["now"]), (&json!(p.join("a.txt")), &version), "{error}");
    assert_eq!(fs::read_to_string(p.join("a.txt")).unwrap(), "theirs\n");
    assert_eq!(fs::read_to_string(p.join("d.txt")).unwrap(), "old d\n");
}

#[test]
fn a_daemon_killed_again_and_again_loses_and_mixes_nothing() {
    let folders = Folders::new();
    folders.configure("[edit]\ndurability = \"process\"\n");
    let p = folders.path("p");
    let names: Vec<String> = (0..5).map(|n| format!("f{n}.txt")).collect();
    for name in &names {
        folders.write(&format!("p/{name}"), "0\n");
    }
    let mut known = 0;
    for round in 0..15u64 {
        let mut daemon = folders.start();
        let pid = daemon.pid();
        let mut client = daemon.connect();
        let killer = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(20 + round * 7 % 40));
            let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
            let _ = rustix::process::kill_process(pid, Signal::KILL);
        });
        loop {
            let next = known + 1;
            let sections: String = names.iter().map(|name| format!("*** Update File: {name}\n@@\n-{known}\n+{next}\n")).collect();
            let patch = format!("*** Begin Patch\n{sections}*** End Patch\n");
            let params = json!({"workspace": p, "patch": patch, "txn_id": format!("t{next}")});
            let call = json!({"jsonrpc": "2.0", "id": next, "method": "edit.apply_patch", "params": params});
            // The daemon may be gone before it is asked.
            if client.stream().write_all(format!("{call}\n").as_bytes()).is_err() {
                break;
            }
            match client.line() {
                Some(line) if !line.ends_with('}') => break,
                Some(line) if line.contains("\"result\"") => known = next,
                Some(line) => panic!("{line}"),
                None => break,
            }
        }
        killer.join().unwrap();
        daemon.ended();
        drop(daemon);
        let daemon = folders.start();
        let mut client = daemon.connect();
        let state = settled(&mut client, &format!("t{}", known + 1));
        let texts: Vec<String> = names.iter().map(|name| fs::read_to_string(p.join(name)).unwrap()).collect();
        assert!(texts.iter().all(|text| text == &texts[0]), "round {round}: mixed: {texts:?}");
        let found: u64 = texts[0].trim().parse().unwrap();
        assert!(found == known || found == known + 1, "round {round}: {found} after {known} was acknowledged");
        assert_eq!(found == known + 1, state["state"] == "committed", "round {round}: {state}");
        known = found;
        assert_eq!(tree(&p).len(), names.len(), "round {round}: litter");
    }
    println!("{known} patches over 15 kills, none mixed, none lost");
    assert!(known > 10);
}

#[test]
fn what_cannot_be_undone_without_loss_is_kept_and_told() {
    let folders = Folders::new();
    fill(&folders);
    let p = folders.path("p");
    let mut daemon = folders.start_with(&[("CCD_FAILPOINT", "swapped:3:kill")]);
    let mut client = daemon.connect();
    client.begin("edit.apply_patch", json!({"workspace": p, "patch": PATCH, "txn_id": "t"}));
    assert!(client.line().is_none());
    daemon.ended();
    drop(daemon);
    // Between the end of one daemon and the start of the next, somebody writes over what had been changed.
    assert_eq!(fs::read_to_string(p.join("a.txt")).unwrap(), "new a\n");
    fs::write(p.join("a.txt"), "theirs\n").unwrap();
    for _ in 0..2 {
        let daemon = folders.start();
        let mut client = daemon.connect();
        assert_eq!(settled(&mut client, "t")["state"], "conflict");
        assert_eq!(fs::read_to_string(p.join("a.txt")).unwrap(), "theirs\n");
        assert_eq!(fs::read_to_string(p.join("c.txt")).unwrap(), "old c\n");
        assert!(!p.join("made").try_exists().unwrap() && !p.join("moved.txt").try_exists().unwrap());
        let told = client.call("daemon.status", json!({}))["transactions"].clone();
        assert_eq!(
            (&told[0]["txn_id"], &told[0]["state"], &told[0]["paths"]),
            (&json!("t"), &json!("conflict"), &json!([p.join("a.txt")]))
        );
        assert_eq!(fs::read_to_string(told[0]["kept"][0].as_str().unwrap()).unwrap(), "old a\n", "{told}");
        // Other edits of the root go on.
        let patch = "*** Begin Patch\n*** Update File: c.txt\n@@\n-old c\n+old c\n+more\n*** End Patch\n";
        assert_eq!(client.call("edit.apply_patch", json!({"workspace": p, "patch": patch}))["applied"], true);
        fs::write(p.join("c.txt"), "old c\n").unwrap();
    }
}
