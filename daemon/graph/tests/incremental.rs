//! An index that was kept up to date says the same as one made now, and costs what changed.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod numbers;
mod project;

use std::{fs, path::PathBuf};

use ccd_corpus::Cancel;
use ccd_graph::{Freshness, IndexRequest, QueryError, SearchQuery};
use numbers::Numbers;
use project::Project;

fn small() -> Project {
    Project::new(&[
        ("Cargo.toml", "[package]\nname = \"app\"\n"),
        ("src/main.rs", "mod a;\nmod b;\nuse a::*;\nfn main() { one(); b::two(); a::Thing::new(); }\n"),
        (
            "src/a.rs",
            "pub use crate::b::three as four;\npub fn one() {}\npub struct Thing;\nimpl Thing { pub fn new() -> Self { Thing } }\nmod tests { use super::*; fn t() { one(); } }\n",
        ),
        ("src/b.rs", "use crate::a::{four, Thing as T};\npub fn two() { four(); T::new(); }\npub fn three() {}\n"),
        ("web/index.ts", "import main, { helper as h } from './lib';\nexport * from './lib';\nh(); main();\n"),
        ("web/lib.ts", "export function helper() {}\nexport default function start() { helper(); }\n"),
        ("go.mod", "module m\n"),
        ("srv/x.go", "package srv\n\nfunc Run() { help() }\n"),
        ("srv/y.go", "package srv\n\nfunc help() { Run() }\n"),
        ("py/__init__.py", "from .core import run as go\n"),
        (
            "py/core.py",
            "class Base:\n    def run(self):\n        self.stop()\n    def stop(self):\n        pass\ndef run():\n    Base().run()\n",
        ),
    ])
}

/// Applies edits one by one and compares with a fresh index after each.
fn check(edits: &[(&str, Option<&str>)]) {
    let mut project = small();
    for (at, (path, text)) in edits.iter().enumerate() {
        match text {
            Some(text) => project.write(path, text),
            None => {
                let path = project.tree().join(path);
                if fs::symlink_metadata(&path).unwrap().is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
                    .unwrap();
            }
        }
        project.index(Some(&[path]));
        assert_eq!(project.dump(), project.fresh_dump(), "after edit {at}: {path}");
        assert_eq!(project.digest(), project.fresh_digest(), "after edit {at}: {path}");
        if at % 3 == 2 {
            project = project.reopen();
            assert_eq!(project.digest(), project.fresh_digest(), "after edit {at} and a restart");
        }
    }
}

#[test]
fn bodies_names_and_lines_move() {
    check(&[
        (
            "src/a.rs",
            Some(
                "\n\n// moved\npub use crate::b::three as four;\npub fn zero() {}\npub fn one() { zero() }\npub struct Thing;\nimpl Thing { pub fn new() -> Self { Thing } }\nmod tests { use super::*; fn t() { one(); } }\n",
            ),
        ),
        ("src/b.rs", Some("pub fn two() { crate::a::four(); }\npub fn three() {}\n")),
        ("src/b.rs", Some("pub fn two() {}\n")),
        ("src/b.rs", Some("pub fn two() {}\nmod inner { pub fn three() {} }\npub use inner::three;\n")),
        ("src/a.rs", Some("pub fn one() {}\n")),
        ("web/lib.ts", Some("function helper() {}\nexport { helper };\nexport default helper;\n")),
        ("web/lib.ts", Some("export const helper = () => 1, other = 2;\nexport default class {}\n")),
        ("srv/y.go", Some("package srv\n\nfunc help() {}\nfunc Run() {}\n")),
        ("py/core.py", Some("def run():\n    pass\n")),
    ]);
}

#[test]
fn files_and_folders_come_and_go() {
    check(&[
        ("src/c.rs", Some("pub fn lonely() { crate::one() }\n")),
        ("src/main.rs", Some("mod a;\nmod b;\nmod c;\nuse a::*;\nfn main() { one(); c::lonely(); }\n")),
        ("src/b.rs", None),
        ("src/b/mod.rs", Some("pub fn two() {}\npub fn three() {}\n")),
        ("web", None),
        ("web/lib.tsx", Some("export function helper() { return <Other/>; }\n")),
        ("Cargo.toml", Some("[package]\nname = \"renamed\"\n")),
        ("go.mod", None),
        ("srv/y.go", None),
        ("srv/y.go", Some("package other\n\nfunc help() {}\n")),
    ]);
}

