//! Whose doing it is: this change, an earlier one, another run, nobody.

use std::path::Path;

use ccd_diagnostics::{Baseline, Cause, Level, Reads, ServerState, State, Written};

use crate::world::{ROOT, World, list, path, settled, state_of};

#[test]
fn other_files_of_this_change_are_elsewhere() {
    let mut world = World::new();
    world.registry.covers("ls");
    world.baseline("a", "");
    let change = world.begin("r", "a");
    world.publish("a", "E1 here");
    world.publish("b", "E7 there");
    assert_eq!(world.told(&change), "new a:E1 here | elsewhere b:E7 there");
}

#[test]
fn a_change_of_several_files_is_one() {
    let mut world = World::new();
    for name in ["a", "b"] {
        world.baseline(name, "");
    }
    let written = ["a", "b"].map(|name| Written { path: path(name), lines: vec![(1, 1)], made: false });
    let change = world.registry.begin("r", Path::new(ROOT), written.to_vec());
    world.publish("b", "W1 y");
    world.publish("a", "E1 x");
    assert_eq!(world.told(&change), "new a:E1 x, b:W1 y");
}

#[test]
fn another_runs_change_is_its_news_and_unattributed_here() {
    let mut world = World::new();
    world.baseline("a", "");
    world.baseline("b", "");
    world.registry.touch("mine", Path::new(ROOT));
    let theirs = world.begin("theirs", "b");
    world.publish("b", "E1 theirs");
    let mine = world.begin("mine", "a");
    world.publish("a", "E1 mine");
    assert_eq!(world.told(&mine), "new a:E1 mine | unattributed b:E1 theirs");
    assert_eq!(world.told(&theirs), "new b:E1 theirs | unattributed a:E1 mine");
    assert_eq!((world.told(&mine), world.told(&theirs)), (String::new(), String::new()));
}

#[test]
fn two_runs_in_one_file_are_told_apart_by_the_change() {
    let mut world = World::new();
    world.baseline("a", "");
    world.registry.touch("mine", Path::new(ROOT));
    let theirs = world.begin("theirs", "a");
    world.publish_as("ls", "a", "E1 theirs", Cause::Change(theirs.id()), Reads::Text);
    let mine = world.begin("mine", "a");
    // The server's answer to the first change comes again after the second one began.
    world.publish_as("ls", "a", "E1 theirs, E2 also", Cause::Change(theirs.id()), Reads::Text);
    world.publish_as("ls", "a", "E1 theirs, E2 also, E1 mine", Cause::Change(mine.id()), Reads::Text);
    assert_eq!(world.told(&mine), "new a:E1 mine | unattributed a:E1 theirs, a:E2 also");
    assert_eq!(world.told(&theirs), "new a:E1 theirs, a:E2 also | unattributed a:E1 mine");
}

#[test]
fn the_same_fault_made_by_two_runs_is_told_to_both_as_theirs() {
    let mut world = World::new();
    world.baseline("a", "");
    world.registry.touch("mine", Path::new(ROOT));
    let theirs = world.begin_lines("theirs", "a", &[(8, 8)]);
    world.publish("a", "E8 same");
    let mine = world.begin("mine", "a");
    world.publish("a", "E1 same, E9 same");
    assert_eq!(world.told(&mine), "new a:E1 same | unattributed a:E9 same");
    assert_eq!(world.told(&theirs), "new a:E9 same | unattributed a:E1 same");
}

#[test]
fn a_run_that_comes_later_knows_what_stands() {
    let mut world = World::new();
    world.baseline("a", "");
    world.write("first", "a", "E1 x");
    assert_eq!(world.write("second", "a", "E1 x, E1 y"), "new a:E1 y");
    // Another root is none of its business.
    world.registry.touch("far", Path::new("/q"));
    world.write("first", "a", "E1 x, E1 y, E1 z");
    let change = world.registry.begin("far", Path::new("/q"), Vec::new());
    assert_eq!(world.told(&change), "");
}

#[test]
fn what_comes_late_is_carried_over_with_the_next_answer() {
    let mut world = World::new();
    world.baseline("a", "");
    world.baseline("b", "");
    let first = world.begin("r", "a");
    assert_eq!(world.told_with(&first, Level::Warnings, state_of("ls", ServerState::TimedOut)), "");
    world.publish("a", "E1 late");
    assert_eq!(world.write("r", "b", "E1 made"), "new b:E1 made | carried a:E1 late");
}

#[test]
fn nobodys_change_is_unattributed() {
    let mut world = World::new();
    world.baseline("a", "");
    world.write("r", "a", "");
    world.publish_as("ls", "a", "E1 by hand", Cause::Outside, Reads::Text);
    assert_eq!(world.write("r", "a", "E1 by hand, E1 made"), "new a:E1 made | unattributed a:E1 by hand");
}

