//! What a rewrite makes of a file.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

use ccd_grammars::{LanguageId, PARSE_LIMITS, Syntax};
use ccd_structural::{Nested, Query, RewriteError, Rewritten, Spec, Template, rewrite};

const RUST: LanguageId = LanguageId::RUST;
const TSX: LanguageId = LanguageId::TSX;
const JS: LanguageId = LanguageId::JAVASCRIPT;
const GO: LanguageId = LanguageId::GO;
const TS: LanguageId = LanguageId::TYPESCRIPT;
const PY: LanguageId = LanguageId::PYTHON;
const DART: LanguageId = LanguageId::DART;
const JAVA: LanguageId = LanguageId::JAVA;
const C: LanguageId = LanguageId::C;
const CPP: LanguageId = LanguageId::CPP;

fn run(language: LanguageId, pattern: &str, template: &str, nested: Nested, text: &str) -> Result<Rewritten, RewriteError> {
    // An attribute is an assignment too.
    let reading = pattern.starts_with("id=").then(|| "jsx_attribute".to_owned());
    let spec = Spec { pattern: Some(pattern.to_owned()), reading, ..Spec::default() };
    let query = Query::new(language, &spec).unwrap_or_else(|error| panic!("{pattern}: {error:?}"));
    let template = Template::new(template, &query).unwrap_or_else(|error| panic!("{pattern}: {error:?}"));
    let syntax = Syntax::parse(language, text.as_bytes(), PARSE_LIMITS, &|| false).unwrap();
    rewrite(&query, &template, nested, &syntax, text, &|| false)
}

