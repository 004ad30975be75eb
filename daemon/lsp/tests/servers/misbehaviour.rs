//! What servers were seen to do, made repeatable.

use std::time::{Duration, Instant};

use ccd_diagnostics::State;
use ccd_lsp::Phase;

use crate::world::World;

const BAD: &str = "bad line: BAD one";

/// A write of one bad line to a cold server in this mode: it is told.
async fn check(modes: &str) {
    let world = World::fake(modes, &[]);
    world.put("a.fake", "ok\n");
    let told = world.write(&[("a.fake", "ok\nBAD one\n")], 20_000).await;
    assert_eq!(told.new, [BAD], "{modes}: {told:?}");
    assert!(matches!(told.state, State::Settled | State::Assumed), "{modes}: {told:?}");
    let again = world.write(&[("a.fake", "ok\n\nBAD one\n")], 20_000).await;
    assert!(again.new.is_empty() && again.carried_over.is_empty(), "{modes}: a line that moved is no news: {again:?}");
    let fixed = world.write(&[("a.fake", "ok\n")], 20_000).await;
    assert_eq!((fixed.fixed, fixed.new.len()), (1, 0), "{modes}: {fixed:?}");
    let stopped = world.pool.stop(|_| true).await;
    let exit = stopped[0].stopped.as_ref().unwrap();
    assert!(exit.gone.is_some_and(|gone| gone.left == 0), "{modes}: {exit:?}");
    assert_eq!(world.spawned(), 1, "{modes}");
}

