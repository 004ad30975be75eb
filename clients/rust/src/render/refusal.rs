//! Why an edit was refused, and how to send it again.

use ccd_protocol::RpcError;
use serde::Deserialize;
use serde_json::Value;

use super::page::Page;

/// A hunk that is not in its file, as it is on the wire. What is not there is not told.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Failing {
    path: String,
    hunk: u64,
    patch_line: u64,
    matched_prefix: u64,
    first_difference: Option<Difference>,
    nearby: Option<Nearby>,
    other_candidates: Vec<u64>,
    already_applied: bool,
}

#[derive(Debug, Deserialize)]
struct Difference {
    line: u64,
    expected: String,
    #[serde(default)]
    found: Option<String>,
    kind: String,
}

#[derive(Debug, Deserialize)]
struct Nearby {
    line: u64,
    text: String,
}

/// The lines that stand under the sentence of the error.
pub(super) fn details(page: &mut Page, error: &RpcError) {
    let fields = &error.data.fields;
    let text = |name: &str| fields.get(name).and_then(Value::as_str);
    match error.data.kind.as_str() {
        "context_not_found" => context_not_found(page, error),
        "patch_syntax" => {
            if let Some(excerpt) = text("excerpt") {
                let line = fields.get("line").and_then(Value::as_u64).map(|line| format!(" {line}")).unwrap_or_default();
                page.line(format!("  line{line} of the patch: {}", visible(excerpt, false)));
            }
            if let Some(expected) = fields.get("expected") {
                page.line(format!("  expected: {}", words(expected)));
            }
        }
        "content_changed" | "rollback_failed" => {
            for entry in list(error, "paths") {
                page.line(format!("  {}", path_line(entry)));
            }
            for file in list(error, "recovery_files") {
                page.line(format!("  kept: {}", words(file)));
            }
            if let Some(diff) = text("diff") {
                page.text(diff.trim_end_matches('\n'));
            }
        }
        "old_text_not_found" => match fields.get("nearest") {
            Some(Value::Object(nearest)) => {
                let line = nearest.get("line").map(|line| format!(" {line}")).unwrap_or_default();
                let near = nearest.get("text").and_then(Value::as_str).unwrap_or_default();
                page.line(format!("  nearest, line{line}: {}", visible(near, false)));
            }
            Some(Value::String(near)) => page.line(format!("  nearest: {}", visible(near, false))),
            _ => {}
        },
        "old_text_ambiguous" => {
            page.line(format!("  at the lines {}", list(error, "lines").iter().map(words).collect::<Vec<_>>().join(", ")));
            page.foot("hint: give more of the text around it, or `--all` for every one");
        }
        "unseen_overwrite" => match text("version") {
            Some(version) => page.foot(format!("hint: read it first; then `--expect {version}`, or `--force`")),
            None => page.foot("hint: read it first; then `--expect` its version, or `--force`"),
        },
        "pattern_unparsable" => {
            for attempt in list(error, "attempts") {
                let part = |name: &str| attempt.get(name).map(words).unwrap_or_default();
                let place = attempt.get("line").map(|_| format!(" ({}:{})", part("line"), part("column"))).unwrap_or_default();
                page.line(format!("  as {}: {}{place}", part("reading"), part("reason")));
            }
            page.foot("hint: give a larger piece of code with --context, and the kind of the node that is meant with --selector");
        }
        "unbound_metavariable" => {
            let bound: Vec<String> = list(error, "bound").iter().map(|name| format!("${}", words(name))).collect();
            if !bound.is_empty() {
                page.line(format!("  the pattern binds: {}", bound.join(", ")));
            }
        }
        "bad_selector" => {
            let kinds: Vec<String> = list(error, "kinds").iter().map(words).collect();
            if !kinds.is_empty() {
                page.foot(format!("hint: closest: {}", kinds.join(", ")));
            }
        }
        "stage_unknown" | "stage_expired" | "stage_used" | "stage_store_full" => {
            if !list(error, "pending").is_empty() {
                page.foot("hint: `ccctl staged` lists those that wait");
            }
            if let Some(txn_id) = text("txn_id") {
                page.foot(format!("hint: `ccctl outcome {txn_id}` tells what it wrote"));
            }
        }
        // What is the daemon's own is never written.
        "protected_path" if text("allow").is_some() => page.foot("hint: `--allow-protected` writes to it all the same"),
        "read_only" => page.foot("hint: `--override-readonly` writes to it all the same, if it is only its mode"),
        "outside_workspace" => {
            let roots: Vec<String> = list(error, "roots").iter().map(words).collect();
            if !roots.is_empty() {
                page.line(format!("  this call may touch: {}", roots.join(", ")));
            }
        }
        "recovery_pending" => {
            if let Some(txn_id) = text("txn_id") {
                page.foot(format!("hint: `ccctl status` shows what became of {txn_id} so far"));
            }
        }
        "connection_lost" => {
            if let Some(txn_id) = text("in_flight_txn") {
                page.foot(format!("hint: `ccctl outcome {txn_id}` tells what became of it"));
            }
        }
        _ => {}
    }
    faults(page, error);
    for conflict in list(error, "conflicts") {
        let text = |name: &str| conflict.get(name).and_then(Value::as_str);
        let kept = text("kept").map(|kept| format!("; what was there before is kept in {kept}")).unwrap_or_default();
        page.line(format!("  {}: another writer came between{kept}", text("path").unwrap_or_default()));
    }
}

