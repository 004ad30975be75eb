//! Crates and their trees of modules.
//!
//! Sources: the Cargo reference (targets and their default places, `package` renames) and the Rust reference
//! (where the file of `mod x;` is).

use ccd_grammars::LanguageId;
use rustc_hash::{FxHashMap, FxHashSet};

use super::{Layout, Manifests, ModuleId, file_name, folder, joined};
use crate::{
    SymbolKind,
    facts::{DefId, flag},
    model::{FileId, Model},
};

/// Nested modules; a deeper tree is a cycle of links.
const MAX_DEPTH: usize = 64;

/// Which crates each crate can name.
#[derive(Debug, Default)]
pub(crate) struct Crates {
    /// Root module and name to root module.
    named: FxHashMap<(ModuleId, String), ModuleId>,
}

impl Crates {
    pub(crate) fn find(&self, root: ModuleId, name: &str) -> Option<ModuleId> {
        self.named.get(&(root, name.to_owned())).copied()
    }
}

#[derive(Debug, Default)]
struct Package {
    folder: String,
    /// As Cargo knows it.
    name: String,
    lib: Option<(String, String)>,
    /// Other targets: name, path.
    targets: Vec<(String, String)>,
    /// Name in the sources, package name.
    dependencies: Vec<(String, String)>,
}

fn identifier(name: &str) -> String {
    name.replace('-', "_")
}

fn package(manifest: &str, bytes: &[u8], model: &Model) -> Option<Package> {
    let table: toml::Table = std::str::from_utf8(bytes).ok()?.parse().ok()?;
    let base = folder(manifest).to_owned();
    let name = table.get("package")?.get("name")?.as_str()?.to_owned();
    let there = |path: &str| joined(&base, path).filter(|path| model.by_path.contains_key(path.as_str()));
    let text = |value: Option<&toml::Value>, key: &str| value?.get(key)?.as_str().map(str::to_owned);

    let lib = table.get("lib");
    let lib_path = text(lib, "path").and_then(|path| there(&path)).or_else(|| there("src/lib.rs"));
    let lib_name = text(lib, "name").unwrap_or_else(|| identifier(&name));
    let mut targets = Vec::new();
    for kind in ["bin", "test", "example", "bench"] {
        for target in table.get(kind).and_then(toml::Value::as_array).into_iter().flatten() {
            if let (Some(name), Some(path)) =
                (text(Some(target), "name"), text(Some(target), "path").and_then(|path| there(&path)))
            {
                targets.push((identifier(&name), path));
            }
        }
    }
    targets.extend(there("src/main.rs").map(|path| (identifier(&name), path)));
    targets.extend(there("build.rs").map(|path| ("build".to_owned(), path)));
    for place in ["src/bin", "tests", "examples", "benches"] {
        let prefix = format!("{}/", joined(&base, place)?);
        for path in model.by_path.keys().filter(|path| path.starts_with(&prefix)) {
            let rest = &path[prefix.len()..];
            let target = match rest.split_once('/') {
                None => rest.strip_suffix(".rs"),
                Some((folder, "main.rs")) => Some(folder),
                Some(_) => None,
            };
            if let Some(target) = target {
                targets.push((identifier(target), path.to_string()));
            }
        }
    }
    targets.sort();

    let mut dependencies = Vec::new();
    let mut add = |table: Option<&toml::Value>| {
        for (key, value) in table.and_then(toml::Value::as_table).into_iter().flatten() {
            let package = value.get("package").and_then(toml::Value::as_str).unwrap_or(key);
            dependencies.push((identifier(key), package.to_owned()));
        }
    };
    for kind in ["dependencies", "dev-dependencies", "build-dependencies"] {
        add(table.get(kind));
        for (_, target) in table.get("target").and_then(toml::Value::as_table).into_iter().flatten() {
            add(target.get(kind));
        }
    }
    Some(Package { folder: base, name, lib: lib_path.map(|path| (lib_name, path)), targets, dependencies })
}

