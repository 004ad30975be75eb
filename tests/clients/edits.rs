//! Edits with ccctl: patches, whole files, stretches; refusals, and taking back.

use std::fs;

use serde_json::Value;

use crate::place::Place;

/// Changes `src/lib.py` and makes `docs/notes.md`, seen from `src`.
const PATCH: &str = "*** Begin Patch
*** Update File: lib.py
@@ def main():
-    return helper()
+    return helper() + other()
+
+
+def other():
+    return helper()
*** Add File: ../docs/notes.md
+Notes.
*** End Patch
";

#[test]
fn a_patch_from_standard_input_is_seen_by_the_graph_and_undone() {
    let place = Place::new();
    let before = place.read("project/src/lib.py");
    let dry = place.fed(&["patch", "--dry-run"], PATCH);
    assert!(dry.code == 0 && dry.stdout.starts_with("dry run: nothing was written"), "{dry:?}");
    assert_eq!(place.read("project/src/lib.py"), before);

    let ran = place.fed(&["patch", "--txn", "t-1"], PATCH);
    assert_eq!(ran.code, 0, "{ran:?}");
    for text in [
        "Success. Updated the following files:\nA ../docs/notes.md\nM lib.py\n",
        "+++ b/src/lib.py",
        "+    return helper() + other()",
        "`ccctl undo t-1`",
    ] {
        assert!(ran.stdout.contains(text), "{text}: {ran:?}");
    }
    assert!(!ran.stdout.contains("diagnostics"), "nobody was asked: {ran:?}");
    assert_eq!(place.read("project/docs/notes.md"), "Notes.\n");
    let callers = place.run(&["callers", "lib.py:1"]);
    assert!(callers.stdout.contains("other") && callers.stdout.ends_with("2 callers\n"), "{callers:?}");

    // The same once more is the same answer, and another patch under that name is none.
    let again = place.fed(&["--json", "patch", "--txn", "t-1"], PATCH);
    assert!(again.code == 0 && again.stdout.contains("\"replayed\":true"), "{again:?}");
    let other = place.fed(&["patch", "--txn", "t-1"], &PATCH.replace("Notes", "More"));
    assert!(other.code == 1 && other.stderr.contains("t-1"), "{other:?}");
    let outcome = place.run(&["outcome", "t-1"]);
    assert!(outcome.code == 0 && outcome.stdout.starts_with("committed\nSuccess."), "{outcome:?}");
    let unknown = place.run(&["outcome", "t-2"]);
    assert!(unknown.code == 1 && unknown.stdout.starts_with("unknown: "), "{unknown:?}");

    let undone = place.run(&["undo", "t-1"]);
    assert_eq!(undone.code, 0, "{undone:?}");
    assert_eq!(place.read("project/src/lib.py"), before);
    assert!(place.base.join("project/docs/notes.md").symlink_metadata().is_err());
    let twice = place.run(&["undo", "t-1"]);
    assert_eq!(twice.code, 1, "{twice:?}");
    let never = place.json(&["undo", "t-3"]);
    assert_eq!(never["error"]["data"]["kind"], "undo_unknown");
}

#[test]
fn a_refused_patch_shows_its_hunks_and_only_these_are_sent_again() {
    let place = Place::new();
    let patch = "*** Begin Patch
*** Update File: lib.py
@@
-    return 1
+    return 10
*** Update File: other.py
@@
 class Box:
-  def helper(self):
+    def unhelpful(self):
         return 3
*** End Patch
";
    let ran = place.fed(&["patch"], patch);
    assert_eq!((ran.code, ran.stdout.as_str()), (1, ""), "{ran:?}");
    for text in
        ["other.py hunk 2 (line ", "line 3 of the file", "expected: ········return 3", "found:    ········return 2", "hint: "]
    {
        assert!(ran.stderr.contains(text), "{text}: {ran:?}");
    }
    assert!(place.read("project/src/lib.py").contains("return 1\n"), "all or nothing");
    let command = ran.stderr.split_once("`ccctl amend ").unwrap().1.split_once(" <HUNK`").unwrap().0;
    let (id, number) = command.split_once(' ').unwrap();
    assert_eq!(number, "2");
    assert!(ran.stderr.contains(&format!("failure_id {id}\n")), "{ran:?}");

    assert_eq!(place.fed(&["amend", id], "").code, 2);
    assert_eq!(place.run(&["amend", id, "--hunk", "0=x"]).code, 2);
    let hunk = " class Box:\n-    def helper(self):\n+    def unhelpful(self):\n         return 2\n";
    let amended = place.fed(&["amend", id, "2"], hunk);
    assert_eq!(amended.code, 0, "{amended:?}");
    assert!(place.read("project/src/lib.py").contains("return 10\n"));
    assert!(place.read("project/src/other.py").contains("unhelpful"));
    let used = place.fed(&["--json", "amend", id, "2"], hunk);
    assert!(used.code == 1 && used.stdout.contains("failure_unknown"), "{used:?}");

    let file = place.write("hunk", "-    return 100\n+    return 11\n");
    let ran = place
        .fed(&["--json", "patch"], "*** Begin Patch\n*** Update File: lib.py\n@@\n-    return 7\n+    return 11\n*** End Patch");
    let error: Value = serde_json::from_str(&ran.stdout).unwrap();
    let id = error["error"]["data"]["failure_id"].as_str().unwrap();
    let hunk = format!("1={}", file.display());
    assert_eq!(place.run(&["amend", id, "--hunk", &hunk]).code, 1);
    fs::write(&file, "-    return 10\n+    return 11\n").unwrap();
    assert_eq!(place.run(&["amend", id, "--hunk", &hunk]).code, 0);
    assert!(place.read("project/src/lib.py").contains("return 11\n"));
}

