//! What names lead to in the languages whose calls are `exact` within a file, and through imports to a definition, and
//! candidates by name elsewhere: Dart, C, C++ and Java.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed, and says where")]

mod numbers;
mod project;

use expect_test::expect;
use numbers::Numbers;
use project::Project;

#[test]
fn c() {
    let project = Project::new(&[
        (
            "src/main.c",
            r#"#include <stdio.h>
#include "list.h"
#include <tool/util.h>
#include "../config.h"
#include "both.h"
static int helper(int a);
static int twice(int a) { return helper(a) + TWICE(a); }
static int helper(int a) { return a; }
struct ops { int (*open)(int); };
int main(void) {
    struct list *l = list_new();
    list_free(l); inlined(); printf("x"); CONFIGURED(); outside_only();
    ops->open(1);
    int twice = 1;
    (void)hidden(); beside();
    return helper(twice);
}
#ifdef FAST
int chosen(void) { return 1; }
#else
int chosen(void) { return 2; }
#endif
int user(void) { return chosen() + helper(1); }
struct thing { int x; };
int thing(void) { return 1; }
int both(void) { return thing(); }
"#,
        ),
        (
            "src/list.h",
            "#ifndef LIST_H\n#include \"node.h\"\nstruct list { int n; };\nstruct list *list_new(void);\nvoid list_free(struct list *l);\nvoid outside_only(void);\n#endif\n",
        ),
        ("src/node.h", "static inline int inlined(void) { return 1; }\n"),
        (
            "src/list.c",
            "#include \"list.h\"\nstruct list *list_new(void) { return 0; }\nvoid list_free(struct list *l) { list_new(); }\nstatic int hidden(void) { return 1; }\n",
        ),
        ("include/tool/util.h", "#define TWICE(x) ((x) * 2)\n"),
        ("config.h", "#define CONFIGURED() go()\n"),
        ("a/both.h", "int beside(void) { return 1; }\n"),
        ("b/both.h", "int beside(void) { return 2; }\n"),
    ]);
    project.check(expect![[r#"
        src/list.c
          1:10 Imports src/list.c -> Exact src/list.h#module
          3:34 Calls list_free -> Exact src/list.c#function:list_new
        src/list.h
          2:10 Imports src/list.h -> Exact src/node.h#module
        src/main.c
          1:10 Imports src/main.c -> External out <stdio.h>
          2:10 Imports src/main.c -> Exact src/list.h#module
          3:10 Imports src/main.c -> Exact include/tool/util.h#module
          4:10 Imports src/main.c -> Exact config.h#module
          5:10 Imports src/main.c -> External out both.h
          7:34 Calls twice -> Exact src/main.c#function:helper~2
          7:46 Calls twice -> Exact include/tool/util.h#macro:TWICE
          11:22 Calls main -> Candidate one of 1
          12:5 Calls main -> Candidate one of 1
          12:19 Calls main -> Exact src/node.h#function:inlined
          12:30 Calls main -> External out printf
          12:43 Calls main -> Exact config.h#macro:CONFIGURED
          12:57 Calls main -> Exact src/list.h#function:outside_only
          13:10 Calls main -> Candidate one of 1
          15:11 Calls main -> Candidate one of 1
          15:21 Calls main -> Candidate one of 2
          16:12 Calls main -> Exact src/main.c#function:helper~2
          23:25 Calls user -> Candidate one of 2
          23:36 Calls user -> Exact src/main.c#function:helper~2
          26:25 Calls both -> Exact src/main.c#function:thing
    "#]]);
    assert_eq!(project.caller_names("list_new"), ["list_free Exact", "main Candidate"]);
}

#[test]
fn cpp() {
    let project = Project::new(&[
        (
            "include/shop/cart.h",
            r#"#pragma once
namespace shop {
class Base { public: void log(); virtual void draw() {} };
class API Cart : public Base {
public:
    explicit Cart(int size);
    void add(int n);
    int size() const { return size_; }
    static Cart make();
private:
    void check(int n);
    int size_;
};
void loose(int n);
inline int pure(int n) { return n; }
}
"#,
        ),
        (
            "src/cart.cc",
            r#"#include "shop/cart.h"
namespace shop {
namespace { int secret(int n) { return n; } }
Cart::Cart(int size) { check(size); secret(size); }
void Cart::check(int n) { log(); this->size(); loose(n); pure(n); add(n); }
void Cart::add(int n) { check(n); Cart::make().size(); shop::pure(1); std::move(n); }
Cart Cart::make() { return Cart(1); }
void loose(int n) { auto cart = Cart::make(); cart.add(n); new Cart(2); }
void over(int n) {}
void over(double n) {}
void calls() { over(1); only<int>(2); Pair{1, 2}; }
template <typename T> T only(T t) { return t; }
struct Pair { int a, b; };
}
"#,
        ),
        (
            "src/base.cpp",
            "#include <shop/cart.h>\nusing namespace shop;\nvoid Base::log() { draw(); }\nint main() { shop::loose(1); return ::shop::pure(2); }\n",
        ),
    ]);
    project.check(expect![[r#"
        src/base.cpp
          1:10 Imports src/base.cpp -> Exact include/shop/cart.h#module
          3:20 Calls Base::log -> Candidate one of 1
          4:20 Calls main -> Candidate one of 1
          4:45 Calls main -> Exact include/shop/cart.h#function:shop/pure
        src/cart.cc
          1:10 Imports src/cart.cc -> Exact include/shop/cart.h#module
          4:24 Calls shop::Cart::Cart -> Exact src/cart.cc#method:shop/Cart/check
          4:37 Calls shop::Cart::Cart -> Exact src/cart.cc#function:shop/secret
          5:27 Calls shop::Cart::check -> Candidate one of 1
          5:40 Calls shop::Cart::check -> Exact include/shop/cart.h#method:shop/Cart/size
          5:48 Calls shop::Cart::check -> Exact src/cart.cc#function:shop/loose
          5:58 Calls shop::Cart::check -> Exact include/shop/cart.h#function:shop/pure
          5:67 Calls shop::Cart::check -> Exact src/cart.cc#method:shop/Cart/add
          6:25 Calls shop::Cart::add -> Exact src/cart.cc#method:shop/Cart/check
          6:41 Calls shop::Cart::add -> Exact src/cart.cc#method:shop/Cart/make
          6:48 Calls shop::Cart::add -> Candidate one of 1
          6:62 Calls shop::Cart::add -> Exact include/shop/cart.h#function:shop/pure
          6:76 Calls shop::Cart::add -> External out std::move
          7:28 Instantiates shop::Cart::make -> Exact include/shop/cart.h#class:shop/Cart
          8:39 Calls shop::loose -> Exact src/cart.cc#method:shop/Cart/make
          8:52 Calls shop::loose -> Candidate one of 1
          8:64 Instantiates shop::loose -> Exact include/shop/cart.h#class:shop/Cart
          11:16 Calls shop::calls -> Candidate one of 2
          11:25 Calls shop::calls -> Exact src/cart.cc#function:shop/only
          11:39 Instantiates shop::calls -> Exact src/cart.cc#struct:shop/Pair
    "#]]);
    assert_eq!(project.caller_names("Cart::add"), ["shop::Cart::check Exact", "shop::loose Candidate"]);
}

#[test]
fn java() {
    let project = Project::new(&[
        (
            "src/main/java/com/acme/shop/Cart.java",
            r#"package com.acme.shop;
import com.acme.util.Maths;
import com.acme.util.Outer.Inner;
import static com.acme.util.Maths.sum;
import static com.acme.util.Statics.*;
import java.util.List;
import com.acme.model.*;
public class Cart extends Base implements Shape {
    private final Item item = new Item();
    public Cart(int size) { super(size); check(size); }
    void check(int n) { this.check2(n); check2(n); sum(1, 2); fixed(); Maths.twice(n); inherited(); shared(); }
    private void check2(int n) { new Inner(); Sibling.help(); item.use(); List.of(1); System.out.println(n); }
    void over(int a) {} void over(String a) {}
    void calls() { over(1); Runnable r = this::calls; Sibling.other(); new Missing(); super.shared(); }
    class Nested { void in() { check(1); } }
    class Deep extends Base { void in() { check(1); shared(); } }
    void lambda() { new Thread() { public void run() { check(2); go(); } void go() {} }.start(); go(); }
    void go() {}
}
"#,
        ),
        ("src/main/java/com/acme/shop/Sibling.java", "package com.acme.shop;\nclass Sibling { static void help() {} }\n"),
        (
            "src/main/java/com/acme/shop/Base.java",
            "package com.acme.shop;\nclass Base { Base(int n) {} void shared() {} void inherited() {} }\n",
        ),
        (
            "src/main/java/com/acme/shop/Shape.java",
            "package com.acme.shop;\ninterface Shape extends Runnable { default void draw() { area(); } int area(); }\n",
        ),
        (
            "src/main/java/com/acme/util/Maths.java",
            "package com.acme.util;\npublic class Maths { public static int sum(int a, int b) { return twice(a); } public static int twice(int a) { return a; } }\n",
        ),
        (
            "src/main/java/com/acme/util/Statics.java",
            "package com.acme.util;\npublic class Statics { public static void fixed() {} }\n",
        ),
        (
            "src/main/java/com/acme/util/Outer.java",
            "package com.acme.util;\npublic class Outer { public static class Inner {} }\n",
        ),
        ("lib/Item.java", "package com.acme.model;\npublic class Item { public void use() {} }\n"),
        (
            "src/test/java/com/acme/shop/CartTest.java",
            "package com.acme.shop;\nclass CartTest { @Test void works() { new Cart(1).check(2); } }\n",
        ),
    ]);
    project.check(expect![[r#"
        src/main/java/com/acme/shop/Cart.java
          2:22 Imports com.acme.shop -> Exact src/main/java/com/acme/util/Maths.java#class:Maths
          3:28 Imports com.acme.shop -> Exact src/main/java/com/acme/util/Outer.java#class:Outer/Inner
          4:35 Imports com.acme.shop -> Exact src/main/java/com/acme/util/Maths.java#method:Maths/sum
          5:15 Imports com.acme.shop -> Exact src/main/java/com/acme/util/Statics.java#class:Statics
          6:18 Imports com.acme.shop -> External out java.util.List
          7:8 Imports com.acme.shop -> Exact lib/Item.java#module
          9:35 Instantiates com.acme.shop -> Exact lib/Item.java#class:Item
          10:29 Calls com.acme.shop.Cart.Cart -> Exact src/main/java/com/acme/shop/Base.java#constructor:Base/Base
          10:42 Calls com.acme.shop.Cart.Cart -> Exact src/main/java/com/acme/shop/Cart.java#method:Cart/check
          11:30 Calls com.acme.shop.Cart.check -> Exact src/main/java/com/acme/shop/Cart.java#method:Cart/check2
          11:41 Calls com.acme.shop.Cart.check -> Exact src/main/java/com/acme/shop/Cart.java#method:Cart/check2
          11:52 Calls com.acme.shop.Cart.check -> Exact src/main/java/com/acme/util/Maths.java#method:Maths/sum
          11:63 Calls com.acme.shop.Cart.check -> Exact src/main/java/com/acme/util/Statics.java#method:Statics/fixed
          11:78 Calls com.acme.shop.Cart.check -> Exact src/main/java/com/acme/util/Maths.java#method:Maths/twice
          11:88 Calls com.acme.shop.Cart.check -> Candidate one of 1
          11:101 Calls com.acme.shop.Cart.check -> Candidate one of 1
          12:38 Instantiates com.acme.shop.Cart.check2 -> Exact src/main/java/com/acme/util/Outer.java#class:Outer/Inner
          12:55 Calls com.acme.shop.Cart.check2 -> Exact src/main/java/com/acme/shop/Sibling.java#method:Sibling/help
          12:68 Calls com.acme.shop.Cart.check2 -> Candidate one of 1
          12:80 Calls com.acme.shop.Cart.check2 -> External out java.util.List.of
          12:98 Calls com.acme.shop.Cart.check2 -> External out System.out.println
          14:20 Calls com.acme.shop.Cart.calls -> Candidate one of 2
          14:48 Calls com.acme.shop.Cart.calls -> Exact src/main/java/com/acme/shop/Cart.java#method:Cart/calls
          14:63 Calls com.acme.shop.Cart.calls -> External out Sibling.other
          14:76 Instantiates com.acme.shop.Cart.calls -> External out Missing
          14:93 Calls com.acme.shop.Cart.calls -> Exact src/main/java/com/acme/shop/Base.java#method:Base/shared
          15:32 Calls com.acme.shop.Cart.Nested.in -> Exact src/main/java/com/acme/shop/Cart.java#method:Cart/check
          16:43 Calls com.acme.shop.Cart.Deep.in -> Exact src/main/java/com/acme/shop/Cart.java#method:Cart/check
          16:53 Calls com.acme.shop.Cart.Deep.in -> Candidate one of 1
          17:25 Instantiates com.acme.shop.Cart.lambda -> External out Thread
          17:56 Calls com.acme.shop.Cart.lambda.run -> Exact src/main/java/com/acme/shop/Cart.java#method:Cart/check
          17:66 Calls com.acme.shop.Cart.lambda.run -> Candidate one of 2
          17:89 Calls com.acme.shop.Cart.lambda -> External out start
          17:98 Calls com.acme.shop.Cart.lambda -> Candidate one of 2
        src/main/java/com/acme/shop/Shape.java
          2:58 Calls com.acme.shop.Shape.draw -> Exact src/main/java/com/acme/shop/Shape.java#method:Shape/area
          2:58 Calls com.acme.shop.Shape.draw -> Exact src/main/java/com/acme/shop/Shape.java#method:Shape/area
        src/main/java/com/acme/util/Maths.java
          2:67 Calls com.acme.util.Maths.sum -> Exact src/main/java/com/acme/util/Maths.java#method:Maths/twice
        src/test/java/com/acme/shop/CartTest.java
          2:43 Instantiates com.acme.shop.CartTest.works -> Exact src/main/java/com/acme/shop/Cart.java#class:Cart
          2:51 Calls com.acme.shop.CartTest.works -> Candidate one of 1
    "#]]);
    assert_eq!(project.caller_names("com.acme.shop.Sibling.help"), ["com.acme.shop.Cart.check2 Exact"]);
}

#[test]
fn dart() {
    let project = Project::new(&[
        ("pubspec.yaml", "name: shop # a comment\nversion: 1.0.0\n"),
        ("packages/util/pubspec.yaml", "name: 'util'\n"),
        ("packages/util/lib/util.dart", "export 'src/deep.dart' show deep;\nexport 'src/all.dart' hide none;\nvoid top() {}\n"),
        ("packages/util/lib/src/deep.dart", "void deep() {}\nvoid kept() {}\n"),
        ("packages/util/lib/src/all.dart", "void every() {}\n"),
        (
            "lib/cart.dart",
            r#"library shop.cart;
import 'package:util/util.dart';
import 'package:shop/model.dart' as model;
import 'src/store.dart' show Store, open;
import 'package:http/http.dart' as http;
import 'dart:io';
part 'cart.g.dart';
class Base { void shared() {} void log() {} }
mixin Logs on Base { void log() { shared(); super.log(); } }
class Cart extends Base with Logs {
  final Store store = Store.named(1);
  Cart(int size) { check(size); }
  Cart.empty() : this(0);
  factory Cart.of(int n) => Cart(n);
  void check(int n) {
    this.log2(); log2(); generated(); deep(); kept(); every(); top(); open();
    model.Item(); model.make(); Cart.empty(); store.use(); http.get(); shared();
    super.log();
    store..use()..close();
    print(n);
  }
  void log2() {}
}
extension Twice on int { int twice() => this * 2; }
void main() { Cart(1).check(2); main2(); 3.twice(); final f = () => main2(); f(); }
void main2() {}
"#,
        ),
        ("lib/cart.g.dart", "part of 'cart.dart';\nvoid generated() { main2(); open(); }\n"),
        ("lib/model.dart", "class Item { Item(); void use() {} }\nItem make() => Item();\n"),
        ("lib/src/store.dart", "class Store { Store.named(int n); void use() {} void close() {} }\nvoid open() {}\n"),
        ("test/cart_test.dart", "import 'package:shop/cart.dart';\nvoid main() { test('adds', () { Cart(1); main2(); }); }\n"),
    ]);
    project.check(expect![[r#"
        lib/cart.dart
          2:8 Imports lib/cart.dart -> Exact packages/util/lib/util.dart#module
          3:8 Imports lib/cart.dart -> Exact lib/model.dart#module
          4:30 Imports lib/cart.dart -> Exact lib/src/store.dart#class:Store
          4:37 Imports lib/cart.dart -> Exact lib/src/store.dart#function:open
          5:8 Imports lib/cart.dart -> External out package:http/http.dart
          6:8 Imports lib/cart.dart -> External out dart:io
          7:6 Imports lib/cart.dart -> Exact lib/cart.g.dart#module
          9:35 Calls Logs.log -> Candidate one of 1
          9:51 Calls Logs.log -> Exact lib/cart.dart#method:Base/log
          11:29 Calls lib/cart.dart -> Exact lib/src/store.dart#constructor:Store/named
          12:20 Calls Cart.Cart -> Exact lib/cart.dart#method:Cart/check
          14:29 Instantiates Cart.of -> Exact lib/cart.dart#class:Cart
          16:10 Calls Cart.check -> Exact lib/cart.dart#method:Cart/log2
          16:18 Calls Cart.check -> Exact lib/cart.dart#method:Cart/log2
          16:26 Calls Cart.check -> Exact lib/cart.g.dart#function:generated
          16:39 Calls Cart.check -> Exact packages/util/lib/src/deep.dart#function:deep
          16:47 Calls Cart.check -> Candidate one of 1
          16:55 Calls Cart.check -> Exact packages/util/lib/src/all.dart#function:every
          16:64 Calls Cart.check -> Exact packages/util/lib/util.dart#function:top
          16:71 Calls Cart.check -> Exact lib/src/store.dart#function:open
          17:11 Instantiates Cart.check -> Exact lib/model.dart#class:Item
          17:25 Calls Cart.check -> Exact lib/model.dart#function:make
          17:38 Calls Cart.check -> Exact lib/cart.dart#constructor:Cart/empty
          17:53 Calls Cart.check -> Candidate one of 2
          17:65 Calls Cart.check -> External out package:http/http.dart.get
          17:72 Calls Cart.check -> Candidate one of 1
          18:11 Calls Cart.check -> Exact lib/cart.dart#method:Logs/log
          19:12 Calls Cart.check -> Candidate one of 2
          19:19 Calls Cart.check -> Candidate one of 1
          20:5 Calls Cart.check -> External out print
          25:15 Instantiates main -> Exact lib/cart.dart#class:Cart
          25:23 Calls main -> Candidate one of 1
          25:33 Calls main -> Exact lib/cart.dart#function:main2
          25:44 Calls main -> Candidate one of 1
          25:69 Calls main -> Exact lib/cart.dart#function:main2
        lib/cart.g.dart
          1:9 Imports lib/cart.dart -> Exact lib/cart.dart#module
          2:20 Calls generated -> Exact lib/cart.dart#function:main2
          2:29 Calls generated -> Exact lib/src/store.dart#function:open
        lib/model.dart
          2:16 Instantiates make -> Exact lib/model.dart#class:Item
        packages/util/lib/util.dart
          1:29 ReExports packages/util/lib/util.dart -> Exact packages/util/lib/src/deep.dart#function:deep
          2:8 ReExports packages/util/lib/util.dart -> Exact packages/util/lib/src/all.dart#module
        test/cart_test.dart
          1:8 Imports test/cart_test.dart -> Exact lib/cart.dart#module
          2:15 Calls main -> External out test
          2:33 Instantiates main.adds -> Exact lib/cart.dart#class:Cart
          2:42 Calls main.adds -> Exact lib/cart.dart#function:main2
    "#]]);
    assert_eq!(project.caller_names("Store.use"), ["Cart.check Candidate", "Cart.check Candidate"]);
}

#[test]
fn random_edits_agree_with_a_fresh_index() {
    let paths = [
        "a.c",
        "b.c",
        "a.h",
        "inc/a.h",
        "inc/b.h",
        "x.cc",
        "y.cpp",
        "deep/x.hpp",
        "A.java",
        "src/B.java",
        "src/deep/C.java",
        "lib/a.dart",
        "lib/b.dart",
        "lib/src/c.dart",
        "pubspec.yaml",
    ];
    let c = [
        "#include \"a.h\"",
        "#include \"b.h\"",
        "#include <inc/b.h>",
        "#include \"x.hpp\"",
        "int one(int a);",
        "static int two(void) { return one(TWO(1)); }",
        "int one(int a) { two(); ops->call(a); return a; }",
        "#define TWO(x) one(x)",
        "struct ops { int (*call)(int); };",
    ];
    let cpp = [
        "#include \"a.h\"",
        "#include \"deep/x.hpp\"",
        "#include \"y.cpp\"",
        "namespace n { class A : public B { void go(); void stop() { go(); up(); } }; }",
        "namespace n { class B { public: void up() { one(1); } }; void free(int a); }",
        "class B : public C { void up(); };",
        "void n::A::go() { stop(); this->up(); n::free(1); }",
        "namespace n { void A::go() { free(1); up(); } void free(int a) { new B(); } }",
        "class C { void up() {} int one(int a) { return A::make(); } };",
    ];
    let java = [
        "package p;",
        "package p.q;",
        "import p.A;",
        "import p.*;",
        "import static p.q.B.make;",
        "import p.q.B.In;",
        "public class A extends B { A() { super(); } void go() { stop(); make(); this.up(); In.run(); } void stop() {} }",
        "class B extends C { static void make() { new A(); } static class In { static void run() { make(); } } }",
        "class C { C() {} void up() { new Object() { void in() { up(); } }; } }",
    ];
    let dart = [
        "library l;",
        "part 'b.dart';",
        "part of 'a.dart';",
        "part of l;",
        "import 'b.dart' as b show one;",
        "import 'package:pack/src/c.dart';",
        "export 'src/c.dart' show two;",
        "export 'b.dart';",
        "class A extends B with M { A.named(); void go() { up(); super.up(); one(); A.named(); b.one(); } }",
        "mixin M { void up() { two(); } }",
        "class B { void up() {} }",
        "void one() { two(); A.named().go(); }",
        "void two() => one();",
    ];
    for seed in 0..16 {
        let mut numbers = Numbers(seed);
        let mut project = Project::new(&[("pubspec.yaml", "name: pack\n")]);
        for step in 0..14 {
            let path = paths[numbers.below(paths.len())];
            if numbers.below(6) == 0 {
                let _ = std::fs::remove_file(project.tree().join(path));
            } else {
                let lines: &[&str] = match path.rsplit('.').next() {
                    Some("c" | "h") => &c,
                    Some("java") => &java,
                    Some("dart") => &dart,
                    Some("yaml") => &["name: pack", "name: other"],
                    _ => &cpp,
                };
                let mut text = String::new();
                for _ in 0..=numbers.below(7) {
                    text.push_str(lines[numbers.below(lines.len())]);
                    text.push('\n');
                }
                project.write(path, &text);
            }
            project.index(Some(&[path]));
            if project.digest() != project.fresh_digest() {
                assert_eq!(project.dump(), project.fresh_dump(), "seed {seed}, step {step}, {path}");
                panic!("seed {seed}, step {step}, {path}: the digests differ");
            }
            if numbers.below(6) == 0 {
                project = project.reopen();
                assert_eq!(project.digest(), project.fresh_digest(), "seed {seed}, step {step}, after a restart");
            }
        }
    }
}
