// SPDX-License-Identifier: MIT
// Constructs that the rule list names and other programs here do not have: what may stand in a
// tamed function's head and body, macros, conditionals, and rules C5, A8, R6 and K5.
// out: all held
// err: another function waits on this rendezvous already
// err: abandoned-event
#include <tamer/tamer.hh>

#include <algorithm>
#include <concepts>
#include <functional>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "check.h"

#define PAUSE twait { tamer::at_asap(make_event()); }
#define TWO_PAUSES PAUSE PAUSE
#define BY(field) [](const item& a, const item& b) { return a.field < b.field; }
#define WHEN(c, code) do { if (c) code } while (0)
#define LEAVE_IF(c, done) do { if (c) { done(); return; } } while (0)
#define HANDLER(name) tamed void name(int x, tamer::event<int> e)

namespace deep::er {

// Heads.
tamed auto trailing(int x, tamer::event<int> e) -> void {
  PAUSE
  e(x);
}
template <class T> requires std::integral<T> && requires(T t) { t + 1; }
tamed void constrained(T x, tamer::event<T> e) {
  PAUSE
  e(x + 1);
}
template <class... Ts> tamed void variadic(tamer::event<int> e, Ts... all) {
  tvars { int sum = (0 + ... + all); }
  PAUSE
  e(sum + int(sizeof...(all)));
}
[[maybe_unused]] static inline tamed void attributed([[maybe_unused]] int unused, tamer::event<> e) {
  PAUSE
  e();
}
tamed void by_function(std::function<void(int, tamer::event<int>)> f,
                       void (*g)(int, tamer::event<int>), decltype(1 + 1) x, tamer::event<int> e) {
  tvars { int a(0), b(0); }
  twait { f(x, make_event(a)); g(x, make_event(b)); }
  e(a + b);
}
tamed void moved(std::unique_ptr<int>&& p, tamer::event<int> e) {
  tvars { std::unique_ptr<int> mine(std::move(p)); auto kept = std::make_pair(*mine, 'x'); }
  PAUSE
  auto& [number, letter] = kept;
  e(*mine + number + (letter == 'x'));
}
HANDLER(by_macro) {
  if (x == 0) PAUSE
  e(x * 3);
}

class closed : public tamer::tamed_class {
 public:
  friend tamed void looks_inside(closed& c, tamer::event<int> e);
  tamed void in_class(tamer::event<int> e) & {
    PAUSE
    e(++value_);
  }
  tamed void operator()(int x, tamer::event<int> e) {
    PAUSE
    e(value_ + x);
  }

 private:
  int value_ = 10;
};
tamed void looks_inside(closed& c, tamer::event<int> e) {
  PAUSE
  e(c.value_);
}

}  // namespace deep::er

tamed void heads(tamer::event<> done) {
  tvars { int a, b, c; deep::er::closed o; }
  twait { deep::er::trailing(4, make_event(a)); deep::er::constrained(5, make_event(b)); }
  check(a == 4 && b == 6);
  twait { deep::er::variadic(make_event(a), 1, 2, 3); deep::er::variadic(make_event(b)); }
  check(a == 9 && b == 0);
  twait {
    deep::er::attributed(1, make_event());
    deep::er::by_function(&deep::er::trailing, deep::er::trailing, 7, make_event(a));
    deep::er::moved(std::make_unique<int>(8), make_event(b));
    deep::er::by_macro(0, make_event(c));
  }
  check(a == 14 && b == 17 && c == 0);
  twait { o.in_class(make_event(a)); }
  twait { o(5, make_event(b)); looks_inside(o, make_event(c)); }
  check(a == 11 && b == 16 && c == 11);
  done();
}

// Bodies.
/* TAME_OFF */
struct not_ours {
  int twait = 3, tamed = 4;
  int make_event() const { return twait + tamed; }
};
/* TAME_ON */

