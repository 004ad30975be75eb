//! Staged rewrites: prepared, shown, and accepted onto exactly the bytes that they were made from.

use std::{
    fs,
    path::Path,
    time::{Duration, SystemTime},
};

use ccd_tests::{Client, Folders, Running, eventually, is_error, tree};
use serde_json::{Value, json};

fn fill(folders: &Folders, config: &str) {
    folders.configure(&format!("[edit]\ndurability = \"process\"\n{config}"));
    folders.write("p/a.ts", "old(1);\nold(2);\n");
    folders.write("p/b.ts", "if (x) {\n  old(\n    3,\n  );\n}\n");
    folders.write("p/c.tsx", "const c = <C d={old(4)} />;\n");
    folders.write("p/d.ts", "other(5);\n");
}

fn project(folders: &Folders) -> (Running, Client) {
    fill(folders, "");
    let daemon = folders.start();
    let client = daemon.connect();
    (daemon, client)
}

fn rewrite(root: &Path, more: Value) -> Value {
    let mut params = json!({"workspace": root, "pattern": "old($X)", "rewrite": "fresh($X)", "language": "typescript"});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    params
}

fn accept(stage: &Value, more: Value) -> Value {
    let mut params = json!({"stage_id": stage["stage_id"], "action": "accept"});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    params
}

fn read(path: impl AsRef<Path>) -> String {
    fs::read_to_string(path).unwrap()
}

fn rels(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|file| file["rel"].as_str().unwrap()).collect()
}

#[test]
fn a_rewrite_is_shown_then_written_and_can_be_undone() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders);
    let p = folders.path("p");
    let before = tree(&p);
    client.call("events.subscribe", json!({"topics": ["stage.created"]}));
    let stage = client.call("ast.edit", rewrite(&p, json!({"run_id": "r"})));
    assert_eq!(tree(&p), before, "nothing is written before it is accepted");
    assert_eq!((&stage["sites"], rels(&stage["files"])), (&json!(4), vec!["a.ts", "b.ts", "c.tsx"]), "{stage}");
    assert_eq!((&stage["files"][0]["sites"], &stage["files"][0]["new_parse_errors"]), (&json!(2), &json!(0)));
    assert_eq!((&stage["matches"][2]["rel"], &stage["matches"][2]["line"]), (&json!("b.ts"), &json!(2)));
    let preview = stage["preview"].as_str().unwrap();
    assert!(preview.contains("-old(1);\n-old(2);\n+fresh(1);\n+fresh(2);\n") && stage["truncated"] == false, "{stage}");
    assert_eq!((&stage["run_id"], &stage["nested_skipped"]), (&json!("r"), &json!(0)));
    let event = client.event("stage.created");
    assert_eq!((&event["data"]["stage_id"], &event["data"]["files"]), (&stage["stage_id"], &json!(3)), "{event}");

    let listed = client.call("ast.staged", json!({"workspace": p}));
    assert_eq!((&listed["total"], &listed["stages"][0]["stage_id"]), (&json!(1), &stage["stage_id"]));
    let one = client.call("ast.staged", json!({"stage_id": stage["stage_id"]}));
    assert_eq!(one["stages"][0], stage);
    assert_eq!(client.call("ast.staged", json!({"workspace": "/elsewhere"}))["total"], 0);
    assert_eq!(client.call("daemon.status", json!({}))["stages"][0]["sites"], 4);

    let dry = client.call("ast.resolve", accept(&stage, json!({"dry_run": true})));
    assert_eq!((&dry["applied"], tree(&p)), (&json!(false), before.clone()));
    // The tree is older than the acceptance: what is written has the time of now, or a build would not see it.
    let staged_at = SystemTime::now();
    let done = client.call("ast.resolve", accept(&stage, json!({"run_id": "r", "txn_id": "t-1"})));
    assert_eq!((&done["applied"], rels(&done["files"])), (&json!(true), vec!["a.ts", "b.ts", "c.tsx"]), "{done}");
    assert_eq!(read(p.join("a.ts")), "fresh(1);\nfresh(2);\n");
    assert_eq!(read(p.join("c.tsx")), "const c = <C d={fresh(4)} />;\n");
    assert_eq!((&done["diagnostics"]["state"], &done["txn_id"]), (&json!("unavailable"), &json!("t-1")));
    let written = fs::metadata(p.join("a.ts")).unwrap().modified().unwrap();
    assert!(written + Duration::from_millis(50) >= staged_at, "{written:?} is before {staged_at:?}");
    // The run has seen what it wrote.
    client.call("edit.write", json!({"workspace": p, "path": p.join("d.ts"), "content": "", "run_id": "r", "force": true}));
    client.call("edit.write", json!({"workspace": p, "path": p.join("b.ts"), "content": "x\n", "run_id": "r"}));
    client.call("edit.write", json!({"workspace": p, "path": p.join("b.ts"), "content": "y\n", "run_id": "r"}));
    fs::write(p.join("b.ts"), "if (x) {\n  fresh(\n    3,\n  );\n}\n").unwrap();

    let again = client.call("ast.resolve", accept(&stage, json!({"run_id": "r", "txn_id": "t-1"})));
    assert_eq!((&again["replayed"], &again["diff"]), (&json!(true), &done["diff"]), "the same call is the same answer");
    let error = client.refuse("ast.resolve", accept(&stage, json!({})));
    is_error(&error, "stage_used", 1304);
    assert_eq!((&error["data"]["txn_id"], error["data"]["at"].is_u64()), (&json!("t-1"), true), "{error}");
    assert_eq!(client.call("ast.staged", json!({}))["total"], 0);
}

