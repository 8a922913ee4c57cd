// SPDX-License-Identifier: MIT
// The texts of hosts(5), resolv.conf(5) and nsswitch.conf(5). A line that makes no sense is left
// out and noted; the others count.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "heddle/base/clock.hh"
#include "heddle/io/address.hh"

namespace heddle::names::detail {

/// Lines that were left out: all are counted, the first is kept.
struct ignored_lines {
  std::size_t count = 0;
  std::string first;  ///< "FILE:LINE: why"
  void note(std::string_view file, std::size_t line, std::string_view why);
};

/// Plain names to addresses in the order of the lines.
using host_table = std::unordered_map<std::string, std::vector<address>>;
[[nodiscard]] host_table read_hosts(std::string_view text, std::string_view file,
                                    ignored_lines& ignored);

struct resolv_conf {
  std::vector<address> servers;
  std::vector<std::string> search;
  std::optional<std::uint32_t> ndots, tries;
  std::optional<nanoseconds> timeout;
  bool rotate = false;
  bool tcp_only = false;
};
[[nodiscard]] resolv_conf read_resolv_conf(std::string_view text, std::string_view file,
                                           std::uint32_t servers_max, std::uint32_t search_max,
                                           ignored_lines& ignored);

/// The first source of hosts that is neither `files`, `dns` nor `resolve`; empty: there is none.
[[nodiscard]] std::string foreign_source(std::string_view nsswitch);

}  // namespace heddle::names::detail
