# SPDX-License-Identifier: MIT
"""What must hold at every level of optimization with every compiler, which the levels of our own
builds do not show: the stack does not grow, and variables are aligned."""

import pathlib
import tempfile
import unittest

import users_program

# The loops run in a stack of 256 KiB: GCC without -foptimize-sibling-calls needs 100 to 200 bytes
# for each task that ends at once, if nothing bounds that.
STACK = """#include <heddle/heddle.hh>
#include <heddle/core/select.hh>
#include <heddle/sync/atomically.hh>
#include <heddle/sync/channel.hh>
#include <heddle/sync/windowed.hh>
#include <sys/resource.h>
#include <unistd.h>
#include <cstdio>
#include <cstring>
using namespace heddle;

constexpr int rounds = 20'000;
task<int> one(int i) { co_return i & 1; }
task<int> two(int i) { co_return co_await one(i) + co_await one(i + 1); }
task<> nothing() { co_return; }
task<int> fails() {
  if (rounds > 0) throw 1;
  co_return 0;
}
task<int> nested(int depth) {
  const int below = depth == 0 ? 0 : co_await nested(depth - 1);
  co_return below + 1;
}
task<long> loops() {
  long sum = 0;
  for (int i = 0; i < rounds; ++i) sum += co_await one(i);
  for (int i = 0; i < rounds; ++i) sum += co_await two(i);
  for (int i = 0; i < rounds; ++i) co_await with_scope([](scope& s) -> task<> {
    s.spawn(nothing());
    co_return;
  });
  for (int i = 0; i < rounds; ++i) co_await all(one(i), two(i));
  for (int i = 0; i < rounds; ++i) co_await any(one(i), two(i));
  for (int i = 0; i < rounds; ++i) co_await select(one(i), two(i));
  for (int i = 0; i < rounds; ++i) co_await with_timeout(one(i), std::chrono::seconds(9));
  for (int i = 0; i < rounds; ++i) co_await as_expected(one(i));
  channel<int> numbers(1);
  for (int i = 0; i < rounds; ++i) {
    co_await numbers.push(i);
    sum += (co_await numbers.pop()).value() & 1;
  }
  for (int i = 0; i < rounds / 10; ++i) {
    try {
      sum += co_await fails();
    } catch (int) {
    }
  }
  windowed w(4);
  for (int i = 0; i < rounds; ++i) co_await w.spawn(nothing());
  co_await w.flush();
  sum += co_await nested(rounds);
  co_return sum;
}
int main(int, char** words) {
  rlimit limit{};
  getrlimit(RLIMIT_STACK, &limit);
  if (limit.rlim_cur != 256 * 1024) {
    limit.rlim_cur = 256 * 1024;
    setrlimit(RLIMIT_STACK, &limit);
    execv("/proc/self/exe", words);
  }
  runtime rt;
  std::printf("%ld\\n", rt.run(loops()));
}
"""

# Types that are aligned, in each place where the library keeps a program's values. GCC 12 ignores
# alignas on a variable of a coroutine, so the types have it.
ALIGNED = """#include <heddle/heddle.hh>
#include <heddle/sync/channel.hh>
#include <heddle/sync/shared_channel.hh>
#include <cstdint>
#include <cstdio>
#include <optional>
using namespace heddle;

template <std::size_t A>
struct alignas(A) aligned {
  unsigned char bytes[A];
};
int wrong = 0;
template <std::size_t A>
[[gnu::noinline]] void check(const aligned<A>& x, const char* what) {
  if (reinterpret_cast<std::uintptr_t>(&x) % A != 0 && wrong++ < 20)
    std::printf("alignas(%zu), %s: %p\\n", A, what, static_cast<const void*>(&x));
}
template <std::size_t A, int Pad>
task<aligned<A>> variable(aligned<A> parameter) {
  volatile char pad[Pad];
  pad[0] = 1;
  aligned<A> x;
  x.bytes[0] = 1;
  co_await yield();
  check(x, "a variable");
  check(parameter, "a parameter");
  co_await yield();
  x.bytes[A - 1] = pad[0];
  co_return x;
}
template <std::size_t A, int Pad>
task<> kept() {
  const aligned<A> got = co_await variable<A, Pad>({});
  check(got, "a result");
  co_await all(variable<A, Pad>({}), variable<A, Pad>({}));
  rendezvous<> r;
  aligned<A> slot{};
  auto e = r.make_event(slot);
  spawn([e](aligned<A> value) -> task<> {
    check(value, "an argument of a spawned function");
    co_await yield();
    e.trigger(value);
  }, aligned<A>{});
  co_await r;
  check(slot, "a slot");
  channel<aligned<A>> c(2);
  co_await c.push({});
  const std::optional<aligned<A>> popped = co_await c.pop();
  check(*popped, "a popped value");
  scope s;
  s.spawn(color(7), [](aligned<A> value) -> task<> {
    check(value, "an argument in another color");
    co_await yield();
    check(value, "an argument in another color");
  }, aligned<A>{});
  co_await s.join();
  const auto late = co_await with_timeout(variable<A, Pad>({}), std::chrono::seconds(9));
  check(late, "a result with a time limit");
}
template <std::size_t A>
task<> padded() {
  for (int i = 0; i < 3; ++i) {
    co_await kept<A, 1>();
    co_await kept<A, 40>();
    co_await kept<A, 200>();
    co_await kept<A, 1000>();
    co_await kept<A, 10000>();
    co_await kept<A, 70000>();
  }
}
task<> sizes() {
  co_await padded<16>();
  co_await padded<32>();
  co_await padded<64>();
  co_await padded<128>();
  co_await padded<256>();
  co_await padded<512>();
#if defined(__clang__)
  co_await padded<4096>();
#endif
}
int main() {
  runtime rt;
  rt.run(sizes());
  return wrong;
}
"""


class Levels(unittest.TestCase):
    def at_each(self, text, flags_of=lambda compiler: ()):
        for compiler in users_program.COMPILERS:
            for level in users_program.LEVELS:
                with self.subTest(compiler=compiler, level=level):
                    with tempfile.TemporaryDirectory() as folder:
                        status, said = users_program.ran(compiler, pathlib.Path(folder), text,
                                                         level, *flags_of(compiler))
                    self.assertEqual(status, 0, said[:2000])

    def test_loops_over_what_ends_at_once_do_not_grow_the_stack(self):
        self.at_each(STACK)

    def test_values_are_aligned_as_their_types_need(self):
        # What the installed CMake package adds for Clang.
        self.at_each(ALIGNED, lambda compiler: ["-fcoro-aligned-allocation"]
                     if compiler.startswith("clang") else [])


class Sanitizers(unittest.TestCase):
    def test_a_program_with_asan_links_libraries_without_it(self):
        for compiler in users_program.COMPILERS:
            with self.subTest(compiler=compiler):
                with tempfile.TemporaryDirectory() as folder:
                    status, said = users_program.ran(
                        compiler, pathlib.Path(folder), STACK.replace("20'000", "50")
                        .replace("256 * 1024", "8192 * 1024"), "-O1", "-g1",  # ASan's frames
                        "-fsanitize=address,undefined")
                self.assertEqual(status, 0, said[:2000])


if __name__ == "__main__":
    unittest.main()
