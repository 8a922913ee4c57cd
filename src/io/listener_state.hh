// SPDX-License-Identifier: MIT
// A listener's multishot accept and the connections that it brought. When descriptors run out the accept
// ends; it is armed again after a pause, so that a full table costs no busy loop.
#pragma once

#include <cstdint>

#include "heddle/core/timer.hh"
#include "heddle/io/tcp.hh"
#include "io/descriptor_state.hh"

namespace heddle::detail {

class listener_state : public descriptor_state {
 public:
  listener_state(int number, listen_options options) noexcept;
  ~listener_state() = default;

  /// Hands a connection to an entry of the read lane; arms the accept when there is none.
  [[nodiscard]] bool serve(lane_entry& e, worker& w) noexcept;
  /// The listener closes: connections that nobody took close too.
  void stop(worker& w) noexcept;

  [[nodiscard]] std::uint64_t pauses() const noexcept { return pauses_; }
  listen_options options;

 private:
  static constexpr std::uint16_t queue_max = 64;  // taken from the kernel and not yet asked for

  struct alarm : timer_node {
    explicit alarm(listener_state& s) noexcept : timer_node(&over), owner(s) {}
    static void over(timer_node& t, worker& w) noexcept;
    listener_state& owner;
  };
  static bool arrived(operation& op, worker& w, const completion& c) noexcept;
  void arm(worker& w) noexcept;
  static const wait_kind kind_of_wait;

  operation accepting_;  // its `more` names this
  alarm pause_;
  std::uint64_t pauses_ = 0;
  std::uint16_t first_ = 0;
  std::uint16_t count_ = 0;
  int error_ = 0;
  int ready_[queue_max + 64];  // and what was on the way when the queue was full
};

}  // namespace heddle::detail
