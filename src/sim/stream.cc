// SPDX-License-Identifier: MIT
// Bytes between stream sockets: sent, on their way, received; the ends of both halves, and resets.
#include "sim/stream.hh"

#include <poll.h>
#include <sys/socket.h>

namespace heddle::sim {

namespace {

// Linux sends a segment 15 times again before it gives the connection up (tcp_retries2).
constexpr nanoseconds resend_time_max{924'600'000'000};

}  // namespace

std::int64_t stream_socket::get(const transfer& t) {
  if (state_ == state::idle || state_ == state::listening) return on_unix() ? -EINVAL : -ENOTCONN;
  if (t.message != nullptr) t.message->msg_namelen = 0;
  if (t.message != nullptr) t.message->msg_controllen = 0;
  if (t.message != nullptr) t.message->msg_flags = 0;
  if (t.capacity() == 0) return 0;
  if (in_.len() != 0 && !in_shut()) {
    const std::size_t moved = in_.read(t, (t.flags & MSG_PEEK) != 0);
    if ((t.flags & MSG_PEEK) == 0)
      if (auto other = peer()) world_.changed(*other);  // the peer has room to send again
    return static_cast<std::int64_t>(moved);
  }
  if (error_ != 0) return -std::exchange(error_, 0);
  if (in_ended() || in_shut() || state_ == state::broken) return 0;
  return later;
}

std::int64_t stream_socket::put(const transfer& t) {
  if (state_ == state::connecting) return later;
  if (t.message != nullptr && t.message->msg_controllen != 0) return -EOPNOTSUPP;
  if (!had_peer()) return on_unix() ? -ENOTCONN : -EPIPE;
  if (error_ != 0) return -std::exchange(error_, 0);
  if (out_shut_ || state_ == state::broken) return -EPIPE;
  const auto other = peer();
  const bool gone = other == nullptr || other->closed_;
  if (on_unix() && (gone || other->in_shut())) return -EPIPE;
  const std::size_t room = gone ? t.bytes() : other->in_.room();
  const std::size_t len = std::min(t.bytes(), room);
  if (len == 0) return t.bytes() == 0 ? 0 : later;
  std::string bytes(len, '\0');
  t.take(bytes.data(), len);
  if (!gone) other->in_.reserve(len);
  travel(span_to_arrival(len),
         [to = peer_, bytes = std::move(bytes)](stream_socket& sender) mutable {
           auto receiver = to.lock();
           if (receiver != nullptr && !receiver->closed_) {
             receiver->arrive(sender, std::move(bytes));
             return;
           }
           // The peer is closed: a reset comes back, and the next write finds a broken pipe.
           sender.world_.after(sender.link_.latency, [self = sender.shared_from_this()] {
             auto& late = static_cast<stream_socket&>(*self);
             if (late.cut_in()) return;
             late.break_off(late.in_ended() ? 0 : ECONNRESET, false);
           });
         });
  return static_cast<std::int64_t>(len);
}

void stream_socket::arrive(stream_socket& sender, std::string bytes) {
  in_.unreserve(bytes.size());
  if (state_ == state::broken) return;
  owner.record(trace_kind::arrival, fd, static_cast<std::int64_t>(bytes.size()),
               hash_bytes(bytes.data(), bytes.size()));
  if (in_shut())
    world_.changed(sender);
  else
    in_.append(bytes);
  world_.changed(*this);
}

nanoseconds stream_socket::span_to_arrival(std::size_t bytes) {
  if (const sim_link* set = world_.between.of(here.number, far_->number)) link_ = *set;
  time_point sent = world_.time();
  if (link_.bytes_per_second != 0) {
    const auto span = static_cast<unsigned __int128>(bytes) * 1'000'000'000u;
    link_free_ = std::max(link_free_, sent) +
                 nanoseconds{static_cast<std::int64_t>(span / link_.bytes_per_second)};
    sent = link_free_;
  }
  const time_point when = sent + link_.latency + here.wire.up_to(link_.jitter);
  arrived_last_ = std::max(arrived_last_, when);  // a stream keeps its order whatever the jitter
  return std::max(arrived_last_, world_.time()) - world_.time();
}

/// Has something arrive at the peer, in order. On its way to another computer it waits here when
/// the direction is cut at that moment.
void stream_socket::travel(nanoseconds span, arrival what) {
  world_.after(span, [self = shared_from_this(), what = std::move(what)]() mutable {
    static_cast<stream_socket&>(*self).pass_or_hold(std::move(what));
  });
}

void stream_socket::pass_or_hold(arrival what) {
  if (held_.empty() && !cut_out()) {
    what(*this);
    return;
  }
  held_.push_back(std::move(what));
  if (held_.size() > 1) return;
  const auto self = std::static_pointer_cast<stream_socket>(shared_from_this());
  world_.when_healed(here, *far_, [self] { self->send_held(); });
  world_.after(resend_time_max, [self, hold = ++holds_] {
    if (self->held_.empty() || self->holds_ != hold) return;
    self->held_.clear();
    self->break_off(ETIMEDOUT, false);
  });
}

/// Sends again what the peer has not got.
void stream_socket::send_held() {
  auto parts = std::exchange(held_, {});
  for (auto& part : parts) pass_or_hold(std::move(part));
}

void stream_socket::end_output() {
  if (out_shut_) return;
  out_shut_ = true;
  travel(span_to_arrival(0), [to = peer_](stream_socket& sender) {
    if (auto receiver = to.lock()) {
      receiver->end_input();
      sender.world_.changed(*receiver);
    }
  });
  world_.changed(*this);
}

void stream_socket::break_off(int error, bool tell_peer) {
  if (state_ != state::connected) return;
  move_to(state::broken);
  if (!closed_) error_ = error;
  if (error != 0) held_.clear();
  if (error != 0 && tell_peer) {
    out_shut_ = true;  // no end follows a reset
    in_.clear();
    world_.after(link_.latency, [to = peer_] {
      auto other = to.lock();
      if (other != nullptr && !other->cut_in()) other->break_off(ECONNRESET, false);
    });
  }
  world_.changed(*this);
}

void stream_socket::closed() {
  closed_ = true;
  if (bound_) world_.net.release(*this);
  for (auto& waiting : queue_) waiting->reset();
  queue_.clear();
  if (state_ == state::connecting) abandon_connect();
  if (!had_peer()) return;
  // If received bytes were never read, the peer gets a reset, because they are lost.
  if (options_.reset_on_close || in_.len() != 0)
    break_off(ECONNRESET, true);
  else
    end_output();
  if (auto other = peer()) world_.changed(*other);
}

int stream_socket::shutdown(int how) {
  if (how < SHUT_RD || how > SHUT_RDWR) return -EINVAL;
  if (state_ == state::listening && how != SHUT_WR) {
    shut_input();
    world_.changed(*this);
    return 0;
  }
  if (!had_peer()) return -ENOTCONN;
  if (how != SHUT_WR) {
    shut_input();
    in_.clear();
    if (auto other = peer()) world_.changed(*other);
  }
  if (how != SHUT_RD) end_output();
  world_.changed(*this);
  return 0;
}

int stream_socket::set_option(int level, int option, const void* value, unsigned len) {
  int number = 0;
  if (value == nullptr || len < sizeof number) return -EINVAL;
  std::memcpy(&number, value, sizeof number);
  if (level == SOL_SOCKET && option == SO_REUSEPORT) options_.share_port = number != 0;
  if (level == SOL_SOCKET && option == SO_RCVBUF) in_.set_max(std::max(number, 1));
  if (level == SOL_SOCKET && option == SO_LINGER && len >= sizeof(::linger)) {
    ::linger how{};
    std::memcpy(&how, value, sizeof how);
    options_.reset_on_close = how.l_onoff != 0 && how.l_linger == 0;
  }
  return 0;
}

short stream_socket::events() {
  short now = 0;
  const bool broken = state_ == state::broken;
  if (state_ == state::listening) {
    if (!queue_.empty()) now |= POLLIN;
    if (in_shut()) now |= POLLIN | POLLHUP;
    return now;
  }
  if (state_ == state::idle) return POLLOUT | POLLHUP;
  if (state_ == state::connecting) return 0;
  const auto other = peer();
  const bool gone = other == nullptr || other->closed_;
  if (in_.len() != 0 || in_ended() || in_shut() || broken) now |= POLLIN;
  if (in_ended() || in_shut() || broken) now |= POLLRDHUP;
  if (out_shut_ || broken || gone || other->in_.room() != 0) now |= POLLOUT;
  if (broken || (in_ended() && out_shut_) || (on_unix() && gone)) now |= POLLHUP;
  if (error_ != 0) now |= POLLERR;
  return now;
}

std::shared_ptr<object> make_stream_socket(process& owner, int family) {
  return std::make_shared<stream_socket>(owner, family);
}

void make_socket_pair(process& owner, std::shared_ptr<object> (&ends)[2]) {
  auto first = std::make_shared<stream_socket>(owner, AF_UNIX);
  auto second = std::make_shared<stream_socket>(owner, AF_UNIX);
  const address unnamed = address::any(AF_UNIX);
  const sim_link at_once{nanoseconds{0}, nanoseconds{0}, 0, 0};
  first->join(second, unnamed, unnamed, at_once);
  second->join(first, unnamed, unnamed, at_once);
  ends[0] = first;
  ends[1] = second;
}

}  // namespace heddle::sim
