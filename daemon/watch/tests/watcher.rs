//! The watcher over real inotify, and over a source that fails at will.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex, mpsc},
    time::Duration,
};

use ccd_watch::{Event, Raw, RawSink, Source, SourceError, State, Watcher};

const SOON: Duration = Duration::from_secs(5);

fn next(events: &mpsc::Receiver<Event>) -> Event {
    events.recv_timeout(SOON).expect("an event comes")
}

fn watcher() -> (Watcher, mpsc::Receiver<Event>) {
    let (send, receive) = mpsc::channel();
    let send = Mutex::new(send);
    let tell = move |event| drop(send.lock().expect("no panic").send(event));
    (Watcher::new(tell), receive)
}

#[test]
fn a_write_a_new_folder_and_the_end_of_the_root() {
    let parent = tempfile::tempdir().expect("a folder");
    let root = parent.path().join("p");
    std::fs::create_dir(&root).expect("made");
    let (watcher, events) = watcher();
    assert_eq!(watcher.watch(&root, &[PathBuf::new()]), State::On);

    std::fs::write(root.join("a.rs"), "fn a() {}").expect("written");
    assert_eq!(next(&events), Event::Dirty { root: root.clone() });
    assert_eq!(next(&events), Event::Changed { root: root.clone(), paths: vec!["a.rs".into()], folders: vec![] });

    // Reading is no change: the next event is that of the folder.
    std::fs::read(root.join("a.rs")).expect("read");
    std::fs::create_dir(root.join("src")).expect("made");
    assert_eq!(next(&events), Event::Dirty { root: root.clone() });
    assert_eq!(next(&events), Event::Changed { root: root.clone(), paths: vec!["src".into()], folders: vec!["src".into()] });
    assert_eq!(watcher.add(&root, &["src".into()]), State::On);
    assert_eq!(watcher.folders(&root), 2);

    std::fs::write(root.join("src/b.rs"), "").expect("written");
    assert_eq!(next(&events), Event::Dirty { root: root.clone() });
    assert_eq!(next(&events), Event::Changed { root: root.clone(), paths: vec!["src/b.rs".into()], folders: vec![] });

    std::fs::rename(&root, parent.path().join("q")).expect("renamed");
    assert_eq!(next(&events), Event::Dirty { root: root.clone() });
    assert_eq!(next(&events), Event::RootGone { root: root.clone() });
    assert_eq!(watcher.state(&root), State::Off);
}

#[test]
fn of_the_repository_only_a_few_files_are_told() {
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().to_path_buf();
    std::fs::create_dir(root.join(".git")).expect("made");
    let (watcher, events) = watcher();
    watcher.watch(&root, &[PathBuf::new(), ".git".into()]);
    std::fs::write(root.join(".git/index.lock"), "x").expect("written");
    std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/b").expect("written");
    assert_eq!(next(&events), Event::Dirty { root: root.clone() });
    assert_eq!(next(&events), Event::Changed { root: root.clone(), paths: vec![".git/HEAD".into()], folders: vec![] });
    // As git itself writes: a file is renamed over another one.
    std::fs::rename(root.join(".git/index.lock"), root.join(".git/index")).expect("renamed");
    std::fs::create_dir(root.join(".git/info")).expect("made");
    assert_eq!(next(&events), Event::Dirty { root: root.clone() });
    assert_eq!(next(&events), Event::Changed { root, paths: vec![".git/info".into()], folders: vec![".git/info".into()] });
}

#[test]
fn the_head_of_a_repository_that_lies_elsewhere_is_told_as_if_it_lay_here() {
    let folder = tempfile::tempdir().expect("a folder");
    let (root, own) = (folder.path().join("p"), folder.path().join("repository"));
    std::fs::create_dir(&root).expect("made");
    std::fs::create_dir(&own).expect("made");
    let (watcher, events) = watcher();
    assert_eq!(watcher.watch(&root, &[PathBuf::new(), own.clone()]), State::On);
    std::fs::write(own.join("index"), "x").expect("written");
    std::fs::write(own.join("HEAD"), "ref: refs/heads/b").expect("written");
    assert_eq!(next(&events), Event::Dirty { root: root.clone() });
    assert_eq!(next(&events), Event::Changed { root, paths: vec![".git/HEAD".into()], folders: vec![] });
}

/// Allows some watches, and hands out its sink.
struct Scarce {
    left: usize,
    watched: Arc<Mutex<Vec<PathBuf>>>,
}

impl Source for Scarce {
    fn watch(&mut self, folder: &Path) -> Result<(), SourceError> {
        self.left = self.left.checked_sub(1).ok_or(SourceError::Limit)?;
        self.watched.lock().expect("no panic").push(folder.to_path_buf());
        Ok(())
    }

    fn unwatch(&mut self, folder: &Path) {
        self.left += 1;
        self.watched.lock().expect("no panic").retain(|watched| watched != folder);
    }
}

#[test]
fn without_watches_a_root_is_degraded_and_gives_back_its_own() {
    let watched = Arc::new(Mutex::new(Vec::new()));
    let out: Arc<Mutex<Option<RawSink>>> = Arc::default();
    let (send, events) = mpsc::channel();
    let send = Mutex::new(send);
    let start = {
        let (watched, out) = (Arc::clone(&watched), Arc::clone(&out));
        move |sink: RawSink| {
            *out.lock().expect("no panic") = Some(sink);
            Ok(Box::new(Scarce { left: 3, watched: Arc::clone(&watched) }) as Box<dyn Source>)
        }
    };
    let watcher = Watcher::with_source(Box::new(start), move |event| drop(send.lock().expect("no panic").send(event)));
    let (p, q) = (Path::new("/p"), Path::new("/q"));
    assert_eq!(watcher.watch(p, &["".into(), "a".into()]), State::On);
    let State::Degraded { why } = watcher.watch(q, &["".into(), "a".into()]) else { panic!("there are not enough") };
    assert!(why.contains("fs.inotify.max_user_watches"), "{why}");
    assert_eq!(*watched.lock().expect("no panic"), [p.to_path_buf(), p.join("a")]);
    assert_eq!(watcher.watch(q, &["".into()]), State::On);

    // Lost events are a rescan of every root.
    out.lock().expect("no panic").as_ref().expect("started")(Raw::Lost);
    let mut told: Vec<Event> = (0..4).map(|_| next(&events)).collect();
    told.sort_by_key(|event| format!("{event:?}"));
    let all = |root: &Path| root.to_path_buf();
    assert_eq!(
        told,
        [
            Event::Dirty { root: all(p) },
            Event::Dirty { root: all(q) },
            Event::Rescan { root: all(p) },
            Event::Rescan { root: all(q) },
        ]
    );

    // Nested roots share a folder; the watch ends with the last of them.
    assert_eq!(watcher.watch(&p.join("a"), &["".into()]), State::On);
    watcher.unwatch(p);
    assert_eq!(*watched.lock().expect("no panic"), [p.join("a"), q.to_path_buf()]);
}
