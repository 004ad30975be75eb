//! Recorded cases, run through the socket. They are not part of this repository: `$CCD_CASES` names their folder.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
};

use ccd_tests::{Client, Folders, tree};
use serde_json::{Value, json};

fn cases(kind: &str) -> Option<PathBuf> {
    let folder = std::env::var_os("CCD_CASES").map(PathBuf::from);
    if folder.is_none() {
        println!("cases: not given");
    }
    Some(folder?.join(kind))
}

/// The cases of a kind that are a file each, by name.
fn json_cases(kind: &str) -> Option<Vec<(String, Value)>> {
    let mut paths: Vec<PathBuf> = fs::read_dir(cases(kind)?).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "json"));
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
    };
    Some(paths.into_iter().map(read).collect())
}

fn files(tree: &BTreeMap<String, String>) -> BTreeMap<&String, &String> {
    tree.iter().filter(|(_, what)| *what != "folder").collect()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).into_iter().flatten() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), &target).unwrap();
            fs::set_permissions(&target, fs::Permissions::from_mode(0o644)).unwrap();
        }
    }
}

/// Applies a patch and says whether it was accepted.
fn apply(client: &mut Client, root: &Path, patch: &str) -> Result<Value, Value> {
    let id = client.begin("edit.apply_patch", json!({"workspace": root, "patch": patch}));
    let answer = client.answer(id);
    match answer.get("result") {
        Some(result) => Ok(result.clone()),
        None => Err(answer["error"].clone()),
    }
}

#[test]
fn the_corpus_of_patches_gives_its_trees() {
    let Some(corpus) = cases("codex-apply-patch-corpus") else { return };
    let folders = Folders::new();
    let daemon = folders.start();
    let mut client = daemon.connect();
    let mut names: Vec<PathBuf> = fs::read_dir(&corpus).unwrap().map(|entry| entry.unwrap().path()).collect();
    names.retain(|path| path.join("patch.txt").symlink_metadata().is_ok());
    names.sort();
    let mut failed = Vec::new();
    for (at, case) in names.iter().enumerate() {
        let name = case.file_name().unwrap().to_string_lossy().into_owned();
        let root = folders.path(&format!("case{at}"));
        copy(&case.join("input"), &root);
        let before = tree(&root);
        let patch = fs::read_to_string(case.join("patch.txt")).unwrap();
        let outcome = apply(&mut client, &root, &patch);
        let now = tree(&root);
        // All or nothing: what the reference leaves of a patch that fails half way is not left here.
        let half = name.starts_with("015");
        let expected = if half { before.clone() } else { tree(&case.join("expected")) };
        if files(&now) != files(&expected) {
            failed.push(format!("{name}: {now:?} is not {expected:?} ({outcome:?})"));
        } else if outcome.is_err() && now != before {
            failed.push(format!("{name}: refused, and the tree is another"));
        }
    }
    println!("{} of {} scenarios agree", names.len() - failed.len(), names.len());
    assert!(names.len() >= 20 && failed.is_empty(), "{failed:#?}");
}

#[test]
fn recorded_patches_are_answered_as_recorded() {
    let Some(cases) = json_cases("patch-cases") else { return };
    let folders = Folders::new();
    let daemon = folders.start();
    let mut client = daemon.connect();
    let mut failed = Vec::new();
    for (at, (name, case)) in cases.iter().enumerate() {
        let root = folders.path(&format!("case{at}"));
        fs::create_dir_all(&root).unwrap();
        for (rel, bytes) in case["files"].as_object().unwrap() {
            let path = root.join(rel);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, decoded(bytes.as_str().unwrap())).unwrap();
        }
        for rel in case["dirs"].as_array().into_iter().flatten() {
            fs::create_dir_all(root.join(rel.as_str().unwrap())).unwrap();
        }
        for (rel, target) in case["links"].as_object().into_iter().flatten() {
            symlink(target.as_str().unwrap(), root.join(rel)).unwrap();
        }
        for (rel, mode) in case["modes"].as_object().into_iter().flatten() {
            fs::set_permissions(root.join(rel), fs::Permissions::from_mode(octal(mode))).unwrap();
        }
        let before = tree(&root);
        let outcome = apply(&mut client, &root, case["patch"].as_str().unwrap());
        let now = tree(&root);
        let expected: BTreeMap<String, Vec<u8>> = case["expected_files"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(rel, bytes)| (rel.clone(), decoded(bytes.as_str().unwrap())))
            .collect();
        let mut found: BTreeMap<String, Vec<u8>> = BTreeMap::new();
        for (rel, what) in &now {
            if what != "folder" && !what.starts_with("->") {
                found.insert(rel.clone(), fs::read(root.join(rel)).unwrap());
            }
        }
        let accepted = case["expected_exit_ok"].as_bool().unwrap();
        if outcome.is_ok() != accepted || found != expected || !accepted && now != before {
            failed.push(format!("{name}: {outcome:?}\n  {now:?}"));
            continue;
        }
        for (rel, target) in case["expected_links"].as_object().into_iter().flatten() {
            if fs::read_link(root.join(rel)).unwrap_or_default() != Path::new(target.as_str().unwrap()) {
                failed.push(format!("{name}: {rel} is not the link that it was"));
            }
        }
        for (rel, mode) in case["expected_modes"].as_object().into_iter().flatten() {
            if fs::metadata(root.join(rel)).unwrap().permissions().mode() & 0o7777 != octal(mode) {
                failed.push(format!("{name}: {rel} has another mode"));
            }
        }
    }
    println!("{} of {} cases agree", cases.len() - failed.len(), cases.len());
    assert!(!cases.is_empty() && failed.is_empty(), "{failed:#?}");
}

