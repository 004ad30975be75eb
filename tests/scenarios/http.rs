//! HTTP on the same socket.

use std::io::{Read, Write};

use ccd_tests::{Folders, Running, eventually, is_error};
use serde_json::{Value, json};

/// Status, headers and body of one request.
fn request(daemon: &Running, head: &str, body: &str) -> (u16, String, String) {
    let mut client = daemon.connect();
    client.send(format!("{head} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len()));
    let mut text = String::new();
    client.stream().flush().unwrap();
    let mut stream = client.stream();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), head.to_owned(), body.to_owned())
}

fn post(daemon: &Running, body: &str) -> Value {
    let (status, _, body) = request(daemon, "POST /", body);
    assert_eq!(status, 200);
    serde_json::from_str(&body).unwrap()
}

#[test]
fn a_post_is_answered_like_a_line() {
    let folders = Folders::new();
    let daemon = folders.start();
    let answer = post(&daemon, r#"{"jsonrpc":"2.0","id":1,"method":"daemon.status"}"#);
    assert_eq!(answer["result"]["pid"], daemon.pid());
    let answer = post(&daemon, r#"{"jsonrpc":"2.0","id":-1,"method":"daemon.status"}"#);
    is_error(&answer["error"], "invalid_request", -32600);
    is_error(&post(&daemon, "{")["error"], "parse_error", -32700);
    let answer = post(&daemon, r#"[{"jsonrpc":"2.0","id":1,"method":"workspace.list"}]"#);
    assert_eq!(answer[0]["result"], json!({"workspaces": []}));
    folders.write("p/a.txt", "one\n");
    let open = json!({"jsonrpc": "2.0", "id": 1, "method": "workspace.open", "params": {"root": folders.path("p")}});
    assert_eq!(post(&daemon, &open.to_string())["result"]["root"], json!(folders.path("p")));
    let (status, _, body) = request(&daemon, "POST /", r#"{"jsonrpc":"2.0","method":"daemon.status"}"#);
    assert_eq!((status, body.as_str()), (204, ""));
}

#[test]
fn events_are_for_lines() {
    let folders = Folders::new();
    let daemon = folders.start();
    let answer = post(&daemon, r#"{"jsonrpc":"2.0","id":1,"method":"events.subscribe","params":{"topics":["index.done"]}}"#);
    is_error(&answer["error"], "invalid_request", -32600);
}

#[test]
fn metrics_are_text_and_other_verbs_are_refused_in_a_sentence() {
    let folders = Folders::new();
    let daemon = folders.start();
    post(&daemon, r#"{"jsonrpc":"2.0","id":1,"method":"daemon.status"}"#);
    let (status, head, body) = request(&daemon, "GET /metrics", "");
    assert_eq!(status, 200);
    assert!(head.contains("text/plain"), "{head}");
    assert!(body.contains("ccd_call_seconds_count{method=\"daemon.status\"} 1"), "{body}");
    assert!(body.contains("ccd_graph_resolve_runs 0"), "{body}");
    for verb in ["GET /", "PUT /", "DELETE /metrics"] {
        let (status, head, body) = request(&daemon, verb, "");
        assert_eq!(status, 405, "{verb}");
        assert!(head.contains("allow: POST") && body.contains("POST one JSON-RPC 2.0 value"), "{head} {body}");
    }
}

#[test]
fn a_body_over_the_limit_is_refused() {
    let folders = Folders::new();
    folders.configure("[limits]\nrequest_mib = 1\n");
    let daemon = folders.start();
    let mut client = daemon.connect();
    client.send(format!("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n", 2 << 20));
    let mut first = [0; 4096];
    let mut stream = client.stream();
    let text = eventually("it answers before the body has come", || match stream.read(&mut first) {
        Ok(read) => Some(String::from_utf8_lossy(&first[..read]).into_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::Interrupted => None,
        Err(error) => panic!("{error}"),
    });
    assert!(text.starts_with("HTTP/1.1 413"), "{text}");
    assert!(text.contains("-32007"), "{text}");
}

#[test]
fn hanging_up_cancels_the_call() {
    let folders = Folders::new();
    for n in 0..300 {
        folders.write(&format!("p/m{n}.rs"), "pub fn f() { g() }\n".repeat(100));
    }
    let daemon = folders.start();
    let mut gone = daemon.connect();
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "graph.index", "params": {"workspace": folders.path("p"), "full": true}});
    let body = call.to_string();
    gone.send(format!("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len()));
    let mut client = daemon.connect();
    let busy = |client: &mut ccd_tests::Client| {
        let status = client.call("daemon.status", json!({}));
        status["connections"].as_array().unwrap().iter().any(|connection| connection["in_flight"] == 1)
    };
    eventually("the call is under way", || busy(&mut client).then_some(()));
    drop(gone);
    let begin = std::time::Instant::now();
    eventually("the call is gone", || (!busy(&mut client)).then_some(()));
    assert!(begin.elapsed() < std::time::Duration::from_secs(1), "{:?}", begin.elapsed());
}
