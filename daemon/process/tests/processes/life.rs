//! Starting and ending, in all the ways that there are.

use std::{
    future::{pending, ready},
    time::{Duration, Instant},
};

use ccd_process::{Exit, Ladder, SpawnError, Spec, Step, sweep};
use rustix::process::Signal;

use crate::world::{
    ESCAPE, PATIENCE, environment, gone, instance, launcher, lives, marked, python, read_all, read_line, sh, signal,
};

#[tokio::test]
async fn a_child_says_what_it_says_and_how_it_ends() {
    let launcher = launcher("says");
    let begun = Instant::now();
    let mut child = launcher.spawn(&sh("cat; echo no >&2; exit 7")).await.unwrap();
    println!("started after {:?}", begun.elapsed());
    let input = child.input();
    input.try_send(b"hello ".to_vec()).unwrap();
    input.send(b"there".to_vec(), PATIENCE).await.unwrap();
    input.close();
    assert_eq!(read_all(&mut child).await, "hello there");
    assert_eq!(child.exit().within(PATIENCE).await, Some(Exit::Code(7)));
    let tail = child.stderr();
    assert!(tail.ended_within(PATIENCE).await);
    assert_eq!(tail.lines(9), ["no"]);
    let stopped = child.stop(ready(()), Ladder::SERVER).await;
    assert_eq!((stopped.step, stopped.gone.map(|gone| gone.left)), (Step::Before, Some(0)));
    gone(&instance("says"), Duration::from_secs(1));
}

#[tokio::test]
async fn a_child_has_its_folder_its_environment_and_its_limits() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().canonicalize().unwrap();
    let mut spec = sh("pwd; echo $A; ulimit -c; ulimit -Sn; cat /proc/self/oom_score_adj; nice; echo $CCD_OWNER; ls /proc/self/fd | wc -l; env | wc -l")
        .folder(&folder);
    spec.environment = ccd_process::Environment::empty().with("A", "b c").with("PATH", "/usr/bin:/bin");
    spec.limits.open_files = 777;
    spec.limits.nice = 3;
    let mut child = launcher("limits").spawn(&spec).await.unwrap();
    let said = read_all(&mut child).await;
    let lines: Vec<&str> = said.lines().collect();
    let owner = format!("{}:0", instance("limits"));
    let before: i32 = std::fs::read_to_string("/proc/self/oom_score_adj").unwrap().trim().parse().unwrap();
    let score = if before > 300 { before.to_string() } else { "300".to_owned() };
    assert_eq!(lines[1..4], ["b c", "0", "777"], "{said}");
    assert_eq!(lines[0], folder.to_str().unwrap());
    assert!(lines[4] == score || before > 300, "{said}");
    assert_eq!(lines[5..7], ["3", &owner], "{said}");
    // What any child of this test has open, and nothing of ours beside it.
    let plain = std::process::Command::new("/bin/sh").args(["-c", "ls /proc/self/fd | wc -l"]).output().unwrap();
    assert_eq!(lines[7], String::from_utf8(plain.stdout).unwrap().trim(), "{said}");
    // And what a shell sets itself.
    assert!(lines[8].parse::<u32>().unwrap() <= 6, "{said}");
}

#[tokio::test]
async fn what_cannot_be_started_is_told_and_leaves_nothing() {
    let launcher = launcher("refused");
    let refused = |spec: Spec| {
        let launcher = launcher.clone();
        async move {
            match launcher.spawn(&spec).await.unwrap_err() {
                SpawnError::Refused { what, error, .. } => (what, error.kind()),
                other => panic!("{other}"),
            }
        }
    };
    use std::io::ErrorKind::{NotFound, PermissionDenied};
    assert_eq!(refused(Spec::new("/no/such/program", environment())).await, ("exec".to_owned(), NotFound));
    assert_eq!(refused(Spec::new("/etc/passwd", environment())).await, ("exec".to_owned(), PermissionDenied));
    assert_eq!(refused(sh("true").folder("/no/such/folder")).await, ("chdir".to_owned(), NotFound));
    let silent = ccd_process::Launcher::with_executable(&instance("refused"), "/bin/true").spawn(&sh("true")).await;
    assert!(matches!(silent, Err(SpawnError::Silent { .. } | SpawnError::System { .. })), "{silent:?}");
    let absent = ccd_process::Launcher::with_executable(&instance("refused"), "/no/shim").spawn(&sh("true")).await;
    assert!(matches!(absent, Err(SpawnError::System { .. })), "{absent:?}");
    gone(&instance("refused"), Duration::from_secs(1));
}

