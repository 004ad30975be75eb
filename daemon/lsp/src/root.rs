//! Where the root of a file is: ONE function, for diagnostics and for every operation.

use std::{
    fs,
    path::{Path, PathBuf},
};

use globset::Glob;

use crate::catalogue::{Hoist, Server};

/// A manifest that is larger is not looked into.
const MANIFEST: u64 = 1 << 20;

/// The root of a file for a server: the nearest folder with a marker, carried upwards as its row says; never above the
/// checkout, never the home folder or `/`. None if there is no marker.
pub(crate) fn of(server: &Server, file: &Path, checkout: &Path, home: Option<&Path>) -> Option<PathBuf> {
    let allowed = |folder: &Path| folder.starts_with(checkout) && folder.parent().is_some() && Some(folder) != home;
    let mut folders = file.ancestors().skip(1).take_while(|folder| folder.starts_with(checkout)).filter(|folder| allowed(folder));
    let nearest = folders.find(|folder| server.markers.iter().any(|marker| is_there(&folder.join(marker))))?;
    let above: Vec<&Path> =
        nearest.ancestors().take_while(|folder| folder.starts_with(checkout)).filter(|folder| allowed(folder)).collect();
    let hoisted = match server.hoist {
        Hoist::Nearest => None,
        Hoist::Cargo => above.iter().find(|folder| cargo_covers(folder, nearest)),
        Hoist::Go => above.iter().find(|folder| go_uses(folder, nearest)),
        Hoist::Node => above.iter().rev().find(|folder| is_node_workspace(folder)),
    };
    Some(hoisted.copied().unwrap_or(nearest).to_path_buf())
}

/// There is something; what cannot be looked at is not.
pub(crate) fn is_there(path: &Path) -> bool {
    fs::metadata(path).is_ok()
}

fn read(path: &Path) -> Option<String> {
    let found = fs::metadata(path).ok()?;
    if !found.is_file() || found.len() > MANIFEST {
        return None;
    }
    fs::read_to_string(path).ok()
}

/// Whether the `Cargo.toml` of this folder has a `[workspace]` that covers the package.
fn cargo_covers(folder: &Path, package: &Path) -> bool {
    let manifest = read(&folder.join("Cargo.toml")).and_then(|text| text.parse::<toml::Table>().ok());
    let Some(manifest) = manifest else { return false };
    let Some(workspace) = manifest.get("workspace").and_then(toml::Value::as_table) else { return false };
    let Ok(relative) = package.strip_prefix(folder) else { return false };
    if relative.as_os_str().is_empty() {
        return true;
    }
    let list = |name: &str| {
        let values = workspace.get(name).and_then(toml::Value::as_array);
        values.into_iter().flatten().filter_map(toml::Value::as_str).map(|value| value.trim_end_matches('/')).collect::<Vec<_>>()
    };
    if list("exclude").iter().any(|excluded| relative.starts_with(excluded)) {
        return false;
    }
    let matches = |pattern: &str| {
        let glob = globset::GlobBuilder::new(pattern.trim_start_matches("./")).literal_separator(true).build();
        glob.is_ok_and(|glob| glob.compile_matcher().is_match(relative))
    };
    // A package that the root depends on by its path is a member too.
    let depends = ["dependencies", "dev-dependencies", "build-dependencies"].iter().any(|table| {
        let table = manifest.get(*table).and_then(toml::Value::as_table);
        let paths = table.into_iter().flatten().filter_map(|(_, value)| value.get("path")?.as_str());
        paths.into_iter().any(|path| Path::new(path.trim_start_matches("./")) == relative)
    });
    depends || list("members").into_iter().any(matches)
}

