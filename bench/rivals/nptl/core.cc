// SPDX-License-Identifier: MIT
//
// The C library's threads, one after the other: made and joined. It is benchfn_thr of Krohn and
// others, 2007, figure 9.
#include "../harness.hh"

#include <pthread.h>

namespace {

double spawn_join(long count) {
  const double begin = rival::cpu_ns();
  while (count-- > 0) {
    pthread_t t;
    if (::pthread_create(&t, nullptr, [](void*) -> void* { return nullptr; }, nullptr) != 0)
      std::abort();
    ::pthread_join(t, nullptr);
  }
  return rival::cpu_ns() - begin;
}

}  // namespace

int main(int argc, char** argv) { return rival::run(argc, argv, {{"spawn_join", spawn_join}}); }
