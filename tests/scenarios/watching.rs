//! Changes on disk: how they are seen, and what is said where they are not.

use ccd_tests::{Client, Folders, eventually, is_error};
use serde_json::{Value, json};

fn index(client: &mut Client, folders: &Folders) -> Value {
    client.call("graph.index", json!({"workspace": folders.path("p")}));
    eventually("it is watched", || {
        let status = client.call("workspace.status", json!({"workspace": folders.path("p")}));
        (status["index"]["watch"] != "off").then_some(status)
    })
}

#[test]
fn a_write_a_new_folder_and_a_lost_root_are_seen() {
    let folders = Folders::new();
    folders.write("p/a.rs", "fn a() {}\n");
    let daemon = folders.start();
    let mut client = daemon.connect();
    let p = folders.path("p");
    client.call("events.subscribe", json!({"topics": ["index.done"]}));
    let status = index(&mut client, &folders);
    assert_eq!(status["index"]["watch"], "on", "{status}");
    let batches = |client: &mut Client| client.call("daemon.metrics", json!({}))["counters"]["watch_batches"].as_u64().unwrap();
    let before = batches(&mut client);
    folders.write("p/b.rs", "fn b() {}\n");
    eventually("the write is seen", || (batches(&mut client) > before).then_some(()));
    folders.write("p/deep/er/c.rs", "fn c() {}\n");
    eventually("the new folders are watched", || {
        let checks = client.call("daemon.doctor", json!({"workspace": p}));
        let watch = checks["checks"].as_array().unwrap().iter().find(|check| check["id"] == "workspace_watch").unwrap().clone();
        (watch["detail"] == "3 folders are watched").then_some(())
    });
    std::fs::rename(&p, folders.path("moved")).unwrap();
    eventually("the lost root is told", || {
        let status = client.call("workspace.status", json!({"workspace": p}));
        (status["index"]["watch"] == "degraded").then_some(())
    });
    std::fs::rename(folders.path("moved"), &p).unwrap();
    eventually("the root is watched again", || {
        let status = client.call("workspace.status", json!({"workspace": p}));
        (status["index"]["watch"] == "on").then_some(())
    });
}

#[test]
fn without_a_watcher_it_says_so() {
    let folders = Folders::new();
    folders.configure("[watch]\nmode = \"poll\"\n");
    folders.write("p/a.rs", "fn a() {}\n");
    let daemon = folders.start();
    let mut client = daemon.connect();
    client.call("graph.index", json!({"workspace": folders.path("p")}));
    let status = client.call("workspace.status", json!({"workspace": folders.path("p")}));
    assert_eq!(status["index"]["watch"], "off");
    assert!(status["index"]["watch_detail"].as_str().unwrap().contains("poll"), "{status}");
    // A file that is known is checked before the answer; a new one is found by the next scan.
    let find = |client: &mut Client, name: &str| {
        let found = client.call("graph.search", json!({"workspace": folders.path("p"), "query": name}));
        found["total"].as_u64().unwrap() > 0
    };
    folders.write("p/a.rs", "fn changed() {}\n");
    assert!(find(&mut client, "changed"));
    folders.write("p/b.rs", "fn added() {}\n");
    eventually("the new file is found", || find(&mut client, "added").then_some(()));
}

/// The names that a search of `p` finds, once a run has seen what is there.
fn found(client: &mut Client, root: &std::path::Path, name: &str) -> u64 {
    eventually("the index is ready", || {
        let id = client.begin("graph.search", json!({"workspace": root, "query": name}));
        let answer = client.answer(id);
        (answer["result"]["state"] == "ready").then(|| answer["result"]["total"].as_u64().unwrap())
    })
}

#[test]
fn a_folder_above_the_root_is_moved_and_made_again() {
    let folders = Folders::new();
    let file = folders.write("pp/proj/a.py", "def old_fn():\n    pass\n");
    let root = folders.path("pp/proj");
    let daemon = folders.start();
    let mut client = daemon.connect();
    client.call("graph.index", json!({"workspace": root}));
    assert_eq!(found(&mut client, &root, "old_fn"), 1);
    std::fs::rename(folders.path("pp"), folders.path("pp_old")).unwrap();
    folders.write("pp/proj/a.py", "def new_fn():\n    pass\n");
    // At once: nothing of the old folder is answered, whatever the watcher knows.
    assert_eq!(client.call("workspace.read", json!({"path": file}))["text"], "def new_fn():\n    pass\n");
    assert_eq!((found(&mut client, &root, "new_fn"), found(&mut client, &root, "old_fn")), (1, 0));
    client.call("edit.write", json!({"path": file, "content": "def newer_fn():\n    pass\n"}));
    assert_eq!(std::fs::read_to_string(folders.path("pp_old/proj/a.py")).unwrap(), "def old_fn():\n    pass\n");
    client.call("graph.index", json!({"workspace": root}));
    assert_eq!(found(&mut client, &root, "newer_fn"), 1);
    let status = client.call("workspace.status", json!({"workspace": root}));
    assert_eq!(status["index"]["watch"], "on", "{status}");
}

