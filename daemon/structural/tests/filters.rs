//! What narrows matches, and what bounds a search.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test that panics has failed, and says where; times are shown")]

use std::time::{Duration, Instant};

mod search;

use ccd_grammars::{LanguageId, PARSE_LIMITS, ParseError, ParseLimits, Syntax};
use ccd_structural::{Constraint, Filters, FindError, Query, QueryError, Rule, Spec, Stop};
use proptest::prelude::*;
use search::{found, pattern, search};

const RUST: LanguageId = LanguageId::RUST;
const GO: LanguageId = LanguageId::GO;
const TS: LanguageId = LanguageId::TYPESCRIPT;

fn narrowed(wanted: &str, filters: Filters) -> Spec {
    Spec { filters, ..pattern(wanted) }
}

fn rule(pattern: &str, stop: Stop) -> Option<Box<Rule>> {
    Some(Box::new(Rule { pattern: Some(pattern.to_owned()), stop, ..Rule::default() }))
}

fn capture(name: &str, constraint: Constraint) -> Filters {
    Filters { captures: vec![(name.to_owned(), constraint)], ..Filters::default() }
}

#[test]
fn captures_are_narrowed() {
    let text = "f(1); f(abc); f('x'); f(abd); f(a.b); f( a . b )";
    let is = |constraint| found(TS, &narrowed("f($A)", capture("A", constraint)), text);
    let regex = |regex: &str| Constraint { regex: Some(regex.to_owned()), ..Constraint::default() };
    let kind = |kind: &str| Constraint { kind: Some(kind.to_owned()), ..Constraint::default() };
    let equals = |equals: &str| Constraint { equals: Some(equals.to_owned()), ..Constraint::default() };
    assert_eq!(is(regex("^ab")), ["f(abc)", "f(abd)"]);
    assert_eq!(is(kind("string")), ["f('x')"]);
    assert_eq!(is(equals("a.b")), ["f(a.b)", "f( a . b )"]);
    let not = Constraint { not: Some(Box::new(kind("identifier"))), ..Constraint::default() };
    assert_eq!(is(not), ["f(1)", "f('x')", "f(a.b)", "f( a . b )"]);
    let both = Constraint { not: Some(Box::new(equals("abc"))), ..regex("^a") };
    assert_eq!(is(both), ["f(abd)", "f(a.b)", "f( a . b )"]);
    // Another capture, and a run.
    let text = "f(a, a); f(a, b)";
    assert_eq!(found(TS, &narrowed("f($A, $B)", capture("A", equals("$B"))), text), ["f(a, a)"]);
    let not = Constraint { not: Some(Box::new(equals("$B"))), ..Constraint::default() };
    assert_eq!(found(TS, &narrowed("f($A, $B)", capture("A", not)), text), ["f(a, b)"]);
    assert_eq!(found(TS, &narrowed("f($$$A)", capture("A", regex("b"))), text), ["f(a, b)"]);
}

#[test]
fn a_constraint_has_a_say_in_how_far_a_run_goes() {
    let regex = Constraint { regex: Some("^k$".to_owned()), ..Constraint::default() };
    let spec = narrowed("f($$$A, $X, $$$B)", capture("X", regex));
    let text = "f(1, 2, k, 3)";
    let result = search(TS, &spec, text).unwrap();
    assert_eq!(result.matches.len(), 1);
    let items: Vec<&str> = result.matches[0].multi[0].2.iter().map(|range| &text[range.clone()]).collect();
    assert_eq!(items, ["1", "2"]);
}

