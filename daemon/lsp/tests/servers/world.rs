//! A checkout, a pool, and writes as an agent makes them.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use ccd_diagnostics::{Level, Registry, Report, State};
use ccd_lsp::{Changed, Checkout, Pool, Settings, catalogue::Override};
use ccd_process::Launcher;

/// The server, and the shim.
pub(crate) const FAKE: &str = env!("CARGO_BIN_EXE_fake-ls");

pub(crate) struct World {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) pool: Pool,
    pub(crate) checkout: Checkout,
}

/// What a write told, in short.
#[derive(Debug)]
pub(crate) struct Told {
    pub(crate) state: State,
    pub(crate) new: Vec<String>,
    pub(crate) elsewhere: Vec<String>,
    pub(crate) carried_over: Vec<String>,
    pub(crate) unattributed: Vec<String>,
    pub(crate) fixed: u64,
    pub(crate) detail: String,
    pub(crate) report: Report,
}

impl World {
    /// With the fake server in this mode, and a `fake.root`.
    pub(crate) fn fake(modes: &str, variables: &[(&str, &str)]) -> Self {
        let own = Override {
            command: Some(vec![FAKE.to_owned(), modes.to_owned()]),
            languages: Some(vec!["fake".to_owned()]),
            extensions: Some(vec![".fake".to_owned()]),
            root_markers: Some(vec!["fake.root".to_owned()]),
            probe: Some(None),
            env: Some(vec!["FAKE_*".to_owned()]),
            init_options: None,
        };
        let settings = Settings { servers: vec![("fake".to_owned(), own)], ..Settings::default() };
        let mut world = Self::new(settings);
        world.set("FAKE_SPAWN_LOG", world.folder.path().join("spawned").to_str().unwrap());
        variables.iter().for_each(|(name, value)| world.set(name, value));
        world.put("fake.root", "");
        world
    }

    pub(crate) fn new(settings: Settings) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("checkout");
        fs::create_dir(&root).unwrap();
        let launcher = Launcher::with_executable(&format!("lsp-{}", std::process::id()), FAKE);
        let pool = Pool::new(launcher, Arc::new(Mutex::new(Registry::new(Default::default()))), settings);
        let checkout = Checkout {
            root,
            trusted: true,
            variables: std::env::vars_os().collect::<BTreeMap<OsString, OsString>>(),
            local_binaries: Vec::new(),
            disabled: Vec::new(),
        };
        Self { folder, pool, checkout }
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.checkout.variables.insert(name.into(), value.into());
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.checkout.root.join(name)
    }

    pub(crate) fn put(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    pub(crate) fn spawned(&self) -> usize {
        fs::read_to_string(self.folder.path().join("spawned")).unwrap_or_default().lines().count()
    }

    /// Writes as the daemon does it, for the run `run`.
    pub(crate) async fn write(&self, files: &[(&str, &str)], wait_ms: u64) -> Told {
        self.write_with(files, &[], wait_ms).await
    }

    pub(crate) async fn write_with(&self, files: &[(&str, &str)], dependents: &[&str], wait_ms: u64) -> Told {
        let dependents: Vec<PathBuf> = dependents.iter().map(|name| self.path(name)).collect();
        let read = |path: &Path| fs::read(path).ok().map(Arc::<[u8]>::from);
        let old: Vec<(PathBuf, Arc<[u8]>)> =
            files.iter().filter_map(|(name, _)| Some((self.path(name), read(&self.path(name))?))).collect();
        self.pool.about_to_change(&self.checkout, &old, &dependents).await;
        let mut changed = Vec::new();
        for (name, text) in files {
            let path = self.path(name);
            changed.push(Changed { old: read(&path), new: Some(text.as_bytes().into()), path, moved_from: None });
            self.put(name, text);
        }
        let pending = self.pool.committed(&self.checkout, "run", &changed, &dependents).await;
        let outcome = pending.wait(Duration::from_millis(wait_ms), Level::Warnings).await;
        let messages = |list: &[ccd_diagnostics::Told]| list.iter().map(|one| one.diagnostic.message.clone()).collect();
        let report = &outcome.report;

        let told = Told {
            state: report.state,
            new: messages(&report.new),
            elsewhere: messages(&report.elsewhere),
            carried_over: messages(&report.carried_over),
            unattributed: messages(&report.unattributed),
            fixed: report.fixed,
            detail: outcome.unavailable.values().next().map(ToString::to_string).unwrap_or_default(),
            report: report.clone(),
        };
        self.pool.registry().lock().unwrap().delivered(outcome.ticket);
        told
    }
}
