// SPDX-License-Identifier: MIT
// checked<T>: a value that belongs to the first color that touches it. A touch in another color is
// reported (wrong-color) with both lines, once for each value.
//
//   checked<std::map<user, session>> sessions;
//   sessions.get().emplace(...);             // or sessions->find(u)
#pragma once

#include <concepts>
#include <source_location>
#include <utility>

#include "heddle/core/worker.hh"
#include "heddle/probe/site.hh"

namespace heddle {

/// The part of checked<T> that is the same for any T. Thread: one color. A touch in another color
/// is a mistake; this record survives it only well enough to report it.
class color_check {
 public:
  void touch(std::source_location where) noexcept {
    const worker* const w = worker::current();
    if (w == nullptr) return;
    if (color_ == w->color) [[likely]]
      return;
    first_or_wrong(where);
  }
  /// Lets the next touch decide which color owns the value, which was passed on in a message.
  void give_up() noexcept { color_ = nobody; }

 private:
  static constexpr std::uint32_t nobody = no_color;
  [[gnu::cold, gnu::noinline]] void first_or_wrong(std::source_location where) noexcept;
  std::uint32_t color_ = nobody;
  site first_ = 0;
  bool reported_ = false;
};

template <class T>
class checked {
 public:
  checked() = default;
  template <class... Args>
    requires std::constructible_from<T, Args&&...>
  explicit checked(std::in_place_t, Args&&... args) : value_(std::forward<Args>(args)...) {}
  explicit checked(T value) : value_(std::move(value)) {}

  [[nodiscard]] T& get(std::source_location where = std::source_location::current()) noexcept {
    check_.touch(where);
    return value_;
  }
  [[nodiscard]] const T& get(
      std::source_location where = std::source_location::current()) const noexcept {
    check_.touch(where);
    return value_;
  }
  /// Lets the value move to another color: the next color that touches it owns it.
  void give_up() noexcept { check_.give_up(); }

 private:
  T value_{};
  mutable color_check check_;
};

}  // namespace heddle
