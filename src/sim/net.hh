// SPDX-License-Identifier: MIT
// Names in the simulated network: the sockets bound to addresses, the links between addresses, and
// names of hosts. In a world of one computer every address is its own, so binding never gives
// EADDRNOTAVAIL there.
#pragma once

#include <sys/socket.h>

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "heddle/sim/options.hh"

namespace heddle::sim {

class computer;
class object;
class process;
class world;

/// A sockaddr in one spelling: no padding, no scope; equal names are equal bytes.
class address {
 public:
  address() = default;
  /// Reads an address. Gives -EINVAL or -EAFNOSUPPORT for a kind that this world does not have.
  static int parse(const ::sockaddr* from, unsigned len, address& out);
  /// A wildcard or loopback address of this family.
  static address any(int family);
  static address loopback(int family);
  /// The address of a host that has none of its own, as others see it.
  static address outer(int family);

  [[nodiscard]] int family() const noexcept;
  [[nodiscard]] bool empty() const noexcept { return bytes_.empty(); }
  [[nodiscard]] unsigned port() const noexcept;
  void set_port(unsigned port) noexcept;
  [[nodiscard]] bool wildcard() const noexcept;
  [[nodiscard]] bool on_loopback() const noexcept;
  /// The path of a Unix address in the file tree; "" for others.
  [[nodiscard]] std::string path() const;
  [[nodiscard]] std::span<const char> bytes() const noexcept { return bytes_; }
  friend bool operator==(const address&, const address&) = default;

 private:
  std::string bytes_;  // the sockaddr, cut to its length
};

/// Whether a socket bound to `bound` is meant by `to`.
[[nodiscard]] bool reaches(const address& bound, const address& to) noexcept;

struct host {
  std::vector<std::string> addresses;
  nanoseconds delay;
};

class network {
 public:
  explicit network(world& w) noexcept;

  /// Claims a name on the object's computer; port 0 picks one. -EADDRNOTAVAIL for an address of
  /// another computer; -EADDRINUSE unless both share it (SO_REUSEPORT).
  int claim(object& o, bool stream, bool shared, address& name);
  void release(object& o);
  /// The socket on this computer that is bound to an address which `to` reaches. If several share
  /// it, the seed picks one. Null if there is none.
  [[nodiscard]] std::shared_ptr<object> owner(bool stream, computer& on, const address& to);
  /// A port that no socket has claimed.
  [[nodiscard]] unsigned free_port(bool stream);

  void set_link(const address& name, const sim_link& link) { links_[text(name)] = link; }
  [[nodiscard]] sim_link link(computer& from, const address& local, const address& remote);

  std::map<std::string, host> hosts;

 private:
  struct claimed {
    address name;
    std::weak_ptr<object> owner;
    const object* whose;
    const computer* on;
    bool stream;
    bool shared;
  };
  static std::string text(const address& name) {
    return {name.bytes().data(), name.bytes().size()};
  }

  world& world_;
  std::vector<claimed> claims_;
  std::map<std::string, sim_link> links_;
  unsigned next_port_ = 32768;  // where Linux's range of picked ports begins
};

[[nodiscard]] std::shared_ptr<object> make_stream_socket(process& owner, int family);
[[nodiscard]] std::shared_ptr<object> make_datagram_socket(process& owner, int family);
/// Makes two connected Unix sockets.
void make_socket_pair(process& owner, std::shared_ptr<object> (&ends)[2]);
/// Makes the end to read from and the end to write to.
void make_pipe(process& owner, std::shared_ptr<object> (&ends)[2]);

}  // namespace heddle::sim
