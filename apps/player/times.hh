// SPDX-License-Identifier: MIT
// The processor time in handlers, by topic: of raises that come from outside of all raises, with
// all raises inside them. player --times prints it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <typeindex>

namespace player {

/// Processor time of this thread and of the process, in ns.
[[nodiscard]] double thread_cpu_ns() noexcept;
[[nodiscard]] double process_cpu_ns() noexcept;

struct topic_time {
  std::uint64_t raises = 0;
  double ns = 0;
};

class raise_times {
 public:
  raise_times();
  void add(std::type_index topic, double ns) {
    topic_time& t = by_topic_[topic];
    ++t.raises;
    t.ns += ns > clock_ns_ ? ns - clock_ns_ : 0;
  }
  /// Adds what another bus counted.
  void add(const raise_times& more);
  [[nodiscard]] topic_time sum() const;
  /// By the topics' names, without their namespace.
  [[nodiscard]] std::map<std::string, topic_time> by_name() const;

 private:
  double clock_ns_;  // what reading the clock takes
  std::map<std::type_index, topic_time> by_topic_;
};

/// Counts the time of one raise. Null: counts nothing and reads no clock.
class timed_raise {
 public:
  timed_raise(raise_times* times, std::type_index topic) noexcept
      : times_(times), topic_(topic), began_(times == nullptr ? 0 : thread_cpu_ns()) {}
  timed_raise(const timed_raise&) = delete;
  timed_raise& operator=(const timed_raise&) = delete;
  ~timed_raise() {
    if (times_ != nullptr) times_->add(topic_, thread_cpu_ns() - began_);
  }

 private:
  raise_times* times_;
  std::type_index topic_;
  double began_;
};

}  // namespace player
