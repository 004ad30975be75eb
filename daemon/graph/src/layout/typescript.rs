//! How TypeScript and JavaScript find the file of a module specifier.
//!
//! Sources: the TypeScript handbook, "Module Resolution" (extensions, `index`, `baseUrl`, `paths`), and the Node.js
//! documentation on packages (`exports`, `main`). Packages of the workspace are found by name; all others lead out.

use ccd_grammars::LanguageId;
use rustc_hash::FxHashMap;
use serde_json::Value;

use super::{Layout, Manifests, ModuleId, file_name, folder, inner_modules, joined};
use crate::model::{FileId, Model};

const EXTENSIONS: [&str; 9] = ["ts", "tsx", "d.ts", "mts", "cts", "js", "jsx", "mjs", "cjs"];
/// `extends` of one configuration after another.
const MAX_EXTENDS: usize = 8;

#[derive(Debug, Default)]
pub(crate) struct Resolution {
    /// By folder, deepest first.
    configurations: Vec<Configuration>,
    packages: FxHashMap<String, Package>,
}

#[derive(Debug, Default, Clone)]
struct Configuration {
    folder: String,
    base: Option<String>,
    /// Pattern, targets (relative to the root of the workspace).
    paths: Vec<(String, Vec<String>)>,
}

#[derive(Debug)]
struct Package {
    folder: String,
    entry: Vec<String>,
    /// Subpath pattern, target.
    exports: Vec<(String, String)>,
}

pub(crate) fn lay_out(layout: &mut Layout, model: &Model, manifests: &Manifests) {
    let mut files: Vec<(&str, FileId, LanguageId)> = model
        .entries()
        .filter(|(_, entry)| entry.language.family() == LanguageId::TYPESCRIPT)
        .map(|(id, entry)| (&*entry.rel, id, entry.language))
        .collect();
    files.sort_unstable();
    for (rel, id, language) in files {
        let module = layout.add(rel.to_owned(), language, None, (id, 0));
        layout.by_path.insert((LanguageId::TYPESCRIPT, rel.to_owned()), module);
        for (definition, container, name) in inner_modules(model, id) {
            let parent = layout.module_of_scope(id, container).unwrap_or(module);
            let path = format!("{}.{name}", layout.module(parent).path);
            let inner = layout.add(path, language, Some(parent), (id, definition));
            // Namespaces of one name are one.
            match layout.modules[parent as usize].children.get(&name).copied() {
                Some(first) => layout.modules[first as usize].scopes.push((id, definition)),
                None => {
                    layout.modules[parent as usize].children.insert(name, inner);
                }
            }
        }
    }
    let mut resolution = Resolution::default();
    for (path, bytes) in manifests {
        let name = file_name(path);
        if name == "package.json" {
            if let Some((name, package)) = package(path, bytes) {
                resolution.packages.entry(name).or_insert(package);
            }
        } else if name == "tsconfig.json" || name == "jsconfig.json" {
            resolution.configurations.extend(configuration(path, manifests, 0));
        }
    }
    resolution.configurations.sort_by_key(|one| std::cmp::Reverse(one.folder.len()));
    layout.typescript = resolution;
}

impl Resolution {
    pub(crate) fn imported(&self, layout: &Layout, model: &Model, from: &str, written: &str) -> Option<ModuleId> {
        let found = |path: &str| file_of(model, path).and_then(|path| layout.by_path(LanguageId::TYPESCRIPT, &path));
        if written.starts_with('.') {
            return found(&joined(folder(from), written)?);
        }
        if let Some(rooted) = written.strip_prefix('/') {
            return found(rooted);
        }
        let nearest =
            self.configurations.iter().find(|one| one.folder.is_empty() || from.starts_with(&format!("{}/", one.folder)));
        if let Some(configuration) = nearest {
            let mut patterns: Vec<_> = configuration
                .paths
                .iter()
                .filter_map(|(pattern, targets)| Some((pattern, matched(pattern, written)?, targets)))
                .collect();
            // The longest prefix wins.
            patterns.sort_by_key(|(pattern, _, _)| std::cmp::Reverse(pattern.find('*').unwrap_or(usize::MAX)));
            for (_, star, targets) in patterns {
                if let Some(module) = targets.iter().find_map(|target| found(&target.replacen('*', star, 1))) {
                    return Some(module);
                }
            }
            if let Some(module) = configuration.base.as_ref().and_then(|base| found(&joined(base, written)?)) {
                return Some(module);
            }
        }
        let (name, rest) = package_name(written);
        let package = self.packages.get(name)?;
        if rest.is_empty() {
            return package.entry.iter().find_map(|entry| found(&joined(&package.folder, entry)?));
        }
        let subpath = format!("./{rest}");
        let exported = package.exports.iter().find_map(|(pattern, target)| {
            let star = matched(pattern, &subpath)?;
            found(&joined(&package.folder, &target.replacen('*', star, 1))?)
        });
        exported
            .or_else(|| found(&joined(&package.folder, rest)?))
            .or_else(|| found(&joined(&package.folder, &format!("src/{rest}"))?))
    }
}

fn package_name(written: &str) -> (&str, &str) {
    let skip = if written.starts_with('@') { written.find('/').map_or(written.len(), |slash| slash + 1) } else { 0 };
    match written[skip..].find('/') {
        Some(slash) => (&written[..skip + slash], &written[skip + slash + 1..]),
        None => (written, ""),
    }
}

/// What the star of a pattern stands for.
fn matched<'w>(pattern: &str, written: &'w str) -> Option<&'w str> {
    match pattern.split_once('*') {
        None => (pattern == written).then_some(""),
        Some((before, after)) => written.strip_prefix(before)?.strip_suffix(after),
    }
}

