// SPDX-License-Identifier: MIT
// Which operation fails, and how: first what a test scripted, then what the rates draw. A fault
// that could not happen to an operation in the real world (EMFILE from a send) is never drawn for
// it.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

  [[nodiscard]] bool none() const noexcept {
    return error == 0 && !reset && bytes_max == ~0u && delay.count() == 0;
  }
};

/// The name of an operation's or a call's kind, as in a run file: "send", "socket".
[[nodiscard]] const char* kind_name(std::size_t kind) noexcept;
[[nodiscard]] std::optional<std::size_t> kind_of(std::string_view name) noexcept;
inline constexpr std::size_t kind_count = op_code_count + sim_call_count;

/// Whether a fault of this kind can happen to an operation or a call. `what` is a field of a run
/// file: error, reset, short, delay.
[[nodiscard]] bool can_have(std::size_t kind, std::string_view what) noexcept;

/// The faults of operations in a whole cluster: a record of this run, or a replay's list. Each is
/// named by its process, the kind of operation and its number among these, from 1, so that leaving
/// one out changes no other.
struct fault_book {
  struct key {
    std::string process;
    std::size_t kind;
    std::uint64_t ordinal;
    auto operator<=>(const key&) const = default;
  };
  bool given = false;  ///< the book says which faults come, and rates do not
  std::map<key, fault> entries;
};

class faults {
 public:
  /// Without a book faults are drawn and not written down.
  faults(const sim_options& options, random_stream random, fault_book* book, std::string process);

  [[nodiscard]] fault draw(const operation& op) noexcept;
  /// The fault of a call on a file that the program waits for: an error, or a short transfer.
  [[nodiscard]] fault draw_now(op_code code, std::size_t len) noexcept;
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

  [[nodiscard]] fault draw(op_code code, std::size_t len, bool may_wait) noexcept;
  [[nodiscard]] fault draw_by_rates(op_code code, std::size_t len, bool may_wait) noexcept;
  [[nodiscard]] int draw_by_rates(sim_call call) noexcept;
  /// The fault that the book has for this operation, if the book says which faults come.
  [[nodiscard]] std::optional<fault> given(std::size_t kind) noexcept;
  void write_down(std::size_t kind, const fault& f);

  random_stream random_;
  fault_book* book_;
  std::string process_;
  std::array<std::uint64_t, kind_count> made_{};  // operations and calls, by kind
  nanoseconds delay_max_;
  double no_descriptors_;  // the rate of EMFILE from calls that make descriptors
  std::array<sim_rates, op_code_count> rates_;
  // Vectors, because an empty deque takes half a kilobyte.
  std::array<std::vector<int>, op_code_count> scripted_;
  std::array<std::vector<int>, sim_call_count> scripted_calls_;
  std::uint64_t injected_ = 0;
};

}  // namespace heddle::sim
