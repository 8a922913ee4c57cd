// SPDX-License-Identifier: MIT
// --auth: Basic authentication for everything that stands behind it.
#pragma once

#include <string>
#include <string_view>

#include "cli/serve_topics.hh"

namespace heddle::cli {

/// Thread: the shard's color. Owns: its binding, and what a visitor has to say.
class password {
 public:
  /// `user_and_password` is USER:PASSWORD.
  password(bus& b, std::string_view user_and_password);
  password(const password&) = delete;
  password& operator=(const password&) = delete;
  ~password() { bus_.unbind_all(this); }

  flow on_asked(question& q);

 private:
  [[nodiscard]] bool admits(std::string_view authorization) const noexcept;

  bus& bus_;
  std::string credentials_;  // what Authorization must say behind "Basic "
};

}  // namespace heddle::cli