/// A pattern, a template, a file, and what it becomes.
const REWRITES: &[(LanguageId, &str, &str, &str, &str)] = &[
    (TS, "f();", "g();", "if (a) f();\nc();\n", "if (a) g();\nc();\n"),
    (TS, "return $X;", "return 1;", "function f() { if (a) return b; }\n", "function f() { if (a) return 1; }\n"),
    (TS, "f($X);", "g($X);", "for (const x of y) f(x);\nc();\n", "for (const x of y) g(x);\nc();\n"),
    (TS, "y();", "{ y(); z(); }", "while (x) y();\n", "while (x) { y(); z(); }\n"),
    (
        TS,
        "e();",
        "throw new X();",
        "if (a) b();\nelse if (c) d();\nelse e();\n",
        "if (a) b();\nelse if (c) d();\nelse throw new X();\n",
    ),
    (
        C,
        "return $X;",
        "return g($X);",
        "int f() {\n  if (a)\n    return 1;\n  return 2;\n}\n",
        "int f() {\n  if (a)\n    return g(1);\n  return g(2);\n}\n",
    ),
    (
        C,
        "LOG($$$A);",
        "log_debug($$$A);",
        "void f() {\n\tfor (i = 0; i < n; i++)\n\t\tLOG(\"x\", i);\n}\n",
        "void f() {\n\tfor (i = 0; i < n; i++)\n\t\tlog_debug(\"x\", i);\n}\n",
    ),
    (
        TS,
        "break;",
        "return 0;",
        "function f(s) {\n  switch (s) {\n    case 0:\n      g();\n      break;\n    default:\n      h();\n  }\n}\n",
        "function f(s) {\n  switch (s) {\n    case 0:\n      g();\n      return 0;\n    default:\n      h();\n  }\n}\n",
    ),
    (
        TS,
        "log($$$A);",
        "if (D) {\n  log($$$A);\n}",
        "switch (s) {\n  case 0:\n    log(1);\n  default:\n    log(2);\n}\n",
        "switch (s) {\n  case 0:\n    if (D) {\n      log(1);\n    }\n  default:\n    if (D) {\n      log(2);\n    }\n}\n",
    ),
    (TS, "if ($C) $S", "if ($C) { $S }", "if (user) log(1);\nx();\n", "if (user) { log(1); }\nx();\n"),
    (
        JS,
        "while ($C) $S",
        "while ($C) { $S }",
        "if (sum)\n  while (x) g();\nelse h();\n",
        "if (sum)\n  while (x) { g(); }\nelse h();\n",
    ),
    (
        C,
        "for ($I; $C; $U) $B",
        "$I;\nwhile ($C) {\n\t$B\n\t$U;\n}",
        "void f() {\n\tfor (i = 0; i < n; i++)\n\t\tg(i);\n}\n",
        "void f() {\n\ti = 0;\n\twhile (i < n) {\n\t\tg(i);\n\t\ti++;\n\t}\n}\n",
    ),
    (TSX, "id=\"x\"", "id=\"y\"", "const a = <p id=\"x\">\n  Hi\n</p>;\n", "const a = <p id=\"y\">\n  Hi\n</p>;\n"),
    (TSX, "<p $$$A>$$$C</p>", "<q $$$A>$$$C</q>", "const a = <p id=\"x\">\n  Hi\n</p>;\n", "const a = <q id=\"x\">\n  Hi</q>;\n"),
    (GO, "x()", "", "package main\n\nfunc f() {\n\tx() // m\n\ty()\n}\n", "package main\n\nfunc f() {\n\t// m\n\ty()\n}\n"),
    (PY, "@a", "", "@a\ndef f(): pass\n", "def f(): pass\n"),
    (TS, "thunk($A)", "() => $A", "x = thunk({ a: 1 })", "x = () => ({ a: 1 })"),
    (TS, "un($A)", "$A", "un(function () { x })();", "(function () { x })();"),
    (TS, "un($A)", "$A", "un({ a: 1 });", "({ a: 1 });"),
    (TS, "call($F)", "$F()", "x = call(function(){})", "x = function(){}()"),
    (TS, "not($$$A)", "!$$$A", "x = not(a || b)", "x = !(a || b)"),
    (TS, "dbl($$$A)", "$$$A * 2", "x = dbl(a + b)", "x = (a + b) * 2"),
    (
        TS,
        "console.log($A)",
        "if (dev) { console.log($A) }",
        "a();\nconsole.log(1);\nb();\n",
        "a();\nif (dev) { console.log(1) };\nb();\n",
    ),
    (TS, "f($A)", "f(\n  $A\n)", "x(f(`a\r\n  b`))\ny\nz\n", "x(f(\n  `a\r\n  b`\n))\ny\nz\n"),
    (TS, "debug", "", "f(a, debug /* why */, b);\ng(a,\n  debug\n);\n", "f(a, b);\ng(a\n);\n"),
    (TS, "ctx", "ctx, opts", "f(ctx);", "f(ctx, opts);"),
    (TS, "if ($C) { $$$B }", "$$$B", "if (a) { b(); c(); }\n", "b(); c();\n"),
    (PY, "log($A)", "", "x = 1\nlog(2); y()\n", "x = 1\ny()\n"),
    (
        PY,
        "log($A)",
        "",
        "def f():\n    x()\n    log(1)\n\ndef g():\n    log(2)\n    y()\n",
        "def f():\n    x()\n\ndef g():\n    y()\n",
    ),
    (
        GO,
        "log($A)",
        "",
        "package p\n\nfunc f() {\n\tlog(1)\n}\n\nfunc g() {\n\ta()\n\tlog(2)\n}\n",
        "package p\n\nfunc f() {\n}\n\nfunc g() {\n\ta()\n}\n",
    ),
    (CPP, "class $C { $$$B };", "struct $C { $$$B };", "class A { int a; };\n", "struct A { int a; };\n"),
    (
        DART,
        "if ($X != null) $X.dispose()",
        "$X?.dispose()",
        "void f() {\n  if (a.b != null) a.b.dispose();\n}\n",
        "void f() {\n  a.b?.dispose();\n}\n",
    ),
    (
        JAVA,
        "if ($X != null) { $X.close(); }",
        "closeQuietly($X);",
        "class A {\n\tvoid f() {\n\t\tif (a != null) {\n\t\t\ta.close();\n\t\t}\n\t}\n}\n",
        "class A {\n\tvoid f() {\n\t\tcloseQuietly(a);\n\t}\n}\n",
    ),
    (
        GO,
        "foo($A, 1)",
        "baz(\n\t$A,\n)",
        "package p\n\nfunc f() {\n\tif x {\n\t\tfoo(func() {\n\t\t\tbar()\n\t\t}, 1)\n\t}\n}\n",
        "package p\n\nfunc f() {\n\tif x {\n\t\tbaz(\n\t\t\tfunc() {\n\t\t\t\tbar()\n\t\t\t},\n\t\t)\n\t}\n}\n",
    ),
    (
        GO,
        "foo($A, 1)",
        "baz(\n  $A,\n)",
        "package p\n\nfunc f() {\n\tif x {\n\t\tfoo(func() {\n\t\t\tbar()\n\t\t}, 1)\n\t}\n}\n",
        "package p\n\nfunc f() {\n\tif x {\n\t\tbaz(\n\t\t\tfunc() {\n\t\t\t\tbar()\n\t\t\t},\n\t\t)\n\t}\n}\n",
    ),
    (TS, "foo($$$A)", "foo($$$A, ctx)", "foo();\nfoo(1, 2);\n", "foo(ctx);\nfoo(1, 2, ctx);\n"),
    (TS, "foo($$$A)", "foo(ctx, $$$A)", "foo();\nfoo(1, 2);\n", "foo(ctx);\nfoo(ctx, 1, 2);\n"),
    (TS, "foo($$$A)", "foo(ctx, $$$A, z)", "foo();\nfoo(1, 2);\n", "foo(ctx, z);\nfoo(ctx, 1, 2, z);\n"),
    (
        TS,
        "if ($C) { return $X; }",
        "return $C ? $X : 0;",
        "function f(a) {\n  if (a) { return 1; } else { return 2; }\n}\nfunction g(a) {\n  if (a) { return 3; }\n  return 4;\n}\n",
        "function f(a) {\n  if (a) { return 1; } else { return 2; }\n}\nfunction g(a) {\n  return a ? 3 : 0;\n  return 4;\n}\n",
    ),
    (
        TS,
        "defineConfig({ $$$P })",
        "defineConfig({ $$$P, x: 1 })",
        "defineConfig({ a: 1, b: 2, });\ndefineConfig({});",
        "defineConfig({ a: 1, b: 2, x: 1 });\ndefineConfig({ x: 1 });",
    ),
    (TS, "any(isNa($C))", "anyNa($C)", "any(isNa(any(isNa(x))));\n", "anyNa(any(isNa(x)));\n"),
    (
        TS,
        "a($B)",
        "c(\n  $B\n)",
        "if (true) {\r\n  a(\r\n    1\r\n      + 2\r\n  )\r\n}\r\n",
        "if (true) {\r\n  c(\r\n    1\r\n      + 2\r\n  )\r\n}\r\n",
    ),
    (TS, "dbl($A)", "$A * 2", "x = dbl(a + b); y = !dbl(c); z = dbl(d)[0];", "x = (a + b) * 2; y = !(c * 2); z = (d * 2)[0];"),
    (
        TS,
        "console.log($$$A)",
        "",
        "a();\nif (x) {\n  console.log(1);\n  b(); console.log(2); c();\n}\nconsole.log(3)\nd()\n",
        "a();\nif (x) {\n  b();  c();\n}\nd()\n",
    ),
    (TS, "$X => $Y", "$Y => $X", "f(a => b)", "f(b => a)"),
    (TS, "f($A)", "await $A", "f(x).then()", "(await x).then()"),
    (TS, "const $A = $B", "let $A = $B", "const a = 1;\nconst b = 2\n", "let a = 1;\nlet b = 2\n"),
    (TS, "foo($A)", "bar($A);", "foo(1);\nfoo(2)\n", "bar(1);\nbar(2);\n"),
    (RUST, "let $X = $Y", "let $X = $Y.clone()", "fn f() {\n    let a = b;\n}\n", "fn f() {\n    let a = b.clone();\n}\n"),
    (
        RUST,
        "$A.unwrap()",
        "$A?",
        "fn f() {\n    a.b(|| {\n        c\n    }).unwrap();\n    // x\n    d /* lost */ .unwrap()\n}\n",
        "fn f() {\n    a.b(|| {\n        c\n    })?;\n    // x\n    d?\n}\n",
    ),
    (
        RUST,
        "f($S)",
        "g(\n    $S,\n)",
        "fn f() {\n        f(\"a\n  b\n    c\");\n        f(r#\"x\n y\"#)\n}\n",
        "fn f() {\n        g(\n            \"a\n  b\n    c\",\n        );\n        g(\n            r#\"x\n y\"#,\n        )\n}\n",
    ),
    (
        RUST,
        "None => $Y",
        "None => { $Y }",
        "fn f() { match x { None => 1, Some(y) => 2 } }",
        "fn f() { match x { None => { 1 }, Some(y) => 2 } }",
    ),
    (
        GO,
        "if $E != nil { return $E }",
        "if $E != nil {\n    return fmt.Errorf(\"x: %w\", $E)\n}",
        "package p\n\nfunc f() error {\n\tfor {\n\t\tif err != nil { return err }\n\t}\n}\n",
        "package p\n\nfunc f() error {\n\tfor {\n\t\tif err != nil {\n\t\t\treturn fmt.Errorf(\"x: %w\", err)\n\t\t}\n\t}\n}\n",
    ),
    (TS, "f($$$A, x)", "f($$$A)", "f(x); f(1, x)", "f(); f(1)"),
    (
        TS,
        "function $F($$$P) { $$$B }",
        "function $F($$$P) {\n  start();\n  $$$B\n  end();\n}",
        "if (a) {\n    function g(a, b) {\n        one();\n        if (x) {\n            two();\n        }\n    }\n    function h() {}\n}\n",
        "if (a) {\n    function g(a, b) {\n      start();\n      one();\n      if (x) {\n          two();\n      }\n      end();\n    }\n    function h() {\n      start();\n      end();\n    }\n}\n",
    ),
    (
        PY,
        "def $F($$$P):\n    $$$B",
        "def $F($$$P, x):\n    start()\n    $$$B",
        "class A:\n    def f(self):\n        if a:\n            b()\n        \"\"\"\n  raw\n        \"\"\"\n        return 1\n",
        "class A:\n    def f(self, x):\n        start()\n        if a:\n            b()\n        \"\"\"\n  raw\n        \"\"\"\n        return 1\n",
    ),
    (TS, "[$$$A, b]", "[$$$A]", "x = [a, b]; y = [b];", "x = [a]; y = [];"),
    (TS, "{ a: $X }", "{ b: $X }", "f({ a: 1 })", "f({ b: 1 })"),
    (TS, "b", "", "f(a, b, c); g(b); h(a, b)", "f(a, c); g(); h(a)"),
    (RUST, "x", "", "fn f() { g(a,\n    x,\n    c) }", "fn f() { g(a,\n    c) }"),
    (TS, "foo($A)", "foo($A, 1)", "foo(foo(1))", "foo(foo(1), 1)"),
];