/// Operations of a patch that cannot be done at all. The sentence of an error tells of the first, so one alone is not repeated.
fn faults(page: &mut Page, error: &RpcError) {
    let faults = list(error, "faults");
    if faults.len() < 2 && error.data.kind != "context_not_found" {
        return;
    }
    for fault in faults {
        let text = |name: &str| fault.get(name).and_then(Value::as_str).unwrap_or_default();
        let line = fault.get("patch_line").and_then(Value::as_u64).unwrap_or_default();
        page.line(format!("  {} {} (line {line} of the patch): {}", text("op"), text("path"), text("why")));
    }
}

fn context_not_found(page: &mut Page, error: &RpcError) {
    let failures: Vec<Failing> =
        list(error, "failures").iter().filter_map(|failure| Failing::deserialize(failure).ok()).collect();
    for failure in &failures {
        failing(page, failure);
    }
    if let Some(more) = error.data.fields.get("more_failures").and_then(Value::as_u64) {
        page.line(format!("  {more} more hunks do not match"));
    }
    let open: Vec<&Failing> = failures.iter().filter(|failure| !failure.already_applied).collect();
    if open.is_empty() && !failures.is_empty() {
        page.foot("hint: the new text is there already; read the file before you change it again");
    }
    let Some(id) = error.data.fields.get("failure_id").and_then(Value::as_str) else { return };
    if !list(error, "faults").is_empty() {
        page.foot("hint: other hunks do not mend what cannot be done at all: send the whole patch again");
        return;
    }
    page.foot(format!("failure_id {id}"));
    // What was applied before may still be amended, but nobody should be led to it.
    match open.as_slice() {
        [] => {}
        [one] => page.foot(format!("hint: send only this hunk again, corrected: `ccctl amend {id} {} <HUNK`", one.hunk)),
        [first, ..] => page.foot(format!(
            "hint: send only these {} hunks again, corrected: `ccctl amend {id} --hunk {}=FILE ...`",
            open.len(),
            first.hunk
        )),
    }
}

fn failing(page: &mut Page, failure: &Failing) {
    page.line(format!("  {} hunk {} (line {} of the patch):", failure.path, failure.hunk, failure.patch_line));
    if failure.already_applied {
        page.line("    already applied: its new lines are in the file");
    }
    if let Some(difference) = &failure.first_difference {
        let before = match failure.matched_prefix {
            0 => String::new(),
            1 => ", after 1 line that is there".to_owned(),
            n => format!(", after {n} lines that are there"),
        };
        page.line(format!("    first difference ({}) at line {} of the file{before}", difference.kind, difference.line));
        let all = difference.kind == "whitespace";
        page.line(format!("      expected: {}", visible(&difference.expected, all)));
        page.line(match &difference.found {
            Some(found) => format!("      found:    {}", visible(found, all)),
            None => "      found:    (no such line)".to_owned(),
        });
    }
    let told = failure.first_difference.as_ref().map(|difference| difference.line);
    if let Some(nearby) = failure.nearby.as_ref().filter(|nearby| Some(nearby.line) != told) {
        page.line(format!("    closest, line {}: {}", nearby.line, visible(&nearby.text, false)));
    }
    if !failure.other_candidates.is_empty() {
        let lines: Vec<String> = failure.other_candidates.iter().map(u64::to_string).collect();
        page.line(format!("    it may also begin at line {}", lines.join(", ")));
    }
}

fn path_line(entry: &Value) -> String {
    let text = |name: &str| entry.get(name).and_then(Value::as_str);
    let Some(path) = text("path") else { return words(entry) };
    let state = text("reason").or_else(|| text("state")).map(|state| format!(": {state}")).unwrap_or_default();
    let now = text("now").map(|now| format!(", now {now}")).unwrap_or_default();
    format!("{path}{state}{now}")
}

fn list<'e>(error: &'e RpcError, name: &str) -> &'e [Value] {
    error.data.fields.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// A text as it is, a list with commas, anything else as JSON.
fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(entries) => entries.iter().map(words).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// A line with its white space made visible: `→` is a tab; `·` a blank at either end, or any with `all`.
fn visible(line: &str, all: bool) -> String {
    let begin = line.len() - line.trim_start().len();
    let end = line.trim_end().len();
    line.char_indices()
        .map(|(at, c)| match c {
            '\t' => '→',
            ' ' if all || at < begin || at >= end => '·',
            c => c,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn blanks_are_seen() {
        assert_eq!(visible("\t  let a = 1; ", false), "→··let a = 1;·");
        assert_eq!(visible("a  b", true), "a··b");
        assert_eq!(visible("  ", false), "··");
    }
}
