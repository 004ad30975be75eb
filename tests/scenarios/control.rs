//! Cancelling, deadlines, and what answers while everything is busy.

use std::time::{Duration, Instant};

use ccd_tests::{Folders, eventually, is_error};
use serde_json::{Value, json};

/// A project whose first index run takes a while.
fn large(folders: &Folders) -> std::path::PathBuf {
    for n in 0..400 {
        let text: String = (0..60).map(|f| format!("pub fn f{n}_{f}(x: u32) -> u32 {{ f{f}_{n}(x) + g(x) }}\n")).collect();
        folders.write(&format!("large/src/m{n}.rs"), text);
    }
    folders.path("large")
}

#[test]
fn a_call_is_cancelled_by_its_id() {
    let folders = Folders::new();
    let daemon = folders.start();
    let mut client = daemon.connect();
    let root = large(&folders);
    let id = client.begin("graph.index", json!({"workspace": root, "full": true}));
    client.send(format!("{{\"jsonrpc\":\"2.0\",\"method\":\"rpc.cancel\",\"params\":{{\"id\":{id}}}}}\n"));
    let answer = client.answer(id);
    is_error(&answer["error"], "cancelled", -32800);
    assert!(answer["error"]["data"]["phase"].is_string(), "{answer}");
    client.call("daemon.status", json!({}));
}

#[test]
fn a_deadline_that_passes_says_in_which_phase() {
    let folders = Folders::new();
    let daemon = folders.start();
    let mut client = daemon.connect();
    let root = large(&folders);
    let error = client.refuse("graph.index", json!({"workspace": root, "full": true, "deadline_ms": 1}));
    is_error(&error, "deadline_exceeded", 1004);
    assert_eq!((&error["data"]["deadline_ms"], &error["data"]["retryable"]), (&json!(1), &json!(true)));
    assert!(error["data"]["phase"].is_string(), "{error}");
    let error = client.refuse("daemon.status", json!({"deadline_ms": 0}));
    assert_eq!(error["data"]["field"], "deadline_ms");
}

#[test]
fn a_hang_up_cancels_the_calls_of_its_connection() {
    let folders = Folders::new();
    let daemon = folders.start();
    let root = large(&folders);
    let mut gone = daemon.connect();
    for _ in 0..5 {
        gone.begin("graph.index", json!({"workspace": root, "full": true}));
    }
    let mut client = daemon.connect();
    eventually("the calls are under way", || {
        let status = client.call("daemon.status", json!({}));
        let busy = |connection: &Value| connection["in_flight"].as_u64().unwrap() > 0;
        status["connections"].as_array().unwrap().iter().any(busy).then_some(())
    });
    drop(gone);
    let begin = Instant::now();
    eventually("the connection is off the list", || {
        let status = client.call("daemon.status", json!({}));
        (status["connections"].as_array().unwrap().len() == 1).then_some(())
    });
    assert!(begin.elapsed() < Duration::from_secs(1), "{:?}", begin.elapsed());
}

#[test]
fn status_answers_beside_everything_else() {
    let folders = Folders::new();
    let daemon = folders.start();
    let root = large(&folders);
    let mut other = daemon.connect();
    other.call("workspace.open", json!({"root": root}));
    // More calls than may be under way, on one connection; half a line; a client that never reads.
    for n in 0..400 {
        other.begin("graph.search", json!({"workspace": root, "query": format!("f{n}_")}));
    }
    let mut half = daemon.connect();
    half.send(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"meth");
    let mut deaf = daemon.connect();
    for _ in 0..200 {
        deaf.begin("graph.search", json!({"workspace": root, "query": "f", "limit": 200}));
    }
    let mut client = daemon.connect();
    let mut slowest = Duration::ZERO;
    for _ in 0..50 {
        let begin = Instant::now();
        client.call("daemon.status", json!({}));
        slowest = slowest.max(begin.elapsed());
    }
    assert!(slowest < Duration::from_millis(100), "the slowest took {slowest:?}");
    // On the busy connection itself, too.
    let begin = Instant::now();
    other.call("daemon.status", json!({}));
    assert!(begin.elapsed() < Duration::from_millis(1000), "{:?}", begin.elapsed());
    for id in 2..=400 {
        other.answer(id);
    }
}
