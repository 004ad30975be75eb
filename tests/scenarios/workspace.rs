//! Roots and paths: what may be opened, what may be read, and what every other path is told.

use ccd_tests::{Folders, Running, is_error};
use serde_json::{Value, json};

fn opened(folders: &Folders) -> (Running, ccd_tests::Client) {
    folders.write("p/a.txt", "one\ntwo\nthree\n");
    let daemon = folders.start();
    let mut client = daemon.connect();
    client.call("workspace.open", json!({"root": folders.path("p"), "index": false}));
    (daemon, client)
}

#[test]
fn a_root_is_opened_listed_and_closed() {
    let folders = Folders::new();
    folders.write("p/a.rs", "fn a() {}\n");
    folders.write("p/b.py", "def b(): pass\n");
    folders.write("p/c.py", "def c(): pass\n");
    let daemon = folders.start();
    let mut client = daemon.connect();
    std::os::unix::fs::symlink(folders.path("p"), folders.path("link")).unwrap();
    let open = client.call("workspace.open", json!({"root": folders.path("link"), "index": false}));
    assert_eq!(open["root"], json!(folders.path("p")), "the root is canonical");
    assert_eq!(open["languages"], json!([{"id": "python", "files": 2}, {"id": "rust", "files": 1}]));
    assert_eq!((&open["trusted"], &open["tools"]), (&json!(false), &json!({})));
    assert_eq!(open["index"], json!({"state": "not_indexed"}));
    client.call("workspace.open", json!({"root": format!("{}/", folders.path("p").display()), "index": false}));
    assert_eq!(client.call("workspace.list", json!({}))["workspaces"].as_array().unwrap().len(), 1);
    let status = client.call("workspace.status", json!({"workspace": folders.path("link")}));
    assert_eq!(status["root"], json!(folders.path("p")));
    assert_eq!(client.call("workspace.close", json!({"workspace": folders.path("p")})), json!({"closed": true}));
    assert_eq!(client.call("workspace.close", json!({"workspace": folders.path("p")})), json!({"closed": false}));
    let error = client.refuse("workspace.status", json!({"workspace": folders.path("p")}));
    is_error(&error, "workspace_unknown", 1101);
    assert_eq!(error["data"]["open"], json!([]));
}

#[test]
fn roots_that_are_no_checkout_are_refused() {
    let folders = Folders::new();
    let (_daemon, mut client) = opened(&folders);
    std::fs::create_dir(folders.path("home")).unwrap();
    for root in [json!("/"), json!(folders.path("home")), json!("/proc"), json!(folders.path("p/a.txt"))] {
        let error = client.refuse("workspace.open", json!({"root": root}));
        is_error(&error, "root_refused", 1105);
        assert!(error["data"]["reason"].is_string() && error["data"]["root"] == root, "{error}");
        is_error(&client.refuse("graph.search", json!({"workspace": root, "query": "x"})), "root_refused", 1105);
    }
    is_error(&client.refuse("workspace.open", json!({"root": "/no/such/folder"})), "not_found", 1103);
    let error = client.refuse("graph.search", json!({"workspace": "/no/such/folder", "query": "x"}));
    is_error(&error, "workspace_unknown", 1101);
    assert_eq!(error["data"]["open"], json!([folders.path("p")]));
    for (root, field) in [("relative", "root"), ("", "root"), ("/a\0b", "root")] {
        let error = client.refuse("workspace.open", json!({"root": root}));
        is_error(&error, "invalid_params", -32602);
        assert_eq!(error["data"]["field"], field);
    }
}

#[test]
fn a_call_without_a_workspace_means_the_longest_that_contains_its_path() {
    let folders = Folders::new();
    let (_daemon, mut client) = opened(&folders);
    folders.write("p/nested/b.txt", "b\n");
    client.call("workspace.open", json!({"root": folders.path("p/nested"), "index": false}));
    let read = client.call("workspace.read", json!({"path": folders.path("p/nested/b.txt")}));
    assert_eq!(read["rel"], "b.txt");
    let named = client.call("workspace.read", json!({"path": folders.path("p/nested/b.txt"), "workspace": folders.path("p")}));
    assert_eq!(named["rel"], "nested/b.txt");
    let error = client.refuse("workspace.read", json!({"path": folders.path("q.txt")}));
    is_error(&error, "workspace_unknown", 1101);
    // A call that names a root which is not open opens it.
    folders.write("r/c.txt", "c\n");
    let read = client.call("workspace.read", json!({"path": folders.path("r/c.txt"), "workspace": folders.path("r")}));
    assert_eq!(read["text"], "c\n");
}

