// SPDX-License-Identifier: MIT
// A folder of a test's own, which is removed at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace heddle::test {

class made_folder {
 public:
  made_folder() {
    std::string pattern = std::filesystem::temp_directory_path() / "heddle-test-XXXXXX";
    path = ::mkdtemp(pattern.data());
  }
  ~made_folder() { std::filesystem::remove_all(path); }
  made_folder(const made_folder&) = delete;
  made_folder& operator=(const made_folder&) = delete;

  std::string path;
};

}  // namespace heddle::test
