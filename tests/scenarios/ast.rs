//! Structural search over the socket: what is found, how it is read, what was not searched, pages.

use std::{
    fs,
    time::{Duration, Instant},
};

use ccd_tests::{Client, Folders, Running, eventually, is_error};
use serde_json::{Value, json};

fn project(folders: &Folders, files: &[(&str, &str)]) -> (Running, Client) {
    folders.configure("[edit]\ndurability = \"process\"\n");
    for (rel, text) in files {
        folders.write(&format!("p/{rel}"), text);
    }
    let daemon = folders.start();
    let client = daemon.connect();
    (daemon, client)
}

/// `rel:line` of each match.
fn places(result: &Value) -> Vec<String> {
    let place = |found: &Value| format!("{}:{}", found["rel"].as_str().unwrap(), found["range"]["start"]["line"]);
    result["matches"].as_array().unwrap().iter().map(place).collect()
}

const GUARD: &str = "class A {\n  end(): void {\n    if (this.x != null) this.x.dispose();\n    if (this.x != null) this.y.dispose();\n    \
                     if (this.x\n        != null) this.x . dispose();\n    log(\"if (a != null) a.dispose()\"); // if (a != null) a.dispose()\n  }\n}\n";

#[test]
fn shapes_are_found_and_not_texts() {
    let folders = Folders::new();
    let files = [("a.ts", GUARD), ("b.tsx", "const é = <A b={dispose(x)} />; dispose(y);\n"), ("c.go", "package p\n")];
    let (_daemon, mut client) = project(&folders, &files);
    let p = folders.path("p");
    let pattern = "if ($X != null) $X.dispose()";
    let found = client.call("ast.grep", json!({"workspace": p, "pattern": pattern, "language": "typescript"}));
    assert_eq!(places(&found), ["a.ts:3", "a.ts:5"], "{found}");
    assert_eq!((&found["total"], &found["files_matched"], &found["files_searched"]), (&json!(2), &json!(1), &json!(2)));
    assert_eq!(found["matches"][0]["captures"]["X"]["text"], "this.x");
    assert_eq!(found["matches"][0]["path"].as_str(), p.join("a.ts").to_str());
    assert_eq!((&found["complete"], found.get("next_cursor"), found.get("tree")), (&json!(true), None, None), "{found}");
    let searched: Vec<&Value> =
        found["readings"].as_array().unwrap().iter().filter(|reading| reading["searched"] == true).collect();
    assert_eq!(searched.len(), 1, "both grammars read it alike: {found}");
    assert_eq!((&searched[0]["total"], &searched[0]["reading"]), (&json!(2), &found["matches"][0]["reading"]));

    // Both kinds of files, each with its grammar; columns are characters.
    let both = client.call("ast.grep", json!({"workspace": p, "pattern": "dispose($X)", "language": "typescript"}));
    assert_eq!(places(&both), ["b.tsx:1", "b.tsx:1"], "{both}");
    assert_eq!(both["matches"][1]["range"]["start"]["column"], 33, "{both}");
    let tsx = client.call("ast.grep", json!({"workspace": p, "pattern": "dispose($X)", "language": "tsx"}));
    assert_eq!((&tsx["total"], &tsx["files_searched"]), (&json!(2), &json!(1)));
    // The language follows from an extension.
    let by_glob = client.call("ast.grep", json!({"workspace": p, "pattern": "dispose($X)", "path_glob": "**/*.tsx"}));
    assert_eq!(by_glob["matches"], tsx["matches"]);
    let by_path = client.call("ast.grep", json!({"pattern": "dispose($X)", "paths": [p.join("b.tsx")]}));
    assert_eq!(by_path["matches"], tsx["matches"]);
    let runs = client.call("ast.grep", json!({"workspace": p, "pattern": "$F($$$A)", "language": "tsx"}));
    assert_eq!(runs["matches"][0]["multi"]["A"], json!({"text": "x", "items": ["x"]}), "{runs}");
    let kinds = client.call("ast.grep", json!({"workspace": p, "kind": "method_definition", "language": "typescript"}));
    assert_eq!(
        (places(&kinds), &kinds["readings"], kinds["matches"][0].get("reading")),
        (vec!["a.ts:2".to_owned()], &json!([]), None)
    );
}