#[test]
fn what_super_means_follows_from_the_whole_chain_of_bases() {
    check(&[
        ("web/one.ts", Some("export class One { constructor() {} go() {} }\n")),
        ("web/two.ts", Some("export class One { go() {} }\nexport class Low { go() {} }\n")),
        ("web/mid.ts", Some("import { One as Up } from './one';\nexport default class Mid extends Up {}\n")),
        (
            "web/leaf.ts",
            Some("import M from './mid';\nclass Leaf extends M { constructor() { super(); } go() { super.go(); } }\n"),
        ),
        ("web/mid.ts", Some("import { One as Up } from './two';\nexport default class Mid extends Up {}\n")),
        ("web/mid.ts", Some("import { Low as Up } from './two';\nexport default class Mid extends Up {}\n")),
        ("web/two.ts", Some("export class One { go() {} }\nexport class Low extends One {}\n")),
        ("web/two.ts", Some("export class One { constructor() {} }\nexport class Low extends One {}\n")),
        ("web/two.ts", None),
    ]);
}

#[test]
fn random_edits_agree_with_a_fresh_index() {
    let paths = [
        "src/a.rs",
        "src/b.rs",
        "src/c.rs",
        "src/a/d.rs",
        "web/index.ts",
        "web/lib.ts",
        "web/deep/more.ts",
        "py/core.py",
        "py/more.py",
        "py/deep/__init__.py",
        "py/deep/end.py",
        "srv/x.go",
        "srv/z.go",
    ];
    let rust = [
        "mod a;",
        "mod b;",
        "mod c;",
        "mod d;",
        "pub use crate::b::*;",
        "use super::*;",
        "use crate::a::one as uno;",
        "pub fn one() { uno(); two() }",
        "pub fn two() { Thing::new(); crate::a::one(); }",
        "pub struct Thing;",
        "impl Thing { pub fn new() -> Self { Self::make() } fn make() -> Self { Thing } }",
        "mod inner { pub fn one() { super::two() } }",
        "macro_rules! m { () => {} }",
        "fn call() { m!(); one(); inner::one() }",
    ];
    let web = [
        "export * from './lib';",
        "import { helper } from './lib';",
        "import d, { x as helper2 } from './deep/more';",
        "export const x = () => helper();",
        "export default function main() { x(); d(); }",
        "function helper() {}",
        "export { helper as y };",
        "class C { go() { this.stop(); } stop() { new C(); } }",
        "import * as ns from './index';",
        "ns.x(); ns.y();",
        "import Up, { D as Low } from './index';",
        "export class D extends Up { constructor() { super(); } go() { super.go(); } }",
        "export class E extends Low { constructor() { super(); } go() { super.go(); } }",
        "export { C as D, E as default } from './lib';",
        "export class F extends D { constructor() { super(); } stop() { super.stop(); } }",
    ];
    let py = [
        "from .core import run",
        "from . import more",
        "from .more import *",
        "def run():\n    helper()",
        "def helper():\n    more.run()",
        "class A:\n    def run(self):\n        self.go()\n    def go(self):\n        A()",
        "import py.core",
        "import py.deep.end",
        "from py.deep.end import A",
        "py.core.run()",
        "from .more import A as B",
        "if x:\n    def helper():\n        pass\nelse:\n    def helper():\n        run()",
        "class K:\n    from .more import helper\n    from py.core import run\n    def x(self, k):\n        self.helper()\n        k.run()",
        "class B(A):\n    def run(self):\n        super().run()",
        "class A(B):\n    def go(self):\n        super().run()",
    ];
    let go = [
        "func A() { B[int](); m.C[T](1) }",
        "var B = []func(){}",
        "func C[X any]() {}",
        "func B() { A() }",
        "import \"m/srv\"",
        "type T struct{}",
        "func (t *T) A() { t.B(); T{} }",
    ];
    for seed in 0..12 {
        let mut numbers = Numbers(seed);
        let mut project = small();
        for step in 0..12 {
            let path = paths[numbers.below(paths.len())];
            if numbers.below(5) == 0 {
                let _ = fs::remove_file(project.tree().join(path));
            } else {
                let lines: &[&str] = match path.rsplit('.').next() {
                    Some("rs") => &rust,
                    Some("ts") => &web,
                    Some("py") => &py,
                    _ => &go,
                };
                let mut text = if path.ends_with("go") { "package srv\n".to_owned() } else { String::new() };
                for _ in 0..numbers.below(7) {
                    text.push_str(lines[numbers.below(lines.len())]);
                    text.push('\n');
                }
                project.write(path, &text);
            }
            project.index(Some(&[path]));
            if project.digest() != project.fresh_digest() {
                assert_eq!(project.dump(), project.fresh_dump(), "seed {seed}, step {step}, {path}");
                panic!("seed {seed}, step {step}, {path}: the digests differ");
            }
            if numbers.below(6) == 0 {
                project = project.reopen();
                assert_eq!(project.digest(), project.fresh_digest(), "seed {seed}, step {step}, after a restart");
            }
        }
    }
}

