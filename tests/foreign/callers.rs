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
    edges
        .iter()
        .map(|edge| format!("{}: {}", edge["site"]["rel"].as_str().unwrap(), edge["from"]["name"].as_str().unwrap()))
        .collect()
}

fn check(indexed: &mut Indexed, symbol: &str, expected: &[&str]) {
    let found = callers(indexed, symbol);
    let expected: BTreeSet<String> = expected.iter().map(|line| (*line).to_owned()).collect();
    assert_eq!(found, expected, "callers of {symbol}");
}

#[test]
fn callers_in_tokio() {
    let mut tokio = Indexed::new(&crate_sources("tokio"), &[".rs", "Cargo.toml"]);
    // By a module path, from inside the crate.
    check(
        &mut tokio,
        "try_enter_blocking_region",
        &["src/runtime/blocking/shutdown.rs: wait", "src/future/block_on.rs: block_on"],
    );
    // Given out by `pub use`, called from integration tests as `tokio::runtime::…`, inside `assert!`.
    check(
        &mut tokio,
        "tokio::runtime::is_rt_shutdown_err",
        &[
            "src/process/unix/pidfd_reaper.rs: poll",
            "tests/tcp_accept_ready.rs: later_reads_after_runtime_drop_report_shutdown",
            "tests/rt_handle_block_on.rs: stdout_shutdown_before_started",
            "tests/rt_handle_block_on.rs: tcp_listener_connect_after_shutdown",
            "tests/rt_handle_block_on.rs: tcp_listener_connect_before_shutdown",
            "tests/rt_handle_block_on.rs: udp_stream_bind_after_shutdown",
            "tests/rt_handle_block_on.rs: udp_stream_bind_before_shutdown",
            "tests/rt_handle_block_on.rs: unix_listener_bind_after_shutdown",
            "tests/rt_handle_block_on.rs: unix_listener_shutdown_after_bind",
            "tests/rt_handle_block_on.rs: unix_listener_shutdown_after_accept",
            "tests/rt_shutdown_err.rs: test_is_rt_shutdown_err",
            "tests/rt_shutdown_err.rs: test_is_not_rt_shutdown_err",
            "tests/rt_shutdown_err.rs: test_join_error_panic",
            "tests/rt_shutdown_err.rs: test_join_error_cancelled",
            "tests/rt_shutdown_err.rs: test_other_error_kinds_and_strings",
        ],
    );
    // Inside the bodies of `cfg_rt! { … }`.
    check(
        &mut tokio,
        "runtime::context::with_scheduler",
        &[
            "src/runtime/time_alt/timer.rs: with_current_temp_local_context",
            "src/runtime/task/trace/mod.rs: trace_leaf",
            "src/runtime/scheduler/multi_thread/worker.rs: with_current",
            "src/runtime/scheduler/current_thread/mod.rs: dump",
            "src/runtime/scheduler/current_thread/mod.rs: schedule",
            "src/runtime/scheduler/current_thread/mod.rs: unhandled_panic",
            "src/runtime/scheduler/current_thread/mod.rs: wake_by_ref",
            "src/runtime/context.rs: worker_index",
            "src/runtime/context.rs: defer",
        ],
    );
    // Methods of values are candidates; none of them is told as exact, and none is left out.
    let answer = tokio.ask("graph.callers", json!({"symbol": "Handle::spawn_named", "limit": 500}));
    let edges = answer["edges"].as_array().unwrap();
    assert!(!edges.is_empty(), "{answer}");
    for edge in edges {
        let word = edge["confidence"].as_str().unwrap();
        assert!(word == "candidate" || word == "exact" && edge["site"]["text"].as_str().unwrap().contains("self."), "{edge}");
    }
}

#[test]
fn callers_in_jsonrpsee() {
    let mut core = Indexed::new(&crate_sources("jsonrpsee-core"), &[".rs", "Cargo.toml"]);
    check(&mut core, "read_header_value", &["src/http_helpers.rs: read_header_content_length"]);
    let mut server = Indexed::new(&crate_sources("jsonrpsee-server"), &[".rs", "Cargo.toml"]);
    check(&mut server, "content_type_is_json", &["src/transport/http.rs: call_with_service"]);
    check(
        &mut server,
        "response::malformed",
        &["src/transport/http.rs: call_with_service", "src/middleware/http/host_filter.rs: call"],
    );
    check(&mut server, "response::too_many_requests", &["src/server.rs: call"]);
    // What leads out of the crate is told as external, by its path.
    let callees = server.ask("graph.callees", json!({"symbol": "handle_rpc_call", "limit": 500}));
    let outside: Vec<_> = callees["edges"].as_array().unwrap().iter().filter(|edge| edge["confidence"] == "external").collect();
    assert!(
        outside.iter().any(|edge| edge["to"]["qualified"] == "jsonrpsee_core::server::helpers::prepare_error"),
        "{outside:#?}"
    );
}
