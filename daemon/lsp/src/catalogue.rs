//! The servers that are known, a row each. To add one, add its row.

use std::{path::PathBuf, sync::LazyLock, time::Duration};

use serde_json::{Value, json};

/// How far the nearest marker is carried upwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hoist {
    /// Not at all.
    Nearest,
    /// To the `Cargo.toml` with the `[workspace]` that covers it.
    Cargo,
    /// To the `go.work` that uses it.
    Go,
    /// To the root of the pnpm or npm workspace, if that has a `tsconfig.json` or a `package.json`.
    Node,
}

/// What a server needs beside its own binary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Need {
    /// Another program in the `PATH` that runs with these arguments.
    Program(&'static str, &'static [&'static str]),
    /// A TypeScript that it can load: in the checkout, or beside it.
    TypeScript,
}

/// Whether a program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Another program than the server's own, by its name.
    pub program: Option<String>,
    /// `--version`, or what it has for it.
    pub arguments: Vec<String>,
    /// What its stdout must begin with.
    pub says: Option<&'static str>,
}

/// A server: a row of the catalogue, or one of the user's.
#[derive(Clone, Debug)]
pub struct Server {
    /// As it is told and configured.
    pub id: String,
    /// Languages that it serves, by our names.
    pub languages: Vec<String>,
    /// Endings of files (`.rs`) with the language that the protocol calls them by.
    pub extensions: Vec<(String, String)>,
    /// Files or folders that make a folder a root.
    pub markers: Vec<String>,
    /// How far up the root is.
    pub hoist: Hoist,
    /// Programs with their arguments; the first that is there is taken.
    pub commands: Vec<Vec<String>>,
    /// How it is tried; none: that it is there must do.
    pub trial: Option<Trial>,
    /// What else it needs.
    pub needs: Vec<Need>,
    /// Variables that are passed to it, and that make it a process of its own.
    pub variables: Vec<String>,
    /// It comes beside the server of a language, not in its place.
    pub linter: bool,
    /// It tells about files that are not open, and about its whole project once it is loaded.
    pub project_wide: bool,
    /// It says nothing of a text whose list is the same, although its lists have versions.
    pub silent_if_same: bool,
    /// It runs a checker that reads the disk, and pushes what that says (rust-analyzer).
    pub checks: bool,
    /// How long its list of the old text is waited for when it sees a file for the first time.
    pub first_wait: Duration,
    /// An unversioned list stands when nothing came for so long.
    pub quiet: Duration,
    /// A silent server that took the text is assumed to have nothing to say after so long.
    pub assumed: Duration,
    /// `initializationOptions`.
    pub options: Value,
    /// Answers to `workspace/configuration`, by section.
    pub settings: Value,
}

impl Server {
    /// A server that nothing is known of.
    #[must_use]
    pub fn unknown(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            languages: Vec::new(),
            extensions: Vec::new(),
            markers: Vec::new(),
            hoist: Hoist::Nearest,
            commands: Vec::new(),
            trial: Some(Trial { program: None, arguments: vec!["--version".to_owned()], says: None }),
            needs: Vec::new(),
            variables: Vec::new(),
            linter: false,
            project_wide: false,
            silent_if_same: false,
            checks: false,
            first_wait: Duration::from_secs(1),
            quiet: Duration::from_millis(300),
            assumed: Duration::from_secs(1),
            options: Value::Null,
            settings: json!({}),
        }
    }

    /// The name by which the protocol knows the language of this file; none if the server does not claim it.
    #[must_use]
    pub fn language_of(&self, path: &std::path::Path) -> Option<&str> {
        let name = path.file_name()?.to_str()?;
        let hit = |(ending, _): &&(String, String)| name.len() > ending.len() && name.ends_with(ending.as_str());
        self.extensions.iter().filter(hit).max_by_key(|(ending, _)| ending.len()).map(|(_, language)| language.as_str())
    }
}

/// What the user says of a server; what is none stays as the catalogue has it.
#[derive(Clone, Debug, Default)]
pub struct Override {
    /// The whole argv.
    pub command: Option<Vec<String>>,
    /// Languages.
    pub languages: Option<Vec<String>>,
    /// `.ext` of its files.
    pub extensions: Option<Vec<String>>,
    /// Its root markers.
    pub root_markers: Option<Vec<String>>,
    /// Arguments of the trial; an inner none: it is not tried.
    pub probe: Option<Option<Vec<String>>>,
    /// Variables that belong to its key.
    pub env: Option<Vec<String>>,
    /// `initializationOptions`.
    pub init_options: Option<Value>,
}

