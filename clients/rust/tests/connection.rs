//! The client against a small daemon of the tests' own, which says what a case needs it to say.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

use std::{
    io::{BufRead as _, BufReader, Write as _},
    os::unix::net::{UnixListener, UnixStream},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use ccd_client::{Client, ClientError, ConnectOptions, Paths};
use ccd_protocol::{
    daemon::{Metrics, MetricsParams, Retire, RetireParams, Status, StatusParams},
    edit::{Write, WriteParams},
    events::{SubscribeParams, Topic},
    workspace::{List, ListParams},
};
use serde_json::{Value, json};

/// What the daemon of a case does with a request: the lines it writes, or the end of the connection.
type Script = dyn Fn(&Value, &mut UnixStream) -> bool + Send + Sync;

/// Serves `script` on the socket below `base`; hello is answered for it. Gives the count of connections.
fn serve(base: &Path, script: impl Fn(&Value, &mut UnixStream) -> bool + Send + Sync + 'static) -> Arc<AtomicUsize> {
    let paths = Paths::below(base);
    std::fs::create_dir_all(&paths.runtime).unwrap();
    let listener = UnixListener::bind(paths.socket()).unwrap();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let script: Arc<Script> = Arc::new(script);
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, script) = (stream.unwrap(), script.clone());
            let number = counted.fetch_add(1, Ordering::SeqCst) + 1;
            std::thread::spawn(move || {
                let lines = BufReader::new(stream.try_clone().unwrap()).lines();
                for line in lines.map_while(Result::ok) {
                    let request: Value = serde_json::from_str(&line).unwrap();
                    let goes_on = match request["method"].as_str() {
                        Some("daemon.hello") => answer(&mut stream, &request, hello(number)),
                        _ => script(&request, &mut stream),
                    };
                    if !goes_on {
                        let _ = stream.shutdown(std::net::Shutdown::Both);
                        return;
                    }
                }
            });
        }
    });
    count
}

fn hello(number: usize) -> Value {
    json!({"protocol": 1, "build": "0.1.0", "instance": format!("i{number}"), "pid": 1, "retiring": false, "features": ["graph"],
        "limits": {"request_bytes": 1, "response_bytes": 1, "connection_bytes": 1, "batch": 1, "connections": 1, "in_flight": 1, "subscriptions": 1}})
}

fn answer(stream: &mut UnixStream, request: &Value, result: Value) -> bool {
    say(stream, &json!({"jsonrpc": "2.0", "id": request["id"], "result": result}))
}

fn say(stream: &mut UnixStream, message: &Value) -> bool {
    writeln!(stream, "{message}").is_ok()
}

fn no_workspaces() -> Value {
    json!({"workspaces": []})
}

