// SPDX-License-Identifier: MIT
// --metrics: counts the answers by the request's method and the status class.
#pragma once

#include <array>
#include <cstdint>

#include "heddle/web/metrics.hh"
#include "serve/topics.hh"

namespace heddle::serve {

/// Counts by method (methods without a number count together) and class (1xx to 5xx).
class answer_table {
 public:
  void add(http::method verb, int status) noexcept;
  answer_table& operator+=(const answer_table& other) noexcept;
  [[nodiscard]] std::uint64_t of(http::method verb, int status) const noexcept;

 private:
  friend void show(const answer_table& t, http::metrics_page& page);
  static constexpr std::size_t methods = http::method_count;
  static constexpr std::size_t classes = 5;
  std::array<std::uint64_t, methods * classes> counts_{};
};
/// Shows the counts that are not zero.
void show(const answer_table& t, http::metrics_page& page);

/// Thread: the shard's color. Owns: its binding. Bind it before the server's first answer, so that
/// its sums equal the server's.
class answer_counts {
 public:
  explicit answer_counts(bus& b) : bus_(b) {
    b.bind<answered, &answer_counts::on_answered>(this, 20);
  }
  answer_counts(const answer_counts&) = delete;
  answer_counts& operator=(const answer_counts&) = delete;
  ~answer_counts() { bus_.unbind_all(this); }

  /// Requests that could not be parsed count under "other method".
  void on_answered(const http::access& a) {
    table_.add(a.head == nullptr ? http::method::other : a.head->verb(), a.status);
  }
  [[nodiscard]] const answer_table& table() const noexcept { return table_; }

 private:
  bus& bus_;
  answer_table table_;
};

}  // namespace heddle::serve
