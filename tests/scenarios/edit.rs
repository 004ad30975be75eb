//! Edits over the socket: what is written, what is refused, what is remembered.

use std::{
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::Path,
};

use ccd_tests::{Client, Folders, Running, eventually, is_error};
use serde_json::{Value, json};

fn project(folders: &Folders) -> (Running, Client) {
    folders.configure("[edit]\ndurability = \"process\"\n");
    folders.write("p/a.rs", "fn a() {\n    let n = 1;\n}\n");
    folders.write("p/b.rs", "fn b() {\n    a();\n}\n");
    let daemon = folders.start();
    let client = daemon.connect();
    (daemon, client)
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

fn patch(body: &str) -> String {
    format!("*** Begin Patch\n{body}*** End Patch\n")
}

/// Nothing of ours is left in the workspace, and no journal in the state folder.
fn no_litter(folders: &Folders) {
    let mut pending = vec![folders.path("p")];
    while let Some(folder) = pending.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            assert!(!name.starts_with(".ccd-"), "{} is left behind", path.display());
            if path.symlink_metadata().unwrap().is_dir() {
                pending.push(path);
            }
        }
    }
    let journals = folders.path("state/edits/transactions");
    for entry in fs::read_dir(journals).into_iter().flatten() {
        let name = entry.unwrap().file_name().to_string_lossy().into_owned();
        assert!(![".tmp", ".prep", ".done"].iter().any(|ending| name.ends_with(ending)), "{name} is left behind");
    }
}

#[test]
fn a_patch_over_several_files_is_one_change_and_the_graph_follows() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders);
    let p = folders.path("p");
    client.call("graph.index", json!({"workspace": p}));
    let text = patch(
        "*** Update File: a.rs\n@@ fn a() {\n-    let n = 1;\n+    let n = 2;\n+    c();\n*** Add File: deep/c.rs\n+pub fn c() {}\n*** Delete File: b.rs\n",
    );
    let done = client.call("edit.apply_patch", json!({"workspace": p, "patch": text, "run_id": "r"}));
    assert_eq!(done["applied"], true, "{done}");
    assert_eq!(done["summary"], "Success. Updated the following files:\nA deep/c.rs\nM a.rs\nD b.rs\n");
    assert_eq!(read(p.join("a.rs")), "fn a() {\n    let n = 2;\n    c();\n}\n");
    assert_eq!(read(p.join("deep/c.rs")), "pub fn c() {}\n");
    assert!(fs::symlink_metadata(p.join("b.rs")).is_err());
    let ops: Vec<_> = done["files"].as_array().unwrap().iter().map(|file| (file["rel"].clone(), file["op"].clone())).collect();
    assert_eq!(ops, [(json!("a.rs"), json!("update")), (json!("deep/c.rs"), json!("add")), (json!("b.rs"), json!("delete"))]);
    assert!(done["diff"].as_str().unwrap().contains("-    let n = 1;\n+    let n = 2;\n"), "{done}");
    assert_eq!(done["hunks"].as_array().unwrap().len(), 3);
    assert_eq!(done["hunks"][0]["match_pass"], "exact");
    assert_eq!((&done["diagnostics"]["state"], &done["diagnostics"]["reason"]), (&json!("unavailable"), &json!("disabled")));
    assert_eq!(done["atomic"], "exchange");
    assert_eq!(fs::metadata(p.join("deep/c.rs")).unwrap().permissions().mode() & 0o077, 0o044, "as the user's own tools make it");
    // The graph was told; no event has to be waited for.
    eventually("the new call is in the graph", || {
        let callers = client.call("graph.callers", json!({"workspace": p, "symbol": "a.rs#function:a", "limit": 5}));
        let callees = client.call("graph.callees", json!({"workspace": p, "symbol": "a.rs#function:a", "limit": 5}));
        let gone = callers["edges"].as_array().unwrap().is_empty();
        (gone && callees["edges"].as_array().unwrap().iter().any(|edge| edge["to"]["name"] == "c")).then_some(())
    });
    no_litter(&folders);
}

