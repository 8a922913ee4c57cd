// SPDX-License-Identifier: MIT
// Congestion control after RFC 5681, counting bytes (RFC 3465).
#include <algorithm>

#include "heddle/tcp/congestion.hh"

namespace heddle::tcp {

void congestion::undone(congestion_path&) const noexcept {}

namespace {

class reno_control final : public congestion {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "reno"; }

  void acknowledged(congestion_path& p, std::uint32_t bytes) const noexcept override {
    if (p.slow_start()) {
      const std::uint32_t room = p.threshold - p.window;
      const std::uint32_t grown = std::min(bytes, room);
      p.window += grown;
      bytes -= grown;
    }
    if (bytes == 0) return;
    // One segment for each window that was acknowledged.
    std::uint64_t& count = p.memory->words[0];
    count += bytes;
    if (count >= p.window) {
      count -= p.window;
      p.window += p.mss;
    }
  }
  void lost(congestion_path& p, bool) const noexcept override {
    p.threshold = std::max(std::min(p.in_flight, p.window) / 2, 2 * p.mss);
    p.memory->words[0] = 0;
  }
};

}  // namespace

const congestion& reno() noexcept {
  static constinit const reno_control control;
  return control;
}

}  // namespace heddle::tcp
