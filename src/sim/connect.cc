// SPDX-License-Identifier: MIT
// How stream sockets meet: names, listeners, the request to connect and its answer.
#include <sys/socket.h>

#include "sim/stream.hh"

namespace heddle::sim {

namespace {

// Linux sends its first requests to connect again after 1 s, 2 s, 4 s, ...; six give about a
// minute.
constexpr nanoseconds connect_retry_first{1'000'000'000};
constexpr unsigned connect_tries_max = 6;
// Where no computer has an address, Linux asks for it three times, each second.
constexpr nanoseconds unreachable_after{3'000'000'000};

}  // namespace

int stream_socket::bind(const ::sockaddr* to, unsigned len) {
  address name;
  if (const int e = address::parse(to, len, name); e != 0) return e;
  if (name.family() != family_) return on_unix() ? -EINVAL : -EAFNOSUPPORT;
  if (bound_ || state_ != state::idle) return -EINVAL;
  if (const std::string path = name.path(); !path.empty())
    if (const int e = here.files.make_socket(path); e != 0) return e;
  if (const int e = world_.net.claim(*this, true, options_.share_port, name); e != 0) return e;
  local_ = name;
  bound_ = true;
  return 0;
}

int stream_socket::listen(int backlog) {
  if (state_ != state::idle && state_ != state::listening) return -EINVAL;
  if (!bound_) {
    if (on_unix()) return -EINVAL;
    local_ = address::any(family_);
    if (const int e = world_.net.claim(*this, true, options_.share_port, local_); e != 0) return e;
    bound_ = true;
  }
  if (state_ == state::idle) move_to(state::listening);
  const auto wanted = static_cast<std::uint32_t>(std::max(backlog, 1));
  backlog_ = std::min(wanted, world_.options.backlog_max);
  return 0;
}

std::int64_t stream_socket::accept() {
  if (state_ != state::listening || in_shut()) return -EINVAL;
  if (queue_.empty()) return later;
  const int descriptor = owner.add_descriptor(queue_.front());
  if (descriptor < 0) return descriptor;  // the connection stays for when there is room
  queue_.pop_front();
  return descriptor;
}

std::int64_t stream_socket::connect(const ::sockaddr* to, unsigned len) {
  if (state_ == state::connecting && connect_result_ != later) {
    move_to(connect_result_ == 0 ? state::connected : state::idle);
    return std::exchange(connect_result_, later);
  }
  if (state_ == state::connecting) return later;
  if (had_peer()) return -EISCONN;
  if (state_ == state::listening) return -EINVAL;
  address name;
  if (const int e = address::parse(to, len, name); e != 0) return e;
  if (name.family() != family_) return on_unix() ? -EINVAL : -EAFNOSUPPORT;
  if (name.wildcard()) {
    const unsigned port = name.port();
    name = address::loopback(family_);
    name.set_port(port);
  }
  if (!on_unix() && !name.on_loopback() && !here.speaks(family_)) return -ENETUNREACH;
  remote_ = name;
  computer* const far = world_.at_address(remote_, here);
  if (!on_unix() && (local_.empty() || local_.wildcard())) {
    const unsigned port = bound_ ? local_.port() : world_.net.free_port(true);
    // All peers but those on loopback see this computer under one address.
    local_ = remote_.on_loopback() ? address::loopback(family_) : here.outer(family_);
    local_.set_port(port);
  } else if (on_unix() && local_.empty()) {
    local_ = address::any(family_);
  }
  link_ = world_.net.link(here, local_, remote_);
  move_to(state::connecting);
  connect_result_ = later;
  ++attempt_;
  if (far == nullptr) {
    world_.after(unreachable_after, [caller = weak_from_this(), attempt = attempt_] {
      if (auto self = caller.lock())
        static_cast<stream_socket&>(*self).conclude(attempt, -EHOSTUNREACH, nullptr);
    });
    return later;
  }
  far_ = far;
  if (const sim_link* set = world_.between.of(here.number, far_->number)) link_ = *set;
  knock(0);
  return connect_result_ == later ? later : connect(to, len);
}

void stream_socket::abandon_connect() {
  ++attempt_;
  if (state_ == state::connecting) move_to(state::idle);
}

/// Sends a request to connect; the result arrives at conclude().
void stream_socket::knock(unsigned tries) {
  world_.after(link_.latency, [caller = weak_from_this(), attempt = attempt_, tries] {
    if (auto self = caller.lock()) static_cast<stream_socket&>(*self).answer(attempt, tries);
  });
}

/// Sends the request once more after a while, unless that was the last time.
void stream_socket::knock_again(unsigned tries) {
  if (tries + 1 == connect_tries_max) {
    conclude(attempt_, -ETIMEDOUT, nullptr);
    return;
  }
  world_.after(connect_retry_first * (1 << tries),
               [caller = weak_from_this(), attempt = attempt_, tries] {
                 auto self = std::static_pointer_cast<stream_socket>(caller.lock());
                 if (self != nullptr && self->attempt_ == attempt) self->knock(tries + 1);
               });
}

/// The request has arrived.
void stream_socket::answer(std::uint64_t attempt, unsigned tries) {
  if (attempt != attempt_ || closed_) return;
  if (cut_out() || cut_in()) return knock_again(tries);
  const auto found = world_.net.owner(true, *far_, remote_);
  auto* listener = dynamic_cast<stream_socket*>(found.get());
  std::int64_t result = 0;
  std::shared_ptr<stream_socket> served;
  if (listener == nullptr || listener->state_ != state::listening || listener->in_shut()) {
    const std::string path = remote_.path();
    result = !path.empty() && !far_->files.exists(path) ? -ENOENT : -ECONNREFUSED;
  } else if (listener->queue_.size() >= listener->backlog_) {
    if (!on_unix()) return knock_again(tries);
    result = -EAGAIN;
  } else {
    served = std::make_shared<stream_socket>(listener->owner, family_);
    auto self = std::static_pointer_cast<stream_socket>(shared_from_this());
    address name = listener->local_;
    if (!on_unix() && name.wildcard()) name = remote_;
    served->join(self, name, local_, link_);
    listener->queue_.push_back(served);
    world_.changed(*listener);
  }
  if (served != nullptr) {
    served->travel(link_.latency, [caller = weak_from_this(), attempt](stream_socket& accepted) {
      auto connection = std::static_pointer_cast<stream_socket>(accepted.shared_from_this());
      if (auto self = std::static_pointer_cast<stream_socket>(caller.lock()))
        self->conclude(attempt, 0, connection);
      else
        connection->reset();
    });
    return;
  }
  world_.after(link_.latency, [caller = weak_from_this(), attempt, tries, result] {
    auto self = std::static_pointer_cast<stream_socket>(caller.lock());
    if (self == nullptr || self->attempt_ != attempt) return;
    if (self->cut_in())
      self->knock_again(tries);  // the refusal is lost
    else
      self->conclude(attempt, result, nullptr);
  });
}

void stream_socket::conclude(std::uint64_t attempt, std::int64_t result,
                             const std::shared_ptr<stream_socket>& served) {
  if (attempt_ != attempt || closed_) {
    if (served != nullptr) served->reset();  // the caller has given this connection up
    return;
  }
  peer_ = served;
  connect_result_ = result;
  world_.changed(*this);
}

void stream_socket::join(const std::shared_ptr<stream_socket>& peer, const address& local,
                         const address& remote, const sim_link& link) {
  move_to(state::connected);
  peer_ = peer;
  far_ = &peer->here;
  local_ = local;
  remote_ = remote;
  link_ = link;
}

int stream_socket::local_name(::sockaddr* out, unsigned* len) {
  return copy_name((local_.empty() ? address::any(family_) : local_).bytes(), out, len);
}

int stream_socket::peer_name(::sockaddr* out, unsigned* len) {
  if (state_ != state::connected) return -ENOTCONN;
  return copy_name(remote_.bytes(), out, len);
}

}  // namespace heddle::sim
