// SPDX-License-Identifier: MIT
// Sockets of streams (TCP-like and Unix) and listeners. A socket's states:
//   idle        made; may be bound
//   listening   its queue holds finished connections
//   connecting  a request travels to the listener
//   connected   has, or had, a peer; each half ends on its own
//   broken      was connected; a reset has ended both halves
// Legal moves: idle -> listening, connecting, connected; connecting -> idle, connected;
// connected -> broken.
// The states of its input:
//   open          the peer's bytes are kept until they are read
//   ended         the peer's output has ended, and all its bytes arrived
//   shut          this side has ended reading: bytes that arrive are dropped
//   ended_shut    both
// Legal moves: open -> ended, shut; ended, shut -> ended_shut.
// Builds with sanitizers, and those without NDEBUG, check each move.
//
// Bytes travel over a link: they arrive at the peer, in order, after its latency and at its speed.
// Bytes in the peer's buffer and on their way are together at most socket_buffer_bytes. Where the
// direction is cut when they arrive, they wait in their sender until it is healed, with all that
// was sent after them.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "heddle/base/detail/legal_move.hh"
#include "sim/pipe.hh"
#include "sim/process.hh"

namespace heddle::sim {

enum class state : std::uint8_t { idle, listening, connecting, connected, broken };
[[nodiscard]] constexpr bool is_legal(state from, state to) noexcept {
  switch (to) {
    case state::idle:
      return from == state::connecting;
    case state::listening:
    case state::connecting:
      return from == state::idle;
    case state::connected:
      return from == state::idle || from == state::connecting;
    case state::broken:
      return from == state::connected;
  }
  return false;
}

enum class input : std::uint8_t { open, ended, shut, ended_shut };
[[nodiscard]] constexpr bool is_legal(input from, input to) noexcept {
  if (to == input::ended_shut) return from == input::ended || from == input::shut;
  return from == input::open && to != input::open;
}

class stream_socket final : public object {
 public:
  stream_socket(process& owner, int family)
      : object(owner), family_(family), in_(owner.options.socket_buffer_bytes) {}

  std::int64_t get(const transfer& t) override;
  std::int64_t put(const transfer& t) override;
  std::int64_t accept() override;
  std::int64_t connect(const ::sockaddr* to, unsigned len) override;
  void abandon_connect() override;
  int bind(const ::sockaddr* to, unsigned len) override;
  int listen(int backlog) override;
  int shutdown(int how) override;
  int local_name(::sockaddr* out, unsigned* len) override;
  int peer_name(::sockaddr* out, unsigned* len) override;
  int set_option(int level, int option, const void* value, unsigned len) override;
  short events() override;
  std::size_t unread_bytes() const override { return in_.len(); }
  void reset() override { break_off(ECONNRESET, true); }
  void describe(struct ::statx& out) override { out.stx_mode = S_IFSOCK | 0777; }
  void closed() override;

  void join(const std::shared_ptr<stream_socket>& peer, const address& local, const address& remote,
            const sim_link& link);

 private:
  void knock(unsigned tries);
  void knock_again(unsigned tries);
  void answer(std::uint64_t attempt, unsigned tries);
  void conclude(std::uint64_t attempt, std::int64_t result,
                const std::shared_ptr<stream_socket>& served);
  void arrive(stream_socket& sender, std::string bytes);
  void end_output();
  /// An arrival at the peer. It gets its sender, and must not hold it, because it may wait in it.
  using arrival = std::move_only_function<void(stream_socket& sender)>;
  void travel(nanoseconds span, arrival what);
  void pass_or_hold(arrival what);
  void send_held();
  void break_off(int error, bool tell_peer);
  void move_to(state next) {
    if constexpr (checks_moves) check_move(state_, next);
    state_ = next;
  }
  void move_to(input next) {
    if constexpr (checks_moves) check_move(input_, next);
    input_ = next;
  }
  void end_input() { move_to(in_shut() ? input::ended_shut : input::ended); }
  void shut_input() {
    if (!in_shut()) move_to(in_ended() ? input::ended_shut : input::shut);
  }
  [[nodiscard]] bool in_ended() const {
    return input_ == input::ended || input_ == input::ended_shut;
  }
  [[nodiscard]] bool in_shut() const {
    return input_ == input::shut || input_ == input::ended_shut;
  }
  [[nodiscard]] bool had_peer() const {
    return state_ == state::connected || state_ == state::broken;
  }
  [[nodiscard]] bool on_unix() const { return family_ == AF_UNIX; }
  [[nodiscard]] nanoseconds span_to_arrival(std::size_t bytes);
  [[nodiscard]] bool cut_out() const noexcept { return world_.is_cut(here, *far_); }
  [[nodiscard]] bool cut_in() const noexcept { return world_.is_cut(*far_, here); }
  [[nodiscard]] std::shared_ptr<stream_socket> peer() const { return peer_.lock(); }

  int family_;
  state state_ = state::idle;
  byte_queue in_;
  std::weak_ptr<stream_socket> peer_;
  computer* far_ = &here;  // the peer's
  address local_, remote_;
  sim_link link_{};
  time_point link_free_{}, arrived_last_{};
  std::deque<arrival> held_;  // on their way, and the direction is cut
  std::uint64_t holds_ = 0;   // numbers the times that held_ was filled
  int error_ = 0;             // errno, reported once
  input input_ = input::open;
  bool out_shut_ = false, closed_ = false, bound_ = false;
  struct set_options {  // by set_option()
    bool share_port = false, reset_on_close = false;
  } options_;
  std::uint64_t attempt_ = 0;  // numbers connects, so that a late answer is recognized
  std::int64_t connect_result_ = later;
  std::deque<std::shared_ptr<stream_socket>> queue_;  // a listener's finished connections
  std::size_t backlog_ = 0;
};

}  // namespace heddle::sim
