// SPDX-License-Identifier: MIT
// Accepting ahead into a bounded queue, and outlasting a lack of descriptors.
#include "heddle/io/listener.hh"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "heddle/base/sometimes.hh"
#include "io/listener_state.hh"
#include "io/socket_state.hh"
#include "io/state_kinds.hh"

namespace heddle {
namespace {

const wait_kind accept_kind{"accept", &detail::cancel_entry<detail::accept_awaiter>};

bool set_flag(int fd, int level, int option, bool on) noexcept {
  const int value = on ? 1 : 0;
  return driver_here().set_option(fd, level, option, &value, sizeof value) >= 0;
}

/// Whether the error is of one connection and says nothing about the listener.
bool of_connection(int error) noexcept {
  return error == ECONNABORTED || error == EPROTO || error == EPERM || error == ENETDOWN ||
         error == ENETUNREACH || error == EHOSTDOWN || error == EHOSTUNREACH ||
         error == ENOPROTOOPT || error == ENONET || error == EINTR || error == EAGAIN;
}

bool out_of_something(int error) noexcept {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace

namespace detail {

// `outcome` is -errno, or tells take() which connection came: a descriptor, or 0 from a source.
accept_awaiter::accept_awaiter(pinned_state&& on) noexcept
    : lane_awaiter(std::move(on), lane_role::accept, false, extent::all, accept_kind) {
  outcome = -ECANCELED;
}
accept_awaiter::~accept_awaiter() {
  if (outcome >= 0) listener_functions_of(*state)->drop(*state, outcome);
}

descriptor_state* accept_awaiter::take() {
  return listener_functions_of(*state)->take(*state, std::exchange(outcome, -ECANCELED));
}

const listener_functions accepting_functions = {
    .take = [](descriptor_state& s, std::int32_t fd) -> descriptor_state* {
      auto* const made =
          descriptor_state::make<socket_state>(fd, static_cast<listener_state&>(s).options.streams);
      made->never_waits = 1;
      return made;
    },
    .drop = [](descriptor_state&,
               std::int32_t fd) noexcept { driver_here().close(fd, worker::here()); },
    .finish = [](descriptor_state& s,
                 worker& w) noexcept { static_cast<listener_state&>(s).finish(w); },
    .pauses =
        [](const descriptor_state& s) noexcept {
          return static_cast<const listener_state&>(s).pauses();
        },
};

}  // namespace detail

void listener::finish() const noexcept {
  if (state_ == nullptr) return;
  if (detail::listener_functions_of(*state_) == nullptr) return;
  state_->do_at_home([](detail::descriptor_state& s, worker& w) noexcept {
    detail::listener_functions_of(s)->finish(s, w);
  });
}

std::uint64_t listener::pauses() const noexcept {
  const auto* f = state_ == nullptr ? nullptr : detail::listener_functions_of(*state_);
  return f == nullptr ? 0 : f->pauses(*state_);
}

namespace detail {

const wait_kind listener_state::kind_of_wait{"accept all", &detail::never_asked};

const descriptor_functions socket_listener_functions = {
    .start = [](descriptor_state& s, lane_entry& e,
                worker& w) noexcept { return static_cast<listener_state&>(s).serve(e, w); },
    .cancel = &cancel_in_driver,
    .close =
        [](descriptor_state& s, int number, worker& w) noexcept {
          static_cast<listener_state&>(s).stop(w);
          close_number(s, number, w);
        },
    .each_operation =
        [](descriptor_state& s, void (*f)(void*, operation&), void* context) noexcept {
          f(context, static_cast<listener_state&>(s).accepting());
        },
    .destroy = &destroy_state<listener_state>,
    .works_in =
        [](const descriptor_state& s) noexcept {
          return static_cast<const listener_state&>(s).accepts_in();
        },
};

const entry_functions accept_functions = {.wait_of = &wait_in<accept_awaiter>};

listener_state::listener_state(int number, listen_options chosen)
    : descriptor_state(number, descriptor_kind::listener),
      options(chosen),
      accepting_(kind_of_wait, op_code::accept_all, number, &arrived),
      pause_(*this),
      room_(std::max<std::uint16_t>(chosen.accept_queue, 1)) {
  ready_ = static_cast<int*>(worker::here().memory.allocate(room_ * sizeof(int)));
  accepting_.submitter = this;
}

listener_state::~listener_state() { worker::here().memory.release(ready_, room_ * sizeof(int)); }

void listener_state::arm(worker& w) noexcept {
  ++pins;
  set_home(accepts_in_, w.color);
  completion unused;
  const bool done = driver_here().submit(accepting_, w, unused);
  HEDDLE_ASSERT(!done, "a driver must not end a multishot operation in submit(): fix the driver");
}

int listener_state::pop() noexcept {
  const int fd = ready_[first_];
  first_ = static_cast<std::uint16_t>((first_ + 1) % room_);
  --count_;
  return fd;
}

bool listener_state::push(int fd, worker& w) noexcept {
  if (count_ == room_) {
    const auto wider = static_cast<std::uint16_t>(std::min(2 * room_, 0xffff));
    if (wider == room_) return false;
    int* ring;
    try {
      ring = static_cast<int*>(w.memory.allocate(wider * sizeof(int)));
    } catch (...) {
      return false;
    }
    for (std::uint16_t i = 0; i < count_; ++i) ring[i] = ready_[(first_ + i) % room_];
    w.memory.release(ready_, room_ * sizeof(int));
    ready_ = ring;
    room_ = wider;
    first_ = 0;
  }
  ready_[(first_ + count_++) % room_] = fd;
  return true;
}

bool listener_state::serve(lane_entry& e, worker& w) noexcept {
  if (count_ != 0) {
    e.outcome = pop();
    return true;
  }
  if (error_ != 0) {
    e.outcome = error_;
    return true;
  }
  if (!accepting_.is_pending() && !pause_.armed()) arm(w);
  return false;
}

void listener_state::stop(worker& w) noexcept {
  pause_.disarm();
  while (count_ != 0) driver_here().close(pop(), w);
}

void listener_state::finish(worker& w) noexcept {
  if (!open() || std::exchange(finishing_, true)) return;
  pause_.disarm();
  if (accepting_.is_pending()) {
    runtime::here().cancel(accepting_, w);  // connections that it took complete before its end
    return;
  }
  if (sweep(w)) return;
  ++pins;
  error_ = -ECANCELED;
  advance(reads, w);
  unpin_one();
}

bool listener_state::sweep(worker& w) noexcept {
  if (!open() || sweeps_left_ == 0 || !driver_here().has_input(number())) return false;
  --sweeps_left_;
  arm(w);
  w.sched.arm_after(w, pause_, sweep_span);
  return true;
}

bool listener_state::arrived(operation& op, worker& w, const completion& c) noexcept {
  auto& self = *static_cast<listener_state*>(op.submitter);
  const auto error = static_cast<int>(c.result < 0 ? -c.result : 0);
  if (error == 0) {
    const auto fd = static_cast<int>(c.result);
    if (!self.open() || !self.push(fd, w)) driver_here().close(fd, w);
  } else if (out_of_something(error)) {
    HEDDLE_SOMETIMES("a listener waits because descriptors or memory are used up");
    ++self.pauses_;
    if (self.open() && !self.pause_.armed()) w.sched.arm_after(w, self.pause_, self.options.pause);
  } else if (error != ECANCELED && !of_connection(error)) {  // ECANCELED: the queue was full
    self.error_ = -error;
  }
  ++self.pins;
  if (self.finishing_ && !c.more) {
    self.pause_.disarm();
    if (out_of_something(error) || !self.sweep(w)) self.error_ = -ECANCELED;
  }
  self.advance(self.reads, w);
  const bool go_on = self.open() && !self.finishing_ && self.count_ < self.options.accept_queue;
  if (!c.more) self.unpin_one();
  self.unpin_one();
  return go_on;
}

void listener_state::alarm::over(timer_node& t, worker& w) noexcept {
  listener_state& self = static_cast<alarm&>(t).owner;
  if (self.finishing_ && self.accepting_.is_pending()) {
    runtime::here().cancel(self.accepting_, w);
  } else {
    self.advance(self.reads, w);
  }
}

listener_state* listen_at(const ::sockaddr* at, unsigned len, const std::string& name,
                          const listen_options& options) {
  driver& d = driver_here();
  const int family = at->sa_family;
  const int fd = d.socket(family, SOCK_STREAM, 0);
  if (fd < 0) throw failure(kernel_error(fd), "cannot make a socket for " + name);
  if (family != AF_UNIX) {
    // Failures are ignored: a system that does not know such an option does not need it.
    if (options.reuse_address) set_flag(fd, SOL_SOCKET, SO_REUSEADDR, true);
    if (options.reuse_port) set_flag(fd, SOL_SOCKET, SO_REUSEPORT, true);
    if (family == AF_INET6) set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY, options.v6_only);
    // Accepted sockets inherit TCP_NODELAY: one call here instead of one for each connection.
    if (options.no_delay) set_flag(fd, IPPROTO_TCP, TCP_NODELAY, true);
  }
  int error = d.bind(fd, at, len);
  if (error >= 0) error = d.listen(fd, options.backlog);
  if (error < 0) {
    d.close(fd, worker::here());
    throw failure(kernel_error(error), "cannot listen on " + name);
  }
  return descriptor_state::make<listener_state>(fd, options);
}

listener_state* adopt_listening(int fd, bool local, const listen_options& options) {
  const std::string name = "descriptor " + std::to_string(fd);
  if (driver_here().simulated())
    throw failure(std::make_error_code(std::errc::operation_not_supported),
                  "a simulated program has no " + name + " of the system's");
  int listens = 0;
  socklen_t len = sizeof listens;
  if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) < 0)
    throw failure({errno, std::generic_category()}, "cannot take " + name);
  int family = 0;
  len = sizeof family;
  static_cast<void>(::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &family, &len));
  const bool fits = local ? family == AF_UNIX : family == AF_INET || family == AF_INET6;
  if (listens == 0 || !fits)
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  name + " is no listening " + (local ? "Unix socket" : "TCP socket"));
  // The socket's opener may have left it blocking, and inherited by child processes.
  if (const int flags = ::fcntl(fd, F_GETFL); flags < 0 ||
                                              ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
                                              ::fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
    throw failure({errno, std::generic_category()}, "cannot take " + name);
  driver_here().adopt(fd);
  return descriptor_state::make<listener_state>(fd, options);
}

}  // namespace detail
}  // namespace heddle