#[test]
fn what_leads_out_of_the_workspace_is_refused() {
    let folders = Folders::new();
    let (_daemon, mut client) = opened(&folders);
    folders.write("secret.txt", "secret\n");
    folders.write("q/b.txt", "b\n");
    client.call("workspace.open", json!({"root": folders.path("q"), "index": false}));
    let p = folders.path("p");
    let link = |name: &str, to: &str| std::os::unix::fs::symlink(to, p.join(name)).unwrap();
    link("out", "../secret.txt");
    link("out_absolute", folders.path("secret.txt").to_str().unwrap());
    link("out_folder", "..");
    link("inside", "a.txt");
    link("inside_absolute", folders.path("p/a.txt").to_str().unwrap());
    let outside = [
        p.join("out"),
        p.join("out_absolute"),
        p.join("out_folder/secret.txt"),
        p.join("../secret.txt"),
        folders.path("secret.txt"),
        folders.path("p-evil/a.txt"),
    ];
    for path in outside {
        let error = client.refuse("workspace.read", json!({"path": path, "workspace": p}));
        is_error(&error, "outside_workspace", 1102);
        assert_eq!(error["data"]["roots"], json!([p]), "{error}");
        assert!(!error.to_string().contains("secret\\n"), "{error}");
    }
    let error = client.refuse("workspace.read", json!({"path": folders.path("q/b.txt"), "workspace": p}));
    is_error(&error, "outside_workspace", 1102);
    assert_eq!(error["data"]["owner"], json!(folders.path("q")));
    for path in ["inside", "inside_absolute"] {
        assert_eq!(client.call("workspace.read", json!({"path": p.join(path)}))["text"], "one\ntwo\nthree\n");
    }
}

#[test]
fn what_is_no_file_is_named() {
    let folders = Folders::new();
    let (_daemon, mut client) = opened(&folders);
    let p = folders.path("p");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        p.join("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    std::os::unix::fs::symlink("loop", p.join("loop")).unwrap();
    let cases = [
        ("fifo", "not_regular", 1209),
        ("loop", "not_regular", 1209),
        ("", "is_directory", 1104),
        ("none.txt", "not_found", 1103),
        ("a.txt/b", "not_found", 1103),
    ];
    for (rel, kind, code) in cases {
        let error = client.refuse("workspace.read", json!({"path": p.join(rel), "workspace": p}));
        is_error(&error, kind, code);
    }
    let long = format!("/{}", "x/".repeat(2100));
    for path in [json!("a.txt"), json!(""), json!("/p\0q"), json!(long)] {
        let error = client.refuse("workspace.read", json!({"path": path, "workspace": p}));
        is_error(&error, "invalid_params", -32602);
        assert_eq!(error["data"]["field"], "path");
    }
}

#[test]
fn lines_are_read_with_their_version() {
    let folders = Folders::new();
    let (_daemon, mut client) = opened(&folders);
    let path = folders.path("p/a.txt");
    let mut read = |more: Value| {
        let mut params = json!({"path": path});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        client.call("workspace.read", params)
    };
    let all = read(json!({}));
    assert_eq!((&all["text"], &all["total_lines"], &all["truncated"]), (&json!("one\ntwo\nthree\n"), &json!(3), &json!(false)));
    assert_eq!((&all["line_ending"], &all["encoding_ok"]), (&json!("lf"), &json!(true)));
    assert!(all["version"].as_str().unwrap().starts_with("b3:"));
    assert_eq!(read(json!({"start_line": 2, "end_line": 2}))["text"], "two\n");
    let cut = read(json!({"max_bytes": 9}));
    assert_eq!((&cut["text"], &cut["truncated"], &cut["version"]), (&json!("one\ntwo\n"), &json!(true), &all["version"]));
    std::fs::write(folders.path("p/a.txt"), b"caf\xe9\r\n").unwrap();
    let other = read(json!({}));
    assert_eq!((&other["text"], &other["encoding_ok"]), (&json!("caf\u{fffd}\r\n"), &json!(false)));
    assert_eq!(other["line_ending"], "crlf");
    assert_ne!(other["version"], all["version"]);
    for wrong in [json!({"start_line": 0}), json!({"start_line": 3, "end_line": 2}), json!({"max_bytes": 0})] {
        let mut params = json!({"path": folders.path("p/a.txt")});
        params.as_object_mut().unwrap().extend(wrong.as_object().unwrap().clone());
        is_error(&client.refuse("workspace.read", params), "invalid_params", -32602);
    }
}

#[test]
fn doctor_looks_at_the_daemon_and_a_workspace() {
    let folders = Folders::new();
    let (_daemon, mut client) = opened(&folders);
    let checks = client.call("daemon.doctor", json!({"workspace": folders.path("p")}));
    let checks = checks["checks"].as_array().unwrap();
    for id in ["runtime_folder", "config", "inotify_watches", "workspace_root", "workspace_watch"] {
        let check = checks.iter().find(|check| check["id"] == id).unwrap_or_else(|| panic!("no {id}"));
        assert!(check["ok"] == true || check["fix"].is_string(), "{check}");
    }
}
