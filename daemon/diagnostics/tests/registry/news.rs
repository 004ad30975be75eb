//! What is news: the multiset law of one run, and when it counts as told.

use std::path::Path;

use ccd_diagnostics::{Level, ServerState, Written};

use crate::world::{ROOT, World, list, path, settled, state_of, told};

#[test]
fn what_was_there_before_is_no_news() {
    let mut world = World::new();
    world.baseline("a", "E3 old, W5 older");
    assert_eq!(world.write("r", "a", "E3 old, W5 older, E1 made"), "new a:E1 made");
    assert_eq!(world.write("r", "a", "E3 old, W5 older, E1 made"), "");
}

#[test]
fn lines_that_moved_are_no_news() {
    let mut world = World::new();
    world.baseline("a", "E3 old, E4 old");
    assert_eq!(world.write("r", "a", "E7 old, E8 old"), "");
    assert_eq!(world.write("r", "a", "E8 old, E9 old, E1 made"), "new a:E1 made");
    assert_eq!(world.write("r", "a", "E9 old, E10 old, E4 made"), "");
}

#[test]
fn a_second_identical_one_is_news_and_is_shown_where_it_was_written() {
    let mut world = World::new();
    world.baseline("a", "E3 same");
    // The old one moved below; the new one stands in the line that was written.
    assert_eq!(world.write("r", "a", "E1 same, E4 same"), "new a:E1 same");
    let change = world.begin_lines("r", "a", &[(9, 9)]);
    world.publish("a", "E1 same, E4 same, E9 same");
    assert_eq!(world.told(&change), "new a:E9 same");
    // One of three goes, and comes back.
    assert_eq!(world.write("r", "a", "E4 same, E9 same"), "fixed 1");
    assert_eq!(world.write("r", "a", "E1 same, E4 same, E9 same"), "new a:E1 same");
}

#[test]
fn fixed_and_back_is_news_again() {
    let mut world = World::new();
    world.baseline("a", "E3 old");
    assert_eq!(world.write("r", "a", ""), "fixed 1");
    assert_eq!(world.write("r", "a", "E3 old"), "new a:E3 old");
    assert_eq!(world.write("r", "a", "E4 old"), "");
    assert_eq!(world.write("r", "a", "E4 old, E1 made"), "new a:E1 made");
    assert_eq!(world.write("r", "a", "E4 old"), "fixed 1");
    assert_eq!(world.write("r", "a", "E4 old, E1 made"), "new a:E1 made");
}

#[test]
fn a_changed_severity_is_news() {
    let mut world = World::new();
    world.baseline("a", "W3 same");
    assert_eq!(world.write("r", "a", "E3 same"), "new a:E3 same | fixed 1");
    assert_eq!(world.write("r", "a", "E3 same [1]"), "new a:E3 same | fixed 1");
}

#[test]
fn a_swap_is_one_new_and_one_fixed() {
    let mut world = World::new();
    world.baseline("a", "E1 x, E2 y, E2 y");
    assert_eq!(world.write("r", "a", "E1 z, E2 y"), "new a:E1 z | fixed 2");
}

#[test]
fn an_empty_list_on_the_way_changes_nothing() {
    let mut world = World::new();
    world.baseline("a", "E3 old");
    let change = world.begin("r", "a");
    world.publish("a", "");
    world.publish("a", "E3 old, E1 made");
    assert_eq!(world.told(&change), "new a:E1 made");
    let change = world.begin("r", "a");
    world.publish("a", "");
    // Nothing was said yet: nothing is fixed.
    assert_eq!(world.told_with(&change, Level::Warnings, state_of("ls", ServerState::TimedOut)), "");
    world.publish("a", "E3 old, E1 made");
    assert_eq!(world.told(&change), "");
}

#[test]
fn what_was_not_delivered_was_not_told() {
    let mut world = World::new();
    world.baseline("a", "");
    let change = world.begin("r", "a");
    world.publish("a", "E1 made");
    let (lost, ticket) = world.registry.report(&change, Level::Warnings, settled());
    assert_eq!(told(&lost), "new a:E1 made");
    drop(ticket);
    assert_eq!(world.told(&change), "new a:E1 made");
    assert_eq!(world.told(&change), "");
}

#[test]
fn two_answers_at_once_count_once() {
    let mut world = World::new();
    world.baseline("a", "");
    let change = world.begin("r", "a");
    world.publish("a", "E1 made");
    let (_, first) = world.registry.report(&change, Level::Warnings, settled());
    world.publish("a", "E1 made, E2 late");
    let (_, second) = world.registry.report(&change, Level::Warnings, settled());
    world.registry.delivered(second);
    world.registry.delivered(first);
    assert_eq!(world.told(&change), "");
    // Known once, not twice: another one is news.
    assert_eq!(world.write("r", "a", "E1 made, E1 made, E2 late"), "new a:E1 made");
}

#[test]
fn an_answer_that_is_delivered_late_takes_nothing_back() {
    let mut world = World::new();
    world.baseline("a", "E3 old");
    let change = world.begin("r", "a");
    world.publish("a", "");
    let (_, early) = world.registry.report(&change, Level::Warnings, settled());
    world.publish("a", "E3 old, E1 made");
    assert_eq!(world.told(&change), "new a:E1 made");
    world.registry.delivered(early);
    assert_eq!(world.told(&change), "");
}

