// SPDX-License-Identifier: MIT
// Datagram sockets of the simulated network: each message arrives whole or not at all, after the
// link's latency, in any order that the jitter makes, and not when its receiver's queue is full.
#include <poll.h>

#include <algorithm>
#include <utility>

#include "sim/process.hh"

namespace heddle::sim {

namespace {

constexpr std::size_t udp_payload_max = 65507;  // 65535 less the heads of IPv4 and UDP

class datagram_socket final : public object {
 public:
  datagram_socket(process& owner, int family) : object(owner), family_(family) {}

  std::int64_t get(const transfer& t) override {
    if (queue_.empty()) {
      if (error_ != 0) return -std::exchange(error_, 0);
      return in_shut_ ? 0 : later;
    }
    const message& first = queue_.front();
    // A short transfer would be loss of data here, so t.bytes_max does not count.
    const std::size_t moved = std::min(t.capacity(), first.bytes.size());
    const bool cut = moved < first.bytes.size();
    t.fill(first.bytes.data(), moved);
    if (t.message != nullptr) {
      if (t.message->msg_name != nullptr)
        copy_name(first.from.bytes(), static_cast<::sockaddr*>(t.message->msg_name),
                  &t.message->msg_namelen);
      t.message->msg_controllen = 0;
      t.message->msg_flags = cut ? MSG_TRUNC : 0;
    }
    const std::size_t told = (t.flags & MSG_TRUNC) != 0 ? first.bytes.size() : moved;
    if ((t.flags & MSG_PEEK) == 0) queue_.pop_front();
    return static_cast<std::int64_t>(told);
  }

  std::int64_t put(const transfer& t) override {
    if (error_ != 0) return -std::exchange(error_, 0);
    if (out_shut_) return -EPIPE;
    address to = remote_;
    if (t.message != nullptr && t.message->msg_controllen != 0) return -EOPNOTSUPP;
    if (t.message != nullptr && t.message->msg_name != nullptr) {
      const auto* name = static_cast<const ::sockaddr*>(t.message->msg_name);
      if (const int e = address::parse(name, t.message->msg_namelen, to); e != 0) return e;
      if (to.family() != family_) return -EAFNOSUPPORT;
      if (family_ != AF_UNIX && to.port() == 0) return -EINVAL;
    }
    if (to.empty()) return family_ == AF_UNIX ? -ENOTCONN : -EDESTADDRREQ;
    const std::size_t len = t.capacity();
    if (len > udp_payload_max) return -EMSGSIZE;
    if (family_ != AF_UNIX && !to.on_loopback() && !here.speaks(family_)) return -ENETUNREACH;
    if (const int e = name_for(to); e != 0) return e;
    if (family_ == AF_UNIX && world_.net.owner(false, here, to) == nullptr)
      return to.path().empty() || here.files.exists(to.path()) ? -ECONNREFUSED : -ENOENT;
    message m{address(source(to)), std::string(len, '\0')};
    t.take(m.bytes.data(), len);
    computer* const far = world_.at_address(to, here);
    if (far == nullptr) return static_cast<std::int64_t>(len);  // nothing tells that it is lost
    sim_link link = world_.net.link(here, m.from, to);
    if (const sim_link* set = world_.between.of(here.number, far->number)) link = *set;
    if (!here.wire.chance(link.loss))
      world_.after(
          link.latency + here.wire.up_to(link.jitter),
          [self = weak_from_this(), w = &world_, here = &here, far, to,
           m = std::move(m)]() mutable { deliver(self, *w, *here, *far, to, std::move(m)); });
    return static_cast<std::int64_t>(len);
  }

