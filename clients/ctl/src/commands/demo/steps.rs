//! The steps of the demo: what each asks, and what its answer must hold.

use std::path::Path;

use ccd_client::{Client, ClientError, render};
use ccd_protocol::{
    Method, PositionOrName,
    ast::{Action, Edit as Rewrite, EditParams as RewriteParams, Grep, GrepParams, Resolve, ResolveParams, ResolveResult},
    edit::{ApplyPatch, ApplyPatchParams, EditOutcome, Undo, UndoParams},
    graph::{Callers, CallersParams, Edge, Impact, ImpactParams, Index, IndexParams, Search, SearchParams},
};

use super::sample;
use crate::{
    outcome::{self, Exit, Failure},
    session::Session,
};

/// What the steps have in common, and what came of them.
struct Steps<'a> {
    session: &'a Session,
    client: &'a Client,
    root: String,
    done: Vec<serde_json::Value>,
}

/// Runs every step; the exit says whether all answers were as expected.
pub(super) async fn all(session: &Session, client: &Client, root: &Path) -> Result<Exit, Failure> {
    let root = root.display().to_string();
    let mut steps = Steps { session, client, root: root.clone(), done: Vec::new() };
    let workspace = || Some(root.clone());
    let name = |name: &str| PositionOrName::Name(name.to_owned());

    let params = IndexParams { workspace: workspace(), ..IndexParams::default() };
    steps
        .step::<Index>(
            "index",
            "Index a small shop: prices in Rust, a cart in TypeScript, stock in Go, tools in Python",
            &params,
            render::index,
            |result| {
                expect(
                    result.files_parsed == sample::sources(),
                    format!("{} parsed files, not {}", sample::sources(), result.files_parsed),
                )
            },
        )
        .await?;

    let params = SearchParams { workspace: workspace(), query: "discount".to_owned(), ..SearchParams::default() };
    steps
        .step::<Search>(
            "search",
            "Find a definition by a part of its name: `ccctl search discount`",
            &params,
            render::search,
            |result| {
                let first = result.symbols.first().map(|symbol| (symbol.rel.as_str(), symbol.name.as_str()));
                expect(first == Some(("price/src/total.rs", "discounted")), format!("discounted first, not {first:?}"))
            },
        )
        .await?;

    for (symbol, caller, file, what) in [
        ("discounted", "total", "price/src/total.rs", "Who calls it? `ccctl callers discounted`"),
        ("formatMoney", "label", "web/cart.ts", "The same over an import, in TypeScript: `ccctl callers formatMoney`"),
        ("Reserve", "PlaceOrder", "stock/order.go", "Over the files of a Go package: `ccctl callers Reserve`"),
        ("read_catalogue", "cheapest", "tools/restock.py", "Over a Python import: `ccctl callers read_catalogue`"),
    ] {
        let params = CallersParams { workspace: workspace(), symbol: name(symbol), ..CallersParams::default() };
        let text = |result: &_, options| render::edges(result, render::Direction::In, "caller", options);
        let is_caller = |edge: &Edge| edge.from.name == caller && edge.site.rel == file;
        steps
            .step::<Callers>("callers", what, &params, text, |result| {
                expect(result.edges.iter().any(is_caller), format!("a call in {caller} ({file})"))
            })
            .await?;
    }

    let params = ImpactParams { workspace: workspace(), symbols: Some(vec![name("discounted")]), ..ImpactParams::default() };
    steps
        .step::<Impact>(
            "impact",
            "What can a change of it reach, and which tests? `ccctl impact discounted`",
            &params,
            render::impact,
            |result| {
                let reached =
                    |name: &str| result.by_distance.iter().any(|level| level.symbols.iter().any(|symbol| symbol.name == name));
                expect(reached("total") && reached("invoice_line"), "total and, behind it, invoice_line".to_owned())?;
                expect(
                    result.tests.iter().any(|test| test.name == "ten_cost_as_much_as_nine"),
                    "the test ten_cost_as_much_as_nine".to_owned(),
                )
            },
        )
        .await?;
    change(&mut steps, &root).await?;
    reshape(&mut steps, &root).await?;
    steps.finish()
}

/// Over two files: a function out of another one, and a further caller of it.
const PATCH: &str = "\
*** Begin Patch
*** Update File: price/src/total.rs
@@ pub fn discounted(item: &Item) -> u64 {
-    item.cents * (item.count - item.count / 10)
+    item.cents * (item.count - free(item.count))
 }
