//! Sources of Rust crates: every function that `syn` sees is a symbol, and an index kept up to date equals a new one.

use std::{collections::BTreeMap, fs};

use serde_json::json;
use syn::visit::Visit;

use crate::{Indexed, crate_sources, repository};

#[derive(Default)]
struct Functions(Vec<(u64, String)>);

impl Functions {
    fn add(&mut self, name: &syn::Ident) {
        self.0.push((name.span().start().line as u64, name.to_string().trim_start_matches("r#").to_owned()));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.add(&item.sig.ident);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.add(&item.sig.ident);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast syn::TraitItemFn) {
        self.add(&item.sig.ident);
        syn::visit::visit_trait_item_fn(self, item);
    }

    fn visit_foreign_item_fn(&mut self, item: &'ast syn::ForeignItemFn) {
        self.add(&item.sig.ident);
        syn::visit::visit_foreign_item_fn(self, item);
    }
}

fn every_function_is_a_symbol(mut indexed: Indexed) {
    let (mut functions, mut unparsed) = (0, Vec::new());
    let mut missing = Vec::new();
    for file in indexed.files().iter().filter(|file| file.ends_with(".rs")) {
        let Ok(tree) = syn::parse_file(&fs::read_to_string(indexed.root.join(file)).unwrap()) else {
            unparsed.push(file.clone());
            continue;
        };
        let mut expected = Functions::default();
        expected.visit_file(&tree);
        let mut found: BTreeMap<(u64, String), usize> = BTreeMap::new();
        for (line, name, kind) in indexed.definitions(file) {
            if ["function", "method", "test"].contains(&kind.as_str()) {
                *found.entry((line, name)).or_default() += 1;
            }
        }
        functions += expected.0.len();
        for function in expected.0 {
            match found.get_mut(&function) {
                Some(left) if *left > 0 => *left -= 1,
                _ => missing.push((file.clone(), function)),
            }
        }
    }
    assert!(
        missing.is_empty(),
        "{} of {functions} functions are no symbols: {:#?}",
        missing.len(),
        &missing[..missing.len().min(20)]
    );
    assert!(functions > 100 && unparsed.len() <= 2, "{functions} functions; syn does not read {unparsed:?}");
    println!("{functions} functions are symbols; syn does not read {unparsed:?}");
}

#[test]
fn every_function_of_tokio_is_a_symbol() {
    every_function_is_a_symbol(Indexed::new(&crate_sources("tokio"), &[".rs", "Cargo.toml"]));
}

#[test]
fn every_function_of_jsonrpsee_is_a_symbol() {
    every_function_is_a_symbol(Indexed::new(&crate_sources("jsonrpsee-core"), &[".rs", "Cargo.toml"]));
    every_function_is_a_symbol(Indexed::new(&crate_sources("jsonrpsee-server"), &[".rs", "Cargo.toml"]));
}

#[test]
fn every_function_of_this_repository_is_a_symbol() {
    every_function_is_a_symbol(Indexed::new(&repository().join("daemon"), &[".rs", "Cargo.toml"]));
}

#[test]
fn an_index_that_was_kept_up_to_date_equals_a_new_one() {
    let mut kept = Indexed::new(&crate_sources("tokio"), &[".rs", "Cargo.toml"]);
    let whole = kept.ask("graph.digest", json!({}))["digest"].clone();
    // One edit of each kind that moves, adds or takes names, each told as a path.
    let edits: [(&str, &dyn Fn(String) -> String); 4] = [
        ("src/task/spawn.rs", &|text| text.replace("pub fn spawn<", "pub fn spawn_renamed<")),
        ("src/task/mod.rs", &|text| format!("// moved\n\n{text}")),
        ("src/sync/mod.rs", &|text| text.replace("mod notify;", "mod not_there;")),
        ("src/runtime/handle.rs", &|text| format!("{text}\nfn added() {{ spawn_renamed(async {{}}); }}\n")),
    ];
    let mut originals = Vec::new();
    for (rel, edit) in edits {
        let path = kept.root.join(rel);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, edit(text.clone())).unwrap();
        originals.push((path.clone(), text));
        kept.ask("graph.index", json!({"paths": [path]}));
    }
    let edited = kept.ask("graph.digest", json!({}))["digest"].clone();
    let mut fresh = Indexed::new(&kept.root.clone(), &[".rs", "Cargo.toml"]);
    assert_eq!(fresh.ask("graph.digest", json!({}))["digest"], edited);
    assert_ne!(edited, whole);
    for (path, text) in originals {
        fs::write(&path, text).unwrap();
        kept.ask("graph.index", json!({"paths": [path]}));
    }
    assert_eq!(kept.ask("graph.digest", json!({}))["digest"], whole, "the edits undone give the graph from before");
}
