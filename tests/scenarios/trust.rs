//! Trust: a person grants it to one folder, it survives, and nothing that lies in a checkout grants it.

use std::{
    os::unix::{fs::PermissionsExt, process::ExitStatusExt},
    process::Command,
};

use ccd_tests::{Client, Folders, Running, eventually, is_error};
use serde_json::{Value, json};

fn started() -> (Folders, Running, Client) {
    let folders = Folders::new();
    folders.write("p/a.rs", "fn a() {}\n");
    let daemon = folders.start();
    let client = daemon.connect();
    (folders, daemon, client)
}

/// How an open root stands: the word, and by what.
fn stands(client: &mut Client, folders: &Folders, rel: &str) -> (String, Value) {
    client.call("workspace.open", json!({"root": folders.path(rel), "index": false}));
    let status = client.call("workspace.status", json!({"workspace": folders.path(rel)}));
    let trust = &status["trust"];
    assert_eq!(status["trusted"], json!(trust["state"] == "trusted"), "{status}");
    (trust["state"].as_str().unwrap().to_owned(), trust["by"].clone())
}

fn untrusted() -> (String, Value) {
    ("untrusted".to_owned(), Value::Null)
}

fn by(what: &str) -> (String, Value) {
    ("trusted".to_owned(), json!(what))
}

fn git(folders: &Folders, rel: &str, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(folders.path(rel))
        .env("HOME", folders.path("home"))
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git is needed: sudo apt-get install -y git");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_root_is_untrusted_until_it_is_granted_and_again_when_that_is_taken_back() {
    let (folders, daemon, mut client) = started();
    folders.write("p/sub/b.rs", "fn b() {}\n");
    folders.write("other/p/c.rs", "fn c() {}\n");
    let p = folders.path("p");
    assert_eq!(stands(&mut client, &folders, "p"), untrusted());
    let status = client.call("workspace.status", json!({"workspace": p}));
    assert_eq!(status["trust"]["fix"], json!(format!("ccctl trust {}", p.display())));

    // It takes effect for the calls after its answer, on roots that are open.
    let result = client.call("workspace.trust", json!({"root": p}));
    assert_eq!((&result["changed"], &result["root"], &result["trust"]["by"]), (&json!(true), &json!(p), &json!("grant")));
    let status = client.call("workspace.status", json!({"workspace": p}));
    assert_eq!((&status["trusted"], &status["trust"]), (&json!(true), &json!({"state": "trusted", "by": "grant"})));
    assert_eq!(client.call("workspace.list", json!({}))["workspaces"][0]["trusted"], json!(true));
    assert_eq!(client.call("workspace.open", json!({"root": p, "index": false}))["trusted"], json!(true));
    // Neither what lies in it, nor what it lies in, nor another folder of that name.
    for rel in ["p/sub", "other", "other/p"] {
        assert_eq!(stands(&mut client, &folders, rel), untrusted(), "{rel}");
    }
    let trusted = client.call("daemon.status", json!({}))["trusted"].clone();
    assert_eq!((&trusted[0]["root"], &trusted[0]["worktrees"]), (&json!(p), &json!(true)));
    assert!(trusted[0]["since"].as_u64().unwrap() > 1_600_000_000 && trusted[1].is_null(), "{trusted}");
    assert_eq!(client.call("workspace.trust", json!({"root": p}))["changed"], json!(false));
    eventually("the grant is in the log", || folders.log().contains("trust granted").then_some(()));

    let result = client.call("workspace.trust", json!({"root": p, "revoke": true}));
    assert_eq!(
        (&result["changed"], &result["trust"]["state"], &result["trusted"]),
        (&json!(true), &json!("untrusted"), &json!([]))
    );
    assert_eq!(client.call("workspace.status", json!({"workspace": p}))["trusted"], json!(false));
    assert_eq!(client.call("workspace.trust", json!({"root": p, "revoke": true}))["changed"], json!(false));
    drop(daemon);
}

#[test]
fn trust_needs_no_open_root_and_refuses_what_is_none() {
    let (folders, _daemon, mut client) = started();
    std::fs::create_dir(folders.path("home")).unwrap();
    for (root, kind, code) in [
        (json!("/"), "root_refused", 1105),
        (json!(folders.path("home")), "root_refused", 1105),
        (json!(folders.path("p/a.rs")), "root_refused", 1105),
        (json!(folders.path("nothing")), "not_found", 1103),
        (json!("p"), "invalid_params", -32602),
    ] {
        is_error(&client.refuse("workspace.trust", json!({"root": root})), kind, code);
    }
    is_error(&client.refuse("workspace.trust", json!({"root": folders.path("p"), "allow": ["all"]})), "invalid_params", -32602);
    // A link is the folder that it leads to.
    std::os::unix::fs::symlink(folders.path("p"), folders.path("link")).unwrap();
    let allow = json!(["config", "local_binaries", "config"]);
    let result = client.call("workspace.trust", json!({"root": folders.path("link"), "worktrees": false, "allow": allow}));
    assert_eq!(result["root"], json!(folders.path("p")));
    assert_eq!(result["trust"]["allow"], json!(["local_binaries", "config"]));
    assert_eq!(result["trusted"][0]["worktrees"], json!(false));
    assert_eq!(client.call("workspace.list", json!({}))["workspaces"], json!([]));
    // A folder that is gone is taken back by its name.
    std::fs::rename(folders.path("p"), folders.path("q")).unwrap();
    assert_eq!(client.call("workspace.trust", json!({"root": folders.path("p"), "revoke": true}))["changed"], json!(true));
}

