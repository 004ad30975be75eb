//! `graph.*`: the parameters into questions, the answers onto the wire.

use std::{path::PathBuf, sync::Arc};

use ccd_graph::{Answer, CallQuery, ImpactQuery, ImportQuery, ImportSubject, IndexRequest, Page, SearchQuery, SymbolQuery};
use ccd_protocol::{
    PositionOrName, RpcError,
    graph::{
        self as wire, CalleesParams, CallersParams, DigestParams, DigestResult, EdgesResult, ImpactLevel, ImpactParams,
        ImpactResult, ImportersParams, ImportsParams, IndexParams, IndexResult, OutlineParams, OutlineResult, PathParams,
        PathResult, SearchParams, SearchResult, SymbolParams, SymbolResult,
    },
};

use crate::{
    api::{
        asking::{Asking, Subject},
        convert,
        cursor::{Cursor, Question},
        read::max_bytes,
        refusal::{closed, language_unsupported, run_failed},
        symbol::{first_path, rel_of, symbol_query},
        workspace::token,
    },
    rpc::{
        call::{Call, Phase},
        params::wrong,
    },
    workspaces::{
        Where, Workspace,
        place::{absolute, shown},
    },
};

/// A limit as asked, at most its cap.
fn within(field: &str, asked: Option<u32>, default: u32, cap: u32) -> Result<u32, RpcError> {
    match asked {
        Some(0) => Err(wrong(field, "at least 1")),
        asked => Ok(asked.unwrap_or(default).min(cap)),
    }
}

/// Bytes of a query or name; longer ones find nothing and cost a lot.
const NAME: usize = 1024;

fn name(field: &str, text: &str) -> Result<(), RpcError> {
    if text.trim().is_empty() {
        return Err(wrong(field, "a name, not an empty text"));
    }
    if text.len() > NAME {
        return Err(wrong(field, format!("at most {NAME} bytes")));
    }
    Ok(())
}

pub(super) async fn index(call: Call, params: IndexParams) -> Result<IndexResult, RpcError> {
    let token = token(params.progress)?;
    if params.paths.as_ref().is_some_and(Vec::is_empty) {
        return Err(wrong("paths", "at least one path; leave it out for the whole workspace"));
    }
    let paths = params.paths.unwrap_or_default();
    for path in &paths {
        absolute("paths", path)?;
    }
    let first = paths.first().cloned().filter(|_| params.workspace.is_none()).map(|path| ("paths", path));
    let target = call.target(Where { workspace: params.workspace, path: first }).await?;
    let workspace = target.workspace;
    let subject = Subject { daemon: Arc::clone(&call.daemon), workspace: Arc::clone(&workspace), rel: PathBuf::new() };
    let rels = if paths.is_empty() {
        None
    } else {
        Some(
            call.query(move |_| paths.iter().map(|path| rel_of(&subject, "paths", path)).collect::<Result<Vec<_>, _>>())
                .await??,
        )
    };
    let graph = workspace.graph().ok_or_else(|| closed(&workspace))?;
    let full = params.full.unwrap_or(false);
    let (daemon, runner) = (Arc::clone(&call.daemon), Arc::clone(&workspace));
    let control = Arc::clone(&call.control);
    let run = async move {
        let began = move || control.enter(Phase::Running);
        match rels {
            None => runner.run_everything(&daemon, full, token, began).await,
            paths => runner.run(&daemon, IndexRequest { paths, full }, token, began).await,
        }
    };
    if !params.wait.unwrap_or(true) {
        workspace.expect_run(&graph);
        let (state, status) = current(&workspace)?;
        let workspace = Arc::clone(&workspace);
        tokio::spawn(async move {
            tokio::select! {
                () = workspace.closed() => {}
                result = run => {
                    if let Err(error) = result {
                        tracing::warn!(root = %workspace.path, %error, "an index run failed");
                    }
                }
            }
        });
        return Ok(IndexResult {
            state,
            files_parsed: 0,
            unchanged: 0,
            removed: 0,
            symbols: status.symbols,
            edges: status.edges,
            elapsed_ms: 0,
        });
    }
    call.control.enter(Phase::Indexing);
    let report = run.await;
    let report = report.map_err(|error| run_failed(&call, &workspace, error))?;
    let (state, _) = current(&workspace)?;
    Ok(IndexResult {
        state,
        files_parsed: report.files_parsed,
        unchanged: report.unchanged,
        removed: report.removed,
        symbols: report.symbols,
        edges: report.edges,
        elapsed_ms: u64::try_from(report.elapsed.as_millis()).unwrap_or(u64::MAX),
    })
}

