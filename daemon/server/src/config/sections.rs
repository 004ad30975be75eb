//! The tables of the file, with their defaults and ranges. All keys of the documentation are read and checked, also
//! those of parts that are not built yet: a file must not become wrong by an upgrade.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    deadlines::Deadlines,
    values::{Folder, Glob, IdleExit, Level, NO_END, Probe, Variable, Whole, words},
};

macro_rules! section {
    ($(#[doc = $doc:literal])+ $name:ident { $($(#[doc = $fdoc:literal])+ $field:ident: $type:ty = $default:expr),* $(,)? }) => {
        $(#[doc = $doc])+
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $name { $($(#[doc = $fdoc])+ pub $field: $type),* }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $default),* }
            }
        }
    };
}

words! {
    /// `watch.mode`.
    WatchMode {
        /// Events, and checks where there are none.
        Auto = "auto",
        /// Checks before an answer.
        Poll = "poll",
        /// As `poll`, and said so.
        Off = "off",
    }
}
words! {
    /// `edit.durability`.
    Durability {
        /// Survives a power cut.
        Power = "power",
        /// Survives the end of the process.
        Process = "process",
    }
}
words! {
    /// `edit.write_mode`.
    WriteMode {
        /// A new file takes the place.
        Replace = "replace",
        /// The bytes are written into the file.
        InPlace = "in_place",
    }
}
words! {
    /// `edit.metadata`.
    Metadata {
        /// Refuse what cannot be kept.
        Strict = "strict",
        /// Say what cannot be kept.
        Warn = "warn",
    }
}
words! {
    /// `edit.hard_links`.
    HardLinks {
        /// The other names keep the old bytes.
        Break = "break",
        /// Refuse.
        Refuse = "refuse",
    }
}
words! {
    /// `diagnostics.level`.
    DiagnosticsLevel {
        /// None.
        Off = "off",
        /// Errors.
        Errors = "errors",
        /// Errors and warnings.
        Warnings = "warnings",
        /// All.
        All = "all",
    }
}
words! {
    /// `dap.adapters.<id>.transport`.
    AdapterTransport {
        /// Standard input and output.
        Stdio = "stdio",
        /// A loopback port.
        Tcp = "tcp",
    }
}

section! {
    /// The whole file.
    Config {
        /// The log.
        log: Log = Log::default(),
        /// The process.
        daemon: DaemonSection = DaemonSection::default(),
        /// Of the socket and of memory.
        limits: LimitsSection = LimitsSection::default(),
        /// Of children.
        env: Environment = Environment::default(),
        /// Of the graph.
        index: Index = Index::default(),
        /// Of the watcher.
        watch: Watch = Watch::default(),
        /// Of writes.
        edit: Edit = Edit::default(),
        /// Of prepared changes.
        stages: Stages = Stages::default(),
        /// Of reports.
        diagnostics: Diagnostics = Diagnostics::default(),
        /// Of what is remembered by run.
        runs: Runs = Runs::default(),
        /// Of language servers.
        lsp: Lsp = Lsp::default(),
        /// Of debuggers.
        dap: Dap = Dap::default(),
        /// Of trust.
        trust: Trust = Trust::default(),
        /// For one root each.
        roots: BTreeMap<String, RootSection> = BTreeMap::new(),
    }
}

section! {
    /// `[log]`.
    Log {
        /// From which level on.
        level: Level = Level(tracing::Level::INFO),
        /// MiB of one file.
        file_mib: Whole<1, 256> = Whole(8),
        /// Files kept.
        files: Whole<1, 16> = Whole(4),
    }
}
section! {
    /// `[daemon]`.
    DaemonSection {
        /// Threads for queries; as many as cores if left out.
        workers: Option<Whole<1, 64>> = None,
        /// Two hours if left out, and never when the socket was handed over.
        idle_exit_s: Option<IdleExit> = None,
    }
}
section! {
    /// `[limits]`.
    LimitsSection {
        /// MiB of one request.
        request_mib: Whole<1, 1024> = Whole(64),
        /// MiB of one response.
        response_mib: Whole<1, 256> = Whole(16),
        /// MiB of large requests under way on one connection.
        connection_mib: Whole<1, NO_END> = Whole(256),
        /// At once.
        connections: Whole<1, 4096> = Whole(256),
        /// Calls of one connection.
        in_flight: Whole<1, 4096> = Whole(256),
        /// Of one connection.
        subscriptions: Whole<1, 4096> = Whole(64),
        /// Seconds by method.
        deadline_s: Deadlines = Deadlines::default(),
        /// MiB of the daemon and its children; half of the memory if left out.
        memory_mib: Option<Whole<256, NO_END>> = None,
    }
}
section! {
    /// `[env]`.
    Environment {
        /// Variables that a client may send on to children.
        pass: Vec<Variable> = DEFAULT_PASS.iter().map(|name| Variable((*name).to_owned())).collect(),
    }
}
/// Variables that tools are found by.
const DEFAULT_PASS: [&str; 14] = [
    "PATH",
    "HOME",
    "LANG",
    "LC_ALL",
    "TMPDIR",
    "VIRTUAL_ENV",
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOPATH",
    "GOROOT",
    "GOFLAGS",
    "NODE_PATH",
    "JAVA_HOME",
];
section! {
    /// `[index]`.
    Index {
        /// KiB of a file that is indexed.
        max_file_kib: Whole<64, 65536> = Whole(1024),
        /// Milliseconds for one file.
        parse_deadline_ms: Whole<100, 60000> = Whole(2000),
        /// Levels of a tree.
        max_depth: Whole<1000, 100_000> = Whole(10_000),
        /// Left out beside what ignore files name.
        ignore: Vec<Glob> = Vec::new(),
        /// Seconds without a question after which the memory is given back.
        unload_idle_s: Whole<60, NO_END> = Whole(1800),
    }
}
section! {
    /// `[watch]`.
    Watch {
        /// How changes on disk are seen.
        mode: WatchMode = WatchMode::Auto,
    }
}
section! {
    /// `[edit]`.
    Edit {
        /// What a change survives.
        durability: Durability = Durability::Power,
        /// How a file is written.
        write_mode: WriteMode = WriteMode::Replace,
        /// What happens to metadata that cannot be kept.
        metadata: Metadata = Metadata::Strict,
        /// What happens to files of several names.
        hard_links: HardLinks = HardLinks::Break,
        /// MiB of a file that is patched.
        patch_file_mib: Whole<1, 1024> = Whole(8),
        /// MiB of a file that is written.
        write_mib: Whole<1, 1024> = Whole(64),
        /// Hours for which a change can be taken back.
        undo_hours: Whole<0, 720> = Whole(24),
        /// MiB kept for it.
        undo_mib: Whole<0, 65536> = Whole(256),
        /// Hours for which an outcome is told.
        outcome_hours: Whole<1, 720> = Whole(24),
        /// Files that need a word more; the built-in list if left out.
        protected: Option<Vec<Glob>> = None,
        /// Exceptions from it.
        unprotected: Vec<Glob> = Vec::new(),
    }
}
section! {
    /// `[stages]`.
    Stages {
        /// MiB of one run.
        mib_per_run: Whole<1, 1024> = Whole(64),
        /// Seconds.
        ttl_s: Whole<10, 3600> = Whole(900),
    }
}
section! {
    /// `[diagnostics]`.
    Diagnostics {
        /// What is told with a write.
        level: DiagnosticsLevel = DiagnosticsLevel::Warnings,
        /// Milliseconds that a write waits.
        wait_ms: Whole<0, 60000> = Whole(3000),
    }
}
section! {
    /// `[runs]`.
    Runs {
        /// Hours after the last use.
        hours: Whole<1, 720> = Whole(24),
        /// Diagnostics remembered by run.
        keys: Whole<100, 100_000> = Whole(10_000),
        /// Paths remembered by run.
        paths: Whole<100, 100_000> = Whole(10_000),
    }
}
section! {
    /// `[lsp]`.
    Lsp {
        /// All of them.
        enabled: bool = true,
        /// Ids or languages.
        disable: Vec<String> = Vec::new(),
        /// Seconds without a request.
        idle_s: Whole<10, 86400> = Whole(600),
        /// Seconds until it must be ready.
        start_limit_s: Whole<1, 300> = Whole(20),
        /// At once.
        max_servers: Whole<1, 256> = Whole(16),
        /// MiB of one.
        server_mib: Whole<64, NO_END> = Whole(4096),
        /// MiB of all.
        total_mib: Whole<64, NO_END> = Whole(8192),
        /// Languages whose servers may come from a trusted checkout.
        local_binaries: Vec<String> = Vec::new(),
        /// Further servers, or other settings of known ones.
        servers: BTreeMap<String, Server> = BTreeMap::new(),
    }
}
section! {
    /// `[lsp.servers.<id>]`.
    Server {
        /// The whole command line.
        command: Option<Vec<String>> = None,
        /// Ids.
        languages: Option<Vec<String>> = None,
        /// With their dots.
        extensions: Option<Vec<String>> = None,
        /// Files that make a folder its root.
        root_markers: Option<Vec<String>> = None,
        /// Arguments of the probe, or false.
        probe: Option<Probe> = None,
        /// Variables that belong to its identity.
        env: Option<Vec<Variable>> = None,
        /// Sent with `initialize`.
        init_options: Option<toml::Table> = None,
    }
}
section! {
    /// `[dap]`.
    Dap {
        /// All of them.
        enabled: bool = true,
        /// At once.
        max_sessions: Whole<1, 64> = Whole(16),
        /// Seconds.
        ttl_s: Whole<10, 3600> = Whole(600),
        /// Whether a process may be attached by its number.
        attach_pids: bool = false,
        /// KiB of output kept by session.
        output_kib: Whole<16, 4096> = Whole(256),
        /// KiB of one moment.
        moment_kib: Whole<1, 64> = Whole(16),
        /// Languages whose adapters may come from a trusted checkout.
        local_binaries: Vec<String> = Vec::new(),
        /// Further adapters, or other settings of known ones.
        adapters: BTreeMap<String, Adapter> = BTreeMap::new(),
    }
}
section! {
    /// `[dap.adapters.<id>]`.
    Adapter {
        /// The program with its leading arguments.
        command: Option<Vec<String>> = None,
        /// Ids.
        languages: Option<Vec<String>> = None,
        /// Files that make it offered.
        root_markers: Option<Vec<String>> = None,
        /// How it speaks.
        transport: Option<AdapterTransport> = None,
        /// Arguments of the probe, or false.
        probe: Option<Probe> = None,
        /// Variables that belong to its identity.
        env: Option<Vec<Variable>> = None,
        /// Merged under the arguments of a launch.
        launch: Option<toml::Table> = None,
    }
}
section! {
    /// `[trust]`.
    Trust {
        /// Roots below are trusted.
        folders: Vec<Folder> = Vec::new(),
    }
}
section! {
    /// `[roots."/abs/path"]`.
    RootSection {
        /// As `[index]`; what is left out is as there.
        index: RootIndex = RootIndex::default(),
        /// As `[edit]`; what is left out is as there. What is kept for undo and outcomes is kept for all roots together.
        edit: RootEdit = RootEdit::default(),
        /// As `[lsp]`, of which only `disable` counts.
        lsp: Option<RootLsp> = None,
    }
}
section! {
    /// `[roots."/abs/path".edit]`.
    RootEdit {
        /// What a change survives.
        durability: Option<Durability> = None,
        /// How a file is written.
        write_mode: Option<WriteMode> = None,
        /// What happens to metadata that cannot be kept.
        metadata: Option<Metadata> = None,
        /// What happens to files of several names.
        hard_links: Option<HardLinks> = None,
        /// MiB of a file that is patched.
        patch_file_mib: Option<Whole<1, 1024>> = None,
        /// MiB of a file that is written.
        write_mib: Option<Whole<1, 1024>> = None,
        /// Files that need a word more.
        protected: Option<Vec<Glob>> = None,
        /// Exceptions from it.
        unprotected: Option<Vec<Glob>> = None,
    }
}
section! {
    /// `[roots."/abs/path".lsp]`.
    RootLsp {
        /// Ids or languages.
        disable: Vec<String> = Vec::new(),
    }
}
section! {
    /// `[roots."/abs/path".index]`.
    RootIndex {
        /// KiB of a file that is indexed.
        max_file_kib: Option<Whole<64, 65536>> = None,
        /// Milliseconds for one file.
        parse_deadline_ms: Option<Whole<100, 60000>> = None,
        /// Levels of a tree.
        max_depth: Option<Whole<1000, 100_000>> = None,
        /// Left out beside what ignore files name.
        ignore: Option<Vec<Glob>> = None,
        /// Seconds without a question after which the memory is given back.
        unload_idle_s: Option<Whole<60, NO_END>> = None,
    }
}

impl Config {
    /// `[edit]` as it holds for one root.
    pub fn edit_of(&self, root: &str) -> Edit {
        let mut edit = self.edit.clone();
        if let Some(own) = self.roots.get(root).map(|section| section.edit.clone()) {
            edit.durability = own.durability.unwrap_or(edit.durability);
            edit.write_mode = own.write_mode.unwrap_or(edit.write_mode);
            edit.metadata = own.metadata.unwrap_or(edit.metadata);
            edit.hard_links = own.hard_links.unwrap_or(edit.hard_links);
            edit.patch_file_mib = own.patch_file_mib.unwrap_or(edit.patch_file_mib);
            edit.write_mib = own.write_mib.unwrap_or(edit.write_mib);
            edit.protected = own.protected.or(edit.protected);
            edit.unprotected = own.unprotected.unwrap_or(edit.unprotected);
        }
        edit
    }

    /// `[index]` as it holds for one root.
    pub fn index_of(&self, root: &str) -> Index {
        let mut index = self.index.clone();
        if let Some(own) = self.roots.get(root).map(|section| &section.index) {
            index.max_file_kib = own.max_file_kib.unwrap_or(index.max_file_kib);
            index.parse_deadline_ms = own.parse_deadline_ms.unwrap_or(index.parse_deadline_ms);
            index.max_depth = own.max_depth.unwrap_or(index.max_depth);
            index.unload_idle_s = own.unload_idle_s.unwrap_or(index.unload_idle_s);
            if let Some(ignore) = &own.ignore {
                index.ignore = ignore.clone();
            }
        }
        index
    }
}