#[test]
fn a_refused_patch_changes_nothing_and_can_be_amended() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders);
    let p = folders.path("p");
    let text = patch(
        "*** Update File: b.rs\n@@\n-    a();\n+    a(1);\n*** Update File: a.rs\n@@\n-    let n = 9;\n+    let n = 3;\n@@\n-nowhere\n+x\n",
    );
    let error = client.refuse("edit.apply_patch", json!({"workspace": p, "patch": text, "run_id": "r"}));
    is_error(&error, "context_not_found", 1202);
    let failures = error["data"]["failures"].as_array().unwrap();
    assert_eq!(failures.iter().map(|failure| failure["hunk"].as_u64().unwrap()).collect::<Vec<_>>(), [2, 3], "{error}");
    let difference = &failures[0]["first_difference"];
    assert_eq!((&difference["line"], &difference["found"]), (&json!(2), &json!("    let n = 1;")), "{error}");
    assert!(error.to_string().len() < 6000);
    assert_eq!(read(p.join("b.rs")), "fn b() {\n    a();\n}\n", "nothing of it was written");
    let amend = json!({
        "workspace": p, "run_id": "r", "failure_id": error["data"]["failure_id"],
        "hunks": [{"index": 2, "text": "-    let n = 1;\n+    let n = 3;\n"}, {"index": 3, "text": " }\n+// end\n"}],
    });
    let done = client.call("edit.amend", amend.clone());
    assert_eq!(done["applied"], true);
    assert_eq!(read(p.join("a.rs")), "fn a() {\n    let n = 3;\n}\n// end\n");
    assert_eq!(read(p.join("b.rs")), "fn b() {\n    a(1);\n}\n");
    let error = client.refuse("edit.amend", amend);
    is_error(&error, "failure_unknown", 1213);
    let error = client.refuse("edit.apply_patch", json!({"workspace": p, "patch": text}));
    assert_eq!(error["data"]["failures"][0]["hunk"], 1, "the first hunk is there already: {error}");
    assert_eq!(error["data"]["failures"][0]["already_applied"], true, "{error}");
    let error = client.refuse("edit.apply_patch", json!({"workspace": p, "patch": "nonsense"}));
    is_error(&error, "patch_syntax", 1201);
    no_litter(&folders);
}

#[test]
fn the_same_id_applies_once_also_across_a_kill() {
    let folders = Folders::new();
    let (mut daemon, mut client) = project(&folders);
    let p = folders.path("p");
    let text = patch("*** Update File: a.rs\n@@\n-    let n = 1;\n+    let n = 2;\n");
    let call = json!({"workspace": p, "patch": text, "txn_id": "t-1"});
    eventually("recovery is over, and knows nothing of it", || {
        (client.call("edit.outcome", json!({"txn_id": "t-1"}))["state"] == "unknown").then_some(())
    });
    let first = client.call("edit.apply_patch", call.clone());
    assert_eq!((&first["txn_id"], first.get("replayed")), (&json!("t-1"), None));
    let again = client.call("edit.apply_patch", call.clone());
    assert_eq!((&again["replayed"], &again["diff"]), (&json!(true), &first["diff"]));
    daemon.signal(rustix::process::Signal::KILL);
    daemon.ended();
    let daemon = folders.start();
    let mut client = daemon.connect();
    let known = eventually("recovery is over", || {
        let known = client.call("edit.outcome", json!({"txn_id": "t-1"}));
        (known["state"] != "recovery_pending").then_some(known)
    });
    assert_eq!((&known["state"], &known["outcome"]["diff"]), (&json!("committed"), &first["diff"]));
    assert_eq!(client.call("edit.apply_patch", call)["replayed"], true);
    let error = client.refuse("edit.write", json!({"workspace": p, "path": p.join("x"), "content": "", "txn_id": "t-1"}));
    is_error(&error, "txn_id_reused", 1212);
    let undone = client.call("edit.undo", json!({"workspace": p, "undo_txn_id": "t-1"}));
    assert_eq!(read(p.join("a.rs")), "fn a() {\n    let n = 1;\n}\n", "{undone}");
    let error = client.refuse("edit.undo", json!({"workspace": p, "undo_txn_id": "t-1"}));
    is_error(&error, "undo_unknown", 1213);
    let redone = client.call("edit.undo", json!({"workspace": p, "undo_txn_id": undone["txn_id"]}));
    assert_eq!(redone["applied"], true);
    assert_eq!(read(p.join("a.rs")), "fn a() {\n    let n = 2;\n}\n", "an undo can be undone");
    no_litter(&folders);
}

