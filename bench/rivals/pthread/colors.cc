// SPDX-License-Identifier: MIT
//
// What the machine itself takes: a cache line handed over between two pinned threads by one atomic
// (the floor of every latency across cores), a ring of items between them (that of every stream),
// and work on one thread alone.
#include "../harness.hh"

#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <thread>
#include <vector>

namespace {

void pin(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set);
}

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

struct alignas(128) line {
  std::atomic<long> turn{0};
};

// Even turns are the first thread's, odd ones the second's: one operation is one hand-off.
rival::times hand_off(long n) {
  static line shared;
  const auto side = [n](int core, long mine) {
    pin(core);
    for (long i = mine; i < n; i += 2) {
      while (shared.turn.load(std::memory_order_acquire) != i) pause();
      shared.turn.store(i + 1, std::memory_order_release);
    }
  };
  return rival::both_times([&] {
    std::thread other(side, 1, 1);
    side(0, 0);
    other.join();
  });
}

// One producer, one consumer, a ring; each looks at the other's index only when it must.
rival::times stream(long n) {
  constexpr long size = 1024;
  static std::vector<long> ring(size);
  static line written, taken;
  return rival::both_times([&] {
    std::thread consumer([n] {
      pin(1);
      long sum = 0, seen = 0;
      for (long i = 0; i < n; ++i) {
        while (i == seen && (seen = written.turn.load(std::memory_order_acquire)) == i) pause();
        sum += ring[i % size];
        taken.turn.store(i + 1, std::memory_order_release);
      }
      asm volatile("" : : "r"(sum));
    });
    pin(0);
    long seen = 0;
    for (long i = 0; i < n; ++i) {
      while (i - seen == size && i - (seen = taken.turn.load(std::memory_order_acquire)) == size)
        pause();
      ring[i % size] = i;
      written.turn.store(i + 1, std::memory_order_release);
    }
    consumer.join();
  });
}

rival::times alone(long n) {
  return rival::both_times([n] {
    for (long i = 0; i < n; ++i) asm volatile("" : : "r"(rival::work(i + 1)));
  });
}

}  // namespace

int main(int argc, char** argv) {
  return rival::run_timed(argc, argv,
                          {{"latency", hand_off}, {"stream", stream}, {"unbalanced_1", alone}});
}
