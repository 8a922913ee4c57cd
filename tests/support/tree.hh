// SPDX-License-Identifier: MIT
// The paths of the source tree and the build, for tests that read files or start programs. They are
// found from the test program's path, <build>/tests/, so that no path of this machine is compiled
// in.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>

namespace heddle::test {

/// The folder of the build, without a slash at its end.
inline const std::string& build_dir() {
  static const std::string found =
      std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path().string();
  return found;
}

/// The root of the source tree: the nearest parent folder of the build that contains
/// ARCHITECTURE.md, or $HEDDLE_SOURCE_DIR for a build outside the tree.
inline const std::string& source_dir() {
  static const std::string found = [] {
    if (const char* const named = std::getenv("HEDDLE_SOURCE_DIR")) return std::string(named);
    for (std::filesystem::path at = build_dir(); at.has_relative_path(); at = at.parent_path())
      if (std::filesystem::exists(at / "ARCHITECTURE.md")) return at.string();
    throw std::runtime_error("no source tree around " + build_dir() + ": set HEDDLE_SOURCE_DIR");
  }();
  return found;
}

}  // namespace heddle::test