macro_rules! modes {
    ($($name:ident: $modes:expr;)*) => {
        $(#[tokio::test] async fn $name() { check($modes).await; })*
    };
}

modes! {
    plain: "plain";
    a_banner_before_the_first_frame: "banner";
    a_banner_like_a_header_block: "banner-crlf";
    a_flood_on_stderr: "noisy-stderr";
    frames_in_pieces: "split-frames";
    questions_with_names_for_ids: "asks-config";
    an_old_list_first: "stale-first";
    lists_without_versions: "noversion";
    positions_outside_of_the_text: "bad-positions";
    asked_for_lists: "pull";
    asked_again_when_cancelled: "pull,cancels";
    asked_after_it_registered: "registers-pull";
    silent_when_nothing_changed: "silent-if-same";
    an_old_list_first_without_versions: "stale-first,noversion";
    deaf_to_shutdown: "ignores-shutdown";
}

#[tokio::test]
async fn a_server_that_ends_at_its_start_says_why() {
    let world = World::fake("crash-start", &[]);
    world.put("a.fake", "");
    let begun = Instant::now();
    let told = world.write(&[("a.fake", "BAD one\n")], 3000).await;
    assert!(begun.elapsed() < Duration::from_secs(3));
    assert_eq!((told.state, &told.detail[..]), (State::Unavailable, "failed_to_start: exit 7: fatal: license expired"));
    assert_eq!(world.spawned(), 1);
    let status = world.pool.status();
    assert_eq!(status[0].last_error.as_deref(), Some("exit 7: fatal: license expired"));
    // At once again: it has just failed, and is not started.
    let told = world.write(&[("a.fake", "BAD two\n")], 3000).await;
    assert_eq!((told.state, world.spawned()), (State::Unavailable, 1));
}

#[tokio::test]
async fn a_crash_loop_ends_in_quarantine() {
    let world = World::fake("crash-start", &[]);
    world.put("a.fake", "");
    let mut last = String::new();
    let until = Instant::now() + Duration::from_secs(60);
    while Instant::now() < until && !last.starts_with("quarantined") {
        last = world.write(&[("a.fake", "BAD one\n")], 3000).await.detail;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!((&last[..], world.spawned()), ("quarantined: exit 7: fatal: license expired", 5));
    // A person lifts it.
    world.pool.stop(|_| true).await;
    world.write(&[("a.fake", "BAD two\n")], 3000).await;
    assert_eq!(world.spawned(), 6);
}

#[tokio::test]
async fn a_server_that_dies_of_a_change_is_not_started_twice_in_one_write() {
    let world = World::fake("crash-each-change", &[]);
    world.put("a.fake", "ok\n");
    let told = world.write(&[("a.fake", "BAD one\n")], 5000).await;
    assert_eq!((told.state, &told.detail[..]), (State::Unavailable, "crashed: exit 9: fatal: change"));
    assert_eq!(world.spawned(), 1);
    let status = world.pool.status();
    assert!(matches!(status[0].phase, Phase::Ended { .. }), "{status:?}");
}

#[tokio::test]
async fn a_server_that_dies_in_a_request_is_not_waited_for() {
    // Unversioned and silent: it is asked whether it took the text, and dies of the question.
    let world = World::fake("silent-if-same,dies-in-request", &[]);
    world.put("a.fake", "ok\n");
    let begun = Instant::now();
    let told = world.write(&[("a.fake", "ok\nok\n")], 20_000).await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    assert_eq!((told.state, &told.detail[..]), (State::Unavailable, "crashed: exit 9: fatal: in a request"));
    // After the pause the next write starts another one.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let told = world.write(&[("a.fake", "ok\n")], 20_000).await;
    assert_eq!((told.state, world.spawned()), (State::Unavailable, 2), "{told:?}");
}

#[tokio::test]
async fn a_silent_start_is_waited_for_no_longer_than_the_write_says() {
    let world = World::fake("silent-start", &[]);
    world.put("a.fake", "ok\n");
    let begun = Instant::now();
    let told = world.write(&[("a.fake", "BAD\n")], 500).await;
    assert_eq!(told.state, State::TimedOut);
    assert!(begun.elapsed() < Duration::from_millis(1000), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn our_own_part_of_a_warm_write_is_small() {
    let world = World::fake("plain", &[]);
    world.put("a.fake", "ok\n");
    world.write(&[("a.fake", "ok 0\n")], 20_000).await;
    let mut times = Vec::new();
    for round in 1..=100 {
        let begun = Instant::now();
        let told = world.write(&[("a.fake", &format!("ok {round}\n"))], 20_000).await;
        times.push(begun.elapsed());
        assert_eq!(told.state, State::Settled);
    }
    times.sort();
    let _ =
        std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("warm write: p50 {:?}, p90 {:?}\n", times[50], times[90]));
    assert!(times[50] < Duration::from_millis(50), "{times:?}");
}

#[tokio::test]
async fn a_time_out_is_not_clean_and_comes_later() {
    let world = World::fake("slow", &[("FAKE_DELAY_MS", "2500")]);
    world.put("a.fake", "ok\n");
    let begun = Instant::now();
    let told = world.write(&[("a.fake", "BAD one\n")], 500).await;
    assert!(begun.elapsed() < Duration::from_millis(1000), "{:?}", begun.elapsed());
    assert_eq!((told.state, told.new.len()), (State::TimedOut, 0));
    tokio::time::sleep(Duration::from_secs(4)).await;
    let told = world.write(&[("a.fake", "BAD one\n ok\n")], 10_000).await;
    let all: Vec<&String> = told.carried_over.iter().chain(&told.new).chain(&told.unattributed).collect();
    assert_eq!(all, [BAD], "{told:?}");
}

#[tokio::test]
async fn a_slow_server_within_the_wait_is_waited_for() {
    let world = World::fake("slow", &[("FAKE_DELAY_MS", "1200")]);
    world.put("a.fake", "ok\n");
    let told = world.write(&[("a.fake", "BAD one\n")], 10_000).await;
    assert_eq!((told.state, &told.new[..]), (State::Settled, &[BAD.to_owned()][..]), "{told:?}");
}

#[tokio::test]
async fn many_first_requests_start_one_process() {
    let world = std::sync::Arc::new(World::fake("plain", &[]));
    let names: Vec<String> = (0..50).map(|at| format!("f{at}.fake")).collect();
    names.iter().for_each(|name| world.put(name, "ok\n"));
    let writes = names.into_iter().map(|name| {
        let world = std::sync::Arc::clone(&world);
        tokio::spawn(async move { world.write(&[(&name, "BAD one\n")], 20_000).await.state })
    });
    for write in writes.collect::<Vec<_>>() {
        assert_eq!(write.await.unwrap(), State::Settled);
    }
    assert_eq!(world.spawned(), 1);
}

#[tokio::test]
async fn a_silent_server_holds_up_nobody_longer_than_they_wait() {
    let world = World::fake("silent", &[]);
    ["a.fake", "b.fake"].iter().for_each(|name| world.put(name, "ok\n"));
    let begun = Instant::now();
    let (one, other) = tokio::join!(world.write(&[("a.fake", "BAD\n")], 700), world.write(&[("b.fake", "BAD\n")], 700));
    assert_eq!((one.state, other.state), (State::TimedOut, State::TimedOut));
    assert!(begun.elapsed() < Duration::from_millis(1500), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn many_files_are_waited_for_once() {
    let world = World::fake("slow", &[("FAKE_DELAY_MS", "300")]);
    let names: Vec<String> = (0..20).map(|at| format!("f{at}.fake")).collect();
    names.iter().for_each(|name| world.put(name, "ok\n"));
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "BAD one\n")).collect();
    let begun = Instant::now();
    let told = world.write(&files, 10_000).await;
    assert_eq!((told.state, told.new.len()), (State::Settled, 20));
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn a_look_starts_the_server_and_is_nobodys_news() {
    let world = World::fake("plain", &[]);
    world.put("a.fake", "BAD one\n");
    let files = [(world.path("a.fake"), b"BAD one\n"[..].into())];
    let (servers, unavailable) = world.pool.look(&world.checkout, &files, Duration::from_secs(20)).await;
    assert_eq!((&servers[0].state, unavailable.len()), (&ccd_diagnostics::ServerState::Settled, 0));
    let listed = world.pool.registry().lock().unwrap().list(None, ccd_diagnostics::Level::All, 10, None).1;
    assert_eq!(listed, 1);
    let told = world.write(&[("a.fake", "ok\nBAD one\n")], 20_000).await;
    assert!(told.new.is_empty() && told.unattributed.is_empty(), "{told:?}");
}
