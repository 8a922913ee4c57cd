// SPDX-License-Identifier: MIT
// CUBIC (RFC 9438): after a loss the window comes back to where that was along a cubic curve of
// time, and never grows slower than Reno would. Windows are counted in segments here.
#include <algorithm>
#include <bit>
#include <cmath>

#include "heddle/tcp/congestion.hh"

namespace heddle::tcp {

namespace {

constexpr double cubic_c = 0.4;
constexpr double cubic_beta = 0.7;

/// The memory's words by name.
struct cubic_memory {
  double window_max = 0;   // W_max
  double reach = 0;        // K, seconds
  double reno_window = 0;  // W_est
  double prior = 0;        // cwnd_prior
  instant epoch = 0;       // 0: none has begun

  static cubic_memory of(const congestion_memory& m) noexcept {
    return {std::bit_cast<double>(m.words[0]), std::bit_cast<double>(m.words[1]),
            std::bit_cast<double>(m.words[2]), std::bit_cast<double>(m.words[3]),
            static_cast<instant>(m.words[4])};
  }
  void store(congestion_memory& m) const noexcept {
    m.words = {std::bit_cast<std::uint64_t>(window_max), std::bit_cast<std::uint64_t>(reach),
               std::bit_cast<std::uint64_t>(reno_window), std::bit_cast<std::uint64_t>(prior),
               static_cast<std::uint64_t>(epoch)};
  }
};

class cubic_control final : public congestion {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "cubic"; }

  void acknowledged(congestion_path& p, std::uint32_t bytes) const noexcept override {
    if (p.slow_start()) {
      const std::uint32_t grown = std::min(bytes, p.threshold - p.window);
      p.window += grown;
      bytes -= grown;
      if (bytes == 0) return;
    }
    cubic_memory m = cubic_memory::of(*p.memory);
    const double mss = p.mss;
    const double window = p.window / mss;
    if (m.epoch == 0) begin(m, window, p.now);
    // The clock of the curve pauses while the window is not the limit (sections 4.1.2 and 5.8).
    m.epoch = std::min(m.epoch + p.paused_us, p.now);
    const double round_trip = p.round_trip_us / 1e6;
    const double t = static_cast<double>(p.now - m.epoch) / 1e6;
    const auto curve = [&m](double at) {
      return cubic_c * (at - m.reach) * (at - m.reach) * (at - m.reach) + m.window_max;
    };
    // Section 4.3: as Reno with this beta would grow.
    const double alpha = m.reno_window >= m.prior ? 1.0 : 3 * (1 - cubic_beta) / (1 + cubic_beta);
    const double segments = bytes / mss;
    m.reno_window += alpha * segments / window;
    double next = 0;
    if (curve(t) < m.reno_window) {
      next = std::max(window, m.reno_window);
    } else {
      const double target = std::clamp(curve(t + round_trip), window, 1.5 * window);
      next = window + (target - window) / window * segments;
    }
    m.store(*p.memory);
    p.window = static_cast<std::uint32_t>(std::min(next * mss, 1e9));
  }

  void lost(congestion_path& p, bool by_timeout) const noexcept override {
    cubic_memory m = cubic_memory::of(*p.memory);
    const double mss = p.mss;
    const double window = p.window / mss;
    // Section 4.7: a window that did not come back leaves room to others.
    m.window_max = window < m.window_max ? window * (1 + cubic_beta) / 2 : window;
    m.prior = window;
    m.epoch = 0;
    if (by_timeout) m.window_max = 0;  // section 4.8: the curve begins where slow start ends
    m.store(*p.memory);
    const double base = std::min(p.in_flight, p.window);
    p.threshold = std::max(static_cast<std::uint32_t>(base * cubic_beta), 2 * p.mss);
  }

 private:
  static void begin(cubic_memory& m, double window, instant now) noexcept {
    m.epoch = std::max<instant>(now, 1);
    if (m.window_max <= window) {
      m.window_max = window;
      m.reach = 0;
    } else {
      m.reach = std::cbrt((m.window_max - window) / cubic_c);
    }
    m.reno_window = window;
    if (m.prior == 0) m.prior = window;
  }
};

}  // namespace

const congestion& cubic() noexcept {
  static constinit const cubic_control control;
  return control;
}

}  // namespace heddle::tcp
