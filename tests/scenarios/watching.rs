//! Changes on disk: how they are seen, and what is said where they are not.

use ccd_tests::{Client, Folders, eventually};
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