/// The file that a path without or with another extension means.
fn file_of(model: &Model, path: &str) -> Option<String> {
    let there = |path: String| model.by_path.contains_key(path.as_str()).then_some(path);
    if let Some(found) = there(path.to_owned()) {
        return Some(found);
    }
    // `./x.js` is written for what `x.ts` becomes.
    for (compiled, sources) in
        [(".js", &["ts", "tsx", "d.ts"][..]), (".mjs", &["mts", "d.mts"]), (".cjs", &["cts", "d.cts"]), (".jsx", &["tsx"])]
    {
        if let Some(stem) = path.strip_suffix(compiled)
            && let Some(found) = sources.iter().find_map(|extension| there(format!("{stem}.{extension}")))
        {
            return Some(found);
        }
    }
    if let Some(found) = EXTENSIONS.iter().find_map(|extension| there(format!("{path}.{extension}"))) {
        return Some(found);
    }
    let index = if path.is_empty() { "index".to_owned() } else { format!("{path}/index") };
    EXTENSIONS.iter().find_map(|extension| there(format!("{index}.{extension}")))
}

fn package(path: &str, bytes: &[u8]) -> Option<(String, Package)> {
    let value: Value = serde_json::from_slice(bytes).ok()?;
    let name = value.get("name")?.as_str()?.to_owned();
    let mut entry = Vec::new();
    let mut exports = Vec::new();
    match value.get("exports") {
        Some(Value::Object(map)) if map.keys().any(|key| key.starts_with('.')) => {
            for (key, target) in map {
                for target in targets(target) {
                    if key == "." { entry.push(target) } else { exports.push((key.clone(), target)) }
                }
            }
        }
        Some(other) => entry.extend(targets(other)),
        None => {}
    }
    for field in ["source", "types", "typings", "module", "main"] {
        entry.extend(value.get(field).and_then(Value::as_str).map(str::to_owned));
    }
    // What is published is built; the sources of a package of the workspace are beside it.
    entry.extend(["src/index", "src/main", "lib/index", "index"].map(str::to_owned));
    Some((name, Package { folder: folder(path).to_owned(), entry, exports }))
}

/// The files named by a value of `exports`, in order.
fn targets(value: &Value) -> Vec<String> {
    let mut out = Vec::new();
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::String(path) => out.push(path.clone()),
            Value::Object(map) => pending.extend(map.values().rev()),
            Value::Array(list) => pending.extend(list.iter().rev()),
            _ => {}
        }
    }
    out
}

fn configuration(path: &str, manifests: &Manifests, depth: usize) -> Option<Configuration> {
    let value: Value = serde_json::from_str(&without_comments(&String::from_utf8_lossy(manifests.get(path)?))).ok()?;
    let here = folder(path);
    let mut inherited = Configuration::default();
    let extends = match value.get("extends") {
        Some(Value::String(one)) => vec![one.as_str()],
        Some(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    };
    if depth < MAX_EXTENDS {
        for base in extends {
            let base = joined(here, base).unwrap_or_default();
            let known = [base.clone(), format!("{base}.json"), format!("{base}/tsconfig.json")];
            if let Some(found) = known.iter().find(|path| manifests.contains_key(*path)) {
                inherited = configuration(found, manifests, depth + 1).unwrap_or(inherited);
            }
        }
    }
    let options = value.get("compilerOptions");
    let base = options.and_then(|options| options.get("baseUrl")).and_then(Value::as_str).and_then(|base| joined(here, base));
    let from = base.clone().unwrap_or_else(|| here.to_owned());
    let paths = options.and_then(|options| options.get("paths")).and_then(Value::as_object).map(|map| {
        map.iter()
            .map(|(pattern, targets)| {
                let targets = targets.as_array().into_iter().flatten().filter_map(Value::as_str);
                (pattern.clone(), targets.filter_map(|target| joined(&from, target)).collect())
            })
            .collect()
    });
    Some(Configuration { folder: here.to_owned(), base: base.or(inherited.base), paths: paths.unwrap_or(inherited.paths) })
}

/// JSON as configurations are written: with comments and commas before a closing bracket.
fn without_comments(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut in_string = false;
    while let Some(letter) = chars.next() {
        if in_string {
            out.push(letter);
            match letter {
                '\\' => out.extend(chars.next()),
                '"' => in_string = false,
                _ => {}
            }
            continue;
        }
        match (letter, chars.peek()) {
            ('/', Some('/')) => {
                while chars.peek().is_some_and(|&next| next != '\n') {
                    chars.next();
                }
            }
            ('/', Some('*')) => {
                chars.next();
                let mut last = ' ';
                for next in chars.by_ref() {
                    if last == '*' && next == '/' {
                        break;
                    }
                    last = next;
                }
            }
            (']' | '}', _) => {
                let kept = out.trim_end().len();
                if out[..kept].ends_with(',') {
                    out.truncate(kept - 1);
                }
                out.push(letter);
            }
            _ => {
                in_string = letter == '"';
                out.push(letter);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configurations_may_hold_comments() {
        let text = "{ // a\n \"a\": \"x // y\", /* b */ \"c\": [1, 2,], }";
        let value: Value = serde_json::from_str(&without_comments(text)).unwrap();
        assert_eq!(value, serde_json::json!({"a": "x // y", "c": [1, 2]}));
    }

    #[test]
    fn names_of_packages() {
        assert_eq!(package_name("@a/b/c/d"), ("@a/b", "c/d"));
        assert_eq!(package_name("a"), ("a", ""));
        assert_eq!(matched("@/*", "@/x/y"), Some("x/y"));
        assert_eq!(matched("@/*", "x"), None);
    }
}
