// SPDX-License-Identifier: MIT
// class service: NFS and MOUNT at one address, by several RPC servers that share the port. Each has
// a color of its own, so connections spread over the workers; the files have theirs (volume.hh).
#pragma once

#include <memory>
#include <vector>

#include "heddle/io/tcp.hh"
#include "heddle/rpc/port_mapper.hh"
#include "mount.hh"
#include "procedures.hh"

namespace nfs {

struct service_options {
  heddle::rpc::server_options connections;  ///< limits of connections, for each server
  procedure_options procedures;
  mount_options mounts;
  unsigned servers = 1;  ///< listeners that share the port
};

/// Thread: one color. Owns: listeners and connections; volume and exports must outlive it.
/// Cancel: cancelling serve() ends all connections. stop() lets calls under way end.
///
///   service files(volume, exports, {});
///   const address at = co_await files.listen(address::loopback(2049));
///   co_await files.serve();
class service {
 public:
  service(volume& of, const export_list& exports, service_options options = {});

  /// Listens, port 0 at a free port, and returns where. Throws failure, naming the address.
  [[nodiscard]] heddle::task<heddle::address> listen(heddle::address at);
  /// Answers also as a port mapper (RFC 1833), for clients that ask it for the ports of NFS and
  /// MOUNT; after listen().
  [[nodiscard]] heddle::task<> listen_as_port_mapper(heddle::address at);
  /// Serves until stop() or until it is cancelled.
  [[nodiscard]] heddle::task<> serve();
  /// Accepts no more, and ends connections when their calls are answered.
  [[nodiscard]] heddle::task<> stop();

  [[nodiscard]] const procedures& files() const noexcept { return procedures_; }
  /// Sums over the servers; exact when none runs.
  [[nodiscard]] heddle::rpc::server_counters counters() const noexcept;

 private:
  struct part {
    heddle::color color;
    std::unique_ptr<heddle::rpc::server> server;
    heddle::tcp_listener door;
  };
  heddle::task<heddle::address> open(part& p, heddle::address at, bool shared);
  static heddle::task<> run(part& p);
  static heddle::task<> end(part& p);

  service_options options_;
  procedures procedures_;
  mounts mounts_;
  heddle::rpc::port_mapper mapper_;
  std::vector<part> parts_;
};

}  // namespace nfs
