//! Whether a server is available: a root marker AND a binary AND it ran.

use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
};

use ccd_process::{Environment, Lookup, LookupError, Probe, Prober};

use crate::{
    catalogue::{Need, Server, Trial, local_folders},
    root,
};

/// Why a server does not serve; the words are the same everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// No root marker from the file up to the checkout.
    NoMarker,
    /// No program of its name in the `PATH`, or something that it needs is missing.
    NoBinary,
    /// The checkout is not trusted: nothing is run, not even to try.
    Untrusted,
    /// The configuration says so.
    Disabled,
    /// It is there and does not run.
    ProbeFailed,
    /// It ran and could not be started as a server.
    FailedToStart,
    /// It ended unasked.
    Crashed,
    /// It crashed too often.
    Quarantined,
}

impl Reason {
    /// As it is told.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::NoMarker => "no_marker",
            Self::NoBinary => "no_binary",
            Self::Untrusted => "untrusted",
            Self::Disabled => "disabled",
            Self::ProbeFailed => "probe_failed",
            Self::FailedToStart => "failed_to_start",
            Self::Crashed => "crashed",
            Self::Quarantined => "quarantined",
        }
    }
}

/// Why, in whose words, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    /// One of the list.
    pub reason: Reason,
    /// The sentence, with the program's own words where it said something.
    pub detail: String,
    /// What to do about it.
    pub fix: String,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.reason.word(), self.detail)
    }
}

/// A checkout, as its opener sees it.
#[derive(Clone, Debug)]
pub struct Checkout {
    /// Absolute.
    pub root: PathBuf,
    /// Whether its code may be run.
    pub trusted: bool,
    /// The variables of whoever opened it.
    pub variables: BTreeMap<OsString, OsString>,
    /// Languages whose programs may come from the checkout itself.
    pub local_binaries: Vec<String>,
    /// Servers (ids) or languages that are turned off here.
    pub disabled: Vec<String>,
}

impl Checkout {
    fn home(&self) -> Option<&Path> {
        self.variables.get(OsStr::new("HOME")).map(Path::new)
    }

    pub(crate) fn root_of(&self, server: &Server, file: &Path) -> Option<PathBuf> {
        root::of(server, file, &self.root, self.home())
    }

    fn allows_local(&self, server: &Server) -> bool {
        self.trusted && server.languages.iter().any(|language| self.local_binaries.contains(language))
    }

    /// What the server is told of its surroundings.
    pub(crate) fn environment(&self, server: &Server) -> Environment {
        let allowed = Environment::allowed(self.variables.clone(), &server.variables);
        if self.allows_local(server) { allowed } else { allowed.clean(&[&self.root]).0 }
    }

    /// The declared variables that are set: with the program they make a process of its own.
    pub(crate) fn declared(&self, server: &Server) -> BTreeMap<String, String> {
        let environment = self.environment(server);
        let declared = |name: &str| {
            let fits = |rule: &String| rule.strip_suffix('*').map_or(rule == name, |prefix| name.starts_with(prefix));
            server.variables.iter().any(fits)
        };
        let text = |(name, value): (&OsStr, &OsStr)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned());
        environment.iter().map(text).filter(|(name, _)| declared(name)).collect()
    }
}

/// A server that runs, and how it is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Absolute.
    pub program: PathBuf,
    /// Behind it.
    pub arguments: Vec<String>,
}

/// A server that claims a file.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its row.
    pub server: Arc<Server>,
    /// The root that it would have; none without a marker.
    pub root: Option<PathBuf>,
    /// Whether it is available.
    pub found: Result<Found, Unavailable>,
}

/// Looks at marker, binary, trust, configuration and trial, in this order.
pub(crate) async fn detect(prober: &Prober, server: &Arc<Server>, file: &Path, checkout: &Checkout) -> Claim {
    let root = is_inside(file, &checkout.root).then(|| checkout.root_of(server, file)).flatten();
    let found = match &root {
        Some(_) => find(prober, server, checkout).await,
        None if !is_inside(file, &checkout.root) => {
            Err(no_marker(format!("{} lies outside of the checkout {}", file.display(), checkout.root.display())))
        }
        None => Err(no_marker(format!(
            "no root marker ({}) from {} up to {}",
            server.markers.join(", "),
            file.parent().unwrap_or(file).display(),
            checkout.root.display()
        ))),
    };
    Claim { server: Arc::clone(server), root, found }
}

/// As written: who asks has resolved it.
fn is_inside(file: &Path, root: &Path) -> bool {
    file.starts_with(root) && !file.components().any(|part| part == std::path::Component::ParentDir)
}

fn no_marker(detail: String) -> Unavailable {
    Unavailable { reason: Reason::NoMarker, detail, fix: "add the project's manifest".to_owned() }
}

