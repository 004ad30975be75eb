//! Dart.

use ccd_grammars::LanguageId;
use expect_test::expect;

use super::check;

#[test]
fn dart_classes() {
    check(
        LanguageId::DART,
        r#"
library shop.cart;

import 'dart:async';
import 'package:shop/model.dart' as model show Item, Price hide Secret;
import 'src/store.dart' if (dart.vm.product) 'src/store_io.dart' show Store;
export 'src/api.dart' show Api;
export 'src/all.dart';
part 'cart.g.dart';

/// A cart.
@immutable
abstract class Cart<T> extends Base<T> with Logs, model.Sums implements Shape, Comparable<T> {
  final int size, _spare = 2;
  static const limit = 10;
  late String name;
  Cart(this.size, {required this.name}) : super(1) { init(); }
  Cart.empty() : this(0);
  const Cart.fixed();
  factory Cart.of(Map m) => Cart.named(m['a']);
  factory Cart.other() = Other.make;
  int get area => size * 2;
  set area(int value) { _set(value); }
  Cart operator +(Cart other) => Cart(size + other.size);
  bool operator [](int at) => true;
  external void native();
  void draw();
  Future<void> run(T item) async {
    await this.go(item);
    super.go(1);
    item..open()..close();
    model.Item.make();
    new Item(1); const Price.zero();
    sort<int>(3);
    item?.b(); (item as Store).save();
    List<int>.filled(1, 2);
  }
}
mixin Logs on Base { void log() {} }
extension Blank on String { bool get blank => trim().isEmpty; }
extension on int { int twice() => this * 2; }
extension type Id(int value) implements int { void check() {} }
enum Color { red, green(2); final int? n; const Color([this.n]); void paint() {} }
class Applied = Base with Logs;
"#,
        expect![[r#"
            + class Cart~0 11..38 | @immutable abstract class Cart<T> extends Base<T> with Logs, model.Sums implements Shape, Comparable<T>
            + field Cart.size~0 14..14 | final int size, _spare = 2
            - field Cart._spare~0 14..14 | final int size, _spare = 2
            + field Cart.limit~0 15..15 | static const limit = 10
            + field Cart.name~0 16..16 | late String name
            + constructor Cart.Cart~0 17..17 | Cart(this.size, {required this.name}) : super(1)
            + constructor Cart.empty~0 18..18 | Cart.empty() : this(0)
            + constructor Cart.fixed~0 19..19 | const Cart.fixed()
            + constructor Cart.of~0 20..20 | factory Cart.of(Map m)
            + constructor Cart.other~0 21..21 | factory Cart.other() = Other.make
            + method Cart.area~0 22..22 | int get area
            + method Cart.area~1 23..23 | set area(int value)
            + method Cart.+~0 24..24 | Cart operator +(Cart other)
            + method Cart.[]~0 25..25 | bool operator [](int at)
            + method Cart.native~0 26..26 | external void native()
            + method Cart.draw~0 27..27 | void draw()
            + method Cart.run~0 28..37 | Future<void> run(T item)
            + class Logs~0 39..39 | mixin Logs on Base
            + method Logs.log~0 39..39 | void log()
            + class Blank~0 40..40 | extension Blank on String
            + method Blank.blank~0 40..40 | bool get blank
            + impl impl int~0 41..41 | extension on int
            + method int.twice~0 41..41 | int twice()
            + class Id~0 42..42 | extension type Id(int value) implements int
            + field Id.value~0 42..42 | (int value)
            + method Id.check~0 42..42 | void check()
            + enum Color~0 43..43 | enum Color
            + enum_member Color.red~0 43..43 | red
            + enum_member Color.green~0 43..43 | green(2)
            + field Color.n~0 43..43 | final int? n
            + constructor Color.Color~0 43..43 | const Color([this.n])
            + method Color.paint~0 43..43 | void paint()
            + class Applied~0 44..44 | class Applied = Base with Logs;
            Extends 13:32 Base <- 
            Extends 13:45 Logs <- 
            Extends 13:57 model.Sums <- 
            Implements 13:73 Shape <- 
            Implements 13:80 Comparable <- 
            Call 17:54 init <- Cart.Cart
            Call 20:34 Cart.named <- Cart.of
            Call 23:25 _set <- Cart.area
            Call 24:34 Cart <- Cart.+
            Call 29:16 this:this.go <- Cart.run
            Call 30:11 super:super.go <- Cart.run
            Call 31:11 ?.open <- Cart.run
            Call 31:19 ?.close <- Cart.run
            Call 32:16 model.Item.make <- Cart.run
            Call 33:9 Item <- Cart.run
            Call 33:30 Price.zero <- Cart.run
            Call 34:5 sort <- Cart.run
            Call 35:11 item.b <- Cart.run local
            Call 35:32 ?.save <- Cart.run
            Call 36:15 List.filled <- Cart.run
            Extends 39:15 Base <- 
            Call 40:47 trim <- Blank.blank
            Implements 42:41 int <- 
            Extends 44:17 Base <- 
            Extends 44:27 Logs <- 
            Glob dart:async - as -
            Module package:shop/model.dart - as model
            Item src/store.dart Store as Store
            Item src/api.dart Api as Api pub
            Glob src/all.dart - as - pub
            SideEffect cart.g.dart - as -
        "#]],
    );
}

#[test]
fn dart_functions() {
    check(
        LanguageId::DART,
        r#"
part of 'cart.dart';

typedef Compare = int Function(int);
typedef int Old(int a);
int top = 1, _other = 2;
const seven = 7;
final hook = () { run(); };
int get now => clock();
set now(int value) {}
external int native();

/// The start.
void main(List<String> args, [int? count]) {
  var local = 1;
  final (a, b) = pair();
  int inner(int z) { return z + a(); }
  inner(1);
  print('hi ${label(1)} $local');
  for (var item in args) { item.go(); }
  try { risky(); } on E catch (e, trace) { e.show(); trace(); }
  args.map((v) => v.trim()).toList();
  switch (args) { case Foo(:var bar): bar.run(); }
  local?.call();
  list[0].go();
  found!.use();
}

void tests() {
  group('cart', () {
    test('adds', () { expect(add(1), 2); });
  });
}
"#,
        expect![[r#"
            + type_alias Compare~0 4..4 | typedef Compare = int Function(int);
            + type_alias Old~0 5..5 | typedef int Old(int a);
            + variable top~0 6..6 | int top = 1, _other = 2;
            - variable _other~0 6..6 | int top = 1, _other = 2;
            + constant seven~0 7..7 | const seven = 7;
            + function hook~0 8..8 | final hook = ()
            + function now~0 9..9 | int get now
            + function now~1 10..10 | set now(int value)
            + function native~0 11..11 | external int native();
            + function main~0 13..27 | void main(List<String> args, [int? count])
            + function main.inner~0 17..17 | int inner(int z)
            + function tests~0 29..33 | void tests()
            - test tests.cart~0 30..32 | group('cart', () { test('adds', () { expect(add(1), 2); }); })
            - test tests.cart.adds~0 31..31 | test('adds', () { expect(add(1), 2); })
            Call 8:19 run <- hook
            Call 9:16 clock <- now
            Call 16:18 pair <- main
            Call 17:33 a <- main.inner local
            Call 18:3 inner <- main
            Call 19:3 print <- main
            Call 19:15 label <- main
            Call 20:33 item.go <- main local
            Call 21:9 risky <- main
            Call 21:46 e.show <- main local
            Call 21:54 trace <- main local
            Call 22:8 args.map <- main local
            Call 22:21 v.trim <- main local
            Call 22:29 args.map().toList <- main local
            Call 23:43 bar.run <- main local
            Call 24:10 local.call <- main local
            Call 25:11 list[].go <- main
            Call 26:10 found.use <- main
            Call 30:3 group <- tests
            Call 31:5 test <- tests.cart
            Call 31:23 expect <- tests.cart.adds
            Call 31:30 add <- tests.cart.adds
            Module cart.dart - as -
        "#]],
    );
}
