//! From start to end: one daemon a user, folders that are refused, every way to go.

use std::{
    io::{BufRead, BufReader},
    os::unix::{fs::PermissionsExt, net::UnixStream},
    process::{Child, Stdio},
    time::{Duration, Instant},
};

use ccd_tests::{Folders, eventually, is_error};
use rustix::process::Signal;
use serde_json::json;

#[test]
fn it_is_ready_at_once_and_small() {
    let folders = Folders::new();
    let begin = Instant::now();
    let daemon = folders.start();
    let ready = begin.elapsed();
    let mut client = daemon.connect();
    let status = client.call("daemon.status", json!({}));
    assert_eq!(status["pid"], daemon.pid());
    assert!(ready < Duration::from_millis(500), "{ready:?}");
    assert_eq!(folders.socket().symlink_metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(folders.path("run").symlink_metadata().unwrap().permissions().mode() & 0o777, 0o700);
    assert!(folders.path("cache").symlink_metadata().is_err(), "nothing is opened before it is needed");
}

#[test]
fn the_second_daemon_is_told_who_serves() {
    let folders = Folders::new();
    let daemon = folders.start();
    let begin = Instant::now();
    let (status, said) = folders.refused();
    assert!(begin.elapsed() < Duration::from_secs(2));
    assert_eq!(status.code(), Some(3));
    assert!(said.contains(&format!("pid {}", daemon.pid())) && said.lines().count() == 1, "{said}");
    daemon.connect().call("daemon.status", json!({}));
}

#[test]
fn twenty_starts_at_once_leave_one_daemon() {
    let folders = Folders::new();
    let mut children: Vec<Child> = (0..20).map(|_| folders.command().spawn().unwrap()).collect();
    let mut alive = eventually("all but one end", || {
        let alive: Vec<u32> =
            children.iter_mut().filter_map(|child| child.try_wait().unwrap().is_none().then(|| child.id())).collect();
        (alive.len() == 1).then_some(alive)
    });
    let socket = eventually("it serves", || UnixStream::connect(folders.socket()).ok());
    let status = ccd_tests::Client::new(socket).call("daemon.status", json!({}));
    assert_eq!(status["pid"], alive.remove(0));
    for child in &mut children {
        let _ = child.kill();
        let _ = child.wait();
    }
}

#[test]
fn a_killed_daemon_is_followed_by_another_at_once() {
    let folders = Folders::new();
    let mut daemon = folders.start();
    daemon.signal(Signal::KILL);
    daemon.ended();
    assert!(folders.socket().symlink_metadata().is_ok(), "the stale socket is there");
    let begin = Instant::now();
    let next = folders.start();
    assert!(begin.elapsed() < Duration::from_secs(1));
    next.connect().call("daemon.status", json!({}));
}

#[test]
fn a_term_signal_lets_calls_end_and_takes_the_socket_away() {
    let folders = Folders::new();
    let mut daemon = folders.start();
    for n in 0..200 {
        folders.write(&format!("p/m{n}.rs"), "pub fn f() {}\n".repeat(50));
    }
    let mut client = daemon.connect();
    let mut idle = daemon.connect();
    idle.call("daemon.status", json!({}));
    let open = client.begin("graph.index", json!({"workspace": folders.path("p"), "full": true}));
    // The call is under way when the signal comes: the status after it on the same connection says so.
    client.call("daemon.status", json!({}));
    daemon.signal(Signal::TERM);
    let answer = client.answer(open);
    assert!(answer["result"].is_object(), "{answer}");
    assert_eq!(client.line(), None);
    assert_eq!(idle.line(), None);
    assert!(daemon.ended().success());
    assert!(folders.socket().symlink_metadata().is_err());
    assert!(folders.path("run/ccd.lock").symlink_metadata().is_ok(), "the lock file stays");
}

#[test]
fn retiring_waits_for_calls_if_asked_to() {
    let folders = Folders::new();
    let mut daemon = folders.start();
    for n in 0..300 {
        folders.write(&format!("p/m{n}.rs"), "pub fn f() {}\n".repeat(50));
    }
    let mut busy = daemon.connect();
    let mut client = daemon.connect();
    client.call("events.subscribe", json!({"topics": ["daemon.retiring"]}));
    let index = busy.begin("graph.index", json!({"workspace": folders.path("p"), "full": true}));
    let refused = eventually("it is busy, or the run is over", || {
        let answer = client.call("daemon.retire", json!({"reason": "a newer build"}));
        if answer["retiring"] == false {
            assert!(answer["waiting_for"][0].as_str().unwrap().contains("under way"), "{answer}");
            return Some(true);
        }
        Some(false)
    });
    if refused {
        assert!(busy.answer(index)["result"].is_object());
        let answer = client.call("daemon.retire", json!({"reason": "a newer build"}));
        assert_eq!(answer, json!({"retiring": true, "waiting_for": []}));
    }
    assert_eq!(client.event("daemon.retiring")["data"], json!({"reason": "a newer build"}));
    assert!(daemon.ended().success());
}

#[test]
fn folders_that_are_not_ours_alone_are_refused_and_left_as_they_are() {
    let folders = Folders::new();
    let run = folders.path("run");
    std::fs::create_dir(&run).unwrap();
    std::fs::set_permissions(&run, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (status, said) = folders.refused();
    assert!(!status.success() && said.lines().count() == 1 && said.contains("open to others"), "{said}");
    assert_eq!(run.symlink_metadata().unwrap().permissions().mode() & 0o777, 0o755);
    assert_eq!(std::fs::read_dir(&run).unwrap().count(), 0);

    std::fs::remove_dir(&run).unwrap();
    std::fs::create_dir(folders.path("elsewhere")).unwrap();
    std::fs::set_permissions(folders.path("elsewhere"), std::fs::Permissions::from_mode(0o700)).unwrap();
    std::os::unix::fs::symlink(folders.path("elsewhere"), &run).unwrap();
    let (status, said) = folders.refused();
    assert!(!status.success() && said.contains("symbolic link"), "{said}");
    assert_eq!(std::fs::read_dir(folders.path("elsewhere")).unwrap().count(), 0);
}

#[test]
fn a_cache_that_is_open_to_others_is_refused_and_a_link_in_it_is_not_written_through() {
    let folders = Folders::new();
    let only_me = || std::fs::Permissions::from_mode(0o700);
    let cache = folders.path("cache");
    std::fs::create_dir(&cache).unwrap();
    std::fs::set_permissions(&cache, std::fs::Permissions::from_mode(0o755)).unwrap();
    let (status, said) = folders.refused();
    assert!(!status.success() && said.lines().count() == 1 && said.contains("open to others"), "{said}");

    std::fs::set_permissions(&cache, only_me()).unwrap();
    for name in ["roots", "facts"] {
        let elsewhere = folders.path(&format!("elsewhere_{name}"));
        std::fs::create_dir(&elsewhere).unwrap();
        std::fs::set_permissions(&elsewhere, only_me()).unwrap();
        std::os::unix::fs::symlink(&elsewhere, cache.join(name)).unwrap();
    }
    folders.write("p/a.py", "def kept():\n    pass\n");
    let daemon = folders.start();
    let mut client = daemon.connect();
    assert_eq!(client.call("graph.index", json!({"workspace": folders.path("p")}))["symbols"], 2);
    let status = client.call("workspace.status", json!({"workspace": folders.path("p")}));
    assert!(status["index"]["rebuilt"]["reason"].as_str().unwrap().contains("symbolic link"), "{status}");
    for name in ["roots", "facts"] {
        assert_eq!(std::fs::read_dir(folders.path(&format!("elsewhere_{name}"))).unwrap().count(), 0);
    }
}

#[test]
fn a_socket_path_that_is_too_long_is_refused_or_shortened() {
    let folders = Folders::new();
    let long = folders.path(&"x".repeat(120));
    // The state folder is short, so the fallback beneath it takes the socket under a short name.
    let output = folders.command().env("CCD_RUNTIME_DIR", &long).arg("--socket-path").output().unwrap();
    let socket = String::from_utf8(output.stdout).unwrap();
    assert!(socket.trim_end().len() <= 107 && socket.trim_end().ends_with("-ccd-1.sock"), "{socket}");
    let output = folders.command().env("CCD_RUNTIME_DIR", &long).env("CCD_STATE_DIR", &long).output();
    // Where the login's own folder exists it is the fallback, and this daemon would serve there.
    if std::path::Path::new("/run/user").read_dir().is_err() {
        let output = output.unwrap();
        assert!(!output.status.success());
        assert!(String::from_utf8(output.stderr).unwrap().contains("longer than 107 bytes"));
    }
}

#[test]
fn a_detached_daemon_says_when_it_serves_and_lives_on() {
    let folders = Folders::new();
    let mut child = folders.command().arg("--detach").stdout(Stdio::piped()).spawn().unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert_eq!(line, format!("ready {}\n", folders.socket().display()));
    // Its output is closed: whoever waits for the end of it is not held up.
    line.clear();
    assert_eq!(out.read_line(&mut line).unwrap(), 0);
    let mut client = ccd_tests::Client::new(UnixStream::connect(folders.socket()).unwrap());
    assert_eq!(client.call("daemon.retire", json!({"reason": "test"}))["retiring"], true);
    assert!(eventually("it ends", || child.try_wait().unwrap()).success());
}

#[test]
fn hello_is_strict_about_the_protocol() {
    let folders = Folders::new();
    let daemon = folders.start();
    let mut client = daemon.connect();
    let hello = client.call(
        "daemon.hello",
        json!({"protocol": 1, "client": {"name": "test", "build": "7"}, "cwd": "/", "env": {"SECRET": "x"}}),
    );
    assert_eq!(hello["features"], json!(["graph", "edit", "ast"]));
    assert_eq!(hello["limits"]["in_flight"], 256);
    let error = client.refuse("daemon.hello", json!({"protocol": 2}));
    is_error(&error, "protocol_mismatch", 1001);
    assert_eq!((&error["data"]["want"], &error["data"]["have"]), (&json!(2), &json!(1)));
    assert_eq!(client.call("daemon.status", json!({}))["connections"][0]["name"], "test 7");
    assert!(!folders.log().contains("\"x\""), "no values of variables in the log");
}

#[test]
fn methods_describe_themselves() {
    let folders = Folders::new();
    let daemon = folders.start();
    let described = daemon.connect().call("daemon.methods", json!({}));
    let names: Vec<&str> =
        described["methods"].as_array().unwrap().iter().map(|method| method["name"].as_str().unwrap()).collect();
    let built: Vec<&str> = ccd_protocol::METHODS.iter().map(|method| method.name).collect();
    assert_eq!(names, built);
}

#[test]
fn a_start_beside_a_daemon_that_is_leaving_waits_for_it() {
    let folders = Folders::new();
    let mut daemon = folders.start();
    daemon.connect().call("daemon.retire", json!({"reason": "test"}));
    let next = eventually("the socket is gone", || folders.socket().symlink_metadata().is_err().then(|| folders.start()));
    assert!(daemon.ended().success());
    assert_eq!(next.connect().call("daemon.status", json!({}))["pid"], next.pid());
}

#[test]
fn a_daemon_whose_lock_cannot_be_had_says_so_within_two_seconds() {
    let folders = Folders::new();
    std::fs::create_dir(folders.path("run")).unwrap();
    std::fs::set_permissions(folders.path("run"), std::fs::Permissions::from_mode(0o700)).unwrap();
    let lock = std::fs::File::create(folders.path("run/ccd.lock")).unwrap();
    lock.lock().unwrap();
    let begin = Instant::now();
    let (status, said) = folders.refused();
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    assert_eq!(status.code(), Some(3));
    assert!(said.contains("its pid is not known") && said.lines().count() == 1, "{said}");
}
