// SPDX-License-Identifier: MIT
// A fresh folder for one test, on the disk or in the simulated world, removed at the end.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "heddle/sim/driver.hh"

namespace heddle::test {

class folder {
 public:
  /// Call it before the driver goes into a runtime.
  explicit folder(driver& d) {
    if (auto* sim = dynamic_cast<sim_driver*>(&d)) {
      path_ = "/made/for/test";
      sim->make_directories(path_);
      return;
    }
    std::string pattern = std::filesystem::temp_directory_path() / "heddle-test-XXXXXX";
    real_ = ::mkdtemp(pattern.data());
    path_ = real_;
  }
  folder(const folder&) = delete;
  folder& operator=(const folder&) = delete;
  ~folder() {
    if (!real_.empty()) std::filesystem::remove_all(real_);
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] bool simulated() const { return real_.empty(); }

 private:
  std::string path_;
  std::string real_;
};

}  // namespace heddle::test