+
+/// Every tenth piece.
+pub fn free(count: u64) -> u64 {
+    count / 10
+}
*** Update File: price/src/invoice.rs
@@
-use crate::total::{Item, total};
+use crate::total::{Item, free, total};
@@ pub fn invoice_line(items: &[Item]) -> String {
     let cents = total(items);
     format!(\"{}.{:02}\", cents / 100, cents % 100)
 }
+
+/// What a customer likes to read.
+pub fn free_line(items: &[Item]) -> String {
+    let pieces: u64 = items.iter().map(|item| free(item.count)).sum();
+    format!(\"{pieces} for free\")
+}
*** End Patch
";

/// Patches two files, asks the graph about what is new, and takes it back.
async fn change(steps: &mut Steps<'_>, root: &str) -> Result<(), Failure> {
    let workspace = || Some(root.to_owned());
    let params = ApplyPatchParams { workspace: workspace(), patch: PATCH.to_owned(), ..ApplyPatchParams::default() };
    let wrote = |result: &EditOutcome| {
        let files: Vec<&str> = result.files.iter().map(|file| file.rel.as_str()).collect();
        let both = files == ["price/src/total.rs", "price/src/invoice.rs"];
        expect(result.applied && both, format!("two changed files, not {files:?}"))
    };
    let what = "Change two files at once, all of it or nothing: `ccctl patch <PATCH`";
    let Some(patched) = steps.step::<ApplyPatch>("patch", what, &params, render::edit, wrote).await? else { return Ok(()) };

    let free = PositionOrName::Name("free".to_owned());
    let params = CallersParams { workspace: workspace(), symbol: free, ..CallersParams::default() };
    let text = |result: &_, options| render::edges(result, render::Direction::In, "caller", options);
    steps
        .step::<Callers>("callers", "The graph has followed: `ccctl callers free`", &params, text, |result| {
            let calls = |caller: &str| result.edges.iter().any(|edge| edge.from.name == caller);
            expect(calls("discounted") && calls("free_line"), "calls in discounted and in free_line".to_owned())
        })
        .await?;

    let params = UndoParams { workspace: workspace(), undo_txn_id: patched.txn_id, ..UndoParams::default() };
    steps
        .step::<Undo>("undo", "Take it back: `ccctl undo TXN`", &params, render::edit, |result| {
            expect(result.applied && sample::is_whole(Path::new(root)), "every file as it was".to_owned())
        })
        .await?;

    let params = SearchParams { workspace: workspace(), query: "free".to_owned(), ..SearchParams::default() };
    steps
        .step::<Search>("search", "And the graph knows it: `ccctl search free`", &params, render::search, |result| {
            expect(result.total == 0, format!("nothing, not {}", result.total))
        })
        .await?;
    Ok(())
}

/// Finds a call by its shape, stages a rewrite of it, and accepts that.
async fn reshape(steps: &mut Steps<'_>, root: &str) -> Result<(), Failure> {
    let workspace = || Some(root.to_owned());
    let pattern = || Some("this.cents.push($CENTS)".to_owned());
    let language = || Some("typescript".to_owned());
    let params = GrepParams { workspace: workspace(), pattern: pattern(), language: language(), ..GrepParams::default() };
    let what = "Find code by its shape: `ccctl grep 'this.cents.push($CENTS)' --lang typescript`";
    steps
        .step::<Grep>("grep", what, &params, render::grep, |result| {
            let found = result.matches.first().map(|found| (found.rel.as_str(), found.text.as_str()));
            let expected = Some(("web/cart.ts", "this.cents.push(cents)"));
            expect(result.total == 1 && found == expected, format!("the one call in web/cart.ts, not {found:?}"))
        })
        .await?;

    let params = RewriteParams {
        workspace: workspace(),
        pattern: pattern(),
        rewrite: "this.cents = [...this.cents, $CENTS]".to_owned(),
        language: language(),
        ..RewriteParams::default()
    };
    let what = "Prepare a rewrite, and look at it first: `ccctl rewrite 'this.cents.push($CENTS)' 'this.cents = [...this.cents, $CENTS]' --lang typescript`";
    let staged = steps
        .step::<Rewrite>("rewrite", what, &params, render::stage, |result| {
            expect(result.sites == 1 && sample::is_whole(Path::new(root)), "one place, and nothing written".to_owned())
        })
        .await?;
    let Some(stage_id) = staged.and_then(|stage| stage.stage_id) else { return Ok(()) };

    let params = ResolveParams { stage_id, action: Action::Accept, ..ResolveParams::default() };
    let what = "Accept it, onto exactly the bytes it was made from: `ccctl resolve STAGE accept`";
    steps
        .step::<Resolve>("resolve", what, &params, render::resolve, |result| {
            let written = matches!(result, ResolveResult::Accepted(outcome) if outcome.applied && outcome.files.len() == 1);
            let text = std::fs::read_to_string(Path::new(root).join("web/cart.ts")).unwrap_or_default();
            expect(written && text.contains("    this.cents = [...this.cents, cents];\n"), "web/cart.ts, rewritten".to_owned())
        })
        .await?;
    Ok(())
}

fn expect(holds: bool, what: String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what) }
}

impl Steps<'_> {
    /// The result, if there is one.
    async fn step<M: Method>(
        &mut self,
        id: &str,
        what: &str,
        params: &M::Params,
        text: impl FnOnce(&M::Result, render::Options) -> String,
        check: impl FnOnce(&M::Result) -> Result<(), String>,
    ) -> Result<Option<M::Result>, Failure> {
        let number = self.done.len() + 1;
        let result: Result<M::Result, ClientError> = self.client.call::<M>(params).await;
        let (shown, verdict) = match &result {
            Ok(result) => (text(result, render::Options::default()), check(result)),
            Err(error) => (render::error(&error.to_rpc(), render::Options::default()), Err("an answer".to_owned())),
        };
        if !self.session.json {
            let indented: String = shown.lines().map(|line| format!("   {line}\n")).collect();
            outcome::data(&format!("\n{number}. {what}\n{}", indented.replace(&self.root, "shop")))?;
        }
        if let Err(expected) = &verdict {
            outcome::note(&format!("   step {number} is not as it should be: expected {expected}"));
        }
        self.done.push(serde_json::json!({ "step": id, "what": what, "ok": verdict.is_ok(), "output": shown }));
        Ok(result.ok())
    }

    fn finish(self) -> Result<Exit, Failure> {
        let ok = self.done.iter().all(|step| step["ok"] == true);
        if self.session.json {
            outcome::data(&format!("{}\n", serde_json::json!({ "ok": ok, "steps": self.done })))?;
        }
        Ok(if ok { Exit::Ok } else { Exit::Refused })
    }
}
