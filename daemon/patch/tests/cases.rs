//! Recorded cases: patches with the trees before and after them, when `CCD_CASES` names a folder that holds them.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that panics has failed; what was run is told")]

use std::{collections::BTreeMap, fs, path::Path};

use ccd_patch::{MemoryTree, parse, plan};
use serde_json::Value;

/// Applies a patch; false if it is refused, which must leave the tree alone.
fn applied(tree: &mut MemoryTree, patch: &[u8]) -> Result<(), String> {
    let text = str::from_utf8(patch).map_err(|error| error.to_string())?;
    let patch = parse(text).map_err(|error| error.to_string())?;
    let plan = plan(&patch, tree).map_err(|error| format!("{error}: {error:?}"))?;
    tree.carry_out(&plan);
    Ok(())
}

/// A folder of the disk as a tree.
fn read(folder: &Path) -> MemoryTree {
    let mut tree = MemoryTree::default();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        // A case without input starts with nothing.
        for entry in fs::read_dir(&next).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned();
            if path.symlink_metadata().unwrap().is_dir() {
                tree.directory(&name);
                folders.push(path);
            } else {
                tree.file(&name, fs::read(&path).unwrap());
            }
        }
    }
    tree
}

fn given(folder: &str) -> Option<std::path::PathBuf> {
    let Some(cases) = std::env::var_os("CCD_CASES") else {
        println!("cases: not given");
        return None;
    };
    let folder = Path::new(&cases).join(folder);
    if folder.symlink_metadata().is_err() {
        println!("cases: {} is not there", folder.display());
        return None;
    }
    Some(folder)
}

/// These are refused and leave the tree as it was; all others are accepted.
const REFUSED: [&str; 8] = ["005", "006", "007", "008", "009", "012", "013", "015"];

#[test]
fn the_portable_corpus_gives_its_trees() {
    let Some(folder) = given("codex-apply-patch-corpus") else { return };
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut cases: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    for case in cases {
        let Ok(patch) = fs::read(case.join("patch.txt")) else { continue };
        let name = case.file_name().unwrap().to_str().unwrap();
        let refused = REFUSED.iter().any(|number| name.starts_with(number));
        let mut tree = read(&case.join("input"));
        // Nothing is kept of a patch that fails, whatever came before the failing operation.
        let expected = if refused { tree.clone() } else { read(&case.join("expected")) };
        let outcome = applied(&mut tree, &patch);
        if outcome.is_ok() == refused || tree != expected {
            wrong.push(format!("{name}: {outcome:?}\n{tree:#?}"));
        }
        count += 1;
    }
    println!("corpus: {} of {count} passed", count - wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 0, "the folder holds no case");
}

fn base64(text: &str) -> Vec<u8> {
    let digit = |byte: u8| b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".iter().position(|&of| of == byte);
    let digits: Vec<usize> = text.bytes().filter_map(digit).collect();
    let mut bytes = Vec::new();
    for four in digits.chunks(4) {
        let bits = four.iter().fold(0, |bits, digit| bits << 6 | digit) << (6 * (4 - four.len()));
        bytes.extend_from_slice(&[(bits >> 16) as u8, (bits >> 8) as u8, bits as u8][..four.len() - 1]);
    }
    bytes
}

#[test]
fn reported_patches_give_their_files() {
    let Some(folder) = given("patch-cases") else { return };
    let mut wrong = Vec::new();
    let mut count = 0;
    let mut cases: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    cases.sort();
    for path in cases.iter().filter(|path| path.extension().is_some_and(|extension| extension == "json")) {
        let case: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        let files = |key: &str| -> BTreeMap<String, Vec<u8>> {
            let object = case[key].as_object().into_iter().flatten();
            object.map(|(path, bytes)| (path.clone(), base64(bytes.as_str().unwrap()))).collect()
        };
        let mut tree = MemoryTree::default();
        for (path, bytes) in files("files") {
            tree.file(&path, bytes);
        }
        for path in case["dirs"].as_array().into_iter().flatten() {
            tree.directory(path.as_str().unwrap());
        }
        for (path, target) in case["links"].as_object().into_iter().flatten() {
            tree.link(path, target.as_str().unwrap());
        }
        let before = tree.clone();
        let outcome = applied(&mut tree, case["patch"].as_str().unwrap().as_bytes());
        let after: BTreeMap<String, Vec<u8>> = tree.files().map(|(path, bytes)| (path.to_owned(), bytes.to_owned())).collect();
        let links: BTreeMap<&str, &str> = tree.links().collect();
        let expected_links: Option<BTreeMap<&str, &str>> = case["expected_links"]
            .as_object()
            .map(|links| links.iter().map(|(path, target)| (path.as_str(), target.as_str().unwrap())).collect());
        let accepted = case["expected_exit_ok"].as_bool().unwrap();
        if outcome.is_ok() != accepted
            || after != files("expected_files")
            || (!accepted && tree != before)
            || expected_links.is_some_and(|expected| expected != links)
        {
            wrong.push(format!("{}: {outcome:?}\n{tree:#?}", path.display()));
        }
        count += 1;
    }
    println!("patch cases: {} of {count} passed", count - wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 0, "the folder holds no case");
}
