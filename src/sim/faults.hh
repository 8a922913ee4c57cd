// SPDX-License-Identifier: MIT
// Which operation fails, and how: first what a test scripted, then what the rates draw. A fault
// that could not happen to an operation in the real world (EMFILE from a send) is never drawn for
// it.
#pragma once

#include <array>
#include <deque>

#include "heddle/sim/options.hh"
#include "sim/random.hh"

namespace heddle::sim {

inline constexpr std::size_t op_code_count = static_cast<std::size_t>(op_code::call) + 1;
inline constexpr std::size_t sim_call_count = static_cast<std::size_t>(sim_call::signal_source) + 1;

/// The faults of one operation, decided when it was submitted.
struct fault {
  int error = 0;                  ///< -errno; 0: the operation is tried
  bool reset = false;             ///< the operation's connection breaks
  std::uint32_t bytes_max = ~0u;  ///< the bound of a short transfer
  nanoseconds delay{0};
};

class faults {
 public:
  faults(const sim_options& options, std::uint64_t stream, tape* choices);

  [[nodiscard]] fault draw(const operation& op) noexcept;
  /// The error of a call: 0 or -errno.
  [[nodiscard]] int draw(sim_call call) noexcept;

  void set_rates(op_code code, const sim_rates& rates) { rates_[index(code)] = rates; }
  void script(op_code code, int result, unsigned count) {
    for (; count != 0; --count) scripted_[index(code)].push_back(result);
  }
  void script(sim_call call, int result, unsigned count) {
    for (; count != 0; --count) scripted_calls_[static_cast<std::size_t>(call)].push_back(result);
  }
  [[nodiscard]] std::uint64_t injected() const noexcept { return injected_; }

 private:
  static constexpr std::size_t index(op_code code) { return static_cast<std::size_t>(code); }

  random_stream random_;
  nanoseconds delay_max_;
  double no_descriptors_;  // the rate of EMFILE from calls that make descriptors
  std::array<sim_rates, op_code_count> rates_;
  std::array<std::deque<int>, op_code_count> scripted_;
  std::array<std::deque<int>, sim_call_count> scripted_calls_;
  std::uint64_t injected_ = 0;
};

}  // namespace heddle::sim