pub(crate) fn lay_out(layout: &mut Layout, model: &Model, manifests: &Manifests) {
    let mut packages: Vec<Package> = manifests
        .iter()
        .filter(|(path, _)| file_name(path) == "Cargo.toml")
        .filter_map(|(path, bytes)| package(path, bytes, model))
        .collect();
    packages.sort_by(|a, b| a.folder.cmp(&b.folder));
    let mut tree = Tree { layout, model, taken: FxHashSet::default() };
    let mut libraries: FxHashMap<String, Vec<ModuleId>> = FxHashMap::default();
    let mut roots: Vec<(ModuleId, usize)> = Vec::new();
    for (at, package) in packages.iter().enumerate() {
        if let Some((name, path)) = &package.lib
            && let Some(root) = tree.root(name, path)
        {
            libraries.entry(package.name.clone()).or_default().push(root);
            roots.push((root, at));
        }
    }
    for (at, package) in packages.iter().enumerate() {
        for (name, path) in &package.targets {
            if let Some(root) = tree.root(name, path) {
                roots.push((root, at));
            }
        }
    }
    // What no crate reaches stands for itself, in the nearest package.
    let mut rest: Vec<(&str, FileId)> = model
        .entries()
        .filter(|(_, entry)| entry.language == LanguageId::RUST)
        .map(|(id, entry)| (&*entry.rel, id))
        .filter(|(_, id)| !tree.taken.contains(id))
        .collect();
    // Outer files first: they may declare inner ones.
    rest.sort_by_key(|(rel, _)| (rel.matches('/').count(), *rel));
    for (rel, id) in rest {
        if tree.taken.contains(&id) {
            continue;
        }
        let stem = file_name(rel).trim_end_matches(".rs");
        let name = if stem == "mod" { file_name(folder(rel)) } else { stem };
        if let Some(root) = tree.root(name, rel) {
            let nearest = packages
                .iter()
                .enumerate()
                .filter(|(_, package)| package.folder.is_empty() || rel.starts_with(&format!("{}/", package.folder)))
                .max_by_key(|(_, package)| package.folder.len());
            if let Some((at, _)) = nearest {
                roots.push((root, at));
            }
        }
    }
    for (root, at) in roots {
        let package = &packages[at];
        let own = package.lib.iter().filter_map(|(name, _)| Some((name.clone(), *libraries.get(&package.name)?.first()?)));
        let named: Vec<(String, ModuleId)> = package
            .dependencies
            .iter()
            // Two packages of one name (two versions side by side) decide nothing.
            .filter_map(|(name, package)| match libraries.get(package)?.as_slice() {
                [one] => Some((name.clone(), *one)),
                _ => None,
            })
            .chain(own)
            .collect();
        for (name, of) in named {
            // A library's target may have another name than its package.
            let target = layout.modules[of as usize].path.clone();
            layout.rust.named.entry((root, target)).or_insert(of);
            layout.rust.named.insert((root, name), of);
        }
    }
}

struct Tree<'a> {
    layout: &'a mut Layout,
    model: &'a Model,
    taken: FxHashSet<FileId>,
}

impl Tree<'_> {
    /// The tree of a crate from its root file.
    fn root(&mut self, name: &str, path: &str) -> Option<ModuleId> {
        let &file = self.model.by_path.get(path)?;
        if !self.taken.insert(file) {
            return None;
        }
        let root = self.layout.add(name.to_owned(), LanguageId::RUST, None, (file, 0));
        // The folder in which the files of a module's inner modules are.
        let mut pending = vec![(file, 0 as DefId, root, folder(path).to_owned(), 0)];
        while let Some((file, scope, module, inner_folder, depth)) = pending.pop() {
            let Some(entry) = self.model.file(file) else { continue };
            if depth > MAX_DEPTH {
                continue;
            }
            let facts = entry.facts.clone();
            let here = folder(&entry.rel).to_owned();
            for (at, d) in facts.definitions.iter().enumerate().skip(1) {
                // Modules in functions are seen from their function alone.
                if d.kind != SymbolKind::Module || d.container != scope {
                    continue;
                }
                let at = at as DefId;
                let name = facts.strings.get(d.name);
                let path = format!("{}::{name}", self.layout.modules[module as usize].path);
                if d.flags & flag::ELSEWHERE == 0 {
                    let child = self.layout.add(path, LanguageId::RUST, Some(module), (file, at));
                    self.layout.modules[module as usize].children.entry(name.to_owned()).or_insert(child);
                    pending.push((file, at, child, format!("{inner_folder}/{name}"), depth + 1));
                    continue;
                }
                let given = facts.mod_paths.iter().find(|(of, _)| *of == at).map(|&(_, path)| facts.strings.get(path));
                let found = match given {
                    Some(given) => joined(if scope == 0 { &here } else { &inner_folder }, given).into_iter().collect(),
                    None => vec![
                        joined(&inner_folder, &format!("{name}.rs")).unwrap_or_default(),
                        joined(&inner_folder, &format!("{name}/mod.rs")).unwrap_or_default(),
                    ],
                };
                let Some((rel, child_file)) = found
                    .iter()
                    .find_map(|rel| self.model.by_path.get_key_value(rel.as_str()).map(|(rel, id)| (rel.clone(), *id)))
                else {
                    continue;
                };
                if !self.taken.insert(child_file) {
                    continue;
                }
                let child = self.layout.add(path, LanguageId::RUST, Some(module), (child_file, 0));
                self.layout.modules[module as usize].children.insert(name.to_owned(), child);
                let below = match file_name(&rel) {
                    "mod.rs" => folder(&rel).to_owned(),
                    _ if given.is_some() => folder(&rel).to_owned(),
                    name => joined(folder(&rel), name.trim_end_matches(".rs")).unwrap_or_default(),
                };
                pending.push((child_file, 0, child, below, depth + 1));
            }
        }
        Some(root)
    }
}