/// How the index stands, if the workspace was not closed meanwhile.
fn current(workspace: &Workspace) -> Result<(wire::State, ccd_graph::Status), RpcError> {
    match workspace.status() {
        Some((state, status)) => Ok((convert::state(&state), status)),
        None => Err(closed(workspace)),
    }
}

pub(super) async fn search(call: Call, mut params: SearchParams) -> Result<SearchResult, RpcError> {
    name("query", &params.query)?;
    let limit = within("limit", params.limit.take(), 20, 200)?;
    let given = params.cursor.take();
    params.deadline_ms = None;
    if let Some(language) = &params.language
        && ccd_grammars::LanguageId::by_name(language).is_none()
    {
        return Err(language_unsupported(language, format!("There is no grammar for `{language}`.")));
    }
    let path_glob = match &params.path_glob {
        None => None,
        Some(glob) => Some(
            globset::Glob::new(glob).map_err(|error| wrong("path_glob", format!("a glob: {}", error.kind())))?.compile_matcher(),
        ),
    };
    let asking = Asking::begin(&call, Where { workspace: params.workspace.take(), path: None }).await?;
    let question = asking.question::<wire::Search>(&params);
    let cursor = question.read(given.as_deref())?;
    let query = SearchQuery {
        query: params.query,
        kinds: params.kinds.unwrap_or_default().into_iter().map(convert::plain_symbol_kind).collect(),
        language: params.language,
        path_glob,
        offset: cursor.offset,
        limit: limit as usize,
    };
    let Answer { value: page, state } = asking.ask(move |_, graph, cancel| Ok(graph.search(&query, cancel))).await?;
    cursor.check(&state)?;
    let next_cursor = question.next(cursor, page.items.len(), page.total, &state);
    let root = asking.root();
    Ok(SearchResult {
        state: convert::state(&state),
        total: page.total,
        hidden: (page.hidden > 0).then_some(page.hidden),
        symbols: page.items.into_iter().map(|symbol| convert::symbol(&root, symbol)).collect(),
        next_cursor,
    })
}

pub(super) async fn outline(call: Call, params: OutlineParams) -> Result<OutlineResult, RpcError> {
    let depth = within("depth", params.depth, 2, 16)?;
    let at = Where { workspace: params.workspace, path: Some(("path", params.path)) };
    let asking = Asking::at_once(&call, at).await?;
    let Answer { value: outline, state } =
        asking.ask(move |subject, graph, cancel| Ok(graph.outline(&subject.rel, depth, cancel))).await?;
    let root = asking.root();
    Ok(OutlineResult {
        state: convert::state(&state),
        rel: shown(&asking.target.rel),
        version: outline.version.to_string(),
        total: outline.total,
        symbols: outline.symbols.into_iter().map(|symbol| convert::symbol(&root, symbol)).collect(),
        parse_error: outline.parse_error,
    })
}

/// Where a question about symbols belongs: the named workspace, else that of the first place.
fn of_symbols(workspace: Option<String>, symbols: &[&PositionOrName]) -> Where {
    let path = if workspace.is_some() { None } else { first_path(symbols) };
    Where { workspace, path }
}

