//! The graph of one workspace in memory.
//!
//! Files hold their facts and their resolved edges; the indexes over them (symbols by id and by name, members by
//! type, edges by what they lead to) are kept in step file by file, so one changed file costs one file.
//!
//! What decides how a file resolves, beside its own facts, is summed up in numbers that change in step too: for each
//! name a sum over the definitions and imports that carry it, and where they stand ([`Model::name_sums`]); the place of
//! the file in the layout ([`FileEntry::home`]) and where its imports lead in it ([`FileEntry::routes`]); and one sum over
//! what concerns all files, the glob imports and manifests ([`Model::shape`]). Files that say `super` follow from one more,
//! over all names by which the bases of classes are known. A file has to be resolved again exactly
//! when one of them is another than when it was resolved, so a changed body, and a new file as well, costs itself and
//! those that name what it holds.

use std::{
    path::Path,
    sync::{Arc, OnceLock},
};

use ccd_grammars::LanguageId;
use ccd_text::Version;
use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};
use smallvec::SmallVec;

use crate::{
    SymbolKind,
    edges::{FileEdges, Target},
    facts::{DefId, Facts, NONE},
    names,
    sums::{base_names, class_imports, renames, sum_of_bases, sum_of_routes, sums},
};

/// A file: its index in [`Model::files`].
pub(crate) type FileId = u32;
/// A name of the workspace.
pub(crate) type Name = u32;
/// A symbol of the workspace; it stays the same while its id does.
pub(crate) type SymId = u32;

/// Renames followed one after another.
const MAX_RENAMES: u32 = 4;

/// What tells whether a file changed without reading it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct FileStamp {
    pub(crate) size: u64,
    pub(crate) mtime_ns: i128,
    pub(crate) ino: u64,
    /// When it was read, nanoseconds since 1970: a file touched shortly before may change again without a new time.
    pub(crate) read_ns: i128,
}

/// What a name means in a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Item {
    Definition(DefId),
    Import(u32),
}

/// A file of the graph.
#[derive(Debug)]
pub(crate) struct FileEntry {
    pub(crate) rel: Arc<str>,
    pub(crate) language: LanguageId,
    pub(crate) version: Version,
    pub(crate) stamp: FileStamp,
    pub(crate) facts: Arc<Facts>,
    /// The workspace's name of each string of the facts.
    pub(crate) names: Box<[Name]>,
    /// The symbol of each definition.
    pub(crate) symbols: Box<[SymId]>,
    /// Names by scope, sorted.
    pub(crate) items: Box<[(DefId, Name, Item)]>,
    /// Names given out (TypeScript): outer name and inner name.
    pub(crate) exports: Box<[(Name, Name)]>,
    /// Names that its sites and imports mention, sorted.
    pub(crate) mentions: Box<[Name]>,
    /// The names by which others may mean the file: its own without the ending, and its folder's.
    pub(crate) place_names: [Name; 2],
    /// A hash of the module that the file is in the layout; 0 before there is one.
    pub(crate) home: u64,
    /// A hash of the modules that its imports lead to.
    pub(crate) routes: u64,
    /// It has sites that are looked for through the bases of classes.
    pub(crate) looks_up: bool,
    pub(crate) edges: Arc<FileEdges>,
    /// The inputs under which the edges were made; none if they are not made yet.
    pub(crate) inputs: Option<u64>,
}

impl FileEntry {
    pub(crate) fn name(&self, id: u32) -> Option<Name> {
        self.names.get(id as usize).copied()
    }

    /// What a name means in a scope of this file.
    pub(crate) fn items_named(&self, scope: DefId, name: Name) -> &[(DefId, Name, Item)] {
        let start = self.items.partition_point(|&(s, n, _)| (s, n) < (scope, name));
        let len = self.items[start..].partition_point(|&(s, n, _)| (s, n) == (scope, name));
        &self.items[start..start + len]
    }
}

/// Where a symbol is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SymbolSlot {
    /// [`NONE`] while no file holds it.
    pub(crate) file: FileId,
    pub(crate) definition: DefId,
    pub(crate) key: u64,
    /// Of the definition, so that a look at all symbols need not visit their files.
    pub(crate) kind: SymbolKind,
    /// Likewise.
    pub(crate) flags: u8,
}

/// Places of definitions.
pub(crate) type Places = SmallVec<[(FileId, DefId); 1]>;

