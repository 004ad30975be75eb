//! `daemon.doctor`

use std::path::Path;

use ccd_protocol::{
    RpcError,
    daemon::{Check, DoctorParams, DoctorResult},
    workspace::WatchState,
};

use crate::{
    config,
    daemon::Daemon,
    rpc::call::Call,
    workspaces::{Where, Workspace},
};

/// Open files below which connections and watched roots become scarce.
const FILES: u64 = 1024;
/// Watched folders below which a large repository is not watched.
const WATCHES: u64 = 8192;

pub(super) async fn doctor(call: Call, params: DoctorParams) -> Result<DoctorResult, RpcError> {
    let workspace = match params.workspace {
        Some(root) => Some(call.target(Where { workspace: Some(root), path: None }).await?.workspace),
        None => None,
    };
    let daemon = call.daemon.clone();
    let checks = call.query(move |_| {
        let mut checks = of_daemon(&daemon);
        if let Some(workspace) = workspace {
            checks.extend(of_workspace(&daemon, &workspace));
        }
        checks
    });
    Ok(DoctorResult { checks: checks.await? })
}

fn check(id: &str, ok: bool, detail: impl Into<String>, fix: &str) -> Check {
    Check { id: id.to_owned(), ok, detail: detail.into(), fix: (!ok).then(|| fix.to_owned()) }
}

fn folder(id: &str, path: &Path) -> Check {
    match ccd_files::private_folder(path) {
        Ok(()) => check(id, true, path.display().to_string(), ""),
        Err(error) => check(id, false, error.to_string(), "Correct the folder as the detail says, or name another one."),
    }
}

fn of_daemon(daemon: &Daemon) -> Vec<Check> {
    let paths = &daemon.paths;
    let mut checks = vec![
        folder("runtime_folder", &paths.runtime),
        folder("state_folder", &paths.state),
        folder("cache_folder", &paths.cache),
    ];
    checks.push(match config::load(&paths.config_file()) {
        Ok(_) => check("config", true, paths.config_file().display().to_string(), ""),
        Err(error) => check("config", false, error.to_string(), "Correct the file; the daemon goes on with what it read before."),
    });
    let watches = ccd_watch::max_user_watches().unwrap_or(0);
    checks.push(check(
        "inotify_watches",
        watches >= WATCHES,
        format!("fs.inotify.max_user_watches is {watches}"),
        "Raise it: sysctl fs.inotify.max_user_watches=524288",
    ));
    let files = rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX);
    checks.push(check(
        "open_files",
        files >= FILES,
        format!("{files} open files are allowed"),
        "Raise the hard limit (ulimit -Hn).",
    ));
    let memory = daemon.memory();
    checks.push(check(
        "memory",
        memory.rss <= memory.limit,
        format!("{} MiB resident, the limit is {} MiB", memory.rss >> 20, memory.limit >> 20),
        "Close workspaces, or raise limits.memory_mib.",
    ));
    let notices = daemon.notices();
    let detail = if notices.is_empty() { "nothing to tell".to_owned() } else { notices.join(" ") };
    checks.push(check(
        "notices",
        notices.is_empty(),
        detail,
        "Ask the daemon to retire when it is idle; the next one begins afresh.",
    ));
    checks
}

fn of_workspace(daemon: &Daemon, workspace: &Workspace) -> Vec<Check> {
    let root = workspace.root();
    let (watch, detail) = workspace.watch_state();
    let folders = daemon.workspaces.watcher.folders(Path::new(&*workspace.path));
    let mut checks = vec![
        check(
            "workspace_root",
            root.is_current(),
            workspace.path.to_string(),
            "The folder was removed or renamed; close the workspace.",
        ),
        check(
            "workspace_watch",
            watch != WatchState::Degraded,
            detail.unwrap_or_else(|| format!("{folders} folders are watched")),
            "Raise fs.inotify.max_user_watches, or leave folders out with .gitignore or index.ignore.",
        ),
    ];
    if let Some(graph) = workspace.loaded() {
        let status = graph.status();
        checks.push(check(
            "workspace_index",
            status.last_error.is_none(),
            status
                .last_error
                .unwrap_or_else(|| format!("{} files, {} symbols, {} edges", status.files, status.symbols, status.edges)),
            "Run graph.index with full:true; the log has the details.",
        ));
    }
    checks
}