/// Whether the `go.work` of this folder uses the module.
fn go_uses(folder: &Path, module: &Path) -> bool {
    let Some(text) = read(&folder.join("go.work")) else { return false };
    let Ok(relative) = module.strip_prefix(folder) else { return false };
    let words = text.lines().flat_map(|line| line.split("//").next().unwrap_or("").split_whitespace());
    let names = |word: &str| {
        let word = word.trim_matches('"').trim_end_matches('/');
        let word = word.strip_prefix("./").unwrap_or(if word == "." { "" } else { word });
        Path::new(word) == relative
    };
    let mut words = words.filter(|word| *word != "(" && *word != ")");
    words.any(names)
}

fn is_node_workspace(folder: &Path) -> bool {
    let manifest = read(&folder.join("package.json"));
    let declares = manifest.as_deref().is_some_and(|text| {
        serde_json::from_str::<serde_json::Value>(text).is_ok_and(|manifest| manifest.get("workspaces").is_some())
    });
    let pnpm = is_there(&folder.join("pnpm-workspace.yaml"));
    declares || pnpm && (manifest.is_some() || is_there(&folder.join("tsconfig.json")))
}

/// Whether a path relative to the root, or the whole path, fits a glob of the protocol.
pub(crate) fn glob(pattern: &str) -> Option<globset::GlobMatcher> {
    Glob::new(pattern).ok().map(|glob| glob.compile_matcher())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::with_overrides;

    fn check(id: &str, files: &[(&str, &str)], file: &str, expected: Option<&str>) {
        let world = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = world.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let server = with_overrides(&[]).into_iter().find(|server| server.id == id).unwrap();
        let checkout = world.path().join("c");
        let root = of(&server, &world.path().join(file), &checkout, None);
        assert_eq!(root.as_deref(), expected.map(|name| world.path().join(name)).as_deref(), "{id} {file}");
    }

    #[test]
    fn cargo_goes_up_to_the_workspace_that_covers() {
        let member = ("c/one/Cargo.toml", "[package]\nname='one'");
        let check = |files: &[_], expected| check("rust-analyzer", files, "c/one/src/lib.rs", Some(expected));
        check(&[("c/Cargo.toml", "[workspace]\nmembers=['o*']"), member], "c");
        check(&[("c/Cargo.toml", "[workspace]\nmembers=['two']"), member], "c/one");
        check(&[("c/Cargo.toml", "[workspace]\nmembers=['*']\nexclude=['one']"), member], "c/one");
        check(&[("c/Cargo.toml", "[workspace]\n[dependencies]\none={path='one'}"), member], "c");
        check(&[("c/Cargo.toml", "[package]\nname='c'"), member], "c/one");
        check(&[("c/Cargo.toml", "not toml ["), member], "c/one");
    }

    #[test]
    fn nothing_above_the_checkout_counts() {
        check("rust-analyzer", &[("Cargo.toml", "[workspace]\nmembers=['c']"), ("c/Cargo.toml", "")], "c/a.rs", Some("c"));
        check("rust-analyzer", &[("Cargo.toml", ""), ("c/a.rs", "")], "c/a.rs", None);
        check("rust-analyzer", &[("c/Cargo.toml", "")], "outside.rs", None);
    }

    #[test]
    fn go_and_node_go_up_to_their_workspaces() {
        let module = ("c/a/go.mod", "module a");
        check("gopls", &[("c/go.work", "go 1.22\nuse (\n\t./a\n)\n"), module], "c/a/b/x.go", Some("c"));
        check("gopls", &[("c/go.work", "use ./other"), module], "c/a/x.go", Some("c/a"));
        let package = ("c/p/tsconfig.json", "{}");
        let tsls = "typescript-language-server";
        check(tsls, &[("c/package.json", r#"{"workspaces":["p"]}"#), package], "c/p/x.ts", Some("c"));
        check(tsls, &[("c/package.json", "{}"), package], "c/p/x.ts", Some("c/p"));
        check(tsls, &[("c/pnpm-workspace.yaml", ""), package], "c/p/x.ts", Some("c/p"));
        check(tsls, &[("c/pnpm-workspace.yaml", ""), ("c/tsconfig.json", ""), package], "c/p/x.ts", Some("c"));
    }
}