#[test]
fn a_restart_on_an_unchanged_tree_parses_and_resolves_nothing() {
    let project = small();
    let before = project.digest();
    // Files that were touched just before they were read are read again once, to be sure.
    std::thread::sleep(std::time::Duration::from_millis(2100));
    project.index(None);
    let project = project.reopen();
    let counters = project.shared.counters();
    assert_eq!((counters.files_parsed, counters.resolve_runs, counters.bytes_read), (0, 0, 0));
    assert_eq!(project.digest(), before);
}

#[test]
fn one_changed_file_costs_one_file() {
    let project = small();
    let before = project.shared.counters();
    let text = "package srv\n\nfunc Run() { help(); help() }\n";
    project.write("srv/x.go", text);
    let report = project.index(Some(&["srv/x.go"]));
    let after = project.shared.counters();
    assert_eq!(report.files_parsed, 1);
    assert_eq!(after.bytes_read - before.bytes_read, text.len() as u64);
    assert_eq!(after.files_resolved - before.files_resolved, 1, "a changed body concerns no other file");
    let generation = project.graph.state().generation;
    project.index(Some(&["srv/x.go"]));
    assert_eq!(project.graph.state().generation, generation, "a run that finds nothing changes nothing");
}

#[test]
fn a_new_file_costs_itself_and_those_that_name_what_it_holds() {
    let project = small();
    for (path, text, most) in [
        ("web/other.ts", "export function unheard() {}\n", 1),
        ("srv/z.go", "package srv\n\nfunc Unheard() { Run() }\n", 1),
        ("py/other.py", "def unheard():\n    pass\n", 1),
        // A sibling of every Rust file, but no module of theirs.
        ("src/orphan.rs", "fn unheard() {}\nmod inner { fn quiet() {} }\n", 1),
        // A name that others mention, under which it could have been meant.
        ("srv/w.go", "package srv\n\nfunc help2() { help() }\nfunc Run2() {}\n", 1),
    ] {
        let before = project.shared.counters();
        project.write(path, text);
        project.index(Some(&[path]));
        let resolved = project.shared.counters().files_resolved - before.files_resolved;
        assert!(resolved <= most, "{path}: {resolved} files were resolved");
        assert_eq!(project.digest(), project.fresh_digest(), "{path}");
    }
}

#[test]
fn the_same_content_is_parsed_once_for_all_workspaces() {
    let project = small();
    let parsed = project.shared.counters().files_parsed;
    let second = project.folder.path().join("worktree");
    for path in ["src/main.rs", "src/a.rs", "src/b.rs", "Cargo.toml"] {
        fs::create_dir_all(second.join("src")).unwrap();
        fs::copy(project.tree().join(path), second.join(path)).unwrap();
    }
    let root = ccd_files::Root::open(&second, None).unwrap();
    let graph = ccd_graph::Graph::new(std::sync::Arc::new(root), project.shared.clone(), ccd_corpus::Limits::default());
    let report = graph.index(&IndexRequest::default(), &Cancel::new(), &|_, _| {}).unwrap();
    assert_eq!((report.files_parsed, project.shared.counters().files_parsed), (0, parsed));
    assert!(report.symbols > 0);
}