  std::int64_t connect(const ::sockaddr* to, unsigned len) override {
    address name;
    if (const int e = address::parse(to, len, name); e != 0) return e;
    if (name.family() != family_) return -EAFNOSUPPORT;
    if (const int e = name_for(name); e != 0) return e;
    remote_ = name;
    return 0;
  }
  int bind(const ::sockaddr* to, unsigned len) override {
    address name;
    if (const int e = address::parse(to, len, name); e != 0) return e;
    if (name.family() != family_) return -EAFNOSUPPORT;
    if (!local_.empty()) return -EINVAL;
    if (const std::string path = name.path(); !path.empty())
      if (const int e = here.files.make_socket(path); e != 0) return e;
    if (const int e = world_.net.claim(*this, false, share_port_, name); e != 0) return e;
    local_ = name;
    return 0;
  }
  int listen(int) override { return -EOPNOTSUPP; }
  std::int64_t accept() override { return -EOPNOTSUPP; }
  int shutdown(int how) override {
    if (remote_.empty()) return -ENOTCONN;
    if (how != SHUT_WR) in_shut_ = true;
    if (how != SHUT_RD) out_shut_ = true;
    world_.changed(*this);
    return 0;
  }
  int local_name(::sockaddr* out, unsigned* len) override {
    // A connected socket has the address that its datagrams come from.
    if (!remote_.empty()) return copy_name(source(remote_).bytes(), out, len);
    return copy_name((local_.empty() ? address::any(family_) : local_).bytes(), out, len);
  }
  int peer_name(::sockaddr* out, unsigned* len) override {
    return remote_.empty() ? -ENOTCONN : copy_name(remote_.bytes(), out, len);
  }
  int set_option(int level, int option, const void* value, unsigned len) override {
    if (value == nullptr || len < sizeof(int)) return -EINVAL;
    if (level == SOL_SOCKET && option == SO_REUSEPORT)
      share_port_ = *static_cast<const int*>(value) != 0;
    return 0;
  }
  short events() override {
    short now = POLLOUT;
    if (!queue_.empty() || in_shut_ || error_ != 0) now |= POLLIN;
    if (error_ != 0) now |= POLLERR;
    return now;
  }
  void describe(struct ::statx& out) override { out.stx_mode = S_IFSOCK | 0777; }
  void closed() override { world_.net.release(*this); }

 private:
  struct message {
    address from;
    std::string bytes;
  };

  /// A sender needs a name, so that an answer finds it; Unix sockets may stay nameless.
  int name_for(const address&) {
    if (family_ == AF_UNIX || !local_.empty()) return 0;
    local_ = address::any(family_);
    return world_.net.claim(*this, false, false, local_);
  }
  [[nodiscard]] address source(const address& to) const {
    if (family_ == AF_UNIX) return local_.empty() ? address::any(family_) : local_;
    if (!local_.wildcard()) return local_;
    address from = to.on_loopback() ? address::loopback(family_) : here.outer(family_);
    from.set_port(local_.port());
    return from;
  }
  static void deliver(const std::weak_ptr<object>& sender, world& home, const computer& here,
                      computer& far, const address& to, message m) {
    world& w = home;
    if (w.is_cut(here, far)) return;
    auto found = w.net.owner(false, far, to);
    if (found == nullptr) {
      // A connected sender gets an error if no socket is bound there, as by ICMP.
      auto from = sender.lock();
      if (from == nullptr || w.is_cut(far, here)) return;
      auto& self = static_cast<datagram_socket&>(*from);
      if (!self.remote_.empty()) self.error_ = ECONNREFUSED;
      w.changed(self);
      return;
    }
    auto& target = static_cast<datagram_socket&>(*found);
    if (!target.remote_.empty() && target.remote_ != m.from) return;
    if (target.queue_.size() >= w.options.datagrams_max) return;
    target.owner.record(trace_kind::arrival, target.fd, static_cast<std::int64_t>(m.bytes.size()),
                        hash_bytes(m.bytes.data(), m.bytes.size()));
    target.queue_.push_back(std::move(m));
    w.changed(target);
  }

  int family_;
  address local_, remote_;
  std::deque<message> queue_;
  int error_ = 0;
  bool in_shut_ = false, out_shut_ = false, share_port_ = false;
};

}  // namespace

std::shared_ptr<object> make_datagram_socket(process& owner, int family) {
  return std::make_shared<datagram_socket>(owner, family);
}

}  // namespace heddle::sim
