//! Which code a pattern finds.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

use ccd_grammars::{LanguageId, PARSE_LIMITS, Syntax};
use ccd_structural::{FindError, Found, Query, QueryError, Spec};

const RUST: LanguageId = LanguageId::RUST;
const GO: LanguageId = LanguageId::GO;
const TS: LanguageId = LanguageId::TYPESCRIPT;
const TSX: LanguageId = LanguageId::TSX;
const JS: LanguageId = LanguageId::JAVASCRIPT;
const PY: LanguageId = LanguageId::PYTHON;

fn pattern(pattern: &str) -> Spec {
    Spec { pattern: Some(pattern.to_owned()), ..Spec::default() }
}

fn search(language: LanguageId, spec: &Spec, text: &str) -> Result<Found, FindError> {
    let query = Query::new(language, spec).unwrap_or_else(|error| panic!("{spec:?}: {error:?}"));
    let syntax = Syntax::parse(language, text.as_bytes(), PARSE_LIMITS, &|| false).unwrap();
    query.find(query.searched(), &syntax, text.as_bytes(), &|| false)
}

/// The texts that are found.
fn found<'t>(language: LanguageId, spec: &Spec, text: &'t str) -> Vec<&'t str> {
    search(language, spec, text).unwrap().matches.into_iter().map(|found| &text[found.range]).collect()
}

/// Every match as `NAME=text` of its captures, `NAME=[a|b]` for runs.
fn bound(language: LanguageId, wanted: &str, text: &str) -> Vec<String> {
    let matches = search(language, &pattern(wanted), text).unwrap().matches;
    matches
        .into_iter()
        .map(|found| {
            let one = found.captures.iter().map(|(name, range)| format!("{name}={}", &text[range.clone()]));
            let many = found.multi.iter().map(|(name, _, items)| {
                let items: Vec<&str> = items.iter().map(|range| &text[range.clone()]).collect();
                format!("{name}=[{}]", items.join("|"))
            });
            one.chain(many).collect::<Vec<_>>().join(" ")
        })
        .collect()
}

fn reading(language: LanguageId, wanted: &str) -> String {
    match Query::new(language, &pattern(wanted)) {
        Ok(query) => {
            let readings = query.readings();
            let others: Vec<&str> = readings[1..].iter().map(|reading| reading.name).collect();
            format!("{} {} [{}]", readings[0].name, readings[0].kind, others.join(" "))
        }
        Err(QueryError::Unparsable { .. }) => "unparsable".to_owned(),
        Err(error) => format!("{error:?}"),
    }
}

/// A pattern, and how it is read: the first reading, its kind, and the other readings.
const READINGS: &[(LanguageId, &str, &str)] = &[
    (GO, "a()\nb()", "statement expression_statement expression_statement []"),
    (GO, "a(); b()", "statement expression_statement ; expression_statement []"),
    (GO, "$A, $B = $B, $A", "statement assignment_statement []"),
    (PY, "a()\nb()", "statement expression_statement expression_statement []"),
    (RUST, "use a;\nuse b;", "statement use_declaration use_declaration []"),
    (TS, "{ a(); }", "statement statement_block [type]"),
    (TS, "a", "statement identifier [class_member type pair]"),
    (GO, "os.Exit($C)", "statement call_expression []"),
    (GO, "fmt.Errorf($$$A)", "statement call_expression []"),
    (GO, "errors.New(\"x\")", "statement call_expression []"),
    (GO, "$N $T", "struct_field field_declaration [parameter import]"),
    (GO, "$A +", "unparsable"),
    (TS, "$A +", "unparsable"),
    (RUST, "$A +", "unparsable"),
    (RUST, "$N: $T", "struct_field field_declaration [pair parameter]"),
    (RUST, "Some($X) => $Y", "match_arm match_arm []"),
    (RUST, "None => $Y,", "match_arm match_arm []"),
    (TS, "type: $V", "statement labeled_statement [class_member pair interface_member parameter]"),
    (TS, "$N: string", "statement labeled_statement [class_member pair interface_member parameter]"),
    (TS, "private $N = $V", "class_member public_field_definition [parameter]"),
    (GO, "Name: $V", "statement labeled_statement [pair]"),
    (TS, "$T | null", "statement binary_expression [type]"),
    (TSX, "onClick={$F}", "statement assignment_expression [class_member enum_member parameter jsx_attribute]"),
    (RUST, "else { $$$B }", "unparsable"),
    (TS, "default: foo()", "case switch_default [pair]"),
    (TS, "class { { }", "unparsable"),
    (RUST, "return", "statement return_expression []"),
    (RUST, "return $X", "statement return_expression []"),
    (RUST, "$A += 1", "statement compound_assignment_expr []"),
    (TS, "{ type: $V }", "statement object [type pattern]"),
    (TS, "import {$$$N} from $M", "statement import_statement []"),
    (GO, "import $P", "top_level import_declaration []"),
    (RUST, "use $P", "statement use_declaration []"),
    (RUST, "struct $N { $$$F }", "statement struct_item []"),
    (RUST, "impl $T for $S { $$$B }", "statement impl_item []"),
    (RUST, "impl $T for $S {}", "statement impl_item []"),
    (RUST, "match $X { $$$A }", "statement match_expression []"),
    (RUST, "#[inline]", "statement attribute_item []"),
    (RUST, "where $T: $B", "where_clause where_clause []"),
    (RUST, "pub fn $N($$$P) -> $R { $$$B }", "statement function_item []"),
    (RUST, "if let Some($X) = $E { $$$B }", "statement if_expression []"),
    (RUST, "let $X = $Y", "statement let_declaration []"),
    (RUST, "let $X = $Y;", "statement let_declaration []"),
    (GO, "func $F($$$P) $R { $$$B }", "top_level function_declaration []"),
    (GO, "func ($R $T) $F($$$P) { $$$B }", "top_level method_declaration []"),
    (GO, "if $E != nil { return $E }", "statement if_statement []"),
    (GO, "for _, $V := range $X { $$$B }", "statement for_statement []"),
    (GO, "defer $X.Close()", "statement defer_statement []"),
    (GO, "chan $T", "type channel_type []"),
    (GO, "type $N struct { $$$F }", "statement type_declaration []"),
    (GO, "case $X: $$$B", "case expression_case [type_case select_case]"),
    (TS, "class $N { $$$B }", "statement class_declaration [expression]"),
    (TS, "interface $N { $$$B }", "statement interface_declaration []"),
    (TS, "export function $F($$$P) { $$$B }", "statement export_statement []"),
    (TS, "$A => $B", "statement arrow_function []"),
    (TS, "if ($C) $S", "statement if_statement []"),
    (TS, "try { $$$B } catch ($E) { $$$C }", "statement try_statement []"),
    (TS, "catch ($E) { $$$C }", "catch_clause catch_clause [class_member]"),
    (TS, "switch ($X) { $$$C }", "statement switch_statement [class_member]"),
    (TS, "for (let $I = 0; $I < $N; $I++) { $$$B }", "statement for_statement []"),
    (TS, "const $A = $B", "statement lexical_declaration []"),
    (TS, "a(); b()", "statement expression_statement expression_statement [class_member]"),
    (TS, "a()\nb()", "statement expression_statement expression_statement [class_member]"),
    (TS, "@Foo($A)", "attribute decorator []"),
    (TSX, "<div>$$$C</div>", "statement jsx_element []"),
    (TSX, "<$T $$$A />", "statement jsx_self_closing_element []"),
    (TSX, "<Foo bar={$X}>\n  $$$C\n</Foo>", "statement jsx_element []"),
    (JS, "require($X)", "statement call_expression []"),
    (PY, "print($A)", "statement call []"),
    (PY, "def $F($$$P):\n    $$$B", "statement function_definition []"),
    (PY, "class $C($$$B):\n    $$$D", "statement class_definition []"),
    (PY, "if $C:\n    $$$B", "statement if_statement []"),
    (PY, "for $X in $Y:\n    $$$B", "statement for_statement []"),
    (PY, "import $M", "statement import_statement []"),
    (PY, "from $M import $$$N", "statement import_from_statement []"),
    (PY, "except $E:\n    pass", "except_clause except_clause []"),
    (PY, "@$D", "attribute decorator []"),
    (PY, "{\"a\": $X}", "statement dictionary []"),
    (PY, "x = 1\ny = 2", "statement expression_statement expression_statement []"),
    (PY, "$X: $T", "statement assignment [type pair parameter]"),
    (PY, "return $X", "statement return_statement []"),
    (PY, "with $X as $Y:\n    $$$B", "statement with_statement []"),
];