#[test]
fn a_root_that_was_moved_away_answers_nothing_until_it_is_back() {
    let folders = Folders::new();
    let file = folders.write("pp/proj/a.py", "def kept():\n    pass\n");
    let root = folders.path("pp/proj");
    let daemon = folders.start();
    let mut client = daemon.connect();
    client.call("graph.index", json!({"workspace": root}));
    std::fs::rename(folders.path("pp"), folders.path("pp_old")).unwrap();
    for (method, params) in [
        ("workspace.read", json!({"path": file})),
        ("workspace.read", json!({"path": file, "workspace": root})),
        ("workspace.open", json!({"root": root})),
        ("graph.search", json!({"workspace": root, "query": "kept"})),
        ("graph.outline", json!({"path": file})),
        ("graph.index", json!({"workspace": root})),
        ("edit.write", json!({"path": file, "content": ""})),
    ] {
        is_error(&client.refuse(method, params), "not_found", 1103);
    }
    let status = client.call("workspace.status", json!({"workspace": root}));
    assert_eq!(status["index"]["watch"], "degraded", "{status}");
    std::fs::rename(folders.path("pp_old"), folders.path("pp")).unwrap();
    assert_eq!(client.call("workspace.read", json!({"path": file}))["text"], "def kept():\n    pass\n");
    assert_eq!(found(&mut client, &root, "kept"), 1);
}

#[test]
fn a_question_beside_a_close_never_hears_of_a_daemon_that_ends() {
    let folders = Folders::new();
    folders.write("p/a.py", "def kept():\n    pass\n");
    let daemon = folders.start();
    let (mut asks, mut closes) = (daemon.connect(), daemon.connect());
    let p = folders.path("p");
    for _ in 0..40 {
        let asked: Vec<u64> = (0..8)
            .map(|at| match at % 2 {
                0 => asks.begin("graph.search", json!({"workspace": p, "query": "kept"})),
                _ => asks.begin("graph.index", json!({"workspace": p, "paths": [p.join("a.py")]})),
            })
            .collect();
        closes.call("workspace.close", json!({"workspace": p}));
        for id in asked {
            let answer = asks.answer(id);
            assert_ne!(answer["error"]["data"]["kind"], "retiring", "{answer}");
        }
    }
}

#[test]
fn a_repository_and_what_it_ignores_take_effect_when_they_come() {
    let folders = Folders::new();
    folders.write("p/a.py", "def kept():\n    pass\n");
    folders.write("p/made/b.py", "def made():\n    pass\n");
    let daemon = folders.start();
    let mut client = daemon.connect();
    let p = folders.path("p");
    index(&mut client, &folders);
    let mut becomes = |count: u64| eventually("it is seen", || (found(&mut client, &p, "made") == count).then_some(()));
    becomes(1);
    let exclude = folders.write("outside/git/info/exclude", "made\n");
    std::fs::rename(folders.path("outside/git"), p.join(".git")).unwrap();
    becomes(0);
    let exclude = p.join(".git/info").join(exclude.file_name().unwrap());
    std::fs::write(&exclude, "# nothing\n").unwrap();
    becomes(1);
    std::fs::write(&exclude, "b.py\n").unwrap();
    becomes(0);
    std::fs::remove_dir_all(p.join(".git")).unwrap();
    becomes(1);
    folders.write("p/made/CACHEDIR.TAG", "");
    becomes(0);
    std::fs::remove_file(p.join("made/CACHEDIR.TAG")).unwrap();
    becomes(1);
}

#[test]
fn another_commit_of_a_linked_worktree_is_another_epoch() {
    let folders = Folders::new();
    folders.write("repository/.git/refs/heads/a", "1\n");
    folders.write("repository/.git/worktrees/p/commondir", "../..\n");
    let head = folders.write("repository/.git/worktrees/p/HEAD", "ref: refs/heads/a\n");
    folders.write("p/.git", "gitdir: ../repository/.git/worktrees/p\n");
    folders.write("p/a.py", "def kept():\n    pass\n");
    let daemon = folders.start();
    let mut client = daemon.connect();
    let before = index(&mut client, &folders)["epoch"].as_u64().unwrap();
    let lock = folders.write("repository/.git/worktrees/p/HEAD.lock", "ref: refs/heads/b\n");
    std::fs::rename(lock, head).unwrap();
    eventually("the commit is seen", || {
        let status = client.call("workspace.status", json!({"workspace": folders.path("p")}));
        (status["epoch"].as_u64().unwrap() > before).then_some(())
    });
}
