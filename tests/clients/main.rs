//! The clients against a real daemon: ccctl as a person uses it, the Rust client, the Python client.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod edits;
mod place;
mod shapes;
mod trust;

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use ccd_client::Client;
use ccd_protocol::{
    daemon::{Status, StatusParams},
    events::{SubscribeParams, Topic},
    graph::{Index, IndexParams},
};
use serde_json::Value;

use crate::place::{Place, Ran, needed};

#[test]
fn status_never_starts_the_daemon() {
    let place = Place::new();
    let ran = place.run(&["status"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (3, ""));
    assert!(ran.stderr.starts_with("error: ccd is not running"), "{ran:?}");
    assert!(place.paths.runtime.symlink_metadata().is_err());
    let error = place.json(&["status"]);
    assert_eq!(error["error"]["data"]["kind"], "not_running");
    assert_eq!(place.run(&["stop"]).code, 3);
}

#[test]
fn a_daemon_that_stands_still_is_not_reached() {
    let place = Place::new();
    assert_eq!(place.run(&["index"]).code, 0);
    let pid = place.json(&["status"])["pid"].as_i64().and_then(|pid| i32::try_from(pid).ok());
    let pid = pid.and_then(rustix::process::Pid::from_raw).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::STOP).unwrap();
    let ran = place.run(&["status"]);
    rustix::process::kill_process(pid, rustix::process::Signal::CONT).unwrap();
    assert_eq!(ran.code, 3, "{ran:?}");
}