#[test]
fn what_a_level_leaves_out_is_owed() {
    let mut world = World::new();
    world.baseline("a", "");
    let change = world.begin("r", "a");
    world.publish("a", "E1 e, W1 w, I1 i, H1 h");
    assert_eq!(world.told_at(&change, Level::Off), "");
    assert_eq!(world.told_at(&change, Level::Errors), "new a:E1 e");
    assert_eq!(world.told_at(&change, Level::Warnings), "new a:W1 w");
    let next = world.begin("r", "b");
    assert_eq!(world.told_at(&next, Level::All), "carried a:I1 i, a:H1 h");
    world.publish("a", "");
    assert_eq!(world.told_at(&next, Level::Errors), "fixed 1");
}

#[test]
fn a_new_file_has_an_empty_baseline() {
    let mut world = World::new();
    let written = Written { path: path("a"), lines: vec![(1, 9)], made: true };
    let change = world.registry.begin("r", Path::new(ROOT), vec![written]);
    world.publish("a", "E20 far");
    assert_eq!(world.told(&change), "new a:E20 far");
    assert_eq!(world.known(&change), ccd_diagnostics::Baseline::Known);
}

#[test]
fn a_move_carries_and_a_deletion_forgets() {
    let mut world = World::new();
    world.baseline("a", "E3 old");
    assert_eq!(world.write("r", "a", "E3 old, E1 made"), "new a:E1 made");
    world.registry.moved(&path("a"), &path("b"));
    assert_eq!(world.write("r", "b", "E3 old, E1 made"), "");
    // A run that came later knows what was there under either name.
    world.registry.touch("s", Path::new(ROOT));
    world.registry.moved(&path("b"), &path("c"));
    assert_eq!(world.write("s", "c", "E3 old, E1 made"), "");
    world.registry.deleted(&path("c"));
    let written = Written { path: path("c"), lines: vec![(1, 9)], made: true };
    let change = world.registry.begin("r", Path::new(ROOT), vec![written]);
    world.publish("c", "E3 old");
    assert_eq!(world.told(&change), "new c:E3 old");
}

#[test]
fn a_move_onto_a_file_replaces_what_was_known_of_it() {
    let mut world = World::new();
    world.baseline("a", "E1 x");
    world.baseline("b", "E1 y");
    world.registry.touch("r", Path::new(ROOT));
    world.registry.moved(&path("a"), &path("b"));
    assert_eq!(world.write("r", "b", "E1 x, E2 y"), "new b:E2 y");
}

#[test]
fn a_baseline_shows_what_is_gone_also_where_nobody_asked() {
    let mut world = World::new();
    world.baseline("a", "");
    assert_eq!(world.write("r", "a", "E1 made"), "new a:E1 made");
    // Fixed by a write that asked for no diagnostics.
    world.begin("r", "a");
    world.baseline("a", "");
    assert_eq!(world.write("r", "a", "E1 made"), "new a:E1 made | fixed 1");
}

#[test]
fn a_baseline_does_not_swallow_what_an_earlier_change_made() {
    let mut world = World::new();
    world.baseline("a", "");
    let first = world.begin("r", "a");
    assert_eq!(world.told_with(&first, Level::Warnings, state_of("ls", ServerState::TimedOut)), "");
    world.baseline("a", "E1 late");
    assert_eq!(world.write("r", "a", "E1 late, E1 made"), "new a:E1 made | carried a:E1 late");
}

#[test]
fn what_is_listed_to_a_run_is_told() {
    let mut world = World::new();
    world.baseline("a", "W9 old");
    let change = world.begin("r", "a");
    world.publish("a", "E1 x, E1 x, W9 old");
    let (all, total, ticket) = world.registry.list(None, Level::Warnings, 1, Some("r"));
    assert_eq!((all.len(), total), (1, 3));
    world.registry.delivered(ticket.unwrap());
    // One of the two was listed.
    assert_eq!(world.told(&change), "new a:E1 x");
    let (all, _, ticket) = world.registry.list(Some(&[path("b")]), Level::All, 10, None);
    assert!(all.is_empty() && ticket.is_none());
}

#[test]
fn a_baseline_that_a_run_asks_for_makes_all_known() {
    let mut world = World::new();
    world.baseline("a", "");
    let change = world.begin("r", "a");
    world.publish("a", "E1 x, E2 y");
    assert_eq!(world.registry.know_all("r", Path::new(ROOT), &[path("a"), path("b")]), 2);
    assert_eq!(world.told(&change), "");
    assert_eq!(world.write("r", "a", "E1 x, E2 y, E1 z"), "new a:E1 z");
}

#[test]
fn older_versions_are_ignored() {
    let mut world = World::new();
    world.baseline("a", "");
    let change = world.begin("r", "a");
    let publish = |version, text| ccd_diagnostics::Publish {
        publisher: "ls",
        path: Path::new("/p/a"),
        version: Some(version),
        items: list(text),
        cause: ccd_diagnostics::Cause::Latest,
        reads: ccd_diagnostics::Reads::Text,
    };
    assert!(world.registry.publish(publish(3, "E1 now")));
    assert!(!world.registry.publish(publish(2, "E1 before")));
    assert!(world.registry.publish(publish(3, "E1 now, E2 more")));
    assert_eq!(world.told(&change), "new a:E1 now, a:E2 more");
}
