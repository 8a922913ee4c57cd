// SPDX-License-Identifier: MIT
// Generated programs on real threads: a run that does not end within a bound of real time writes
// the runtimes' dump to stderr and ends the process, with the seed, instead of waiting for ever.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "heddle/sched/runtime_options.hh"
#include "support/seeds.hh"

namespace heddle::test {

/// Watches one run, from its construction to its end.
///
///   hang_watch watch(seed);
///   rt.run(program());
class hang_watch {
 public:
  explicit hang_watch(std::uint64_t seed, std::chrono::seconds bound = std::chrono::seconds(20))
      : seed_(seed),
        bound_(bound * seeds_slower),
        errors_(::dup(STDERR_FILENO)),
        watching_([this] { watch(); }) {}
  hang_watch(const hang_watch&) = delete;
  hang_watch& operator=(const hang_watch&) = delete;
  ~hang_watch() {
    {
      const std::lock_guard hold(lock_);
      over_ = true;
    }
    ended_.notify_one();
    watching_.join();
    ::close(errors_);
  }

 private:
  void watch() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_BLOCK, &all, nullptr);  // the program's threads take its signals
    std::unique_lock hold(lock_);
    if (ended_.wait_for(hold, bound_, [this] { return over_; })) return;
    ::dup2(errors_, STDERR_FILENO);  // the test may have put another file there
    std::fprintf(stderr, "seed %llu hangs; where its tasks wait:\n",
                 static_cast<unsigned long long>(seed_));
    ::kill(::getpid(), default_dump_signal);
    ended_.wait_for(hold, std::chrono::seconds(5), [this] { return over_; });
    std::abort();
  }

  const std::uint64_t seed_;
  const std::chrono::seconds bound_;
  const int errors_;
  std::mutex lock_;
  std::condition_variable ended_;
  bool over_ = false;
  std::thread watching_;  // last: it uses the others
};

}  // namespace heddle::test