/// The graph.
#[derive(Debug, Default)]
pub(crate) struct Model {
    pub(crate) files: Vec<Option<FileEntry>>,
    pub(crate) by_path: FxHashMap<Arc<str>, FileId>,
    free: Vec<FileId>,
    pub(crate) strings: IndexSet<Box<str>, FxBuildHasher>,
    pub(crate) symbols: Vec<SymbolSlot>,
    by_key: FxHashMap<u64, SymId>,
    pub(crate) by_name: FxHashMap<Name, SmallVec<[SymId; 2]>>,
    /// Methods by the name of the type that they belong to though they do not stand in it.
    pub(crate) members: FxHashMap<(Name, Name), Places>,
    /// Edges that lead to a symbol: file and index.
    pub(crate) incoming: FxHashMap<SymId, Vec<(FileId, u32)>>,
    /// Edges that may lead to any definition of a name.
    pub(crate) undecided: FxHashMap<Name, Vec<(FileId, u32)>>,
    pub(crate) name_sums: FxHashMap<Name, u64>,
    /// Names that imports give to other names: alias to originals, counted.
    pub(crate) renames: FxHashMap<Name, SmallVec<[(Name, u32); 1]>>,
    /// Names that bodies of Python classes import, with the last part of the module, counted.
    pub(crate) class_imports: FxHashMap<(Name, Name), u32>,
    /// Names in the written bases of classes, counted.
    pub(crate) bases: FxHashMap<Name, u32>,
    /// The sum over them; made when it is asked for.
    bases_sum: OnceLock<u64>,
    /// The same when all files were checked.
    bases_checked: Option<u64>,
    /// By how much sums changed since all files were checked.
    dirty: FxHashMap<Name, u64>,
    /// Files that are elsewhere in the layout since.
    moved: rustc_hash::FxHashSet<FileId>,
    all_dirty: bool,
    shape_sum: u64,
    /// Over all that the layout is made of and refers to.
    places_sum: u64,
    /// For each name which letters and digits it holds, as bits.
    letters: Vec<u64>,
    /// Of the manifests; set by the engine.
    pub(crate) manifests: u64,
    pub(crate) symbol_count: u64,
    pub(crate) edge_count: u64,
}

/// Letters (without case) and digits of a text as bits; all other characters share one.
pub(crate) fn letters(text: &str) -> u64 {
    text.bytes().fold(0, |bits, byte| {
        bits | match byte.to_ascii_lowercase() {
            letter @ b'a'..=b'z' => 1 << (letter - b'a'),
            digit @ b'0'..=b'9' => 1 << (26 + digit - b'0'),
            b'_' | b'-' => 0,
            _ => 1 << 40,
        }
    })
}

/// A hash that is the same in every process.
pub(crate) fn stable_hash(parts: &[&[u8]]) -> u64 {
    // FNV-1a, with a finisher so that sums of it do not cancel out by pattern.
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for part in parts {
        for &byte in *part {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        }
        hash = (hash ^ 0xff).wrapping_mul(0x100_0000_01b3);
    }
    hash ^= hash >> 32;
    hash = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    hash ^ (hash >> 29)
}

impl Model {
    pub(crate) fn file(&self, id: FileId) -> Option<&FileEntry> {
        self.files.get(id as usize)?.as_ref()
    }

    pub(crate) fn file_at(&self, rel: &Path) -> Option<FileId> {
        self.by_path.get(rel.to_str()?).copied()
    }

    pub(crate) fn name_of(&self, text: &str) -> Option<Name> {
        self.strings.get_index_of(text).map(|at| at as Name)
    }

    pub(crate) fn text(&self, name: Name) -> &str {
        self.strings.get_index(name as usize).map_or("", |text| text)
    }

    fn intern(&mut self, text: &str) -> Name {
        if let Some(at) = self.strings.get_index_of(text) {
            return at as Name;
        }
        self.letters.push(letters(text));
        self.strings.insert_full(text.into()).0 as Name
    }

    /// The file and definition of a symbol, if it is there.
    pub(crate) fn place(&self, symbol: SymId) -> Option<(&FileEntry, DefId)> {
        let slot = self.symbols.get(symbol as usize)?;
        Some((self.file(slot.file)?, slot.definition))
    }

    pub(crate) fn symbol_by_key(&self, key: u64) -> Option<SymId> {
        self.by_key.get(&key).copied()
    }

    /// Everything that the layout follows from and refers to.
    pub(crate) fn places(&self) -> u64 {
        self.manifests.wrapping_add(self.places_sum)
    }

