// SPDX-License-Identifier: MIT
// Names of functions from the program's symbols.
#include "heddle/probe/callee.hh"

#include <typeinfo>

#include "support/test.hh"

using namespace heddle;

namespace {

[[gnu::noinline]] int named_by_its_symbol(int n) { return n + 1; }

}  // namespace

HEDDLE_TEST(callee, "a function is named from the symbols of its program or library") {
  const auto at = [](auto* f) { return reinterpret_cast<const void*>(f); };
  EXPECT_NE(function_at(at(&named_by_its_symbol)).find("named_by_its_symbol(int)"),
            std::string::npos);
  EXPECT_EQ(function_at(nullptr), "");
  int on_the_stack = 0;
  EXPECT_EQ(function_at(&on_the_stack), "");
}

HEDDLE_TEST(callee, "a function object is named by its type, and nothing by an empty text") {
  const auto lambda = [] {};
  EXPECT_FALSE((callee{.type = &typeid(lambda)}.name().empty()));
  EXPECT_EQ(callee().name(), "");
}