#[test]
fn an_accepted_stage_is_undone_byte_for_byte() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders);
    let p = folders.path("p");
    let before = tree(&p);
    let stage = client.call("ast.edit", rewrite(&p, json!({})));
    let done = client.call("ast.resolve", accept(&stage, json!({})));
    assert_ne!(tree(&p), before);
    client.call("edit.undo", json!({"workspace": p, "undo_txn_id": done["txn_id"]}));
    assert_eq!(tree(&p), before);
}

#[test]
fn nothing_to_rewrite_stages_nothing() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders);
    let p = folders.path("p");
    let none = client.call("ast.edit", rewrite(&p, json!({"pattern": "absent($X)"})));
    assert_eq!((&none["sites"], &none["files"], none.get("stage_id")), (&json!(0), &json!([]), None), "{none}");
    assert_eq!(client.call("ast.staged", json!({}))["total"], 0);
    let error = client.refuse("ast.edit", rewrite(&p, json!({"rewrite": "fresh($Y)"})));
    is_error(&error, "unbound_metavariable", 1302);
    assert_eq!((&error["data"]["name"], &error["data"]["bound"]), (&json!("Y"), &json!(["X"])));
    let error = client.refuse("ast.edit", rewrite(&p, json!({"relaxed": true})));
    is_error(&error, "invalid_params", -32602);
    assert_eq!(error["data"]["field"], "relaxed");
    let error = client.refuse("ast.edit", rewrite(&p, json!({"rewrite": "fresh($X"})));
    is_error(&error, "result_has_syntax_errors", 1306);
    assert!(error["data"]["path"].is_string() && error["data"]["line"].is_u64() && error["data"]["what"].is_string(), "{error}");
    assert_eq!(client.call("ast.staged", json!({}))["total"], 0);
}

