//! The graph over the socket: states, pages, places, and how soon a change is in the answers.

use std::time::{Duration, Instant};

use ccd_tests::{Client, Folders, Running, eventually, is_error};
use serde_json::{Value, json};

fn indexed(folders: &Folders) -> (Running, Client) {
    folders.write("p/lib.py", "from util import helper\n\n\ndef main():\n    return helper(1)\n");
    folders.write("p/util.py", "def helper(x):\n    return x\n");
    for n in 0..30 {
        folders.write(&format!("p/many/m{n:02}.py"), "def many():\n    pass\n");
    }
    let daemon = folders.start();
    let mut client = daemon.connect();
    let report = client.call("graph.index", json!({"workspace": folders.path("p")}));
    assert_eq!((&report["state"], &report["files_parsed"]), (&json!("ready"), &json!(32)), "{report}");
    (daemon, client)
}

fn names(result: &Value, list: &str) -> Vec<String> {
    result[list].as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn symbols_are_found_by_name_and_by_place() {
    let folders = Folders::new();
    let (_daemon, mut client) = indexed(&folders);
    let p = folders.path("p");
    let found = client.call("graph.search", json!({"workspace": p, "query": "helper"}));
    assert_eq!((names(&found, "symbols"), &found["state"]), (vec!["helper".to_owned()], &json!("ready")), "{found}");
    let symbol = &found["symbols"][0];
    assert_eq!((&symbol["path"], &symbol["rel"]), (&json!(p.join("util.py")), &json!("util.py")));
    let callers = client.call("graph.callers", json!({"workspace": p, "symbol": symbol["id"]}));
    assert_eq!((&callers["total"], &callers["edges"][0]["from"]["name"]), (&json!(1), &json!("main")), "{callers}");
    // By the place of the call; the workspace is that of the path.
    let place = json!({"path": p.join("lib.py"), "line": 5, "text": "helper"});
    let detail = client.call("graph.symbol", json!({"symbol": place, "with_source": true}));
    assert_eq!(detail["symbol"]["id"], symbol["id"]);
    assert!(detail["source"].as_str().unwrap().starts_with("def helper"), "{detail}");
    let error = client.refuse("graph.symbol", json!({"symbol": {"path": p.join("lib.py"), "line": 5, "text": "nothing"}}));
    is_error(&error, "invalid_params", -32602);
    assert!(error["message"].as_str().unwrap().contains("return helper(1)"), "{error}");
    let error = client.refuse("graph.symbol", json!({"workspace": p, "symbol": "helpr"}));
    is_error(&error, "symbol_unknown", 1602);
    let error = client.refuse("graph.symbol", json!({"workspace": p, "symbol": "many"}));
    is_error(&error, "symbol_ambiguous", 1602);
    assert!(error["data"]["candidates"][0]["id"].is_string(), "{error}");
    let error = client.refuse("graph.search", json!({"workspace": p, "query": "x", "language": "cobol"}));
    is_error(&error, "language_unsupported", 1303);
    assert!(error["data"]["supported"].as_array().unwrap().contains(&json!("python")), "{error}");
    let error = client.refuse("graph.outline", json!({"path": p.join("none.py")}));
    is_error(&error, "not_found", 1103);
}

#[test]
fn pages_belong_to_their_question_and_their_state() {
    let folders = Folders::new();
    let (_daemon, mut client) = indexed(&folders);
    let p = folders.path("p");
    let mut rels = Vec::new();
    let mut params = json!({"workspace": p, "query": "many", "limit": 20, "kinds": ["function"]});
    loop {
        let page = client.call("graph.search", params.clone());
        assert_eq!(page["total"], 30, "{page}");
        rels.extend(page["symbols"].as_array().unwrap().iter().map(|symbol| symbol["rel"].as_str().unwrap().to_owned()));
        match page.get("next_cursor") {
            Some(cursor) => params["cursor"] = cursor.clone(),
            None => break,
        }
    }
    rels.sort();
    rels.dedup();
    assert_eq!(rels.len(), 30);
    for broken in [json!("x"), json!(""), json!(format!("{}0", params["cursor"].as_str().unwrap()))] {
        let mut wrong = params.clone();
        wrong["cursor"] = broken;
        let error = client.refuse("graph.search", wrong);
        is_error(&error, "invalid_params", -32602);
        assert_eq!(error["data"]["field"], "cursor");
    }
    let mut other = params.clone();
    other["query"] = json!("helper");
    assert_eq!(client.refuse("graph.search", other)["data"]["field"], "cursor");
    folders.write("p/many/new.py", "def many():\n    pass\n");
    eventually("the page is of another state", || {
        let id = client.begin("graph.search", params.clone());
        let answer = client.answer(id);
        (answer["error"]["data"]["kind"] == "cursor_stale").then_some(())
    });
}

#[test]
fn a_write_is_in_the_answers_soon() {
    let folders = Folders::new();
    let (_daemon, mut client) = indexed(&folders);
    let p = folders.path("p");
    eventually("it is watched", || {
        (client.call("workspace.status", json!({"workspace": p}))["index"]["watch"] == "on").then_some(())
    });
    let mut slowest = Duration::ZERO;
    for n in 0..5 {
        let name = format!("fresh_{n}");
        folders.write(&format!("p/deeper/f{n}.py"), format!("def {name}():\n    pass\n"));
        let begin = Instant::now();
        eventually("the new function is found", || {
            let found = client.call("graph.search", json!({"workspace": p, "query": name}));
            (names(&found, "symbols").contains(&name)).then_some(())
        });
        slowest = slowest.max(begin.elapsed());
    }
    assert!(slowest < Duration::from_millis(500), "{slowest:?}");
    std::fs::remove_dir_all(p.join("deeper")).unwrap();
    eventually("what is removed is gone", || {
        let found = client.call("graph.search", json!({"workspace": p, "query": "fresh_1"}));
        found["symbols"].as_array().unwrap().is_empty().then_some(())
    });
}

#[test]
fn an_incremental_graph_and_a_fresh_one_agree() {
    let folders = Folders::new();
    let (daemon, mut client) = indexed(&folders);
    let p = folders.path("p");
    folders.write("p/util.py", "def other(x):\n    return x\n\n\ndef helper(x):\n    return other(x)\n");
    client.call("graph.index", json!({"workspace": p, "paths": [p.join("util.py")]}));
    let digest = client.call("graph.digest", json!({"workspace": p}))["digest"].clone();
    client.call("graph.index", json!({"workspace": p, "full": true}));
    assert_eq!(client.call("graph.digest", json!({"workspace": p}))["digest"], digest);
    drop(daemon);
    let again = folders.start();
    let mut client = again.connect();
    let report = client.call("graph.index", json!({"workspace": p}));
    assert_eq!(report["files_parsed"], 0, "nothing is parsed twice: {report}");
    assert_eq!(client.call("graph.digest", json!({"workspace": p}))["digest"], digest);
}

#[test]
fn what_depends_on_what() {
    let folders = Folders::new();
    let (_daemon, mut client) = indexed(&folders);
    let p = folders.path("p");
    let callees = client.call("graph.callees", json!({"workspace": p, "symbol": "main"}));
    assert_eq!(callees["edges"][0]["to"]["name"], "helper", "{callees}");
    assert_eq!((&callees["edges"][0]["site"]["line"], &callees["edges"][0]["distance"]), (&json!(5), &json!(1)));
    let imports = client.call("graph.imports", json!({"path": p.join("lib.py")}));
    assert!(imports["edges"].as_array().unwrap().iter().any(|edge| edge["to"]["rel"] == "util.py"), "{imports}");
    let importers = client.call("graph.importers", json!({"workspace": p, "path": p.join("util.py")}));
    assert!(importers["edges"].as_array().unwrap().iter().any(|edge| edge["site"]["rel"] == "lib.py"), "{importers}");
    for (method, params) in [("graph.imports", json!({"workspace": p})), ("graph.importers", json!({"path": "a", "module": "b"}))]
    {
        is_error(&client.refuse(method, params), "invalid_params", -32602);
    }
    is_error(&client.refuse("graph.importers", json!({"workspace": p, "module": "no_such"})), "not_found", 1103);

    let impact = client.call("graph.impact", json!({"workspace": p, "symbols": ["helper"]}));
    let nearest = |impact: &Value| names(&impact["by_distance"][0], "symbols");
    assert!(nearest(&impact).contains(&"main".to_owned()), "{impact}");
    assert!(impact["files"].as_array().unwrap().contains(&json!("lib.py")), "{impact}");
    let of_file = client.call("graph.impact", json!({"paths": [p.join("util.py")]}));
    assert!(nearest(&of_file).contains(&"main".to_owned()), "{of_file}");
    assert_eq!(client.refuse("graph.impact", json!({"workspace": p}))["data"]["field"], "symbols");

    let ways = client.call("graph.path", json!({"workspace": p, "from": "main", "to": "helper"}));
    assert_eq!((&ways["total"], &ways["paths"][0][0]["to"]["name"]), (&json!(1), &json!("helper")), "{ways}");
    let none = client.call("graph.path", json!({"workspace": p, "from": "helper", "to": "main"}));
    assert_eq!((&none["total"], &none["paths"]), (&json!(0), &json!([])), "{none}");
}

#[test]
fn an_outline_needs_no_index() {
    let folders = Folders::new();
    folders.write("p/a.py", "class Box:\n    def open(self):\n        pass\n");
    let daemon = folders.start();
    let mut client = daemon.connect();
    let path = folders.path("p/a.py");
    let outline = client.call("graph.outline", json!({"workspace": folders.path("p"), "path": path}));
    assert_eq!((names(&outline, "symbols"), &outline["total"]), (vec!["Box".to_owned()], &json!(2)), "{outline}");
    assert_eq!(outline["symbols"][0]["children"][0]["name"], "open");
    let version = client.call("workspace.read", json!({"path": path}))["version"].clone();
    assert_eq!(outline["version"], version);
    let flat = client.call("graph.outline", json!({"path": path, "depth": 1}));
    assert!(flat["symbols"][0].get("children").is_none(), "{flat}");
}

#[test]
fn a_change_of_a_path_that_is_not_there_is_not_found() {
    let folders = Folders::new();
    folders.write("p/a.py", "def kept():\n    pass\n");
    folders.write("p/notes.txt", "kept\n");
    let daemon = folders.start();
    let mut client = daemon.connect();
    let p = folders.path("p");
    client.call("graph.index", json!({"workspace": p}));
    let mut refused = |rel: &str| client.refuse("graph.impact", json!({"workspace": p, "paths": [p.join(rel)]}));
    is_error(&refused("nope"), "not_found", 1103);
    is_error(&refused("nope.py"), "not_found", 1103);
    is_error(&refused("notes.txt"), "language_unsupported", 1303);
    is_error(&refused(""), "is_directory", 1104);
}
