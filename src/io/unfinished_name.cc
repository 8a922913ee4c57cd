// SPDX-License-Identifier: MIT
// Names of files that are not whole yet.
#include "heddle/io/detail/unfinished_name.hh"

#include "heddle/sched/detail/here.hh"

namespace heddle::detail {

std::string unfinished_name(std::string_view name) {
  std::string made = "." + std::string(name) + ".";
  std::uint64_t number = driver_here().random();
  for (std::size_t i = 0; i != unfinished_digits; ++i, number >>= 4)
    made += "0123456789abcdef"[number & 15];
  return made;
}

bool is_unfinished(std::string_view name) noexcept {
  if (name.size() < unfinished_digits + 3 || name.front() != '.') return false;
  const std::size_t number = name.size() - unfinished_digits;
  return name[number - 1] == '.' &&
         name.find_first_not_of("0123456789abcdef", number) == std::string_view::npos;
}

bool is_unfinished(std::string_view name, std::string_view of) noexcept {
  return is_unfinished(name) && name.substr(1, name.size() - unfinished_digits - 2) == of;
}

}  // namespace heddle::detail
