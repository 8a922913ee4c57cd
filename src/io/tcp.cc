// SPDX-License-Identifier: MIT
// Listening, accepting, connecting.
#include "heddle/io/tcp.hh"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

#include "io/listener_state.hh"
#include "io/one_operation.hh"

namespace heddle {
namespace detail {

namespace {
void never_asked(wait&, worker&) noexcept {}  // no frame waits in it
}  // namespace

const wait_kind listener_state::kind_of_wait{"accept all", &never_asked};

listener_state::listener_state(int number, listen_options chosen) noexcept
    : descriptor_state(number, descriptor_kind::listener),
      options(chosen),
      accepting_(kind_of_wait, op_code::accept_all, number, &arrived),
      pause_(*this) {
  accepting_.more = this;
}

void listener_state::arm(worker& w) noexcept {
  ++pins;
  completion unused;
  const bool done = driver_here().submit(accepting_, w, unused);
  HEDDLE_ASSERT(!done, "a driver must not end a multishot operation in submit(): fix the driver");
}

bool listener_state::serve(lane_entry& e, worker& w) noexcept {
  if (count_ != 0) {
    const int fd = ready_[first_];
    first_ = static_cast<std::uint16_t>((first_ + 1) % std::size(ready_));
    --count_;
    e.outcome = 0;
    static_cast<accept_wait&>(e).give(fd, options);
    return true;
  }
  if (error_ != 0) {
    e.outcome = error_;
    return true;
  }
  if (!accepting_.pending && !pause_.armed()) arm(w);
  return false;
}

void listener_state::stop(worker& w) noexcept {
  pause_.disarm();
  while (count_ != 0) {
    driver_here().close(ready_[first_], w);
    first_ = static_cast<std::uint16_t>((first_ + 1) % std::size(ready_));
    --count_;
  }
}

bool listener_state::arrived(operation& op, worker& w, const completion& c) noexcept {
  auto& self = *static_cast<listener_state*>(op.more);
  if (c.result >= 0) {
    if (self.fd < 0 || self.count_ == std::size(self.ready_)) {
      driver_here().close(static_cast<int>(c.result), w);
    } else {
      self.ready_[(self.first_ + self.count_++) % std::size(self.ready_)] =
          static_cast<int>(c.result);
    }
  } else if (self.fd >= 0) {
    switch (-c.result) {
      case ECANCELED:  // stopped because the queue was full
      case EINTR:
      case EAGAIN:
      case ECONNABORTED:
        break;
      case EMFILE:
      case ENFILE:
      case ENOBUFS:
      case ENOMEM:
        ++self.pauses_;
        w.sched.arm(w, self.pause_, add_saturated(w.now, self.options.pause));
        break;
      default:
        self.error_ = static_cast<int>(c.result);
    }
  }
  ++self.pins;
  self.advance(self.reads, w);
  const bool go_on = self.fd >= 0 && self.count_ < queue_max;
  if (!c.more) self.unpin_one();
  self.unpin_one();
  return go_on;
}

void listener_state::alarm::over(timer_node& t, worker& w) noexcept {
  listener_state& self = static_cast<alarm&>(t).owner;
  ++self.pins;
  self.advance(self.reads, w);
  self.unpin_one();
}

}  // namespace detail

namespace {

const wait_kind accept_kind{"accept", [](wait& x, worker& w) noexcept {
                              static_cast<accept_wait&>(x).cancel(x, w);
                            }};

address name_of(int fd, int (driver::*ask)(int, ::sockaddr*, unsigned*) noexcept) {
  sockaddr_storage native;
  unsigned len = sizeof native;
  detail::check_outcome((driver_here().*ask)(fd, reinterpret_cast<::sockaddr*>(&native), &len));
  const auto known = address::from(reinterpret_cast<const ::sockaddr*>(&native), len);
  return known ? *known : address();
}

void set_flag(int fd, int level, int option, bool on) noexcept {
  const int value = on ? 1 : 0;
  static_cast<void>(driver_here().set_option(fd, level, option, &value, sizeof value));
}

}  // namespace

accept_wait::accept_wait(detail::descriptor_state* on) noexcept
    : wait(accept_kind), lane_entry(on, detail::lane_role::accept, false) {}
accept_wait::accept_wait(accept_wait&& other) noexcept
    : wait(accept_kind), lane_entry(std::move(other)) {}

tcp_stream accept_wait::take() {
  tcp_stream conn(std::exchange(fd_, -1), options_->streams);
  if (options_->no_delay) conn.set_no_delay(true);
  return conn;
}

tcp_stream::tcp_stream(int fd, stream_options options)
    : stream(detail::descriptor_state::make<detail::socket_state>(fd, options)) {}

address tcp_stream::local() const { return name_of(number(), &driver::local_name); }
address tcp_stream::peer() const {
  try {
    return name_of(number(), &driver::peer_name);
  } catch (const std::system_error&) {
    return {};  // gone already
  }
}
void tcp_stream::set_no_delay(bool on) const { set_flag(number(), IPPROTO_TCP, TCP_NODELAY, on); }

tcp_listener tcp_listener::listen(const address& on, listen_options options) {
  driver& d = driver_here();
  worker& w = worker::here();
  const int fd = d.socket(on.family(), SOCK_STREAM, 0);
  if (fd < 0) throw failure(kernel_error(fd), "cannot make a socket for " + on.to_string());
  if (options.reuse_address) set_flag(fd, SOL_SOCKET, SO_REUSEADDR, true);
  if (options.reuse_port) set_flag(fd, SOL_SOCKET, SO_REUSEPORT, true);
  if (on.is_v6()) set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY, options.v6_only);
  int error = d.bind(fd, on.native(), on.native_len());
  if (error >= 0) error = d.listen(fd, options.backlog);
  if (error < 0) {
    d.close(fd, w);
    throw failure(kernel_error(error), "cannot listen on " + on.to_string());
  }
  return tcp_listener(detail::descriptor_state::make<detail::listener_state>(fd, options));
}

address tcp_listener::local() const { return name_of(number(), &driver::local_name); }

std::uint64_t tcp_listener::pauses() const noexcept {
  return state_ == nullptr ? 0 : static_cast<detail::listener_state*>(state_)->pauses();
}

task<tcp_stream> tcp_connect(address to, stream_options options) {
  driver& d = driver_here();
  const int fd = d.socket(to.family(), SOCK_STREAM, 0);
  if (fd < 0) throw failure(kernel_error(fd), "cannot make a socket for " + to.to_string());
  tcp_stream conn(fd, options);
  detail::one_operation connecting(op_code::connect, fd, "connect");
  connecting.data = const_cast<::sockaddr*>(to.native());
  connecting.len = to.native_len();
  const std::int64_t outcome = co_await connecting;
  if (outcome < 0)
    throw failure(kernel_error(static_cast<int>(outcome)), "cannot connect to " + to.to_string());
  conn.set_no_delay(true);
  co_return conn;
}

}  // namespace heddle
