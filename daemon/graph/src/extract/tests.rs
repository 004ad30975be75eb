//! What is read from small sources of each language.

mod c;
mod dart;
mod java;

use std::fmt::Write as _;

use std::time::Instant;

use ccd_corpus::{Cancel, Limits};
use ccd_grammars::LanguageId;
use expect_test::{Expect, expect};

use super::{ExtractError, extract};
use crate::{
    codec,
    facts::{Facts, Join, NONE, flag},
    names,
};

fn facts(language: LanguageId, text: &str) -> Facts {
    let Ok(facts) = extract(language, text.as_bytes(), false, &Limits::default(), &Cancel::new()) else { panic!("no facts") };
    assert_eq!(codec::decode(&codec::encode(&facts)).unwrap(), facts, "the store gives back what it was given");
    facts
}

fn expr(facts: &Facts, id: u32) -> String {
    facts.expr(id).iter().fold(String::new(), |mut out, segment| {
        let name = if segment.name == NONE { "" } else { facts.strings.get(segment.name) };
        let joint = match segment.join {
            Join::Root => "",
            Join::This => "this:",
            Join::Other => "?",
            Join::Member => ".",
            Join::Path => "::",
            Join::Call => "()",
            Join::Index => "[]",
            Join::Super => "super:",
        };
        let _ = write!(out, "{joint}{name}");
        out
    })
}

fn check(language: LanguageId, text: &str, expected: Expect) {
    let facts = facts(language, text);
    let mut out = String::new();
    for (at, d) in facts.definitions.iter().enumerate().skip(1) {
        let exported = if d.flags & flag::EXPORTED != 0 { "+" } else { "-" };
        let _ = writeln!(
            out,
            "{exported} {} {}~{} {}..{} | {}",
            names::kind_word(d.kind),
            names::local_qualified(language, &facts, at as u32),
            d.ordinal,
            d.range.0.line,
            d.range.1.line,
            facts.signature(d)
        );
    }
    for site in &facts.sites {
        let owner = facts.site_owner(site.scope);
        let local = if site.local { " local" } else { "" };
        let _ = writeln!(
            out,
            "{:?} {}:{} {} <- {}{local}",
            site.kind,
            site.place.line,
            site.place.column,
            expr(&facts, site.expr),
            names::local_qualified(language, &facts, owner)
        );
    }
    for import in &facts.imports {
        let name = |id| if id == NONE { "-" } else { facts.strings.get(id) };
        let exported = if import.exported { " pub" } else { "" };
        let _ = writeln!(
            out,
            "{:?} {} {} as {}{exported}",
            import.kind,
            expr(&facts, import.path),
            name(import.item),
            name(import.binding)
        );
    }
    for &(outer, inner) in &facts.exports {
        let _ = writeln!(out, "export {} = {}", facts.strings.get(outer), facts.strings.get(inner));
    }
    expected.assert_eq(&out);
}

