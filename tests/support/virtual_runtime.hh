// SPDX-License-Identifier: MIT
// A driver with virtual time only, for tests of the core without I/O. Time starts at 1 000 000 000
// s, advances a microsecond with each reading, and jumps over every sleep (rule D4).
#pragma once

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <memory>

#include "heddle/sched/runtime.hh"

namespace heddle::test {

struct virtual_driver : driver {
  const char* name() const noexcept override { return "virtual"; }
  bool simulated() const noexcept override { return true; }
  bool submit(operation&, worker&, completion&) noexcept override { return false; }
  void cancel(operation&, worker&) noexcept override {}
  void turn(worker&, time_point until) noexcept override {
    if (until > t) t = until;
  }
  void wake() noexcept override {}
  std::size_t pending() const noexcept override { return 0; }
  time_point now() noexcept override { return t += std::chrono::microseconds(1); }
  nanoseconds wall_time() noexcept override { return {}; }
  /// The order of several workers; HEDDLE_SEED in the environment seeds it.
  std::uint64_t random() noexcept override {
    const char* const seed = std::getenv("HEDDLE_SEED");
    return seed == nullptr ? 0 : std::strtoull(seed, nullptr, 10);
  }
  std::byte* block_at(std::uint32_t) noexcept override { return nullptr; }
  std::uint32_t block_bytes() const noexcept override { return 0; }
  void return_block(std::uint32_t) noexcept override {}
  int socket(int, int, int) noexcept override { return -ENOSYS; }
  int bind(int, const ::sockaddr*, unsigned) noexcept override { return -ENOSYS; }
  int listen(int, int) noexcept override { return -ENOSYS; }
  int local_name(int, ::sockaddr*, unsigned*) noexcept override { return -ENOSYS; }
  int peer_name(int, ::sockaddr*, unsigned*) noexcept override { return -ENOSYS; }
  int set_option(int, int, int, const void*, unsigned) noexcept override { return -ENOSYS; }
  int socket_pair(int (&)[2]) noexcept override { return -ENOSYS; }
  int pipe(int (&)[2]) noexcept override { return -ENOSYS; }
  int shutdown(int, int) noexcept override { return -ENOSYS; }
  int signal_source(std::uint64_t) noexcept override { return -ENOSYS; }
  int take_signal(std::uint64_t) noexcept override { return 0; }
  void release_signals(int, std::uint64_t) noexcept override {}
  void close(int, worker&) noexcept override {}
  time_point t{std::chrono::seconds(1'000'000'000)};
};

/// A runtime on virtual time that keeps its diagnostics.
struct virtual_runtime {
  explicit virtual_runtime(runtime_options options = {})
      : rt(std::make_unique<virtual_driver>(), with_hook(std::move(options))) {}

  std::vector<diagnostic> reports;
  runtime rt;

 private:
  runtime_options with_hook(runtime_options options) {
    options.report = [this](const diagnostic& d) { reports.push_back(d); };
    return options;
  }
};

}  // namespace heddle::test