/// The catalogue with what the user adds and overrides, in the order of preference: a server that the catalogue does not
/// know comes last.
#[must_use]
pub fn with_overrides(overrides: &[(String, Override)]) -> Vec<Server> {
    let mut servers = CATALOGUE.clone();
    for (id, change) in overrides {
        let at = servers.iter().position(|server| server.id == *id).unwrap_or_else(|| {
            servers.push(Server::unknown(id));
            servers.len() - 1
        });
        let server = &mut servers[at];
        let change = change.clone();
        if let Some(command) = change.command {
            server.commands = vec![command];
            // What the row needs for its own program says nothing of another one.
            server.needs.clear();
            server.trial = Server::unknown(id).trial;
        }
        if let Some(languages) = change.languages {
            server.languages = languages;
        }
        if let Some(extensions) = change.extensions {
            let language = server.languages.first().cloned().unwrap_or_else(|| id.clone());
            server.extensions = extensions.into_iter().map(|ending| (ending, language.clone())).collect();
        }
        if let Some(markers) = change.root_markers {
            server.markers = markers;
            server.hoist = Hoist::Nearest;
        }
        if let Some(probe) = change.probe {
            server.trial = probe.map(|arguments| Trial { program: None, arguments, says: None });
        }
        if let Some(variables) = change.env {
            server.variables = variables;
        }
        if let Some(options) = change.init_options {
            server.options = options;
        }
    }
    servers
}

