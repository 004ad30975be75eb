//! Caps of what is told, and of what is remembered.

use std::{fmt::Write as _, path::Path};

use ccd_diagnostics::{Caps, Level, Limits, Remembered};

use crate::world::{ROOT, World, path, settled};

fn many(severity: char, from: u32, count: u32) -> String {
    let mut text = String::new();
    for n in from..from + count {
        let _ = write!(text, "{severity}{n} m{n}, ");
    }
    text
}

#[test]
fn a_file_tells_twenty_errors_first_and_owes_the_rest() {
    let mut world = World::new();
    world.baseline("a", "");
    let change = world.begin("r", "a");
    world.publish("a", &format!("{}{}", many('W', 1, 15), many('E', 100, 15)));
    let (report, ticket) = world.registry.report(&change, Level::Warnings, settled());
    world.registry.delivered(ticket);
    assert_eq!((report.new.len(), report.suppressed), (20, 10));
    assert_eq!(report.new.iter().filter(|told| told.diagnostic.severity.word() == "error").count(), 15);
    assert_eq!((report.new[0].diagnostic.message.as_str(), report.new[15].diagnostic.message.as_str()), ("m100", "m1"));
    let next = world.begin("r", "b");
    let (report, ticket) = world.registry.report(&next, Level::Warnings, settled());
    world.registry.delivered(ticket);
    assert_eq!((report.carried_over.len(), report.suppressed), (10, 0));
    assert_eq!(world.told(&next), "");
}

#[test]
fn other_files_tell_twenty_in_five_of_them() {
    let mut world = World::new();
    world.registry.covers("ls");
    let change = world.begin("r", "a");
    for name in ["b", "c", "d", "e", "f", "g"] {
        world.publish(name, &many('W', 1, 3));
    }
    world.publish("z", &many('E', 1, 30));
    let (report, _) = world.registry.report(&change, Level::Warnings, settled());
    assert_eq!((report.elsewhere.len(), report.suppressed), (20, 28));
    assert!(report.elsewhere.iter().all(|told| told.path == path("z")));
    world.publish("z", &many('E', 1, 2));
    let (report, _) = world.registry.report(&change, Level::Warnings, settled());
    let mut files: Vec<_> = report.elsewhere.iter().map(|told| told.path.clone()).collect();
    files.dedup();
    assert_eq!((report.elsewhere.len(), report.suppressed), (14, 6));
    assert_eq!(files, ["z", "b", "c", "d", "e"].map(path));
}

#[test]
fn of_what_nobody_answers_for_five_are_told_and_none_is_owed() {
    let mut world = World::new();
    let change = world.begin("r", "a");
    world.publish("a", &format!("{}{}", many('W', 10, 9), many('E', 50, 2)));
    let (report, ticket) = world.registry.report(&change, Level::Warnings, settled());
    world.registry.delivered(ticket);
    assert_eq!((report.unattributed.len(), report.suppressed), (5, 6));
    assert_eq!(report.unattributed[1].diagnostic.message, "m51");
    assert_eq!(world.told(&change), "");
}

#[test]
fn a_run_is_forgotten_a_day_after_its_last_use() {
    let mut world = World::new();
    world.registry.tick(100);
    world.registry.touch("r", Path::new(ROOT));
    world.registry.tick(50_000);
    world.registry.touch("s", Path::new(ROOT));
    world.registry.tick(100 + 24 * 3600 - 1);
    assert_eq!(world.registry.runs().len(), 2);
    world.registry.tick(100 + 24 * 3600);
    let left: Vec<String> = world.registry.runs().into_iter().map(|run| run.run).collect();
    assert_eq!(left, ["s"]);
    assert!(world.registry.forget("s") && !world.registry.forget("s"));
}

#[test]
fn a_ticket_of_a_run_that_is_gone_brings_nothing_back() {
    let mut world = World::new();
    let change = world.begin("r", "a");
    world.publish("a", "E1 x");
    let (_, ticket) = world.registry.report(&change, Level::All, settled());
    world.registry.forget("r");
    world.registry.delivered(ticket);
    assert!(world.registry.runs().is_empty());
}

#[test]
fn the_least_recently_used_file_goes_first() {
    let mut world = World::with(Limits { keys: 4, ..Limits::default() });
    for name in ["a", "b", "c"] {
        world.baseline(name, "");
    }
    assert_eq!(world.write("r", "a", "E1 x, E1 y"), "new a:E1 x, a:E1 y");
    assert_eq!(world.write("r", "b", "E1 x, E1 y"), "new b:E1 x, b:E1 y");
    let change = world.begin("r", "c");
    world.publish("c", "E1 x");
    let (report, ticket) = world.registry.report(&change, Level::Warnings, settled());
    world.registry.delivered(ticket);
    assert_eq!(report.remembered, Remembered::Partial);
    // The first file is forgotten; what stands in it is no news for that. The second one is remembered.
    world.publish("a", "E1 x, E1 y, E1 z");
    world.publish("b", "E1 x, E1 y");
    let change = world.begin("r", "c");
    assert_eq!(world.told(&change), "carried a:E1 z");
    assert!(world.registry.runs()[0].keys <= 4);
}

#[test]
fn runs_and_files_have_a_bound() {
    let mut world = World::with(Limits { runs: 2, files: 4, ..Limits::default() });
    for (second, run) in ["a", "b", "c"].iter().enumerate() {
        world.registry.tick(second as u64 + 1);
        world.registry.touch(run, Path::new(ROOT));
    }
    let left: Vec<String> = world.registry.runs().into_iter().map(|run| run.run).collect();
    assert_eq!(left, ["b", "c"]);
    for n in 0..20 {
        world.publish(&format!("clean{n}"), "");
    }
    world.publish("bad", "E1 x");
    assert_eq!(world.registry.list(None, Level::All, 9, None).1, 1);
}

#[test]
fn a_list_without_end_keeps_its_worst() {
    let caps = Caps { per_file: 5000, ..Caps::default() };
    let mut world = World::with(Limits { caps, ..Limits::default() });
    world.baseline("a", "");
    let change = world.begin("r", "a");
    world.publish("a", &format!("{}{}", many('W', 1, 2500), many('E', 1, 10)));
    let (report, _) = world.registry.report(&change, Level::Warnings, settled());
    assert_eq!(report.new.len(), 2000);
    assert_eq!(report.new.iter().filter(|told| told.diagnostic.severity.word() == "error").count(), 10);
}
