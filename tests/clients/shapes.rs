//! Structural search and rewriting with ccctl: what is printed, what is staged, what is written.

use crate::place::Place;

#[test]
fn grep_prints_places_and_counts() {
    let place = Place::new();
    let ran = place.run(&["grep", "helper()", "--lang", "python"]);
    assert_eq!(ran.code, 0, "{ran:?}");
    assert!(ran.stdout.starts_with("src/lib.py:6:12: helper()\n"), "{ran:?}");
    assert!(ran.stdout.contains("1 match in 1 file; 2 files searched\nread as "), "{ran:?}");
    // From a path, relative to the working folder; a rule by its pattern and by a kind.
    let ran = place.run(&["grep", "return $X", "lib.py", "--where", "X=^h", "--inside", "kind:function_definition"]);
    assert!(ran.code == 0 && ran.stdout.starts_with("src/lib.py:6:5: return helper()\n"), "{ran:?}");
    let ran = place.run(&["grep", "--kind", "class_definition", "--glob", "**/*.py", "--has", "return 2"]);
    assert!(ran.code == 0 && ran.stdout.starts_with("src/other.py:1:1: class Box: …\n"), "{ran:?}");
    let ran = place.run(&["grep", "return $X", "--lang", "python", "--limit", "1"]);
    assert!(ran.stdout.contains("1 of 3 matches in 2 files") && ran.stdout.contains("next page: --cursor "), "{ran:?}");
    let cursor = ran.stdout.split_once("--cursor ").unwrap().1.trim().to_owned();
    let ran = place.run(&["grep", "return $X", "--lang", "python", "--limit", "1", "--cursor", &cursor]);
    assert!(ran.stdout.starts_with("src/lib.py:6:5: return helper()\n"), "{ran:?}");

    // Nothing found is an answer, and says how the pattern was read.
    let none = place.run(&["grep", "absent($X)", "--lang", "python"]);
    assert!(none.code == 0 && none.stdout.contains("0 matches in 0 files"), "{none:?}");
    assert!(none.stdout.contains("The pattern was read as\n  (call"), "{none:?}");
    let broken = place.run(&["grep", "f((", "--lang", "python"]);
    assert!(broken.code == 1 && broken.stdout.is_empty() && broken.stderr.contains("  as expression: "), "{broken:?}");
    assert_eq!(place.run(&["grep", "f()"]).code, 2, "which language?");
    assert_eq!(place.run(&["grep", "--lang", "python"]).code, 2, "no pattern");
    assert_eq!(place.run(&["grep", "f()", "--lang", "python", "--where", "X"]).code, 2);
    let json = place.json(&["grep", "helper()", "--lang", "python"]);
    assert_eq!(json["total"], 1);
}

#[test]
fn a_rewrite_waits_until_it_is_accepted() {
    let place = Place::new();
    let before = place.read("project/src/lib.py");
    let rewrite = ["rewrite", "return helper()", "return helper() + 1", "--lang", "python"];
    let ran = place.run(&rewrite);
    assert_eq!(ran.code, 0, "{ran:?}");
    for text in
        ["--- a/src/lib.py", "-    return helper()", "+    return helper() + 1", "1 place in 1 file", "nothing is written yet"]
    {
        assert!(ran.stdout.contains(text), "{text}: {ran:?}");
    }
    assert_eq!(place.read("project/src/lib.py"), before);
    let stage = ran.stdout.split_once("\nstage ").unwrap().1.split_once(':').unwrap().0.to_owned();
    let listed = place.run(&["staged"]);
    assert!(listed.stdout.starts_with(&stage) && listed.stdout.ends_with("1 stage\n"), "{listed:?}");
    let shown = place.run(&["resolve", &stage, "preview"]);
    assert!(shown.code == 0 && shown.stdout.contains("+    return helper() + 1"), "{shown:?}");

    place.write("project/src/lib.py", &before.replace("return 1", "return 9"));
    let refused = place.run(&["resolve", &stage, "accept"]);
    assert!(
        refused.code == 1 && refused.stderr.contains("lib.py") && refused.stderr.contains("the stage is kept"),
        "{refused:?}"
    );
    place.write("project/src/lib.py", &before);
    let done = place.run(&["resolve", &stage, "accept", "--txn", "t-7"]);
    assert!(done.code == 0 && done.stdout.contains("`ccctl undo t-7`"), "{done:?}");
    assert!(place.read("project/src/lib.py").contains("return helper() + 1\n"));
    let used = place.run(&["resolve", &stage, "accept"]);
    assert!(used.code == 1 && used.stderr.contains("`ccctl outcome t-7`"), "{used:?}");
    assert_eq!(place.run(&["undo", "t-7"]).code, 0);
    assert_eq!(place.read("project/src/lib.py"), before);

    let dry = place.run(&[&rewrite[..], &["--dry-run"]].concat());
    assert!(dry.code == 0 && dry.stderr.contains("discarded") && !dry.stdout.contains("accept"), "{dry:?}");
    assert!(place.run(&["staged"]).stdout.ends_with("0 stages\n"));
    let yes = place.run(&[&rewrite[..], &["--yes"]].concat());
    assert!(yes.code == 0 && yes.stdout.contains("Success."), "{yes:?}");
    assert!(place.read("project/src/lib.py").contains("return helper() + 1\n"));
    let none = place.run(&["rewrite", "absent($X)", "x", "--lang", "python"]);
    assert!(none.code == 1 && none.stdout.contains("0 places in 0 files"), "{none:?}");
    let unbound = place.run(&["rewrite", "return $X", "return $Y", "--lang", "python"]);
    assert!(unbound.code == 1 && unbound.stderr.contains("the pattern binds: $X"), "{unbound:?}");
    let other = place.run(&["rewrite", "return $X", "return ($X)", "--lang", "python", "--nested", "inner"]);
    assert_eq!(other.code, 2, "{other:?}");
    let staged = place.run(&["rewrite", "return $X", "return ($X)", "--lang", "python"]);
    let stage = staged.stdout.split_once("\nstage ").unwrap().1.split_once(':').unwrap().0.to_owned();
    let discarded = place.run(&["resolve", &stage, "discard"]);
    assert!(discarded.code == 0 && discarded.stdout.contains("nothing was written"), "{discarded:?}");
}
