// SPDX-License-Identifier: MIT
// Test cases whose names are sentences, on GoogleTest.
//
//   HEDDLE_TEST(rendezvous, "a rendezvous wakes its thread once per event") { ... EXPECT_EQ(...); }
//
// The first word is the suite (the concept that the file tests), the second one the rule as a
// sentence. --gtest_filter accepts both. Tests for every driver use drivers.hh instead.
#pragma once

#include <gtest/gtest.h>

#include <string>

namespace heddle::test {

class body_test : public ::testing::Test {
 public:
  explicit body_test(void (*body)()) : body_(body) {}
  void TestBody() override { body_(); }

 private:
  void (*body_)();
};

struct registrar {
  registrar(const char* suite, const char* sentence, const char* file, int line, void (*body)()) {
    ::testing::RegisterTest(suite, sentence, nullptr, nullptr, file, line,
                            [body]() -> ::testing::Test* { return new body_test(body); });
  }
};

}  // namespace heddle::test

#define HEDDLE_TEST_JOIN2(a, b) a##b
#define HEDDLE_TEST_JOIN(a, b) HEDDLE_TEST_JOIN2(a, b)

// __COUNTER__ makes names unique, even if several files are compiled as one.
// The suite becomes text here, before a macro of the same name (twait) can be expanded.
#define HEDDLE_TEST(suite, sentence) HEDDLE_TEST_AS(#suite, sentence, __COUNTER__)
#define HEDDLE_TEST_AS(suite, sentence, number)                                            \
  static void HEDDLE_TEST_JOIN(heddle_test_body_, number)();                               \
  static const ::heddle::test::registrar HEDDLE_TEST_JOIN(heddle_test_registrar_, number){ \
      suite, sentence, __FILE__, __LINE__, &HEDDLE_TEST_JOIN(heddle_test_body_, number)};  \
  static void HEDDLE_TEST_JOIN(heddle_test_body_, number)()