    /// Notes where a file is in a new layout, and where its imports lead.
    pub(crate) fn set_place(&mut self, id: FileId, home: u64, routes: u64) {
        let Some(entry) = self.files[id as usize].as_mut() else { return };
        if entry.routes != routes || entry.home != home {
            self.moved.insert(id);
        }
        let given_on = sum_of_routes(entry);
        entry.routes = routes;
        self.shape_sum = self.shape_sum.wrapping_sub(given_on).wrapping_add(sum_of_routes(entry));
        if entry.home == home {
            return;
        }
        let before = sums(entry, &self.symbols).0;
        entry.home = home;
        let after = sums(entry, &self.symbols).0;
        for (name, sum) in before {
            self.add_to_name(name, sum.wrapping_neg());
        }
        for (name, sum) in after {
            self.add_to_name(name, sum);
        }
    }

    fn add_to_name(&mut self, name: Name, sum: u64) {
        self.bases_sum.take();
        for total in [self.name_sums.entry(name).or_default(), self.dirty.entry(name).or_default()] {
            *total = total.wrapping_add(sum);
        }
    }

    /// Which letters and digits a name holds.
    pub(crate) fn letters_of(&self, name: Name) -> u64 {
        self.letters.get(name as usize).copied().unwrap_or(u64::MAX)
    }

    /// Puts a file in, in the place of an older state of it. Its edges are empty until they are set.
    pub(crate) fn put(
        &mut self,
        rel: &str,
        language: LanguageId,
        version: Version,
        stamp: FileStamp,
        facts: Arc<Facts>,
    ) -> FileId {
        // Until the layout is made again the file is where it was.
        let (mut home, mut routes) = (0, 0);
        let id = match self.by_path.get(rel) {
            Some(&id) => {
                (home, routes) = self.file(id).map_or((0, 0), |entry| (entry.home, entry.routes));
                self.take_out(id);
                id
            }
            None => {
                let id = self.free.pop().unwrap_or_else(|| {
                    self.files.push(None);
                    self.files.len() as FileId - 1
                });
                self.by_path.insert(rel.into(), id);
                id
            }
        };
        let names: Box<[Name]> = facts.strings.iter().map(|text| self.intern(text)).collect();
        let symbols: Box<[SymId]> = (0..facts.definitions.len() as DefId)
            .map(|definition| {
                let key = stable_hash(&[names::id(rel, &facts, definition).as_bytes()]);
                let d = &facts.definitions[definition as usize];
                let slot = SymbolSlot { file: id, definition, key, kind: d.kind, flags: d.flags };
                let symbol = *self.by_key.entry(key).or_insert_with(|| {
                    self.symbols.push(slot);
                    self.symbols.len() as SymId - 1
                });
                self.symbols[symbol as usize] = slot;
                symbol
            })
            .collect();
        let name = crate::layout::file_name(rel);
        let stem = name.split('.').next().unwrap_or(name);
        let place_names = [self.intern(stem), self.intern(crate::layout::file_name(crate::layout::folder(rel)))];
        let entry = FileEntry {
            rel: rel.into(),
            place_names,
            home,
            routes,
            language,
            version,
            stamp,
            items: items(&facts, &names),
            exports: facts.exports.iter().map(|&(outer, inner)| (names[outer as usize], names[inner as usize])).collect(),
            mentions: mentions(&facts, &names),
            looks_up: crate::sums::looks_up(language, &facts),
            facts,
            names,
            symbols,
            edges: Arc::default(),
            inputs: None,
        };
        self.count(id, &entry, true);
        self.files[id as usize] = Some(entry);
        id
    }

    /// Takes a file out.
    pub(crate) fn remove(&mut self, rel: &str) -> bool {
        let Some(id) = self.by_path.remove(rel) else { return false };
        self.take_out(id);
        self.free.push(id);
        true
    }

    fn take_out(&mut self, id: FileId) {
        self.set_edges(id, Arc::default(), None);
        let Some(entry) = self.files[id as usize].take() else { return };
        self.count(id, &entry, false);
        for (definition, &symbol) in entry.symbols.iter().enumerate() {
            let slot = &mut self.symbols[symbol as usize];
            if slot.file == id && slot.definition == definition as DefId {
                slot.file = NONE;
            }
        }
    }

