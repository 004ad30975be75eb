//! From events in the order of the text to facts.

use std::collections::{HashMap, HashSet};

use ccd_grammars::{DefinitionRole, LanguageId};
use ccd_text::{LineIndex, Place};

use super::{
    event::{Data, Event, RawDefinition, ValueKind},
    expr::RawSegment,
    imports::RawImports,
};
use crate::{
    SymbolKind,
    facts::{
        DefId, Definition, ExprId, Facts, Import, ImportKind, Join, NONE, Segment, SiteFact, SiteKind, StrId, Strings, flag,
    },
};

/// Bytes of a signature.
const MAX_SIGNATURE: usize = 200;
/// Bytes of a name; a longer one (a test's sentence) is cut.
const MAX_NAME: usize = 200;
/// Names of one declaration that are looked through for one that a later pattern knows better.
const MAX_SIDE_BY_SIDE: usize = 64;
/// Definitions of one name, in different branches, that are held beside each other.
const MAX_EQUALS: usize = 64;

pub(crate) fn build(language: LanguageId, text: &[u8], mut events: Vec<Event>, parse_error: bool, generated: bool) -> Facts {
    // Outer before inner, earlier patterns before later ones for the same node.
    events.sort_by_key(|event| (event.start, std::cmp::Reverse(event.end), event.pattern));
    let lines = LineIndex::new(text);
    let mut builder = Builder {
        language,
        text,
        facts: Facts { package: NONE, parse_error, generated, lines: lines.lines(text) as u32, ..Facts::default() },
        lines,
        ids: HashMap::new(),
        open: Vec::new(),
        branches: Vec::new(),
        branch: None,
        branched: HashMap::new(),
        lead: None,
        wrap: None,
        attributes: Vec::new(),
    };
    builder.module();
    let mut events = events.into_iter();
    while let Some(event) = events.next() {
        // A later pattern for the same node and name knows better (`type_spec` with a struct).
        if let Data::Definition(one) = &event.data {
            let same = events.as_slice().iter().take_while(|next| next.start == event.start && next.end == event.end);
            let knows_better = |other: &RawDefinition| one.names == other.names || other.role == DefinitionRole::Test;
            let replaced = |next: &Event| matches!(&next.data, Data::Definition(other) if knows_better(other));
            if same.take(MAX_SIDE_BY_SIDE).any(replaced) {
                continue;
            }
        }
        builder.event(event);
    }
    builder.finish()
}

pub(super) struct Open {
    start: u32,
    end: u32,
    /// The definition that opened it, if it is one.
    pub(super) definition: Option<u32>,
    /// Names bound by parameters and variables.
    locals: Vec<StrId>,
}

pub(super) struct Builder<'t> {
    pub(super) language: LanguageId,
    pub(super) text: &'t [u8],
    lines: LineIndex,
    pub(super) facts: Facts,
    ids: HashMap<&'t [u8], StrId>,
    pub(super) open: Vec<Open>,
    /// The branches of the file: the one around each, and where it ends.
    branches: Vec<(Option<usize>, u32)>,
    /// The innermost open branch.
    branch: Option<usize>,
    /// The innermost branch around each definition that stands in one.
    branched: HashMap<DefId, usize>,
    /// Comments and attributes that stand directly before: where they begin and end.
    lead: Option<(u32, u32)>,
    /// `export`, `const` and the like directly before or around: where the first begins, where the last one ends.
    pub(super) wrap: Option<(u32, u32)>,
    /// Attributes directly before.
    attributes: Vec<(u32, u32)>,
}