/// A program that a checkout may have beside its sources, where the user allowed it for the language.
#[must_use]
pub(crate) fn local_folders(root: &std::path::Path) -> [PathBuf; 3] {
    ["node_modules/.bin", ".venv/bin", "venv/bin"].map(|folder| root.join(folder))
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

fn row(id: &str, extensions: &[(&str, &str)], markers: &[&str], commands: &[&[&str]], variables: &[&str]) -> Server {
    let mut languages: Vec<String> = Vec::new();
    for (_, language) in extensions {
        let language = language.strip_suffix("react").unwrap_or(language).to_owned();
        if !languages.contains(&language) {
            languages.push(language);
        }
    }
    Server {
        languages,
        extensions: extensions.iter().map(|(ending, language)| ((*ending).to_owned(), (*language).to_owned())).collect(),
        markers: words(markers),
        commands: commands.iter().map(|command| words(command)).collect(),
        variables: words(variables),
        ..Server::unknown(id)
    }
}

fn trial(program: &str, arguments: &[&str]) -> Option<Trial> {
    Some(Trial { program: Some(program.to_owned()), arguments: words(arguments), says: None })
}

const TYPESCRIPT: &[(&str, &str)] = &[
    (".ts", "typescript"),
    (".mts", "typescript"),
    (".cts", "typescript"),
    (".tsx", "typescriptreact"),
    (".js", "javascript"),
    (".mjs", "javascript"),
    (".cjs", "javascript"),
    (".jsx", "javascriptreact"),
];
const TYPESCRIPT_MARKERS: &[&str] = &["tsconfig.json", "jsconfig.json", "package.json"];
const PYTHON: &[(&str, &str)] = &[(".py", "python"), (".pyi", "python")];
const PYTHON_MARKERS: &[&str] =
    &["pyproject.toml", "pyrightconfig.json", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "ty.toml"];
const PYTHON_VARIABLES: &[&str] = &["VIRTUAL_ENV", "CONDA_PREFIX"];
const C: &[(&str, &str)] =
    &[(".c", "c"), (".h", "c"), (".cc", "cpp"), (".cpp", "cpp"), (".cxx", "cpp"), (".hh", "cpp"), (".hpp", "cpp")];

/// In the order of preference. Where several claim a language, the first that is available serves it.
static CATALOGUE: LazyLock<Vec<Server>> = LazyLock::new(|| {
    vec![
        Server {
            hoist: Hoist::Cargo,
            checks: true,
            project_wide: true,
            first_wait: Duration::from_secs(5),
            options: json!({"checkOnSave": true, "files": {"watcher": "client"}}),
            ..row(
                "rust-analyzer",
                &[(".rs", "rust")],
                &["Cargo.toml"],
                &[&["rust-analyzer"]],
                &["RUSTUP_TOOLCHAIN", "RUSTUP_HOME", "CARGO_HOME", "CARGO_TARGET_DIR", "RUST_SRC_PATH"],
            )
        },
        Server {
            hoist: Hoist::Go,
            needs: vec![Need::Program("go", &["version"])],
            trial: Some(Trial { program: None, arguments: words(&["version"]), says: None }),
            project_wide: true,
            first_wait: Duration::from_secs(10),
            // One pass over all that a write concerns; by default other packages come 1 s later.
            options: json!({"diagnosticsDelay": "0s"}),
            settings: json!({"gopls": {"diagnosticsDelay": "0s"}}),
            ..row(
                "gopls",
                &[(".go", "go")],
                &["go.mod", "go.work"],
                &[&["gopls"]],
                &[
                    "GOROOT",
                    "GOPATH",
                    "GOFLAGS",
                    "GOPROXY",
                    "GOSUMDB",
                    "GOCACHE",
                    "GOMODCACHE",
                    "GOTOOLCHAIN",
                    "GOWORK",
                    "GOENV",
                    "GOOS",
                    "GOARCH",
                    "CGO_ENABLED",
                ],
            )
        },
        Server {
            hoist: Hoist::Node,
            needs: vec![Need::TypeScript],
            first_wait: Duration::from_secs(10),
            ..row(
                "typescript-language-server",
                TYPESCRIPT,
                TYPESCRIPT_MARKERS,
                &[&["typescript-language-server", "--stdio"]],
                &[],
            )
        },
        Server {
            hoist: Hoist::Node,
            first_wait: Duration::from_secs(10),
            ..row("vtsls", TYPESCRIPT, TYPESCRIPT_MARKERS, &[&["vtsls", "--stdio"]], &[])
        },
        Server {
            hoist: Hoist::Node,
            trial: Some(Trial { program: None, arguments: words(&["--version"]), says: Some("Version 7") }),
            first_wait: Duration::from_secs(5),
            ..row("ts7", TYPESCRIPT, TYPESCRIPT_MARKERS, &[&["tsc", "--lsp", "--stdio"]], &[])
        },
        Server {
            trial: trial("pyright", &["--version"]),
            first_wait: Duration::from_secs(5),
            ..row("pyright", PYTHON, PYTHON_MARKERS, &[&["pyright-langserver", "--stdio"]], PYTHON_VARIABLES)
        },
        Server {
            trial: trial("basedpyright", &["--version"]),
            first_wait: Duration::from_secs(5),
            ..row("basedpyright", PYTHON, PYTHON_MARKERS, &[&["basedpyright-langserver", "--stdio"]], PYTHON_VARIABLES)
        },
        Server {
            first_wait: Duration::from_secs(5),
            ..row("ty", PYTHON, PYTHON_MARKERS, &[&["ty", "server"]], PYTHON_VARIABLES)
        },
        Server {
            linter: true,
            first_wait: Duration::from_secs(2),
            ..row("ruff", PYTHON, &["ruff.toml", ".ruff.toml", "pyproject.toml"], &[&["ruff", "server"]], PYTHON_VARIABLES)
        },
        Server {
            silent_if_same: true,
            first_wait: Duration::from_secs(5),
            ..row("clangd", C, &["compile_commands.json", "compile_flags.txt", ".clangd", "CMakeLists.txt"], &[&["clangd"]], &[])
        },
        Server {
            project_wide: true,
            first_wait: Duration::from_secs(5),
            ..row(
                "dart",
                &[(".dart", "dart")],
                &["pubspec.yaml"],
                &[&["dart", "language-server", "--protocol=lsp"]],
                &["PUB_CACHE", "FLUTTER_ROOT"],
            )
        },
        row(
            "bash-language-server",
            &[(".sh", "shellscript"), (".bash", "shellscript")],
            &[".shellcheckrc", ".git"],
            &[&["bash-language-server", "start"]],
            &[],
        ),
        row(
            "lua-language-server",
            &[(".lua", "lua")],
            &[".luarc.json", ".luarc.jsonc", ".stylua.toml", "stylua.toml"],
            &[&["lua-language-server"]],
            &[],
        ),
    ]
});

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn ids_are_unique_and_rows_whole() {
        let servers = with_overrides(&[]);
        for (at, server) in servers.iter().enumerate() {
            assert!(servers[..at].iter().all(|other| other.id != server.id), "{}", server.id);
            assert!(!server.extensions.is_empty() && !server.markers.is_empty() && !server.commands.is_empty(), "{}", server.id);
            assert!(server.extensions.iter().all(|(ending, _)| ending.starts_with('.')), "{}", server.id);
        }
    }

    #[test]
    fn a_user_adds_and_overrides_field_by_field() {
        let change = Override { command: Some(words(&["/opt/ra"])), probe: Some(None), ..Override::default() };
        let own = Override {
            command: Some(words(&["fake-ls", "plain"])),
            languages: Some(words(&["fake"])),
            extensions: Some(words(&[".fake"])),
            root_markers: Some(words(&["fake.root"])),
            ..Override::default()
        };
        let servers = with_overrides(&[("rust-analyzer".to_owned(), change), ("fake".to_owned(), own)]);
        let rust = &servers[0];
        assert_eq!((&rust.commands[0][..], rust.trial.is_none(), rust.checks), (&words(&["/opt/ra"])[..], true, true));
        let fake = servers.last().unwrap();
        assert_eq!((fake.language_of(Path::new("/a/b.fake")), fake.language_of(Path::new("/a/.fake"))), (Some("fake"), None));
    }
}
