//! Which code a pattern finds.

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

#[test]
fn probe() {
    for (language, text) in [
        (GO, "os.Exit($C)"),
        (GO, "fmt.Errorf($$$A)"),
        (GO, "errors.New(\"x\")"),
        (GO, "$N $T"),
        (GO, "$A +"),
        (TS, "$A +"),
        (RUST, "$A +"),
        (RUST, "$N: $T"),
        (RUST, "Some($X) => $Y"),
        (RUST, "None => $Y,"),
        (TS, "type: $V"),
        (TS, "$N: string"),
        (TS, "private $N = $V"),
        (GO, "Name: $V"),
        (TS, "$T | null"),
        (TSX, "onClick={$F}"),
        (RUST, "else { $$$B }"),
        (TS, "default: foo()"),
        (TS, "class { { }"),
        (RUST, "return"),
        (RUST, "return $X"),
        (RUST, "$A += 1"),
        (TS, "{ type: $V }"),
        (TS, "import {$$$N} from $M"),
        (GO, "import $P"),
        (RUST, "use $P"),
        (RUST, "struct $N { $$$F }"),
        (RUST, "impl $T for $S { $$$B }"),
        (RUST, "impl $T for $S {}"),
        (RUST, "match $X { $$$A }"),
        (RUST, "#[inline]"),
        (RUST, "where $T: $B"),
        (RUST, "pub fn $N($$$P) -> $R { $$$B }"),
        (RUST, "if let Some($X) = $E { $$$B }"),
        (RUST, "let $X = $Y"),
        (RUST, "let $X = $Y;"),
        (GO, "func $F($$$P) $R { $$$B }"),
        (GO, "func ($R $T) $F($$$P) { $$$B }"),
        (GO, "if $E != nil { return $E }"),
        (GO, "for _, $V := range $X { $$$B }"),
        (GO, "defer $X.Close()"),
        (GO, "chan $T"),
        (GO, "type $N struct { $$$F }"),
        (GO, "case $X: $$$B"),
        (TS, "class $N { $$$B }"),
        (TS, "interface $N { $$$B }"),
        (TS, "export function $F($$$P) { $$$B }"),
        (TS, "$A => $B"),
        (TS, "if ($C) $S"),
        (TS, "try { $$$B } catch ($E) { $$$C }"),
        (TS, "catch ($E) { $$$C }"),
        (TS, "switch ($X) { $$$C }"),
        (TS, "for (let $I = 0; $I < $N; $I++) { $$$B }"),
        (TS, "const $A = $B"),
        (TS, "a(); b()"),
        (TS, "a()\nb()"),
        (TS, "@Foo($A)"),
        (TSX, "<div>$$$C</div>"),
        (TSX, "<$T $$$A />"),
        (TSX, "<Foo bar={$X}>\n  $$$C\n</Foo>"),
        (JS, "require($X)"),
        (PY, "print($A)"),
        (PY, "def $F($$$P):\n    $$$B"),
        (PY, "class $C($$$B):\n    $$$D"),
        (PY, "if $C:\n    $$$B"),
        (PY, "for $X in $Y:\n    $$$B"),
        (PY, "import $M"),
        (PY, "from $M import $$$N"),
        (PY, "except $E:\n    pass"),
        (PY, "@$D"),
        (PY, "{\"a\": $X}"),
        (PY, "x = 1\ny = 2"),
        (PY, "$X: $T"),
        (PY, "return $X"),
        (PY, "with $X as $Y:\n    $$$B"),
    ] {
        println!("{:10} {:45} {}", language.name(), text.replace('\n', "\\n"), reading(language, text));
    }
}
#[test]
fn probe2() {
    println!("{:?}", ccd_structural::explain(GO, "case $X: $$$B"));
    let show = |language: LanguageId, wanted: &str, text: &str| {
        println!(
            "{} {:30} {:?} {:?}",
            language.name(),
            wanted,
            found(language, &pattern(wanted), text),
            bound(language, wanted, text)
        );
    };
    show(GO, "fmt.Println($A)", "package p\n\nfunc main() {\n\tfmt.Println(\"OK\")\n\tfmt.Print(\"no\")\n}\n");
    show(RUST, "foobar($X, $Y)", "fn f() {\n    foobar(\n        1,\n        2,\n    );\n}\n");
    show(RUST, "$P.to_string()", "fn f() {\n    let a = vec![x.to_string()];\n    let b = y.to_string();\n}\n");
    show(TS, "foo($$$A)", "foo();\nfoo(1, 2);\n");
    show(
        TS,
        "if ($C) { return $X; }",
        "function f(a) {\n  if (a) { return 1; } else { return 2; }\n}\nfunction g(a) {\n  if (a) { return 3; }\n  return 4;\n}\n",
    );
    show(TS, "$N($$$P) { $$$B }", "class A {\n  run(x: number) { return x; }\n  stop() {}\n}\nrun(1);\n{ stop(); }\n");
    show(TS, "defineConfig({ $$$P })", "defineConfig({ a: 1, b: 2, });\n");
    show(TS, "log($A, $$$REST)", "log(\"x\");\nlog(\"x\", y);\nlog();\n");
    show(TS, "any(isNa($C))", "any(isNa(any(isNa(x))));\n");
    show(TS, "f($$$A, $LAST)", "f(1, 2, 3); f(); f(1)");
    show(TS, "f($$$A, key, $$$B)", "f(key); f(1, key); f(key, 2); f(1, key, 2, key); f(1)");
    show(TS, "f($$$A, $$$B)", "f(); f(1, 2)");
    show(TS, "[$$$A, b]", "[a,,b]; [,b]; [a,b]; [b]");
    show(GO, "return $X", "package p\nfunc f() { return 1, 2 }\nfunc g() { return 3 }\nfunc h() { return }\n");
    show(GO, "return $$$X", "package p\nfunc f() { return 1, 2 }\nfunc g() { return 3 }\nfunc h() { return }\n");
    show(
        GO,
        "$A = append($A, $$$B)",
        "package p\nfunc f() { s.x = append(s.x, 1, 2)\n t = append(t)\n u = append(v, 1)\n w = append( /* c */ w, 1) }\n",
    );
    show(
        GO,
        "if $E != nil { return $E }",
        "package p\nfunc f() error { if a.b != nil { return a.b }\n if err != nil { return err2 }\n return nil }\n",
    );
    show(
        GO,
        "if $E != nil { $$$B }",
        "package p\nfunc f() error { if a.b != nil { return a.b }\n if err != nil { }\n if x != nil { a(); b(); return c } else { }\n return nil }\n",
    );
    show(
        TS,
        "if ($X != null) $X.dispose()",
        "if (a.b != null) a.b.dispose();\nif (a != null) b.dispose();\nif(\n  c !=\n null ) c\n  .dispose()\n// if (d != null) d.dispose()\n'if (d != null) d.dispose()'\nif (e != null) { e.dispose(); }\n",
    );
    show(TS, "let $X", "let y = 1; let z; let a, b;");
    show(TS, "let $X = 1", "let z = 1, w = 2; let q = 1");
    show(TS, "return", "function f() { return 1 } function g() { return; }");
    show(TS, "function $A() {}", "async function a() {} function b() {}");
    show(RUST, "impl $T for $S {}", "unsafe impl A for B {} impl A for C {}");
    show(RUST, "&$X", "fn f() { g(&mut x, &y) }");
    show(GO, "chan $T", "package p\nvar a chan int\nvar b <-chan int\n");
    show(RUST, "None => $Y,", "fn f() { match x { None => 1, Some(y) => 2 } match x { Some(y) => 2, None => 3 } }");
    show(TS, "const $A = $B;", "const a = 1\nconst b = 2;\n");
    show(TS, "const $A = $B", "const a = 1\nconst b = 2;\n");
    show(TS, "f('a')", "f(\"a\"); f('a'); f(`a`)");
    show(PY, "f('a')", "f(\"a\"); f('a'); f(b'a')\n");
    show(TS, "$A && $A.$B", "a && a.b; a && b.c; a /* x */ && a . c");
    show(TS, "a(); b()", "a(); b(); c(); a()\nb()");
    show(TS, "$X(); $$$M; $X()", "a(); b(); c(); a(); d()");
    show(PY, "def $F($$$P):\n    $$$B", "def f(a, b=1):\n    x = 1\n    return x\n");
    show(PY, "if $C:\n    $S", "if a:\n    b()\nif c:\n    d()\n    e()\n");
    show(TSX, "<div>$$$C</div>", "x = <div>\n  a {b}\n  <c/>\n</div>; y = <div></div>; z = <div a={1}>q</div>");
    show(RUST, "struct $N { $$$F }", "struct A { a: u8, pub b: u8, } struct B {} struct C; struct D<T> { t: T }");
    show(RUST, "let $X = $Y", "fn f() { let a = 1; let b: u8 = 2; let mut c = 3; }");
    show(RUST, "self.$F = $F", "fn f() { self.a = a; self.b = c; }");
    show(TS, "$X", "a");
    show(TS, "import {$$$N} from $M", "import { a, b } from 'x'; import c from 'y'; import {} from \"z\"");
    show(GO, "import $P", "package p\nimport \"fmt\"\nimport f \"x\"\n");
    show(TS, "`a ${$X}`", "`a ${b}`; `c ${b}`; `a ${b} d`");
    show(
        TS,
        "for (let $I = 0; $I < $N; $I++) { $$$B }",
        "for (let i = 0; i < n; i++) { a(); b() } for (let i = 0; i < n; j++) {}",
    );
}
