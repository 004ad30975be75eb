//! A small project on disk with its graph.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use ccd_corpus::{Cancel, Limits};
use ccd_files::Root;
use ccd_graph::{
    CallQuery, Confidence, EdgeView, Graph, ImpactQuery, ImportQuery, ImportSubject, IndexReport, IndexRequest, Shared,
    SymbolQuery,
};
use expect_test::Expect;

pub(crate) struct Project {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) shared: Arc<Shared>,
    pub(crate) graph: Graph,
}

#[allow(dead_code, reason = "each test crate uses a part")]
impl Project {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        for (path, text) in files {
            write(&tree, path, text);
        }
        fs::create_dir_all(&tree).unwrap();
        Self::open(folder)
    }

    pub(crate) fn open(folder: tempfile::TempDir) -> Self {
        let cache = folder.path().join("cache");
        let shared = Shared::new(cache);
        let root = Root::open(&folder.path().join("tree"), None).unwrap();
        let graph = Graph::new(Arc::new(root), shared.clone(), Limits::default());
        let project = Self { folder, shared, graph };
        project.index(None);
        project
    }

    /// The same tree and cache, as another process would find them.
    pub(crate) fn reopen(self) -> Self {
        self.graph.close(std::time::Instant::now());
        self.shared.close();
        drop(self.graph);
        drop(self.shared);
        Self::open(self.folder)
    }

    pub(crate) fn tree(&self) -> PathBuf {
        self.folder.path().join("tree")
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.tree(), path, text);
    }

    pub(crate) fn index(&self, paths: Option<&[&str]>) -> IndexReport {
        let paths = paths.map(|paths| paths.iter().map(PathBuf::from).collect());
        self.graph.index(&IndexRequest { paths, full: false }, &Cancel::new(), &|_, _| {}).unwrap()
    }

    pub(crate) fn digest(&self) -> String {
        self.graph.digest(&Cancel::new()).unwrap().value.digest
    }

    /// The digest of a graph of this tree that knows nothing from before.
    pub(crate) fn fresh_digest(&self) -> String {
        let cache = tempfile::tempdir().unwrap();
        let shared = Shared::new(cache.path().join("cache"));
        let root = Root::open(&self.tree(), None).unwrap();
        let graph = Graph::new(Arc::new(root), shared, Limits::default());
        graph.index(&IndexRequest::default(), &Cancel::new(), &|_, _| {}).unwrap();
        graph.digest(&Cancel::new()).unwrap().value.digest
    }

    pub(crate) fn callers(&self, symbol: &str) -> Vec<EdgeView> {
        let query =
            CallQuery { symbol: SymbolQuery::Name(symbol.to_owned()), depth: 1, min_confidence: None, offset: 0, limit: 500 };
        self.graph.callers(&query, &Cancel::new()).unwrap().value.items
    }

    /// `owner` of each caller with the confidence in short, in order.
    pub(crate) fn caller_names(&self, symbol: &str) -> Vec<String> {
        self.callers(symbol).into_iter().map(|edge| format!("{} {:?}", edge.from.qualified, edge.confidence)).collect()
    }

    /// The sites that import a file or module.
    pub(crate) fn importers(&self, of: ImportSubject) -> Vec<String> {
        let query = ImportQuery { of, depth: 1, offset: 0, limit: 500 };
        let edges = self.graph.importers(&query, &Cancel::new()).unwrap().value.items;
        edges.iter().map(|edge| format!("{}:{}:{}", edge.rel, edge.place.line, edge.place.column)).collect()
    }

    /// The files that one step leads to from a changed file.
    pub(crate) fn impact_files(&self, file: &str) -> Vec<String> {
        let query = ImpactQuery { symbols: Vec::new(), files: vec![file.into()], depth: 1, limit: 500 };
        self.graph.impact(&query, &Cancel::new()).unwrap().value.files
    }

    /// The ways from one symbol to another, a line each.
    pub(crate) fn ways(&self, from: &str, to: &str) -> String {
        let [from, to] = [from, to].map(|name| SymbolQuery::Name(name.to_owned()));
        let ways = self.graph.path(&from, &to, 6, &Cancel::new()).unwrap().value;
        ways.paths.iter().fold(String::new(), |mut out, way| {
            for edge in way {
                let to = if edge.to.id.is_some() { &edge.to.qualified } else { &edge.to.name };
                let _ = write!(out, "  {} {:?} {to} ({:?})", edge.from.qualified, edge.kind, edge.confidence);
            }
            out + "\n"
        })
    }

    /// Everything that leads anywhere, file by file.
    pub(crate) fn check(&self, expected: Expect) {
        expected.assert_eq(&self.dump());
    }

    /// What a graph of this tree says that knows nothing from before.
    pub(crate) fn fresh_dump(&self) -> String {
        let folder = tempfile::tempdir().unwrap();
        let shared = Shared::new(folder.path().join("cache"));
        let root = Root::open(&self.tree(), None).unwrap();
        let graph = Graph::new(Arc::new(root), shared.clone(), Limits::default());
        graph.index(&IndexRequest::default(), &Cancel::new(), &|_, _| {}).unwrap();
        dump(&graph, &self.tree())
    }

    pub(crate) fn dump(&self) -> String {
        dump(&self.graph, &self.tree())
    }
}

fn dump(graph: &Graph, tree: &Path) -> String {
    {
        let mut out = String::new();
        let mut lines: BTreeMap<(String, u32, u32), String> = BTreeMap::new();
        let walk = ccd_corpus::walk(&Root::open(tree, None).unwrap(), &Limits::default(), &Cancel::new()).unwrap();
        for entry in walk.files {
            let rel = entry.rel.to_str().unwrap();
            let mut edges = Vec::new();
            let outline = graph.outline(&entry.rel, 16, &Cancel::new()).unwrap().value;
            let mut ids: Vec<String> = vec![format!("{rel}#module")];
            let mut pending = outline.symbols;
            while let Some(symbol) = pending.pop() {
                if !matches!(symbol.kind, ccd_graph::SymbolKind::Class | ccd_graph::SymbolKind::Impl) {
                    ids.push(symbol.id.clone());
                }
                pending.extend(symbol.children);
            }
            for id in ids {
                let query = CallQuery { symbol: SymbolQuery::Name(id), depth: 1, min_confidence: None, offset: 0, limit: 500 };
                edges.extend(graph.callees(&query, &Cancel::new()).unwrap().value.items);
            }
            let query = ImportQuery { of: ImportSubject::File(entry.rel.clone()), depth: 1, offset: 0, limit: 500 };
            edges.extend(graph.imports(&query, &Cancel::new()).unwrap().value.items);
            for edge in edges {
                lines.entry((rel.to_owned(), edge.place.line, edge.place.column)).or_default().push_str(&line(&edge));
            }
        }
        let mut last = String::new();
        for ((rel, row, column), text) in lines {
            if rel != last {
                let _ = writeln!(out, "{rel}");
                last = rel;
            }
            for text in text.lines() {
                let _ = writeln!(out, "  {row}:{column} {text}");
            }
        }
        out
    }
}

fn line(edge: &EdgeView) -> String {
    let to = match edge.confidence {
        Confidence::Candidate => format!("one of {}", edge.of.unwrap_or_default()),
        Confidence::External => format!("out {}", edge.to.qualified),
        _ => edge.to.id.clone().unwrap_or_default(),
    };
    format!("{:?} {} -> {:?} {to}\n", edge.kind, edge.from.qualified, edge.confidence)
}

fn write(tree: &Path, path: &str, text: &str) {
    let path = tree.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}