pub(super) async fn symbol(call: Call, params: SymbolParams) -> Result<SymbolResult, RpcError> {
    let limit = max_bytes(params.max_bytes)?;
    let source = params.with_source.unwrap_or(false).then_some(limit);
    let asking = Asking::begin(&call, of_symbols(params.workspace, &[&params.symbol])).await?;
    let Answer { value: detail, state } = asking
        .ask(move |subject, graph, cancel| {
            let query = symbol_query(subject, "symbol", &params.symbol)?;
            Ok(graph.symbol(&query, source, cancel))
        })
        .await?;
    let root = asking.root();
    Ok(SymbolResult {
        state: convert::state(&state),
        signature: detail.symbol.signature.clone(),
        symbol: convert::symbol(&root, detail.symbol),
        doc: detail.doc,
        source: detail.source,
        truncated: detail.truncated,
        callers_count: detail.callers,
        callees_count: detail.callees,
    })
}

fn edges_result(
    root: &str,
    question: &Question,
    cursor: Cursor,
    answer: Answer<Page<ccd_graph::EdgeView>>,
) -> Result<EdgesResult, RpcError> {
    let Answer { value: page, state } = answer;
    cursor.check(&state)?;
    Ok(EdgesResult {
        state: convert::state(&state),
        next_cursor: question.next(cursor, page.items.len(), page.total, &state),
        total: page.total,
        hidden: (page.hidden > 0).then_some(page.hidden),
        edges: convert::edges(root, page.items),
    })
}

/// `graph.callers` and `graph.callees` take the same parameters.
macro_rules! calls {
    ($handler:ident, $params:ty, $method:ty) => {
        pub(super) async fn $handler(call: Call, mut params: $params) -> Result<EdgesResult, RpcError> {
            let depth = within("depth", params.depth, 1, 6)?;
            let limit = within("limit", params.limit.take(), 50, 500)?;
            let given = params.cursor.take();
            params.deadline_ms = None;
            let asking = Asking::begin(&call, of_symbols(params.workspace.take(), &[&params.symbol])).await?;
            let question = asking.question::<$method>(&params);
            let cursor = question.read(given.as_deref())?;
            let min_confidence = params.min_confidence.map(convert::plain_confidence);
            let answer = asking
                .ask(move |subject, graph, cancel| {
                    let symbol = symbol_query(subject, "symbol", &params.symbol)?;
                    let query = CallQuery { symbol, depth, min_confidence, offset: cursor.offset, limit: limit as usize };
                    Ok(graph.$handler(&query, cancel))
                })
                .await?;
            edges_result(&asking.root(), &question, cursor, answer)
        }
    };
}
calls!(callers, CallersParams, wire::Callers);
calls!(callees, CalleesParams, wire::Callees);

/// `graph.imports` and `graph.importers` take the same parameters.
macro_rules! modules {
    ($handler:ident, $params:ty, $method:ty) => {
        pub(super) async fn $handler(call: Call, mut params: $params) -> Result<EdgesResult, RpcError> {
            let depth = within("depth", params.depth, 1, 6)?;
            let limit = within("limit", params.limit.take(), 50, 500)?;
            let given = params.cursor.take();
            params.deadline_ms = None;
            let path = match (&params.path, &params.module) {
                (Some(path), None) => Some(("path", path.clone())),
                (None, Some(module)) => name("module", module).map(|()| None)?,
                (None, None) => return Err(wrong("path", "a path or a `module`")),
                (Some(_), Some(_)) => return Err(wrong("module", "a path or a module, not both")),
            };
            let asking = Asking::begin(&call, Where { workspace: params.workspace.take(), path }).await?;
            let question = asking.question::<$method>(&params);
            let cursor = question.read(given.as_deref())?;
            let answer = asking
                .ask(move |subject, graph, cancel| {
                    let of = match params.module {
                        Some(module) => ImportSubject::Module(module),
                        None => ImportSubject::File(subject.rel.clone()),
                    };
                    let query = ImportQuery { of, depth, offset: cursor.offset, limit: limit as usize };
                    Ok(graph.$handler(&query, cancel))
                })
                .await?;
            edges_result(&asking.root(), &question, cursor, answer)
        }
    };
}
modules!(imports, ImportsParams, wire::Imports);
modules!(importers, ImportersParams, wire::Importers);

