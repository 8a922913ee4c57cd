// SPDX-License-Identifier: MIT
//
// Boost.Fiber with its default round-robin scheduler; stacks from the pooled allocator, which
// its documentation recommends for many fibers. A yielding thread parks on 8 KB of stack.
#include "../harness.hh"

#include <boost/fiber/fiber.hpp>
#include <boost/fiber/operations.hpp>
#include <boost/fiber/pooled_fixedsize_stack.hpp>

#include <memory>
#include <vector>

namespace {

namespace fibers = boost::fibers;

constexpr std::size_t stack_size = 8192;

fibers::pooled_fixedsize_stack& stacks() {
  static fibers::pooled_fixedsize_stack pool(stack_size);
  return pool;
}

template <class Body>
fibers::fiber launch(Body body) {
  return fibers::fiber(fibers::launch::post, std::allocator_arg, stacks(), std::move(body));
}

double yields(long count, long threads) {
  std::vector<fibers::fiber> all;
  for (long i = 0; i < threads; ++i)
    all.push_back(launch([n = count / threads]() mutable {
      while (n-- > 0) boost::this_fiber::yield();
    }));
  const double begin = rival::cpu_ns();
  for (fibers::fiber& f : all) f.join();
  return (rival::cpu_ns() - begin) * count / (count / threads * threads);
}

double spawn_join(long count) {
  const double begin = rival::cpu_ns();
  while (count-- > 0) launch([] {}).join();
  return rival::cpu_ns() - begin;
}

// Every fiber yields once before its memory is counted.
double parked(long count) {
  const double begin = rival::resident_bytes();
  for (long i = 0; i < count; ++i)
    launch([] {
      for (;;) boost::this_fiber::yield();
    }).detach();
  boost::this_fiber::yield();
  boost::this_fiber::yield();
  return rival::resident_bytes() - begin;
}

}  // namespace

int main(int argc, char** argv) {
  return rival::run(argc, argv,
                    {{"yield_2", [](long n) { return yields(n, 2); }},
                     {"yield_10000", [](long n) { return yields(n, 10000); }},
                     {"spawn_join", spawn_join},
                     {"parked_bytes", parked}});
}
