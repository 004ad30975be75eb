//! The generated reference must be as the types are.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

use std::{fs, path::Path};

fn check(file: &str, fresh: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    if std::env::var_os("CCD_WRITE_REFERENCE").is_some() {
        fs::write(&path, fresh).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == fresh, "{} is old. Write it again with: CCD_WRITE_REFERENCE=1 cargo test -p ccd-protocol", path.display());
}

#[test]
fn api_md_is_as_the_types_are() {
    check("API.md", &ccd_protocol::reference::markdown());
}

#[test]
fn schema_json_is_as_the_types_are() {
    let mut text = serde_json::to_string_pretty(&ccd_protocol::reference::schema()).unwrap();
    text.push('\n');
    check("schema.json", &text);
}

#[test]
fn every_method_has_a_sentence_and_a_unique_name() {
    let mut names: Vec<&str> = ccd_protocol::METHODS.iter().map(|method| method.name).collect();
    for method in ccd_protocol::METHODS {
        assert!(method.doc.trim().ends_with('.'), "{} needs a sentence", method.name);
        assert!(method.deadline.default_ms <= method.deadline.cap_ms, "{}", method.name);
    }
    names.sort_unstable();
    let count = names.len();
    names.dedup();
    assert_eq!(names.len(), count);
}
