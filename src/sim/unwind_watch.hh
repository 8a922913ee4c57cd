// SPDX-License-Identifier: MIT
// A guard for code that never ends although its process has: a loop in which each wait says at once
// that it was cancelled makes no turn that could be counted. It ends the program with the node's
// name instead of hanging.
#pragma once

#include <sys/time.h>

#include <string>

namespace heddle::sim {

/// Aborts if this object lives for more than 10 s of the process's time. One at a time.
class unwind_watch {
 public:
  explicit unwind_watch(const std::string& node);
  unwind_watch(const unwind_watch&) = delete;
  unwind_watch& operator=(const unwind_watch&) = delete;
  ~unwind_watch();

 private:
  struct ::itimerval before_;
};

}  // namespace heddle::sim
