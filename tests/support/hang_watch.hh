// SPDX-License-Identifier: MIT
// Generated programs on real threads: a run that does not end within a bound of real time says its
// seed, writes the runtimes' dump to stderr and ends the process, instead of waiting for ever. A
// signal does that and not a thread, because a runtime asks whether the process has other threads.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "heddle/sched/runtime_options.hh"
#include "support/seeds.hh"

namespace heddle::test {

/// Watches one run, from its construction to its end; one at a time.
///
///   const hang_watch watch(seed);
///   rt.run(program());
class hang_watch {
 public:
  explicit hang_watch(std::uint64_t seed, unsigned seconds = 20)
      : hang_watch("seed " + std::to_string(seed), seconds) {}
  explicit hang_watch(const std::string& what, unsigned seconds = 40) {
    std::snprintf(text, sizeof text, "%s hangs; where its tasks wait:\n", what.c_str());
    errors = ::dup(STDERR_FILENO);
    dumped = false;
    before_ = ::signal(SIGALRM, [](int) { ring(); });
    ::alarm(seconds * seeds_slower);
  }
  hang_watch(const hang_watch&) = delete;
  hang_watch& operator=(const hang_watch&) = delete;
  ~hang_watch() {
    ::alarm(0);
    ::signal(SIGALRM, before_);
    ::close(errors);
  }

 private:
  /// Asks for the dump, and a few seconds later ends the process.
  static void ring() {
    if (dumped) std::abort();
    dumped = true;
    ::dup2(errors, STDERR_FILENO);  // the test may have put another file there
    static_cast<void>(!::write(STDERR_FILENO, text, std::strlen(text)));
    ::alarm(5);
    ::kill(::getpid(), default_dump_signal);
  }
  static inline char text[100];
  static inline int errors = -1;
  static inline volatile sig_atomic_t dumped = 0;
  void (*before_)(int);
};

}  // namespace heddle::test