#[test]
fn a_person_finds_a_function_and_its_callers() {
    let place = Place::new();
    // No command has to come first: the daemon starts, the root is found, the index is made.
    let ran = place.run(&["callers", "lib.py:1"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.starts_with("src/lib.py:6:12 function "), "{ran:?}");
    assert!(ran.stdout.ends_with("1 caller\n"), "{ran:?}");

    let ran = place.run(&["search", "main"]);
    assert!(ran.stdout.starts_with("src/lib.py:5:5 function "), "{ran:?}");
    let ran = place.run(&["outline", "src/lib.py"]);
    assert!(ran.code == 0 && ran.stdout.contains("1:5 function helper"), "{ran:?}");
    let ran = place.run(&["symbol", "main", "--source"]);
    assert!(ran.stdout.contains("return helper()"), "{ran:?}");
    let ran = place.run(&["impact", "lib.py:1:helper"]);
    assert!(ran.stdout.contains("main"), "{ran:?}");
    let ran = place.run(&["path", "main", "lib.py:1"]);
    assert!(ran.stdout.contains("way 1 (1 step):"), "{ran:?}");
    let ran = place.run(&["index"]);
    assert!(ran.code == 0 && ran.stdout.contains("2 unchanged"), "{ran:?}");
    let ran = place.run(&["status"]);
    assert!(ran.code == 0 && ran.stdout.contains("index: ready"), "{ran:?}");

    let found = place.json(&["search", "main"]);
    assert_eq!((found["total"].as_u64(), &found["symbols"][0]["rel"]), (Some(1), &Value::from("src/lib.py")));
    let root = place.base.join("project").display().to_string();
    assert_eq!(place.json(&["--root", &root, "digest"])["digest"], place.json(&["digest"])["digest"]);
}

#[test]
fn a_name_that_means_two_things_lists_both() {
    let place = Place::new();
    let ran = place.run(&["callers", "helper"]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.stderr.contains("src/lib.py:1:5 function") && ran.stderr.contains("src/other.py:2:9 method"), "{ran:?}");
    assert!(ran.stderr.contains("id: ") && ran.stderr.contains("hint: "), "{ran:?}");
    let error = place.json(&["callers", "helper"]);
    let id = error["error"]["data"]["candidates"][0]["id"].as_str().unwrap();
    assert_eq!(place.run(&["callers", id]).code, 0);
}

#[test]
fn exit_codes_tell_usage_from_refusal() {
    let place = Place::new();
    assert_eq!(place.run(&["search"]).code, 2);
    assert_eq!(place.run(&["search", "x", "--kind", "colour"]).code, 2);
    assert_eq!(place.run(&["outline", "nowhere.py"]).code, 1);
    assert_eq!(place.run(&["--root", "/", "open"]).code, 1);
    // "None" is an answer.
    assert_eq!(place.run(&["search", "nosuchname"]).code, 0);
    assert_eq!(place.run(&["--help"]).code, 0);
}

#[test]
fn a_daemon_that_cannot_start_is_quoted_at_once() {
    let place = Place::new();
    let broken = place.script("broken", "#!/bin/sh\necho 'line 3 of config.toml: unknown key' >&2\nexit 9\n");
    let begun = Instant::now();
    let mut command = place.command(needed("CCCTL_BIN"), &["open"]);
    command.env("CCD_BIN", &broken);
    let ran = Ran::of(command);
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
    assert_eq!(ran.code, 3, "{ran:?}");
    assert!(ran.stderr.contains("line 3 of config.toml: unknown key") && ran.stderr.contains("exit status: 9"), "{ran:?}");

    // A copy elsewhere has no sibling; with nothing set and nothing in PATH, all three places are named.
    let alone = place.base.join("alone/ccctl");
    fs::create_dir_all(alone.parent().unwrap()).unwrap();
    fs::copy(needed("CCCTL_BIN"), &alone).unwrap();
    let mut command = place.command(&alone, &["--json", "open"]);
    command.env_remove("CCD_BIN").env("PATH", "/nonexistent");
    let ran = Ran::of(command);
    let error: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((ran.code, &error["error"]["data"]["kind"]), (3, &Value::from("start_failed")));
    assert_eq!(error["error"]["data"]["tried"].as_array().unwrap().len(), 3, "{error}");
}

#[test]
fn a_folder_that_is_open_to_others_is_refused_and_left_as_it_was() {
    let place = Place::new();
    fs::create_dir_all(&place.paths.runtime).unwrap();
    fs::set_permissions(&place.paths.runtime, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(place.run(&["open"]).code, 3);
    let ran = place.run(&["doctor"]);
    assert!(ran.code == 1 && ran.stdout.contains("FAIL runtime_folder") && ran.stdout.contains("hint: chmod 700"), "{ran:?}");
    let mode = fs::metadata(&place.paths.runtime).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o755);
}

#[test]
fn many_first_commands_at_once_start_one_daemon() {
    let place = Place::new();
    let mut children: Vec<_> = (0..8)
        .map(|_| place.command(needed("CCCTL_BIN"), &["open"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
        .collect();
    let ran: Vec<Output> = children.drain(..).map(|child| child.wait_with_output().unwrap()).collect();
    for output in &ran {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_eq!(place.json(&["status"])["workspaces"].as_array().unwrap().len(), 1);
}

#[test]
fn doctor_works_with_the_daemon_dead_and_alive() {
    let place = Place::new();
    let dead = place.run(&["doctor"]);
    assert!(dead.code == 0 && dead.stdout.contains("does not run"), "{dead:?}");
    assert!(place.paths.runtime.symlink_metadata().is_err(), "doctor started something");
    assert_eq!(place.run(&["open"]).code, 0);
    let checks = place.json(&["doctor"]);
    let ids: Vec<&str> = checks["checks"].as_array().unwrap().iter().map(|check| check["id"].as_str().unwrap()).collect();
    for id in ["program", "socket_path", "runtime_folder", "connection", "lock", "versions"] {
        assert!(ids.contains(&id), "{ids:?}");
    }
}

#[test]
fn socket_logs_and_stop() {
    let place = Place::new();
    let socket = place.run(&["socket"]);
    assert_eq!(socket.stdout.trim_end(), place.paths.socket().display().to_string());
    assert_eq!(place.run(&["logs"]).code, 1);
    assert_eq!(place.run(&["open"]).code, 0);
    let logs = place.run(&["logs", "-n", "3"]);
    assert!(logs.code == 0 && (1..=3).contains(&logs.stdout.lines().count()), "{logs:?}");
    let begun = Instant::now();
    let stopped = place.run(&["stop"]);
    assert_eq!((stopped.code, stopped.stdout.as_str()), (0, "ccd has ended\n"), "{stopped:?}");
    assert!(begun.elapsed() < Duration::from_secs(20));
    assert_eq!(place.run(&["status"]).code, 3);
}

#[test]
fn what_a_repository_names_cannot_drive_the_terminal() {
    let place = Place::new();
    place.write("project/src/a\u{1b}[31mred.py", "def painted():\n    return '\u{1b}[2J'\n");
    for arguments in [&["search", "painted"][..], &["symbol", "painted", "--source"]] {
        let ran = place.run(arguments);
        assert!(ran.code == 0 && !ran.stdout.contains('\u{1b}'), "{ran:?}");
        assert!(ran.stdout.contains("\\u{1b}"), "{ran:?}");
    }
}

#[test]
fn a_reader_that_has_had_enough_is_no_failure() {
    let place = Place::new();
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = place.command(needed("CCCTL_BIN"), &["completions", "bash"]);
    let status = command.stdout(writer).status().unwrap();
    assert!(status.success(), "{status}");
}

#[test]
fn the_demo_shows_every_step_and_leaves_nothing() {
    let place = Place::new();
    let temporary = place.base.join("tmp");
    fs::create_dir(&temporary).unwrap();
    let mut command = place.command(needed("CCCTL_BIN"), &["demo"]);
    command.env("TMPDIR", &temporary);
    let ran = Ran::of(command);
    assert_eq!(ran.code, 0, "{ran:?}");
    for text in [
        "1. Index",
        "2. Find",
        "discounted",
        "invoice_line",
        "ten_cost_as_much_as_nine",
        "+    item.cents * (item.count - free(item.count))",
        "free_line",
        "Take it back",
        "web/cart.ts:7:5: this.cents.push(cents)",
        "+    this.cents = [...this.cents, cents];",
        "Accept it",
    ] {
        assert!(ran.stdout.contains(text), "{text}: {ran:?}");
    }
    assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0);
    assert_eq!(place.run(&["status"]).code, 3, "the demo started the user's own daemon");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_idle_daemon_is_replaced_and_a_newer_one_is_not() {
    let place = Place::new();
    let first = Client::connect(place.options()).await.unwrap().hello().await.unwrap();
    let mut newer = place.options();
    newer.client.build = "99.0.0".to_owned();
    let second = Client::connect(newer).await.unwrap().hello().await.unwrap();
    assert_ne!(first.instance, second.instance);
    let mut older = place.options();
    older.client.build = "0.0.1".to_owned();
    let third = Client::connect(older).await.unwrap().hello().await.unwrap();
    assert_eq!(second.instance, third.instance);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_daemon_is_started_again_by_the_next_read() {
    let place = Place::new();
    let client = Client::connect(place.options()).await.unwrap();
    let first = client.hello().await.unwrap();
    let pid = rustix::process::Pid::from_raw(i32::try_from(first.pid).unwrap()).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    // Whether the call meets the end or finds it behind itself, the socket is still there and nobody listens.
    let status = client.call::<Status>(&StatusParams::default()).await.unwrap();
    assert_ne!(status.instance, first.instance);
    assert_eq!(client.hello().await.unwrap().instance, status.instance);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rust_client_hears_of_an_index_run() {
    let place = Place::new();
    let root = place.base.join("project").display().to_string();
    let client = Client::connect(place.options()).await.unwrap();
    let params = SubscribeParams { topics: vec![Topic::IndexDone], workspace: Some(root.clone()), ..SubscribeParams::default() };
    let mut events = client.subscribe(&params).await.unwrap();
    let result = client.call::<Index>(&IndexParams { workspace: Some(root.clone()), ..IndexParams::default() }).await.unwrap();
    assert_eq!(result.files_parsed + result.unchanged, 2);
    let event = events.next_within(Duration::from_secs(20)).await.unwrap().unwrap();
    assert_eq!((event.topic, event.data["root"].as_str()), (Topic::IndexDone, Some(root.as_str())));
    assert!(client.unsubscribe(events).await.unwrap());
}

#[test]
fn the_python_client_passes_its_own_tests() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("python");
    needed("CCD_BIN");
    let mut command = Command::new("python3");
    command.args(["-B", "-m", "unittest", "discover", "-s"]).arg(&folder).stdin(Stdio::null());
    let ran = Ran::of(command);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}
