// SPDX-License-Identifier: MIT
// Reads the clocks of processor time, and names topics.
#include "times.hh"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <memory>

namespace player {

namespace {

double read_clock_ns(clockid_t clock) noexcept {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_nsec);
}

std::string short_name_of(std::type_index topic) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(topic.name(), nullptr, nullptr, &status), &std::free);
  const std::string name = status == 0 ? text.get() : topic.name();
  const std::size_t colon = name.rfind(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

}  // namespace

double thread_cpu_ns() noexcept { return read_clock_ns(CLOCK_THREAD_CPUTIME_ID); }
double process_cpu_ns() noexcept { return read_clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

raise_times::raise_times() : clock_ns_(1e9) {
  for (int i = 0; i < 1000; ++i) {
    const double began = thread_cpu_ns();
    clock_ns_ = std::min(clock_ns_, thread_cpu_ns() - began);
  }
}

void raise_times::add(const raise_times& more) {
  for (const auto& [topic, time] : more.by_topic_) {
    by_topic_[topic].raises += time.raises;
    by_topic_[topic].ns += time.ns;
  }
}

topic_time raise_times::sum() const {
  topic_time all;
  for (const auto& [topic, time] : by_topic_) {
    all.raises += time.raises;
    all.ns += time.ns;
  }
  return all;
}

std::map<std::string, topic_time> raise_times::by_name() const {
  std::map<std::string, topic_time> named;
  for (const auto& [topic, time] : by_topic_) named[short_name_of(topic)] = time;
  return named;
}

}  // namespace player