#[test]
fn damaged_and_foreign_stores_are_rebuilt_and_it_is_said() {
    for damage in ["truncate", "overwrite", "foreign", "empty"] {
        let project = small();
        let digest = project.digest();
        project.graph.close(std::time::Instant::now());
        project.shared.close();
        let folder = project.folder;
        drop((project.graph, project.shared));
        for store in stores(&folder.path().join("cache")) {
            let log = store.join("db");
            let bytes = fs::read(&log).unwrap();
            match damage {
                "truncate" => fs::write(&log, &bytes[..bytes.len() / 3]).unwrap(),
                "overwrite" => {
                    let mut bytes = bytes;
                    let middle = bytes.len() / 2;
                    let end = (middle + 4096).min(bytes.len());
                    bytes[middle..end].fill(0x5a);
                    fs::write(&log, bytes).unwrap();
                }
                "foreign" => fs::write(store.join("conf"), b"not a store of this engine").unwrap(),
                _ => fs::write(&log, b"").unwrap(),
            }
        }
        let project = Project::open(folder);
        assert_eq!(project.digest(), digest, "{damage}");
        // What was overwritten may have been dead space.
        if damage != "overwrite" {
            assert!(project.graph.status().rebuilt.is_some() || !project.shared.notices().is_empty(), "{damage} was not said");
        }
        let project = project.reopen();
        assert_eq!(project.digest(), digest, "{damage}, and opened again");
    }
}

fn stores(cache: &std::path::Path) -> Vec<PathBuf> {
    let roots = fs::read_dir(cache.join("roots")).unwrap().map(|entry| entry.unwrap().path().join("db"));
    roots.chain([cache.join("facts/db")]).collect()
}

#[test]
fn cancelled_runs_keep_what_was_done_and_the_next_does_the_rest() {
    let project = small();
    project.write("src/c.rs", "pub fn late() {}\n");
    let cancel = Cancel::new();
    cancel.cancel();
    assert!(project.graph.index(&IndexRequest::default(), &cancel, &|_, _| {}).is_err());
    project.index(None);
    assert_eq!(project.digest(), project.fresh_digest());
}

#[test]
fn files_that_are_gone_are_hidden_and_counted() {
    let project = small();
    fs::remove_file(project.tree().join("srv/x.go")).unwrap();
    let query = SearchQuery { query: "Run".to_owned(), limit: 20, ..SearchQuery::default() };
    let page = project.graph.search(&query, &Cancel::new()).unwrap().value;
    assert!(page.items.iter().all(|symbol| symbol.rel != "srv/x.go"));
    assert!(page.hidden > 0);
}

#[test]
fn an_empty_tree_is_ready_and_says_none() {
    let project = Project::new(&[]);
    let query = SearchQuery { query: "x".to_owned(), limit: 20, ..SearchQuery::default() };
    let answer = project.graph.search(&query, &Cancel::new()).unwrap();
    assert_eq!((answer.value.total, answer.state.freshness), (0, Freshness::Ready));
}

#[test]
fn names_that_are_not_there_are_answered_with_near_ones() {
    let project = small();
    let query = ccd_graph::SymbolQuery::Name("halp".to_owned());
    let error = project.graph.symbol(&query, None, &Cancel::new()).unwrap_err();
    let QueryError::SymbolUnknown { closest, .. } = error else { panic!("{error:?}") };
    assert!(closest.contains(&"help".to_owned()), "{closest:?}");
}

#[test]
fn without_events_changes_are_found_by_looking() {
    let project = small();
    project.write("srv/x.go", "package srv\n\nfunc Renamed() { help() }\n");
    assert_eq!(project.graph.check_fresh(100, &Cancel::new()), 0);
    assert_eq!(project.digest(), project.fresh_digest());
    assert!(project.graph.check_fresh(3, &Cancel::new()) > 0, "what was not looked at is counted");
}
