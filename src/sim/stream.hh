// SPDX-License-Identifier: MIT
// Sockets of streams (TCP-like and Unix) and listeners. A socket's states:
//   idle        made; may be bound
//   listening   its queue holds finished connections
//   connecting  a request travels to the listener
//   connected   has, or had, a peer; each half ends on its own
// Bytes travel over a link: they arrive at the peer, in order, after its latency and at its speed.
// Bytes in the peer's buffer and on their way are together at most socket_buffer_bytes.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "sim/pipe.hh"
#include "sim/world.hh"

namespace heddle::sim {

enum class state : std::uint8_t { idle, listening, connecting, connected };

class stream_socket final : public object {
 public:
  stream_socket(world& w, int family)
      : object(w), family_(family), in_(w.options.socket_buffer_bytes) {}

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
  void answer(std::weak_ptr<object> caller, std::uint64_t attempt, unsigned tries);
  void arrive(const std::shared_ptr<stream_socket>& sender, std::string bytes);
  void end_output();
  void break_off(int error, bool tell_peer);
  [[nodiscard]] bool on_unix() const { return family_ == AF_UNIX; }
  [[nodiscard]] time_point arrival_of(std::size_t bytes);
  [[nodiscard]] std::shared_ptr<stream_socket> peer() const { return peer_.lock(); }

  int family_;
  state state_ = state::idle;
  byte_queue in_;
  std::weak_ptr<stream_socket> peer_;
  address local_, remote_;
  sim_link link_{};
  time_point link_free_{}, arrived_last_{};
  int error_ = 0;          // errno, reported once
  bool broken_ = false;    // after a reset
  bool in_ended_ = false;  // the peer's output has ended and all its bytes arrived
  bool in_shut_ = false, out_shut_ = false, closed_ = false;
  bool share_port_ = false, reset_on_close_ = false, bound_ = false;
  std::uint64_t attempt_ = 0;  // numbers connects, so that a late answer is recognized
  std::int64_t connect_result_ = later;
  std::deque<std::shared_ptr<stream_socket>> queue_;  // a listener's finished connections
  std::size_t backlog_ = 0;
};

}  // namespace heddle::sim
