//! Subscriptions.

use ccd_tests::{Folders, is_error};
use serde_json::json;

#[test]
fn an_index_run_tells_its_progress_and_its_end() {
    let folders = Folders::new();
    let daemon = folders.start();
    folders.write("p/a.rs", "fn a() {}\n");
    folders.write("q/a.rs", "fn a() {}\n");
    let (p, q) = (folders.path("p"), folders.path("q"));
    let mut client = daemon.connect();
    let id = client.call("events.subscribe", json!({"topics": ["index.progress", "index.done"], "workspace": p}));
    client.call("workspace.open", json!({"root": q}));
    client.call("workspace.open", json!({"root": p, "progress": "t1"}));
    let done = client.event("index.done");
    assert_eq!((&done["data"]["root"], &done["token"]), (&json!(p), &json!("t1")), "{done}");
    assert!(done["data"]["generation"].is_u64() && done["seq"].as_u64().unwrap() >= 1, "{done}");
    let of_others = client.aside.iter().any(|value| value["params"]["result"]["data"]["root"] == json!(q));
    assert!(!of_others, "{:?}", client.aside);
    assert_eq!(client.call("events.unsubscribe", json!({"subscription": id["subscription"]})), json!({"unsubscribed": true}));
    assert_eq!(client.call("events.unsubscribe", json!({"subscription": id["subscription"]})), json!({"unsubscribed": false}));
}

#[test]
fn sixty_four_subscriptions_and_no_more() {
    let folders = Folders::new();
    let daemon = folders.start();
    let mut client = daemon.connect();
    for _ in 0..64 {
        client.call("events.subscribe", json!({"topics": ["index.done"]}));
    }
    let error = client.refuse("events.subscribe", json!({"topics": ["index.done"]}));
    is_error(&error, "limit_exceeded", -32006);
    assert_eq!(error["data"]["limit"], 64);
    let error = daemon.connect().refuse("events.subscribe", json!({"topics": []}));
    assert_eq!(error["data"]["field"], "topics");
    let error = daemon.connect().refuse("events.subscribe", json!({"topics": ["index.dome"]}));
    assert_eq!(error["data"]["field"], "topics[0]");
}
