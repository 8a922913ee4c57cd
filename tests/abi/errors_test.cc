// SPDX-License-Identifier: MIT
// The compiler of Draft and the library agree on errors: a compiled program holds the compiler's
// codes, and the library makes and prints them.
#include "heddle/abi/errors.hh"

#include "draft/types.hh"
#include "support/test.hh"

using namespace heddle;

HEDDLE_TEST(abi, "the compiler and the library have one code for each error") {
  for (const named_error& e : system_errors) {
    EXPECT_EQ(draft::error_code(e.name),
              static_cast<std::uint32_t>(heddle::abi::error_code(e.name)));
    const heddle_view name = heddle_error_name(e.code);
    EXPECT_EQ(std::string_view(name.data, name.len), e.name);
  }
  for (const char* own : {"mine", "eofs", "a", ""}) {
    EXPECT_GE(heddle::abi::error_code(own), own_error_min) << own;
    EXPECT_EQ(draft::error_code(own), static_cast<std::uint32_t>(heddle::abi::error_code(own)))
        << own;
  }
}
