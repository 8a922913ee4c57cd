// SPDX-License-Identifier: MIT
// Source lines in 32 bits, which tell where a frame waits or an object was made. A
// std::source_location is one pointer to static data. A `site` keeps its low 32 bits, so that a
// suspension can store it with a single 4-byte store. The data is 8-byte aligned, so the low three
// bits are free for the owner's flags. The upper half is recovered by a search through the loaded
// images (probe/site.cc), only when a report is printed.
#pragma once

#include <bit>
#include <cstdint>
#include <source_location>
#include <string>

namespace heddle {

/// A source line in 32 bits. 0 is "unknown".
using site = std::uint32_t;

inline constexpr site site_flag_mask = 7;

/// Converts a source location to a site. Never fails, never allocates.
[[nodiscard]] inline site site_of(std::source_location where) noexcept {
  static_assert(sizeof(std::source_location) == sizeof(void*),
                "this standard library keeps more than a pointer in source_location");
  return static_cast<site>(std::bit_cast<std::uintptr_t>(where)) & ~site_flag_mask;
}

/// The readable form of a site. Views live as long as the program image.
struct source_line {
  const char* file = "?";
  const char* function = "?";
  unsigned line = 0;
  unsigned column = 0;
};

/// Finds the source line of a site; "?" with line 0 if it is unknown. It walks the loaded images,
/// which takes microseconds. Thread: any.
[[nodiscard]] source_line resolve_site(site s);

/// As resolve_site(), for lines of the program itself, without its shared libraries. Thread: any;
/// async-signal-safe.
[[nodiscard]] source_line resolve_site_in_program(site s) noexcept;

/// "file:line" with the path as the compiler saw it; "?" if unknown.
[[nodiscard]] std::string to_string(const source_line& where);

/// The readable name of the function: demangled, without the suffix that GCC 12 adds for frames.
[[nodiscard]] std::string function_name(const source_line& where);
/// "file:line in function".
[[nodiscard]] std::string describe_site(site s);

}  // namespace heddle