#[test]
fn a_pattern_is_what_its_author_meant() {
    for (language, wanted, expected) in READINGS {
        assert_eq!(reading(*language, wanted), *expected, "{} {wanted}", language.name());
    }
}

/// A pattern, a file, the texts that are found, and what is bound at each.
#[allow(clippy::type_complexity, reason = "a table")]
const MATCHES: &[(LanguageId, &str, &str, &[&str], &[&str])] = &[
    (
        GO,
        "a()\nb()",
        "package p\nfunc f() {\n\tx()\n\ta()\n\tb()\n\ty()\n\ta(); b()\n}\n",
        &["a()\n\tb()", "a(); b()"],
        &["", ""],
    ),
    (
        GO,
        "a(); b()",
        "package p\nfunc f() {\n\tx()\n\ta()\n\tb()\n\ty()\n\ta(); b()\n}\n",
        &["a()\n\tb()", "a(); b()"],
        &["", ""],
    ),
    (
        PY,
        "a()\nb($X)",
        "def f():\n    x()\n    a()\n    b(1)\n    y()\na()\nb(2)\n",
        &["a()\n    b(1)", "a()\nb(2)"],
        &["X=1", "X=2"],
    ),
    (
        TS,
        "function $F($$$P) { $$$B }",
        "function g(a, b) { one(); }",
        &["function g(a, b) { one(); }"],
        &["F=g P=[a|b] B=[one();]"],
    ),
    (TS, "function $F($$$P) { $$$B }", "function g(a) { one(); }", &["function g(a) { one(); }"], &["F=g P=[a] B=[one();]"]),
    (
        TS,
        "function $F($$$P) { $$$B }",
        "function g() { one(); two() }",
        &["function g() { one(); two() }"],
        &["F=g P=[] B=[one();|two()]"],
    ),
    (TS, "function $F($$$P) { $$$B }", "function g() { one() }", &["function g() { one() }"], &["F=g P=[] B=[one()]"]),
    (
        TS,
        "function $F($$$P) { $$$B }",
        "function g() { if (x) { two(); } }",
        &["function g() { if (x) { two(); } }"],
        &["F=g P=[] B=[if (x) { two(); }]"],
    ),
    (TS, "function $F($$$P) { $$$B }", "function g(a, b) { }", &["function g(a, b) { }"], &["F=g P=[a|b] B=[]"]),
];

#[test]
fn a_pattern_finds_its_shape_and_no_other() {
    for (language, wanted, text, texts, binds) in MATCHES {
        assert_eq!(found(*language, &pattern(wanted), text), *texts, "{} {wanted} in {text}", language.name());
        assert_eq!(bound(*language, wanted, text), *binds, "{} {wanted} in {text}", language.name());
    }
}
