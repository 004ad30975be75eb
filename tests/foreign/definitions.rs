//! Definitions, against the listings of the languages' own parsers.

use std::{
    collections::BTreeSet,
    io::Write as _,
    path::Path,
    process::{Command, Stdio},
};

use crate::{Indexed, repository, tool};

type Definition = (String, u64, String);

/// Runs a lister over the files and reads what it prints.
fn listed(mut command: Command, files: &[String]) -> BTreeSet<Definition> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let names = files.join("\n") + "\n";
    let writer = std::thread::spawn(move || stdin.write_all(names.as_bytes()).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success(), "{command:?} failed");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines()
        .map(|line| {
            let mut parts = line.split('\t');
            let mut next = || parts.next().unwrap().to_owned();
            (next(), next().parse().unwrap(), next())
        })
        .collect()
}

fn script(name: &str) -> std::path::PathBuf {
    repository().join("tests/foreign").join(name)
}

/// The definitions of the graph, of these kinds, equal the listing.
fn check(mut indexed: Indexed, kinds: &[&str], at_least: usize, command: impl Fn(&Path) -> Command) {
    let files = indexed.files();
    let expected = listed(command(&indexed.root), &files);
    assert!(expected.len() >= at_least, "the listing has only {} definitions", expected.len());
    let mut found = BTreeSet::new();
    for file in &files {
        for (line, name, kind) in indexed.definitions(file) {
            if kinds.contains(&kind.as_str()) {
                found.insert((file.clone(), line, name));
            }
        }
    }
    let missing: Vec<_> = expected.difference(&found).take(20).collect();
    let invented: Vec<_> = found.difference(&expected).take(20).collect();
    assert!(missing.is_empty() && invented.is_empty(), "missing: {missing:#?}\ninvented: {invented:#?}");
    println!("{} definitions in {} files agree", found.len(), files.len());
}

#[test]
fn python_definitions_equal_those_of_its_ast() {
    let output =
        Command::new("python3").args(["-c", "import sysconfig; print(sysconfig.get_paths()['stdlib'])"]).output().unwrap();
    let library = String::from_utf8(output.stdout).unwrap();
    let indexed = Indexed::new(&Path::new(library.trim()).join("asyncio"), &[".py"]);
    check(indexed, &["function", "method", "class", "test"], 500, |root| {
        let mut command = Command::new("python3");
        command.arg(script("definitions.py")).arg(root);
        command
    });
}

#[test]
fn go_definitions_equal_those_of_go_ast() {
    let go = tool("CCD_GO");
    let indexed = Indexed::new(&tool("GOROOT").join("src/net/http"), &[".go"]);
    let kinds = ["function", "method", "test", "struct", "interface", "type_alias", "field", "constant", "variable"];
    check(indexed, &kinds, 5000, |root| {
        let mut command = Command::new(&go);
        command.arg("run").arg(script("definitions.go")).arg(root);
        command
    });
}

#[test]
fn typescript_definitions_equal_those_of_the_compiler() {
    let compiler = tool("CCD_TYPESCRIPT");
    let indexed = Indexed::new(&tool("CCD_RXJS").join("src"), &[".ts"]);
    let kinds =
        ["function", "method", "class", "interface", "type_alias", "enum", "enum_member", "property", "constant", "variable"];
    check(indexed, &kinds, 1000, |root| {
        let mut command = Command::new("node");
        command.arg(script("definitions.mjs")).arg(&compiler).arg(root);
        command
    });
}
