// SPDX-License-Identifier: MIT
//
// GNU Pth's threads, one after the other: made and joined. It is what Krohn and others, 2007, built
// their threads on.
#include "../harness.hh"

#include <pth.h>

namespace {

double spawn_join(long count) {
  const double begin = rival::cpu_ns();
  while (count-- > 0) {
    const pth_t t = ::pth_spawn(PTH_ATTR_DEFAULT, [](void*) -> void* { return nullptr; }, nullptr);
    if (t == nullptr || !::pth_join(t, nullptr)) std::abort();
  }
  return rival::cpu_ns() - begin;
}

}  // namespace

int main(int argc, char** argv) {
  if (!::pth_init()) std::abort();
  return rival::run(argc, argv, {{"spawn_join", spawn_join}});
}
