//! Java.

use ccd_grammars::LanguageId;
use expect_test::expect;

use super::check;

#[test]
fn java() {
    check(
        LanguageId::JAVA,
        r#"
package com.acme.shop;

import java.util.List;
import static com.acme.util.Maths.sum;
import static com.acme.util.Maths.*;
import com.acme.model.*;

/** A cart. */
@Deprecated
public abstract class Cart<T extends Comparable<T>> extends Base<T> implements Runnable, a.b.Other<String> {
  private static final int MAX = 3, MIN = 1;
  int[] rows, columns[];
  static { init(); }
  { setup(); }
  public Cart(int size) { super(size); this.go(); }
  Cart() { this(1); }
  /** Generic. */
  protected <X> X pick(List<? super X> list, int... rest) throws Failure { return Maths.<X>id(list.get(0)); }
  abstract void draw();
  @Test public void works() {
    new Thread(() -> later()) { private int n; @Override public void run() { inner(); } }.start();
  }
  private int all(Object o) {
    int q = 1;
    for (String s : rows()) s.trim();
    try (var r = open()) { r.read(); } catch (Failure | Other e) { e.print(); }
    Runnable run = this::go, made = Cart::make;
    run();
    Shape.super.twice(); super.bar(); a.b.c();
    new Outer.Inner<>(2); int[] d = new int[]{1};
    first().second(); table[0].third();
    if (o instanceof Point p) p.move();
    return switch (o) { case Foo(var y) -> y.z(); case Item i -> i.b(); default -> fallback(); };
  }
  class Inner {}
  enum Color implements Shape { RED(1) { void paint() {} }, GREEN; private final int n = 1; Color() {} void paint() {} }
  interface Shape extends A, B { int SIDES = 4; int area(); default int twice() { return area(); } }
  record Point(int x, int y) implements Shape { Point { check(x); } static Point of() { return new Point(1, 2); } }
  @interface Mark { String value() default "x"; int level = 1; }
}
sealed interface Sealed permits Cart {}
"#,
        expect![[r#"
            + class Cart~0 9..41 | @Deprecated public abstract class Cart<T extends Comparable<T>> extends Base<T> implements Runnable, a.b.Other<String>
            - constant Cart.MAX~0 12..12 | private static final int MAX = 3, MIN = 1;
            - constant Cart.MIN~0 12..12 | private static final int MAX = 3, MIN = 1;
            + field Cart.rows~0 13..13 | int[] rows, columns[];
            + field Cart.columns~0 13..13 | int[] rows, columns[];
            + constructor Cart.Cart~0 16..16 | public Cart(int size)
            + constructor Cart.Cart~1 17..17 | Cart()
            + method Cart.pick~0 18..19 | protected <X> X pick(List<? super X> list, int... rest) throws Failure
            + method Cart.draw~0 20..20 | abstract void draw();
            - test Cart.works~0 21..23 | @Test public void works()
            - field Cart.works.n~0 22..22 | private int n;
            + method Cart.works.run~0 22..22 | @Override public void run()
            - method Cart.all~0 24..35 | private int all(Object o)
            + class Cart.Inner~0 36..36 | class Inner
            + enum Cart.Color~0 37..37 | enum Color implements Shape
            + enum_member Cart.Color.RED~0 37..37 | RED(1)
            + method Cart.Color.RED.paint~0 37..37 | void paint()
            + enum_member Cart.Color.GREEN~0 37..37 | GREEN
            - field Cart.Color.n~0 37..37 | private final int n = 1;
            + constructor Cart.Color.Color~0 37..37 | Color()
            + method Cart.Color.paint~0 37..37 | void paint()
            + interface Cart.Shape~0 38..38 | interface Shape extends A, B
            + constant Cart.Shape.SIDES~0 38..38 | int SIDES = 4;
            + method Cart.Shape.area~0 38..38 | int area();
            + method Cart.Shape.twice~0 38..38 | default int twice()
            + class Cart.Point~0 39..39 | record Point(int x, int y) implements Shape
            + field Cart.Point.x~0 39..39 | int x
            + field Cart.Point.y~0 39..39 | int y
            + constructor Cart.Point.Point~0 39..39 | Point
            + method Cart.Point.of~0 39..39 | static Point of()
            + interface Cart.Mark~0 40..40 | @interface Mark
            + method Cart.Mark.value~0 40..40 | String value() default "x";
            + constant Cart.Mark.level~0 40..40 | int level = 1;
            + interface Sealed~0 42..42 | sealed interface Sealed permits Cart
            Extends 11:61 Base <- 
            Implements 11:80 Runnable <- 
            Implements 11:94 a.b.Other <- 
            Call 14:12 init <- 
            Call 15:5 setup <- 
            Call 16:27 super:super <- Cart.Cart
            Call 16:45 this:this.go <- Cart.Cart
            Call 19:92 Maths.id <- Cart.pick
            Call 19:100 list.get <- Cart.pick local
            New 22:9 Thread <- Cart.works
            Call 22:22 later <- Cart.works
            Call 22:78 inner <- Cart.works.run
            Call 22:91 Thread().start <- Cart.works
            Call 26:21 rows <- Cart.all
            Call 26:31 s.trim <- Cart.all local
            Call 27:18 open <- Cart.all
            Call 27:30 r.read <- Cart.all local
            Call 27:70 e.print <- Cart.all local
            Call 28:26 this:this.go <- Cart.all
            Call 28:43 Cart.make <- Cart.all
            Call 29:5 run <- Cart.all
            Call 30:17 ?.twice <- Cart.all
            Call 30:32 super:super.bar <- Cart.all
            Call 30:43 a.b.c <- Cart.all
            New 31:15 Outer.Inner <- Cart.all
            Call 32:5 first <- Cart.all
            Call 32:13 first().second <- Cart.all
            Call 32:32 table[].third <- Cart.all
            Call 33:33 p.move <- Cart.all local
            Call 34:46 y.z <- Cart.all local
            Call 34:68 i.b <- Cart.all local
            Call 34:84 fallback <- Cart.all
            Implements 37:25 Shape <- 
            Extends 38:27 A <- 
            Extends 38:30 B <- 
            Call 38:90 area <- Cart.Shape.twice
            Implements 39:41 Shape <- 
            Call 39:57 check <- Cart.Point.Point
            New 39:100 Point <- Cart.Point.of
            Item java.util List as List
            Item com.acme.util.Maths sum as sum
            Glob com.acme.util.Maths - as -
            Glob com.acme.model - as -
        "#]],
    );
}

#[test]
fn java_without_a_package() {
    check(
        LanguageId::JAVA,
        r#"
void main() { System.out.println("x"); }
class A { /* broken */ void f( { g(); } void h() { } }
"#,
        expect![[r#"
            + method main~0 2..2 | void main()
            + class A~0 3..3 | class A
            + method A.f~0 3..3 | void f(
            + method A.h~0 3..3 | void h()
            Call 2:26 System.out.println <- main
            Call 3:34 g <- A.f
        "#]],
    );
}
