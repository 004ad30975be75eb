//! Results as text: what a person and a model read.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

use ccd_client::render::{self, Direction, Options};
use ccd_protocol::{ErrorKind, RpcError};
use expect_test::{Expect, expect};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

fn check<T: DeserializeOwned>(result: Value, text: impl Fn(&T, Options) -> String, expected: &Expect) {
    let result: T = serde_json::from_value(result).unwrap();
    expected.assert_eq(&text(&result, Options::default()));
}

fn symbol(name: &str, line: u32) -> Value {
    let at = |line: u32, column: u32| json!({"line": line, "column": column});
    json!({"id": format!("src/a.rs#{name}"), "name": name, "qualified": format!("a::{name}"), "kind": "function", "language": "rust",
        "path": "/p/src/a.rs", "rel": "src/a.rs", "range": {"start": at(line, 1), "end": at(line + 2, 2)},
        "name_range": {"start": at(line, 8), "end": at(line, 12)}, "signature": format!("pub fn {name}()"), "exported": true})
}

fn edge(from: &str, to: &str, line: u32, distance: u32, confidence: &str) -> Value {
    let end = |name: &str| json!({"id": name, "name": name, "qualified": format!("a::{name}"), "kind": "function", "rel": "src/a.rs", "line": line});
    json!({"from": end(from), "to": end(to), "kind": "calls", "distance": distance, "confidence": confidence,
        "of": if confidence == "candidate" { json!(3) } else { Value::Null },
        "site": {"path": "/p/src/a.rs", "rel": "src/a.rs", "line": line, "column": 5, "text": format!("{to}();")}})
}

fn state(extra: Value) -> Value {
    let mut state = json!({"state": "ready", "generation": 1, "epoch": 0});
    state.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    state
}

