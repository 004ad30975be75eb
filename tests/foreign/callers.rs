//! Callers in foreign crates, as a person found them in the text of the locked versions.
//!
//! A new version of a crate may move or add some: look at the text again, and write down what stands there.

use std::collections::BTreeSet;

use serde_json::json;

use crate::{Indexed, crate_sources};

fn callers(indexed: &mut Indexed, symbol: &str) -> BTreeSet<String> {
    let answer = indexed.ask("graph.callers", json!({"symbol": symbol, "limit": 500, "min_confidence": "exact"}));
    let edges = answer["edges"].as_array().unwrap();
    assert_eq!(answer["total"].as_u64().unwrap(), edges.len() as u64);
    edges.iter().map(|edge| format!("{}: {}", edge["site"]["rel"].as_str().unwrap(), edge["from"]["name"].as_str().unwrap())).collect()
}

fn check(indexed: &mut Indexed, symbol: &str, expected: &[&str]) {
    let found = callers(indexed, symbol);
    let expected: BTreeSet<String> = expected.iter().map(|line| (*line).to_owned()).collect();
    assert_eq!(found, expected, "callers of {symbol}");
}