#[test]
fn rules_look_around() {
    let text = "class A { m() { g(); if (x) { f(1); f(2); h(); } } }\nfunction n() { f(3); }\nf(4);";
    let is = |filters| found(TS, &narrowed("f($A)", filters), text);
    let inside = |pattern: &str, stop| is(Filters { inside: rule(pattern, stop), ..Filters::default() });
    assert_eq!(inside("class $C { $$$B }", Stop::End), ["f(1)", "f(2)"]);
    assert_eq!(inside("class $C { $$$B }", Stop::Neighbour), [""; 0]);
    assert_eq!(inside("class $C { $$$B }", Stop::Kind("if_statement".to_owned())), [""; 0]);
    let not_inside =
        Rule { filters: Filters { inside: rule("class $C { $$$B }", Stop::End), ..Filters::default() }, ..Rule::default() };
    assert_eq!(is(Filters { not: Some(Box::new(not_inside)), ..Filters::default() }), ["f(3)", "f(4)"]);

    let statement =
        |filters| found(TS, &Spec { kind: Some("expression_statement".to_owned()), filters, ..Spec::default() }, text);
    assert_eq!(statement(Filters { follows: rule("f(1);", Stop::Neighbour), ..Filters::default() }), ["f(2);"]);
    assert_eq!(statement(Filters { follows: rule("f(1);", Stop::End), ..Filters::default() }), ["f(2);", "h();"]);
    assert_eq!(statement(Filters { precedes: rule("h();", Stop::Neighbour), ..Filters::default() }), ["f(2);"]);
    assert_eq!(statement(Filters { has: rule("h()", Stop::Neighbour), ..Filters::default() }), ["h();"]);

    let kind = |kind: &str, filters| Spec { kind: Some(kind.to_owned()), filters, ..Spec::default() };
    let has = Filters { has: rule("f(3)", Stop::End), ..Filters::default() };
    assert_eq!(found(TS, &kind("function_declaration", has), text).len(), 1);
    let has = Filters { has: rule("f(3)", Stop::Neighbour), ..Filters::default() };
    assert_eq!(found(TS, &kind("function_declaration", has), text).len(), 0);
}

#[test]
fn names_of_the_pattern_are_bound_in_rules() {
    let text = "function a() { a(); }\nfunction b() { a(); }\n";
    let spec = narrowed("function $F() { $$$B }", Filters { has: rule("$F()", Stop::End), ..Filters::default() });
    assert_eq!(found(TS, &spec, text), ["function a() { a(); }"]);
    let lock = "package p\nfunc f() { a.Lock(); x(); b.Lock(); defer b.Unlock() }\n";
    let follows = Filters { precedes: rule("defer $M.Unlock()", Stop::End), ..Filters::default() };
    let statement = Spec {
        pattern: None,
        context: Some("package p\nfunc f() { $M.Lock() }".to_owned()),
        selector: Some("expression_statement".to_owned()),
        filters: follows,
        ..Spec::default()
    };
    assert_eq!(found(GO, &statement, lock), ["b.Lock()"]);
}

#[test]
fn fields_and_nested_rules() {
    let text = "if (a()) { b(); }\nif (b()) { a(); }";
    let field = |name: &str| Rule {
        kind: Some("if_statement".to_owned()),
        field: Some(name.to_owned()),
        stop: Stop::End,
        ..Rule::default()
    };
    let inside = |name: &str| Filters { inside: Some(Box::new(field(name))), ..Filters::default() };
    let place = |name: &str| {
        search(TS, &narrowed("a()", inside(name)), text)
            .unwrap()
            .matches
            .iter()
            .map(|found| found.range.start)
            .collect::<Vec<_>>()
    };
    assert_eq!(place("condition"), [4]);
    assert_eq!(place("consequence"), [text.rfind("a()").unwrap()]);
    let nested = Rule {
        kind: Some("if_statement".to_owned()),
        stop: Stop::End,
        filters: Filters { has: rule("b()", Stop::End), ..Filters::default() },
        ..Rule::default()
    };
    let spec = narrowed("a()", Filters { inside: Some(Box::new(nested)), ..Filters::default() });
    assert_eq!(found(TS, &spec, text).len(), 2);
}

#[test]
fn a_relaxed_search_takes_modifiers_more() {
    let text = "async function a() {} function b() {} function* c() {}";
    let relaxed = Spec { relaxed: true, ..pattern("function $A() {}") };
    assert_eq!(found(TS, &pattern("function $A() {}"), text), ["function b() {}"]);
    assert_eq!(found(TS, &relaxed, text)[..2], ["async function a() {}", "function b() {}"]);
    let text = "unsafe impl A for B {} impl C for D {}";
    assert_eq!(found(RUST, &Spec { relaxed: true, ..pattern("impl $T for $S {}") }, text).len(), 2);
}