impl<'t> Builder<'t> {
    pub(super) fn slice(&self, (start, end): (u32, u32)) -> &'t [u8] {
        &self.text[start as usize..end as usize]
    }

    fn id(&mut self, span: (u32, u32)) -> StrId {
        let bytes = self.slice(span);
        let bytes = &bytes[..bytes.len().min(MAX_NAME)];
        // `r#type` and `type` are one name.
        let bytes = if self.language == LanguageId::RUST { bytes.strip_prefix(b"r#").unwrap_or(bytes) } else { bytes };
        self.intern(bytes)
    }

    fn intern(&mut self, bytes: &'t [u8]) -> StrId {
        if let Some(&id) = self.ids.get(bytes) {
            return id;
        }
        let id = push_string(&mut self.facts.strings, &String::from_utf8_lossy(bytes));
        self.ids.insert(bytes, id);
        id
    }

    fn place(&self, offset: u32) -> Place {
        self.lines.place(self.text, offset as usize)
    }

    fn expr(&mut self, segments: &[RawSegment]) -> ExprId {
        let start = self.facts.segments.len() as u32;
        for &(join, span) in segments {
            let name = if span.1 > span.0 { self.id(span) } else { NONE };
            self.facts.segments.push(Segment { join, name });
        }
        self.facts.exprs.push((start, segments.len() as u32));
        self.facts.exprs.len() as ExprId - 1
    }

    /// Definition 0.
    fn module(&mut self) {
        let end = self.text.len() as u32;
        let name = self.intern(b"");
        self.facts.definitions.push(Definition {
            kind: SymbolKind::Module,
            flags: flag::EXPORTED,
            name,
            container: NONE,
            ordinal: 0,
            owner: NONE,
            of_trait: NONE,
            bytes: (0, 0, end),
            range: (Place { line: 1, column: 1 }, self.place(end)),
            name_range: (Place { line: 1, column: 1 }, Place { line: 1, column: 1 }),
            signature: (0, 0),
        });
    }

    pub(super) fn scope(&self) -> u32 {
        self.open.iter().rev().find_map(|open| open.definition).unwrap_or(0)
    }

    fn event(&mut self, event: Event) {
        while self.open.last().is_some_and(|open| open.end <= event.start) {
            self.open.pop();
        }
        while let Some((outer, end)) = self.branch.map(|at| self.branches[at])
            && end <= event.start
        {
            self.branch = outer;
        }
        match event.data {
            Data::Branch => {
                self.branches.push((self.branch, event.end));
                self.branch = Some(self.branches.len() - 1);
            }
            Data::Doc => self.leads(event.start, event.end),
            Data::Attribute => {
                if !self.touches(event.start) {
                    self.attributes.clear();
                }
                self.attributes.push((event.start, event.end));
                self.leads(event.start, event.end);
            }
            Data::Wrap => {
                if !self.touches(event.start) {
                    self.lead = None;
                    self.attributes.clear();
                }
                let begin = match self.wrap {
                    Some((begin, last)) if self.only_words(last, event.start) => begin,
                    _ => event.start,
                };
                self.wrap = Some((begin, event.start));
                let lead = self.lead.map_or(event.start, |(start, _)| start);
                self.lead = Some((lead, event.start));
            }
            Data::Definition(raw) => self.definition(event.start, event.end, *raw),
            Data::Scope => self.open.push(Open { start: event.start, end: event.end, definition: None, locals: Vec::new() }),
            Data::Local(names) => self.locals(&names),
            Data::Site(kind, segments) => self.site(event.start, kind, &segments),
            Data::Import(raw) => self.import(&raw),
            Data::Package => self.facts.package = self.id((event.start, event.end)),
        }
    }

    /// Whether only blank space and lower-case words (`export`, `const`) stand between.
    fn only_words(&self, from: u32, to: u32) -> bool {
        to >= from && self.slice((from, to)).iter().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_whitespace())
    }

    /// Whether what leads the next definition ends here, with no empty line between.
    fn touches(&self, start: u32) -> bool {
        self.lead.is_some_and(|(_, end)| {
            self.only_words(end, start) && self.slice((end, start)).iter().filter(|&&byte| byte == b'\n').count() <= 1
        })
    }

    fn leads(&mut self, start: u32, end: u32) {
        let trailing =
            self.text[..start as usize].iter().rev().take_while(|&&byte| byte != b'\n').any(|byte| !byte.is_ascii_whitespace());
        // A comment behind code on the same line says something about that code.
        if trailing && !self.touches(start) {
            self.lead = None;
            return;
        }
        let begin = if self.touches(start) { self.lead.map_or(start, |(begin, _)| begin) } else { start };
        // A line comment's node may hold its line end (doc comments of Rust).
        let end = if self.slice((start, end)).ends_with(b"\n") { end - 1 } else { end };
        self.lead = Some((begin, end));
        self.wrap = None;
    }

    fn locals(&mut self, names: &[(u32, u32)]) {
        let Some(at) = self.open.iter().rposition(|open| match open.definition {
            None => true,
            Some(definition) => is_callable(self.facts.definitions[definition as usize].kind),
        }) else {
            return;
        };
        for &name in names {
            let id = self.id(name);
            if !self.open[at].locals.contains(&id) {
                self.open[at].locals.push(id);
            }
        }
    }

    fn is_local(&self, name: StrId) -> bool {
        self.open.iter().any(|open| open.locals.contains(&name))
    }

    fn site(&mut self, start: u32, kind: SiteKind, segments: &[RawSegment]) {
        let mut scope = self.scope();
        // `it("…")` makes the test; it is not called by it.
        let around = self.facts.definitions[scope as usize];
        let by_call = matches!(self.language.family(), LanguageId::TYPESCRIPT | LanguageId::DART);
        if around.kind == SymbolKind::Test && around.bytes.1 == start && by_call {
            scope = around.container;
        }
        if matches!(kind, SiteKind::Extends | SiteKind::Implements) && scope == 0 {
            return;
        }
        let expr = self.expr(segments);
        let (first, last) = {
            let segments = self.facts.expr(expr);
            (segments[0], segments[segments.len() - 1])
        };
        if last.name == NONE {
            return;
        }
        // Lower-case tags are elements of the page, not components.
        let name = self.facts.strings.get(last.name);
        let intrinsic = kind == SiteKind::New
            && matches!(self.language.family(), LanguageId::TYPESCRIPT)
            && first.join == Join::Root
            && segments.len() == 1
            && name.starts_with(|letter: char| letter.is_ascii_lowercase())
            && self.text[..start as usize].ends_with(b"<");
        if intrinsic {
            return;
        }
        // Variables and methods of Java do not hide each other.
        let method = self.language == LanguageId::JAVA && kind == SiteKind::Call && segments.len() == 1;
        let local = first.join == Join::Root && first.name != NONE && !method && self.is_local(first.name);
        self.facts.sites.push(SiteFact { kind, scope, place: self.place(start), expr, local });
    }

    fn import(&mut self, raw: &RawImports) {
        let scope = self.scope();
        for one in &raw.imports {
            let segments: Vec<RawSegment> =
                one.path.iter().enumerate().map(|(at, &span)| (if at == 0 { Join::Root } else { Join::Path }, span)).collect();
            // `use *` has no path at all.
            let path = self.expr(if segments.is_empty() { &[(Join::Root, (0, 0))] } else { &segments });
            let item = match one.item {
                Some(span) => self.id(span),
                None if one.default_item => self.intern(b"default"),
                None => NONE,
            };
            let binding = one.binding.map_or(NONE, |span| self.id(span));
            // A side effect of a path that is also bound (`const x = require("x")`) is one import.
            let place = self.place(one.at);
            let known =
                one.kind == ImportKind::SideEffect && self.facts.imports.iter().rev().take(8).any(|other| other.place == place);
            if !known {
                self.facts.imports.push(Import {
                    kind: one.kind,
                    scope,
                    place,
                    path,
                    item,
                    binding,
                    exported: one.exported,
                    only_export: one.only_export,
                });
            }
        }
        for &(outer, inner) in &raw.exports {
            let outer = match outer {
                Some(span) => self.id(span),
                None => self.intern(b"default"),
            };
            let inner = self.id(inner);
            self.facts.exports.push((outer, inner));
        }
    }

    fn definition(&mut self, start: u32, end: u32, raw: RawDefinition) {
        // Several names of one declaration (`a, b int`) stand side by side.
        if self.open.last().is_some_and(|open| open.end == end && open.start == start && open.definition.is_some()) {
            self.open.pop();
        }
        let mut container = self.scope();
        // A parameter of a constructor that makes a property belongs to the class.
        if raw.role == DefinitionRole::Property && self.facts.definitions[container as usize].kind == SymbolKind::Constructor {
            container = self.facts.definitions[container as usize].container;
        }
        let container_kind = self.facts.definitions[container as usize].kind;
        let Some(kind) = self.kind(&raw, container_kind) else {
            // Not a symbol, but what it is set to may bind names.
            return;
        };
        // A macro is of the file, and a function in a function is the other head of its body.
        let of_file = kind == SymbolKind::Macro || kind == SymbolKind::Function && is_callable(container_kind);
        if of_file && self.language.family() == LanguageId::C {
            let outside = |at: &DefId| kind != SymbolKind::Macro && !is_callable(self.facts.definitions[*at as usize].kind);
            container = self.facts.chain(container).find(outside).unwrap_or(0);
        }
        let touches = self.touches(start);
        let lead = if touches { self.lead.map_or(start, |(begin, _)| begin) } else { start };
        let wrapped = self.wrap.filter(|&(_, last)| self.only_words(last, start));
        let head = wrapped.map_or(start, |(begin, _)| begin);
        let attributes = if touches { std::mem::take(&mut self.attributes) } else { Vec::new() };
        self.attributes.clear();
        self.lead = None;
        let kind = if kind == SymbolKind::Function && self.is_test(&raw, &attributes, head) { SymbolKind::Test } else { kind };
        let kind = if kind == SymbolKind::Method && self.is_test(&raw, &attributes, head) { SymbolKind::Test } else { kind };

        let signature = self.signature(head, raw.head_end.min(end).max(head));
        let owner = if raw.owner.is_empty() { NONE } else { self.expr(&raw.owner) };
        let of_trait = if raw.of_trait.is_empty() { NONE } else { self.expr(&raw.of_trait) };
        let mut flags = 0;
        if self.exported(&raw, kind, head, container_kind, of_trait != NONE) {
            flags |= flag::EXPORTED;
        }
        if kind == SymbolKind::Module && !raw.has_body && self.language == LanguageId::RUST {
            flags |= flag::ELSEWHERE;
        }
        if !raw.has_body {
            flags |= flag::NO_BODY;
        }
        if !raw.has_body && self.language.family() == LanguageId::C && is_callable(kind) {
            flags |= flag::DECLARED;
        }
        if kind == SymbolKind::Macro && self.any_attribute(&attributes, b"macro_export") {
            flags |= flag::MACRO_EXPORT | flag::EXPORTED;
        }
        for &span in &raw.names {
            // A blank name defines nothing, in any language.
            if self.slice(span) == b"_" {
                continue;
            }
            let name = if kind == SymbolKind::Impl { self.impl_name(owner, of_trait) } else { self.id(span) };
            if self.language == LanguageId::PYTHON
                && matches!(kind, SymbolKind::Constant | SymbolKind::Variable | SymbolKind::Property)
            {
                // The first assignment defines, later ones change.
                let again = self.facts.definitions.iter().any(|other| other.container == container && other.name == name);
                if again {
                    continue;
                }
            }
            let id = self.facts.definitions.len() as u32;
            if flags & flag::ELSEWHERE != 0
                && let Some(path) = self.path_attribute(&attributes)
            {
                self.facts.mod_paths.push((id, path));
            }
            if let Some(branch) = self.branch {
                self.branched.insert(id, branch);
            }
            // `struct point { … } origin;`: the fields are those of the struct.
            let holds_nothing = self.language.family() == LanguageId::C
                && matches!(kind, SymbolKind::Variable | SymbolKind::Constant | SymbolKind::Field | SymbolKind::TypeAlias)
                && !matches!(raw.value, ValueKind::Record | ValueKind::Function);
            let several = raw.names.len() > 1;
            self.facts.definitions.push(Definition {
                kind,
                flags,
                name,
                container,
                ordinal: 0,
                owner,
                of_trait,
                bytes: (lead.min(head), head, end),
                range: (self.place(lead.min(head)), self.place(end)),
                name_range: (self.place(span.0), self.place(span.1)),
                signature,
            });
            if !several && !holds_nothing {
                self.open.push(Open { start, end, definition: Some(id), locals: Vec::new() });
            }
        }
    }

    fn path_attribute(&mut self, attributes: &[(u32, u32)]) -> Option<StrId> {
        let &(start, end) = attributes.iter().find(|&&span| {
            let inner = self.slice(span);
            inner.strip_prefix(b"#[").is_some_and(|rest| rest.trim_ascii_start().starts_with(b"path"))
        })?;
        let text = self.slice((start, end));
        let open = text.iter().position(|&byte| byte == b'"')? + 1;
        let close = open + text[open..].iter().position(|&byte| byte == b'"')?;
        Some(self.id((start + open as u32, start + close as u32)))
    }

    fn impl_name(&mut self, owner: ExprId, of_trait: ExprId) -> StrId {
        let last = |facts: &Facts, expr: ExprId| {
            let id = if expr == NONE { NONE } else { facts.last_name(expr) };
            if id == NONE { "_".to_owned() } else { facts.strings.get(id).to_owned() }
        };
        let owner = last(&self.facts, owner);
        let name =
            if of_trait == NONE { format!("impl {owner}") } else { format!("impl {} for {owner}", last(&self.facts, of_trait)) };
        // Names made here are few; they are looked for among the strings of the file.
        let known = self.facts.strings.iter().position(|known| known == name);
        known.map_or_else(|| push_string(&mut self.facts.strings, &name), |at| at as StrId)
    }

    /// The head of a definition on one line.
    fn signature(&mut self, head: u32, end: u32) -> (u32, u32) {
        let bytes = self.slice((head, end.min(head + 4 * MAX_SIGNATURE as u32)));
        let text = String::from_utf8_lossy(bytes);
        let start = self.facts.signatures.len();
        for word in text.split_whitespace() {
            if self.facts.signatures.len() > start {
                self.facts.signatures.push(' ');
            }
            self.facts.signatures.push_str(word);
            if self.facts.signatures.len() - start > MAX_SIGNATURE {
                let mut cut = start + MAX_SIGNATURE;
                while !self.facts.signatures.is_char_boundary(cut) {
                    cut -= 1;
                }
                self.facts.signatures.truncate(cut);
                self.facts.signatures.push('…');
                break;
            }
        }
        // What opens the body says nothing.
        while self.facts.signatures.len() > start && self.facts.signatures.ends_with([' ', '{', '=', '>', ':']) {
            let arrow = self.facts.signatures.ends_with("=>");
            if self.facts.signatures.ends_with('>') && !arrow {
                break;
            }
            self.facts.signatures.pop();
        }
        (start as u32, (self.facts.signatures.len() - start) as u32)
    }

    fn finish(mut self) -> Facts {
        self.own_functions_over_locals();
        if self.language == LanguageId::PYTHON {
            self.mark_replaced();
        }
        number_equals(self.language, &mut self.facts);
        self.facts
    }

    /// Marks definitions that a later one of the same name replaces: one that no branch holds which does not hold both.
    fn mark_replaced(&mut self) {
        let mut before: HashMap<(DefId, StrId), Vec<DefId>> = HashMap::new();
        let innermost = |at: DefId| self.branched.get(&at).copied();
        let holds = |outer: Option<usize>, inner: Option<usize>| {
            outer.is_none() || std::iter::successors(inner, |&at| self.branches[at].0).any(|at| Some(at) == outer)
        };
        for at in 1..self.facts.definitions.len() as DefId {
            let d = self.facts.definitions[at as usize];
            let standing = before.entry((d.container, d.name)).or_default();
            standing.retain(|&other| {
                let replaced = holds(innermost(at), innermost(other));
                if replaced {
                    self.facts.definitions[other as usize].flags |= flag::REPLACED;
                }
                !replaced
            });
            if standing.len() < MAX_EQUALS {
                standing.push(at);
            }
        }
    }

    /// A function that is defined in a function is both a name bound there and a symbol: calls mean the symbol.
    fn own_functions_over_locals(&mut self) {
        let facts = &self.facts;
        let nested: HashSet<(u32, StrId)> = facts
            .definitions
            .iter()
            .filter(|definition| {
                definition.container != NONE && is_callable(facts.definitions[definition.container as usize].kind)
            })
            .map(|definition| (definition.container, definition.name))
            .collect();
        if nested.is_empty() {
            return;
        }
        let clear: Vec<usize> = facts
            .sites
            .iter()
            .enumerate()
            .filter(|(_, site)| site.local)
            .filter(|(_, site)| {
                let root = facts.expr(site.expr)[0].name;
                facts.chain(site.scope).any(|scope| nested.contains(&(scope, root)))
            })
            .map(|(at, _)| at)
            .collect();
        for at in clear {
            self.facts.sites[at].local = false;
        }
    }
}