async fn connect(base: &Path) -> Client {
    let options = ConnectOptions::new("test").without_start().in_folders(Paths::below(base));
    Client::connect(options).await.unwrap()
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[tokio::test]
async fn nothing_listens() {
    let base = folder();
    let options = ConnectOptions::new("test").without_start().in_folders(Paths::below(base.path()));
    let error = Client::connect(options).await.err().unwrap();
    assert_eq!(error.kind(), "not_running");
    assert_eq!(error.to_rpc().data.fields["socket"], Paths::below(base.path()).socket().display().to_string());
}

#[tokio::test]
async fn an_error_keeps_its_kind_and_fields() {
    let base = folder();
    serve(base.path(), |request, stream| {
        let error =
            json!({"code": 1003, "message": "Too many.", "data": {"kind": "busy", "retryable": true, "retry_after_ms": 7}});
        say(stream, &json!({"jsonrpc": "2.0", "id": request["id"], "error": error}))
    });
    let error = connect(base.path()).await.call::<List>(&ListParams::default()).await.unwrap_err();
    let ClientError::Rpc(error) = error else { panic!("{error}") };
    assert_eq!(
        (error.code, error.message.as_str(), error.data.kind.as_str(), error.data.retryable),
        (1003, "Too many.", "busy", true)
    );
    assert_eq!(error.data.fields["retry_after_ms"], 7);
}

#[tokio::test]
async fn an_error_without_an_id_fails_the_only_call_and_the_next_one_works() {
    let base = folder();
    let connections = serve(base.path(), |request, stream| match request["method"].as_str() {
        Some("workspace.list") => answer(stream, request, no_workspaces()),
        _ => {
            let error = json!({"code": -32007, "message": "Too large.", "data": {"kind": "limit_exceeded", "retryable": false, "limit": 10}});
            say(stream, &json!({"jsonrpc": "2.0", "id": null, "error": error}))
        }
    });
    let client = connect(base.path()).await;
    let error = client.call::<Metrics>(&MetricsParams::default()).await.unwrap_err();
    assert_eq!(error.kind(), "limit_exceeded");
    assert!(client.call::<List>(&ListParams::default()).await.is_ok());
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn lines_that_belong_to_nothing_do_not_end_the_connection() {
    let base = folder();
    let connections = serve(base.path(), |request, stream| {
        let stray = json!({"jsonrpc": "2.0", "id": 99_999, "result": {}});
        say(stream, &stray)
            && writeln!(stream, "no json").is_ok()
            && say(
                stream,
                &json!({"jsonrpc": "2.0", "method": "event", "params": {"subscription": "s", "result": {"seq": 1, "topic": "new.topic", "data": {}}}}),
            )
            && say(stream, &json!({"jsonrpc": "2.0", "method": "something", "params": {}}))
            && answer(stream, request, no_workspaces())
    });
    let client = connect(base.path()).await;
    assert!(client.call::<List>(&ListParams::default()).await.is_ok());
    assert!(client.call::<List>(&ListParams::default()).await.is_ok());
    assert_eq!(connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_read_is_asked_again_after_a_restart_and_an_order_is_not() {
    let base = folder();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let connections = serve(base.path(), move |request, stream| match request["method"].as_str() {
        Some("workspace.list") => counter.fetch_add(1, Ordering::SeqCst) > 0 && answer(stream, request, no_workspaces()),
        _ => false,
    });
    let client = connect(base.path()).await;
    assert!(client.call::<List>(&ListParams::default()).await.is_ok());
    assert_eq!((asked.load(Ordering::SeqCst), connections.load(Ordering::SeqCst)), (2, 2));
    let params = RetireParams { reason: "test".to_owned(), ..RetireParams::default() };
    let error = client.call::<Retire>(&params).await.unwrap_err();
    assert_eq!(error.kind(), "connection_lost");
    assert_eq!(connections.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn what_the_daemon_said_before_it_closed_is_the_error() {
    let base = folder();
    let paths = Paths::below(base.path());
    std::fs::create_dir_all(&paths.runtime).unwrap();
    let listener = UnixListener::bind(paths.socket()).unwrap();
    std::thread::spawn(move || {
        let error = json!({"code": 1003, "message": "Full.", "data": {"kind": "busy", "retryable": true}});
        for stream in listener.incoming() {
            say(&mut stream.unwrap(), &json!({"jsonrpc": "2.0", "id": null, "error": error}));
        }
    });
    // Whether it is gone before our first line is a race: both must end the same.
    let options = ConnectOptions::new("test").without_start().in_folders(paths);
    for _ in 0..100 {
        let error = Client::connect(options.clone()).await.err().unwrap();
        assert_eq!(error.kind(), "busy", "{error}");
    }
}

#[tokio::test]
async fn a_token_cancels_the_call_that_carries_it() {
    let base = folder();
    let waiting: Arc<std::sync::Mutex<Option<Value>>> = Arc::default();
    serve(base.path(), move |request, stream| match request["method"].as_str() {
        Some("rpc.cancel") => {
            let pending = waiting.lock().unwrap().take().unwrap();
            assert_eq!(request["params"]["id"], pending["id"]);
            let error = json!({"code": -32800, "message": "Cancelled.", "data": {"kind": "cancelled", "retryable": false}});
            say(stream, &json!({"jsonrpc": "2.0", "id": pending["id"], "error": error}))
        }
        Some("daemon.metrics") => {
            *waiting.lock().unwrap() = Some(request.clone());
            true
        }
        _ => answer(stream, request, no_workspaces()),
    });
    let client = connect(base.path()).await;
    assert!(!client.cancel("t").await.unwrap());
    let params = MetricsParams::default();
    let call = client.call_with_token::<Metrics>(&params, "t");
    let cancel = async {
        while !client.cancel("t").await.unwrap() {
            tokio::task::yield_now().await;
        }
    };
    let (result, ()) = tokio::join!(call, cancel);
    assert_eq!(result.unwrap_err().kind(), "cancelled");
    assert!(client.call::<List>(&ListParams::default()).await.is_ok());
}

#[tokio::test]
async fn a_call_that_is_never_answered_ends_at_its_deadline() {
    let base = folder();
    serve(base.path(), |_, _| true);
    let client = connect(base.path()).await;
    let begun = Instant::now();
    let error = client.call::<Status>(&StatusParams { deadline_ms: Some(10) }).await.unwrap_err();
    assert_eq!(error.kind(), "deadline_exceeded");
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn events_reach_their_subscription_in_order_also_those_that_come_early() {
    let base = folder();
    serve(base.path(), |request, stream| {
        let event = |seq: u64| {
            let result = json!({"seq": seq, "topic": "index.progress", "token": "t", "data": {"done": seq}});
            json!({"jsonrpc": "2.0", "method": "event", "params": {"subscription": "s1", "result": result}})
        };
        say(stream, &event(1))
            && say(stream, &json!({"jsonrpc": "2.0", "id": request["id"], "result": {"subscription": "s1"}}))
            && (2..=5).all(|seq| say(stream, &event(seq)))
    });
    let client = connect(base.path()).await;
    let params = SubscribeParams { topics: vec![Topic::IndexProgress], ..SubscribeParams::default() };
    let mut events = client.subscribe(&params).await.unwrap();
    for seq in 1..=5 {
        let event = events.next_within(Duration::from_secs(5)).await.unwrap().unwrap();
        assert_eq!((event.seq, event.token.as_deref()), (seq, Some("t")));
    }
    assert!(events.next_within(Duration::from_millis(50)).await.is_err());
    drop(client);
    assert!(events.next_within(Duration::from_secs(5)).await.unwrap().is_none());
}

#[tokio::test]
async fn many_calls_at_once_get_their_own_answers() {
    let base = folder();
    serve(base.path(), |request, stream| {
        answer(stream, request, json!({"counters": {"asked": request["params"]["deadline_ms"]}, "latencies": {}}))
    });
    let client = Arc::new(connect(base.path()).await);
    let mut calls = tokio::task::JoinSet::new();
    for n in 1..=300 {
        let client = client.clone();
        calls.spawn(async move {
            let result = client.call::<Metrics>(&MetricsParams { deadline_ms: Some(n) }).await.unwrap();
            assert_eq!(result.counters["asked"], n);
        });
    }
    while let Some(call) = calls.join_next().await {
        call.unwrap();
    }
}

#[tokio::test]
async fn an_edit_whose_answer_is_lost_is_asked_for_and_never_sent_again() {
    let base = folder();
    let writes = Arc::new(AtomicUsize::new(0));
    let counted = writes.clone();
    serve(base.path(), move |request, stream| match request["method"].as_str() {
        Some("edit.write") => {
            counted.fetch_add(1, Ordering::SeqCst);
            false
        }
        _ if request["params"]["txn_id"] == "written" => {
            let report = json!({"new": [], "elsewhere": [], "unattributed": [], "fixed": 0, "carried_over": [], "suppressed": 0,
                "remembered": true, "baseline": "unknown", "state": "off", "servers": [], "waited_ms": 0});
            let outcome = json!({"txn_id": "written", "applied": true, "summary": "s", "files": [], "diff": "", "hunks": [],
                "diagnostics": report, "atomic": "exchange", "notes": []});
            answer(stream, request, json!({"state": "committed", "outcome": outcome}))
        }
        _ => answer(stream, request, json!({"state": "unknown"})),
    });
    let client = connect(base.path()).await;
    let params = |txn_id: &str| WriteParams { txn_id: Some(txn_id.to_owned()), ..WriteParams::default() };
    let outcome = client.edit_raw::<Write>(&params("written"), "written").await.unwrap();
    let outcome: Value = serde_json::from_str(outcome.get()).unwrap();
    assert_eq!((&outcome["txn_id"], &outcome["applied"]), (&json!("written"), &json!(true)));
    assert_eq!(writes.load(Ordering::SeqCst), 1);

    let error = client.edit_raw::<Write>(&params("lost"), "lost").await.unwrap_err();
    assert!(error.to_string().contains("Nothing was written"), "{error}");
    let error = error.to_rpc();
    assert_eq!((error.data.kind.as_str(), error.data.retryable), ("connection_lost", false));
    assert_eq!(error.data.fields["in_flight_txn"], "lost");
    assert_eq!(writes.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_connection_that_breaks_in_the_greeting_is_tried_again() {
    let base = folder();
    let paths = Paths::below(base.path());
    std::fs::create_dir_all(&paths.runtime).unwrap();
    let listener = UnixListener::bind(paths.socket()).unwrap();
    std::thread::spawn(move || {
        drop(listener.accept().unwrap());
        let (mut stream, _) = listener.accept().unwrap();
        for line in BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok) {
            answer(&mut stream, &serde_json::from_str(&line).unwrap(), hello(2));
        }
    });
    assert_eq!(connect(base.path()).await.hello().await.unwrap().instance, "i2");
}