#[test]
fn what_is_wrong_with_a_spec_is_said() {
    let error = |language, spec: &Spec| Query::new(language, spec).unwrap_err();
    let invalid = |spec: &Spec, field: &str| {
        let error = error(TS, spec);
        assert!(matches!(&error, QueryError::Invalid { field: told, .. } if *told == field), "{spec:?}: {error:?}");
    };
    invalid(&Spec::default(), "pattern");
    invalid(&pattern("  "), "pattern");
    invalid(&pattern("$$$A"), "pattern");
    invalid(&pattern("f($A, $$$A)"), "pattern");
    invalid(&pattern("$A $$OP $B"), "pattern");
    invalid(&pattern("// $X"), "pattern");
    invalid(&Spec { kind: Some("identifier".to_owned()), ..pattern("a") }, "pattern");
    invalid(&Spec { context: Some("a".to_owned()), ..Spec::default() }, "selector");
    invalid(&narrowed("f($A)", capture("A", Constraint { regex: Some("(".to_owned()), ..Constraint::default() })), "where");
    invalid(&narrowed("f($A)", Filters { has: Some(Box::default()), ..Filters::default() }), "rule");
    let bad = |spec: &Spec, expected: &str| match error(TS, spec) {
        QueryError::BadSelector { closest, .. } => assert!(closest.iter().any(|name| name == expected), "{closest:?}"),
        other => panic!("{other:?}"),
    };
    bad(&Spec { kind: Some("call_expresion".to_owned()), ..Spec::default() }, "call_expression");
    bad(&Spec { reading: Some("expr".to_owned()), ..pattern("a") }, "expression");
    bad(&Spec { context: Some("f(a)".to_owned()), selector: Some("arguments_list".to_owned()), ..Spec::default() }, "arguments");
    let absent = Spec { context: Some("f(a)".to_owned()), selector: Some("string".to_owned()), ..Spec::default() };
    assert!(
        matches!(Query::new(TS, &absent), Err(QueryError::BadSelector { message, .. }) if message.contains("call_expression"))
    );
}

#[test]
fn unbound_names_are_refused_everywhere() {
    let spec = narrowed("f($A)", capture("B", Constraint::default()));
    assert!(matches!(Query::new(TS, &spec), Err(QueryError::Unbound { name, .. }) if name == "B"));
    let equals = Constraint { equals: Some("$C".to_owned()), ..Constraint::default() };
    assert!(
        matches!(Query::new(TS, &narrowed("f($A)", capture("A", equals))), Err(QueryError::Unbound { name, .. }) if name == "C")
    );
}

#[test]
fn a_pattern_that_is_no_code_tells_every_way_that_was_tried() {
    let Err(QueryError::Unparsable { message, attempts, tree }) = Query::new(RUST, &pattern("else { $$$B }")) else {
        panic!("it is read")
    };
    assert!(message.contains("`context`"), "{message}");
    assert!(attempts.len() > 8 && attempts.iter().all(|attempt| attempt.reason.is_some()), "{attempts:?}");
    assert!(
        attempts.iter().any(|attempt| attempt.reason.as_deref() == Some("`else` is a keyword and is no name here")),
        "{attempts:?}"
    );
    assert!(!tree.is_empty());
    let context = Spec {
        context: Some("fn f() { if a { b } else { $$$B } }".to_owned()),
        selector: Some("else_clause".to_owned()),
        ..Spec::default()
    };
    let text = "fn f() { if x { 1 } else { y(); 2 } if x { 1 } }";
    assert_eq!(found(RUST, &context, text), ["else { y(); 2 }"]);
}