/// The byte offset of a place of an answer.
fn offset(text: &str, place: &Value) -> usize {
    let (line, column) = (place["line"].as_u64().unwrap() as usize, place["column"].as_u64().unwrap() as usize);
    let start: usize = text.split_inclusive('\n').take(line - 1).map(str::len).sum();
    start + text[start..].chars().take(column - 1).map(char::len_utf8).sum::<usize>()
}

/// What is wrong with the matches of an answer.
fn differing(source: &str, found: &Value, expect: &Value) -> Option<String> {
    let (found, wanted) = (found["matches"].as_array()?, expect["matches"].as_array()?);
    let seen = |one: &Value| {
        let texts: BTreeMap<String, Value> =
            one["captures"].as_object().unwrap().iter().map(|(name, what)| (name.clone(), what["text"].clone())).collect();
        let runs: BTreeMap<String, Value> =
            one["multi"].as_object().unwrap().iter().map(|(name, what)| (name.clone(), what["items"].clone())).collect();
        json!({"start": offset(source, &one["range"]["start"]), "end": offset(source, &one["range"]["end"]),
            "line": one["range"]["start"]["line"], "text": one["text"], "captures": texts, "multi": runs})
    };
    let seen: Vec<Value> = found.iter().map(seen).collect();
    let readings = expect["scaffold"].as_str().unwrap_or_default();
    let read = found.iter().all(|one| {
        let reading = one["reading"].as_str().unwrap_or_default();
        readings.is_empty() || readings.split('|').any(|name| name == reading)
    });
    (seen != *wanted || !read).then(|| format!("{}\n  is not {} ({readings})", json!(found), json!(wanted)))
}

#[test]
fn recorded_patterns_find_and_rewrite_as_recorded() {
    let Some(cases) = json_cases("astgrep-cases") else { return };
    let folders = Folders::new();
    let daemon = folders.start();
    let mut client = daemon.connect();
    let mut failed = Vec::new();
    for (at, (name, case)) in cases.iter().enumerate() {
        let (source, language) = (case["source"].as_str().unwrap(), case["language"].as_str().unwrap());
        let ending = match language {
            "rust" => "rs",
            "typescript" => "ts",
            "javascript" => "js",
            "python" => "py",
            other => other,
        };
        let root = folders.path(&format!("shape{at}"));
        let file = root.join(format!("source.{ending}"));
        fs::create_dir_all(&root).unwrap();
        fs::write(&file, source).unwrap();
        let expect = &case["expect"];
        let ask = json!({"workspace": root, "pattern": case["pattern"], "language": language});
        let mut answer = |method: &str, params: Value| {
            let id = client.begin(method, params);
            client.answer(id)
        };
        let found = answer("ast.grep", ask.clone());
        let is_error = |answer: &Value| answer["error"]["data"]["kind"] == expect["error"];
        if expect["error"].is_string() && is_error(&found) {
            continue;
        }
        if let Some(difference) = differing(source, &found["result"], expect) {
            failed.push(format!("{name}: {difference} {}", found["error"]));
        }
        if !case["rewrite"].is_string() {
            continue;
        }
        let mut edit = ask;
        edit["rewrite"] = case["rewrite"].clone();
        let staged = answer("ast.edit", edit);
        if expect["error"].is_string() {
            if !is_error(&staged) {
                failed.push(format!("{name}: {staged}"));
            }
            continue;
        }
        let stage = &staged["result"];
        if let Some(count) =
            case["note"].as_str().and_then(|note| note.split_once("skipped_nested = ")).map(|(_, n)| n.to_owned())
            && stage["nested_skipped"].as_u64() != count.parse().ok()
        {
            failed.push(format!("{name}: nested_skipped is {}, not {count}", stage["nested_skipped"]));
        }
        let accepted = answer("ast.resolve", json!({"stage_id": stage["stage_id"], "action": "accept"}));
        let now = fs::read_to_string(&file).unwrap();
        if expect["result"].as_str() != Some(now.as_str()) {
            failed.push(format!("{name}: {now:?} is not {} ({staged}, {accepted})", expect["result"]));
        }
    }
    println!("{} of {} cases of shapes agree", cases.len() - failed.len(), cases.len());
    assert!(!cases.is_empty() && failed.is_empty(), "{failed:#?}");
}

fn octal(mode: &Value) -> u32 {
    mode.as_str().map_or_else(|| u32::try_from(mode.as_u64().unwrap()).unwrap(), |text| u32::from_str_radix(text, 8).unwrap())
}

/// Base64 as the cases hold it.
fn decoded(text: &str) -> Vec<u8> {
    let value = |letter: u8| match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut out = Vec::new();
    let (mut bits, mut have) = (0u32, 0);
    for letter in text.bytes().filter(|letter| !matches!(letter, b'=' | b'\n')) {
        bits = bits << 6 | u32::from(value(letter));
        have += 6;
        if have >= 8 {
            have -= 8;
            out.push((bits >> have) as u8);
        }
    }
    out
}