#[test]
fn trust_survives_the_daemon_also_a_kill_at_any_moment() {
    let (folders, mut daemon, mut client) = started();
    client.call("workspace.trust", json!({"root": folders.path("p")}));
    daemon.child.kill().unwrap();
    daemon.child.wait().unwrap();
    folders.write("q/b.rs", "fn b() {}\n");
    for place in ["kept_written", "kept_renamed"] {
        let mut daemon = folders.start_with(&[("CCD_FAILPOINT", &format!("{place}:kill"))]);
        let mut client = daemon.connect();
        assert_eq!(stands(&mut client, &folders, "p"), by("grant"));
        client.begin("workspace.trust", json!({"root": folders.path("q")}));
        assert_eq!(daemon.ended().signal(), Some(9), "the build has no failpoints; ./tests/run builds one that has");
        let daemon = folders.start();
        let mut client = daemon.connect();
        // The old file, or the new one; never none.
        assert_eq!(stands(&mut client, &folders, "p"), by("grant"), "{place}");
        let wanted = if place == "kept_written" { untrusted() } else { by("grant") };
        assert_eq!(stands(&mut client, &folders, "q"), wanted, "{place}");
    }
}

#[test]
fn what_cannot_be_stored_is_not_granted() {
    let folders = Folders::new();
    folders.write("p/a.rs", "fn a() {}\n");
    let daemon = folders.start_with(&[("CCD_FAILPOINT", "kept_written:error")]);
    let mut client = daemon.connect();
    let error = client.refuse("workspace.trust", json!({"root": folders.path("p")}));
    is_error(&error, "io", 1205);
    assert_eq!(stands(&mut client, &folders, "p"), untrusted());
    assert_eq!(client.call("daemon.status", json!({}))["trusted"], json!([]));
    drop((client, daemon));
    // The very last step fails: it is not called done, and what is told is what a restart will find.
    let daemon = folders.start_with(&[("CCD_FAILPOINT", "kept_renamed:error")]);
    let mut client = daemon.connect();
    is_error(&client.refuse("workspace.trust", json!({"root": folders.path("p")})), "io", 1205);
    assert_eq!(stands(&mut client, &folders, "p"), by("grant"));
    drop((client, daemon));
    let daemon = folders.start();
    assert_eq!(stands(&mut daemon.connect(), &folders, "p"), by("grant"));
}

#[test]
fn another_folder_at_the_path_is_untrusted() {
    let (folders, _daemon, mut client) = started();
    client.call("workspace.trust", json!({"root": folders.path("p")}));
    assert_eq!(stands(&mut client, &folders, "p"), by("grant"));
    std::fs::rename(folders.path("p"), folders.path("moved")).unwrap();
    folders.write("p/evil.rs", "fn evil() {}\n");
    assert_eq!(stands(&mut client, &folders, "p"), untrusted());
    let status = client.call("workspace.status", json!({"workspace": folders.path("p")}));
    assert!(status["trust"]["detail"].as_str().unwrap().starts_with("Another folder lies here"), "{status}");
    assert_eq!(stands(&mut client, &folders, "moved"), untrusted());
    // The same folder, back in its place.
    std::fs::remove_file(folders.path("p/evil.rs")).unwrap();
    std::fs::remove_dir(folders.path("p")).unwrap();
    std::fs::rename(folders.path("moved"), folders.path("p")).unwrap();
    assert_eq!(stands(&mut client, &folders, "p"), by("grant"));
}