#[test]
fn search_is_one_symbol_a_line_with_totals_and_cursor() {
    check(
        state(json!({"symbols": [symbol("load", 3), symbol("reload", 9)], "total": 7, "hidden": 1, "next_cursor": "c1"})),
        render::search,
        &expect![[r#"
            src/a.rs:3:8 function a::load  pub fn load()
            src/a.rs:9:8 function a::reload  pub fn reload()
            2 of 7 symbols
            1 left out: their files are gone
            next page: --cursor c1
        "#]],
    );
}

#[test]
fn an_empty_answer_says_whether_it_can_be_believed() {
    check(state(json!({"symbols": [], "total": 0})), render::search, &expect!["0 symbols\n"]);
    check(
        state(json!({"state": "indexing", "indexing": {"done": 3, "total": 10}, "symbols": [], "total": 0})),
        render::search,
        &expect![[r#"
            0 symbols
            state: indexing, 3 of 10 files; more may come
        "#]],
    );
    check(
        state(json!({"state": "stale", "stale": {"files": 1}, "symbols": [], "total": 0})),
        render::search,
        &expect![[r#"
            0 symbols
            state: stale, 1 file changed or not checked since the index was made
        "#]],
    );
}

#[test]
fn callers_by_distance_and_how_sure() {
    let edges = json!([
        edge("main", "load", 4, 1, "exact"),
        edge("other", "load", 8, 1, "candidate"),
        edge("root", "main", 2, 2, "exact")
    ]);
    check(
        state(json!({"edges": edges, "total": 3})),
        |result, options| render::edges(result, Direction::In, "caller", options),
        &expect![[r#"
            distance 1:
            src/a.rs:4:5 function a::main  (calls, exact)  load();
            src/a.rs:8:5 function a::other  (calls, candidate, one of 3)  load();
            distance 2:
            src/a.rs:2:5 function a::root  (calls, exact)  main();
            3 callers
        "#]],
    );
}

#[test]
fn callees_name_where_they_lead_also_outside() {
    let mut outside = edge("main", "spawn", 5, 1, "external");
    outside["to"] = json!({"name": "spawn", "qualified": "tokio::spawn"});
    check(
        state(json!({"edges": [edge("main", "load", 4, 1, "exact"), outside], "total": 2})),
        |result, options| render::edges(result, Direction::Out, "callee", options),
        &expect![[r#"
            src/a.rs:4:5 a::main -> src/a.rs:4 function a::load  (calls, exact)  load();
            src/a.rs:5:5 a::main -> tokio::spawn  (calls, external)  spawn();
            2 callees
        "#]],
    );
}

#[test]
fn an_outline_is_a_tree() {
    let mut outer = symbol("Config", 1);
    outer["children"] = json!([symbol("load", 2)]);
    check(
        state(
            json!({"rel": "src/a.rs", "version": "b3:1", "symbols": [outer, symbol("main", 9)], "total": 3, "parse_error": true}),
        ),
        render::outline,
        &expect![[r#"
            src/a.rs
              1:8 function Config  pub fn Config()
                2:8 function load  pub fn load()
              9:8 function main  pub fn main()
            3 symbols
            the file has a syntax error: what stands around it is listed
            version b3:1
        "#]],
    );
}

#[test]
fn one_symbol_with_its_source() {
    check(
        state(
            json!({"symbol": symbol("load", 3), "signature": "pub fn load()", "doc": "Loads.", "source": "pub fn load() {\n\tx();\n}\n",
            "callers_count": 1, "callees_count": 0}),
        ),
        render::symbol,
        &expect![[
            "src/a.rs:3:8 function a::load\n  pub fn load()\n  id: src/a.rs#load\n  1 caller, 0 callees\n\nLoads.\n\nsrc/a.rs:3-5\npub fn load() {\n\tx();\n}\n"
        ]],
    );
}

#[test]
fn impact_names_files_and_tests() {
    let level = json!({"distance": 1, "symbols": [edge("main", "load", 4, 1, "exact")["from"]], "via": [edge("main", "load", 4, 1, "exact")]});
    let test = json!({"id": "t", "name": "loads", "qualified": "a::tests::loads", "kind": "test", "rel": "src/a.rs", "line": 40});
    check(
        state(json!({"by_distance": [level], "files": ["src/a.rs"], "tests": [test], "total": 2, "truncated": true})),
        render::impact,
        &expect![[r#"
            distance 1:
              src/a.rs:4 function a::main  calls a::load (exact)
            tests:
              src/a.rs:40 test a::tests::loads
            files:
              src/a.rs
            2 symbols in 1 file, 1 test
            not all are listed: a higher limit, or a lower depth, shows more
        "#]],
    );
}

#[test]
fn no_way_is_told_apart_from_a_search_that_was_cut() {
    check(state(json!({"paths": [], "total": 0, "truncated": false})), render::paths, &expect!["no way over calls\n"]);
    check(
        state(json!({"paths": [], "total": 0, "truncated": true})),
        render::paths,
        &expect!["none found, but the search was cut: a way may exist\n"],
    );
    check(
        state(json!({"paths": [[edge("main", "load", 4, 1, "exact")]], "total": 1, "truncated": false})),
        render::paths,
        &expect![[r#"
            way 1 (1 step):
              src/a.rs:4:5 a::main -> src/a.rs:4 function a::load  (calls, exact)  load();
            1 way
        "#]],
    );
}

#[test]
fn an_ambiguous_name_lists_what_it_may_mean() {
    let error = RpcError::new(ErrorKind::SymbolAmbiguous, "2 symbols are called `load`.")
        .with("candidates", json!([symbol("load", 3), symbol("load", 30)]));
    expect![[r#"
        2 symbols are called `load`.
          src/a.rs:3:8 function a::load  id: src/a.rs#load
          src/a.rs:30:8 function a::load  id: src/a.rs#load
        hint: name one of them by its id, or by path:line
    "#]]
    .assert_eq(&render::error(&error, Options::default()));
    let error = RpcError::new(ErrorKind::Busy, "Too many calls.").with("retry_after_ms", 50).with("closest", json!(["a", "b"]));
    expect![[r#"
        Too many calls.
        hint: closest: a, b
        hint: the same call can succeed later; try again in 50 ms
    "#]]
    .assert_eq(&render::error(&error, Options::default()));
}

#[test]
fn a_long_answer_is_cut_within_the_budget() {
    let symbols: Vec<Value> = (1..=200).map(|line| symbol("load", line)).collect();
    let result: ccd_protocol::graph::SearchResult =
        serde_json::from_value(state(json!({"symbols": symbols, "total": 200}))).unwrap();
    for max_bytes in [1024, 4096, 8192] {
        let text = render::search(&result, Options::with_max_bytes(max_bytes));
        assert!(text.len() <= max_bytes, "{} of {max_bytes}", text.len());
        assert!(text.contains("more lines did not fit") && text.ends_with("200 symbols\n"), "{text}");
    }
}

/// The answer to an edit of two files.
fn edited(extra: Value) -> Value {
    let report = json!({"new": [], "elsewhere": [], "unattributed": [], "fixed": 0, "carried_over": [], "suppressed": 0, "remembered": true,
        "baseline": "unknown", "state": "unavailable", "reason": "no_server", "servers": [], "waited_ms": 0});
    let file = |rel: &str, op: &str| json!({"path": format!("/p/{rel}"), "rel": rel, "op": op, "version": "b3:1", "line_ending": "lf", "added": 1, "removed": 1});
    let mut outcome = json!({"txn_id": "t1", "applied": true, "summary": "Success. Updated the following files:\nA b.rs\nM src/a.rs\n",
        "files": [file("src/a.rs", "update"), file("b.rs", "add")],
        "diff": "--- a/src/a.rs\n+++ b/src/a.rs\n@@ -1 +1 @@\n-\tlet a = 1;\n+\tlet a = 2;\n", "hunks": [], "diagnostics": report,
        "atomic": "exchange", "notes": [], "undo_until": 2_000_000_000});
    outcome.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
    outcome
}

#[test]
fn an_edit_tells_files_deviations_and_diff() {
    let note = json!({"kind": "hardlink_broken", "path": "/p/src/a.rs", "detail": "2 other names keep the old text"});
    check(
        edited(json!({"notes": [note], "atomic": "weak"})),
        render::edit,
        &expect![[r#"
        Success. Updated the following files:
        A b.rs
        M src/a.rs
        note: hardlink_broken src/a.rs: 2 other names keep the old text
        note: this file system cannot exchange files: a write of another program at the same moment may be lost
        --- a/src/a.rs
        +++ b/src/a.rs
        @@ -1 +1 @@
        -	let a = 1;
        +	let a = 2;
        txn t1 (`ccctl undo t1` takes it back)
    "#]],
    );
    check(
        edited(json!({"applied": false, "replayed": true, "diff": ""})),
        render::edit,
        &expect![[r#"
        This was done by an earlier call of the same txn_id; nothing was written now.
        dry run: nothing was written, and this is what would be
        Success. Updated the following files:
        A b.rs
        M src/a.rs
    "#]],
    );
}

#[test]
fn diagnostics_are_told_where_somebody_was_asked_and_survive_a_long_diff() {
    let fault = |rel: &str, line: u32| {
        json!({"rel": rel, "range": {"start": {"line": line, "column": 5}, "end": {"line": line, "column": 9}},
        "severity": "error", "code": "E0308", "source": "rustc", "message": "mismatched types"})
    };
    let report = json!({"new": [fault("src/a.rs", 3)], "elsewhere": [fault("src/c.rs", 8)], "unattributed": [], "fixed": 2, "carried_over": [],
        "suppressed": 0, "remembered": true, "baseline": "known", "state": "settled", "servers": [], "waited_ms": 12});
    let diff: String = (0..1000).map(|n| format!("+line {n}\n")).collect();
    let result = serde_json::from_value(edited(json!({"diagnostics": report, "diff": diff}))).unwrap();
    let text = render::edit(&result, Options::with_max_bytes(2048));
    assert!(text.len() <= 2048, "{}", text.len());
    let end = text.split_once("(cut: ").unwrap().1.split_once('\n').unwrap().1;
    expect![[r#"
        diagnostics: 1 new, 1 new in other files, 2 fixed (settled)
          src/a.rs:3:5 error E0308: mismatched types
        new in other files:
          src/c.rs:8:5 error E0308: mismatched types
        txn t1 (`ccctl undo t1` takes it back)
    "#]]
    .assert_eq(end);
}

#[test]
fn an_outcome_says_what_its_state_means() {
    check(
        json!({"state": "unknown"}),
        render::outcome,
        &expect![[r#"
        unknown: nothing was written under this id, or it is forgotten by now
    "#]],
    );
    check(
        json!({"state": "committed", "outcome": edited(json!({}))}),
        render::outcome,
        &expect![[r#"
        committed
        Success. Updated the following files:
        A b.rs
        M src/a.rs
        --- a/src/a.rs
        +++ b/src/a.rs
        @@ -1 +1 @@
        -	let a = 1;
        +	let a = 2;
        txn t1 (`ccctl undo t1` takes it back)
    "#]],
    );
    check(
        json!({"syntax": "lark", "definition": "start: x\n", "description": "d"}),
        render::grammar,
        &expect![[r#"
        start: x
    "#]],
    );
}

#[test]
fn a_refused_patch_shows_every_failing_hunk_and_how_to_amend_it() {
    let failures = json!([
        {"path": "src/a.rs", "hunk": 2, "patch_line": 9, "matched_prefix": 3, "already_applied": false, "other_candidates": [50, 61],
            "first_difference": {"line": 41, "expected": "\tlet m  = 2; ", "found": "    let m = 2;", "kind": "whitespace"},
            "nearby": {"line": 41, "text": "    let m = 2;"}},
        {"path": "b.rs", "hunk": 3, "patch_line": 14, "matched_prefix": 0, "already_applied": false, "other_candidates": [],
            "first_difference": {"line": 8, "expected": "fn gone() {}", "found": null, "kind": "missing"}},
        {"path": "c.rs", "hunk": 4, "patch_line": 20, "matched_prefix": 0, "already_applied": true, "other_candidates": []},
    ]);
    let error = |failures: &Value| {
        RpcError::new(ErrorKind::ContextNotFound, "Hunks do not match. Nothing was written.")
            .with("failure_id", "f9")
            .with("failures", failures.clone())
    };
    expect![[r#"
        Hunks do not match. Nothing was written.
          src/a.rs hunk 2 (line 9 of the patch):
            first difference (whitespace) at line 41 of the file, after 3 lines that are there
              expected: →let·m··=·2;·
              found:    ····let·m·=·2;
            it may also begin at line 50, 61
          b.rs hunk 3 (line 14 of the patch):
            first difference (missing) at line 8 of the file
              expected: fn gone() {}
              found:    (no such line)
          c.rs hunk 4 (line 20 of the patch):
            already applied: its new lines are in the file
        failure_id f9
        hint: send only these 2 hunks again, corrected: `ccctl amend f9 --hunk 2=FILE ...`
    "#]]
    .assert_eq(&render::error(&error(&failures), Options::default()));
    let text = render::error(&error(&json!([failures[1]])), Options::default());
    assert!(text.ends_with("corrected: `ccctl amend f9 3 <HUNK`\n"), "{text}");
    let text = render::error(&error(&json!([failures[2]])), Options::default());
    assert!(text.contains("already applied") && !text.contains("amend"), "{text}");
    let fault = json!([{"path": "/p/d", "op": "delete", "patch_line": 30, "why": "there is no such file"}]);
    let text = render::error(&error(&failures).with("faults", fault), Options::default());
    assert!(text.contains("  delete /p/d (line 30 of the patch): there is no such file\n") && !text.contains("amend"), "{text}");
}

#[test]
fn other_refusals_of_edits_say_what_helps() {
    let check = |error: RpcError, expected: Expect| expected.assert_eq(&render::error(&error, Options::default()));
    check(
        RpcError::new(ErrorKind::PatchSyntax, "No patch.")
            .with("line", 3)
            .with("excerpt", "*** Upd\tate")
            .with("expected", json!(["@@", "+"])),
        expect![[r#"
            No patch.
              line 3 of the patch: *** Upd→ate
              expected: @@, +
        "#]],
    );
    check(
        RpcError::new(ErrorKind::ContentChanged, "Changed.")
            .with("paths", json!([{"path": "/p/a", "expected": "b3:1", "now": "b3:2", "reason": "changed"}, {"path": "/p/b", "reason": "removed"}])),
        expect![[r#"
            Changed.
              /p/a: changed, now b3:2
              /p/b: removed
        "#]],
    );
    check(
        RpcError::new(ErrorKind::OldTextNotFound, "Not there.").with("nearest", json!({"line": 4, "text": "  a"})),
        expect![[r#"
            Not there.
              nearest, line 4: ··a
        "#]],
    );
    check(
        RpcError::new(ErrorKind::OldTextAmbiguous, "Twice.").with("lines", json!([1, 9])),
        expect![[r#"
        Twice.
          at the lines 1, 9
        hint: give more of the text around it, or `--all` for every one
    "#]],
    );
    check(
        RpcError::new(ErrorKind::UnseenOverwrite, "Not seen.").with("version", "b3:7"),
        expect![[r#"
        Not seen.
        hint: read it first; then `--expect b3:7`, or `--force`
    "#]],
    );
    check(
        RpcError::new(ErrorKind::ProtectedPath, "Protected.").with("allow", "allow_protected"),
        expect![[r#"
        Protected.
        hint: `--allow-protected` writes to it all the same
    "#]],
    );
}

#[test]
fn status_tells_of_edits_that_are_not_settled() {
    check(
        json!({"uptime_s": 5, "build": "0.1.0", "instance": "i", "pid": 7, "retiring": false, "connections": [], "workspaces": [],
            "transactions": [{"root": "/p", "txn_id": "t1", "state": "conflict", "paths": ["/p/a"], "kept": ["/p/.ccd-t1/0"]}],
            "memory": {"rss": 1 << 20, "limit": 2 << 20}, "notices": []}),
        |result, options| render::status(result, "0.1.0", options),
        &expect![[r#"
            ccd 0.1.0 (pid 7), up 5 s
            memory: 1 MiB of 2 MiB
            0 workspaces:
            0 connections:
            1 transaction not settled:
              t1 conflict in /p: /p/a
                kept: /p/.ccd-t1/0
        "#]],
    );
}
