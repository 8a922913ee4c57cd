// SPDX-License-Identifier: MIT
// The files of a new program in Draft: `heddle new NAME --kind draft`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle::draft {

struct project_file {
  std::string path;  ///< inside the new folder
  std::string text;
  bool executable = false;
};

/// Whether the name can be that of a module and of a target: letters, digits, _.
[[nodiscard]] bool is_project_name(std::string_view name) noexcept;
/// A server of lines with a helper in C, its CMakeLists.txt and a test that talks to it.
[[nodiscard]] std::vector<project_file> new_project(const std::string& name);

}  // namespace heddle::draft
