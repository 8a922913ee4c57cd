// SPDX-License-Identifier: MIT
// --metrics: how many answers of each class the requests of each method got.
#pragma once

#include <array>
#include <cstdint>

#include "cli/serve_topics.hh"
#include "heddle/http/metrics.hh"

namespace heddle::cli {

/// Counts by method (those without a number of their own together) and class (1xx to 5xx).
class answer_table {
 public:
  void add(http::method verb, int status) noexcept;
  answer_table& operator+=(const answer_table& other) noexcept;
  [[nodiscard]] std::uint64_t of(http::method verb, int status) const noexcept;

 private:
  friend void show(const answer_table& t, http::metrics_page& page);
  static constexpr std::size_t methods = static_cast<std::size_t>(http::method::patch) + 1;
  static constexpr std::size_t classes = 5;
  std::array<std::uint64_t, methods * classes> counts_{};
};
/// What was counted, without what never happened.
void show(const answer_table& t, http::metrics_page& page);

/// Thread: the shard's color. Owns: its binding. It is bound before the server's first answer, so
/// that its sums are the server's.
class answer_counts {
 public:
  explicit answer_counts(bus& b) : bus_(b) {
    b.bind<answered, &answer_counts::on_answered>(this, 20);
  }
  answer_counts(const answer_counts&) = delete;
  answer_counts& operator=(const answer_counts&) = delete;
  ~answer_counts() { bus_.unbind_all(this); }

  /// What could not be read as a request counts as another method.
  void on_answered(const http::access& a) {
    table_.add(a.head == nullptr ? http::method::other : a.head->verb(), a.status);
  }
  [[nodiscard]] const answer_table& table() const noexcept { return table_; }

 private:
  bus& bus_;
  answer_table table_;
};

}  // namespace heddle::cli
