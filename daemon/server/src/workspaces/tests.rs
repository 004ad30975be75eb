//! What a workspace does when its watcher fails it: events are lost, watches run out.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use ccd_corpus::Cancel;
use ccd_graph::{Freshness, SearchQuery};
use ccd_protocol::workspace::WatchState;
use ccd_watch::{Raw, RawSink, Source, SourceError};

use super::Workspace;
use crate::{
    config::Config,
    daemon::Daemon,
    lifecycle::Paths,
    rpc::{
        call::{Call, Control},
        peer::{Peer, Transport},
    },
};

const PATIENCE: Duration = Duration::from_secs(10);

/// A source that tells nothing by itself and may have no watches left.
struct Silent {
    left: usize,
}

impl Source for Silent {
    fn watch(&mut self, _: &Path) -> Result<(), SourceError> {
        self.left = self.left.checked_sub(1).ok_or(SourceError::Limit)?;
        Ok(())
    }

    fn unwatch(&mut self, _: &Path) {}
}

struct Stage {
    folder: tempfile::TempDir,
    daemon: Arc<Daemon>,
    sink: Arc<Mutex<Option<RawSink>>>,
    workspace: Arc<Workspace>,
}

impl Stage {
    /// An indexed workspace over a silent source of so many watches.
    async fn new(watches: usize) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let sink: Arc<Mutex<Option<RawSink>>> = Arc::default();
        let kept = Arc::clone(&sink);
        let start = move |raw: RawSink| {
            *kept.lock().expect("no panic") = Some(raw);
            Ok(Box::new(Silent { left: watches }) as Box<dyn Source>)
        };
        let paths = Paths::below(folder.path());
        let daemon = Daemon::with_source(paths, Config::default(), false, Some(Box::new(start)));
        daemon.workspaces.start();
        let root = folder.path().join("p");
        std::fs::create_dir(&root).expect("made");
        std::fs::write(root.join("a.py"), "def first():\n    pass\n").expect("written");
        let workspace = daemon.workspaces.open("root", root.to_str().expect("UTF-8")).expect("a root");
        let stage = Self { folder, daemon, sink, workspace };
        stage.workspace.ensure_indexed(None, None);
        stage.finds("first").await;
        let until = Instant::now() + PATIENCE;
        while stage.workspace.state().is_none_or(|state| state.freshness != Freshness::Ready) {
            assert!(Instant::now() < until, "the first run does not end: {:?}", stage.workspace.state());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        stage
    }

    fn write(&self, rel: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join("p").join(rel);
        std::fs::write(&path, text).expect("written");
        path
    }

    fn tell(&self, raw: Raw) {
        self.sink.lock().expect("no panic").as_ref().expect("the source was started")(raw);
    }

    /// Waits until a function is found.
    async fn finds(&self, name: &str) {
        let until = Instant::now() + PATIENCE;
        while !self.has(name) {
            assert!(Instant::now() < until, "{name} is not found: {:?}", self.workspace.state());
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    fn has(&self, name: &str) -> bool {
        let query = SearchQuery { query: name.to_owned(), limit: 1, ..SearchQuery::default() };
        let graph = self.workspace.graph().expect("it is open");
        graph.search(&query, &Cancel::new()).is_ok_and(|answer| answer.value.total > 0)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lost_events_are_a_scan() {
    let stage = Stage::new(100).await;
    stage.write("b.py", "def second():\n    pass\n");
    // Nobody told: it is not there yet.
    assert!(!stage.has("second"));
    stage.tell(Raw::Lost);
    stage.finds("second").await;
    assert_eq!(stage.daemon.counters()["watch_overflows"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_told_and_is_not_indexed_yet_is_stale_and_waited_for() {
    let stage = Stage::new(100).await;
    let path = stage.write("a.py", "def third():\n    pass\n");
    stage.tell(Raw::Touched { paths: vec![path.canonicalize().expect("there")], may_be_new_folder: false });
    let until = Instant::now() + PATIENCE;
    while *stage.workspace.pending.borrow() == 0 && !stage.has("third") {
        assert!(Instant::now() < until, "it is told neither stale nor fresh");
        tokio::task::yield_now().await;
    }
    let peer = Arc::new(Peer::new(1, None, Transport::Lines, 4, 1));
    let call = Call { daemon: Arc::clone(&stage.daemon), peer, control: Arc::new(Control::new()) };
    let begin = Instant::now();
    stage.workspace.prepare(&call).await.expect("prepared");
    assert!(begin.elapsed() < Duration::from_secs(1));
    assert!(stage.has("third"), "the run was waited for");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_watches_it_is_degraded_and_still_right() {
    let stage = Stage::new(0).await;
    let (state, why) = stage.workspace.watch_state();
    assert_eq!(state, WatchState::Degraded);
    assert!(why.expect("a reason").contains("max_user_watches"));
    stage.write("a.py", "def fourth():\n    pass\n");
    let peer = Arc::new(Peer::new(1, None, Transport::Lines, 4, 1));
    let call = Call { daemon: Arc::clone(&stage.daemon), peer, control: Arc::new(Control::new()) };
    let until = Instant::now() + PATIENCE;
    while !stage.has("fourth") {
        assert!(Instant::now() < until, "a file that is known is checked before an answer");
        stage.workspace.prepare(&call).await.expect("prepared");
    }
}
