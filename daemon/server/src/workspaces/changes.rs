//! What the watcher tells, handed to the workspaces.

use std::{
    ffi::OsStr,
    path::Path,
    sync::{
        Arc, Weak,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use ccd_watch::Event;
use tokio::sync::mpsc;

use crate::{
    daemon::Daemon,
    workspaces::{Workspace, workspace::locked},
};

/// Hands events out until the daemon ends.
pub(super) async fn hand_out(daemon: Weak<Daemon>, mut events: mpsc::Receiver<Event>, overrun: Arc<AtomicBool>) {
    while let Some(event) = events.recv().await {
        let Some(daemon) = daemon.upgrade() else { return };
        if overrun.swap(false, Relaxed) {
            // What was lost is not known, nor which batches it would have ended.
            daemon.metrics.counters.watch_overflows.add();
            for workspace in daemon.workspaces.all() {
                workspace.pending.send_replace(0);
                workspace.rescan();
            }
            continue;
        }
        let root = match &event {
            Event::Dirty { root } | Event::Changed { root, .. } | Event::Rescan { root } | Event::RootGone { root } => root,
        };
        if let Some(workspace) = root.to_str().and_then(|root| daemon.workspaces.find(root)) {
            take(&daemon, &workspace, event);
        }
    }
}

fn take(daemon: &Daemon, workspace: &Arc<Workspace>, event: Event) {
    match event {
        Event::Dirty { .. } => {
            workspace.pending.send_modify(|pending| *pending += 1);
            workspace.see_stale(1);
        }
        Event::Changed { paths, folders, .. } => {
            daemon.metrics.counters.watch_batches.add();
            let everything = paths.iter().any(|path| changes_everything(path));
            if everything && let Some(graph) = workspace.loaded() {
                workspace.expect_run(&graph);
            }
            workspace.enqueue(|queue| {
                queue.batches += 1;
                queue.full |= everything;
                queue.paths.extend(paths);
                queue.new_folders.extend(folders);
            });
        }
        Event::Rescan { .. } => {
            daemon.metrics.counters.watch_overflows.add();
            locked(&workspace.queue).batches += 1;
            workspace.rescan();
        }
        Event::RootGone { .. } => {
            tracing::info!(root = %workspace.path, "the root was removed or renamed");
            workspace.enqueue(|queue| {
                queue.batches += 1;
                queue.gone = true;
            });
        }
    }
}

/// Ignore rules and the marks of caches say which files there are, and another commit changes many of them.
fn changes_everything(rel: &Path) -> bool {
    matches!(rel.file_name().and_then(OsStr::to_str), Some(".gitignore" | ".ignore" | "CACHEDIR.TAG" | "pyvenv.cfg"))
        || ccd_watch::REPOSITORY.iter().any(|part| rel == Path::new(part))
}
