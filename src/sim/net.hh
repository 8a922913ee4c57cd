// SPDX-License-Identifier: MIT
// Names in the simulated network: the sockets bound to addresses, the links between addresses, and
// names of hosts. In a world of one computer every address is its own, so binding never gives
// EADDRNOTAVAIL there.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "heddle/sim/options.hh"
#include "sim/address.hh"

namespace heddle::sim {

class computer;
class object;
class process;

struct host {
  std::vector<std::string> addresses;
  nanoseconds delay;
};

class network {
 public:
  explicit network(const sim_options& options) noexcept : options_(options) {}

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

  const sim_options& options_;
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