#[test]
fn what_would_tear_code_apart_is_refused_and_nested_matches_are_counted() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders);
    let p = folders.path("p");
    folders.write("p/sum.ts", "old(a + b);\n");
    let only = json!({"paths": [p.join("sum.ts")]});
    let with = |rewritten: &str| rewrite(&p, json!({"paths": only["paths"], "rewrite": rewritten}));
    let error = client.refuse("ast.edit", with("x.$X"));
    is_error(&error, "capture_broken_apart", 1306);
    assert_eq!((&error["data"]["path"], &error["data"]["line"]), (&json!(p.join("sum.ts")), &json!(1)), "{error}");
    let stage = client.call("ast.edit", with("$X * 2"));
    assert!(stage["preview"].as_str().unwrap().contains("+(a + b) * 2;"), "{stage}");

    folders.write("p/sum.ts", "old(old(old(1)));\n");
    let outer = client.call("ast.edit", with("fresh($X)"));
    assert_eq!((&outer["sites"], &outer["nested_skipped"]), (&json!(1), &json!(2)), "{outer}");
    let mut all = with("fresh($X)");
    all["nested"] = json!("recurse");
    let all = client.call("ast.edit", all);
    assert_eq!((&all["sites"], &all["nested_skipped"]), (&json!(3), &json!(0)), "{all}");
    client.call("ast.resolve", accept(&all, json!({})));
    assert_eq!(read(p.join("sum.ts")), "fresh(fresh(fresh(1)));\n");
}

#[test]
fn an_edit_between_staging_and_acceptance_is_refused_also_with_as_many_matches() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders);
    let p = folders.path("p");
    let stage = client.call("ast.edit", rewrite(&p, json!({})));
    let a = read(p.join("a.ts"));
    // As many matches, as many bytes.
    fs::write(p.join("a.ts"), "old(1);\nold(9);\n").unwrap();
    fs::remove_file(p.join("b.ts")).unwrap();
    let before = tree(&p);
    let error = client.refuse("ast.resolve", accept(&stage, json!({"txn_id": "t"})));
    is_error(&error, "content_changed", 1204);
    let told: Vec<(&Value, &Value)> =
        error["data"]["paths"].as_array().unwrap().iter().map(|one| (&one["path"], &one["reason"])).collect();
    let path = |rel: &str| json!(p.join(rel));
    assert_eq!(told, [(&path("a.ts"), &json!("changed")), (&path("b.ts"), &json!("removed"))], "all of them: {error}");
    assert_eq!((&error["data"]["stage"], tree(&p)), (&json!("kept"), before), "{error}");
    // With the bytes back, and as another inode, it is accepted: the bytes count alone.
    fs::write(p.join("a.ts"), a).unwrap();
    fs::write(p.join("b.ts"), "if (x) {\n  old(\n    3,\n  );\n}\n").unwrap();
    client.call("ast.resolve", accept(&stage, json!({"txn_id": "t"})));
    assert_eq!(read(p.join("a.ts")), "fresh(1);\nfresh(2);\n");
}

#[test]
fn of_two_agents_one_writes_and_the_other_is_told() {
    let folders = Folders::new();
    let (daemon, mut client) = project(&folders);
    let p = folders.path("p");
    let mine = client.call("ast.edit", rewrite(&p, json!({"run_id": "one"})));
    let theirs = client.call("ast.edit", rewrite(&p, json!({"run_id": "two", "rewrite": "newer($X)"})));
    let mut other = daemon.connect();
    let error = other.refuse("ast.resolve", accept(&mine, json!({"run_id": "two"})));
    is_error(&error, "stage_unknown", 1304);
    assert_eq!(error["data"]["why"], "other_run");
    let first = client.begin("ast.resolve", accept(&mine, json!({"run_id": "one"})));
    let second = other.begin("ast.resolve", accept(&theirs, json!({"run_id": "two"})));
    let answers = [client.answer(first), other.answer(second)];
    let won = answers.iter().filter(|answer| answer["result"]["applied"] == true).count();
    let told = answers.iter().find(|answer| answer["error"].is_object()).unwrap();
    assert_eq!(won, 1, "{answers:?}");
    is_error(&told["error"], "content_changed", 1204);
    assert_eq!(told["error"]["data"]["paths"].as_array().unwrap().len(), 3, "{told}");
    let text = read(p.join("a.ts"));
    assert!(["fresh(1);\nfresh(2);\n", "newer(1);\nnewer(2);\n"].contains(&text.as_str()), "{text}");

    // One stage, accepted twice at once: it is written once.
    fs::write(p.join("a.ts"), "old(1);\n").unwrap();
    let stage = client.call("ast.edit", rewrite(&p, json!({})));
    let first = client.begin("ast.resolve", accept(&stage, json!({})));
    let second = other.begin("ast.resolve", accept(&stage, json!({})));
    let answers = [client.answer(first), other.answer(second)];
    assert_eq!(answers.iter().filter(|answer| answer["result"]["applied"] == true).count(), 1, "{answers:?}");
    let told = answers.iter().find(|answer| answer["error"].is_object()).unwrap();
    is_error(&told["error"], "stage_used", 1304);
}

