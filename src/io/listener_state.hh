// SPDX-License-Identifier: MIT
// A listener's multishot accept and the connections that it brought. When descriptors run out the
// accept ends; it is armed again after a pause, so that a full table costs no busy loop.
#pragma once

#include <cstdint>

#include "heddle/core/timer.hh"
#include "heddle/io/listener.hh"
#include "io/descriptor_state.hh"

namespace heddle::detail {

class listener_state : public descriptor_state {
 public:
  listener_state(int number, listen_options chosen);
  ~listener_state();

  /// Hands a connection to an entry of the read lane; arms the accept when there is none.
  [[nodiscard]] bool serve(lane_entry& e, worker& w) noexcept;
  /// Closes the connections that were not taken, because the listener closes.
  void stop(worker& w) noexcept;

  /// Ends accepting, and then the entries for which no connection is left. Connections that the
  /// system had by then are taken: io_uring wakes one ring for each, and if that ring's accept is
  /// being cancelled, the wake-up is lost.
  void finish(worker& w) noexcept;

  [[nodiscard]] operation& accepting() noexcept { return accepting_; }
  /// The color in which it accepted last; no_color if it never did.
  [[nodiscard]] std::uint32_t accepts_in() const noexcept { return home_in(accepts_in_); }
  [[nodiscard]] std::uint64_t pauses() const noexcept { return pauses_; }
  const listen_options options;

 private:
  struct alarm : timer_node {
    explicit alarm(listener_state& s) noexcept : timer_node(&over), owner(s) {}
    static void over(timer_node& t, worker& w) noexcept;
    listener_state& owner;
  };
  static bool arrived(operation& op, worker& w, const completion& c) noexcept;
  void arm(worker& w) noexcept;
  /// During finish(): accepts waiting connections for a moment. False if none waits.
  [[nodiscard]] bool sweep(worker& w) noexcept;
  [[nodiscard]] int pop() noexcept;
  /// Queues a connection; false if there is neither room nor memory.
  [[nodiscard]] bool push(int fd, worker& w) noexcept;
  static const wait_kind kind_of_wait;
  static constexpr std::uint8_t sweeps_max = 64;       ///< under load a connection always waits
  static constexpr nanoseconds sweep_span{1'000'000};  ///< another process may take the rest

  operation accepting_;  // the operation's `submitter` is this listener
  alarm pause_;
  std::uint64_t pauses_ = 0;
  int* ready_;  // a ring in the worker's memory; grows for connections that come when it is full
  std::uint16_t room_;
  std::uint16_t first_ = 0;
  std::uint16_t count_ = 0;
  std::uint8_t sweeps_left_ = sweeps_max;
  int error_ = 0;
  std::uint32_t accepts_in_ = 0;  // see home_in()
  bool finishing_ = false;
};

/// Makes a socket that listens at a native address. Throws failure, with `name` in its message.
[[nodiscard]] listener_state* listen_at(const ::sockaddr* at, unsigned len, const std::string& name,
                                        const listen_options& options);
/// Takes a socket that listens already, opened by another program: at a path if `local`, else at
/// an address. Throws failure, naming the descriptor.
[[nodiscard]] listener_state* adopt_listening(int fd, bool local, const listen_options& options);

}  // namespace heddle::detail
