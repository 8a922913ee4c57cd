// SPDX-License-Identifier: MIT
// Where in the source something waits or was made. A std::source_location is one pointer to static
// data; a `site` keeps its low 32 bits, so that every suspension can store one with a single 4-byte
// store. The data is 8-byte aligned: the low three bits are free for flags of the owner. The upper
// half is found again by looking through the images that are loaded (probe/site.cc), only when a
// person asks.
#pragma once

#include <bit>
#include <cstdint>
#include <source_location>
#include <string>

namespace heddle {

/// A source line in 32 bits. 0 is "unknown".
using site = std::uint32_t;

inline constexpr site site_flag_mask = 7;

/// One store's worth of a source location. Never fails, never allocates.
[[nodiscard]] inline site site_of(std::source_location where) noexcept {
  static_assert(sizeof(std::source_location) == sizeof(void*),
                "this standard library keeps more than a pointer in source_location");
  return static_cast<site>(std::bit_cast<std::uintptr_t>(where)) & ~site_flag_mask;
}

/// What a site says to a person. Views live as long as the program image.
struct source_line {
  const char* file = "?";
  const char* function = "?";
  unsigned line = 0;
  unsigned column = 0;
};

/// Finds the source line of a site; "?" with line 0 when it is unknown. Cost: microseconds (it
/// walks the loaded images). Thread: any.
[[nodiscard]] source_line resolve_site(site s);

/// "file:line" with the file's path as the compiler saw it, or "?" when unknown.
[[nodiscard]] std::string to_string(const source_line& where);

/// The function's name for people: demangled, without the suffix that GCC 12 gives to frames.
[[nodiscard]] std::string function_name(const source_line& where);

}  // namespace heddle