tamed void bodies(tamer::event<> done) {
  tvars {
    char braces[] = {'{', '"', '}', '\'', '\\'}; int n(1'000);
    std::map<std::string, int> names{{"twait {", 1}, {R"x(tamed void f() { return; })x", 2}};
    int r1, r2;
    tamer::rendezvous<int, std::string> r;
    std::string text;
  }
  tvars { const char* raw = "tvars { int x; }"; }
  struct local {
    int twice(int x) const { return 2 * x; }
  };
#if defined(NOT_DEFINED_HERE)
  twait { tamer::at_delay(1000.0, make_event()); }
#elif 1
  twait { tamer::at_asap(make_event()); }
#else
  return;
#endif
  check(braces[0] == '{' && braces[1] == '"' && n == 1000 && names.size() == 2 && raw[0] == 't');
  auto half = [](int x) { return x / 2; };
  check(half(local().twice(5)) == 5 && not_ours().make_event() == 7);
  for (const auto& [name, number] : names) {
    PAUSE
    check(number == 1 || number == 2);
    if (name.empty()) goto out;
  }
  for (r1 = 0; r1 < 2; ++r1)
    twait ["turn " + std::to_string(r1)] { tamer::at_asap(make_event()); }
  try {
    PAUSE
    try {
      PAUSE
      throw std::runtime_error("inner");
    } catch (const std::runtime_error&) {
      text = "caught";
    }
    PAUSE
  } catch (...) {
    check(false);
  }
  check(text == "caught");
  make_event(r, 3, std::string("three"))();
  twait(r, r2, text);  // two ids
  check(r2 == 3 && text == "three");
  r.make_event(4, "four")();
  if (r2 == 3) twait(r); else twait(r, r2, text);
  check(!r.has_events());
  LEAVE_IF(r2 == 3, done);
out:
  check(false);
}

// C5, A8, R6.
static tamer::rendezvous<> shared;
static int refused = 0;

tamed void waits_too(tamer::event<> done) {
  try {
    twait(shared);
  } catch (const std::logic_error& e) {
    ++refused;
    std::fprintf(stderr, "%s\n", e.what());
  }
  done();
}

struct item { int size; };

// Macros with lambdas, waits and other macros in them.
tamed void macros(bool leave, tamer::event<> done) {
  tvars { std::vector<item> all; }
  if (leave) { done(); return; }
  all = {{3}, {1}, {2}};
  std::sort(all.begin(), all.end(), BY(size));
  TWO_PAUSES
  WHEN(all.size() == 3, twait { tamer::at_asap(make_event()); });
  check(all[0].size == 1 && all[2].size == 3);
  done();
}
tamed template <typename T> twice(T x, tamer::event<T> done) { PAUSE done(x + x); }

tamed void more_macros(tamer::event<> done) {
  tvars { int i(0); }
  twait { macros(false, make_event()); }
  twait { macros(true, make_event()); }
  twait { twice(4, make_event(i)); }
  check(i == 8);
  done();
}

tamed void rules(tamer::event<> done) {
  tvars { tamer::event<> e; tamer::rendezvous<> r; int i(0); }
  {
    tamer::event<> both = make_event(r) + make_event(r);  // C5: its parts are dropped with it
  }
  twait(r);
  twait(r);
  {
    tamer::event<int> moved = make_event(r, i);  // A8: an event that was made a moment ago
    tamer::event<int> other(std::move(moved));
    check(!moved && other);
    other(5);
  }
  twait(r);
  check(i == 5);
  twait {
    waits_too(make_event());
    waits_too(make_event());  // R6
    make_event(shared)();
  }
  check(refused == 1);
  done();
}

tamed void everything() {
  twait { heads(make_event()); }
  twait { bodies(make_event()); }
  twait { more_macros(make_event()); }
  twait { rules(make_event()); }
}

int main() {
  tamer::initialize();
  everything();
  tamer::loop();
  tamer::cleanup();
  return end_of_checks();
}
