//! Packages of Go: a folder is one, an external test package (`x_test`) beside it another.
//!
//! Source: the Go modules reference (module paths, `replace` with a folder) and the layout of the distribution, whose
//! module `std` names its packages without a prefix.

use ccd_grammars::LanguageId;

use super::{Layout, Manifests, ModuleId, file_name, folder, joined};
use crate::{
    facts::NONE,
    model::{FileId, Model},
};

#[derive(Debug, Default)]
pub(crate) struct Packages {
    /// Folder, module path; longest folder first.
    modules: Vec<(String, String)>,
    /// Folder of the module that says so, import path, folder that stands for it.
    replaced: Vec<(String, String, String)>,
}

impl Packages {
    fn module_of(&self, rel: &str) -> Option<&(String, String)> {
        self.modules.iter().find(|(base, _)| base.is_empty() || rel == base || rel.starts_with(&format!("{base}/")))
    }

    pub(crate) fn imported(&self, layout: &Layout, from: &str, written: &str) -> Option<ModuleId> {
        let base = self.module_of(from).map(|(base, _)| base.as_str());
        for (of, path, target) in &self.replaced {
            if Some(of.as_str()) == base
                && let Some(rest) = written.strip_prefix(path.as_str())
                && (rest.is_empty() || rest.starts_with('/'))
            {
                return layout.by_path(LanguageId::GO, &format!("folder:{}", joined(target, rest)?));
            }
        }
        layout.by_path(LanguageId::GO, written)
    }
}

fn directives(text: &str) -> impl Iterator<Item = (String, Vec<&str>)> {
    let mut block = String::new();
    text.lines().filter_map(move |line| {
        let line = line.split("//").next().unwrap_or_default().trim();
        let mut words: Vec<&str> = line.split_whitespace().collect();
        match (block.is_empty(), words.as_slice()) {
            (_, []) => None,
            (_, [")"]) => {
                block.clear();
                None
            }
            (true, [word, "("]) => {
                block = (*word).to_owned();
                None
            }
            (true, [word, ..]) => {
                let word = (*word).to_owned();
                Some((word, words.split_off(1)))
            }
            (false, _) => Some((block.clone(), words)),
        }
    })
}

pub(crate) fn lay_out(layout: &mut Layout, model: &Model, manifests: &Manifests) {
    let mut packages = Packages::default();
    for (path, bytes) in manifests.iter().filter(|(path, _)| file_name(path) == "go.mod") {
        let base = folder(path).to_owned();
        for (word, values) in directives(&String::from_utf8_lossy(bytes)) {
            match (word.as_str(), values.as_slice()) {
                ("module", [name]) => packages.modules.push((base.clone(), name.trim_matches(['"', '`']).to_owned())),
                ("replace", values) => {
                    let arrow = values.iter().position(|word| *word == "=>");
                    if let Some(arrow) = arrow
                        && let (Some(from), Some(to)) = (values.first(), values.get(arrow + 1))
                        && to.starts_with('.')
                        && let Some(target) = joined(&base, to)
                    {
                        packages.replaced.push((base.clone(), (*from).to_owned(), target));
                    }
                }
                _ => {}
            }
        }
    }
    packages.modules.sort_by_key(|(base, _)| std::cmp::Reverse(base.len()));

    let mut files: Vec<(&str, FileId)> =
        model.entries().filter(|(_, entry)| entry.language == LanguageId::GO).map(|(id, entry)| (&*entry.rel, id)).collect();
    files.sort_unstable();
    for (rel, id) in files {
        let Some(entry) = model.file(id) else { continue };
        let package = if entry.facts.package == NONE { "" } else { entry.facts.strings.get(entry.facts.package) };
        let base = folder(rel);
        let path = match packages.module_of(base) {
            Some((of, name)) => {
                let rest = base[of.len()..].trim_start_matches('/');
                match (name.as_str(), rest) {
                    ("std", rest) => rest.to_owned(),
                    (name, "") => name.to_owned(),
                    (name, rest) => format!("{name}/{rest}"),
                }
            }
            None => base.to_owned(),
        };
        // Tests of the package from outside, and commands kept beside a library, are packages of their own.
        let key = format!("package:{base}:{package}");
        if let Some(module) = layout.by_path(LanguageId::GO, &key) {
            layout.modules[module as usize].scopes.push((id, 0));
            layout.by_scope.insert((id, 0), module);
            continue;
        }
        let external_test = package.ends_with("_test") && file_name(rel).ends_with("_test.go");
        let shown = if external_test { format!("{path}_test") } else { path.clone() };
        let module = layout.add(shown, LanguageId::GO, None, (id, 0));
        layout.by_path.insert((LanguageId::GO, key), module);
        if !external_test {
            // `main` beside a library is a tool; the library has the path.
            let importable = |layout: &mut Layout, path: String| {
                let known = layout.by_path.get(&(LanguageId::GO, path.clone())).copied();
                let over = known.is_none_or(|known| {
                    let (file, _) = layout.modules[known as usize].scopes[0];
                    model.file(file).is_some_and(|entry| {
                        entry.facts.package != NONE && matches!(entry.facts.strings.get(entry.facts.package), "main" | "ignore")
                    })
                });
                if over {
                    layout.by_path.insert((LanguageId::GO, path), module);
                }
            };
            importable(layout, path);
            importable(layout, format!("folder:{base}"));
        }
    }
    layout.go = packages;
}
