// SPDX-License-Identifier: MIT
// A RAND_METHOD, which OpenSSL 3 asks before its own generators (RAND_set_rand_method(3)).
#include "tls/randomness.hh"

#include <openssl/rand.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <mutex>

#include "heddle/sched/driver.hh"

// OpenSSL 3 still asks a method first, and calls it deprecated in favor of providers, which cannot
// be chosen for a thread.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace heddle::tls::detail {
namespace {

driver* simulated_driver() noexcept {
  const worker* const w = worker::current();
  return w != nullptr && w->io != nullptr && w->io->simulated() ? w->io : nullptr;
}

/// Fills with numbers of the world, or of OpenSSL.
int fill(unsigned char* out, int count) {
  driver* const world = simulated_driver();
  if (world == nullptr) return RAND_OpenSSL()->bytes(out, count);
  for (int at = 0; at < count; at += 8) {
    const std::uint64_t drawn = world->random();
    std::memcpy(out + at, &drawn, static_cast<std::size_t>(std::min(count - at, 8)));
  }
  return 1;
}

int is_ready() { return 1; }

constexpr RAND_METHOD of_world{nullptr, &fill, nullptr, nullptr, &fill, &is_ready};

}  // namespace

void use_random_numbers_of_world() noexcept {
  static std::once_flag once;
  if (simulated_driver() == nullptr) return;
  std::call_once(once, [] { RAND_set_rand_method(&of_world); });
}

}  // namespace heddle::tls::detail

#pragma GCC diagnostic pop