#[tokio::test]
async fn a_drop_kills_the_tree() {
    let mut child = launcher("drop").spawn(&python(&format!("{ESCAPE}\ntime.sleep(60)"))).await.unwrap();
    let escaped: u32 = read_line(&mut child).await.parse().unwrap();
    assert!(lives(escaped) && marked(&instance("drop")).len() >= 3);
    drop(child);
    tokio::task::spawn_blocking(|| gone(&instance("drop"), Duration::from_secs(1))).await.unwrap();
}

#[tokio::test]
async fn what_a_child_leaves_behind_ends_with_it() {
    let mut child = launcher("leaves").spawn(&python(ESCAPE)).await.unwrap();
    let begun = Instant::now();
    // The grandchild holds stdout, and ignores SIGTERM.
    let escaped: u32 = read_all(&mut child).await.trim().parse().unwrap();
    assert_eq!(child.exit().within(PATIENCE).await, Some(Exit::Code(0)));
    let ended = child.exit().gone_within(PATIENCE).await.unwrap();
    println!("all known {:?} after the start; {ended:?}", begun.elapsed());
    assert_eq!((ended.killed, ended.left, lives(escaped)), (1, 0, false));
}

#[tokio::test]
async fn a_stop_goes_step_by_step() {
    let launcher = launcher("ladder");
    let ladder = Ladder::with_first(Duration::from_millis(300));
    for (script, step, exit, promise) in [
        ("read line; exit 3", Step::First, Exit::Code(3), 300),
        ("cat >/dev/null; exit 4", Step::Closed, Exit::Code(4), 800),
        ("exec sleep 60", Step::Terminated, Exit::Signal(15), 1800),
        ("trap '' TERM; while :; do sleep 0.05; done", Step::Killed, Exit::Signal(9), 2800),
    ] {
        let child = launcher.spawn(&sh(script)).await.unwrap();
        let input = child.input();
        let first = async {
            input.try_send(b"shutdown\n".to_vec()).unwrap();
            pending::<()>().await;
        };
        let stopped = child.stop(first, ladder).await;
        println!("{script:?}: {stopped:?}");
        assert_eq!((stopped.step, stopped.exit), (step, Some(exit)), "{script}");
        assert_eq!(stopped.gone.map(|gone| gone.left), Some(0), "{script}");
        assert!(stopped.took < 5 * Duration::from_millis(promise), "{script}: {:?}", stopped.took);
    }
    tokio::task::spawn_blocking(|| gone(&instance("ladder"), Duration::from_secs(1))).await.unwrap();
}

#[tokio::test]
async fn a_kill_reaches_those_who_ignore_and_those_who_left() {
    let script = format!("{ESCAPE}\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\ntime.sleep(60)");
    let mut child = launcher("kill").spawn(&python(&script)).await.unwrap();
    read_line(&mut child).await;
    let stopped = child.kill(PATIENCE).await;
    println!("{stopped:?} (promised: 1 s)");
    assert_eq!((stopped.exit, stopped.gone.map(|gone| (gone.killed, gone.left))), (Some(Exit::Signal(9)), Some((2, 0))));
    assert!(stopped.took < Duration::from_secs(5));
}

#[tokio::test]
async fn a_tree_that_grows_while_it_is_killed_is_killed() {
    // Each process starts the next and goes; forty lines of that at a time.
    let script = "import os, time\nfor _ in range(40):\n    if os.fork() == 0:\n        os.setsid()\n        while True:\n            if os.fork(): os._exit(0)\n            time.sleep(0.002)\nprint('go', flush=True)\ntime.sleep(60)";
    let mut child = launcher("grows").spawn(&python(script)).await.unwrap();
    read_line(&mut child).await;
    let stopped = child.kill(PATIENCE).await;
    println!("{stopped:?} (promised: 2 s)");
    assert_eq!(stopped.gone.map(|gone| gone.left), Some(0));
    assert!(stopped.took < Duration::from_secs(10));
    tokio::task::spawn_blocking(|| gone(&instance("grows"), Duration::from_secs(1))).await.unwrap();
}