    /// Adds a file to the indexes and sums, or takes it out of them.
    fn count(&mut self, id: FileId, entry: &FileEntry, add: bool) {
        let facts = &entry.facts;
        for (definition, d) in facts.definitions.iter().enumerate() {
            let symbol = entry.symbols[definition];
            let name = entry.names[d.name as usize];
            change(self.by_name.entry(name).or_default(), symbol, add);
            let owner = if d.owner != NONE && d.kind != SymbolKind::Impl {
                d.owner
            } else if d.container != NONE && facts.definitions[d.container as usize].kind == SymbolKind::Impl {
                facts.definitions[d.container as usize].owner
            } else {
                NONE
            };
            if owner != NONE && facts.last_name(owner) != NONE {
                let of = entry.names[facts.last_name(owner) as usize];
                change(self.members.entry((of, name)).or_default(), (id, definition as DefId), add);
            }
        }
        let (sums, shape, places) = sums(entry, &self.symbols);
        self.places_sum = if add { self.places_sum.wrapping_add(places) } else { self.places_sum.wrapping_sub(places) };
        for (name, sum) in sums {
            self.add_to_name(name, if add { sum } else { sum.wrapping_neg() });
        }
        let shape = shape.wrapping_add(sum_of_routes(entry));
        self.shape_sum = if add { self.shape_sum.wrapping_add(shape) } else { self.shape_sum.wrapping_sub(shape) };
        for name in base_names(entry) {
            tally(&mut self.bases, name, add);
        }
        for import in class_imports(entry) {
            let module = self.intern(import.1);
            tally(&mut self.class_imports, (import.0, module), add);
        }
        for (alias, original) in renames(entry) {
            let originals = self.renames.entry(alias).or_default();
            match (originals.iter().position(|(known, _)| *known == original), add) {
                (Some(at), true) => originals[at].1 += 1,
                (Some(at), false) if originals[at].1 > 1 => originals[at].1 -= 1,
                (Some(at), false) => drop(originals.swap_remove(at)),
                (None, _) => originals.push((original, 1)),
            }
            if originals.is_empty() {
                self.renames.remove(&alias);
            }
        }
        let definitions = facts.definitions.len() as u64;
        self.symbol_count = if add { self.symbol_count + definitions } else { self.symbol_count - definitions };
        // A container is an edge that every definition but the module has.
        let contains = definitions - 1;
        self.edge_count = if add { self.edge_count + contains } else { self.edge_count - contains };
    }

    /// Sets the resolved edges of a file.
    pub(crate) fn set_edges(&mut self, id: FileId, edges: Arc<FileEdges>, inputs: Option<u64>) {
        let Some(entry) = self.files[id as usize].as_mut() else { return };
        let old = std::mem::replace(&mut entry.edges, edges.clone());
        entry.inputs = inputs;
        let entry = self.files[id as usize].as_ref().expect("it was there two lines above");
        let mut emptied: Vec<SymId> = Vec::new();
        for edge in &old.edges {
            match edge.to {
                Target::Symbol(symbol) => emptied.push(symbol),
                Target::Undecided(_) => {
                    if let Some(list) = entry.name(edge.name).and_then(|name| self.undecided.get_mut(&name)) {
                        list.retain(|&(file, _)| file != id);
                    }
                }
                Target::External(_) => {}
            }
        }
        emptied.sort_unstable();
        emptied.dedup();
        for symbol in emptied {
            if let Some(list) = self.incoming.get_mut(&symbol) {
                list.retain(|&(file, _)| file != id);
            }
        }
        for (at, edge) in edges.edges.iter().enumerate() {
            match edge.to {
                Target::Symbol(symbol) => self.incoming.entry(symbol).or_default().push((id, at as u32)),
                Target::Undecided(_) => {
                    if let Some(name) = entry.name(edge.name) {
                        self.undecided.entry(name).or_default().push((id, at as u32));
                    }
                }
                Target::External(_) => {}
            }
        }
        self.edge_count = self.edge_count + edges.edges.len() as u64 - old.edges.len() as u64;
    }

    /// What concerns the resolution of every file.
    pub(crate) fn shape(&self) -> u64 {
        self.shape_sum.wrapping_add(self.manifests)
    }

    /// The sum of a name, taken together with the sums of what it renames. A chain of renames is seldom longer than two.
    fn closed_sum(&self, name: Name, hops: u32) -> u64 {
        let mut sum = self.name_sums.get(&name).copied().unwrap_or(0);
        if hops == 0 {
            return sum;
        }
        for &(original, _) in self.renames.get(&name).into_iter().flatten() {
            let of = self.closed_sum(original, hops - 1);
            sum = sum.wrapping_add(stable_hash(&[&of.to_le_bytes(), self.text(original).as_bytes()]));
        }
        sum
    }