#[test]
fn a_file_is_overwritten_only_by_who_has_seen_it() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders);
    let p = folders.path("p");
    let write = |content: &str, more: Value| {
        let mut params = json!({"path": p.join("a.rs"), "workspace": p, "content": content});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        params
    };
    let error = client.refuse("edit.write", write("x\n", json!({"run_id": "r"})));
    is_error(&error, "unseen_overwrite", 1208);
    let seen = client.call("workspace.read", json!({"path": p.join("a.rs"), "run_id": "r"}));
    assert_eq!(error["data"]["version"], seen["version"]);
    assert_eq!(client.call("edit.write", write("x\n", json!({"run_id": "r"})))["files"][0]["op"], "update");
    assert_eq!(client.call("edit.write", write("y\n", json!({"run_id": "r"})))["applied"], true, "a run has seen what it wrote");
    fs::write(p.join("a.rs"), "somebody else\n").unwrap();
    let error = client.refuse("edit.write", write("z\n", json!({"run_id": "r"})));
    is_error(&error, "content_changed", 1204);
    assert_eq!(error["data"]["paths"][0]["reason"], "changed");
    let error = client.refuse("edit.write", write("z\n", json!({"expect_version": seen["version"]})));
    is_error(&error, "content_changed", 1204);
    assert_eq!(client.call("edit.write", write("z\n", json!({"force": true})))["applied"], true);
    let same = client.call("edit.write", write("z\n", json!({"run_id": "q", "force": true})));
    assert_eq!((&same["files"], &same["notes"][0]["kind"]), (&json!([]), &json!("no_change")));
    let dry = client.call("edit.write", write("dry\n", json!({"force": true, "dry_run": true})));
    assert_eq!((&dry["applied"], &dry["files"][0]["op"]), (&json!(false), &json!("update")));
    assert_eq!(read(p.join("a.rs")), "z\n");
    let error = client.refuse("edit.write", write("q\n", json!({"force": true, "overwrite": false})));
    is_error(&error, "content_changed", 1204);
    let error = client.refuse("edit.write", json!({"workspace": p, "path": p.join("none"), "content": "", "create": false}));
    is_error(&error, "not_found", 1103);
    no_litter(&folders);
}

#[test]
fn replacements_say_what_they_cannot_find() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders);
    let p = folders.path("p");
    let a = p.join("a.rs");
    let done = client.call("edit.edit", json!({"path": a, "workspace": p, "edits": [{"old": "let n = 1", "new": "let m = 2"}]}));
    assert_eq!(read(&a), "fn a() {\n    let m = 2;\n}\n", "{done}");
    let error = client.refuse("edit.edit", json!({"path": a, "edits": [{"old": "let  n = 2", "new": ""}]}));
    is_error(&error, "old_text_not_found", 1207);
    let error = client.refuse("edit.edit", json!({"path": a, "edits": [{"old": "a", "new": ""}, {"old": "zzz", "new": ""}]}));
    is_error(&error, "old_text_not_found", 1207);
    assert_eq!(error["data"]["edit"], 2, "the file was not touched: {error}");
    let error = client.refuse("edit.edit", json!({"path": a, "edits": [{"old": "\n", "new": ""}]}));
    is_error(&error, "old_text_ambiguous", 1207);
    assert_eq!(error["data"]["count"], 3);
    let range = json!({"start": {"line": 2, "column": 5}, "end": {"line": 2, "column": 8}});
    client.call("edit.edit", json!({"path": a, "edits": [{"range": range, "new": "const"}]}));
    assert_eq!(read(&a), "fn a() {\n    const m = 2;\n}\n");
    let error = client.refuse("edit.edit", json!({"path": a, "edits": []}));
    is_error(&error, "invalid_params", -32602);
}

