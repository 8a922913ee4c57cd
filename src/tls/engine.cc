// SPDX-License-Identifier: MIT
// The limit of handshake messages after the handshake, for both kinds of engines.
#include "tls/engine.hh"

namespace heddle::tls::detail {
namespace {

constexpr nanoseconds late_span = std::chrono::minutes(1);

}  // namespace

bool engine::too_many_late_messages() noexcept {
  const time_point now = clock::now();
  if (late_ == 0 || now - late_since_ >= late_span) {
    late_since_ = now;
    late_ = 0;
  }
  return ++late_ > bounds_.key_updates_max;
}

}  // namespace heddle::tls::detail
