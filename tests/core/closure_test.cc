// SPDX-License-Identifier: MIT
// Lambdas with captures, wherever the library keeps them as long as their task runs: each capture
// is alive while the task is, and is destroyed once.
#include "heddle/core/detail/closure.hh"

#include <memory>
#include <string>

#include "heddle/core/hedged.hh"
#include "heddle/heddle.hh"
#include "support/test.hh"
#include "support/virtual_runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::test::virtual_runtime;

namespace {

/// Counts its objects, and owns memory, so that an end too many is seen.
class captured {
 public:
  explicit captured(int n) : value_(std::make_shared<int>(n)) { ++live; }
  captured(const captured& other) : value_(other.value_) { ++live; }
  ~captured() { --live; }
  [[nodiscard]] int value() const { return *value_; }
  static inline int live = 0;

 private:
  std::shared_ptr<int> value_;
};

}  // namespace

HEDDLE_TEST(closure, "spawn keeps a lambda with its captures until the task has ended") {
  captured::live = 0;
  virtual_runtime v;
  int sum = 0;
  v.rt.run([&]() -> task<> {
    scope s;
    for (int i = 1; i <= 3; ++i) {
      captured c(i);
      s.spawn([&, c, i]() -> task<> {
        co_await sleep_for(1ms);
        sum += c.value() * i;
      });
      s.spawn(color(5), [&, c]() -> task<> {
        co_await sleep_for(1ms);
        sum += c.value();
      });
    }
    EXPECT_EQ(captured::live, 6);
    co_await s.join();
    EXPECT_EQ(sum, 14 + 6);
    spawn([&sum, c = captured(4)]() -> task<> {
      co_await sleep_for(1ms);
      sum = c.value();
    });
    co_await sleep_for(2ms);
  });
  EXPECT_EQ(sum, 4);
  v.rt.spawn([&sum, c = captured(5)]() -> task<> {
    co_await sleep_for(1ms);
    sum = c.value();
  });
  v.rt.run();
  EXPECT_EQ(sum, 5);
  EXPECT_EQ(captured::live, 0);
}

HEDDLE_TEST(closure, "start keeps a lambda with its captures") {
  captured::live = 0;
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    rendezvous<> r;
    int got = 0;
    start(
        [c = captured(6)]() -> task<int> {
          co_await sleep_for(1ms);
          co_return c.value();
        },
        r.make_event(got));
    co_await r;
    EXPECT_EQ(got, 6);
  });
  EXPECT_EQ(captured::live, 0);
}

HEDDLE_TEST(closure, "with_scope, hedged and select keep lambdas, also temporary ones") {
  captured::live = 0;
  virtual_runtime v;
  v.rt.run([]() -> task<> {
    int sum = 0;
    const int two = 2;
    co_await with_scope([&](scope& s) -> task<> {
      for (int i = 0; i < 3; ++i)
        s.spawn([&, i]() -> task<> {
          co_await yield();
          sum += two * i;
        });
      co_await yield();
    });
    EXPECT_EQ(sum, 6);
    const auto body = [&, c = captured(7)](scope& s) -> task<int> {
      s.spawn([&, c]() -> task<> {
        co_await yield();
        sum += c.value();
      });
      co_await yield();
      co_return c.value();
    };
    EXPECT_EQ(co_await with_scope(body), 7);
    EXPECT_EQ(sum, 13);
    const auto ask = [c = captured(8)](std::size_t i) -> task<int> {
      co_await sleep_for(1ms);
      co_return c.value() + static_cast<int>(i);
    };
    EXPECT_EQ(co_await hedged(2, 1s, ask), 8);
    const auto handler = [c = captured(9)]() -> task<int> {
      co_await sleep_for(1ms);
      co_return c.value();
    };
    EXPECT_EQ(co_await select(on(sleep_for(1ms), handler)), 9);
#if defined(__clang__) || __GNUC__ > 12  // GCC 12 refuses a temporary whose captures have an end
    EXPECT_EQ(co_await with_scope([c = captured(7)](scope&) -> task<int> {
                co_await yield();
                co_return c.value();
              }),
              7);
#endif
  });
  EXPECT_EQ(captured::live, 0);
}
