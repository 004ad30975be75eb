//! Real servers, in `servers` below `CCD_TOOLS`, where `tests/servers` puts them; a test whose server is missing fails and says so.

use std::{fs, time::Instant};

use ccd_diagnostics::{Position, State};
use ccd_lsp::Settings;

use crate::world::{Told, World};

/// A project, and the server's programs first in the `PATH`.
fn world(server: &str, files: &[(&str, &str)]) -> World {
    let tools = std::env::var("CCD_TOOLS").expect("CCD_TOOLS is not set: run ./tests/run, which gets what the tests need");
    let bin = format!("{tools}/servers/bin");
    assert!(
        fs::metadata(format!("{bin}/{server}")).is_ok(),
        "{server} is not in {bin}: install it with tests/servers {tools}/servers"
    );
    let mut world = World::new(Settings::default());
    let path = format!("{bin}:{}", std::env::var("PATH").unwrap());
    world.set("PATH", &path);
    files.iter().for_each(|(name, text)| world.put(name, text));
    world
}

/// A write to a cold server, and then again with the fault further down: that is no news.
async fn check(world: &World, file: &str, faulty: &str, moved: &str, expected: &str) -> Told {
    let begun = Instant::now();
    let told = world.write(&[(file, faulty)], 60_000).await;
    let cold = begun.elapsed();
    let fits = |list: &[String]| list.len() == 1 && list[0].contains(expected);
    assert!(fits(&told.new) && told.unattributed.is_empty(), "{told:?}");
    assert_eq!(told.state, State::Settled, "{told:?}");
    let begun = Instant::now();
    let again = world.write(&[(file, moved)], 30_000).await;
    let warm = begun.elapsed();
    assert!(again.new.is_empty() && again.carried_over.is_empty() && again.unattributed.is_empty(), "{again:?}");
    assert_eq!((again.state, again.report.standing), (State::Settled, told.report.standing + 1), "{again:?}");
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{file}: cold {cold:?}, warm {warm:?}\n"));
    told
}

#[tokio::test]
async fn gopls_tells_what_is_new() {
    let old = "package main\n\nimport \"fmt\"\n\nfunc old() int {\n\tvar x int = \"old fault\"\n\treturn x\n}\n\nfunc main() {\n\tfmt.Println(old())\n}\n";
    let faulty = old.replace("\tfmt.Println(old())", "\tvar count int\n\tfmt.Println(old())");
    let world = world("gopls", &[("go.mod", "module m\n\ngo 1.21\n"), ("main.go", old)]);
    let moved = faulty.replace("func main", "// one\n\nfunc main");
    check(&world, "main.go", &faulty, &moved, "declared and not used").await;
}

#[tokio::test]
async fn pyright_counts_in_utf_16_and_we_in_characters() {
    let old = "café = \"😀\"; count: int = 1\n";
    let faulty = "café = \"😀\"; count: int = \"x\"\n";
    let world = world("pyright-langserver", &[("pyproject.toml", ""), ("main.py", old)]);
    let told = check(&world, "main.py", faulty, &format!("# one\n{faulty}"), "declared type \"int\"").await;
    assert_eq!(told.report.new[0].diagnostic.range.start, Position { line: 1, column: 26 });
}

#[tokio::test]
async fn typescript_tells_of_a_file_that_is_not_open() {
    let (lib, broken) = (
        "export function f(x: number): number {\n  return x * 2;\n}\n",
        "export function f(x: string): number {\n  return x.length;\n}\n",
    );
    let main = "import { f } from \"./lib\";\nexport const n = f(1);\n";
    let config = "{\"compilerOptions\":{\"strict\":true,\"module\":\"commonjs\"}}";
    let world = world("typescript-language-server", &[("tsconfig.json", config), ("lib.ts", lib), ("main.ts", main)]);
    let begun = Instant::now();
    let told = world.write_with(&[("lib.ts", broken)], &["main.ts"], 60_000).await;
    assert_eq!((told.state, told.new.len(), told.elsewhere.len()), (State::Settled, 0, 1), "{told:?}");
    let cold = begun.elapsed();
    assert!(told.elsewhere[0].contains("Argument of type 'number'"), "{told:?}");
    let begun = Instant::now();
    let told = world.write_with(&[("lib.ts", lib)], &["main.ts"], 30_000).await;
    assert_eq!((told.state, told.fixed, told.new.len()), (State::Settled, 1, 0), "{told:?}");
    let warm = begun.elapsed();
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("lib.ts: cold {cold:?}, warm {warm:?}\n"));
}

#[tokio::test]
async fn typescript_keeps_crlf() {
    let old = "function f(x: number) {\r\n  return x;\r\n}\r\n/* 😀 */ const a = f(1);\r\n";
    let faulty = old.replace("f(1)", "f(\"1\")");
    let world = world("typescript-language-server", &[("tsconfig.json", "{}"), ("main.ts", old)]);
    let told = check(&world, "main.ts", &faulty, &format!("// one\r\n{faulty}"), "Argument of type 'string'").await;
    assert_eq!(told.report.new[0].diagnostic.range.start, Position { line: 4, column: 21 });
}

#[tokio::test]
async fn rust_analyzer_tells_one_fault_once() {
    let old =
        "fn twice(n: i32) -> i32 {\n    n * 2\n}\n\nfn main() {\n    let n = twice(\"four\");\n    println!(\"{}\", n);\n}\n";
    let faulty = old.replace("twice(\"four\")", "twice(4)").replace("\"{}\", n", "\"{}\", total + n");
    let manifest = "[package]\nname = \"one\"\nversion = \"0.1.0\"\nedition = \"2021\"\n";
    let world = world("rust-analyzer", &[("Cargo.toml", manifest), ("src/main.rs", old)]);
    // Warm it up: what a checker says first cannot be told from what was there.
    let first = world.write(&[("src/main.rs", &format!("{old}\n"))], 90_000).await;
    assert!(first.new.is_empty(), "{first:?}");
    assert_eq!(first.state, State::Settled, "{first:?}");
    let begun = Instant::now();
    let told = world.write(&[("src/main.rs", &faulty)], 60_000).await;
    let warm = begun.elapsed();
    assert_eq!((told.state, told.new.len()), (State::Settled, 1), "{told:?}");
    assert!(told.new[0].contains("cannot find value `total`"), "{told:?}");
    let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("main.rs: warm {warm:?}\n"));
}
