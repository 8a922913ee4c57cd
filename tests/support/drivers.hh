// SPDX-License-Identifier: MIT
// Tests that run on every driver: each gives one GoogleTest per driver, with the driver's name
// after the sentence.
//
//   DRIVER_TEST(tcp, "what is written arrives") { runtime rt(make()); rt.run(...); }
//
// `make()` gives a fresh driver, `make(options)` one with other limits; for_each_driver() does the
// same inside one test. If the kernel does not allow io_uring, its test is reported as skipped.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "heddle/sched/runtime.hh"
#include "heddle/sim/driver.hh"
#include "support/test.hh"

namespace heddle::test {

/// Makes drivers of one kind.
class driver_maker {
 public:
  explicit driver_maker(const char* name) : name_(name) {}

  [[nodiscard]] std::unique_ptr<driver> operator()(const driver_options& limits = {}) const {
    return make_driver(name_, limits);
  }
  /// For one worker of several; the limits are the place's.
  [[nodiscard]] std::unique_ptr<driver> operator()(driver_place& place) const {
    return make_driver(name_, place);
  }
  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  /// Whether it uses the kernel, so that other code's descriptors and threads can take part.
  [[nodiscard]] bool real() const noexcept { return name_ != "sim"; }
  /// The reason why it cannot run here; empty if it can.
  [[nodiscard]] std::string missing() const {
    if (name_ != "io_uring") return {};
    const driver_probe found = probe_drivers().front();
    return found.usable ? std::string() : found.detail;
  }

 private:
  std::string name_;
};

/// Options for tests about a single worker, regardless of HEDDLE_WORKERS.
[[nodiscard]] inline runtime_options one_worker() {
  runtime_options options;
  options.workers = 1;
  return options;
}

inline constexpr const char* driver_names[] = {"io_uring", "epoll", "poll", "sim"};

/// Calls f(const driver_maker&) for each driver that runs here.
template <class F>
void for_each_driver(F&& f) {
  for (const char* name : driver_names)
    if (const driver_maker make(name); make.missing().empty()) f(make);
}

class driver_body_test : public ::testing::Test {
 public:
  driver_body_test(const char* name, void (*body)(const driver_maker&))
      : make_(name), body_(body) {}
  void TestBody() override {
    if (const std::string reason = make_.missing(); !reason.empty()) GTEST_SKIP() << reason;
    body_(make_);
  }

 private:
  driver_maker make_;
  void (*body_)(const driver_maker&);
};

struct driver_registrar {
  driver_registrar(const char* suite, const std::string& sentence, const char* file, int line,
                   void (*body)(const driver_maker&)) {
    for (const char* name : driver_names)
      ::testing::RegisterTest(
          suite, (sentence + " [" + name + "]").c_str(), nullptr, nullptr, file, line,
          [name, body]() -> ::testing::Test* { return new driver_body_test(name, body); });
  }
};

/// Runs one task on this driver. Checks that a simulated world has no open or lent objects at the
/// end.
inline void run_plain(std::unique_ptr<driver> d, task<> (*body)()) {
  auto* const sim = dynamic_cast<sim_driver*>(d.get());
  runtime rt(std::move(d), {});
  rt.run(body());
  if (sim == nullptr) return;
  EXPECT_EQ(sim->open_descriptors(), 0u) << sim->trace_text();
  EXPECT_EQ(sim->blocks_out(), 0u);
}

}  // namespace heddle::test

#define DRIVER_TEST(suite, sentence) DRIVER_TEST_AS(#suite, sentence, __COUNTER__)
#define DRIVER_TEST_AS(suite, sentence, number)                                                    \
  static void HEDDLE_TEST_JOIN(heddle_driver_body_,                                                \
                               number)([[maybe_unused]] const ::heddle::test::driver_maker& make); \
  static const ::heddle::test::driver_registrar HEDDLE_TEST_JOIN(heddle_driver_reg_, number){      \
      suite, sentence, __FILE__, __LINE__, &HEDDLE_TEST_JOIN(heddle_driver_body_, number)};        \
  static void HEDDLE_TEST_JOIN(heddle_driver_body_,                                                \
                               number)([[maybe_unused]] const ::heddle::test::driver_maker& make)
