// SPDX-License-Identifier: MIT
// Names of hosts as text: which are valid, and which full names a short one may mean.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace heddle::names::detail {

inline constexpr std::size_t name_bytes_max = 253;  // RFC 1035 section 2.3.4, as text
inline constexpr std::size_t label_bytes_max = 63;

/// The fault of a host's name, as the end of a sentence; empty: none. Letters,
/// digits, '-' and '_' in labels of 1 to 63; a dot at the end is allowed.
[[nodiscard]] std::string name_problem(std::string_view host);

/// The name in small letters, without a dot at the end.
[[nodiscard]] std::string plain_name(std::string_view host);

/// The full names to ask for, in order (resolv.conf(5), `search` and `ndots`). A name with a dot at
/// the end is full already. Left out are names that would be too long, and names whose last label
/// is a number: "127.1" is an address to some programs, and no top domain is a number.
[[nodiscard]] std::vector<std::string> candidates(std::string_view host,
                                                  const std::vector<std::string>& search,
                                                  std::uint32_t ndots);

/// Whether a plain name is this domain or lies in it.
[[nodiscard]] bool lies_in(std::string_view name, std::string_view domain) noexcept;

}  // namespace heddle::names::detail