#[test]
fn without_a_baseline_the_lines_that_were_written_decide() {
    let mut world = World::new();
    let change = world.begin_lines("r", "a", &[(3, 4)]);
    world.publish("a", "E3 mine, E9 old, W4 mine");
    assert_eq!(world.known(&change), Baseline::Unknown);
    assert_eq!(world.told(&change), "new ~a:E3 mine, ~a:W4 mine | unattributed a:E9 old");
    // From now on there is one.
    let change = world.begin_lines("r", "a", &[(3, 4)]);
    assert_eq!(world.known(&change), Baseline::Known);
    world.publish("a", "E3 mine, E9 old, W4 mine, E20 far");
    assert_eq!(world.told(&change), "new a:E20 far");
}

#[test]
fn a_list_that_comes_in_parts_is_compared_with_what_was_before_the_change() {
    let mut world = World::new();
    let change = world.begin("r", "a");
    world.publish("a", "");
    world.publish("a", "E1 mine, E9 old");
    assert_eq!(world.told(&change), "new ~a:E1 mine | unattributed a:E9 old");
}

#[test]
fn a_late_baseline_is_as_good_as_an_early_one() {
    for before_the_answer in [true, false] {
        let mut world = World::new();
        let change = world.begin("r", "a");
        if before_the_answer {
            world.registry.late_baseline("ls", &path("a"), list("E1 old, E9 old"));
        }
        world.publish("a", "E1 old, E9 old, E9 old, E20 far");
        if !before_the_answer {
            world.registry.late_baseline("ls", &path("a"), list("E1 old, E9 old"));
        }
        assert_eq!(world.known(&change), Baseline::Late);
        let told = world.told(&change);
        assert!(told == "new a:E9 old, a:E20 far" || told == "new a:E1 old, a:E20 far", "{told}");
        assert_eq!(world.told(&change), "");
        // It is told once that it came late.
        let next = world.begin("r", "a");
        assert_eq!(world.known(&next), Baseline::Known);
        world.registry.late_baseline("ls", &path("a"), list(""));
        assert_eq!(world.told(&next), "");
    }
}

#[test]
fn a_late_baseline_shows_what_the_change_fixed() {
    let mut world = World::new();
    let change = world.begin("r", "a");
    world.registry.late_baseline("ls", &path("a"), list("E1 old, E9 other"));
    world.publish("a", "E9 other");
    assert_eq!(world.told(&change), "fixed 1");
}

#[test]
fn a_checker_of_the_disk_says_nothing_new_before_it_has_a_baseline() {
    let mut world = World::new();
    let change = world.begin("r", "a");
    world.publish_as("check", "a", "E1 x", Cause::Latest, Reads::Disk);
    world.publish_as("check", "b", "E1 y", Cause::Latest, Reads::Disk);
    assert_eq!(world.told_with(&change, Level::Warnings, state_of("check", ServerState::Settled)), "unattributed a:E1 x, b:E1 y");
    world.registry.covers("check");
    let change = world.begin("r", "a");
    world.publish_as("check", "a", "E1 x, E2 new", Cause::Latest, Reads::Disk);
    world.publish_as("check", "c", "E1 z", Cause::Latest, Reads::Disk);
    assert_eq!(
        world.told_with(&change, Level::Warnings, state_of("check", ServerState::Settled)),
        "new a:E2 new | elsewhere c:E1 z"
    );
}

#[test]
fn a_report_stands_as_its_worst_server() {
    let mut world = World::new();
    world.baseline("a", "");
    let change = world.begin("r", "a");
    let all = [
        (ServerState::Settled, State::Settled),
        (ServerState::Assumed, State::Assumed),
        (ServerState::TimedOut, State::TimedOut),
        (ServerState::Unavailable { reason: "no_binary".to_owned() }, State::Unavailable),
    ];
    for (worse, (_, word)) in all.iter().enumerate() {
        let servers = all[..=worse].iter().flat_map(|(state, _)| state_of("ls", state.clone())).collect();
        let (report, _) = world.registry.report(&change, Level::Warnings, servers);
        assert_eq!(report.state, *word);
        assert_eq!(report.reason.as_deref(), (worse == 3).then_some("no_binary"));
        assert_eq!(report.baseline, if worse == 3 { Baseline::Unknown } else { Baseline::Known });
    }
    assert_eq!(world.registry.report(&change, Level::Warnings, Vec::new()).0.state.word(), "none_claims");
    assert_eq!(world.registry.report(&change, Level::Off, settled()).0.state.word(), "off");
}
