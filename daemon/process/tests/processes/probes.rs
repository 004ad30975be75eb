//! Programs that run, fail, hang, and change.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use ccd_process::{Exit, Probe, ProbeError, Prober};

use crate::world::{environment, gone, instance, launcher};

struct Programs(tempfile::TempDir);

impl Programs {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn write(&self, name: &str, script: &str) -> PathBuf {
        let path = self.0.path().join(name);
        // Another file, and never one that is being written while it is run.
        let new = self.0.path().join(format!("{name}.new"));
        fs::write(&new, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755)).unwrap();
        fs::rename(new, &path).unwrap();
        path
    }
}

fn probe(program: &Path) -> Probe {
    let (program, arguments) = (program.to_owned(), vec!["--version".into()]);
    Probe { program, arguments, environment: environment(), extra: String::new() }
}

#[tokio::test]
async fn a_program_that_runs_is_asked_once() {
    let programs = Programs::new();
    let counter = programs.0.path().join("count");
    let script = format!("echo x >> {}; pwd; echo $1 $RUSTUP_AUTO_INSTALL; cat", counter.display());
    let program = programs.write("good", &script);
    let prober = Prober::new(launcher("good"));
    let one = probe(&program);
    let (first, second) = tokio::join!(prober.probe(&one), prober.probe(&one));
    let third = prober.probe(&one).await;
    let first = first.unwrap();
    println!("a probe took {:?}", first.took);
    assert_eq!((first.runs, first.exit, &*first.stdout), (true, Some(Exit::Code(0)), "/\n--version 0\n"));
    assert_eq!((&first, &first), (&second.unwrap(), &third.unwrap()));
    let asked = || fs::read_to_string(&counter).unwrap().len() / 2;
    assert_eq!(asked(), 1);
    // Whatever the answer depends on makes it another question.
    prober.probe(&Probe { extra: "nightly".to_owned(), ..one.clone() }).await.unwrap();
    assert_eq!(asked(), 2);
    programs.write("good", &format!("{script} # changed"));
    prober.probe(&one).await.unwrap();
    assert_eq!(asked(), 3);
}

#[tokio::test]
async fn a_failure_says_why_and_is_tried_again() {
    let programs = Programs::new();
    let counter = programs.0.path().join("count");
    let script = format!("echo x >> {}; echo 'error: unknown component' >&2; exit 1", counter.display());
    let program = programs.write("bad", &script);
    let prober = Prober::with_retry(launcher("bad"), Duration::from_millis(300));
    let answer = prober.probe(&probe(&program)).await.unwrap();
    assert_eq!((answer.runs, &*answer.reason()), (false, "exit 1: error: unknown component"));
    prober.probe(&probe(&program)).await.unwrap();
    assert_eq!(fs::read_to_string(&counter).unwrap().len() / 2, 1);
    tokio::time::sleep(Duration::from_millis(400)).await;
    prober.probe(&probe(&program)).await.unwrap();
    assert_eq!(fs::read_to_string(&counter).unwrap().len() / 2, 2);
}

#[tokio::test]
async fn a_program_that_hangs_is_killed_with_all_that_it_started() {
    let programs = Programs::new();
    let program = programs.write("hangs", "trap '' TERM; echo started >&2; (setsid sleep 60 &); sleep 60; sleep 60");
    let prober = Prober::new(launcher("hangs"));
    let begun = Instant::now();
    let answer = prober.probe(&probe(&program)).await.unwrap();
    println!("a hanging program is known after {:?} (promised: 2.2 s)", begun.elapsed());
    assert_eq!((answer.runs, answer.exit, &*answer.reason()), (false, None, "no end within 2 s: started"));
    assert!(begun.elapsed() < Duration::from_secs(11));
    tokio::task::spawn_blocking(|| gone(&instance("hangs"), Duration::from_secs(1))).await.unwrap();
}

#[tokio::test]
async fn a_flood_is_cut_and_what_cannot_be_tried_is_an_error() {
    let programs = Programs::new();
    let program = programs.write("flood", "head -c 5000000 /dev/zero | tr '\\0' a");
    let prober = Prober::new(launcher("flooded"));
    let answer = prober.probe(&probe(&program)).await.unwrap();
    assert_eq!((answer.runs, answer.stdout.len()), (true, 64 << 10));
    let absent = prober.probe(&probe(Path::new("/no/such/program"))).await;
    assert!(matches!(absent, Err(ProbeError::Missing { .. })), "{absent:?}");
    let text = programs.0.path().join("text");
    fs::write(&text, "no program").unwrap();
    assert!(matches!(prober.probe(&probe(&text)).await, Err(ProbeError::Spawn(_))));
}