/// Symbols and files that one question about a change may name.
const CHANGED: usize = 1000;

pub(super) async fn impact(call: Call, params: ImpactParams) -> Result<ImpactResult, RpcError> {
    let depth = within("depth", params.depth, 3, 8)?;
    let limit = within("limit", params.limit, 100, 1000)?;
    let symbols = params.symbols.unwrap_or_default();
    let paths = params.paths.unwrap_or_default();
    if symbols.is_empty() && paths.is_empty() {
        return Err(wrong("symbols", "at least one symbol or path"));
    }
    if symbols.len() + paths.len() > CHANGED {
        return Err(wrong("symbols", format!("at most {CHANGED} symbols and paths together")));
    }
    for path in &paths {
        absolute("paths", path)?;
    }
    let path = match &params.workspace {
        Some(_) => None,
        None => match paths.first() {
            Some(path) => Some(("paths", path.clone())),
            None => first_path(&symbols.iter().collect::<Vec<_>>()),
        },
    };
    let asking = Asking::begin(&call, Where { workspace: params.workspace, path }).await?;
    let Answer { value: impact, state } = asking
        .ask(move |subject, graph, cancel| {
            let query = ImpactQuery {
                symbols: symbols.iter().map(|symbol| symbol_query(subject, "symbols", symbol)).collect::<Result<_, _>>()?,
                files: paths.iter().map(|path| rel_of(subject, "paths", path)).collect::<Result<_, _>>()?,
                depth,
                limit: limit as usize,
            };
            Ok(graph.impact(&query, cancel))
        })
        .await?;
    let root = asking.root();
    let level = |(distance, symbols, via): (u32, Vec<ccd_graph::SymbolRef>, Vec<ccd_graph::EdgeView>)| ImpactLevel {
        distance,
        symbols: symbols.into_iter().map(convert::symbol_ref).collect(),
        via: convert::edges(&root, via),
    };
    Ok(ImpactResult {
        state: convert::state(&state),
        by_distance: impact.levels.into_iter().map(level).collect(),
        files: impact.files,
        tests: impact.tests.into_iter().map(convert::symbol_ref).collect(),
        total: impact.total,
        truncated: impact.truncated,
    })
}

pub(super) async fn paths(call: Call, params: PathParams) -> Result<PathResult, RpcError> {
    let max_depth = within("max_depth", params.max_depth, 8, 16)?;
    let asking = Asking::begin(&call, of_symbols(params.workspace, &[&params.from, &params.to])).await?;
    let Answer { value: ways, state } = asking
        .ask(move |subject, graph, cancel| {
            let from: SymbolQuery = symbol_query(subject, "from", &params.from)?;
            let to = symbol_query(subject, "to", &params.to)?;
            Ok(graph.path(&from, &to, max_depth, cancel))
        })
        .await?;
    let root = asking.root();
    Ok(PathResult {
        state: convert::state(&state),
        total: ways.paths.len() as u64,
        paths: ways.paths.into_iter().map(|way| convert::edges(&root, way)).collect(),
        truncated: ways.truncated,
    })
}

pub(super) async fn digest(call: Call, params: DigestParams) -> Result<DigestResult, RpcError> {
    let asking = Asking::begin(&call, Where { workspace: params.workspace, path: None }).await?;
    let Answer { value: digest, state } = asking.ask(|_, graph, cancel| Ok(graph.digest(cancel))).await?;
    Ok(DigestResult { state: convert::state(&state), digest: digest.digest, symbols: digest.symbols, edges: digest.edges })
}
