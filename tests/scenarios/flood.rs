//! Many clients, and clients that misbehave.

use std::{
    io::{ErrorKind, Write},
    os::unix::net::UnixStream,
    time::{Duration, Instant},
};

use ccd_tests::{Client, Folders, eventually, is_error};
use serde_json::{Value, json};

#[test]
fn sixty_four_clients_at_once_get_their_own_answers() {
    let folders = Folders::new();
    let daemon = folders.start();
    folders.write("p/a.txt", "one\ntwo\n");
    let file = folders.path("p/a.txt");
    daemon.connect().call("workspace.open", json!({"root": folders.path("p"), "index": false}));
    std::thread::scope(|scope| {
        for _ in 0..64 {
            scope.spawn(|| {
                let mut client = daemon.connect();
                let calls: Vec<u64> = (0..20).map(|_| client.begin("workspace.read", json!({"path": file}))).collect();
                for id in calls {
                    assert_eq!(client.answer(id)["result"]["text"], "one\ntwo\n");
                }
            });
        }
    });
}

#[test]
fn of_three_hundred_connections_the_last_are_told_that_it_is_full() {
    let folders = Folders::new();
    let daemon = folders.start();
    let clients: Vec<Client> = (0..300).map(|_| daemon.connect()).collect();
    let mut turned_away = 0;
    let mut served = Vec::new();
    for (n, mut client) in clients.into_iter().enumerate() {
        if n < 256 {
            served.push(client);
            continue;
        }
        let answer = client.read();
        assert_eq!(answer["id"], Value::Null);
        is_error(&answer["error"], "busy", 1003);
        assert_eq!(answer["error"]["data"]["limit"], 256);
        assert_eq!(client.line(), None);
        turned_away += 1;
    }
    assert_eq!(turned_away, 44);
    for client in &mut served {
        client.call("daemon.status", json!({}));
    }
    drop(served);
    eventually("there is room again", || {
        let mut client = daemon.connect();
        let answer = client.ask(r#"{"jsonrpc":"2.0","id":1,"method":"daemon.status"}"#);
        (answer["result"]["connections"].as_array()?.len() == 1).then_some(())
    });
}

#[test]
fn a_client_that_never_reads_holds_up_nobody_and_is_read_no_more() {
    let folders = Folders::new();
    let daemon = folders.start();
    let stream = UnixStream::connect(&daemon.socket).unwrap();
    stream.set_write_timeout(Some(Duration::from_millis(300))).unwrap();
    let line = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"daemon.methods\"}\n";
    let mut sent = 0;
    let stopped = loop {
        match (&stream).write(line) {
            Ok(bytes) => sent += bytes,
            Err(error) => break error.kind(),
        }
        assert!(sent < 64 << 20, "the daemon reads on although nobody reads its answers");
    };
    assert!(matches!(stopped, ErrorKind::WouldBlock | ErrorKind::TimedOut), "{stopped:?}");
    let mut client = daemon.connect();
    let begin = Instant::now();
    client.call("daemon.status", json!({}));
    assert!(begin.elapsed() < Duration::from_millis(100), "{:?}", begin.elapsed());
    assert!(daemon.resident() < 64 << 20, "{} bytes are resident", daemon.resident());
}

#[test]
fn a_large_request_gives_its_memory_back() {
    let folders = Folders::new();
    let daemon = folders.start();
    let mut client = daemon.connect();
    client.call("daemon.status", json!({}));
    let error = client.refuse("graph.search", json!({"query": "x".repeat(32 << 20)}));
    assert_eq!(error["data"]["field"], "query");
    client.call("daemon.status", json!({}));
    eventually("the memory is given back", || (daemon.resident() < 32 << 20).then_some(()));
}

#[test]
fn a_limit_of_calls_at_once_is_kept_and_every_call_is_answered() {
    let folders = Folders::new();
    folders.configure("[limits]\nin_flight = 2\n");
    let daemon = folders.start();
    folders.write("p/a.txt", "one\n");
    let mut client = daemon.connect();
    client.call("workspace.open", json!({"root": folders.path("p"), "index": false}));
    let ids: Vec<u64> = (0..100).map(|_| client.begin("workspace.read", json!({"path": folders.path("p/a.txt")}))).collect();
    for id in ids {
        assert_eq!(client.answer(id)["result"]["text"], "one\n");
    }
}