#[test]
fn what_must_not_be_touched_is_not() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders);
    let p = folders.path("p");
    let outside = folders.write("outside.txt", "secret\n");
    symlink(&outside, p.join("out")).unwrap();
    symlink("a.rs", p.join("link.rs")).unwrap();
    fs::create_dir(p.join("folder")).unwrap();
    fs::create_dir(p.join(".git")).unwrap();
    let fifo = p.join("pipe");
    assert!(std::process::Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut refuse = |body: &str, kind: &str, code: i64| {
        let error = client.refuse("edit.apply_patch", json!({"workspace": p, "patch": patch(body)}));
        is_error(&error, kind, code);
        error
    };
    refuse("*** Add File: ../evil\n+x\n", "outside_workspace", 1102);
    refuse("*** Update File: out\n@@\n-secret\n+x\n", "outside_workspace", 1102);
    refuse("*** Add File: .git/hooks/pre-commit\n+x\n", "protected_path", 1211);
    refuse("*** Add File: .ccd-tx/x\n+x\n", "protected_path", 1211);
    refuse("*** Delete File: folder\n", "is_directory", 1104);
    refuse("*** Delete File: pipe\n", "not_regular", 1209);
    refuse("*** Update File: pipe\n@@\n-a\n+b\n", "not_regular", 1209);
    refuse("*** Delete File: none.rs\n", "not_found", 1103);
    refuse("*** Add File: a.rs/below\n+x\n", "not_found", 1103);
    // A link is kept, and its target changed; deleting it leaves the target.
    client.call(
        "edit.apply_patch",
        json!({"workspace": p, "patch": patch("*** Update File: link.rs\n@@\n-    let n = 1;\n+    let n = 5;\n")}),
    );
    assert_eq!(read(p.join("a.rs")), "fn a() {\n    let n = 5;\n}\n");
    assert!(fs::symlink_metadata(p.join("link.rs")).unwrap().is_symlink());
    client.call("edit.apply_patch", json!({"workspace": p, "patch": patch("*** Delete File: link.rs\n*** Delete File: out\n")}));
    assert!(fs::symlink_metadata(p.join("link.rs")).is_err());
    assert_eq!((read(p.join("a.rs")).len() > 1, read(&outside)), (true, "secret\n".to_owned()));
    let allowed = json!({"workspace": p, "patch": patch("*** Add File: .git/info/exclude\n+x\n"), "allow_protected": true});
    client.call("edit.apply_patch", allowed);
    assert_eq!(read(p.join(".git/info/exclude")), "x\n");
    no_litter(&folders);
}

#[test]
fn modes_and_line_endings_are_kept() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders);
    let p = folders.path("p");
    fs::write(p.join("run.sh"), "#!/bin/sh\r\necho a\r\n").unwrap();
    fs::set_permissions(p.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let done = client.call(
        "edit.apply_patch",
        json!({"workspace": p, "patch": patch("*** Update File: run.sh\n*** Move to: bin/go.sh\n@@\n-echo a\n+echo b\n+echo c\n")}),
    );
    assert_eq!(fs::read(p.join("bin/go.sh")).unwrap(), b"#!/bin/sh\r\necho b\r\necho c\r\n");
    assert_eq!(fs::metadata(p.join("bin/go.sh")).unwrap().permissions().mode() & 0o777, 0o755);
    let file = &done["files"][0];
    assert_eq!((&file["op"], &file["line_ending"], &file["from"]), (&json!("move"), &json!("crlf"), &json!(p.join("run.sh"))));
    fs::set_permissions(p.join("a.rs"), fs::Permissions::from_mode(0o444)).unwrap();
    let text = patch("*** Update File: a.rs\n@@\n-    let n = 1;\n+    let n = 2;\n");
    let error = client.refuse("edit.apply_patch", json!({"workspace": p, "patch": text}));
    is_error(&error, "read_only", 1209);
    client.call("edit.apply_patch", json!({"workspace": p, "patch": text, "override_readonly": true}));
    assert_eq!(fs::metadata(p.join("a.rs")).unwrap().permissions().mode() & 0o777, 0o444);
}