async fn find(prober: &Prober, server: &Server, checkout: &Checkout) -> Result<Found, Unavailable> {
    let path = search_path(server, checkout);
    let local = checkout.allows_local(server);
    let roots = [checkout.root.as_path()];
    let lookup = Lookup { path: &path, roots: &roots, local };
    let find = |name: &str| lookup.find(name.as_ref()).map_err(|error| no_binary(server, &error));
    let mut missing = None;
    let mut chosen = None;
    for command in &server.commands {
        let Some((name, arguments)) = command.split_first() else { continue };
        match find(name) {
            Ok(program) => {
                chosen = Some(Found { program, arguments: arguments.to_vec() });
                break;
            }
            Err(error) => {
                missing.get_or_insert(error);
            }
        }
    }
    let Some(found) = chosen else {
        return Err(missing.unwrap_or_else(|| Unavailable {
            reason: Reason::NoBinary,
            detail: format!("no binary: the configuration names no command for {}", server.id),
            fix: format!("set `command` in [lsp.servers.{}]", server.id),
        }));
    };
    let mut trials = Vec::new();
    for need in &server.needs {
        match need {
            Need::Program(name, arguments) => {
                let arguments = arguments.iter().map(|argument| (*argument).to_owned()).collect();
                trials.push((find(name)?, Trial { program: None, arguments, says: None }));
            }
            Need::TypeScript => has_typescript(&found.program, checkout)?,
        }
    }
    if !checkout.trusted {
        return Err(Unavailable {
            reason: Reason::Untrusted,
            detail: format!("{} is not trusted, and a language server runs its code", checkout.root.display()),
            fix: format!("ccctl trust {}", checkout.root.display()),
        });
    }
    if checkout.disabled.iter().any(|name| *name == server.id || server.languages.contains(name)) {
        return Err(Unavailable {
            reason: Reason::Disabled,
            detail: format!("{} is turned off", server.id),
            fix: "take it out of `lsp.disable`".to_owned(),
        });
    }
    if let Some(trial) = &server.trial {
        let program = match &trial.program {
            Some(name) => find(name)?,
            None => found.program.clone(),
        };
        trials.push((program, trial.clone()));
    }
    for (program, trial) in trials {
        try_it(prober, server, checkout, program, &trial).await?;
    }
    Ok(found)
}

async fn try_it(
    prober: &Prober,
    server: &Server,
    checkout: &Checkout,
    program: PathBuf,
    trial: &Trial,
) -> Result<(), Unavailable> {
    let failed = |detail: String| Unavailable {
        reason: Reason::ProbeFailed,
        detail,
        fix: format!("run `{} {}` and repair what it says", program.display(), trial.arguments.join(" ")),
    };
    let probe = Probe {
        program: program.clone(),
        arguments: trial.arguments.iter().map(OsString::from).collect(),
        environment: checkout.environment(server),
        extra: format!("{:?}", checkout.declared(server)),
    };
    let probed = prober.probe(&probe).await.map_err(|error| failed(error.to_string()))?;
    if !probed.runs {
        // The words of the program first; without any, how it ended.
        let detail = match (probed.exit, probed.stderr.first()) {
            (None, _) => "no answer in time (2 s)".to_owned(),
            (Some(_), Some(line)) => line.clone(),
            (Some(_), None) => probed.reason(),
        };
        return Err(failed(detail));
    }
    match trial.says {
        Some(wanted) if !probed.stdout.trim_start().starts_with(wanted) => {
            Err(failed(format!("it is `{}`, not {wanted}", probed.stdout.lines().next().unwrap_or_default())))
        }
        _ => Ok(()),
    }
}

/// The `PATH` of the opener; before it the checkout's own folders of programs where they are allowed.
fn search_path(server: &Server, checkout: &Checkout) -> OsString {
    let path = checkout.variables.get(OsStr::new("PATH")).cloned().unwrap_or_default();
    if !checkout.allows_local(server) {
        return path;
    }
    let local = local_folders(&checkout.root).into_iter().chain(std::env::split_paths(&path));
    std::env::join_paths(local).unwrap_or(path)
}

fn no_binary(server: &Server, error: &LookupError) -> Unavailable {
    Unavailable {
        reason: Reason::NoBinary,
        detail: format!("no binary: {error}"),
        fix: format!("install it, or set `command` in [lsp.servers.{}]", server.id),
    }
}

/// A package manager puts TypeScript beside the server, or the project has its own. A program that is started by a script
/// cannot be judged from outside; if it finds none it says so at its start.
fn has_typescript(program: &Path, checkout: &Checkout) -> Result<(), Unavailable> {
    let holds = |folder: &Path| root::is_there(&folder.join("node_modules/typescript/lib/tsserver.js"));
    let real = program.canonicalize().unwrap_or_else(|_| program.to_path_buf());
    let installed = real.components().any(|part| part.as_os_str() == "node_modules");
    if !installed || holds(&checkout.root) || real.ancestors().any(holds) {
        return Ok(());
    }
    Err(Unavailable {
        reason: Reason::NoBinary,
        detail: format!("no binary: {} has no TypeScript that it can load", program.display()),
        fix: "npm install typescript".to_owned(),
    })
}