#[tokio::test]
async fn a_time_to_live_ends_the_tree() {
    let begun = Instant::now();
    let script = format!("{ESCAPE}\ntime.sleep(60)");
    let mut child = launcher("ttl").spawn(&python(&script).ttl(Duration::from_millis(700))).await.unwrap();
    read_line(&mut child).await;
    assert_eq!(child.exit().within(PATIENCE).await, Some(Exit::Expired));
    let ended = child.exit().gone_within(PATIENCE).await.unwrap();
    println!("expired after {:?} (promised: 700 ms), {ended:?}", begun.elapsed());
    assert!(begun.elapsed() >= Duration::from_millis(700) && begun.elapsed() < Duration::from_millis(3500));
    assert_eq!(ended.left, 0);
    tokio::task::spawn_blocking(|| gone(&instance("ttl"), Duration::from_secs(1))).await.unwrap();
}

#[tokio::test]
async fn a_killed_shim_is_noticed_and_its_tree_is_swept() {
    let script = format!("{ESCAPE}\ntime.sleep(60)");
    let mut child = launcher("shim").spawn(&python(&script)).await.unwrap();
    let escaped: u32 = read_line(&mut child).await.parse().unwrap();
    // Others of the same daemon are left alone.
    let other = launcher("shim-other").spawn(&sh("exec sleep 60")).await.unwrap();
    let begun = Instant::now();
    signal(child.shim_pid(), Signal::KILL);
    assert_eq!(child.exit().within(PATIENCE).await, Some(Exit::Lost));
    let ended = child.exit().gone_within(PATIENCE).await.unwrap();
    println!("a killed shim: all gone after {:?} (promised: 1 s), {ended:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(5));
    assert_eq!((ended.left, lives(escaped), lives(child.pid())), (0, false, false));
    assert!(lives(other.pid()));
    let stopped = child.stop(ready(()), Ladder::ADAPTER).await;
    assert_eq!(stopped.step, Step::Before);
}

#[tokio::test]
async fn a_shim_has_one_thread_and_outlives_signals_that_are_meant_for_the_daemon() {
    let mut child =
        launcher("outlives").spawn(&sh("trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done")).await.unwrap();
    assert_eq!(read_line(&mut child).await, "ready");
    let threads = || std::fs::read_dir(format!("/proc/{}/task", child.shim_pid())).unwrap().count();
    for meant in [Signal::TERM, Signal::INT, Signal::HUP, Signal::TERM] {
        signal(child.shim_pid(), meant);
        assert_eq!(child.exit().within(Duration::from_millis(50)).await, None);
        assert_eq!(threads(), 1);
    }
    // The child has its own ways with them.
    signal(child.pid(), Signal::TERM);
    assert_eq!(child.exit().within(PATIENCE).await, Some(Exit::Code(5)));
}

#[tokio::test]
async fn a_stopped_shim_does_not_hold_up_the_stop() {
    let child = launcher("stuck").spawn(&sh("exec sleep 60")).await.unwrap();
    signal(child.shim_pid(), Signal::STOP);
    let shim = child.shim_pid();
    let stopped = child.kill(Duration::from_secs(1)).await;
    assert_eq!((stopped.step, stopped.gone), (Step::GivenUp, None));
    signal(shim, Signal::CONT);
    tokio::task::spawn_blocking(|| gone(&instance("stuck"), Duration::from_secs(1))).await.unwrap();
}

#[test]
fn a_sweep_of_nothing_is_quick() {
    let begun = Instant::now();
    assert_eq!(sweep(&["no-such-instance"]), ccd_process::Swept::default());
    assert_eq!(sweep::<&str>(&[]), ccd_process::Swept::default());
    println!("two sweeps: {:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(2));
}
