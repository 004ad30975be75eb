//! Symbols and edges as they are told.

use std::{path::Path, sync::PoisonError};

use ccd_grammars::LanguageId;
use rustc_hash::FxHashMap;

use crate::{
    Confidence, EdgeKind, EdgeView, SymbolKind, SymbolRef, SymbolView,
    edges::{Class, EdgeRecord, Target},
    engine::{Contents, Graph},
    facts::{DefId, Facts, NONE, flag},
    layout::Layout,
    model::{FileEntry, FileId, Model, Name, SymId},
    names,
    resolve::is_candidate,
};

/// Ids listed of an undecided edge; `of` says how many there are.
const MAX_IDS: usize = 100;

/// A symbol of facts that may not be in the graph.
pub(crate) fn view(
    layout: &Layout,
    at: Option<FileId>,
    rel: &str,
    language: LanguageId,
    facts: &Facts,
    definition: DefId,
) -> SymbolView {
    let d = &facts.definitions[definition as usize];
    let module = at.and_then(|file| layout.module_of_scope(file, 0)).map(|module| layout.module(module).path.as_str());
    let (name, qualified) = full_names(module, rel, language, facts, definition);
    SymbolView {
        id: names::id(rel, facts, definition),
        name,
        qualified,
        kind: d.kind,
        language: language.name(),
        rel: rel.to_owned(),
        range: d.range,
        name_range: d.name_range,
        signature: facts.signature(d).to_owned(),
        exported: d.flags & flag::EXPORTED != 0,
        generated: facts.generated,
        children: Vec::new(),
    }
}

/// The bare and the qualified name.
pub(crate) fn full_names(
    module: Option<&str>,
    rel: &str,
    language: LanguageId,
    facts: &Facts,
    definition: DefId,
) -> (String, String) {
    let separator = language.row().separator;
    let file = crate::layout::file_name(rel);
    let package = (facts.package != NONE).then(|| facts.strings.get(facts.package));
    if definition == 0 {
        let path = module.unwrap_or(rel);
        let last = match language.family() {
            _ if language.names_files() => file,
            LanguageId::GO | LanguageId::JAVA => package.map_or(file, |package| package.rsplit('.').next().unwrap_or(package)),
            _ => path.rsplit(separator).next().unwrap_or(path),
        };
        return (last.to_owned(), path.to_owned());
    }
    let name = facts.strings.get(facts.definitions[definition as usize].name).to_owned();
    let local = names::local_qualified(language, facts, definition);
    let prefix = match language.family() {
        _ if language.names_files() => None,
        LanguageId::GO | LanguageId::JAVA => package,
        _ => module,
    };
    match prefix {
        Some(prefix) => (name, format!("{prefix}{separator}{local}")),
        None => (name, local),
    }
}

impl Contents {
    pub(crate) fn view(&self, symbol: SymId) -> Option<SymbolView> {
        let slot = self.model.symbols.get(symbol as usize)?;
        let (entry, definition) = self.model.place(symbol)?;
        Some(view(&self.layout, Some(slot.file), &entry.rel, entry.language, &entry.facts, definition))
    }

    pub(crate) fn reference(&self, symbol: SymId) -> Option<SymbolRef> {
        let slot = self.model.symbols.get(symbol as usize)?;
        let (entry, definition) = self.model.place(symbol)?;
        let module = self.layout.module_of_scope(slot.file, 0).map(|module| self.layout.module(module).path.as_str());
        let (name, qualified) = full_names(module, &entry.rel, entry.language, &entry.facts, definition);
        let d = &entry.facts.definitions[definition as usize];
        Some(SymbolRef {
            id: Some(names::id(&entry.rel, &entry.facts, definition)),
            name,
            qualified,
            kind: Some(d.kind),
            rel: Some(entry.rel.to_string()),
            line: Some(d.name_range.0.line),
        })
    }

    /// All definitions that an undecided edge may mean, in the order of their paths.
    pub(crate) fn candidates(&self, name: Name, class: Class, from: LanguageId) -> Vec<SymId> {
        let symbols = self.model.by_name.get(&name).into_iter().flatten().copied();
        let mut found: Vec<SymId> = symbols.filter(|&symbol| is_candidate(&self.model, symbol, class, from)).collect();
        found.sort_by(|&a, &b| order(&self.model, a).cmp(&order(&self.model, b)));
        found
    }
}

/// Path and place of a symbol.
pub(crate) fn order(model: &Model, symbol: SymId) -> (&str, u32) {
    model.place(symbol).map_or(("", 0), |(entry, definition)| (&*entry.rel, definition))
}

