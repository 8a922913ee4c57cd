// SPDX-License-Identifier: MIT
// The budget of challenge ACKs (RFC 5961 section 7). Each connection has its own, so that no
// connection shows what another one received; the bound of the whole stack changes at random
// every second, so that it cannot be counted (CVE-2016-5696).
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/base/siphash.hh"
#include "heddle/tcp/sequence.hh"

namespace heddle::tcp {

class challenge_budget {
 public:
  /// Whether one more challenge may be sent in this second for `owner`: a number that names a
  /// connection or a TIME-WAIT record. At most `each` for an owner, and for all owners between
  /// half and one and a half of `all`. Without memory for the first second's table: none.
  [[nodiscard]] bool take(std::uint64_t owner, instant now, std::uint32_t each, std::uint32_t all,
                          const siphash_key& key) noexcept;

 private:
  struct entry {
    std::uint64_t owner = 0;
    std::uint32_t second = 0;  // another second's entry is free
    std::uint32_t count = 0;
  };

  void begin_second(std::uint32_t second, std::uint32_t all, const siphash_key& key) noexcept;
  [[nodiscard]] entry& entry_of(std::uint64_t owner) noexcept;

  std::uint32_t second_ = 0;  // counted from 1
  std::uint32_t left_ = 0;
  // Open addressing. At most half is in use: a new owner takes one of `left_`.
  std::vector<entry> entries_;
};

}  // namespace heddle::tcp
