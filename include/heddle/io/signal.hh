// SPDX-License-Identifier: MIT
// Signals as something to wait for. While a set exists its signals are kept for the next wait, so
// none is lost between two waits; when the last set for a signal goes, the signal's earlier action
// is back. It does not matter which worker made the set, nor which thread the kernel interrupts.
//
//   signal_set stop{SIGINT, SIGTERM};
//   int which = co_await stop.next();
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>

#include "heddle/core/task.hh"

namespace heddle {

/// Signals by number: one, some, or a range.
class signal_list {
 public:
  template <std::same_as<int>... Numbers>
    requires(sizeof...(Numbers) > 0)
  signal_list(Numbers... numbers) noexcept : mask_((bit(numbers) | ...)) {}
  [[nodiscard]] static signal_list range(int first, int last) noexcept {
    signal_list all(first);
    for (int number = first; number <= last; ++number) all.mask_ |= bit(number);
    return all;
  }
  [[nodiscard]] signal_list operator+(int number) const noexcept {
    signal_list more = *this;
    more.mask_ |= bit(number);
    return more;
  }
  [[nodiscard]] std::uint64_t mask() const noexcept { return mask_; }

 private:
  [[nodiscard]] static std::uint64_t bit(int number) noexcept {
    HEDDLE_ASSERT(number >= 1 && number <= 64, "give a signal number from 1 to 64");
    return std::uint64_t{1} << (number - 1);
  }
  std::uint64_t mask_;
};

/// A signal that several sets listen to is given to one of them. A standard signal that comes again
/// before it was taken counts once. Throws failure(invalid_argument) for SIGKILL and SIGSTOP.
/// Thread: one color.
/// Cancel: next() ends, and a signal that comes meanwhile stays for the next one.
class signal_set {
 public:
  signal_set(std::initializer_list<int> signals);
  explicit signal_set(signal_list signals);
  signal_set(const signal_set&) = delete;
  signal_set& operator=(const signal_set&) = delete;
  ~signal_set();

  /// While it is on, waiting for these signals alone does not keep runtime::run() going.
  void set_background(bool on) noexcept { background_ = on; }

  /// Waits for a signal and returns its number.
  [[nodiscard]] task<int> next();

 private:
  int fd_ = -1;
  std::uint64_t mask_ = 0;
  bool background_ = false;
};

}  // namespace heddle