/// An edge, named by its file and index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct EdgeAt {
    pub(crate) file: FileId,
    pub(crate) edge: u32,
    pub(crate) distance: u32,
}

impl EdgeAt {
    pub(crate) fn record<'m>(&self, model: &'m Model) -> Option<(&'m FileEntry, &'m EdgeRecord)> {
        let entry = model.file(self.file)?;
        Some((entry, entry.edges.edges.get(self.edge as usize)?))
    }
}

/// Makes the edges of one answer.
pub(crate) struct EdgeViews<'a> {
    graph: &'a Graph,
    contents: &'a Contents,
    sets: FxHashMap<(Name, Class, LanguageId), (u32, Vec<String>)>,
}

impl<'a> EdgeViews<'a> {
    pub(crate) fn new(graph: &'a Graph, contents: &'a Contents) -> Self {
        Self { graph, contents, sets: FxHashMap::default() }
    }

    /// None: the file of the site is gone.
    pub(crate) fn edge(&mut self, at: EdgeAt) -> Option<EdgeView> {
        let (entry, record) = at.record(&self.contents.model)?;
        let text = self.graph.texts.lock().unwrap_or_else(PoisonError::into_inner).get(&self.graph.root, &entry.rel)?;
        let from = self.contents.reference(entry.symbols[record.from as usize])?;
        let bare = if record.name == NONE { "" } else { entry.facts.strings.get(record.name) };
        let mut of = None;
        let mut ids = Vec::new();
        let to = match record.to {
            Target::Symbol(symbol) => self.contents.reference(symbol)?,
            Target::External(path) => {
                let path = entry.edges.paths.get(path);
                SymbolRef { id: None, name: bare.to_owned(), qualified: path.to_owned(), kind: None, rel: None, line: None }
            }
            Target::Undecided(class) => {
                let name = entry.name(record.name)?;
                let (count, listed) = self.set(name, class, entry.language);
                of = Some(*count);
                ids.clone_from(listed);
                SymbolRef { id: None, name: bare.to_owned(), qualified: bare.to_owned(), kind: None, rel: None, line: None }
            }
        };
        Some(EdgeView {
            from,
            to,
            kind: record.kind,
            rel: entry.rel.to_string(),
            place: record.place,
            text: text.line(record.place.line),
            distance: at.distance,
            confidence: record.confidence,
            of,
            ids,
        })
    }

    /// A definition in the one that holds it. None: their file is gone.
    pub(crate) fn contains(&mut self, outer: SymId, inner: SymId, distance: u32) -> Option<EdgeView> {
        let (entry, definition) = self.contents.model.place(inner)?;
        let text = self.graph.texts.lock().unwrap_or_else(PoisonError::into_inner).get(&self.graph.root, &entry.rel)?;
        let place = entry.facts.definitions[definition as usize].name_range.0;
        Some(EdgeView {
            from: self.contents.reference(outer)?,
            to: self.contents.reference(inner)?,
            kind: EdgeKind::Contains,
            rel: entry.rel.to_string(),
            place,
            text: text.line(place.line),
            distance,
            confidence: Confidence::Exact,
            of: None,
            ids: Vec::new(),
        })
    }

    fn set(&mut self, name: Name, class: Class, from: LanguageId) -> &(u32, Vec<String>) {
        let contents = self.contents;
        self.sets.entry((name, class, from.family())).or_insert_with(|| {
            let found = contents.candidates(name, class, from);
            let ids = found.iter().take(MAX_IDS).filter_map(|&symbol| {
                let (entry, definition) = contents.model.place(symbol)?;
                Some(names::id(&entry.rel, &entry.facts, definition))
            });
            (found.len() as u32, ids.collect())
        })
    }
}

impl Graph {
    /// Whether the file is still there.
    pub(crate) fn is_there(&self, rel: &str) -> bool {
        self.root.link_stat(Path::new(rel)).is_ok_and(|stat| stat.is_file)
    }
}

/// Kinds in the order in which a reader looks for them.
pub(crate) fn kind_rank(kind: SymbolKind) -> u8 {
    use SymbolKind as K;
    match kind {
        K::Struct | K::Class | K::Enum | K::Interface | K::Trait | K::Function => 0,
        K::Method | K::Macro | K::TypeAlias | K::Constructor => 1,
        K::Module | K::Constant => 2,
        K::Variable | K::EnumMember | K::Property | K::Field => 3,
        K::Impl | K::Test => 4,
    }
}
