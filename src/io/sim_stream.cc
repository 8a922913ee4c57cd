// SPDX-License-Identifier: MIT
// Sockets of streams (TCP-like and Unix) and listeners. A socket's states:
//   idle        made; may be bound
//   listening   its queue holds finished connections
//   connecting  a request travels to the listener
//   connected   has, or had, a peer; each half ends on its own
// Bytes travel over a link: they arrive at the peer, in order, after its latency and at its speed. What
// stands in the peer's buffer and what is on its way together never pass socket_buffer_bytes.
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "io/sim_pipe.hh"
#include "io/sim_world.hh"

namespace heddle::sim {

namespace {

// Linux sends its first requests to connect again after 1 s, 2 s, 4 s, ...; six give about a minute.
constexpr nanoseconds connect_retry_first{1'000'000'000};
constexpr unsigned connect_tries_max = 6;

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
  void reset() override { break_off(ECONNRESET, true); }
  void describe(struct ::statx& out) override { out.stx_mode = S_IFSOCK | 0777; }
  void closed() override;

  void join(const std::shared_ptr<stream_socket>& peer, const address& local,
            const address& remote, const sim_link& link);

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
  int error_ = 0;          // errno told once
  bool broken_ = false;    // after a reset
  bool in_ended_ = false;  // the peer's output has ended and everything of it arrived
  bool in_shut_ = false, out_shut_ = false, closed_ = false;
  bool share_port_ = false, reset_on_close_ = false, bound_ = false;
  std::uint64_t attempt_ = 0;  // numbers connects, so that a late answer is known as such
  std::int64_t connect_result_ = later;
  std::deque<std::shared_ptr<stream_socket>> queue_;  // of a listener
  std::size_t backlog_ = 0;
};

std::int64_t stream_socket::get(const transfer& t) {
  if (state_ == state::idle || state_ == state::listening) return on_unix() ? -EINVAL : -ENOTCONN;
  if (t.message != nullptr) t.message->msg_namelen = 0;
  if (t.message != nullptr) t.message->msg_controllen = 0;
  if (t.message != nullptr) t.message->msg_flags = 0;
  if (t.capacity() == 0) return 0;
  if (in_.len() != 0 && !in_shut_) {
    const std::size_t moved = in_.read(t, (t.flags & MSG_PEEK) != 0);
    if ((t.flags & MSG_PEEK) == 0)
      if (auto other = peer()) world_.changed(*other);  // it has room again
    return static_cast<std::int64_t>(moved);
  }
  if (error_ != 0) return -std::exchange(error_, 0);
  if (in_ended_ || in_shut_ || broken_) return 0;
  return later;
}

std::int64_t stream_socket::put(const transfer& t) {
  if (state_ == state::connecting) return later;
  if (t.message != nullptr && t.message->msg_controllen != 0) return -EOPNOTSUPP;
  if (state_ != state::connected) return on_unix() ? -ENOTCONN : -EPIPE;
  if (error_ != 0) return -std::exchange(error_, 0);
  if (out_shut_ || broken_) return -EPIPE;
  const auto other = peer();
  const bool gone = other == nullptr || other->closed_;
  if (on_unix() && (gone || other->in_shut_)) return -EPIPE;
  const std::size_t room = gone ? t.bytes() : other->in_.room();
  const std::size_t len = std::min(t.bytes(), room);
  if (len == 0) return t.bytes() == 0 ? 0 : later;
  std::string bytes(len, '\0');
  t.take(bytes.data(), len);
  if (!gone) other->in_.reserve(len);
  world_.after(arrival_of(len) - world_.time(),
               [self = shared_from_this(), to = peer_, bytes = std::move(bytes)]() mutable {
                 auto& sender = static_cast<stream_socket&>(*self);
                 auto receiver = to.lock();
                 if (receiver != nullptr && !receiver->closed_) {
                   receiver->arrive(std::static_pointer_cast<stream_socket>(self),
                                    std::move(bytes));
                   return;
                 }
                 // Nobody is there: a reset comes back, and the next write finds a broken pipe.
                 sender.world_.after(sender.link_.latency, [self] {
                   auto& late = static_cast<stream_socket&>(*self);
                   late.break_off(late.in_ended_ ? 0 : ECONNRESET, false);
                 });
               });
  return static_cast<std::int64_t>(len);
}

void stream_socket::arrive(const std::shared_ptr<stream_socket>& sender, std::string bytes) {
  in_.unreserve(bytes.size());
  if (broken_) return;
  world_.record(trace_kind::arrival, fd, static_cast<std::int64_t>(bytes.size()),
                hash_bytes(bytes.data(), bytes.size()));
  if (in_shut_)
    world_.changed(*sender);
  else
    in_.append(bytes);
  world_.changed(*this);
}

time_point stream_socket::arrival_of(std::size_t bytes) {
  time_point sent = world_.time();
  if (link_.bytes_per_second != 0) {
    const auto span = static_cast<unsigned __int128>(bytes) * 1'000'000'000u;
    link_free_ = std::max(link_free_, sent) +
                 nanoseconds{static_cast<std::int64_t>(span / link_.bytes_per_second)};
    sent = link_free_;
  }
  const time_point when = sent + link_.latency + world_.chance.up_to(link_.jitter);
  arrived_last_ = std::max(arrived_last_, when);  // a stream keeps its order whatever the jitter
  return std::max(arrived_last_, world_.time());
}

void stream_socket::end_output() {
  if (out_shut_) return;
  out_shut_ = true;
  world_.after(arrival_of(0) - world_.time(), [to = peer_, w = &world_] {
    if (auto receiver = to.lock()) {
      receiver->in_ended_ = true;
      w->changed(*receiver);
    }
  });
  world_.changed(*this);
}

void stream_socket::break_off(int error, bool tell_peer) {
  if (state_ != state::connected || broken_) return;
  broken_ = true;
  if (!closed_) error_ = error;
  if (error != 0 && tell_peer) {
    in_.clear();
    world_.after(link_.latency, [to = peer_] {
      if (auto other = to.lock()) other->break_off(ECONNRESET, false);
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
  if (state_ != state::connected) return;
  // What was never read tells the peer that it spoke to nobody.
  if (reset_on_close_ || in_.len() != 0)
    break_off(ECONNRESET, true);
  else
    end_output();
  if (auto other = peer()) world_.changed(*other);
}

int stream_socket::bind(const ::sockaddr* to, unsigned len) {
  address name;
  if (const int e = address::parse(to, len, name); e != 0) return e;
  if (name.family() != family_) return on_unix() ? -EINVAL : -EAFNOSUPPORT;
  if (bound_ || state_ != state::idle) return -EINVAL;
  if (const std::string path = name.path(); !path.empty())
    if (const int e = world_.files.make_socket(path); e != 0) return e;
  if (const int e = world_.net.claim(*this, true, share_port_, name); e != 0) return e;
  local_ = name;
  bound_ = true;
  return 0;
}

int stream_socket::listen(int backlog) {
  if (state_ != state::idle && state_ != state::listening) return -EINVAL;
  if (!bound_) {
    if (on_unix()) return -EINVAL;
    local_ = address::any(family_);
    if (const int e = world_.net.claim(*this, true, share_port_, local_); e != 0) return e;
    bound_ = true;
  }
  state_ = state::listening;
  const auto wanted = static_cast<std::uint32_t>(std::max(backlog, 1));
  backlog_ = std::min(wanted, world_.options.backlog_max);
  return 0;
}

std::int64_t stream_socket::accept() {
  if (state_ != state::listening || in_shut_) return -EINVAL;
  if (queue_.empty()) return later;
  const int descriptor = world_.add_descriptor(queue_.front());
  if (descriptor < 0) return descriptor;  // the connection stays for when there is room
  queue_.pop_front();
  return descriptor;
}

std::int64_t stream_socket::connect(const ::sockaddr* to, unsigned len) {
  if (state_ == state::connecting && connect_result_ != later) {
    state_ = connect_result_ == 0 ? state::connected : state::idle;
    return std::exchange(connect_result_, later);
  }
  if (state_ == state::connecting) return later;
  if (state_ == state::connected) return -EISCONN;
  if (state_ == state::listening) return -EINVAL;
  address name;
  if (const int e = address::parse(to, len, name); e != 0) return e;
  if (name.family() != family_) return on_unix() ? -EINVAL : -EAFNOSUPPORT;
  if (name.wildcard()) {
    const unsigned port = name.port();
    name = address::loopback(family_);
    name.set_port(port);
  }
  remote_ = name;
  if (!on_unix() && (local_.empty() || local_.wildcard())) {
    const unsigned port = bound_ ? local_.port() : world_.net.free_port(true);
    // The other side of the world has one face: every address that is not loopback sees it.
    local_ = remote_.on_loopback() ? address::loopback(family_) : address::outer(family_);
    local_.set_port(port);
  } else if (on_unix() && local_.empty()) {
    local_ = address::any(family_);
  }
  link_ = world_.net.link(local_, remote_);
  state_ = state::connecting;
  connect_result_ = later;
  ++attempt_;
  knock(0);
  return connect_result_ == later ? later : connect(to, len);
}

void stream_socket::abandon_connect() {
  ++attempt_;
  if (state_ == state::connecting) state_ = state::idle;
}

/// Sends a request to connect; what comes of it arrives at answer().
void stream_socket::knock(unsigned tries) {
  world_.after(link_.latency, [caller = weak_from_this(), attempt = attempt_, tries] {
    if (auto self = caller.lock()) static_cast<stream_socket&>(*self).answer(caller, attempt, tries);
  });
}

void stream_socket::answer(std::weak_ptr<object> caller, std::uint64_t attempt, unsigned tries) {
  if (attempt != attempt_ || closed_) return;
  const auto found = world_.net.owner(true, remote_);
  auto* listener = dynamic_cast<stream_socket*>(found.get());
  std::int64_t result = 0;
  std::shared_ptr<stream_socket> served;
  if (listener == nullptr || listener->state_ != state::listening || listener->in_shut_) {
    const std::string path = remote_.path();
    result = !path.empty() && !world_.files.exists(path) ? -ENOENT : -ECONNREFUSED;
  } else if (listener->queue_.size() >= listener->backlog_) {
    if (tries + 1 == connect_tries_max) {
      result = -ETIMEDOUT;
    } else {
      world_.after(connect_retry_first * (1 << tries), [caller, attempt, tries] {
        auto self = std::static_pointer_cast<stream_socket>(caller.lock());
        if (self != nullptr && self->attempt_ == attempt) self->knock(tries + 1);
      });
      return;
    }
  } else {
    served = std::make_shared<stream_socket>(world_, family_);
    auto self = std::static_pointer_cast<stream_socket>(shared_from_this());
    address name = listener->local_;
    if (!on_unix() && name.wildcard()) name = remote_;
    served->join(self, name, local_, link_);
    listener->queue_.push_back(served);
    world_.changed(*listener);
  }
  world_.after(link_.latency, [caller, attempt, result, served] {
    auto self = std::static_pointer_cast<stream_socket>(caller.lock());
    if (self == nullptr || self->attempt_ != attempt || self->closed_) {
      if (served != nullptr) served->reset();  // nobody waits for this connection any more
      return;
    }
    self->peer_ = served;
    self->connect_result_ = result;
    world& w = self->world_;
    w.changed(*self);
  });
}

void stream_socket::join(const std::shared_ptr<stream_socket>& peer, const address& local,
                         const address& remote, const sim_link& link) {
  state_ = state::connected;
  peer_ = peer;
  local_ = local;
  remote_ = remote;
  link_ = link;
}

int stream_socket::shutdown(int how) {
  if (how < SHUT_RD || how > SHUT_RDWR) return -EINVAL;
  if (state_ == state::listening && how != SHUT_WR) {
    in_shut_ = true;
    world_.changed(*this);
    return 0;
  }
  if (state_ != state::connected) return -ENOTCONN;
  if (how != SHUT_WR) {
    in_shut_ = true;
    in_.clear();
    if (auto other = peer()) world_.changed(*other);
  }
  if (how != SHUT_RD) end_output();
  world_.changed(*this);
  return 0;
}

int stream_socket::local_name(::sockaddr* out, unsigned* len) {
  return copy_name((local_.empty() ? address::any(family_) : local_).bytes(), out, len);
}

int stream_socket::peer_name(::sockaddr* out, unsigned* len) {
  if (state_ != state::connected || broken_) return -ENOTCONN;
  return copy_name(remote_.bytes(), out, len);
}

int stream_socket::set_option(int level, int option, const void* value, unsigned len) {
  int number = 0;
  if (value == nullptr || len < sizeof number) return -EINVAL;
  std::memcpy(&number, value, sizeof number);
  if (level == SOL_SOCKET && option == SO_REUSEPORT) share_port_ = number != 0;
  if (level == SOL_SOCKET && option == SO_RCVBUF) in_.set_max(std::max(number, 1));
  if (level == SOL_SOCKET && option == SO_LINGER && len >= sizeof(::linger)) {
    ::linger how{};
    std::memcpy(&how, value, sizeof how);
    reset_on_close_ = how.l_onoff != 0 && how.l_linger == 0;
  }
  return 0;
}

short stream_socket::events() {
  short now = 0;
  if (state_ == state::listening) {
    if (!queue_.empty()) now |= POLLIN;
    if (in_shut_) now |= POLLIN | POLLHUP;
    return now;
  }
  if (state_ == state::idle) return POLLOUT | POLLHUP;
  if (state_ == state::connecting) return 0;
  const auto other = peer();
  const bool gone = other == nullptr || other->closed_;
  if (in_.len() != 0 || in_ended_ || in_shut_ || broken_) now |= POLLIN;
  if (in_ended_ || in_shut_ || broken_) now |= POLLRDHUP;
  if (out_shut_ || broken_ || gone || other->in_.room() != 0) now |= POLLOUT;
  if (broken_ || (in_ended_ && out_shut_) || (on_unix() && gone)) now |= POLLHUP;
  if (error_ != 0) now |= POLLERR;
  return now;
}

}  // namespace

std::shared_ptr<object> make_stream_socket(world& w, int family) {
  return std::make_shared<stream_socket>(w, family);
}

void make_socket_pair(world& w, std::shared_ptr<object> (&ends)[2]) {
  auto first = std::make_shared<stream_socket>(w, AF_UNIX);
  auto second = std::make_shared<stream_socket>(w, AF_UNIX);
  const address unnamed = address::any(AF_UNIX);
  const sim_link at_once{nanoseconds{0}, nanoseconds{0}, 0, 0};
  first->join(second, unnamed, unnamed, at_once);
  second->join(first, unnamed, unnamed, at_once);
  ends[0] = first;
  ends[1] = second;
}

}  // namespace heddle::sim