#[test]
fn rust() {
    check(
        LanguageId::RUST,
        r#"
use std::{fmt, io::{self, Read as R, *}};
pub use crate::a::b;
use ::dep::x;

/// A point.
#[derive(Debug)]
pub struct Point { pub x: i32, y: i32 }

impl Point {
    pub fn new() -> Self { helper(); Self { x: 1, y: 2 } }
    fn go(&self, f: impl Fn()) { self.new2(); f(); self.x.abs(); Point::new().go(f); }
}

impl fmt::Display for Point {
    fn fmt(&self) { let helper = 1; helper(); write!(w, "{}", self.x.show(), other::thing(1)) }
}

trait Shape: Base { fn area(&self) -> f64; fn twice(&self) -> f64 { self.area() } }
enum E { A, B(i32) }
mod inner { pub fn f() { super::helper() } }
mod elsewhere;
const N: usize = count!(1);
macro_rules! count { ($x:expr) => { $x } }
cfg_x! {
    /// Hidden.
    pub fn hidden() { fn nested() {} nested() }
}
#[cfg(test)]
mod tests {
    #[test]
    fn works() { assert_eq!(hidden(), compute(2).unwrap()); }
}
"#,
        expect![[r#"
            + struct Point~0 6..8 | pub struct Point
            + field Point::x~0 8..8 | pub x: i32
            - field Point::y~0 8..8 | y: i32
            - impl impl Point~0 10..13 | impl Point
            + method Point::new~0 11..11 | pub fn new() -> Self
            - method Point::go~0 12..12 | fn go(&self, f: impl Fn())
            + impl impl Display for Point~0 15..17 | impl fmt::Display for Point
            + method Point::fmt~0 16..16 | fn fmt(&self)
            - trait Shape~0 19..19 | trait Shape: Base
            + method Shape::area~0 19..19 | fn area(&self) -> f64;
            + method Shape::twice~0 19..19 | fn twice(&self) -> f64
            - enum E~0 20..20 | enum E
            + enum_member E::A~0 20..20 | A
            + enum_member E::B~0 20..20 | B
            - module inner~0 21..21 | mod inner
            + function inner::f~0 21..21 | pub fn f()
            - module elsewhere~0 22..22 | mod elsewhere;
            - constant N~0 23..23 | const N: usize = count!(1);
            - macro count~0 24..24 | macro_rules! count { ($x:expr) => { $x } }
            + function hidden~0 26..27 | pub fn hidden()
            - function hidden::nested~0 27..27 | fn nested()
            - module tests~0 29..33 | mod tests
            - test tests::works~0 31..32 | fn works()
            Call 11:28 helper <- Point::new
            New 11:38 Self <- Point::new
            Call 12:39 this:self.new2 <- Point::go
            Call 12:47 f <- Point::go local
            Call 12:59 this:self.x.abs <- Point::go
            Call 12:73 Point::new <- Point::go
            Call 12:79 Point::new().go <- Point::go
            Call 16:37 helper <- Point::fmt local
            Macro 16:47 write <- Point::fmt
            Call 16:70 this:self.x.show <- Point::fmt
            Call 16:85 other::thing <- Point::fmt
            Extends 19:14 Base <- 
            Call 19:74 this:self.area <- Shape::twice
            Call 21:33 super::helper <- inner::f
            Macro 23:18 count <- 
            Macro 25:1 cfg_x <- 
            Call 27:38 nested <- hidden
            Macro 32:18 assert_eq <- tests::works
            Call 32:29 hidden <- tests::works
            Call 32:39 compute <- tests::works
            Call 32:50 compute().unwrap <- tests::works
            Path std::fmt - as fmt
            Path std::io - as io
            Path std::io::Read - as R
            Glob std::io - as -
            Path crate::a::b - as b pub
            Path ::dep::x - as x
        "#]],
    );
}

#[test]
fn go() {
    check(
        LanguageId::GO,
        r#"
package shop

import (
	"fmt"
	str "strings"
	. "math"
	_ "embed"
)

// Cart holds items.
type Cart struct {
	Base
	items, more []string
}

type Adder interface {
	fmt.Stringer
	Add(x string) error
}

type ID int

const (
	// A is first.
	A = iota
	b
)

var Hook = func() { run() }

// Add adds.
func (c *Cart) Add(x string) error {
	n := len(c.items)
	c.items = append(c.items, str.ToUpper(x))
	c.Base.Log(n)
	local := func() {}
	local()
	return fmt.Errorf("x")
}

func New() *Cart { return &Cart{Base: Base{}} }

func TestAdd(t *testing.T) { New().Add("x") }
"#,
        expect![[r#"
            + struct Cart~0 11..15 | type Cart struct { Base items, more []string }
            - field Cart.items~0 14..14 | items, more []string
            - field Cart.more~0 14..14 | items, more []string
            + interface Adder~0 17..20 | type Adder interface { fmt.Stringer Add(x string) error }
            + method Adder.Add~0 19..19 | Add(x string) error
            + type_alias ID~0 22..22 | type ID int
            + constant A~0 25..26 | A = iota
            - constant b~0 27..27 | b
            + function Hook~0 30..30 | var Hook = func() { run() }
            + method Cart.Add~0 32..40 | func (c *Cart) Add(x string) error
            + function New~0 42..42 | func New() *Cart
            + test TestAdd~0 44..44 | func TestAdd(t *testing.T)
            Extends 13:2 Base <- 
            Extends 18:6 fmt.Stringer <- 
            Call 30:21 run <- Hook
            Call 34:7 len <- Cart.Add
            Call 35:12 append <- Cart.Add
            Call 35:32 str.ToUpper <- Cart.Add
            Call 36:9 c.Base.Log <- Cart.Add local
            Call 38:2 local <- Cart.Add local
            Call 39:13 fmt.Errorf <- Cart.Add
            New 42:28 Cart <- New
            New 42:39 Base <- New
            Call 44:30 New <- TestAdd
            Call 44:36 New().Add <- TestAdd
            Module fmt - as -
            Module strings - as str
            Glob math - as -
            SideEffect embed - as -
        "#]],
    );
}

#[test]
fn typescript() {
    check(
        LanguageId::TSX,
        r#"
import React, { useState as use, type X } from "react";
import * as ns from "./ns";
import "./side";
export { a as b } from "./a";
export * from "./all";
export * as every from "./every";
const { helper } = require("./helper");

/** Adds. */
export const add = (x: number) => helper(x);
export default function Main() {
  const [s, set] = use(0);
  const inner = () => set(1);
  inner();
  return <Panel.Item onClick={() => add(1)}><div/><Button/></Panel.Item>;
}
export abstract class Base<T> extends ns.Root<T> implements Face, Other {
  constructor(private dep: Dep) { super(); this.start(); }
  static count = 0;
  #secret = 1;
  handle = () => this.dep.run();
  private start(): void { new Thing().go(); }
}
interface Face extends A, B { name: string; call(x: number): void }
type Alias = string;
enum Color { Red, Green = 2 }
namespace Space { export const one = 1; export function two() {} }
function over(a: string): void;
function over(a: any) {}
const table = { get() { return over("x") }, post: () => 1, plain: 2 };
export { table as exportedTable };
describe("math", () => { it("adds", () => { add(1); }); });
let counter = 0;
"#,
        expect![[r#"
            + function add~0 10..11 | export const add = (x: number)
            + function Main~0 12..17 | export default function Main()
            - function Main.inner~0 14..14 | const inner = ()
            + class Base~0 18..24 | export abstract class Base<T> extends ns.Root<T> implements Face, Other
            + constructor Base.constructor~0 19..19 | constructor(private dep: Dep)
            - property Base.dep~0 19..19 | private dep: Dep
            + property Base.count~0 20..20 | static count = 0
            - property Base.#secret~0 21..21 | #secret = 1
            + method Base.handle~0 22..22 | handle = ()
            - method Base.start~0 23..23 | private start(): void
            - interface Face~0 25..25 | interface Face extends A, B
            + property Face.name~0 25..25 | name: string
            + method Face.call~0 25..25 | call(x: number): void
            - type_alias Alias~0 26..26 | type Alias = string;
            - enum Color~0 27..27 | enum Color
            + enum_member Color.Red~0 27..27 | Red
            + enum_member Color.Green~0 27..27 | Green = 2
            - module Space~0 28..28 | namespace Space
            + constant Space.one~0 28..28 | export const one = 1
            + function Space.two~0 28..28 | export function two()
            - function over~0 29..29 | function over(a: string): void;
            - function over~1 30..30 | function over(a: any)
            - constant table~0 31..31 | const table = { get() { return over("x") }, post: () => 1, plain: 2 }
            - method table.get~0 31..31 | get()
            - method table.post~0 31..31 | post: () => 1
            - test math~0 33..33 | describe("math", () => { it("adds", () => { add(1); }); })
            - test math.adds~0 33..33 | it("adds", () => { add(1); })
            - variable counter~0 34..34 | let counter = 0
            Call 8:20 require <- 
            Call 11:35 helper <- add
            Call 13:20 use <- Main
            Call 14:23 set <- Main.inner local
            Call 15:3 inner <- Main
            New 16:17 Panel.Item <- Main
            Call 16:37 add <- Main
            New 16:52 Button <- Main
            Extends 18:42 ns.Root <- 
            Implements 18:61 Face <- 
            Implements 18:67 Other <- 
            Call 19:35 super:super <- Base.constructor
            Call 19:49 this:this.start <- Base.constructor
            Call 22:27 this:this.dep.run <- Base.handle
            New 23:31 Thing <- Base.start
            Call 23:39 Thing().go <- Base.start
            Extends 25:24 A <- 
            Extends 25:27 B <- 
            Call 31:32 over <- table.get
            Call 33:1 describe <- 
            Call 33:26 it <- math
            Call 33:45 add <- math.adds
            Item react default as React
            Item react useState as use
            Item react X as X
            Module ./ns - as ns
            SideEffect ./side - as -
            Item ./a a as b pub
            Glob ./all - as - pub
            Module ./every - as every pub
            Item ./helper helper as helper
            export default = Main
            export exportedTable = table
        "#]],
    );
}

#[test]
fn python() {
    check(
        LanguageId::PYTHON,
        r#"
import os.path
import numpy as np
from . import sibling
from ..pkg.mod import thing as other, more
from typing import *

LIMIT = 3
name = compute()

@decorator
class Widget(Base, metaclass=Meta):
    """Doc."""
    size = 1

    def __init__(self, x):
        self.x = x
        self.draw()

    @staticmethod
    def make(cls_arg):
        return Widget(cls_arg)

    async def draw(self):
        def helper():
            pass
        helper()
        cb = self.x
        cb()
        os.path.join("a")
        super().draw()

def test_widget():
    other(lambda y: y())
    [f(z) for z in more]
"#,
        expect![[r#"
            + constant LIMIT~0 8..8 | LIMIT = 3
            + variable name~0 9..9 | name = compute()
            + class Widget~0 11..31 | class Widget(Base, metaclass=Meta)
            + property Widget.size~0 14..14 | size = 1
            + method Widget.__init__~0 16..18 | def __init__(self, x)
            + method Widget.make~0 20..22 | def make(cls_arg)
            + method Widget.draw~0 24..31 | async def draw(self)
            + function Widget.draw.helper~0 25..26 | def helper()
            + test test_widget~0 33..35 | def test_widget()
            Call 9:8 compute <- 
            Call 11:2 decorator <- 
            Extends 12:14 Base <- 
            Call 18:14 this:self.draw <- Widget.__init__
            Call 20:6 staticmethod <- 
            Call 22:16 Widget <- Widget.make
            Call 27:9 helper <- Widget.draw
            Call 29:9 cb <- Widget.draw local
            Call 30:17 os.path.join <- Widget.draw
            Call 31:9 super <- Widget.draw
            Call 31:17 super:super.draw <- Widget.draw
            Call 34:5 other <- test_widget
            Call 34:21 y <- test_widget local
            Call 35:6 f <- test_widget
            Module os.path - as os
            Module numpy - as np
            Item . sibling as sibling pub
            Item ..pkg.mod thing as other pub
            Item ..pkg.mod more as more pub
            Glob typing - as - pub
        "#]],
    );
}

#[test]
fn an_error_does_not_lose_the_rest() {
    let facts = facts(LanguageId::RUST, "fn a() { 1 + }\nfn b() { @@ }\nfn c() { a() }\n");
    assert!(facts.parse_error);
    let found: Vec<_> = facts.definitions.iter().map(|d| facts.strings.get(d.name)).collect();
    assert_eq!(found, ["", "a", "b", "c"]);
}

#[test]
fn a_macro_with_items_does_not_hide_the_function_around_it() {
    let facts = facts(LanguageId::RUST, "fn outer() { pin! { struct S { x: u32 } impl S { fn inner(&self) {} } } after(); }");
    let found: Vec<_> = facts.definitions.iter().map(|d| facts.strings.get(d.name)).collect();
    assert_eq!(found, ["", "outer", "S", "x", "impl S", "inner"]);
    assert_eq!(facts.sites.len(), 2);
}

#[test]
fn small_and_broken_sources_come_back_from_the_store() {
    for text in [
        "",
        "fn",
        "}",
        "use ::{x};",
        "use {};",
        "use *;",
        "use ::*;",
        "impl",
        "extern crate self as a;",
        "use a::{self};",
        "x!",
        "mod",
        "\n",
    ] {
        for language in LanguageId::all() {
            facts(language, text);
        }
    }
}

#[test]
fn damaged_facts_are_refused() {
    let bytes =
        codec::encode(&facts(LanguageId::RUST, "use a::b;\nstruct S { x: i32 }\nimpl S { fn f(&self) { self.g(b()) } }\n"));
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            // It may decode to other facts, but every index in them must be good.
            if let Ok(facts) = codec::decode(&damaged) {
                for definition in 0..facts.definitions.len() as u32 {
                    names::id("x", &facts, definition);
                }
                facts.sites.iter().for_each(|site| drop(expr(&facts, site.expr)));
            }
        }
        assert!(codec::decode(&bytes[..at]).is_err());
    }
}

#[test]
fn cancelled_work_gives_no_facts() {
    let cancel = Cancel::new();
    cancel.cancel();
    let text = "fn f() { g(1, 2, 3); }\n".repeat(20_000);
    let outcome = extract(LanguageId::RUST, text.as_bytes(), false, &Limits::default(), &cancel);
    assert!(matches!(outcome, Err(ExtractError::Cancelled)));
}

#[test]
#[expect(clippy::print_stderr, reason = "figures of a promise")]
fn no_text_holds_a_worker_for_long() {
    let lines = |text: &str, times: usize| format!("{text}\n").repeat(times);
    let texts = [
        (LanguageId::TYPESCRIPT, format!("if(a){{}}{}", lines("else if(b){}", 60_000))),
        (LanguageId::TYPESCRIPT, lines("`${", 100_000)),
        (LanguageId::TYPESCRIPT, lines("{{{{{{{{{{", 10_000)),
        (LanguageId::JAVASCRIPT, lines("{{{{{{{{{{", 10_000)),
        (LanguageId::TSX, lines("<a>", 100_000)),
        (LanguageId::TYPESCRIPT, lines("try{", 50_000)),
        (LanguageId::RUST, format!("fn f() {{ if a {{}} {}", lines("else if b {}", 60_000))),
        (LanguageId::RUST, lines("cfg_x!{", 30_000)),
        (LanguageId::RUST, format!("fn f() {{ {}", lines("|x|", 100_000))),
        (LanguageId::RUST, lines("mod a {", 100_000)),
        (LanguageId::GO, format!("package a\nvar x = {}", lines("[", 100_000))),
        (LanguageId::GO, format!("package a\nvar x = {}", lines("((((((((((", 10_000))),
        (LanguageId::PYTHON, format!("x = {}", lines("[[[[[[[[[[", 10_000))),
        (LanguageId::PYTHON, format!("if a: pass\n{}", lines("elif b: pass", 60_000))),
    ];
    let limits = Limits::default();
    for (language, text) in texts {
        let start = Instant::now();
        let outcome = extract(language, text.as_bytes(), false, &limits, &Cancel::new());
        let (took, shown) = (start.elapsed(), &text[..20]);
        let what = if outcome.is_ok() { "indexed" } else { "skipped" };
        eprintln!("{} {shown:?}: {took:?}, {what}", language.name());
        assert!(took < limits.parse_deadline * 5, "{} {shown:?} took {took:?}", language.name());
    }
}

#[test]
fn calls_with_one_type_argument_stay_open() {
    check(
        LanguageId::GO,
        "package a\n\nfunc a(own []func(int)) {\n\tgen[int](1)\n\tsub.Map[[]string](nil)\n\t(gen[*S[int]])(nil)\n\ttwo[int, string](1)\n\town[0](1)\n\town[i](1)\n\ttable[i]()\n\ttable[i+1](1)\n\tf[x.T](1)\n\tNewS[int]()\n\tNewS[int]().Do()\n\tsub.Map[T](1)\n\th.list[k](v)\n\tx := List[int](y)\n\tgen[map[string]int](nil)\n}\n",
        expect![[r#"
            - function a~0 3..19 | func a(own []func(int))
            Instance 4:2 gen <- a
            Instance 5:6 sub.Map <- a
            Instance 6:3 gen <- a
            Instance 7:2 two <- a
            Instance 8:2 own <- a local
            Instance 9:2 own <- a local
            Instance 10:2 table <- a
            Instance 11:2 table <- a
            Instance 12:2 f <- a
            Instance 13:2 NewS <- a
            Instance 14:2 NewS <- a
            Call 14:14 NewS[]().Do <- a
            Instance 15:6 sub.Map <- a
            Instance 16:4 h.list <- a
            Instance 17:7 List <- a
            Instance 18:2 gen <- a
        "#]],
    );
}
