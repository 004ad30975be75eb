//! What a line may be, and what every wrong one is told.

use ccd_tests::{Folders, is_error};
use serde_json::{Value, json};

#[track_caller]
fn refused(answer: &Value, id: Value, kind: &str, code: i64) {
    assert_eq!(answer["id"], id, "{answer}");
    assert_eq!(answer["jsonrpc"], "2.0");
    is_error(&answer["error"], kind, code);
}

#[test]
fn an_id_that_cannot_be_used_is_answered_and_never_ignored() {
    let folders = Folders::new();
    let daemon = folders.start();
    let mut client = daemon.connect();
    for id in ["-1", "1.5", "1e2", "true", "null", "[1]", "{}", "18446744073709551616", "1,\"id\":1"] {
        let answer = client.ask(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"daemon.status"}}"#));
        refused(&answer, Value::Null, "invalid_request", -32600);
    }
    for id in [json!(0), json!(u64::MAX), json!("x"), json!("")] {
        let answer = client.ask(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"daemon.status"}}"#));
        assert_eq!(answer["id"], id);
        assert!(answer["result"]["pid"].is_u64(), "{answer}");
    }
}

#[test]
fn a_wrong_envelope_says_what_is_wrong() {
    let folders = Folders::new();
    let daemon = folders.start();
    let mut client = daemon.connect();
    let cases = [
        (r#"{"id":7,"method":"daemon.status"}"#, json!(7), "invalid_request", -32600),
        (r#"{"jsonrpc":"1.0","id":7,"method":"daemon.status"}"#, json!(7), "invalid_request", -32600),
        (r#"{"jsonrpc":"2.0","id":7}"#, json!(7), "invalid_request", -32600),
        (r#"{"jsonrpc":"2.0","id":7,"method":3}"#, json!(7), "invalid_request", -32600),
        (r#"{"jsonrpc":"2.0","id":7,"method":"daemon.status","params":[]}"#, json!(7), "invalid_params", -32602),
        (r#"{"jsonrpc":"2.0","id":7,"method":"daemon.status","params":null}"#, json!(7), "invalid_params", -32602),
        ("[]", Value::Null, "invalid_request", -32600),
        (r#"{"jsonrpc":"2.0","#, Value::Null, "parse_error", -32700),
    ];
    for (line, id, kind, code) in cases {
        refused(&client.ask(line), id, kind, code);
    }
    let broken = client.ask("{]");
    assert!(broken["error"]["message"].as_str().unwrap().contains("one JSON value per line"), "{broken}");
}

#[test]
fn an_unknown_method_or_field_names_the_nearest() {
    let folders = Folders::new();
    let daemon = folders.start();
    let mut client = daemon.connect();
    let error = client.refuse("graph.serach", json!({}));
    is_error(&error, "method_not_found", -32601);
    assert_eq!(error["data"]["closest"][0], "graph.search");

    let error = client.refuse("graph.search", json!({"query": "x", "limt": 3}));
    is_error(&error, "invalid_params", -32602);
    assert_eq!(error["data"]["field"], "limt");
    assert!(error["message"].as_str().unwrap().contains("`limit`"), "{error}");

    let error = client.refuse("graph.search", json!({"query": 7}));
    assert_eq!((&error["data"]["field"], &error["data"]["expected"]), (&json!("query"), &json!("a string")));
    let error = client.refuse("graph.search", json!({"query": "x", "limit": 0}));
    assert_eq!(error["data"]["field"], "limit");
}

#[test]
fn pretty_printed_json_is_told_so_and_then_closed() {
    let folders = Folders::new();
    let daemon = folders.start();
    let mut client = daemon.connect();
    // A sound line in between begins the count anew.
    for _ in 0..7 {
        refused(&client.ask("{"), Value::Null, "parse_error", -32700);
    }
    client.call("daemon.status", json!({}));
    client.send("{\n".repeat(20));
    for _ in 0..8 {
        refused(&client.read(), Value::Null, "parse_error", -32700);
    }
    assert_eq!(client.line(), None);
}

#[test]
fn a_batch_is_answered_in_order_on_one_line() {
    let folders = Folders::new();
    let daemon = folders.start();
    let mut client = daemon.connect();
    let root = folders.path("p");
    std::fs::create_dir(&root).unwrap();
    let batch = json!([
        {"jsonrpc": "2.0", "id": "a", "method": "workspace.open", "params": {"root": root, "index": false}},
        {"jsonrpc": "2.0", "method": "daemon.status"},
        7,
        {"jsonrpc": "2.0", "id": "b", "method": "workspace.list"},
        {"jsonrpc": "2.0", "id": -1, "method": "workspace.list"},
    ]);
    let answers = client.ask(&batch.to_string());
    let answers = answers.as_array().unwrap();
    let ids: Vec<&Value> = answers.iter().map(|answer| &answer["id"]).collect();
    assert_eq!(ids, [&json!("a"), &Value::Null, &json!("b"), &Value::Null]);
    // The second rests on what the first did.
    assert_eq!(answers[2]["result"]["workspaces"][0]["root"], json!(root));

    let many = |n: usize| json!(vec![json!({"jsonrpc": "2.0", "id": 1, "method": "workspace.list"}); n]).to_string();
    assert_eq!(client.ask(&many(64)).as_array().unwrap().len(), 64);
    let error = client.ask(&many(65));
    refused(&error, Value::Null, "limit_exceeded", -32010);
    assert_eq!(error["error"]["data"]["limit"], 64);

    // Nothing is answered to a batch of notifications: the next line is the answer to the next call.
    client.send("[{\"jsonrpc\":\"2.0\",\"method\":\"daemon.status\"}]\n");
    client.call("daemon.status", json!({}));
}

#[test]
fn a_batch_that_is_too_large_answers_every_call() {
    let folders = Folders::new();
    folders.configure("[limits]\nresponse_mib = 1\n");
    folders.write("p/a.txt", "0123456789abcde\n".repeat(1 << 14));
    let daemon = folders.start();
    let mut client = daemon.connect();
    let root = folders.path("p");
    client.call("workspace.open", json!({"root": root, "index": false}));
    let read = |id: usize| {
        let params = json!({"workspace": root, "path": root.join("a.txt"), "max_bytes": 262_144});
        json!({"jsonrpc": "2.0", "id": id, "method": "workspace.read", "params": params})
    };
    let mut calls: Vec<Value> = (0..8).map(read).collect();
    calls.push(json!({"jsonrpc": "2.0", "id": 8, "method": "workspace.list"}));
    let answers = client.ask(&json!(calls).to_string());
    let answers = answers.as_array().unwrap();
    let ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    assert_eq!(ids, (0..9).collect::<Vec<_>>());
    let whole = answers.iter().filter(|answer| answer["result"].is_object()).count();
    assert!((3..8).contains(&whole), "{whole} of {}", answers.len());
    assert!(answers[8]["result"]["workspaces"].is_array(), "what fits is answered, also after what does not");
    refused(&answers[7], json!(7), "limit_exceeded", -32011);
}

#[test]
fn two_hundred_thousand_brackets_are_an_error_and_no_crash() {
    let folders = Folders::new();
    let daemon = folders.start();
    let mut client = daemon.connect();
    let (open, close) = ("[".repeat(200_000), "]".repeat(200_000));
    refused(&client.ask(&open), Value::Null, "parse_error", -32700);
    let nested = client.ask(&format!("{open}{close}"));
    refused(&nested[0], Value::Null, "invalid_request", -32600);
    let unknown = client.ask(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"daemon.status","params":{{"x":{open}{close}}}}}"#));
    refused(&unknown, json!(1), "invalid_params", -32602);
    let typed = client.ask(&format!(r#"{{"jsonrpc":"2.0","id":2,"method":"graph.search","params":{{"query":{open}{close}}}}}"#));
    refused(&typed, json!(2), "invalid_params", -32602);
    client.call("daemon.status", json!({}));
}

#[test]
fn an_over_long_line_is_skipped_and_the_next_one_works() {
    let folders = Folders::new();
    folders.configure("[limits]\nrequest_mib = 1\nconnection_mib = 1\n");
    let daemon = folders.start();
    let mut client = daemon.connect();
    client.send(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"");
    for _ in 0..64 {
        client.send("x".repeat(1 << 20));
    }
    client.send("\"}\n");
    let error = client.read();
    refused(&error, Value::Null, "limit_exceeded", -32007);
    assert_eq!(error["error"]["data"]["limit"], 1 << 20);
    client.call("daemon.status", json!({}));
    assert!(daemon.resident() < 40 << 20, "{} bytes are resident after a line of 64 MiB", daemon.resident());

    // A line that is whole when it is seen to be too long.
    client.send(format!("{}\n", " ".repeat((1 << 20) + 1)));
    refused(&client.read(), Value::Null, "limit_exceeded", -32007);
    client.call("daemon.status", json!({}));
}

#[test]
fn notifications_and_blank_lines_are_not_answered() {
    let folders = Folders::new();
    let daemon = folders.start();
    let mut client = daemon.connect();
    client.send("{\"jsonrpc\":\"2.0\",\"method\":\"daemon.status\"}\n\n  \r\n{\"jsonrpc\":\"2.0\",\"method\":\"no.such\"}\n");
    client.send("{\"jsonrpc\":\"2.0\",\"method\":\"rpc.cancel\",\"params\":{\"id\":9}}\n");
    client.call("daemon.status", json!({}));
    assert!(client.aside.is_empty(), "{:?}", client.aside);
    let error = client.refuse("rpc.cancel", json!({"id": 1}));
    is_error(&error, "invalid_request", -32600);
}

#[test]
fn a_half_close_still_gets_its_answers() {
    let folders = Folders::new();
    let daemon = folders.start();
    let mut client = daemon.connect();
    let root = folders.path("p");
    std::fs::create_dir(&root).unwrap();
    client.begin("workspace.open", json!({"root": root}));
    // The last line has no line end.
    client.send(r#"{"jsonrpc":"2.0","id":2,"method":"daemon.status"}"#);
    client.stream().shutdown(std::net::Shutdown::Write).unwrap();
    assert!(client.answer(1)["result"]["root"].is_string());
    assert!(client.answer(2)["result"]["pid"].is_u64());
    assert_eq!(client.line(), None);
}

#[test]
fn an_answer_over_the_limit_is_an_error_of_its_call() {
    let folders = Folders::new();
    folders.configure("[limits]\nresponse_mib = 1\n");
    folders.write("p/large.txt", ("x".repeat(99) + "\n").repeat(15_000));
    let daemon = folders.start();
    let mut client = daemon.connect();
    client.call("workspace.open", json!({"root": folders.path("p"), "index": false}));
    let error = client.refuse("workspace.read", json!({"path": folders.path("p/large.txt"), "max_bytes": 1_400_000}));
    is_error(&error, "limit_exceeded", -32008);
    assert_eq!(error["data"]["limit"], 1 << 20);
    let half = json!({"jsonrpc": "2.0", "id": 1, "method": "workspace.read",
        "params": {"path": folders.path("p/large.txt"), "max_bytes": 700_000}});
    let answers = client.ask(&json!([half, half]).to_string());
    assert_eq!(answers[0]["result"]["truncated"], true, "the first fits");
    refused(&answers[1], json!(1), "limit_exceeded", -32011);
    client.call("workspace.read", json!({"path": folders.path("p/large.txt"), "end_line": 1}));
}