#[test]
fn a_header_is_of_c_and_of_cpp() {
    let folders = Folders::new();
    let plain = "int f(void) { return dispose(1); }\n";
    let classes = "class A {\npublic:\n  int f() { return dispose(2); }\n};\n";
    let files = [
        ("a.c", plain),
        ("plain.h", plain),
        ("classes.h", classes),
        ("b.cpp", classes),
        ("C.java", "class C { int f() { return dispose(3); } }\n"),
    ];
    let (_daemon, mut client) = project(&folders, &files);
    let mut found = |language: &str| {
        let ask = json!({"workspace": folders.path("p"), "pattern": "dispose($X)", "language": language});
        places(&client.call("ast.grep", ask))
    };
    assert_eq!(found("c"), ["a.c:1", "plain.h:1"]);
    assert_eq!(found("cpp"), ["b.cpp:3", "classes.h:3", "plain.h:1"]);
    assert_eq!(found("java"), ["C.java:1"]);
}

#[test]
fn a_long_text_is_cut_and_its_range_is_not() {
    let folders = Folders::new();
    let text = format!("function f() {{\n{}}}\n", "  call(\"é\");\n".repeat(1000));
    let (_daemon, mut client) = project(&folders, &[("a.js", &text)]);
    let found = client.call(
        "ast.grep",
        json!({"workspace": folders.path("p"), "pattern": "function f() { $$$BODY }", "language": "javascript"}),
    );
    let found = &found["matches"][0];
    let shown = found["text"].as_str().unwrap();
    assert!(shown.ends_with('…') && shown.len() <= 4096, "{}", shown.len());
    assert!(text.starts_with(shown.trim_end_matches('…')));
    assert_eq!(found["range"]["end"], json!({"line": 1002, "column": 2}));
    assert!(found["multi"]["BODY"]["text"].as_str().unwrap().ends_with('…'));
    assert_eq!(found["multi"]["BODY"]["items"].as_array().unwrap().len(), 1000);
}

#[test]
fn filters_narrow_what_is_found() {
    let folders = Folders::new();
    let text = "fn one() {\n    log(1);\n    log(22);\n}\nfn two() {\n    log(3);\n    stop();\n}\n";
    let (_daemon, mut client) = project(&folders, &[("a.rs", text)]);
    let p = folders.path("p");
    let mut lines = |more: Value| {
        let mut params = json!({"workspace": p, "pattern": "log($X)", "language": "rust"});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        places(&client.call("ast.grep", params))
    };
    assert_eq!(lines(json!({})), ["a.rs:2", "a.rs:3", "a.rs:6"]);
    assert_eq!(lines(json!({"where": {"X": {"regex": "^..$"}}})), ["a.rs:3"]);
    assert_eq!(lines(json!({"where": {"X": {"not": {"equals": "3"}}}})), ["a.rs:2", "a.rs:3"]);
    assert_eq!(lines(json!({"inside": {"pattern": "fn two() { $$$ }", "stop": "end"}})), ["a.rs:6"]);
    assert_eq!(
        lines(json!({"inside": {"kind": "function_item", "stop": "end", "has": {"pattern": "stop()", "stop": "end"}}})),
        ["a.rs:6"]
    );
    assert_eq!(lines(json!({"inside": {"kind": "function_item", "stop": {"kind": "block"}}})), [""; 0]);
    assert_eq!(lines(json!({"not": {"inside": {"pattern": "fn two() { $$$ }", "stop": "end"}}})), ["a.rs:2", "a.rs:3"]);
}

