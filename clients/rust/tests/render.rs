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