#[test]
fn edits_of_one_file_from_many_agents_all_arrive() {
    let folders = Folders::new();
    let (daemon, mut client) = project(&folders);
    let p = folders.path("p");
    let lines: String = (0..40).map(|n| format!("line {n}\n")).collect();
    fs::write(p.join("shared.txt"), lines).unwrap();
    std::thread::scope(|scope| {
        for n in 0..40 {
            let (p, mut client) = (&p, daemon.connect());
            scope.spawn(move || {
                let text = patch(&format!("*** Update File: shared.txt\n@@\n-line {n}\n+done {n}\n"));
                let done = client.call("edit.apply_patch", json!({"workspace": p, "patch": text}));
                assert_eq!(done["applied"], true, "{done}");
            });
        }
    });
    let text = read(p.join("shared.txt"));
    assert!((0..40).all(|n| text.contains(&format!("done {n}\n"))) && !text.contains("line "), "{text}");
    let grammar = client.call("edit.grammar", json!({}));
    assert!(grammar["syntax"] == "lark" && grammar["definition"].as_str().unwrap().contains("Begin Patch"));
    no_litter(&folders);
}

#[test]
fn a_root_has_settings_of_its_own() {
    let folders = Folders::new();
    let (p, q) = (folders.path("p"), folders.path("q"));
    folders.configure(&format!(
        "[edit]\ndurability = \"process\"\n[roots.\"{}\".edit]\nwrite_mode = \"in_place\"\nprotected = [\"*.lock\"]\n",
        p.display()
    ));
    folders.write("p/a.txt", "old\n");
    folders.write("q/a.txt", "old\n");
    let daemon = folders.start();
    let mut client = daemon.connect();
    let text = patch("*** Update File: a.txt\n@@\n-old\n+new\n");
    let own = client.call("edit.apply_patch", json!({"workspace": p, "patch": text}));
    let other = client.call("edit.apply_patch", json!({"workspace": q, "patch": text}));
    assert_eq!((&own["atomic"], &other["atomic"]), (&json!("journaled_in_place"), &json!("exchange")));
    let text = patch("*** Add File: x.lock\n+new\n");
    let error = client.refuse("edit.apply_patch", json!({"workspace": p, "patch": text}));
    assert_eq!(error["data"]["kind"], "protected_path", "{error}");
    assert_eq!(client.call("edit.apply_patch", json!({"workspace": q, "patch": text}))["applied"], true);
}

#[test]
fn a_granted_folder_is_the_one_at_its_path() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders);
    let (p, q) = (folders.path("p"), folders.path("q"));
    folders.write("q/a.txt", "old\n");
    let text = patch(&format!("*** Update File: {}\n@@\n-old\n+new\n", q.join("a.txt").display()));
    client.call("workspace.open", json!({"root": p, "index": false}));
    let error = client.refuse("edit.apply_patch", json!({"workspace": p, "patch": text}));
    assert_eq!(error["data"]["kind"], "outside_workspace", "{error}");
    client.call("workspace.open", json!({"root": p, "index": false, "grants": [q]}));
    assert_eq!(client.call("edit.apply_patch", json!({"workspace": p, "patch": text}))["applied"], true);
    fs::rename(&q, folders.path("moved")).unwrap();
    let error = client.refuse("edit.apply_patch", json!({"workspace": p, "patch": text}));
    assert_eq!(error["data"]["kind"], "outside_workspace", "nothing is granted where nothing is: {error}");
    folders.write("q/a.txt", "old\n");
    assert_eq!(client.call("edit.apply_patch", json!({"workspace": p, "patch": text}))["applied"], true);
    assert_eq!(read(q.join("a.txt")), "new\n");
    assert_eq!(read(folders.path("moved/a.txt")), "new\n");
}