#[test]
fn a_rewrite_makes_code_that_could_have_been_typed() {
    let mut wrong = Vec::new();
    for (language, pattern, template, text, expected) in REWRITES {
        let done = run(*language, pattern, template, Nested::Outermost, text).map(|done| done.text);
        if done.as_deref() != Ok(*expected) {
            wrong.push(format!("{pattern} -> {template} on {text:?}:\n  {done:?}\n  {expected:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_outer_of_nested_matches_is_rewritten_or_all_of_them() {
    let text = "any(isNa(any(isNa(\n  any(isNa(x))\n))));\n";
    let outer = run(TS, "any(isNa($C))", "anyNa($C)", Nested::Outermost, text).unwrap();
    assert_eq!((outer.text.as_str(), outer.sites.len(), outer.nested_skipped), ("anyNa(any(isNa(\n  any(isNa(x))\n)));\n", 1, 2));
    let all = run(TS, "any(isNa($C))", "anyNa($C)", Nested::Recurse, text).unwrap();
    assert_eq!((all.text.as_str(), all.sites.len(), all.nested_skipped), ("anyNa(anyNa(anyNa(x)));\n", 3, 0));
}

#[test]
fn a_result_that_is_no_code_is_refused() {
    let error = run(TS, "$A = $B", "$A =", Nested::Outermost, "y;\nx = 1;").unwrap_err();
    assert!(matches!(&error, RewriteError::SyntaxErrors { line: 2, .. }), "{error:?}");
    // And so is a match that lies in code which is none.
    let error = run(TS, "old($A)", "fresh($A)", Nested::Outermost, "x = (((\nold(1)\n").unwrap_err();
    assert!(matches!(&error, RewriteError::SyntaxErrors { line: 2, .. }), "{error:?}");
    // What is wrong elsewhere is no hindrance.
    let text = "function f() { old(1) }\nfunction g() { x = (; }\n";
    let done = run(TS, "old($A)", "fresh($A)", Nested::Outermost, text).unwrap();
    assert_eq!(done.text, "function f() { fresh(1) }\nfunction g() { x = (; }\n");
}

#[test]
fn a_capture_that_would_be_torn_apart_is_refused() {
    // No parentheses hold around a statement.
    let error = run(TS, "f(() => { $S })", "x = $S + 1", Nested::Outermost, "f(() => { a; })").err();
    assert!(
        matches!(error, Some(RewriteError::CaptureBrokenApart { line: 1, .. } | RewriteError::SyntaxErrors { line: 1, .. })),
        "{error:?}"
    );
}

#[test]
fn what_is_lost_and_what_comes_again_is_said() {
    let done = run(RUST, "$A.unwrap()", "$A?", Nested::Outermost, "fn f() {\n    d /* why */ .unwrap()\n}\n").unwrap();
    assert_eq!(done.warnings, ["A comment at line 2 is lost."]);
    let done = run(TS, "foo($A)", "foo($A, 1)", Nested::Outermost, "foo(1)").unwrap();
    assert!(done.warnings.is_empty(), "{:?}", done.warnings);
    let done = run(TS, "foo($$$A)", "foo($$$A, 1)", Nested::Outermost, "foo(1)").unwrap();
    assert_eq!(done.warnings.len(), 1);
}

#[test]
fn names_of_a_template_are_bound_by_the_pattern() {
    use ccd_structural::QueryError;
    let query = Query::new(TS, &Spec { pattern: Some("$A + $$$B + $_".to_owned()), ..Spec::default() });
    let query =
        query.or_else(|_| Query::new(TS, &Spec { pattern: Some("f($A, $$$B, $_)".to_owned()), ..Spec::default() })).unwrap();
    for (template, name) in [("$A.add($C)", "C"), ("$$$A", "A"), ("$B", "B"), ("$_", "_"), ("f($$$)", "")] {
        let error = Template::new(template, &query).unwrap_err();
        assert!(matches!(&error, QueryError::Unbound { name: told, .. } if told == name), "{template}: {error:?}");
    }
    // Lower case is text.
    assert!(Template::new("$a + $A", &query).is_ok());
}

/// A pattern, a template and a file whose rewriting would parse and mean something else, or would be no program.
const REFUSED: &[(LanguageId, &str, &str, &str)] = &[
    (TS, "console.log($$$A)", "", "while (x()) console.log(1);\ny();"),
    (TS, "console.log($$$A)", "", "if (a) console.log(3);\nx();"),
    (TS, "console.log($$$A)", "", "x = () => console.log(7);\ny = 1"),
    (TS, "a($$$A)", "", "x = b ||\n  a(1);\ny()"),
    (C, "log($A);", "", "int f() {\n  if (a)\n    log(1);\n  return;\n}\n"),
    (JAVA, "log($A);", "", "class A { void f() {\n  for (;;) log(1);\n  g();\n} }\n"),
    (PY, "def $F($$$A): $$$B", "async def $F($$$A): $$$B", "def f(a):\n    x\n    y\n"),
    (PY, "class $C: $$$B", "class $C(Base): $$$B", "class A:\n    def f(self): pass\n    def g(self): pass\n"),
    (PY, "log($A)", "", "def f():\n    log(1)\ndef g():\n    x\n"),
    (PY, "if DEBUG: $$$B", "", "def f():\n    if DEBUG:\n        a()\n"),
    (PY, "log($A)", "", "if a: log(1)\nx()\n"),
    (TS, "f($A);", "if (b) x($A);", "if (a) f(1); else g();"),
    (C, "f($A);", "if (b) x($A);", "void g() { if (a) f(1); else h(); }"),
    (TS, "not($$$A)", "!$$$A", "not(a, b)"),
    (TS, "un($A)", "$A", "a\nun((b))"),
    (TS, "un($A)", "$A", "const q = 1\nun(`b`)"),
    (TS, "f(() => { $S })", "x = $S + 1", "f(() => { a; })"),
];

#[test]
fn what_would_mean_something_else_is_refused() {
    for (language, pattern, template, text) in REFUSED {
        let error = run(*language, pattern, template, Nested::Outermost, text);
        let refused = matches!(error, Err(RewriteError::CaptureBrokenApart { .. } | RewriteError::SyntaxErrors { .. }));
        assert!(refused, "{pattern} -> {template} on {text}: {error:?}");
    }
}

#[test]
fn a_file_of_many_matches_takes_time_by_their_number() {
    let text = "old(1);\n".repeat(20_000);
    for (template, nested) in [("fresh($A)", Nested::Outermost), ("fresh($A)", Nested::Recurse), ("", Nested::Outermost)] {
        let start = std::time::Instant::now();
        let done = run(TS, "old($A)", template, nested, &text).unwrap();
        assert_eq!(done.sites.len(), 20_000);
        assert!(start.elapsed() < std::time::Duration::from_secs(30), "{:?}", start.elapsed());
    }
    let spec = Spec { pattern: Some("old($A)".to_owned()), ..Spec::default() };
    let query = Query::new(TS, &spec).unwrap();
    let template = Template::new("fresh($A)", &query).unwrap();
    let syntax = Syntax::parse(TS, text.as_bytes(), PARSE_LIMITS, &|| false).unwrap();
    let asked = std::cell::Cell::new(0);
    let cancelled = || {
        asked.set(asked.get() + 1);
        asked.get() > 200
    };
    let ended = rewrite(&query, &template, Nested::Outermost, &syntax, &text, &cancelled);
    assert!(matches!(ended, Err(RewriteError::Find(ccd_structural::FindError::Cancelled) | RewriteError::Parse(_))), "{ended:?}");
}
