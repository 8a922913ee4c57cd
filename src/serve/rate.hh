// SPDX-License-Identifier: MIT
// --rate "COUNT/s [PATH]": limits the requests of each address; further ones are answered with 429.
// An IPv6 client has a /64 network of its own, which counts as one address. Each worker counts for
// itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "heddle/io/network.hh"
#include "serve/pattern.hh"
#include "serve/topics.hh"

namespace heddle::serve {

struct rate_rule {
  std::uint64_t count;                ///< requests in a row, and requests in each span
  nanoseconds span;                   ///< a second, a minute or an hour
  std::optional<path_pattern> about;  ///< all paths if there is none

  /// Reads "10/s", "5/m /login" or "100/h *.zip". Throws bad_setting.
  [[nodiscard]] static rate_rule parse(std::string_view text);
};

/// How often each address has asked, by the generic cell rate algorithm: one time an address, the
/// moment at which it is as if it had never asked.
class rate_table {
 public:
  static constexpr std::size_t addresses_max = 65536;

  explicit rate_table(const rate_rule& rule) : rule_(rule) {}
  /// Zero if the request may pass, and is counted then; else how long to wait.
  [[nodiscard]] nanoseconds ask(const address& who, time_point now);
  [[nodiscard]] const rate_rule& rule() const noexcept { return rule_; }
  [[nodiscard]] std::size_t addresses() const noexcept { return fresh_at_.size(); }

 private:
  void make_room(time_point now);

  rate_rule rule_;
  std::unordered_map<std::uint64_t, time_point> fresh_at_;
  time_point swept_{};
};

/// Thread: the shard's color. Owns: its binding and tables.
class rate_limit {
 public:
  rate_limit(bus& b, std::span<const rate_rule> rules, std::span<const network> trusted);
  rate_limit(const rate_limit&) = delete;
  rate_limit& operator=(const rate_limit&) = delete;
  ~rate_limit() { bus_.unbind_all(this); }

  flow on_asked(question& q);

 private:
  bus& bus_;
  std::vector<rate_table> tables_;
  std::vector<network> trusted_;
};

}  // namespace heddle::serve
