//! The steps of the demo: what each asks, and what its answer must hold.

use std::path::Path;

use ccd_client::{Client, ClientError, render};
use ccd_protocol::{
    Method, PositionOrName,
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
    steps.finish()
}

fn expect(holds: bool, what: String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what) }
}

impl Steps<'_> {
    async fn step<M: Method>(
        &mut self,
        id: &str,
        what: &str,
        params: &M::Params,
        text: impl FnOnce(&M::Result, render::Options) -> String,
        check: impl FnOnce(&M::Result) -> Result<(), String>,
    ) -> Result<(), Failure> {
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
        Ok(())
    }

    fn finish(self) -> Result<Exit, Failure> {
        let ok = self.done.iter().all(|step| step["ok"] == true);
        if self.session.json {
            outcome::data(&format!("{}\n", serde_json::json!({ "ok": ok, "steps": self.done })))?;
        }
        Ok(if ok { Exit::Ok } else { Exit::Refused })
    }
}
