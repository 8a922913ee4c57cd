// SPDX-License-Identifier: MIT
// An example run to its end: what it prints, and how it ends.
#pragma once

#include <array>
#include <cstdio>
#include <string>

#include "support/test.hh"
#include "support/tree.hh"

namespace heddle::test {

/// What an example prints, its exit status in `status`.
inline std::string output_of(const std::string& name, int& status, const std::string& driver) {
  const std::string command =
      "HEDDLE_DRIVER=" + driver + " " + build_dir() + "/examples/" + name + " 2>&1";
  std::FILE* from = ::popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> part;
  while (const std::size_t n = std::fread(part.data(), 1, part.size(), from))
    text.append(part.data(), n);
  status = ::pclose(from);
  return text;
}

inline void expect_output(const std::string& name, const std::string& wanted,
                          const std::string& driver = "sim") {
  int status = -1;
  EXPECT_EQ(output_of(name, status, driver), wanted);
  EXPECT_EQ(status, 0);
}

}  // namespace heddle::test
