//! One fault from two sources, and servers that come and go.

use ccd_diagnostics::{Cause, Level, Reads, Server, ServerState};

use crate::world::World;

const NATIVE: &str = "E1 expected i32 [E0308] @rust-analyzer";
const RUSTC: &str = "E1 mismatched types [E0308] @rustc";

fn world() -> World {
    let mut world = World::new();
    world.registry.covers("ra");
    world.registry.covers("check");
    world
}

fn both(state: ServerState) -> Vec<Server> {
    let publishers = vec!["ra".into(), "check".into()];
    vec![Server { id: "rust-analyzer".to_owned(), publishers, state, waited_ms: 0 }]
}

fn native(world: &mut World, text: &str) {
    world.publish_as("ra", "a", text, Cause::Latest, Reads::Text);
}

fn check(world: &mut World, text: &str) {
    world.publish_as("check", "a", text, Cause::Latest, Reads::Disk);
}

fn told(world: &mut World, change: &ccd_diagnostics::Change) -> String {
    world.told_with(change, Level::Warnings, both(ServerState::Settled))
}

#[test]
fn two_reports_of_one_fault_are_told_once_in_the_compilers_words() {
    let mut world = world();
    let change = world.begin("r", "a");
    native(&mut world, NATIVE);
    check(&mut world, RUSTC);
    assert_eq!(told(&mut world, &change), "new a:E1 mismatched types");
    assert_eq!(told(&mut world, &change), "");
}

#[test]
fn the_second_report_is_no_news_when_it_comes_later() {
    let mut world = world();
    let change = world.begin("r", "a");
    native(&mut world, NATIVE);
    assert_eq!(told(&mut world, &change), "new a:E1 expected i32");
    check(&mut world, RUSTC);
    assert_eq!(told(&mut world, &change), "");
    // The compiler is silent for a while, and speaks again.
    check(&mut world, "");
    assert_eq!(told(&mut world, &change), "");
    check(&mut world, RUSTC);
    assert_eq!(told(&mut world, &change), "");
    // The other way round.
    native(&mut world, "");
    assert_eq!(told(&mut world, &change), "");
    native(&mut world, NATIVE);
    assert_eq!(told(&mut world, &change), "");
    native(&mut world, "");
    check(&mut world, "");
    assert_eq!(told(&mut world, &change), "fixed 1");
}

#[test]
fn faults_that_share_the_words_of_one_source_are_two() {
    let mut world = world();
    let unused = |line: u32, name: &str| {
        (format!("W{line} unused variable [unused] @rust-analyzer"), format!("W{line} unused variable: {name} [unused] @rustc"))
    };
    let change = world.begin("r", "a");
    let (one, x) = unused(1, "x");
    native(&mut world, &one);
    check(&mut world, &x);
    assert_eq!(told(&mut world, &change), "new a:W1 unused variable: x");
    let change = world.begin("r", "a");
    let (two, y) = unused(2, "y");
    native(&mut world, &two);
    check(&mut world, &y);
    assert_eq!(told(&mut world, &change), "new a:W2 unused variable: y | fixed 1");
}

#[test]
fn notes_of_the_compiler_stay_out_of_the_usual_levels() {
    let mut world = world();
    let change = world.begin("r", "a");
    check(&mut world, &format!("{RUSTC}, H1 arguments to this function are incorrect [E0308] @rustc"));
    world.publish_as("check", "b", "H7 function defined here [E0308] @rustc", Cause::Latest, Reads::Disk);
    assert_eq!(told(&mut world, &change), "new a:E1 mismatched types");
    assert_eq!(told(&mut world, &change), "");
}

#[test]
fn a_server_that_ends_fixes_nothing_and_repeats_nothing() {
    let mut world = World::new();
    world.baseline("a", "W9 old");
    let change = world.begin("r", "a");
    world.publish("a", "W9 old, E1 made");
    assert_eq!(world.told(&change), "new a:E1 made");
    world.registry.stopped("ls");
    let gone = vec![Server {
        id: "ls".to_owned(),
        publishers: vec!["ls".into()],
        state: ServerState::Unavailable { reason: "crashed".to_owned() },
        waited_ms: 0,
    }];
    assert_eq!(world.told_with(&change, Level::Warnings, gone), "");
    assert!(world.registry.list(None, Level::All, 9, None).0.is_empty());
    let change = world.begin("r", "a");
    world.publish("a", "W9 old, E1 made, E1 more");
    assert_eq!(world.told(&change), "new ~a:E1 more");
}

#[test]
fn silence_of_one_server_is_not_the_silence_of_another() {
    let mut world = world();
    let change = world.begin("r", "a");
    native(&mut world, "E1 x @rust-analyzer");
    check(&mut world, "E2 y @rustc");
    assert_eq!(told(&mut world, &change), "new a:E1 x, a:E2 y");
    native(&mut world, "");
    check(&mut world, "");
    let server = |name: &str, state| Server { id: name.to_owned(), publishers: vec![name.into()], state, waited_ms: 0 };
    let apart = vec![server("ra", ServerState::Settled), server("check", ServerState::TimedOut)];
    assert_eq!(world.told_with(&change, Level::Warnings, apart), "fixed 1");
    assert_eq!(told(&mut world, &change), "fixed 1");
}
