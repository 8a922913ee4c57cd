// SPDX-License-Identifier: MIT
// Tests that run on every driver: one GoogleTest for each, with the driver's name after the
// sentence.
//
//   DRIVER_TEST(tcp, "what is written arrives") { runtime rt(make()); rt.run(...); }
//
// `make()` gives a fresh driver. io_uring is left out where the kernel does not allow it, and the
// test then says that it was skipped.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "heddle/io/sim.hh"
#include "heddle/sched/driver.hh"
#include "support/test.hh"

namespace heddle::test {

using driver_maker = std::function<std::unique_ptr<driver>()>;

class driver_body_test : public ::testing::Test {
 public:
  driver_body_test(std::string name, void (*body)(const driver_maker&))
      : name_(std::move(name)), body_(body) {}
  void TestBody() override {
#if !defined(__clang__)
    GTEST_SKIP()
        << "open defect: built by GCC 12 a task that awaits I/O can be lost (CHANGELOG.md)";
#endif
    if (name_ == "io_uring" && !probe_drivers().front().usable)
      GTEST_SKIP() << probe_drivers().front().detail;
    body_([this]() -> std::unique_ptr<driver> {
      if (name_ == "sim") return std::make_unique<sim_driver>(sim_options{});
      return make_driver(name_, {});
    });
  }

 private:
  std::string name_;
  void (*body_)(const driver_maker&);
};

struct driver_registrar {
  driver_registrar(const char* suite, const std::string& sentence, const char* file, int line,
                   void (*body)(const driver_maker&)) {
    for (const char* name : {"io_uring", "epoll", "poll", "sim"})
      ::testing::RegisterTest(
          suite, (sentence + " [" + name + "]").c_str(), nullptr, nullptr, file, line,
          [name, body]() -> ::testing::Test* { return new driver_body_test(name, body); });
  }
};

}  // namespace heddle::test

#define DRIVER_TEST(suite, sentence)                                                             \
  static void HEDDLE_TEST_JOIN(                                                                  \
      heddle_driver_body_, __LINE__)([[maybe_unused]] const ::heddle::test::driver_maker& make); \
  static const ::heddle::test::driver_registrar HEDDLE_TEST_JOIN(heddle_driver_reg_, __LINE__){  \
      #suite, sentence, __FILE__, __LINE__, &HEDDLE_TEST_JOIN(heddle_driver_body_, __LINE__)};   \
  static void HEDDLE_TEST_JOIN(                                                                  \
      heddle_driver_body_, __LINE__)([[maybe_unused]] const ::heddle::test::driver_maker& make)