#[test]
fn another_reading_is_chosen_by_its_name() {
    let text = "type: while (1) {}\nx = { type: 1 };\ninterface I { type: string }\n";
    assert_eq!(found(TS, &pattern("type: $V"), text), ["type: while (1) {}"]);
    let pair = Spec { reading: Some("pair".to_owned()), ..pattern("type: $V") };
    assert_eq!(found(TS, &pair, text), ["type: 1"]);
    let member = Spec { reading: Some("interface_member".to_owned()), ..pattern("type: $V") };
    assert_eq!(found(TS, &member, text), ["type: string"]);
    // A name of a reading that is the same as an earlier one.
    let same = Spec { reading: Some("expression".to_owned()), ..pattern("f($A)") };
    assert_eq!(found(TS, &same, "f(1)"), ["f(1)"]);
}

#[test]
fn strings_and_comments_are_no_code() {
    let text = "f(\"$X\"); f(\"a\"); // f(1)\n\"f(1)\"; `f(1)`";
    let query = Query::new(TS, &pattern("f(\"$X\")")).unwrap();
    assert_eq!(query.hints().len(), 1, "{:?}", query.hints());
    assert_eq!(found(TS, &pattern("f(\"$X\")"), text), ["f(\"$X\")"]);
    assert_eq!(found(TS, &pattern("f(1)"), text), [""; 0]);
    // What cannot be a metavariable is text in a string, and refused outside one.
    assert_eq!(found(RUST, &pattern("p(\"$name\")"), "fn f() { p(\"$name\"); }"), ["p(\"$name\")"]);
    assert!(
        matches!(Query::new(RUST, &pattern("p($name)")), Err(QueryError::Invalid { message, .. }) if message.contains("$NAME"))
    );
    let query = Query::new(TS, &pattern("p($name)")).unwrap();
    assert!(query.hints()[0].contains("$NAME"), "{:?}", query.hints());
    assert_eq!(found(TS, &pattern("p($name)"), "p($name); p(1)"), ["p($name)"]);
}

#[test]
fn a_bomb_is_defused() {
    let text = format!("f({}); y;", vec!["x"; 2_000].join(", "));
    let start = Instant::now();
    assert_eq!(search(TS, &pattern("f($$$A, x, $$$B, x, $$$C, y)"), &text).unwrap().matches.len(), 0);
    assert_eq!(search(TS, &pattern("f($$$A, x, $$$B, x, $$$C, x)"), &text).unwrap().matches.len(), 1);
    // Where repeated names forbid to remember, the steps are counted.
    let repeated = search(TS, &pattern("f($$$A, $X, $$$B, $X, $$$C, $X, $$$D, y)"), &text);
    assert!(matches!(repeated, Err(FindError::Budget { .. })), "{repeated:?}");
    let took = start.elapsed();
    println!("three bombs of 2,000 arguments: {took:?}");
    assert!(took < Duration::from_secs(15), "{took:?}");
}

#[test]
fn deep_code_is_no_danger() {
    let limits = ParseLimits { deadline: Duration::from_secs(2), max_depth: 1_000_000 };
    for language in LanguageId::all() {
        let start = Instant::now();
        for depth in [300, 100_000] {
            let deep = format!("{}x{}", "(".repeat(depth), ")".repeat(depth));
            assert!(matches!(Query::new(language, &pattern(&deep)), Err(QueryError::Invalid { .. })));
        }
        let _ = Query::new(language, &pattern(&format!("x{}", "+x".repeat(5_000))));
        println!("{}: deep patterns in {:?}", language.name(), start.elapsed());
        assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
        let text = format!("{}x{}", "(".repeat(20_000), ")".repeat(20_000));
        if let Ok(syntax) = Syntax::parse(language, text.as_bytes(), limits, &|| false) {
            let query = Query::new(language, &pattern("g($A)")).unwrap();
            query.find(0, &syntax, text.as_bytes(), &|| false).unwrap();
        }
        let parsed = Syntax::parse(language, text.as_bytes(), PARSE_LIMITS, &|| false);
        assert!(matches!(parsed, Err(ParseError::TooDeep | ParseError::Deadline)), "{}", language.name());
    }
}

#[test]
fn a_search_is_cancelled() {
    let text = "f(1);\n".repeat(10_000);
    let query = Query::new(TS, &pattern("f($A)")).unwrap();
    let syntax = Syntax::parse(TS, text.as_bytes(), PARSE_LIMITS, &|| false).unwrap();
    assert_eq!(query.find(0, &syntax, text.as_bytes(), &|| true), Err(FindError::Cancelled));
}

