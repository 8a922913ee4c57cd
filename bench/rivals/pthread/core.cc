// SPDX-License-Identifier: MIT
//
// The kernel's threads, all on the one core that scripts/bench pins this program to. A parked
// thread waits for a condition; its 16 KB stack counts as far as it is touched, and what the
// kernel keeps for it (another 16 KB of stack and more) does not show in process memory.
#include "../harness.hh"

#include <pthread.h>
#include <sched.h>

#include <vector>

namespace {

constexpr std::size_t stack_size = 16384;

pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
pthread_cond_t arrival = PTHREAD_COND_INITIALIZER;
long arrived = 0;
bool open_gate = false;

pthread_t launch(void* (*body)(void*), void* argument) {
  static pthread_attr_t small = [] {
    pthread_attr_t a;
    ::pthread_attr_init(&a);
    ::pthread_attr_setstacksize(&a, stack_size);
    return a;
  }();
  pthread_t t;
  if (::pthread_create(&t, &small, body, argument) != 0) {
    std::perror("pthread_create");
    std::exit(1);
  }
  return t;
}

// Threads gather here, so that none runs before all exist.
void wait_at_gate() {
  ::pthread_mutex_lock(&lock);
  ++arrived;
  ::pthread_cond_signal(&arrival);
  while (!open_gate) ::pthread_cond_wait(&opened, &lock);
  ::pthread_mutex_unlock(&lock);
}

void wait_for_arrivals(long count) {
  ::pthread_mutex_lock(&lock);
  while (arrived < count) ::pthread_cond_wait(&arrival, &lock);
  ::pthread_mutex_unlock(&lock);
}

void* yielding(void* argument) {
  wait_at_gate();
  for (long n = reinterpret_cast<long>(argument); n > 0; --n) ::sched_yield();
  return nullptr;
}
void* nothing(void*) { return nullptr; }
void* parked_thread(void*) {
  wait_at_gate();
  return nullptr;
}

double yields(long count, long threads) {
  std::vector<pthread_t> all;
  for (long i = 0; i < threads; ++i)
    all.push_back(launch(yielding, reinterpret_cast<void*>(count / threads)));
  wait_for_arrivals(threads);
  const double begin = rival::cpu_ns();
  ::pthread_mutex_lock(&lock);
  open_gate = true;
  ::pthread_cond_broadcast(&opened);
  ::pthread_mutex_unlock(&lock);
  for (pthread_t t : all) ::pthread_join(t, nullptr);
  return (rival::cpu_ns() - begin) * count / (count / threads * threads);
}

double spawn_join(long count) {
  const double begin = rival::cpu_ns();
  while (count-- > 0) ::pthread_join(launch(nothing, nullptr), nullptr);
  return rival::cpu_ns() - begin;
}

double parked(long count) {
  const double begin = rival::resident_bytes();
  for (long i = 0; i < count; ++i) {
    launch(parked_thread, nullptr);
    wait_for_arrivals(i + 1);
  }
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