#[test]
fn what_is_wrong_with_a_question_is_said_before_a_file_is_read() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders, &[("a.rs", "fn a() {}\n"), ("b.ts", "b();\n")]);
    let p = folders.path("p");
    let mut refuse = |params: Value, kind: &str, code: i64| {
        let error = client.refuse("ast.grep", params);
        is_error(&error, kind, code);
        error
    };
    let error = refuse(json!({"workspace": p, "pattern": "class { {", "language": "typescript"}), "pattern_unparsable", 1301);
    let attempts = error["data"]["attempts"].as_array().unwrap();
    assert!(attempts.len() > 2 && attempts.iter().all(|attempt| attempt["reason"].is_string()), "{error}");
    assert!(error["data"]["tree"].is_string(), "{error}");
    // Also where the root is none: nothing is opened for it.
    refuse(json!({"workspace": "/nowhere", "pattern": "f(", "language": "rust"}), "pattern_unparsable", 1301);
    let error = refuse(json!({"workspace": p, "pattern": "f()", "language": "cobol"}), "language_unsupported", 1303);
    assert!(error["data"]["supported"].as_array().unwrap().contains(&json!("rust")));
    let error = refuse(json!({"workspace": p, "kind": "function_itm", "language": "rust"}), "bad_selector", 1309);
    assert_eq!(error["data"]["kinds"][0], "function_item", "{error}");
    for (field, params) in [
        ("language", json!({"workspace": p, "pattern": "f()"})),
        ("language", json!({"workspace": p, "pattern": "f()", "paths": [p.join("a.rs"), p.join("b.ts")]})),
        ("pattern", json!({"workspace": p, "language": "rust"})),
        ("pattern", json!({"workspace": p, "language": "rust", "pattern": " "})),
        ("kind", json!({"workspace": p, "language": "rust", "pattern": "f()", "kind": "block"})),
        ("selector", json!({"workspace": p, "language": "rust", "context": "f()"})),
        ("path_glob", json!({"workspace": p, "language": "rust", "pattern": "f()", "path_glob": "{"})),
        ("paths", json!({"workspace": p, "language": "rust", "pattern": "f()", "paths": []})),
        ("limit", json!({"workspace": p, "language": "rust", "pattern": "f()", "limit": 0})),
        ("cursor", json!({"workspace": p, "language": "rust", "pattern": "f()", "cursor": "x"})),
        ("patern", json!({"workspace": p, "language": "rust", "patern": "f()"})),
        ("inside.stop", json!({"workspace": p, "language": "rust", "pattern": "f()", "inside": {"kind": "block", "stop": "x"}})),
    ] {
        let error = refuse(params.clone(), "invalid_params", -32602);
        assert!(error["data"]["field"].as_str().unwrap().starts_with(field), "{params}: {error}");
    }
    refuse(json!({"workspace": p, "pattern": "f()", "paths": [p.join("none.rs")]}), "not_found", 1103);
    refuse(json!({"workspace": p, "pattern": "f()", "paths": ["/etc/x.rs"]}), "outside_workspace", 1102);
}

#[test]
fn nothing_found_says_how_the_pattern_was_read_and_how_else() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders, &[("a.ts", "const a = { type: 1, other: 2 };\nconst b = { type: 3 };\n")]);
    let p = folders.path("p");
    let ask = json!({"workspace": p, "pattern": "type: $V", "language": "typescript"});
    let found = client.call("ast.grep", ask.clone());
    assert_eq!(found["total"], 0, "{found}");
    assert!(found["tree"].is_string(), "{found}");
    let readings = found["readings"].as_array().unwrap();
    let pair = readings.iter().find(|reading| reading["kind"] == "pair").unwrap();
    assert_eq!((&pair["total"], &pair["searched"]), (&json!(2), &json!(false)), "{found}");
    assert!(found["hints"].as_array().unwrap().iter().any(|hint| hint.as_str().unwrap().contains("2 as pair")), "{found}");
    let mut again = ask;
    again["reading"] = pair["reading"].clone();
    assert_eq!(client.call("ast.grep", again)["total"], 2);
    let explained = client.call("ast.explain", json!({"pattern": "type: $V", "language": "typescript"}));
    assert!(
        explained["attempts"]
            .as_array()
            .unwrap()
            .iter()
            .any(|attempt| attempt["reading"] == pair["reading"] && attempt["ok"] == true)
    );
    assert_eq!(explained["metavariables"], json!(["$V"]), "{explained}");
    let broken = client.call("ast.explain", json!({"pattern": "f(", "language": "go"}));
    assert!(broken["attempts"].as_array().unwrap().iter().all(|attempt| attempt["ok"] == false), "{broken}");
}