#[test]
fn a_write_that_fails_leaves_all_files_and_the_stage() {
    let folders = Folders::new();
    fill(&folders, "");
    let p = folders.path("p");
    for place in ["planned", "staged", "prepared", "checked", "swapped:1", "swapped:2", "swapped:3", "synced"] {
        let daemon = folders.start_with(&[("CCD_FAILPOINT", &format!("{place}:error"))]);
        let mut client = daemon.connect();
        let before = tree(&p);
        let stage = client.call("ast.edit", rewrite(&p, json!({})));
        let error = client.refuse("ast.resolve", accept(&stage, json!({})));
        assert!(["io", "commit_failed"].contains(&error["data"]["kind"].as_str().unwrap()), "{place}: {error}");
        assert_eq!((&error["data"]["rolled_back"], &error["data"]["stage"]), (&json!(true), &json!("kept")), "{place}: {error}");
        assert_eq!(tree(&p), before, "{place}");
        let waiting = client.call("ast.staged", json!({"stage_id": stage["stage_id"]}));
        assert_eq!(waiting["total"], 1, "{place}");
    }
}

#[test]
fn a_stage_is_discarded_expires_and_dies_with_the_daemon() {
    let folders = Folders::new();
    let (mut daemon, mut client) = project(&folders);
    let p = folders.path("p");
    let before = tree(&p);
    let resolve = |stage: &Value, action: &str| json!({"stage_id": stage["stage_id"], "action": action});
    let stage = client.call("ast.edit", rewrite(&p, json!({})));
    assert_eq!(client.call("ast.resolve", resolve(&stage, "discard"))["discarded"], true);
    let error = client.refuse("ast.resolve", resolve(&stage, "accept"));
    is_error(&error, "stage_unknown", 1304);
    assert_eq!(error["data"]["why"], "discarded");

    client.call("events.subscribe", json!({"topics": ["stage.expired"]}));
    let stage = client.call("ast.edit", rewrite(&p, json!({"ttl_s": 1})));
    let event = client.event("stage.expired");
    assert_eq!(event["data"]["stage_id"], stage["stage_id"]);
    for action in ["accept", "preview", "discard"] {
        let error = client.refuse("ast.resolve", resolve(&stage, action));
        is_error(&error, "stage_expired", 1304);
    }
    let error = client.refuse("ast.edit", rewrite(&p, json!({"ttl_s": 0})));
    assert_eq!(error["data"]["field"], "ttl_s");

    let stage = client.call("ast.edit", rewrite(&p, json!({})));
    let error = client.refuse("ast.resolve", json!({"stage_id": "st-none", "action": "accept"}));
    is_error(&error, "stage_unknown", 1304);
    assert_eq!(error["data"]["pending"], json!([stage["stage_id"]]));
    let accepted = client.call("ast.edit", rewrite(&p, json!({"paths": [p.join("c.tsx")]})));
    let call = accept(&accepted, json!({"txn_id": "t-9"}));
    client.call("ast.resolve", call.clone());
    daemon.signal(rustix::process::Signal::KILL);
    daemon.ended();
    let daemon = folders.start();
    let mut client = daemon.connect();
    let error = client.refuse("ast.resolve", resolve(&stage, "accept"));
    is_error(&error, "stage_unknown", 1304);
    assert_eq!(error["data"]["why"], "daemon_restarted");
    assert!(error["message"].as_str().unwrap().contains("restarted"), "{error}");
    // What was accepted is known by its transaction, and the same call is answered.
    let again = eventually("recovery is over", || {
        let id = client.begin("ast.resolve", call.clone());
        let mut answer = client.answer(id);
        answer["result"].is_object().then(|| answer["result"].take())
    });
    assert_eq!((&again["replayed"], &again["txn_id"]), (&json!(true), &json!("t-9")));
    fs::write(p.join("c.tsx"), "const c = <C d={old(4)} />;\n").unwrap();
    assert_eq!(tree(&p), before);
}

