//! The configuration: refused with its line, read again whole or not at all.

use std::time::{Duration, Instant};

use ccd_tests::{Folders, eventually, is_error};
use rustix::process::Signal;
use serde_json::json;

#[test]
fn a_wrong_file_is_refused_with_its_line() {
    let folders = Folders::new();
    folders.configure("[log]\nlevel = \"info\"\nsize = 3\n");
    let (status, said) = folders.refused();
    assert!(!status.success());
    assert!(said.contains("line 3") && said.contains("size") && said.lines().count() == 1, "{said}");
    assert!(folders.socket().symlink_metadata().is_err());
}

#[test]
fn a_reload_applies_all_or_nothing() {
    let folders = Folders::new();
    let daemon = folders.start();
    let mut client = daemon.connect();
    folders.configure("[limits]\nresponse_mib = 2\n[log]\nfiles = 2\n");
    let reloaded = client.call("daemon.reload", json!({}));
    assert_eq!(reloaded, json!({"applied": ["limits.response_mib"], "needs_restart": ["log.files"]}));
    assert_eq!(client.call("daemon.hello", json!({"protocol": 1}))["limits"]["response_bytes"], 2 << 20);

    folders.configure("[limits]\nresponse_mib = 3\nrequest_mib = 9999\n");
    let error = client.refuse("daemon.reload", json!({}));
    is_error(&error, "config_invalid", 1005);
    assert_eq!(error["data"]["line"], 3);
    assert!(error["data"]["file"].as_str().unwrap().ends_with("config.toml"));
    assert_eq!(client.call("daemon.hello", json!({"protocol": 1}))["limits"]["response_bytes"], 2 << 20);

    folders.configure("[limits]\nresponse_mib = 4\n");
    daemon.signal(Signal::HUP);
    eventually("the signal is a reload", || {
        let hello = client.call("daemon.hello", json!({"protocol": 1}));
        (hello["limits"]["response_bytes"] == 4 << 20).then_some(())
    });
}

#[test]
fn a_configured_deadline_holds() {
    let folders = Folders::new();
    folders.configure("[limits.deadline_s]\ngraph.index = 1\n");
    let daemon = folders.start();
    let mut client = daemon.connect();
    // A call's own wish stands over it, up to the cap of the method.
    folders.write("p/a.rs", "fn a() {}\n");
    client.call("graph.index", json!({"workspace": folders.path("p"), "deadline_ms": 20_000}));
}

#[test]
fn other_ignore_rules_take_effect_without_a_restart() {
    let folders = Folders::new();
    folders.write("p/a.py", "def kept():\n    pass\n");
    folders.write("p/b_gen.py", "def made():\n    pass\n");
    let daemon = folders.start();
    let mut client = daemon.connect();
    client.call("graph.index", json!({"workspace": folders.path("p")}));
    let find = |client: &mut ccd_tests::Client, name: &str| {
        let found = client.call("graph.search", json!({"workspace": folders.path("p"), "query": name}));
        (found["state"] == "ready").then(|| found["total"].as_u64().unwrap())
    };
    assert_eq!(find(&mut client, "made"), Some(1));
    folders.configure("[index]\nignore = [\"*_gen.py\"]\n");
    assert_eq!(client.call("daemon.reload", json!({}))["applied"], json!(["index.ignore"]));
    eventually("the ignored file has left the index", || (find(&mut client, "made") == Some(0)).then_some(()));
    assert_eq!(find(&mut client, "kept"), Some(1));
}

/// The start ends at once, with one sentence that holds this.
fn refused_at_once(folders: &Folders, sentence: &str) {
    let begin = Instant::now();
    let (status, said) = folders.refused();
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    assert!(!status.success() && said.contains(sentence) && said.lines().count() == 1, "{said}");
}

fn fifo(path: &std::path::Path) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0).unwrap();
}

#[test]
fn what_is_no_regular_file_is_not_read_as_the_configuration() {
    let folders = Folders::new();
    let file = folders.path("config/config.toml");
    fifo(&file);
    refused_at_once(&folders, "it is not a regular file");
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
    refused_at_once(&folders, "it is not a regular file");
    std::fs::remove_file(&file).unwrap();
    folders.configure(&"#\n".repeat(1 << 20));
    refused_at_once(&folders, "it is longer than 1048576 bytes");
    // A link to a file elsewhere, as of those who keep their settings in one place, is read.
    std::fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(folders.write("dotfiles/ccd.toml", "[limits]\nresponse_mib = 2\n"), &file).unwrap();
    let daemon = folders.start();
    assert_eq!(daemon.connect().call("daemon.hello", json!({"protocol": 1}))["limits"]["response_bytes"], 2 << 20);
}

#[test]
fn a_log_that_is_a_fifo_does_not_hold_up_the_start() {
    let folders = Folders::new();
    fifo(&folders.path("state/log/ccd.log"));
    for folder in ["state", "state/log"] {
        let only_me = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        std::fs::set_permissions(folders.path(folder), only_me).unwrap();
    }
    refused_at_once(&folders, "ccd.log is not a regular file");
}
