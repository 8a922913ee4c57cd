// SPDX-License-Identifier: MIT
// Binding, unbinding and raising, without a runtime: order, arguments, halting, nesting,
// exceptions, and what happens when handlers change the bindings of a raise that is under way.
#include "heddle/bus/bus.hh"

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/test.hh"

namespace {

using namespace heddle;

struct trace : topic<std::string&> {};
struct number : topic<int> {};
struct nothing : topic<> {};
struct pressed_key : haltable_topic<int> {};
struct text : topic<std::string> {};
struct handed : haltable_topic<std::unique_ptr<int>&> {};

template <class T>
concept can_wait_for = requires(bus& b) { b.next<T>(); };

void append_f(std::string& out) { out += 'f'; }
void append_value(std::string& out, char c, int n) { out.append(static_cast<std::size_t>(n), c); }

class part {
 public:
  explicit part(char c) : c_(c) {}
  void attach(bus& b, int order) { b.bind<trace, &part::append>(this, order); }
  void later(std::string& out, const std::string& suffix) const { out += c_ + suffix; }

 private:
  void append(std::string& out) { out += c_; }
  char c_;
};

std::string raised(bus& b) {
  std::string out;
  b.raise<trace>(out);
  return out;
}

HEDDLE_TEST(topic, "handlers run in ascending order, ties in the order of binding") {
  bus b;
  b.bind<trace>([](std::string& out) { out += 'c'; }, 20);
  b.bind<trace>([](std::string& out) { out += 'a'; }, -5);
  b.bind<trace>([](std::string& out) { out += 'd'; }, 20);
  b.bind<trace>([](std::string& out) { out += 'b'; });
  EXPECT_EQ(raised(b), "abcd");
  EXPECT_EQ(b.handlers<trace>(), 4u);
}

HEDDLE_TEST(topic, "functions, private members, and closures with state are handlers") {
  bus b;
  part p('p');
  int count = 0;
  b.bind<trace, &append_f>(1);
  p.attach(b, 2);
  b.bind<trace>([&count](std::string& out) { out += std::to_string(++count); }, 3);
  b.bind<trace>(&append_f, 4);
  EXPECT_EQ(raised(b), "fp1f");
  EXPECT_EQ(raised(b), "fp2f");
}

HEDDLE_TEST(topic, "arguments given to bind come behind the topic's") {
  bus b;
  part p('p');
  b.bind<trace, &append_value>(1, 'x', 3);
  b.bind<trace, &part::later>(&p, 2, std::string("!"));
  b.bind<trace>([](std::string& out, const std::string& more) { out += more; }, 3,
                std::string("end"));
  EXPECT_EQ(raised(b), "xxxp!end");
}

HEDDLE_TEST(topic, "a raise without handlers does nothing") {
  bus b;
  b.raise<nothing>();
  EXPECT_EQ(b.raise<pressed_key>(3), flow::go_on);
  EXPECT_EQ(b.handlers<nothing>(), 0u);
}

HEDDLE_TEST(topic, "handlers share the reference that was raised, and convert values") {
  bus b;
  long sum = 0;
  b.bind<number>([&sum](long n) { sum += n; });
  b.bind<number>([&sum](short n) { sum += n; });
  b.raise<number>(short{20});
  EXPECT_EQ(sum, 40);
}

HEDDLE_TEST(topic,
            "a large argument by value is not copied by a raise: handlers see the raiser's") {
  bus b;
  const char* first = nullptr;
  b.bind<text>([&first](const std::string& s) { first = s.data(); });
  b.bind<text>([&first](const std::string& s) { EXPECT_EQ(first, s.data()); });
  const std::string kept(100, 'x');
  b.raise<text>(kept);
  EXPECT_EQ(first, kept.data());
}

HEDDLE_TEST(topic, "two buses do not see each other") {
  bus a;
  bus b;
  a.bind<trace>([](std::string& out) { out += 'a'; });
  b.bind<trace>([](std::string& out) { out += 'b'; });
  EXPECT_EQ(raised(a) + raised(b), "ab");
}

template <int N>
struct many : topic<int&> {};

template <int... N>
void bind_many(bus& b, std::integer_sequence<int, N...>) {
  (b.bind<many<N>>([](int& sum) { sum += N; }), ...);
}
template <int... N>
int raise_many(bus& b, std::integer_sequence<int, N...>) {
  int sum = 0;
  (b.raise<many<N>>(sum), ...);
  return sum;
}

HEDDLE_TEST(topic, "a bus of hundreds of topics finds each of them") {
  bus b;
  bind_many(b, std::make_integer_sequence<int, 200>());
  EXPECT_EQ(raise_many(b, std::make_integer_sequence<int, 200>()), 200 * 199 / 2);
}

HEDDLE_TEST(topic, "topics that are named alike in two functions are two topics") {
  bus b;
  int sum = 0;
  [&] {
    struct local : topic<> {};
    b.bind<local>([&sum] { sum += 1; });
  }();
  [&] {
    struct local : topic<> {};
    b.raise<local>();
    b.bind<local>([&sum] { sum += 10; });
    b.raise<local>();
  }();
  EXPECT_EQ(sum, 10);
}

HEDDLE_TEST(topic, "a handler of a haltable topic ends the raise, and the raiser is told") {
  bus b;
  std::string out;
  b.bind<pressed_key>([&](int) { out += 'a'; }, 1);
  b.bind<pressed_key>(
      [&](int k) {
        out += 'b';
        return k == 27 ? flow::halt : flow::go_on;
      },
      2);
  b.bind<pressed_key>([&](int) { out += 'c'; }, 3);
  EXPECT_EQ(b.raise<pressed_key>(1), flow::go_on);
  EXPECT_EQ(b.raise<pressed_key>(27), flow::halt);
  EXPECT_EQ(out, "abcab");
}

HEDDLE_TEST(topic, "a halt ends its own raise, not the one that raised it") {
  bus b;
  std::string out;
  b.bind<pressed_key>([](int) { return flow::halt; }, 1);
  b.bind<trace>([&b](std::string&) { b.raise<pressed_key>(1); }, 1);
  b.bind<trace>([](std::string& s) { s += 'z'; }, 2);
  EXPECT_EQ(raised(b), "z");
}

HEDDLE_TEST(topic, "unbind takes effect at once, also for the raise that is under way") {
  bus b;
  binding last;
  b.bind<trace>(
      [&](std::string& out) {
        out += 'a';
        EXPECT_TRUE(b.unbind(last));
        EXPECT_FALSE(b.unbind(last));
        EXPECT_EQ(b.handlers<trace>(), 2u);
      },
      1);
  b.bind<trace>([](std::string& out) { out += 'b'; }, 2);
  last = b.bind<trace>([](std::string& out) { out += 'c'; }, 3);
  EXPECT_EQ(raised(b), "ab");
  EXPECT_EQ(b.handlers<trace>(), 2u);
  EXPECT_FALSE(b.unbind(last));
  EXPECT_FALSE(b.unbind(binding{}));
}

HEDDLE_TEST(topic, "an object may unbind itself and go inside its handler") {
  struct one_shot {
    bus& b;
    binding own{};
    void run(std::string& out) {
      out += 'o';
      b.unbind(own);
      delete this;
    }
  };
  bus b;
  auto* shot = new one_shot{b};
  shot->own = b.bind<trace, &one_shot::run>(shot, 1);
  b.bind<trace>([](std::string& out) { out += 'z'; }, 2);
  EXPECT_EQ(raised(b), "oz");
  EXPECT_EQ(raised(b), "z");
}

HEDDLE_TEST(topic, "a closure that unbinds itself lives until the outermost raise has ended") {
  bus b;
  auto witness = std::make_shared<int>(7);
  binding own;
  own = b.bind<trace>([&b, &own, kept = witness](std::string& out) {
    b.unbind(own);
    out += std::to_string(*kept);
  });
  EXPECT_EQ(witness.use_count(), 2);
  EXPECT_EQ(raised(b), "7");
  EXPECT_EQ(witness.use_count(), 1);
}

HEDDLE_TEST(topic, "a handler bound during a raise runs from the next outermost raise on") {
  bus b;
  bool bound = false;
  b.bind<trace>(
      [&](std::string& out) {
        out += 'a';
        if (bound) return;
        bound = true;
        b.bind<trace>([](std::string& s) { s += 'n'; }, 0);
        b.raise<trace>(out);  // nested: still the old bindings
      },
      1);
  EXPECT_EQ(raised(b), "aa");
  EXPECT_EQ(raised(b), "na");
}

HEDDLE_TEST(topic, "what is bound during a raise can be unbound in the same raise") {
  bus b;
  auto witness = std::make_shared<int>(0);
  b.bind<trace>([&](std::string&) {
    const binding n = b.bind<trace>([witness](std::string& s) { s += 'n'; });
    EXPECT_EQ(b.handlers<trace>(), 2u);
    EXPECT_TRUE(b.unbind(n));
    EXPECT_FALSE(b.unbind(n));
    EXPECT_EQ(b.handlers<trace>(), 1u);
  });
  EXPECT_EQ(raised(b) + raised(b), "");
  EXPECT_EQ(b.handlers<trace>(), 1u);
  EXPECT_EQ(witness.use_count(), 1);
}

HEDDLE_TEST(topic, "unbind_all takes an object's handlers from every topic") {
  struct both {
    void on_text(std::string& out) { out += 'x'; }
    void on_number(int) { ADD_FAILURE() << "unbound"; }
  };
  bus b;
  both one;
  both two;
  b.bind<trace, &both::on_text>(&one);
  b.bind<number, &both::on_number>(&one);
  b.bind<trace, &both::on_text>(&two);
  EXPECT_EQ(b.unbind_all(&one), 2u);
  EXPECT_EQ(b.unbind_all(&one), 0u);
  b.raise<number>(1);
  EXPECT_EQ(raised(b), "x");
}

HEDDLE_TEST(topic, "a topic may be raised inside its own handlers") {
  bus b;
  std::string out;
  b.bind<number>(
      [&](int n) {
        out += std::to_string(n);
        if (n > 0) b.raise<number>(n - 1);
      },
      1);
  b.bind<number>([&](int n) { out += static_cast<char>('a' + n); }, 2);
  b.raise<number>(2);
  EXPECT_EQ(out, "210abc");
}

HEDDLE_TEST(topic, "a raise inside of a raise of other topics finds topics bound meanwhile") {
  bus b;
  std::string out;
  b.bind<trace>([&](std::string&) {
    bind_many(b, std::make_integer_sequence<int, 60>());  // the table grows
    EXPECT_EQ(raise_many(b, std::make_integer_sequence<int, 60>()), 0);
  });
  b.bind<trace>([](std::string& s) { s += 'e'; }, 1);
  EXPECT_EQ(raised(b), "e");
  EXPECT_EQ(raise_many(b, std::make_integer_sequence<int, 60>()), 60 * 59 / 2);
}

HEDDLE_TEST(topic, "an exception ends the raises it passes through and leaves the bus as it was") {
  bus b;
  bool thrown = false;
  b.bind<trace>([&](std::string& out) {
    b.bind<trace>([](std::string& s) { s += 'n'; }, 5);
    out += 'a';
    if (!std::exchange(thrown, true)) throw std::runtime_error("no");
  });
  b.bind<trace>([](std::string& out) { out += 'b'; }, 1);
  b.bind<number>([&](int) { raised(b); });
  EXPECT_THROW(b.raise<number>(1), std::runtime_error);
  EXPECT_FALSE(b.in_raise());
  EXPECT_EQ(raised(b), "abn");
}

HEDDLE_TEST(topic, "binding beyond the limit is refused with the limit's name") {
  bus b({.handlers_max = 2});
  b.bind<nothing>([] {});
  const binding second = b.bind<nothing>([] {});
  try {
    b.bind<nothing>([] {});
    ADD_FAILURE() << "bound a third handler";
  } catch (const failure& e) {
    EXPECT_EQ(e.code(), std::errc::no_buffer_space);
    EXPECT_NE(std::string(e.what()).find("bus_options::handlers_max"), std::string::npos);
  }
  b.unbind(second);
  b.bind<nothing>([] {});
  EXPECT_EQ(b.handlers<nothing>(), 2u);
}

HEDDLE_TEST(topic, "what a bus owns goes with it") {
  auto witness = std::make_shared<int>(0);
  {
    bus b;
    b.bind<nothing>([witness] {});
    b.bind<nothing>([](const std::shared_ptr<int>&) {}, 0, witness);
    EXPECT_EQ(witness.use_count(), 3);
  }
  EXPECT_EQ(witness.use_count(), 1);
}

/// Calls a function when its last copy goes: what the destructor of a closure's part does.
auto at_end(std::function<void()> f) {
  return std::shared_ptr<void>(nullptr, [f = std::move(f)](void*) { f(); });
}

HEDDLE_TEST(topic,
            "a closure that unbinds, binds and raises as it goes may do so in the bus's end") {
  int gone = 0;
  binding own;
  binding other;
  {
    bus b;
    other = b.bind<number>([kept = at_end([&gone] { ++gone; })](int) {}, 5);
    own = b.bind<trace>([kept = at_end([&] {
                           ++gone;
                           EXPECT_FALSE(b.unbind(own));
                           b.unbind(other);
                           b.bind<number>([last = at_end([&gone] { ++gone; })](int) {
                             ADD_FAILURE() << "ran when its bus had ended";
                           });
                           b.bind<pressed_key>([](int) {});
                         })](std::string&) {});
  }
  EXPECT_EQ(gone, 3);
}

HEDDLE_TEST(topic, "an argument that unbinds and binds as it goes may do so in unbind_all") {
  struct both {
    void first(int) {}
    void second(int, const std::shared_ptr<void>&) {}
  };
  bus b;
  both one;
  b.bind<number, &both::first>(&one, 0);
  const binding other = b.bind<number, &both::first>(&one, 1);
  b.bind<number, &both::second>(&one, 2, at_end([&] {
    EXPECT_FALSE(b.unbind(other));
    EXPECT_EQ(b.handlers<number>(), 0u);
    bind_many(b, std::make_integer_sequence<int, 60>());
  }));
  EXPECT_EQ(b.unbind_all(&one), 3u);
  EXPECT_EQ(raise_many(b, std::make_integer_sequence<int, 60>()), 60 * 59 / 2);
}

HEDDLE_TEST(topic, "what cannot be copied is raised by reference, but not waited for") {
  bus b;
  b.bind<handed>([](std::unique_ptr<int>& n) {
    n = std::make_unique<int>(7);
    return flow::halt;
  });
  std::unique_ptr<int> n;
  EXPECT_EQ(b.raise<handed>(n), flow::halt);
  ASSERT_NE(n, nullptr);
  EXPECT_EQ(*n, 7);
  static_assert(can_wait_for<text> && can_wait_for<trace> && can_wait_for<nothing>);
  static_assert(!can_wait_for<handed>);
}

HEDDLE_TEST(topic, "a null object is refused where it is bound") {
  bus b;
  part* none = nullptr;
  EXPECT_DEATH((b.bind<trace, &part::later>(none, 0, std::string())), "null pointer");
}

}  // namespace
