//! Which code a pattern finds.

#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod search;

use ccd_grammars::LanguageId;
use ccd_structural::{Query, QueryError};
use search::{found, pattern, search};

const RUST: LanguageId = LanguageId::RUST;
const GO: LanguageId = LanguageId::GO;
const TS: LanguageId = LanguageId::TYPESCRIPT;
const TSX: LanguageId = LanguageId::TSX;
const JS: LanguageId = LanguageId::JAVASCRIPT;
const PY: LanguageId = LanguageId::PYTHON;
const DART: LanguageId = LanguageId::DART;
const JAVA: LanguageId = LanguageId::JAVA;
const C: LanguageId = LanguageId::C;
const CPP: LanguageId = LanguageId::CPP;

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
    (DART, "dispose($X)", "statement call_expression [class_member top_level parameter enum_member]"),
    (DART, "if ($X != null) $X.dispose()", "statement if_statement [pair]"),
    (DART, "$X.dispose()", "statement call_expression [class_member enum_member]"),
    (DART, "import $P", "top_level import_specification []"),
    (DART, "import $P;", "top_level import_specification []"),
    (DART, "class $C extends $B { $$$M }", "top_level class_declaration []"),
    (DART, "Widget build(BuildContext $C) { $$$B }", "statement local_function_declaration [class_member top_level]"),
    (DART, "child: $X", "statement labeled_statement [pair argument]"),
    (DART, "Text($S, style: $T)", "statement call_expression [enum_member]"),
    (DART, "final $N = $V", "statement initialized_variable_declaration [class_member top_level]"),
    (DART, "@override", "attribute annotation []"),
    (DART, "$A ?? $B", "statement if_null_expression []"),
    (DART, "($$$P) => $E", "statement function_expression []"),
    (DART, "setState(() { $$$B })", "statement call_expression [enum_member]"),
    (DART, "case $X: $$$B", "case switch_statement_case []"),
    (DART, "for (var $X in $Y) { $$$B }", "statement for_statement [pair]"),
    (DART, "$T $N($$$P) { $$$B }", "statement local_function_declaration [class_member top_level]"),
    (DART, "await $X", "statement await_expression [class_member top_level parameter]"),
    (DART, "catch ($E) { $$$B }", "unparsable"),
    (DART, "print('a')", "statement call_expression [enum_member]"),
    (DART, "$X..$M()", "statement cascade []"),
    (JAVA, "dispose($X)", "statement method_invocation [enum_member]"),
    (JAVA, "if ($X != null) $X.dispose()", "statement if_statement []"),
    (JAVA, "if ($X != null) { $$$B }", "statement if_statement []"),
    (JAVA, "$T $N = $V;", "statement local_variable_declaration [class_member interface_member]"),
    (JAVA, "int $X;", "statement local_variable_declaration [class_member interface_member]"),
    (JAVA, "public void $N($$$P) { $$$B }", "class_member method_declaration []"),
    (JAVA, "class $C { $$$B }", "statement class_declaration []"),
    (JAVA, "import $P;", "statement import_declaration []"),
    (JAVA, "import $P", "statement import_declaration []"),
    (JAVA, "@Override", "attribute marker_annotation []"),
    (JAVA, "new $T($$$A)", "statement object_creation_expression []"),
    (JAVA, "switch ($X) { $$$C }", "statement switch_expression []"),
    (JAVA, "case $X: $$$B", "case switch_block_statement_group []"),
    (JAVA, "try { $$$B } catch ($E $N) { $$$C }", "statement try_statement []"),
    (JAVA, "catch ($E $N) { $$$C }", "catch_clause catch_clause []"),
    (JAVA, "for ($T $X : $Y) { $$$B }", "statement enhanced_for_statement []"),
    (JAVA, "System.out.println($A)", "statement method_invocation []"),
    (JAVA, "($$$P) -> $B", "statement lambda_expression []"),
    (JAVA, "return $X", "statement return_statement []"),
    (JAVA, "$A.equals($B)", "statement method_invocation []"),
    (JAVA, "List<$T>", "type generic_type []"),
    (JAVA, "interface $I { $$$B }", "statement interface_declaration []"),
    (JAVA, "package $P;", "statement package_declaration []"),
    (C, "dispose($X)", "statement call_expression [type parameter]"),
    (C, "if ($X != NULL) free($X)", "statement if_statement []"),
    (C, "if ($X) { $$$B }", "statement if_statement []"),
    (C, "$T $N = $V;", "statement declaration []"),
    (C, "int $F($$$P) { $$$B }", "statement function_definition []"),
    (C, "struct $N { $$$F };", "statement struct_specifier ; [struct_field]"),
    (C, "#include $P", "statement preproc_include [struct_field]"),
    (C, "#include <stdio.h>", "statement preproc_include [struct_field]"),
    (C, "#define $N $V", "statement preproc_def []"),
    (C, "for ($$$I; $C; $U) { $$$B }", "statement for_statement []"),
    (C, "$P->$F", "statement field_expression []"),
    (C, "malloc(sizeof($T))", "statement call_expression []"),
    (C, "return $X", "statement return_statement []"),
    (C, "switch ($X) { $$$C }", "statement switch_statement []"),
    (C, "case $X: $$$B", "statement case_statement []"),
    (C, "$A * $B", "expression binary_expression [statement struct_field parameter]"),
    (C, "int $X;", "statement declaration [struct_field]"),
    (C, "typedef $T $N;", "statement type_definition []"),
    (C, "goto $L;", "statement goto_statement []"),
    (C, "printf($F, $$$A)", "statement call_expression [parameter]"),
    (C, "$N: $T", "statement labeled_statement [pair]"),
    (CPP, "dispose($X)", "statement call_expression [class_member parameter]"),
    (CPP, "if ($X != nullptr) delete $X", "statement if_statement []"),
    (CPP, "class $C { $$$B };", "statement class_specifier ; [class_member]"),
    (CPP, "std::move($X)", "statement call_expression [class_member parameter]"),
    (CPP, "$X->dispose()", "statement call_expression []"),
    (CPP, "template <typename $T> $$$B", "statement template_declaration []"),
    (CPP, "namespace $N { $$$B }", "statement namespace_definition []"),
    (CPP, "auto $X = $Y;", "statement declaration [class_member]"),
    (CPP, "for (auto& $X : $Y) { $$$B }", "statement for_range_loop []"),
    (CPP, "new $T($$$A)", "statement new_expression []"),
    (CPP, "[$$$C]($$$P) { $$$B }", "expression lambda_expression [statement]"),
    (CPP, "try { $$$B } catch ($E) { $$$C }", "statement try_statement []"),
    (CPP, "catch (...) { $$$C }", "catch_clause catch_clause []"),
    (CPP, "static_cast<$T>($X)", "statement call_expression [class_member parameter]"),
    (CPP, "void $C::$F($$$P) { $$$B }", "statement function_definition []"),
    (CPP, "using namespace $N;", "statement using_declaration []"),
    (CPP, "throw $X", "statement throw_statement []"),
    (CPP, "std::vector<$T>", "statement qualified_identifier [class_member]"),
    (CPP, "virtual void $F($$$P) = 0;", "statement declaration [class_member]"),
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
        JAVA,
        "($$$P) -> $B",
        "class A { void f() { g(() -> {}, (int q) -> r, (a, b) -> c); } }",
        &["() -> {}", "(int q) -> r", "(a, b) -> c"],
        &["B={} P=[]", "B=r P=[int q]", "B=c P=[a|b]"],
    ),
    (
        TS,
        "for ($A; $B; $C) { $$$D }",
        "for (let i = 0; i < n; i++) { a(); }\nfor (i = 0; i < n; i++) {}\nfor (;;) {}\n",
        &["for (let i = 0; i < n; i++) { a(); }", "for (i = 0; i < n; i++) {}"],
        &["A=let i = 0 B=i < n C=i++ D=[a();]", "A=i = 0 B=i < n C=i++ D=[]"],
    ),
    (
        C,
        "for ($A; $B; $C) { $$$D }",
        "void f() { for (int i = 0; i < n; i++) { a(); } for (i = 0; i < n; i++) {} for (;;) {} }",
        &["for (int i = 0; i < n; i++) { a(); }", "for (i = 0; i < n; i++) {}"],
        &["A=int i = 0 B=i < n C=i++ D=[a();]", "A=i = 0 B=i < n C=i++ D=[]"],
    ),
    (
        JAVA,
        "for ($A; $B; $C) { $$$D }",
        "class A { void f() { for (int i = 0; i < n; i++) { a(); } for (;;) {} } }",
        &["for (int i = 0; i < n; i++) { a(); }"],
        &["A=int i = 0 B=i < n C=i++ D=[a();]"],
    ),
    (
        DART,
        "for ($A; $B; $C) { $$$D }",
        "void f() { for (var i = 0; i < n; i++) { a(); } }",
        &["for (var i = 0; i < n; i++) { a(); }"],
        &["A=var i = 0 B=i < n C=i++ D=[a();]"],
    ),
    (
        GO,
        "for $A; $B; $C { $$$D }",
        "package p\nfunc f() { for i := 0; i < n; i++ { a() } }\n",
        &["for i := 0; i < n; i++ { a() }"],
        &["A=i := 0 B=i < n C=i++ D=[a()]"],
    ),
    (
        GO,
        "T{$$$A}",
        "package p\nvar b = T{1, 2}\nvar c = T{}\nvar d = T{A: 1}\n",
        &["T{1, 2}", "T{}", "T{A: 1}"],
        &["A=[1|2]", "A=[]", "A=[A: 1]"],
    ),
    (
        GO,
        "T{A: $X, $$$R}",
        "package p\nvar b = T{A: 1, B: 2, C: 3}\nvar c = T{B: 1}\n",
        &["T{A: 1, B: 2, C: 3}"],
        &["X=1 R=[B: 2|C: 3]"],
    ),
    (GO, "[]$T{$$$E}", "package p\nvar b = []int{1, 2}\n", &["[]int{1, 2}"], &["T=int E=[1|2]"]),
    (
        RUST,
        "println!($$$A)",
        "fn f() { println!(\"{}\", a.b > c); println!(); }",
        &["println!(\"{}\", a.b > c)", "println!()"],
        &["A=[\"{}\"|a|b|c]", "A=[]"],
    ),
    (RUST, "#[cfg($$$A)]", "#[cfg(feature = \"x\")]\nfn f() {}\n", &["#[cfg(feature = \"x\")]"], &["A=[feature|\"x\"]"]),
    (
        RUST,
        "|$$$P| $B",
        "fn f() { g(|_| a, |a, _| b, || c); }",
        &["|_| a", "|a, _| b", "|| c"],
        &["B=a P=[_]", "B=b P=[a|_]", "B=c P=[]"],
    ),
    (RUST, "let $X = $Y;", "fn f() { let _ = a; let b = c; }", &["let _ = a;", "let b = c;"], &["X=_ Y=a", "X=b Y=c"]),
    (RUST, "[$A, $$$B]", "fn f() { g([0; 5], [1, 2]); }", &["[1, 2]"], &["A=1 B=[2]"]),
    (
        DART,
        "$X.$M($$$A)",
        "f() { this.g(); super.h(1); a.b(); }",
        &["this.g()", "super.h(1)", "a.b()"],
        &["X=this M=g A=[]", "X=super M=h A=[1]", "X=a M=b A=[]"],
    ),
    (
        DART,
        "if ($X != null) $X.dispose()",
        "void f() { if (a.b != null) a.b.dispose();\nif (a != null) b.dispose();\nif(\n  c !=\n null ) c\n  .dispose();\n// if (d != null) d.dispose();\nprint(\"if (d != null) d.dispose();\");\nif (this.e != null) this.e.dispose(); }",
        &["if (a.b != null) a.b.dispose();", "if(\n  c !=\n null ) c\n  .dispose();", "if (this.e != null) this.e.dispose();"],
        &["X=a.b", "X=c", "X=this.e"],
    ),
    (
        DART,
        "if ($X != null) $X.dispose();",
        "void f() { if (a.b != null) a.b.dispose();\nif (a != null) b.dispose();\nif(\n  c !=\n null ) c\n  .dispose();\n// if (d != null) d.dispose();\nprint(\"if (d != null) d.dispose();\");\nif (this.e != null) this.e.dispose(); }",
        &["if (a.b != null) a.b.dispose();", "if(\n  c !=\n null ) c\n  .dispose();", "if (this.e != null) this.e.dispose();"],
        &["X=a.b", "X=c", "X=this.e"],
    ),
    (
        JAVA,
        "if ($X != null) $X.dispose()",
        "class A { void f() { if (a.b != null) a.b.dispose();\nif (a != null) b.dispose();\nif(\n  c !=\n null ) c\n  .dispose();\n// if (d != null) d.dispose();\nprint(\"if (d != null) d.dispose();\");\nif (this.e != null) this.e.dispose(); } }",
        &["if (a.b != null) a.b.dispose();", "if(\n  c !=\n null ) c\n  .dispose();", "if (this.e != null) this.e.dispose();"],
        &["X=a.b", "X=c", "X=this.e"],
    ),
    (
        JAVA,
        "if ($X != null) $X.dispose();",
        "class A { void f() { if (a.b != null) a.b.dispose();\nif (a != null) b.dispose();\nif(\n  c !=\n null ) c\n  .dispose();\n// if (d != null) d.dispose();\nprint(\"if (d != null) d.dispose();\");\nif (this.e != null) this.e.dispose(); } }",
        &["if (a.b != null) a.b.dispose();", "if(\n  c !=\n null ) c\n  .dispose();", "if (this.e != null) this.e.dispose();"],
        &["X=a.b", "X=c", "X=this.e"],
    ),
    (
        C,
        "if ($X != NULL) free($X)",
        "void f() { if (a->b != NULL) free(a->b);\nif (a != NULL) free(b);\nif(c\n!= NULL) free( c );\n/* if (d != NULL) free(d); */ puts(\"if (d != NULL) free(d);\"); }",
        &["if (a->b != NULL) free(a->b);", "if(c\n!= NULL) free( c );"],
        &["X=a->b", "X=c"],
    ),
    (
        CPP,
        "if ($X != NULL) free($X)",
        "void f() { if (a->b != NULL) free(a->b);\nif (a != NULL) free(b);\nif(c\n!= NULL) free( c );\n/* if (d != NULL) free(d); */ puts(\"if (d != NULL) free(d);\"); }",
        &["if (a->b != NULL) free(a->b);", "if(c\n!= NULL) free( c );"],
        &["X=a->b", "X=c"],
    ),
    (
        DART,
        "dispose($X)",
        "void f() { dispose(a); dispose( a.b ); x.dispose(a); // dispose(c)\nprint(\"dispose(d)\"); dispose(\n  e,\n); }\nvoid dispose(x) {}\nfinal y = dispose(z);",
        &["dispose(a)", "dispose( a.b )", "dispose(\n  e,\n)", "dispose(z)"],
        &["X=a", "X=a.b", "X=e", "X=z"],
    ),
    (
        JAVA,
        "dispose($X)",
        "class A { void dispose(int x) { dispose(a); this.dispose(b); // dispose(c)\n print(\"dispose(d)\"); dispose(\n e\n); } }",
        &["dispose(a)", "dispose(\n e\n)"],
        &["X=a", "X=e"],
    ),
    (
        DART,
        "print('a')",
        "f() { print('a'); print(\"a\"); print('b'); print(r'a'); }",
        &["print('a')", "print(\"a\")"],
        &["", ""],
    ),
    (DART, "import $P;", "import 'a.dart';\nimport \"b.dart\" as b;\n", &["import 'a.dart';"], &["P='a.dart'"]),
    (DART, "child: $X", "f() { g(child: Text('a'), key: b); var m = {child: 1}; }", &[], &[]),
    (
        JAVA,
        "public void $N($$$P) { $$$B }",
        "class A { public void f(int a, String b) { g(); h(); } void k() {} public void e() {} }",
        &["public void f(int a, String b) { g(); h(); }", "public void e() {}"],
        &["N=f P=[int a|String b] B=[g();|h();]", "N=e P=[] B=[]"],
    ),
    (JAVA, "int $X;", "class A { void f() { int x; int y = 1; int a, b; } }", &["int x;"], &["X=x"]),
    (C, "$A * $B", "int f() { T * x; return a * b; }", &["a * b"], &["A=a B=b"]),
    (C, "#include $P", "#include \"a.h\"\n#include <b.h>\n", &["#include \"a.h\"", "#include <b.h>"], &["P=\"a.h\"", "P=<b.h>"]),
    (
        C,
        "struct $N { $$$F };",
        "struct A { int a; char *b; };\nstruct B {};\nstruct C;\n",
        &["struct A { int a; char *b; }", "struct B {}"],
        &["N=A F=[int a;|char *b;]", "N=B F=[]"],
    ),
    (
        C,
        "int $F($$$P) { $$$B }",
        "int f(int a, char *b) { g(); return 1; }\nvoid g(void) {}\nint h() {}\n",
        &["int f(int a, char *b) { g(); return 1; }", "int h() {}"],
        &["F=f P=[int a|char *b] B=[g();|return 1;]", "F=h P=[] B=[]"],
    ),
    (
        C,
        "for ($$$I; $C; $U) { $$$B }",
        "void f() { for (i = 0; i < n; i++) { a(); } for (;;) {} }",
        &["for (i = 0; i < n; i++) { a(); }"],
        &["C=i < n U=i++ I=[i = 0] B=[a();]"],
    ),
    (
        CPP,
        "[$$$C]($$$P) { $$$B }",
        "void f() { g([&](int a) { h(a); }); auto x = [=]() {}; }",
        &["[&](int a) { h(a); }", "[=]() {}"],
        &["C=[&] P=[int a] B=[h(a);]", "C=[=] P=[] B=[]"],
    ),
    (
        CPP,
        "class $C { $$$B };",
        "class A { int a; public: void f(); };\nclass B : A {};\n",
        &["class A { int a; public: void f(); }"],
        &["C=A B=[int a;|public|void f();]"],
    ),
    (
        CPP,
        "void $C::$F($$$P) { $$$B }",
        "void A::f(int x) { g(); }\nvoid f() {}\n",
        &["void A::f(int x) { g(); }"],
        &["C=A F=f P=[int x] B=[g();]"],
    ),
    (
        CPP,
        "$X->dispose()",
        "void f() { a->dispose(); b.dispose(); (*c).d->dispose(); }",
        &["a->dispose()", "(*c).d->dispose()"],
        &["X=a", "X=(*c).d"],
    ),
    (
        JAVA,
        "case $X: $$$B",
        "class A { void f() { switch (x) { case 1: a(); b(); break; case 2: default: c(); } } }",
        &["case 1: a(); b(); break;", "case 2:"],
        &["X=1 B=[a();|b();|break;]", "X=2 B=[]"],
    ),
    (
        JAVA,
        "new $T($$$A)",
        "class A { void f() { new B(); new C<D>(1, 2); new E() { }; } }",
        &["new B()", "new C<D>(1, 2)"],
        &["T=B A=[]", "T=C<D> A=[1|2]"],
    ),
    (DART, "$X..$M()", "f() { a..b(); a..b()..c(); }", &["a..b()"], &["X=a M=b"]),
    (
        DART,
        "Widget build(BuildContext $C) { $$$B }",
        "class A { @override\n Widget build(BuildContext context) { a(); return b; } }\n",
        &[],
        &[],
    ),
    (
        DART,
        "class $C extends $B { $$$M }",
        "class A extends B { int a = 1; void f() {} }\nclass C {}\nclass D extends E with F {}\n",
        &["class A extends B { int a = 1; void f() {} }"],
        &["C=A B=B M=[int a = 1;|void f() {}]"],
    ),
    (
        DART,
        "final $N = $V",
        "class A { final a = 1; void f() { final b = 2; final int c = 3; } }\nfinal d = 4;",
        &["final b = 2"],
        &["N=b V=2"],
    ),
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