#[test]
fn worktrees_of_a_trusted_repository_inherit_if_asked() {
    let (folders, _daemon, mut client) = started();
    std::fs::create_dir_all(folders.path("home")).unwrap();
    git(&folders, "p", &["init", "-q"]);
    git(&folders, "p", &["add", "."]);
    git(&folders, "p", &["commit", "-q", "-m", "first"]);
    git(&folders, "p", &["worktree", "add", "-q", "../wt", "-b", "task"]);
    assert_eq!(stands(&mut client, &folders, "wt"), untrusted());
    client.call("workspace.trust", json!({"root": folders.path("p")}));
    let status = client.call("workspace.status", json!({"workspace": folders.path("wt")}));
    assert_eq!(status["trust"], json!({"state": "trusted", "by": "worktree", "from": folders.path("p")}));
    // Also one that is made later.
    git(&folders, "p", &["worktree", "add", "-q", "../later", "-b", "other"]);
    assert_eq!(stands(&mut client, &folders, "later"), by("worktree"));
    // One that is copied, cloned, or only says so, is none.
    let entry = folders.path("p/.git/worktrees/wt");
    folders.write("evil/.git", format!("gitdir: {}\n", entry.display()));
    folders.write("evil2/.git/commondir", format!("{}\n", folders.path("p/.git").display()));
    folders.write("evil2/.git/HEAD", "ref: refs/heads/main\n");
    git(&folders, ".", &["clone", "-q", "p", "clone"]);
    for rel in ["evil", "evil2", "clone"] {
        assert_eq!(stands(&mut client, &folders, rel), untrusted(), "{rel}");
    }
    client.call("workspace.trust", json!({"root": folders.path("p"), "worktrees": false}));
    assert_eq!(stands(&mut client, &folders, "wt"), untrusted());
    assert_eq!(stands(&mut client, &folders, "p"), by("grant"));
    // Trust of a worktree is of it alone.
    client.call("workspace.trust", json!({"root": folders.path("p"), "revoke": true}));
    client.call("workspace.trust", json!({"root": folders.path("wt")}));
    assert_eq!(stands(&mut client, &folders, "wt"), by("grant"));
    for rel in ["p", "later"] {
        assert_eq!(stands(&mut client, &folders, rel), untrusted(), "{rel}");
    }
    // A worktree that git removes loses what it inherited.
    client.call("workspace.trust", json!({"root": folders.path("p")}));
    assert_eq!(stands(&mut client, &folders, "later"), by("worktree"));
    std::fs::remove_dir_all(folders.path("p/.git/worktrees/later")).unwrap();
    assert_eq!(stands(&mut client, &folders, "later"), untrusted());
}

#[test]
fn folders_of_the_configuration_trust_what_lies_below() {
    let folders = Folders::new();
    folders.write("home/src/p/a.rs", "fn a() {}\n");
    folders.write("home/src-evil/p/a.rs", "fn a() {}\n");
    // What a checkout brings along is read by nobody.
    for name in [".ccd/config.toml", "config.toml", ".config/ccd/config.toml", "ccd.toml"] {
        folders.write(&format!("home/src-evil/p/{name}"), "[trust]\nfolders = [\"/\"]\n");
    }
    folders.configure("[trust]\nfolders = [\"~/src\"]\n");
    let daemon = folders.start();
    let mut client = daemon.connect();
    assert_eq!(stands(&mut client, &folders, "home/src/p"), by("config"));
    for rel in ["home/src", "home/src-evil/p"] {
        assert_eq!(stands(&mut client, &folders, rel), untrusted(), "{rel}");
    }
    let result = client.call("workspace.trust", json!({"root": folders.path("home/src/p"), "revoke": true}));
    assert_eq!((&result["changed"], &result["trust"]["from"]), (&json!(false), &json!("~/src")));
    folders.configure("");
    client.call("daemon.reload", json!({}));
    let status = client.call("workspace.status", json!({"workspace": folders.path("home/src/p")}));
    assert_eq!(status["trusted"], json!(false));
}

#[test]
fn a_file_that_others_could_write_trusts_nobody() {
    let (folders, daemon, mut client) = started();
    client.call("workspace.trust", json!({"root": folders.path("p")}));
    drop((client, daemon));
    let file = folders.path("state/trust/grants.json");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o666)).unwrap();
    let daemon = folders.start();
    let mut client = daemon.connect();
    assert_eq!(stands(&mut client, &folders, "p"), untrusted());
    let notices = client.call("daemon.status", json!({}))["notices"].to_string();
    assert!(notices.contains("can be written by others"), "{notices}");
    client.call("workspace.trust", json!({"root": folders.path("p")}));
    assert_eq!(stands(&mut client, &folders, "p"), by("grant"));
    assert_eq!(client.call("daemon.status", json!({}))["notices"], json!([]));
}

#[test]
fn twenty_that_grant_at_once_lose_nothing() {
    let folders = Folders::new();
    for n in 0..20 {
        folders.write(&format!("r{n}/a.rs"), "fn a() {}\n");
    }
    let daemon = folders.start();
    std::thread::scope(|scope| {
        for n in 0..20 {
            let mut client = daemon.connect();
            let root = folders.path(&format!("r{n}"));
            scope.spawn(move || client.call("workspace.trust", json!({"root": root})));
        }
    });
    let mut client = daemon.connect();
    assert_eq!(client.call("daemon.status", json!({}))["trusted"].as_array().unwrap().len(), 20);
}
