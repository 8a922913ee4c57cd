// SPDX-License-Identifier: MIT
// A runtime on a driver of the test's choice that keeps its diagnostics:
//
//   DRIVER_TEST(event, "E6 ...") { reporting_runtime v(make); v.rt.run(...); v.reports.size(); }
#pragma once

#include <vector>

#include "heddle/sched/runtime.hh"
#include "support/drivers.hh"

namespace heddle::test {

struct reporting_runtime {
  explicit reporting_runtime(const driver_maker& make, runtime_options options = {})
      : rt(make(), with_hook(std::move(options))) {}

  std::vector<diagnostic> reports;
  runtime rt;

 private:
  runtime_options with_hook(runtime_options options) {
    options.report = [this](const diagnostic& d) { reports.push_back(d); };
    return options;
  }
};

}  // namespace heddle::test
