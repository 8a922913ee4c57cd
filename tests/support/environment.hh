// SPDX-License-Identifier: MIT
// A variable of the environment, set or unset until the end of a test.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace heddle::test {

class environment {
 public:
  /// A null value unsets it.
  environment(const char* name, const char* value) : name_(name) {
    if (const char* const now = std::getenv(name)) before_ = now;
    put(value);
  }
  ~environment() { put(before_ ? before_->c_str() : nullptr); }
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;

 private:
  void put(const char* value) {
    if (value == nullptr) ::unsetenv(name_);
    if (value != nullptr) ::setenv(name_, value, 1);
  }
  const char* name_;
  std::optional<std::string> before_;
};

}  // namespace heddle::test