#[test]
fn a_root_is_reached_through_links_and_our_own_folders_are_not() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders);
    let p = folders.path("p");
    let link = folders.path("link");
    symlink(&p, &link).unwrap();
    let at = link.join("a.rs");
    let version = client.call("workspace.read", json!({"workspace": link, "path": at}))["version"].clone();
    let write = |text: &str, version: &Value| json!({"workspace": link, "path": at, "content": text, "expect_version": version});
    let done = client.call("edit.write", write("fn new() {}\n", &version));
    assert_eq!(done["files"][0]["path"], json!(p.join("a.rs")));
    let error = client.refuse("edit.write", write("fn other() {}\n", &version));
    is_error(&error, "content_changed", 1204);
    let text = patch("*** Update File: a.rs\n@@\n-fn new() {}\n+fn newer() {}\n");
    assert_eq!(client.call("edit.apply_patch", json!({"workspace": link, "cwd": link, "patch": text}))["applied"], true);
    assert_eq!(read(p.join("a.rs")), "fn newer() {}\n");

    let config = folders.path("config");
    client.call("workspace.open", json!({"root": config, "index": false}));
    let write =
        json!({"workspace": config, "path": config.join("config.toml"), "content": "", "force": true, "allow_protected": true});
    let error = client.refuse("edit.write", write);
    is_error(&error, "protected_path", 1211);

    let text = patch("*** Add File: .envrc\n+export A=1\n");
    let made = client.call("edit.apply_patch", json!({"workspace": p, "patch": text, "allow_protected": true}));
    let undo = json!({"workspace": p, "undo_txn_id": made["txn_id"]});
    is_error(&client.refuse("edit.undo", undo.clone()), "protected_path", 1211);
    let mut allowed = undo;
    allowed["allow_protected"] = json!(true);
    assert_eq!(client.call("edit.undo", allowed)["applied"], true);
    assert!(!p.join(".envrc").try_exists().unwrap());
}

#[test]
fn a_deadline_ends_the_search_for_hunks() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders);
    let p = folders.path("p");
    folders.write("p/long.txt", (0..100_000).map(|n| format!("line {n}\n")).collect::<String>());
    let hunks: String = (0..10_000).map(|n| format!("@@\n-not {n}\n+new\n")).collect();
    let text = patch(&format!("*** Update File: long.txt\n{hunks}"));
    let begun = std::time::Instant::now();
    let error = client.refuse("edit.apply_patch", json!({"workspace": p, "patch": text, "deadline_ms": 500}));
    let took = begun.elapsed();
    println!("a deadline of 500 ms: {took:?}");
    is_error(&error, "deadline_exceeded", 1004);
    assert!(took.as_millis() < 5 * 500, "{took:?}");
    // The worker is free again, too.
    let begun = std::time::Instant::now();
    let small = patch("*** Update File: a.rs\n@@\n-    let n = 1;\n+    let n = 2;\n");
    assert_eq!(client.call("edit.apply_patch", json!({"workspace": p, "patch": small}))["applied"], true);
    assert!(begun.elapsed().as_secs() < 5);
}

#[test]
fn an_edit_that_was_sent_is_never_told_as_unknown() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders);
    let p = folders.path("p");
    eventually("recovery is over", || (client.call("edit.outcome", json!({"txn_id": "x"}))["state"] == "unknown").then_some(()));
    for n in 1..60 {
        let text = patch(&format!("*** Update File: a.rs\n@@\n-    let n = {n};\n+    let n = {};\n", n + 1));
        let edit = client.begin("edit.apply_patch", json!({"workspace": p, "patch": text, "txn_id": format!("t{n}")}));
        let state = client.call("edit.outcome", json!({"txn_id": format!("t{n}")}))["state"].clone();
        assert!(state == "preparing" || state == "committed", "{state}");
        assert_eq!(client.answer(edit)["result"]["applied"], true);
        assert_eq!(client.call("edit.outcome", json!({"txn_id": format!("t{n}")}))["state"], "committed");
    }
}
