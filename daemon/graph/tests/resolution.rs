//! What names lead to, in small projects of each language.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod project;

use ccd_graph::ImportSubject;
use expect_test::expect;
use project::Project;

#[test]
fn rust() {
    let project = Project::new(&[
        ("Cargo.toml", "[workspace]\nmembers = [\"app\", \"lib\"]"),
        ("lib/Cargo.toml", "[package]\nname = \"my-lib\""),
        (
            "lib/src/lib.rs",
            "pub mod shapes;\nmod hidden;\npub use hidden::{deep as public_deep, Tool};\npub use shapes::*;\n\
             #[macro_export]\nmacro_rules! shout { () => {} }\npub fn top() { shapes::area(); crate::shapes::area(); }\n",
        ),
        (
            "lib/src/shapes.rs",
            "pub struct Square { pub side: u32 }\nimpl Square {\n    pub fn new(side: u32) -> Self { Self { side } }\n    pub fn area(&self) -> u32 { self.scale(area()) }\n    fn scale(&self, by: u32) -> u32 { by }\n}\npub fn area() -> u32 { 1 }\nimpl Default for Square { fn default() -> Self { Square::new(1) } }\n",
        ),
        (
            "lib/src/hidden/mod.rs",
            "pub fn deep() { super::top(); self::inner::leaf() }\npub struct Tool;\nimpl Tool { pub fn run(&self) { std::fs::read(\"x\"); } }\nmod inner { pub fn leaf() {} }\n",
        ),
        (
            "app/Cargo.toml",
            "[package]\nname = \"app\"\n[dependencies]\nlib = { package = \"my-lib\", path = \"../lib\" }\nserde = \"1\"",
        ),
        (
            "app/src/main.rs",
            "use lib::{public_deep, Square, Tool as Hammer};\nuse serde::Serialize;\nfn main() {\n    public_deep();\n    let s = Square::new(2);\n    s.area();\n    lib::area();\n    lib::shout!();\n    Hammer.run();\n    println!(\"{}\", helper(1));\n    serde::to_string(&s);\n    let helper2 = |x| x;\n    helper2(1);\n    unknown();\n    Vec::new();\n}\nfn helper(x: u32) -> u32 { x }\nimpl Serialize for Square {}\n#[cfg(test)]\nmod tests { use super::*; #[test] fn t() { helper(2); } }\n",
        ),
        ("app/tests/it.rs", "mod common;\n#[test]\nfn works() { common::setup(); lib::top(); }\n"),
        ("app/tests/common/mod.rs", "pub fn setup() {}\n"),
    ]);
    project.check(expect![[r#"
        app/src/main.rs
          1:11 Imports app -> Exact lib/src/hidden/mod.rs#function:deep
          1:24 Imports app -> Exact lib/src/shapes.rs#struct:Square
          1:32 Imports app -> Exact lib/src/hidden/mod.rs#struct:Tool
          2:12 Imports app -> External out serde::Serialize
          4:5 Calls app::main -> Exact lib/src/hidden/mod.rs#function:deep
          5:21 Calls app::main -> Exact lib/src/shapes.rs#method:impl Square/new
          6:7 Calls app::main -> Candidate one of 1
          7:10 Calls app::main -> Exact lib/src/shapes.rs#function:area
          8:10 Calls app::main -> Exact lib/src/lib.rs#macro:shout
          9:12 Calls app::main -> Candidate one of 1
          10:5 Calls app::main -> External out println
          10:20 Calls app::main -> Exact app/src/main.rs#function:helper
          11:12 Calls app::main -> External out serde::to_string
          14:5 Calls app::main -> External out unknown
          15:10 Calls app::main -> External out Vec::new
          20:17 Imports app -> Exact app/src/main.rs#module
          20:44 Calls app::tests::t -> Exact app/src/main.rs#function:helper
        app/tests/it.rs
          3:22 Calls it::works -> Exact app/tests/common/mod.rs#function:setup
          3:36 Calls it::works -> Exact lib/src/lib.rs#function:top
        lib/src/hidden/mod.rs
          1:24 Calls my_lib::hidden::deep -> Exact lib/src/lib.rs#function:top
          1:44 Calls my_lib::hidden::deep -> Exact lib/src/hidden/mod.rs#function:inner/leaf
          3:42 Calls my_lib::hidden::Tool::run -> External out std::fs::read
        lib/src/lib.rs
          3:18 ReExports my_lib -> Exact lib/src/hidden/mod.rs#function:deep
          3:39 ReExports my_lib -> Exact lib/src/hidden/mod.rs#struct:Tool
          4:9 ReExports my_lib -> Exact lib/src/shapes.rs#module
          7:24 Calls my_lib::top -> Exact lib/src/shapes.rs#function:area
          7:47 Calls my_lib::top -> Exact lib/src/shapes.rs#function:area
        lib/src/shapes.rs
          3:37 Instantiates my_lib::shapes::Square::new -> Exact lib/src/shapes.rs#struct:Square
          4:38 Calls my_lib::shapes::Square::area -> Exact lib/src/shapes.rs#method:impl Square/scale
          4:44 Calls my_lib::shapes::Square::area -> Exact lib/src/shapes.rs#function:area
          8:58 Calls my_lib::shapes::Square::default -> Exact lib/src/shapes.rs#method:impl Square/new
    "#]]);
}

#[test]
fn go() {
    let project = Project::new(&[
        ("go.mod", "module example.com/shop // a comment\n\ngo 1.22\n"),
        (
            "main.go",
            "package main\n\nimport (\n\t\"fmt\"\n\tc \"example.com/shop/cart\"\n\t\"example.com/shop/util-go\"\n)\n\nfunc main() {\n\tx := c.New()\n\tx.Add(1)\n\tfmt.Println(helper(), len(\"a\"))\n\tutil.Do()\n\tvar fmt = 1\n\tfmt.Nothing()\n}\n",
        ),
        ("helper.go", "package main\n\nfunc helper() int { return c2() }\n\nfunc c2() int { return 1 }\n"),
        (
            "cart/cart.go",
            "package cart\n\nimport . \"example.com/shop/util-go\"\n\ntype Cart struct{ Base }\n\ntype Base struct{}\n\nfunc New() *Cart { return &Cart{Base{}} }\n\nfunc (c *Cart) Add(n int) { c.check(n); Do() }\n\nfunc (c *Cart) check(n int) {}\n",
        ),
        (
            "cart/cart_test.go",
            "package cart_test\n\nimport \"example.com/shop/cart\"\n\nfunc TestNew(t *testing.T) { cart.New() }\n",
        ),
        ("util-go/util.go", "package util\n\nfunc Do() {}\n"),
    ]);
    project.check(expect![[r#"
        cart/cart.go
          3:10 Imports example.com/shop/cart -> Exact util-go/util.go#module
          9:28 Instantiates cart.New -> Exact cart/cart.go#struct:Cart
          9:33 Instantiates cart.New -> Exact cart/cart.go#struct:Base
          11:31 Calls cart.Cart.Add -> Candidate one of 1
          11:41 Calls cart.Cart.Add -> Exact util-go/util.go#function:Do
        cart/cart_test.go
          3:8 Imports example.com/shop/cart_test -> Exact cart/cart.go#module
          5:35 Calls cart_test.TestNew -> Exact cart/cart.go#function:New
        helper.go
          3:28 Calls main.helper -> Exact helper.go#function:c2
        main.go
          4:2 Imports example.com/shop -> External out fmt
          5:4 Imports example.com/shop -> Exact cart/cart.go#module
          6:2 Imports example.com/shop -> Exact util-go/util.go#module
          10:9 Calls main.main -> Exact cart/cart.go#function:New
          11:4 Calls main.main -> Candidate one of 1
          12:6 Calls main.main -> External out fmt.Println
          12:14 Calls main.main -> Exact helper.go#function:helper
          12:24 Calls main.main -> External out len
          13:7 Calls main.main -> Exact util-go/util.go#function:Do
          15:6 Calls main.main -> External out Nothing
    "#]]);
}

#[test]
fn typescript() {
    let project = Project::new(&[
        ("package.json", r#"{"name": "root", "workspaces": ["packages/*"]}"#),
        ("tsconfig.json", "{ \"compilerOptions\": { \"baseUrl\": \".\", \"paths\": { \"@app/*\": [\"src/*\"] } } } // end"),
        (
            "src/a.ts",
            "import def, { one, two as zwei } from './b';\nimport * as ns from \"@app/barrel\";\nimport { core } from 'core-pkg';\nimport { readFile } from 'fs';\nexport function run() { one(); zwei(); def(); ns.three(); ns.inner.four(); core(); readFile('x'); console.log(1); missing(); }\nclass Shape { static make() { return new Shape(); } area() { return this.size() + this.other(); } size() { return 1; } }\nShape.make().area();\nconst table = { get() { return 1; } };\ntable.get();\nfunction over(a: string): void;\nfunction over(a: any) {}\nover('x');\nnamespace N { export function f() {} }\nN.f();\n",
        ),
        ("src/b.ts", "export const one = () => 1;\nfunction two() {}\nexport { two };\nexport default function main() {}\n"),
        ("src/barrel.ts", "export * from './c';\nexport * as inner from './d';\n"),
        ("src/c.ts", "export function three() {}\nexport * from './barrel';\n"),
        ("src/d.tsx", "import { Panel } from './ui';\nexport function four() { return <Panel.Body><Panel/></Panel.Body>; }\n"),
        ("src/ui.jsx", "export class Panel extends React.Component { render() { return super.render(); } }\n"),
        ("src/old.js", "const { one } = require('./b');\nmodule.exports = { go: () => one() };\n"),
        ("packages/core/package.json", r#"{"name": "core-pkg", "main": "dist/index.js"}"#),
        ("packages/core/src/index.ts", "export { core } from './impl.js';\n"),
        ("packages/core/src/impl.ts", "export function core() {}\n"),
    ]);
    project.check(expect![[r#"
        packages/core/src/index.ts
          1:10 ReExports packages/core/src/index.ts -> Exact packages/core/src/impl.ts#function:core
        src/a.ts
          1:8 Imports src/a.ts -> Exact src/b.ts#function:main
          1:15 Imports src/a.ts -> Exact src/b.ts#function:one
          1:20 Imports src/a.ts -> Exact src/b.ts#function:two
          2:8 Imports src/a.ts -> Exact src/barrel.ts#module
          3:10 Imports src/a.ts -> Exact packages/core/src/impl.ts#function:core
          3:10 Imports src/a.ts -> Exact packages/core/src/index.ts#module
          4:10 Imports src/a.ts -> External out fs.readFile
          5:25 Calls run -> Exact src/b.ts#function:one
          5:32 Calls run -> Exact src/b.ts#function:two
          5:40 Calls run -> Exact src/b.ts#function:main
          5:50 Calls run -> Exact src/c.ts#function:three
          5:68 Calls run -> Exact src/d.tsx#function:four
          5:76 Calls run -> Exact packages/core/src/impl.ts#function:core
          5:84 Calls run -> External out fs.readFile
          5:107 Calls run -> External out console.log
          5:115 Calls run -> External out missing
          6:42 Instantiates Shape.make -> Exact src/a.ts#class:Shape
          6:74 Calls Shape.area -> Exact src/a.ts#method:Shape/size
          6:88 Calls Shape.area -> External out other
          7:7 Calls src/a.ts -> Exact src/a.ts#method:Shape/make
          7:14 Calls src/a.ts -> Candidate one of 1
          9:7 Calls src/a.ts -> Exact src/a.ts#method:table/get
          12:1 Calls src/a.ts -> Exact src/a.ts#function:over~2
          14:3 Calls src/a.ts -> Exact src/a.ts#function:N/f
        src/barrel.ts
          1:8 ReExports src/barrel.ts -> Exact src/c.ts#module
          2:8 ReExports src/barrel.ts -> Exact src/d.tsx#module
        src/c.ts
          2:8 ReExports src/c.ts -> Exact src/barrel.ts#module
        src/d.tsx
          1:10 Imports src/d.tsx -> Exact src/ui.jsx#class:Panel
          2:40 Instantiates four -> External out Panel.Body
          2:46 Instantiates four -> Exact src/ui.jsx#class:Panel
        src/old.js
          1:17 Calls src/old.js -> External out require
          1:25 Imports src/old.js -> Exact src/b.ts#function:one
          2:30 Calls go -> Exact src/b.ts#function:one
        src/ui.jsx
          1:70 Calls Panel.render -> External out super.render
    "#]]);
}

#[test]
fn python() {
    let project = Project::new(&[
        ("pkg/__init__.py", "from .core import Engine, start as begin\n"),
        (
            "pkg/core.py",
            "import os.path\nfrom . import helpers\nfrom .helpers import *\n\nclass Base:\n    def stop(self):\n        pass\n\nclass Engine(Base):\n    def __init__(self):\n        self.run()\n        self.stop()\n\n    def run(self):\n        helpers.assist()\n        shared()\n        os.path.join('a')\n        print(1)\n\n    @classmethod\n    def make(cls):\n        return Engine()\n\ndef start():\n    def nested():\n        pass\n    nested()\n    Engine.make().run()\n",
        ),
        ("pkg/helpers.py", "def assist():\n    pass\n\ndef shared():\n    assist()\n"),
        ("src/tool/__init__.py", ""),
        (
            "src/tool/cli.py",
            "import pkg\nimport pkg.helpers\nfrom pkg import begin, Engine as E\nfrom tool.extra import extra\n\ndef main():\n    begin()\n    E()\n    pkg.helpers.assist()\n    extra()\n    unknown_name()\n\nif True:\n    main()\n",
        ),
        ("src/tool/extra.py", "def extra():\n    pass\n"),
    ]);
    project.check(expect![[r#"
        pkg/__init__.py
          1:19 Imports pkg -> Exact pkg/core.py#class:Engine
          1:27 Imports pkg -> Exact pkg/core.py#function:start
        pkg/core.py
          1:8 Imports pkg.core -> External out os.path
          2:15 Imports pkg.core -> Exact pkg/helpers.py#module
          2:15 Imports pkg.core -> Exact pkg/__init__.py#module
          3:22 Imports pkg.core -> Exact pkg/helpers.py#module
          11:14 Calls pkg.core.Engine.__init__ -> Exact pkg/core.py#method:Engine/run
          12:14 Calls pkg.core.Engine.__init__ -> Candidate one of 1
          15:17 Calls pkg.core.Engine.run -> Exact pkg/helpers.py#function:assist
          16:9 Calls pkg.core.Engine.run -> Exact pkg/helpers.py#function:shared
          17:17 Calls pkg.core.Engine.run -> External out os.path.join
          18:9 Calls pkg.core.Engine.run -> External out print
          20:6 Calls pkg.core -> External out classmethod
          22:16 Instantiates pkg.core.Engine.make -> Exact pkg/core.py#class:Engine
          27:5 Calls pkg.core.start -> Exact pkg/core.py#function:start/nested
          28:12 Calls pkg.core.start -> Exact pkg/core.py#method:Engine/make
          28:19 Calls pkg.core.start -> Candidate one of 1
        pkg/helpers.py
          5:5 Calls pkg.helpers.shared -> Exact pkg/helpers.py#function:assist
        src/tool/cli.py
          1:8 Imports tool.cli -> Exact pkg/__init__.py#module
          2:8 Imports tool.cli -> Exact pkg/helpers.py#module
          3:17 Imports tool.cli -> Exact pkg/core.py#function:start
          3:24 Imports tool.cli -> Exact pkg/core.py#class:Engine
          4:24 Imports tool.cli -> Exact src/tool/extra.py#function:extra
          4:24 Imports tool.cli -> Exact src/tool/__init__.py#module
          7:5 Calls tool.cli.main -> Exact pkg/core.py#function:start
          8:5 Instantiates tool.cli.main -> Exact pkg/core.py#class:Engine
          9:17 Calls tool.cli.main -> Exact pkg/helpers.py#function:assist
          10:5 Calls tool.cli.main -> Exact src/tool/extra.py#function:extra
          11:5 Calls tool.cli.main -> External out unknown_name
          14:5 Calls tool.cli -> Exact src/tool/cli.py#function:main
    "#]]);
}

#[test]
fn go_calls_with_one_type_argument() {
    let project = Project::new(&[
        ("go.mod", "module m\n"),
        (
            "a.go",
            "package a\n\nimport (\n\t\"m/sub\"\n\t\"slices\"\n)\n\nfunc gen[X any](x X) {}\n\nfunc two[X, Y any](x X, y Y) {}\n\ntype S[T any] struct{}\n\nfunc NewS[T any]() *S[T] { return nil }\n\nvar table = []func(int){}\n\ntype holder struct{ list []func(int) }\n\nfunc a(h holder, own []func(int)) {\n\tgen[int](1)\n\tgen[[]string](nil)\n\tgen[map[string]int](nil)\n\t(gen[*S[int]])(nil)\n\ttwo[int, string](1, \"\")\n\tNewS[int]().Do()\n\tsub.Map[int](3)\n\tsub.Table[0](3)\n\tslices.Collect[int](nil)\n\ttable[0](1)\n\town[0](1)\n\th.list[0](1)\n\tgen := own\n\tgen[0](1)\n}\n\nfunc (s *S[T]) Do() {}\n",
        ),
        ("sub/sub.go", "package sub\n\nfunc Map[T any](x T) {}\n\nvar Table = []func(int){}\n"),
    ]);
    project.check(expect![[r#"
        a.go
          4:2 Imports m -> Exact sub/sub.go#module
          5:2 Imports m -> External out slices
          21:2 Calls a.a -> Exact a.go#function:gen
          22:2 Calls a.a -> Exact a.go#function:gen
          23:2 Calls a.a -> Exact a.go#function:gen
          24:3 Calls a.a -> Exact a.go#function:gen
          25:2 Calls a.a -> Exact a.go#function:two
          26:2 Calls a.a -> Exact a.go#function:NewS
          26:14 Calls a.a -> Candidate one of 1
          27:6 Calls a.a -> Exact sub/sub.go#function:Map
          29:9 Calls a.a -> External out slices.Collect
    "#]]);
}

#[test]
fn super_of_typescript() {
    let project = Project::new(&[
        (
            "base.ts",
            "import { Far } from 'far';\nexport class Root { constructor(x: number) {} top() {} m() {} }\nexport class Middle<T> extends Root { m() { super.m(); super.top(); } }\nexport default class Outside extends Far { m() { super.m(); super.other(); } }\nexport interface Plain { extra: number }\nexport class Plain { m() {} }\n",
        ),
        ("index.ts", "export { Middle as Base, Plain } from './base';\nexport { default as Out } from './base';\n"),
        (
            "use.ts",
            "import { Base, Plain, Out } from './index';\nclass Leaf extends Base<string> {\n  constructor() { super(1); }\n  m() { super.m(); super.top(); super.absent(); }\n  static s() { return () => super.m(); }\n}\nclass OfPlain extends Plain {\n  constructor() { super(); }\n  m() { super.m(); }\n}\nclass OfOut extends Out {\n  constructor() { super(); }\n  m() { super.m(); super.top(); }\n}\nclass Mixed extends mixin(Base) {\n  constructor() { super(); }\n  m() { super.m(); super.nowhere(); }\n}\nclass None { m() { super.m(); super.toString(); } }\nclass Failure extends Error { constructor() { super('x'); } m() { super.m(); super.m.call(this); } }\n",
        ),
        (
            "old.js",
            "class P { m() {} }\nclass Q extends P { constructor() { super(); } m() { super.m(); } }\nclass R extends P { go() { return { m() { super.m(); } }; } to = () => super.m(); }\n",
        ),
    ]);
    project.check(expect![[r#"
        base.ts
          1:10 Imports base.ts -> External out far.Far
          3:51 Calls Middle.m -> Exact base.ts#method:Root/m
          3:62 Calls Middle.m -> Exact base.ts#method:Root/top
          4:56 Calls Outside.m -> External out super.m
          4:67 Calls Outside.m -> External out super.other
        index.ts
          1:10 ReExports index.ts -> Exact base.ts#class:Middle
          1:26 ReExports index.ts -> Exact base.ts#interface:Plain
          1:26 ReExports index.ts -> Exact base.ts#class:Plain
          2:10 ReExports index.ts -> Exact base.ts#class:Outside
        old.js
          2:37 Instantiates Q.constructor -> Exact old.js#class:P
          2:60 Calls Q.m -> Exact old.js#method:P/m
          3:49 Calls R.go.m -> Candidate one of 13
          3:78 Calls R.to -> Exact old.js#method:P/m
        use.ts
          1:10 Imports use.ts -> Exact base.ts#class:Middle
          1:10 Imports use.ts -> Exact index.ts#module
          1:16 Imports use.ts -> Exact base.ts#interface:Plain
          1:16 Imports use.ts -> Exact base.ts#class:Plain
          1:23 Imports use.ts -> Exact base.ts#class:Outside
          3:19 Calls Leaf.constructor -> Exact base.ts#constructor:Root/constructor
          4:15 Calls Leaf.m -> Exact base.ts#method:Middle/m
          4:26 Calls Leaf.m -> Exact base.ts#method:Root/top
          4:39 Calls Leaf.m -> External out super.absent
          5:35 Calls Leaf.s -> Exact base.ts#method:Middle/m
          8:19 Instantiates OfPlain.constructor -> Exact base.ts#class:Plain
          9:15 Calls OfPlain.m -> Exact base.ts#method:Plain/m
          12:19 Instantiates OfOut.constructor -> Exact base.ts#class:Outside
          13:15 Calls OfOut.m -> Exact base.ts#method:Outside/m
          13:26 Calls OfOut.m -> External out super.top
          15:21 Calls use.ts -> External out mixin
          16:19 Calls Mixed.constructor -> External out super
          17:15 Calls Mixed.m -> Candidate one of 13
          17:26 Calls Mixed.m -> External out super.nowhere
          19:26 Calls None.m -> Candidate one of 13
          19:37 Calls None.m -> External out super.toString
          20:47 Calls Failure.constructor -> External out Error
          20:73 Calls Failure.m -> External out super.m
          20:86 Calls Failure.m -> External out call
    "#]]);
}

#[test]
fn super_of_python() {
    let project = Project::new(&[
        (
            "base.py",
            "import threading\n\nclass Root:\n    def __init__(self):\n        pass\n    def top(self):\n        super().top()\n\nclass Left(Root):\n    def side(self):\n        super().__init__()\n        super(Left, self).top()\n\nclass Right(Root):\n    def side(self):\n        super().absent()\n        super().__new__()\n        super().__init_subclass__()\n\nclass Mixin:\n    def __init__(self):\n        super().__init__()\n    def __new__(cls):\n        pass\n\nclass Worker(threading.Thread, Root):\n    def run(self):\n        super().run()\n        super().top()\n",
        ),
        (
            "use.py",
            "from base import Left as L, Right\nimport base\n\nclass Both(L, Right):\n    def go(self):\n        super().side()\n        super().top()\n\nclass Turned(base.Worker, L):\n    def side(self):\n        super().side()\n        super().run()\n\nclass Failure(ValueError):\n    def __init__(self):\n        super().__init__()\n",
        ),
    ]);
    project.check(expect![[r#"
        base.py
          1:8 Imports base -> External out threading
          7:9 Calls base.Root.top -> External out super
          7:17 Calls base.Root.top -> Candidate one of 1
          11:9 Calls base.Left.side -> External out super
          11:17 Calls base.Left.side -> Exact base.py#method:Root/__init__
          12:9 Calls base.Left.side -> External out super
          12:27 Calls base.Left.side -> Exact base.py#method:Root/top
          16:9 Calls base.Right.side -> External out super
          16:17 Calls base.Right.side -> External out super.absent
          17:9 Calls base.Right.side -> External out super
          17:17 Calls base.Right.side -> External out super.__new__
          18:9 Calls base.Right.side -> External out super
          18:17 Calls base.Right.side -> External out super.__init_subclass__
          22:9 Calls base.Mixin.__init__ -> External out super
          22:17 Calls base.Mixin.__init__ -> Candidate one of 3
          28:9 Calls base.Worker.run -> External out super
          28:17 Calls base.Worker.run -> External out super.run
          29:9 Calls base.Worker.run -> External out super
          29:17 Calls base.Worker.run -> Candidate one of 1
        use.py
          1:18 Imports use -> Exact base.py#class:Left
          1:29 Imports use -> Exact base.py#class:Right
          2:8 Imports use -> Exact base.py#module
          6:9 Calls use.Both.go -> External out super
          6:17 Calls use.Both.go -> Exact base.py#method:Left/side
          7:9 Calls use.Both.go -> External out super
          7:17 Calls use.Both.go -> Exact base.py#method:Root/top
          11:9 Calls use.Turned.side -> External out super
          11:17 Calls use.Turned.side -> Candidate one of 3
          12:9 Calls use.Turned.side -> External out super
          12:17 Calls use.Turned.side -> Exact base.py#method:Worker/run
          16:9 Calls use.Failure.__init__ -> External out super
          16:17 Calls use.Failure.__init__ -> External out super.__init__
    "#]]);
}

#[test]
fn files_on_the_way_of_an_import_know_their_importers() {
    let project = Project::new(&[
        ("web/index.ts", "export * from './impl';\nexport { w as v } from './impl';\nexport const own = 1;\n"),
        ("web/impl.ts", "export function w() {}\n"),
        ("web/use.ts", "import { w, v } from './index';\nexport function f() { w(); }\n"),
        ("web/both.ts", "import { own, v } from './index';\n"),
        ("web/on.ts", "export { w } from '.';\nimport { missing } from './impl';\n"),
        ("Lib/asyncio/__init__.py", "from .events import *\nfrom . import tasks\n"),
        ("Lib/asyncio/events.py", "class Loop:\n    pass\n"),
        ("Lib/asyncio/tasks.py", "from asyncio import Loop\n"),
        ("Lib/email/__init__.py", ""),
        ("Lib/email/mime/__init__.py", ""),
        ("Lib/email/mime/text.py", "from ..message import Message\n"),
        ("Lib/email/message.py", "class Message:\n    pass\n"),
        ("app.py", "import email.mime.text\nfrom asyncio import Loop\nfrom email import message\nimport email.absent\n"),
    ]);
    let mut told = String::new();
    for file in ["web/index.ts", "web/impl.ts", "Lib/asyncio/__init__.py", "Lib/email/__init__.py", "Lib/email/mime/__init__.py"]
    {
        let by_file = project.importers(ImportSubject::File(file.into()));
        told.push_str(&format!("{file}: {by_file:?}, impact {:?}\n", project.impact_files(file)));
    }
    told.push_str(&format!("email: {:?}\n", project.importers(ImportSubject::Module("email".to_owned()))));
    expect![[r#"
        web/index.ts: ["web/both.ts:1:10", "web/on.ts:1:10", "web/use.ts:1:10"], impact ["web/both.ts", "web/on.ts", "web/use.ts"]
        web/impl.ts: ["web/both.ts:1:15", "web/index.ts:1:8", "web/index.ts:2:10", "web/on.ts:1:10", "web/use.ts:1:10", "web/use.ts:1:13"], impact ["web/both.ts", "web/index.ts", "web/on.ts", "web/use.ts"]
        Lib/asyncio/__init__.py: ["Lib/asyncio/tasks.py:1:21", "app.py:2:21"], impact ["Lib/asyncio/tasks.py", "app.py"]
        Lib/email/__init__.py: ["app.py:1:8"], impact ["app.py"]
        Lib/email/mime/__init__.py: ["app.py:1:8"], impact ["app.py"]
        email: ["app.py:1:8"]
    "#]].assert_eq(&told);
}

#[test]
fn ways_are_connected() {
    let project = Project::new(&[
        (
            "m.py",
            "class Base:\n    def __init__(self):\n        self.setup()\n    def setup(self):\n        deep()\n    def run(self):\n        self.hook()\n    def hook(self):\n        pass\n\ndef deep():\n    pass\n\ndef user(x):\n    b = Base()\n    x.run()\n    x.hook\n",
        ),
        (
            "m.ts",
            "class Made { constructor() { low(); } other() { high(); } }\nfunction low() {}\nfunction high() {}\nfunction make() { new Made(); }\n",
        ),
    ]);
    let mut told = String::new();
    for (from, to) in [
        ("user", "Base.hook"),
        ("user", "deep"),
        ("user", "Base.__init__"),
        ("Base", "Base.hook"),
        ("make", "low"),
        ("make", "high"),
        ("Made", "high"),
    ] {
        told.push_str(&format!("{from} to {to}\n{}", project.ways(from, to)));
    }
    expect![[r#"
        user to Base.hook
          m.user Calls run (Candidate)  m.Base.run Calls m.Base.hook (Exact)
        user to deep
          m.user Instantiates m.Base (Exact)  m.Base Contains m.Base.__init__ (Exact)  m.Base.__init__ Calls m.Base.setup (Exact)  m.Base.setup Calls m.deep (Exact)
        user to Base.__init__
          m.user Instantiates m.Base (Exact)  m.Base Contains m.Base.__init__ (Exact)
        Base to Base.hook
          m.Base.run Calls m.Base.hook (Exact)
        make to low
          make Instantiates Made (Exact)  Made Contains Made.constructor (Exact)  Made.constructor Calls low (Exact)
        make to high
        Made to high
          Made.other Calls high (Exact)
    "#]].assert_eq(&told);
}

#[test]
fn functions_that_a_class_body_imports_are_its_methods() {
    let project = Project::new(&[
        ("email/__init__.py", "def parse():\n    pass\n"),
        ("email/iterators.py", "def walk(self):\n    pass\n\ndef unseen(self):\n    pass\n"),
        (
            "email/message.py",
            "class Message:\n    from email.iterators import walk\n    from . import parse\n    from sys import exit\n    def go(self):\n        self.walk()\n        self.parse()\n        self.exit()\n        walk()\n\nclass Sub(Message):\n    def go(self):\n        super().walk()\n",
        ),
        ("other.py", "def walk():\n    pass\n"),
        (
            "app.py",
            "from email.message import Message\n\ndef run(msg):\n    msg.walk()\n    Message.walk(msg)\n    msg.unseen()\n    msg.parse()\n",
        ),
    ]);
    project.check(expect![[r#"
        app.py
          1:27 Imports app -> Exact email/message.py#class:Message
          1:27 Imports app -> Exact email/__init__.py#module
          4:9 Calls app.run -> Candidate one of 1
          5:13 Calls app.run -> Exact email/iterators.py#function:walk
          6:9 Calls app.run -> External out unseen
          7:9 Calls app.run -> Candidate one of 1
        email/message.py
          2:33 Imports email.message -> Exact email/iterators.py#function:walk
          3:19 Imports email.message -> Exact email/__init__.py#function:parse
          4:21 Imports email.message -> External out sys.exit
          6:14 Calls email.message.Message.go -> Exact email/iterators.py#function:walk
          7:14 Calls email.message.Message.go -> Exact email/__init__.py#function:parse
          8:14 Calls email.message.Message.go -> External out sys.exit
          9:9 Calls email.message.Message.go -> Candidate one of 2
          13:9 Calls email.message.Sub.go -> External out super
          13:17 Calls email.message.Sub.go -> Exact email/iterators.py#function:walk
    "#]]);
}

#[test]
fn definitions_of_different_branches_stand_beside_each_other() {
    let project = Project::new(&[(
        "m.py",
        "if fast:\n    def either(): pass\nelif other:\n    pass\nelse:\n    def either(): pass\n\ntry:\n    import x\n    def tried(): pass\nexcept ImportError:\n    def tried(): pass\n\ndef twice(): pass\ndef twice(): pass\n\nif fast:\n    def later(): pass\ndef later(): pass\n\ndef once(): pass\nif fast:\n    def once(): pass\n    def once(): pass\n\nif fast:\n    class C:\n        @property\n        def p(self): pass\n        @p.setter\n        def p(self, v): pass\n        def go(self):\n            self.p()\n\ndef run(x):\n    if x:\n        digest_cons = x\n    elif fast:\n        def digest_cons(): pass\n    else:\n        def digest_cons(): pass\n    either()\n    tried()\n    twice()\n    later()\n    once()\n    digest_cons()\n",
    )]);
    project.check(expect![[r#"
        m.py
          9:12 Imports m -> External out x
          28:10 Calls m -> External out property
          30:12 Calls m -> External out p.setter
          33:18 Calls m.C.go -> Exact m.py#method:C/p~2
          42:5 Calls m.run -> Candidate one of 2
          43:5 Calls m.run -> Candidate one of 2
          44:5 Calls m.run -> Exact m.py#function:twice~2
          45:5 Calls m.run -> Exact m.py#function:later~2
          46:5 Calls m.run -> Candidate one of 3
          47:5 Calls m.run -> Candidate one of 2
    "#]]);
}
