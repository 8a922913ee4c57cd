// SPDX-License-Identifier: MIT
// The folder of a path, for code that makes, replaces or syncs names in it.
#pragma once

#include <string>

namespace heddle::detail {

/// The folder in which a path's last name is: "." without a slash, "/" for a name in the root.
[[nodiscard]] inline std::string folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == path.npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace heddle::detail
