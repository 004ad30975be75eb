//! What names lead to, in small projects of each language.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod project;

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
          7:5 Calls tool.cli.main -> Exact pkg/core.py#function:start
          8:5 Instantiates tool.cli.main -> Exact pkg/core.py#class:Engine
          9:17 Calls tool.cli.main -> Exact pkg/helpers.py#function:assist
          10:5 Calls tool.cli.main -> Exact src/tool/extra.py#function:extra
          11:5 Calls tool.cli.main -> External out unknown_name
          14:5 Calls tool.cli -> Exact src/tool/cli.py#function:main
    "#]]);
}