    /// What the edges of a file follow from.
    pub(crate) fn inputs(&self, entry: &FileEntry, version: u32) -> u64 {
        // Names have other numbers in another process: the text counts, and the order must not.
        let sum = entry.mentions.iter().fold(0u64, |sum, &name| match self.closed_sum(name, MAX_RENAMES) {
            0 => sum,
            of => sum.wrapping_add(stable_hash(&[&of.to_le_bytes(), self.text(name).as_bytes()])),
        });
        let bases = if entry.looks_up { self.bases_sum() } else { 0 };
        stable_hash(&[
            &version.to_le_bytes(),
            &bases.to_le_bytes(),
            &entry.version.to_bytes(),
            &self.shape().to_le_bytes(),
            &sum.to_le_bytes(),
            &entry.home.to_le_bytes(),
            &entry.routes.to_le_bytes(),
            entry.rel.as_bytes(),
        ])
    }

    fn bases_sum(&self) -> u64 {
        *self.bases_sum.get_or_init(|| sum_of_bases(self))
    }

    /// Every file has to be checked: the shape of the project is another.
    pub(crate) fn check_all(&mut self) {
        self.all_dirty = true;
    }

    /// Files whose edges may not be those of their inputs any more.
    pub(crate) fn to_check(&self) -> Vec<(FileId, &FileEntry)> {
        if self.all_dirty {
            return self.entries().collect();
        }
        let mut dirty: Vec<Name> = self.dirty.iter().filter(|(_, delta)| **delta != 0).map(|(name, _)| *name).collect();
        for _ in 0..MAX_RENAMES {
            let aliases: Vec<Name> = self
                .renames
                .iter()
                .filter(|(alias, originals)| {
                    !dirty.contains(alias) && originals.iter().any(|(original, _)| dirty.contains(original))
                })
                .map(|(alias, _)| *alias)
                .collect();
            if aliases.is_empty() {
                break;
            }
            dirty.extend(aliases);
        }
        let other_bases = self.bases_checked != Some(self.bases_sum());
        let touched = |(id, entry): &(FileId, &FileEntry)| {
            entry.inputs.is_none()
                || self.moved.contains(id)
                || entry.looks_up && other_bases
                || dirty.iter().any(|name| entry.mentions.binary_search(name).is_ok())
        };
        self.entries().filter(touched).collect()
    }

    /// All files were checked.
    pub(crate) fn checked(&mut self) {
        self.all_dirty = false;
        self.bases_checked = Some(self.bases_sum());
        self.moved.clear();
        self.dirty.clear();
    }

    pub(crate) fn set_stamp(&mut self, id: FileId, stamp: FileStamp) {
        if let Some(entry) = self.files[id as usize].as_mut() {
            entry.stamp = stamp;
        }
    }

    /// All files that are in the graph.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (FileId, &FileEntry)> {
        self.files.iter().enumerate().filter_map(|(id, entry)| Some((id as FileId, entry.as_ref()?)))
    }
}

fn change<A: smallvec::Array<Item: PartialEq + Copy>>(list: &mut SmallVec<A>, value: A::Item, add: bool) {
    if add {
        list.push(value);
    } else if let Some(at) = list.iter().position(|known| *known == value) {
        list.swap_remove(at);
    }
}

fn tally<K: std::hash::Hash + Eq + Copy>(counts: &mut FxHashMap<K, u32>, key: K, add: bool) {
    let count = counts.entry(key).or_default();
    *count = if add { *count + 1 } else { *count - 1 };
    if *count == 0 {
        counts.remove(&key);
    }
}

fn items(facts: &Facts, names: &[Name]) -> Box<[(DefId, Name, Item)]> {
    let mut items = Vec::with_capacity(facts.definitions.len() + facts.imports.len());
    for (at, d) in facts.definitions.iter().enumerate().skip(1) {
        // A method with an owner elsewhere, and an `impl`, are not found by a name in the scope they stand in.
        if d.kind != SymbolKind::Impl && d.owner == NONE {
            items.push((d.container, names[d.name as usize], Item::Definition(at as DefId)));
        }
    }
    for (at, import) in facts.imports.iter().enumerate() {
        if import.binding != NONE && !import.only_export {
            items.push((import.scope, names[import.binding as usize], Item::Import(at as u32)));
        }
    }
    items.sort_unstable();
    items.into()
}

/// Every name that may decide what a site or import of the file leads to.
fn mentions(facts: &Facts, names: &[Name]) -> Box<[Name]> {
    let mut mentioned: Vec<Name> =
        facts.segments.iter().filter(|segment| segment.name != NONE).map(|segment| names[segment.name as usize]).collect();
    for import in &facts.imports {
        mentioned.extend([import.item, import.binding].iter().filter(|&&id| id != NONE).map(|&id| names[id as usize]));
    }
    mentioned.extend(facts.exports.iter().map(|&(_, inner)| names[inner as usize]));
    mentioned.sort_unstable();
    mentioned.dedup();
    mentioned.into()
}
