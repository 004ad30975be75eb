//! C and C++.

use ccd_grammars::LanguageId;
use expect_test::expect;

use super::check;

#[test]
fn c() {
    check(
        LanguageId::C,
        r#"
#include <stdio.h>
#include "store/cart.h"
#define MAX 3
#define SQUARE(x) ((x) * \
                   (x))

/* A node. */
typedef struct node { int a, *b; struct { int deep; } inner; unsigned bits : 3; int (*call)(int); char buffer[4]; } node_t, *node_p;
typedef struct { int x; } point;
typedef enum { LEFT, RIGHT = 2 } side;
typedef int (*handler)(void *, int);
typedef unsigned long ulong_t;
struct forward;
union number { int i; float f; };
enum color { RED, GREEN } current;
enum { ALONE = 1 };
extern int declared(int a);
static int *pointer(void);
int (*hook)(int) = declared;
static const struct ops table = { .open = my_open };
static struct { int count; } state;
int row[3], last = 2;

/* Old style. */
int old(a, b) int a; char *b; { return a; }
static inline int add(int a, int b)
{
    int c = SQUARE(a);
    struct node n = {0};
    int inner(int);
    n.call(1); table.open(2); p->x->f(3); (*hook)(1); ((handler)q)(2);
    return declared(c) + pointer() + inner(2);
}
int (*getter(int w))(int) { return hook; }
#ifdef FAST
int half(int a)
#else
int half(long a)
#endif
{
    return rest(a);
}
MODULE_API(int) exported(int a) { return a; }
PyAPI_FUNC(int) Py_Declared(void);
__attribute__((noreturn)) void die(void);
static void __init setup(void) { go(); }
static PyMethodDef methods[] = { {"a", (PyCFunction)add, 0}, };
"#,
        expect![[r#"
            + macro MAX~0 4..4 | #define MAX 3
            + macro SQUARE~0 5..6 | #define SQUARE(x) ((x) * \ (x))
            + type_alias node_t~0 8..9 | typedef struct node { int a, *b; struct { int deep; } inner; unsigned bits : 3; int (*call)(int); char buffer[4]; } node_t, *node_p;
            + type_alias node_p~0 9..9 | typedef struct node { int a, *b; struct { int deep; } inner; unsigned bits : 3; int (*call)(int); char buffer[4]; } node_t, *node_p;
            + struct node~0 9..9 | struct node
            + field node::a~0 9..9 | int a, *b;
            + field node::b~0 9..9 | int a, *b;
            + field node::inner~0 9..9 | struct
            + field node::inner::deep~0 9..9 | int deep;
            + field node::bits~0 9..9 | unsigned bits : 3;
            + field node::call~0 9..9 | int (*call)(int);
            + field node::buffer~0 9..9 | char buffer[4];
            + struct point~0 10..10 | typedef struct { int x; } point;
            + field point::x~0 10..10 | int x;
            + enum side~0 11..11 | typedef enum { LEFT, RIGHT = 2 } side;
            + enum_member side::LEFT~0 11..11 | LEFT
            + enum_member side::RIGHT~0 11..11 | RIGHT = 2
            + type_alias handler~0 12..12 | typedef int (*handler)(void *, int);
            + type_alias ulong_t~0 13..13 | typedef unsigned long ulong_t;
            + struct number~0 15..15 | union number
            + field number::i~0 15..15 | int i;
            + field number::f~0 15..15 | float f;
            + variable current~0 16..16 | enum color { RED, GREEN } current;
            + enum color~0 16..16 | enum color
            + enum_member color::RED~0 16..16 | RED
            + enum_member color::GREEN~0 16..16 | GREEN
            + enum_member ALONE~0 17..17 | ALONE = 1
            + function declared~0 18..18 | extern int declared(int a);
            - function pointer~0 19..19 | static int *pointer(void);
            + variable hook~0 20..20 | int (*hook)(int) = declared;
            - constant table~0 21..21 | static const struct ops table = { .open = my_open };
            - variable state~0 22..22 | static struct
            + field state::count~0 22..22 | int count;
            + variable row~0 23..23 | int row[3], last = 2;
            + variable last~0 23..23 | int row[3], last = 2;
            + function old~0 25..26 | int old(a, b) int a; char *b;
            - function add~0 27..34 | static inline int add(int a, int b)
            + function getter~0 35..35 | int (*getter(int w))(int)
            + function half~0 37..43 | int half(int a) #else int half(long a) #endif
            + function half~1 39..41 | int half(long a) #endif
            + function exported~0 44..44 | MODULE_API(int) exported(int a)
            + function Py_Declared~0 45..45 | PyAPI_FUNC(int) Py_Declared(void);
            + function die~0 46..46 | __attribute__((noreturn)) void die(void);
            - function setup~0 47..47 | static void __init setup(void)
            - variable methods~0 48..48 | static PyMethodDef methods[] = { {"a", (PyCFunction)add, 0}, };
            Call 29:13 SQUARE <- add
            Call 32:7 n.call <- add local
            Call 32:22 table.open <- add
            Call 32:37 p.x.f <- add
            Call 32:45 hook <- add
            Call 33:12 declared <- add
            Call 33:26 pointer <- add
            Call 33:38 inner <- add local
            Call 42:12 rest <- half
            Call 47:34 go <- setup
            Glob <stdio.h> - as -
            Glob store/cart.h - as -
        "#]],
    );
}

#[test]
fn cpp() {
    check(
        LanguageId::CPP,
        r#"
#include "box.hpp"
EXTERN_C_BEGIN
namespace a::b {
namespace { int hidden; }
/// A box.
template <typename T> class Box : public Base<T>, private virtual ns::Other {
  Q_OBJECT
public:
  Box() : x(1), Base<T>(2) { init(); }
  explicit Box(int a);
  virtual ~Box();
  virtual void pure() = 0;
  void over() override { this->go(); Base<T>::over(); }
  Box &operator=(const Box &) = default;
  bool operator==(const Box &o) const { return true; }
  operator bool() const;
  template <class U> void each(U u) { apply<U>(u); }
  static int count; int y{2}, z = 3;
  using value_type = T;
  enum class Kind { A, B };
  struct Inner { void in() {} };
  friend void swap(Box &a, Box &b) { }
  int *data() { return nullptr; }
  const T &ref() const;
};
}
class API Exported final : public Base { void run(); };
using Alias = a::b::Box<int>;
template <class T> using List = std::vector<T>;
void a::b::Box::fill(int q)
{
    bar(); ns::f(); A::B::g(); ::top(); obj.m(); ptr->n(); new Item(1); auto p = Item{2};
    std::make_unique<Item>(3);
    auto each = [&](int v) { visit(v); };
    each(1);
    Widget widget(q);
    for (auto &v : xs) v.f();
    try { } catch (const Error &e) { e.what(); }
}
template <typename T> Box<T>::Box(int a) {}
template <typename T> Box<T>::~Box() {}
int &Table::operator[](int i) { return row[i]; }
Table::operator int() { return 1; }
extern "C" { int c_declared(int a); void c_defined() {} }
class Forward;
enum class Hue : int { Red, Blue };
struct Pair { int x; } pair;
constexpr int Limit = 1;
auto trailing(int a) -> int { return a; }
template <class T> concept Runs = requires(T t) { t.run(); };
template <> struct Box<int> { void special(); };
TEST_F(CartTest, Adds) { EXPECT_EQ(1, add()); }
auto [first, second] = both();
std::function<void()> callback = [] { run(); };
"#,
        expect![[r#"
            + module a::b~0 4..27 | namespace a::b
            + variable a::b::hidden~0 5..5 | int hidden;
            + class a::b::Box~0 6..26 | class Box : public Base<T>, private virtual ns::Other
            + constructor a::b::Box::Box~0 10..10 | Box() : x(1), Base<T>(2)
            + constructor a::b::Box::Box~1 11..11 | explicit Box(int a);
            + method a::b::Box::~Box~0 12..12 | virtual ~Box();
            + method a::b::Box::pure~0 13..13 | virtual void pure() = 0;
            + method a::b::Box::over~0 14..14 | void over() override
            + method a::b::Box::operator=~0 15..15 | Box &operator=(const Box &) = default;
            + method a::b::Box::operator==~0 16..16 | bool operator==(const Box &o) const
            + method a::b::Box::operator bool~0 17..17 | operator bool() const;
            + method a::b::Box::each~0 18..18 | void each(U u)
            + field a::b::Box::count~0 19..19 | static int count;
            + field a::b::Box::y~0 19..19 | int y{2}, z = 3;
            + field a::b::Box::z~0 19..19 | int y{2}, z = 3;
            + type_alias a::b::Box::value_type~0 20..20 | using value_type = T;
            + enum a::b::Box::Kind~0 21..21 | enum class Kind
            + enum_member a::b::Box::Kind::A~0 21..21 | A
            + enum_member a::b::Box::Kind::B~0 21..21 | B
            + struct a::b::Box::Inner~0 22..22 | struct Inner
            + method a::b::Box::Inner::in~0 22..22 | void in()
            + method a::b::Box::swap~0 23..23 | void swap(Box &a, Box &b)
            + method a::b::Box::data~0 24..24 | int *data()
            + method a::b::Box::ref~0 25..25 | const T &ref() const;
            + class Exported~0 28..28 | class API Exported final : public Base
            + method Exported::run~0 28..28 | void run();
            + type_alias Alias~0 29..29 | using Alias = a::b::Box<int>;
            + type_alias List~0 30..30 | using List = std::vector<T>;
            + method a::b::Box::fill~0 31..40 | void a::b::Box::fill(int q)
            + constructor Box::Box~0 41..41 | Box<T>::Box(int a)
            + method Box::~Box~0 42..42 | Box<T>::~Box()
            + method Table::operator[]~0 43..43 | int &Table::operator[](int i)
            + method Table::operator int~0 44..44 | Table::operator int()
            + function c_declared~0 45..45 | int c_declared(int a);
            + function c_defined~0 45..45 | void c_defined()
            + enum Hue~0 47..47 | enum class Hue : int
            + enum_member Hue::Red~0 47..47 | Red
            + enum_member Hue::Blue~0 47..47 | Blue
            + variable pair~0 48..48 | struct Pair { int x; } pair;
            + struct Pair~0 48..48 | struct Pair
            + field Pair::x~0 48..48 | int x;
            + constant Limit~0 49..49 | constexpr int Limit = 1;
            + function trailing~0 50..50 | auto trailing(int a) -> int
            + trait Runs~0 51..51 | concept Runs = requires(T t) { t.run(); };
            + struct Box~0 52..52 | struct Box<int>
            + method Box::special~0 52..52 | void special();
            - test CartTest::Adds~0 53..53 | TEST_F(CartTest, Adds)
            + variable first~0 54..54 | auto [first, second] = both();
            + variable second~0 54..54 | auto [first, second] = both();
            + variable callback~0 55..55 | std::function<void()> callback = [] { run(); };
            Extends 7:42 Base <- 
            Extends 7:71 ns::Other <- 
            Call 10:30 init <- a::b::Box::Box
            Call 14:32 this:this.go <- a::b::Box::over
            Call 14:47 Base::over <- a::b::Box::over
            Call 18:39 apply <- a::b::Box::each
            Extends 28:35 Base <- 
            Call 33:5 bar <- a::b::Box::fill
            Call 33:16 ns::f <- a::b::Box::fill
            Call 33:27 A::B::g <- a::b::Box::fill
            Call 33:34 top <- a::b::Box::fill
            Call 33:45 obj.m <- a::b::Box::fill
            Call 33:55 ptr.n <- a::b::Box::fill
            New 33:64 Item <- a::b::Box::fill
            New 33:82 Item <- a::b::Box::fill
            Call 34:10 std::make_unique <- a::b::Box::fill
            Call 35:30 visit <- a::b::Box::fill
            Call 36:5 each <- a::b::Box::fill local
            Call 38:26 v.f <- a::b::Box::fill local
            Call 39:40 e.what <- a::b::Box::fill local
            Call 51:53 t.run <- 
            Call 53:26 EXPECT_EQ <- CartTest::Adds
            Call 53:39 add <- CartTest::Adds
            Call 54:24 both <- 
            Call 55:39 run <- 
            Glob box.hpp - as -
        "#]],
    );
}

#[test]
fn a_header_of_cpp() {
    check(
        LanguageId::C,
        r#"
/* class of its own: no C++ */
#ifndef X_H
namespace x {
class Thing { void f() { g(); } };
}
#endif
"#,
        expect![[r#"
            + module x~0 4..6 | namespace x
            + class x::Thing~0 5..5 | class Thing
            + method x::Thing::f~0 5..5 | void f()
            Call 5:26 g <- x::Thing::f
        "#]],
    );
}

#[test]
fn what_only_the_preprocessor_understands() {
    check(
        LanguageId::C,
        r#"
#define ALL "refs/*:refs/*"
ZEXTERN int ZEXPORT inflate OF((int stream, int flush));
EXTERN_C_BEGIN
API void *(*allocate)(int);
typedef int CALLBACK(on_event)(int a);
const int PRIVATE(table)[] = { 1, 2 };
DWORD WINAPI start(void *p) { run(p); return 1; }
int locked(void) REQUIRES(mutex);
EXTERN_C_END
#ifdef FAST
int shared(int a) {
  if (a) {
#else
int shared(long a) {
  if (a < 0) {
#endif
    common(a);
  }
  return PLAIN(a);
}
DEFINE_FLAG(int, size, 256 << 10, "bytes")
enum method {
#define XX(name) name,
  METHODS(XX)
#undef XX
  LAST
};
#if 0
int never(void) { return gone(); }
#else
static int always(void) { return here(); }
#endif
void after(void) { if (x) CHECKED(y); }
"#,
        expect![[r#"
            + macro ALL~0 2..2 | #define ALL "refs/*:refs/*"
            + function inflate~0 3..3 | int ZEXPORT inflate OF((int stream, int flush));
            + variable allocate~0 5..5 | API void *(*allocate)(int);
            + type_alias on_event~0 6..6 | typedef int CALLBACK(on_event)(int a);
            + constant table~0 7..7 | const int PRIVATE(table)[] = { 1, 2 };
            + function start~0 8..8 | DWORD WINAPI start(void *p)
            + function locked~0 9..9 | int locked(void) REQUIRES(mutex);
            + function shared~0 12..21 | int shared(int a)
            + function shared~1 15..15 | int shared(long a)
            + enum method~0 23..28 | enum method
            + macro XX~0 24..24 | #define XX(name) name,
            + enum_member method::LAST~0 27..27 | LAST
            + function never~0 30..30 | int never(void)
            - function always~0 32..32 | static int always(void)
            + function after~0 34..34 | void after(void)
            Call 8:31 run <- start
            Call 18:5 common <- shared
            Call 20:10 PLAIN <- shared
            Call 22:1 DEFINE_FLAG <- 
            Call 25:3 METHODS <- 
            Call 30:26 gone <- never
            Call 32:34 here <- always
            Call 34:27 CHECKED <- after
        "#]],
    );
    check(
        LanguageId::CPP,
        r#"
namespace absl VISIBILITY(default) {
ABSL_NAMESPACE_BEGIN
class LOCKABLE ATTRIBUTE_WARN("x") Mutex final : public Base {
 public:
  void Lock() EXCLUSIVE_LOCK_FUNCTION();
  int size() const LIFETIME_BOUND { return size_; }
 private:
  int size_;
};
ABSL_NAMESPACE_END
}  // namespace absl
"#,
        expect![[r#"
            + module absl~0 2..12 | namespace absl VISIBILITY(default)
            + class absl::Mutex~0 4..10 | class LOCKABLE ATTRIBUTE_WARN("x") Mutex final : public Base
            + method absl::Mutex::Lock~0 6..6 | void Lock() EXCLUSIVE_LOCK_FUNCTION();
            + method absl::Mutex::size~0 7..7 | int size() const LIFETIME_BOUND
            + field absl::Mutex::size_~0 9..9 | int size_;
            Extends 4:57 Base <- 
        "#]],
    );
}