#[test]
fn macro_bodies_that_could_hold_a_match_are_counted() {
    let text = "fn f() { let a = vec![x.to_string(), y]; assert!(z); let b = y.to_string(); println!(\"{}\", w.to_string()); }";
    let result = search(RUST, &pattern("$P.to_string()"), text).unwrap();
    assert_eq!((result.matches.len(), result.macro_bodies), (1, 2));
}

/// The obvious way to match a list, to judge the other.
fn naive(pattern: &[&str], list: &[&str], bound: &mut Vec<(String, String)>) -> bool {
    let Some((first, rest)) = pattern.split_first() else { return list.is_empty() };
    if let Some(name) = first.strip_prefix("$$$") {
        let _ = name;
        return (0..=list.len()).any(|take| {
            let before = bound.clone();
            naive(rest, &list[take..], bound) || {
                *bound = before;
                false
            }
        });
    }
    let Some((item, others)) = list.split_first() else { return false };
    if let Some(name) = first.strip_prefix('$') {
        match bound.iter().find(|(known, _)| known == name) {
            Some((_, text)) if text != item => return false,
            Some(_) => {}
            None => bound.push((name.to_owned(), (*item).to_owned())),
        }
        return naive(rest, others, bound);
    }
    first == item && naive(rest, others, bound)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn lists_match_as_by_hand(
        wanted in prop::collection::vec(prop::sample::select(vec!["a", "b", "$X", "$Y", "$$$A", "$$$B", "$$$C"]), 0..6),
        list in prop::collection::vec(prop::sample::select(vec!["a", "b", "c"]), 0..7),
        trailing in any::<bool>(),
    ) {
        // A run that is named twice must be equal; the judge knows no such.
        let runs: Vec<&&str> = wanted.iter().filter(|item| item.starts_with("$$$")).collect();
        let distinct: std::collections::BTreeSet<_> = runs.iter().collect();
        prop_assume!(distinct.len() == runs.len());
        let comma = if trailing && !list.is_empty() { "," } else { "" };
        let text = format!("f({}{comma});", list.join(", "));
        let expected = naive(&wanted, &list, &mut Vec::new());
        let result = search(TS, &pattern(&format!("f({})", wanted.join(", "))), &text).unwrap();
        prop_assert_eq!(result.matches.len(), usize::from(expected), "{:?} in {}", wanted, text);
    }

    #[test]
    fn no_pattern_and_no_text_is_a_danger(wanted in "[-a-z$A-Z_(){};:,.=<> \"'\\n]{0,40}", text in "[-a-z(){};:,.=<> \"'\\n]{0,80}") {
        for language in LanguageId::all() {
            let syntax = Syntax::parse(language, text.as_bytes(), PARSE_LIMITS, &|| false).unwrap();
            let _ = ccd_structural::explain(language, &wanted);
            if let Ok(query) = Query::new(language, &pattern(&wanted)) {
                for at in 0..query.readings().len() {
                    for found in query.find(at, &syntax, text.as_bytes(), &|| false).unwrap().matches {
                        prop_assert!(text.get(found.range).is_some());
                    }
                }
            }
        }
    }

    #[test]
    fn a_pattern_of_code_finds_that_code(code in prop::sample::select(vec![
        "f(a, b)", "a.b.c", "if (a) { b(); }", "const x = { a, b: 1 };", "class A { m() {} }", "x => x + 1", "for (const a of b) c();",
        "switch (a) { case 1: b(); default: }", "try { a(); } catch (e) {}", "type A = B | C;", "interface I { a: string }",
        "import a from 'b';", "async function f() { await a; }", "let a: number[] = [1, 2,];", "a?.b?.[0]",
    ]), blanks in prop::sample::select(vec![" ", "  ", "\t", " /* c */ "])) {
        let spaced = code.replace(' ', blanks);
        let text = format!("x();\n{spaced}\ny();\n");
        let result = search(TS, &pattern(code), &text).unwrap();
        prop_assert_eq!(result.matches.len(), 1, "{} in {}", code, text);
    }
}
