// SPDX-License-Identifier: MIT
// One name in a directory, as op_code::list gives it.
#pragma once

#include <cstdint>
#include <string>

namespace heddle {

enum class entry_type : std::uint8_t { unknown, file, directory, link, other };

struct directory_entry {
  std::string name;
  entry_type type = entry_type::unknown;
};

}  // namespace heddle