#[test]
fn what_is_not_searched_is_counted() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(
        &folders,
        &[
            ("a.rs", "fn a() { dispose(x); vec![dispose(y)]; }\n"),
            ("broken.rs", "fn b() { dispose(z); }\nfn c( {\n"),
            (".gitignore", "out/\nskipped.rs\n"),
            ("out/x.rs", "fn x() { dispose(x); }\n"),
            ("skipped.rs", "fn x() { dispose(x); }\n"),
            ("other.ts", "dispose(x)\n"),
        ],
    );
    let p = folders.path("p");
    folders.write("p/binary.rs", b"dispose\0(x)");
    folders.write("p/large.rs", "// dispose\n".repeat(900_000));
    folders.write("p/latin.rs", b"fn l() { dispose(\"\xe9\"); }\n");
    folders.write("p/deep.rs", format!("fn d() {{ dispose({}1{}); }}\n", "(".repeat(100_000), ")".repeat(100_000)));
    let begin = Instant::now();
    let found = client.call("ast.grep", json!({"workspace": p, "pattern": "dispose($X)", "language": "rust"}));
    assert!(begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
    assert_eq!(places(&found), ["a.rs:1", "broken.rs:1", "latin.rs:1"], "{found}");
    assert_eq!(found["skipped"], json!({"binary": 1, "ignored": 2, "too_deep": 1, "too_large": 1}), "{found}");
    assert_eq!((&found["files_searched"], &found["complete"]), (&json!(3), &json!(true)), "{found}");
    assert_eq!((&found["parse_error_files"], &found["parse_errors"]), (&json!(["broken.rs"]), &json!(1)));
    assert_eq!(found["macro_bodies_not_searched"], 1, "{found}");
    assert_eq!(found["matches"][2]["captures"]["X"]["text"], "\"\u{fffd}\"");
    let error = client.refuse("ast.grep", json!({"pattern": "dispose($X)", "paths": [p.join("deep.rs")], "workspace": p}));
    is_error(&error, "too_deep", 1308);
    let folder =
        client.call("ast.grep", json!({"workspace": p, "pattern": "dispose($X)", "language": "rust", "paths": [p.join("out")]}));
    assert_eq!((&folder["total"], &folder["skipped"]), (&json!(0), &json!({"ignored": 1})), "{folder}");
    let twice = json!([p.join("a.rs"), p, p.join("out/..")]);
    let twice = client.call("ast.grep", json!({"workspace": p, "pattern": "dispose($X)", "language": "rust", "paths": twice}));
    assert_eq!(
        (&twice["matches"], &twice["skipped"]),
        (&found["matches"], &found["skipped"]),
        "each is searched and counted once"
    );
    // A file that is named is searched whatever leaves it out; a folder that is left out stays so.
    let named = client.call("ast.grep", json!({"workspace": p, "pattern": "dispose($X)", "paths": [p.join("skipped.rs")]}));
    assert_eq!(places(&named), ["skipped.rs:1"]);
}

#[test]
fn a_pattern_of_one_grammar_leaves_the_files_of_the_other() {
    let folders = Folders::new();
    let (_daemon, mut client) = project(&folders, &[("a.ts", "let a = <T>x;\n"), ("b.tsx", "let b = <p>x</p>;\n")]);
    let p = folders.path("p");
    for (what, place) in [(json!({"pattern": "let $A = <T>$X"}), "a.ts:1"), (json!({"kind": "jsx_element"}), "b.tsx:1")] {
        let mut ask = json!({"workspace": p, "language": "typescript"});
        ask.as_object_mut().unwrap().extend(what.as_object().unwrap().clone());
        let found = client.call("ast.grep", ask);
        assert_eq!((places(&found), &found["skipped"]), (vec![place.to_owned()], &json!({"pattern_unparsable": 1})), "{found}");
        assert!(found["hints"].as_array().unwrap().iter().any(|hint| hint.as_str().unwrap().contains(".ts")), "{found}");
    }
}