#[test]
fn what_models_put_around_a_patch_is_taken_off_or_refused() {
    let place = Place::new();
    let wrapped = serde_json::json!({"arguments": serde_json::json!({"input": PATCH}).to_string()}).to_string();
    let refused = place.fed(&["patch"], &wrapped.replace("arguments", "secret"));
    assert!(
        refused.code == 1 && refused.stderr.contains("<unknown> (string)") && !refused.stderr.contains("Notes"),
        "{refused:?}"
    );
    assert_eq!(place.run(&["status"]).code, 3, "what is no patch needs no daemon");
    let ran = place.fed(&["patch"], &wrapped);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(place.read("project/docs/notes.md"), "Notes.\n");

    // From a file, counted from another folder.
    let file = place.write("change.patch", "*** Begin Patch\n*** Add File: new.txt\n+x\n*** End Patch");
    let file = file.display().to_string();
    assert_eq!(place.run(&["patch", &file, "--cwd", "../docs"]).code, 0);
    assert_eq!(place.read("project/docs/new.txt"), "x\n");
    assert_eq!(place.run(&["patch", "nowhere"]).code, 2);
}

#[test]
fn a_streamed_call_gives_one_line() {
    let place = Place::new();
    let line = |event: &str, fields: Value| {
        let mut value = serde_json::json!({"event": event, "id": "c1"});
        value.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        format!("{value}\n")
    };
    let named = |extra: Value| {
        let mut value = serde_json::json!({"name": "apply_patch", "type": "custom_tool_call"});
        value.as_object_mut().unwrap().extend(extra.as_object().unwrap().clone());
        value
    };
    let start = line("start", named(serde_json::json!({})));
    let (left, right) = PATCH.split_at(20);
    let pieces = [left, right].map(|text| line("delta", serde_json::json!({"text": text}))).concat();
    let done = line("done", named(serde_json::json!({"input": PATCH})));
    let result = |input: &str| {
        let ran = place.fed(&["freeform"], input);
        assert_eq!(ran.stdout.lines().count(), 1, "{ran:?}");
        (ran.code, serde_json::from_str::<Value>(&ran.stdout).unwrap())
    };
    assert_eq!(result(&format!("{start}{pieces}{done}")), (0, serde_json::json!({"id": "c1", "patch": PATCH})));
    for damaged in
        [format!("{start}{pieces}"), format!("{start}{done}"), format!("{start}no json\n{pieces}{done}"), String::new()]
    {
        let (code, value) = result(&damaged);
        assert!(code == 1 && value["rejected"].as_str().unwrap().contains("raw patch text"), "{value}");
    }
    let failed = result(&format!("{start}{{\"event\":\"transport_failed\",\"reason\":\"reset\"}}\n"));
    assert_eq!(failed, (1, serde_json::json!({"transport_failed": "reset"})));
    assert_eq!(place.run(&["status"]).code, 3);
}

#[test]
fn the_grammar_and_the_tools_made_of_it_are_printed() {
    let place = Place::new();
    let grammar = place.run(&["patch", "--grammar"]);
    assert!(grammar.code == 0 && grammar.stdout.contains("*** Begin Patch") && grammar.stdout.contains("start:"), "{grammar:?}");
    let tool = |api: &str| serde_json::from_str::<Value>(&place.run(&["patch", "--tool", api]).stdout).unwrap();
    let responses = tool("openai-responses");
    assert_eq!((&responses["type"], &responses["name"]), (&Value::from("custom"), &Value::from("apply_patch")));
    assert_eq!(responses["format"]["definition"].as_str().unwrap().trim(), grammar.stdout.trim());
    let chat = tool("openai-chat");
    assert_eq!(chat["custom"]["format"]["grammar"]["syntax"], "lark");
    assert_eq!(place.run(&["patch", "--tool", "other"]).code, 2);
}