fn push_string(strings: &mut Strings, text: &str) -> StrId {
    strings.text.push_str(text);
    strings.ends.push(strings.text.len() as u32);
    strings.ends.len() as StrId - 1
}

pub(super) fn is_callable(kind: SymbolKind) -> bool {
    matches!(kind, SymbolKind::Function | SymbolKind::Method | SymbolKind::Constructor | SymbolKind::Test)
}

/// Numbers definitions that have the same kind, name and containers, in the order of the text.
fn number_equals(language: LanguageId, facts: &mut Facts) {
    let mut seen: HashMap<(SymbolKind, String), u16> = HashMap::new();
    let all: HashMap<(u32, StrId, SymbolKind), u32> = facts.definitions.iter().fold(HashMap::new(), |mut counts, definition| {
        *counts.entry((definition.container, definition.name, definition.kind)).or_default() += 1;
        counts
    });
    // So are a class and what stands outside of it, two parts of a namespace, the overloads around two classes.
    let impls_doubled = matches!(language.family(), LanguageId::C | LanguageId::DART | LanguageId::JAVA)
        || facts.definitions.iter().any(|d| d.kind == SymbolKind::Impl);
    for at in 0..facts.definitions.len() {
        let definition = facts.definitions[at];
        let unique = all[&(definition.container, definition.name, definition.kind)] == 1;
        // Two `impl` blocks of one type are different containers with the same name.
        if unique && !impls_doubled {
            continue;
        }
        let key = (definition.kind, crate::names::local_key(facts, at as u32));
        let ordinal = seen.entry(key).or_default();
        facts.definitions[at].ordinal = *ordinal;
        *ordinal = ordinal.saturating_add(1);
    }
}