#[test]
fn a_full_store_refuses_the_new_stage() {
    let folders = Folders::new();
    fill(&folders, "[stages]\nmib_per_run = 1\n");
    folders.write("p/large.ts", format!("{}old(1);\n", "// a comment that takes room\n".repeat(20_000)));
    let daemon = folders.start();
    let mut client = daemon.connect();
    let p = folders.path("p");
    let large = |run: &str| rewrite(&p, json!({"run_id": run, "paths": [p.join("large.ts")]}));
    let first = client.call("ast.edit", large("r"));
    let error = client.refuse("ast.edit", large("r"));
    is_error(&error, "stage_store_full", 1304);
    assert_eq!(error["data"]["pending"], json!([first["stage_id"]]), "{error}");
    let other = client.call("ast.edit", large("q"));
    assert!(other["stage_id"].is_string(), "another run has room of its own");
    client.call("ast.resolve", json!({"stage_id": first["stage_id"], "action": "discard"}));
    assert!(client.call("ast.edit", large("r"))["stage_id"].is_string());
}

#[test]
fn a_preview_is_paged_and_what_cannot_be_rewritten_is_said() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders);
    let p = folders.path("p");
    let stage = client.call("ast.edit", rewrite(&p, json!({"max_bytes": 60})));
    assert_eq!(stage["truncated"], true);
    assert!(stage["preview"].as_str().unwrap().ends_with('\n') && stage["preview"].as_str().unwrap().len() <= 60, "{stage}");
    let mut ask = json!({"stage_id": stage["stage_id"], "action": "preview"});
    let whole = client.call("ast.resolve", ask.clone());
    ask["max_bytes"] = json!(60);
    let mut pieces = String::new();
    loop {
        let page = client.call("ast.resolve", ask.clone());
        pieces.push_str(page["preview"].as_str().unwrap());
        match page.get("next_cursor") {
            Some(next) => ask["cursor"] = next.clone(),
            None => break,
        }
    }
    assert_eq!(pieces, whole["preview"].as_str().unwrap());
    assert_eq!((&whole["truncated"], &whole["sites"]), (&json!(false), &json!(4)));
    ask["cursor"] = json!("d-1");
    let error = client.refuse("ast.resolve", ask);
    assert_eq!(error["data"]["field"], "cursor");

    let latin = folders.write("p/latin.ts", b"old(\"\xe9\");\n");
    let error = client.refuse("ast.edit", rewrite(&p, json!({})));
    is_error(&error, "not_text", 1104);
    fs::write(&latin, b"other(\"\xe9\");\n").unwrap();
    assert_eq!(client.call("ast.edit", rewrite(&p, json!({})))["sites"], 4, "it holds no match");
    let large = folders.write("p/large.ts", format!("{}old(1);\n", "// filler\n".repeat(900_000)));
    let error = client.refuse("ast.edit", rewrite(&p, json!({})));
    is_error(&error, "too_large", 1104);
    fs::write(&large, "// filler\n".repeat(900_000)).unwrap();
    assert_eq!(client.call("ast.edit", rewrite(&p, json!({})))["sites"], 4, "it holds none");
    folders.write("p/deep.ts", format!("old({}1{});\n", "(".repeat(100_000), ")".repeat(100_000)));
    let error = client.refuse("ast.edit", rewrite(&p, json!({})));
    is_error(&error, "too_deep", 1308);
}