#[test]
fn a_whole_file_is_written_over_only_by_who_has_seen_it() {
    let place = Place::new();
    let refused = place.fed(&["write", "lib.py"], "x = 1\n");
    assert!(refused.code == 1 && refused.stderr.contains("--expect b3:"), "{refused:?}");
    let version = refused.stderr.split_once("--expect ").unwrap().1.split_once('`').unwrap().0;
    let ran = place.fed(&["write", "lib.py", "--expect", version], "x = 1\n");
    assert_eq!(ran.code, 0, "{ran:?}");
    // What the run wrote, it has seen; another run has not.
    assert_eq!(place.fed(&["write", "lib.py"], "x = 2\n").code, 0);
    assert_eq!(place.fed(&["write", "lib.py", "--run", "other"], "x = 3\n").code, 1);
    assert_eq!(place.fed(&["write", "lib.py", "--run", "other", "--force"], "x = 3\n").code, 0);
    assert_eq!(place.read("project/src/lib.py"), "x = 3\n");

    // A path that is not there counts from the working folder, whatever lies in the root under that name.
    place.write("project/README", "root\n");
    assert_eq!(place.fed(&["write", "README", "--no-overwrite"], "src\n").code, 0);
    assert_eq!((place.read("project/README").as_str(), place.read("project/src/README").as_str()), ("root\n", "src\n"));
    assert_eq!(place.fed(&["write", "README", "--no-overwrite"], "again\n").code, 1);
    assert_eq!(place.fed(&["write", "absent", "--no-create"], "x\n").code, 1);

    let protected = place.fed(&["write", "../.git/hooks/pre-commit"], "#!/bin/sh\n");
    assert!(protected.code == 1 && protected.stderr.contains("`--allow-protected`"), "{protected:?}");
    assert_eq!(place.fed(&["write", "../.git/hooks/pre-commit", "--allow-protected"], "#!/bin/sh\n").code, 0);
    let outside = place.fed(&["write", "../../outside"], "x\n");
    assert!(outside.code == 1 && outside.stderr.contains("this call may touch: "), "{outside:?}");
}

#[test]
fn a_stretch_is_replaced_by_its_text_or_its_place() {
    let place = Place::new();
    let ambiguous = place.run(&["edit", "lib.py", "--old", "helper", "--new", "aide"]);
    assert!(
        ambiguous.code == 1 && ambiguous.stderr.contains("at the lines 1, 6") && ambiguous.stderr.contains("`--all`"),
        "{ambiguous:?}"
    );
    assert_eq!(place.run(&["edit", "lib.py", "--old", "helper", "--new", "aide", "--all"]).code, 0);
    assert_eq!(place.run(&["edit", "lib.py", "--range", "2:12-2:13", "--new", "-1"]).code, 0);
    let new = place.write("new", "aide() or 0");
    let new = new.display().to_string();
    assert_eq!(place.fed(&["edit", "lib.py", "--old-file", "-", "--new-file", &new], "return aide()\n\n").code, 1);
    assert_eq!(place.fed(&["edit", "lib.py", "--old-file", "-", "--new-file", &new], "return aide()").code, 0);
    assert_eq!(place.read("project/src/lib.py"), "def aide():\n    return -1\n\n\ndef main():\n    aide() or 0\n");
    let absent = place.run(&["edit", "lib.py", "--old", "  returm", "--new", "x"]);
    assert_eq!(absent.code, 1, "{absent:?}");
    assert_eq!(place.run(&["edit", "lib.py", "--old", "x"]).code, 2);
    assert_eq!(place.run(&["edit", "lib.py", "--old", "x", "--range", "1:1-1:2", "--new", "y"]).code, 2);
    assert_eq!(place.run(&["edit", "lib.py", "--range", "2:1-1:1", "--new", "y"]).code, 2);
}

#[test]
fn the_patch_of_the_readme_does_what_it_says() {
    let place = Place::new();
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md")).unwrap();
    let patch = readme.split("```\n").find(|block| block.starts_with("*** Begin Patch")).unwrap();
    place.write(
        "project/src/price.py",
        "def total(items):\n    sum = 0\n    for item in items:\n        sum += item.cents\n    return sum\n",
    );
    place.write("project/src/old_name.py", "VERSION = 1\n");
    place.write("project/src/unused.py", "pass\n");
    let ran = place.fed(&["patch", "--cwd", ".."], patch);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert_eq!(place.read("project/docs/notes.md"), "# Notes\n");
    assert!(place.read("project/src/price.py").contains("    sum = 0\n    for item in paid(items):\n"));
    assert_eq!(place.read("project/src/new_name.py"), "VERSION = 2\n");
    for gone in ["old_name.py", "unused.py"] {
        assert!(place.base.join("project/src").join(gone).symlink_metadata().is_err(), "{gone}");
    }
}
