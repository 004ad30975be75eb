//! The source that the daemon uses: inotify, through `notify`.

use std::path::Path;

use notify::{
    Config, ErrorKind, EventKind, RecommendedWatcher, RecursiveMode, Watcher as _,
    event::{AccessKind, AccessMode, CreateKind, ModifyKind, RemoveKind, RenameMode},
};

use crate::source::{Raw, RawSink, Source, SourceError};

struct Inotify(RecommendedWatcher);

/// Opens the inotify instance.
pub(crate) fn start(sink: RawSink) -> Result<Box<dyn Source>, SourceError> {
    let handler = move |event: notify::Result<notify::Event>| match event {
        Ok(event) => {
            if let Some(raw) = translate(event) {
                sink(raw);
            }
        }
        Err(error) => {
            tracing::warn!(%error, "the watcher failed; workspaces are scanned again");
            sink(Raw::Lost);
        }
    };
    // Links are not followed: what they lead to is watched at its own place, if it is part of a workspace.
    let config = Config::default().with_follow_symlinks(false);
    RecommendedWatcher::new(handler, config).map(|watcher| Box::new(Inotify(watcher)) as Box<dyn Source>).map_err(explain)
}

impl Source for Inotify {
    fn watch(&mut self, folder: &Path) -> Result<(), SourceError> {
        self.0.watch(folder, RecursiveMode::NonRecursive).map_err(explain)
    }

    fn unwatch(&mut self, folder: &Path) {
        // It fails for a folder that was removed: the kernel has ended that watch already.
        let _ = self.0.unwatch(folder);
    }
}

fn explain(error: notify::Error) -> SourceError {
    match error.kind {
        ErrorKind::MaxFilesWatch => SourceError::Limit,
        ErrorKind::PathNotFound | ErrorKind::WatchNotFound => SourceError::NotFound,
        ErrorKind::Io(error) if error.kind() == std::io::ErrorKind::NotFound => SourceError::NotFound,
        ErrorKind::Io(error) if error.kind() == std::io::ErrorKind::StorageFull => SourceError::Limit,
        kind => SourceError::Other(format!("{kind:?}")),
    }
}

fn translate(event: notify::Event) -> Option<Raw> {
    if event.need_rescan() {
        return Some(Raw::Lost);
    }
    let may_be_new_folder = match event.kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => false,
        // Our own reading opens files: that is no change.
        EventKind::Access(_) => return None,
        EventKind::Create(CreateKind::File) => false,
        EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(RenameMode::To | RenameMode::Both | RenameMode::Any)) => true,
        EventKind::Remove(RemoveKind::Folder) => return event.paths.into_iter().next().map(Raw::FolderGone),
        EventKind::Modify(ModifyKind::Name(RenameMode::From)) => {
            // A folder that moves itself is told by its own watch, too; as a path it is a removal all the same.
            return event.paths.into_iter().next().map(Raw::FolderGone);
        }
        _ => false,
    };
    (!event.paths.is_empty()).then_some(Raw::Touched { paths: event.paths, may_be_new_folder })
}

/// How many folders this user may watch, as the kernel says.
pub fn max_user_watches() -> Option<u64> {
    std::fs::read_to_string("/proc/sys/fs/inotify/max_user_watches").ok()?.trim().parse().ok()
}