#[test]
fn pages_come_from_what_was_counted() {
    let folders = Folders::new();
    let text: String = (0..30).map(|n| format!("fn f{n}() {{ call({n}); }}\n")).collect();
    let files = [("a.rs", text.as_str()), ("b.rs", text.as_str()), ("c.rs", "fn c() {}\n")];
    let (mut daemon, mut client) = project(&folders, &files);
    let p = folders.path("p");
    let mut ask = json!({"workspace": p, "pattern": "call($N)", "language": "rust", "limit": 25});
    let first = client.call("ast.grep", ask.clone());
    let mut seen = places(&first);
    let mut pages = 1;
    let mut next = first["next_cursor"].clone();
    while next.is_string() {
        ask["cursor"] = next;
        let page = client.call("ast.grep", ask.clone());
        for field in ["total", "files_matched", "files_searched", "readings", "complete", "skipped"] {
            assert_eq!(page[field], first[field], "{field}");
        }
        seen.extend(places(&page));
        next = page["next_cursor"].clone();
        pages += 1;
    }
    let expected: Vec<String> =
        ["a.rs", "b.rs"].iter().flat_map(|file| (1..=30).map(move |line| format!("{file}:{line}"))).collect();
    assert_eq!((seen, pages, &first["total"]), (expected, 3, &json!(60)));

    // A file without matches may change; one that was counted may not, also if it is of an earlier page.
    ask["cursor"] = first["next_cursor"].clone();
    fs::write(p.join("c.rs"), "fn d() {}\n").unwrap();
    assert_eq!(client.call("ast.grep", ask.clone())["matches"].as_array().unwrap().len(), 25);
    let mut other = ask.clone();
    other["pattern"] = json!("call(1)");
    let error = client.refuse("ast.grep", other);
    is_error(&error, "invalid_params", -32602);
    fs::write(p.join("a.rs"), text.replace("call(3)", "call(4)")).unwrap();
    let error = client.refuse("ast.grep", ask.clone());
    is_error(&error, "cursor_stale", 1006);
    assert!(error["message"].as_str().unwrap().contains("a.rs"), "{error}");
    daemon.signal(rustix::process::Signal::KILL);
    daemon.ended();
    let daemon = folders.start();
    let error = daemon.connect().refuse("ast.grep", ask);
    is_error(&error, "cursor_stale", 1006);
}

#[test]
fn a_search_ends_with_its_deadline_and_tells_how_far_it_came() {
    let folders = Folders::new();
    let text: String = (0..2_000).map(|n| format!("fn f{n}() {{ if a{n} {{ call({n}, b, c[{n}]); }} }}\n")).collect();
    let names: Vec<String> = (0..120).map(|n| format!("f{n}.rs")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), text.as_str())).collect();
    let (_daemon, mut client) = project(&folders, &files);
    // Equal texts have one tree; each of these needs its own.
    for name in &names {
        folders.write(&format!("p/{name}"), format!("{text}// {name}\n"));
    }
    let p = folders.path("p");
    client.call("events.subscribe", json!({"topics": ["search.progress"]}));
    let ask =
        json!({"workspace": p, "pattern": "call($$$A)", "language": "rust", "limit": 1, "deadline_ms": 400, "progress": "t"});
    let cut = client.call("ast.grep", ask.clone());
    assert_eq!(cut["complete"], false, "{cut}");
    assert!(cut["skipped"]["deadline"].as_u64().unwrap() > 0, "{cut}");
    let mut edit = ask.clone();
    edit.as_object_mut().unwrap().remove("limit");
    edit["rewrite"] = json!("done($$$A)");
    let error = client.refuse("ast.edit", edit);
    assert!(["search_incomplete", "deadline_exceeded"].contains(&error["data"]["kind"].as_str().unwrap()), "{error}");
    let mut whole = ask;
    whole.as_object_mut().unwrap().remove("deadline_ms");
    let found = client.call("ast.grep", whole);
    assert_eq!((&found["complete"], &found["total"]), (&json!(true), &json!(240_000)));
    let event = client.event("search.progress");
    assert_eq!((&event["token"], &event["data"]["total"]), (&json!("t"), &json!(120)), "{event}");
    // What is cancelled answers at once, and the worker is free again.
    let id = client.begin("ast.grep", json!({"workspace": p, "pattern": "$A($$$B)", "language": "rust"}));
    client.send(format!("{}\n", json!({"jsonrpc": "2.0", "method": "rpc.cancel", "params": {"id": id}})));
    let answer = client.answer(id);
    assert!(answer["error"]["data"]["kind"] == "cancelled" || answer["result"].is_object(), "{answer}");
    eventually("it still answers", || {
        (client.call("daemon.hello", json!({"protocol": 1}))["features"][2] == "ast").then_some(())
    });
}
