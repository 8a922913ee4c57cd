// SPDX-License-Identifier: MIT
// The port mapper (RFC 1833 section 3): program 100000 version 2, which tells clients the ports of
// other programs. As a server it has a fixed table; as a client it is asked by port_of().
//
//   rpc::port_mapper mapper;
//   mapper.set(NFS_V3::program, NFS_V3::version, 2049);
//   mapper.add_to(server);           // and serve port 111
//
//   rpc::client c(co_await tcp_connect(host.with_port(rpc::port_mapper_port)));
//   const std::uint16_t port = co_await rpc::port_of(c, NFS_V3::program, NFS_V3::version);
#pragma once

#include <vector>

#include "heddle/rpc/client.hh"
#include "heddle/rpc/server.hh"

namespace heddle::rpc {

inline constexpr std::uint16_t port_mapper_port = 111;

/// A program at a port of TCP.
struct mapping {
  std::uint32_t program = 0;
  std::uint32_t version = 0;
  std::uint32_t protocol = 6;  ///< TCP
  std::uint32_t port = 0;
};
template <class A, xdr::form_of<mapping> V>
bool describe(A& a, V& v) {
  return a("prog", v.program) && a("vers", v.version) && a("prot", v.protocol) && a("port", v.port);
}

/// Answers NULL, GETPORT and DUMP. SET, UNSET and CALLIT are refused with PROC_UNAVAIL: others
/// cannot change the table.
/// Thread: one color. Owns: the table; it must outlive the server's serve().
class port_mapper {
 public:
  /// Adds a program, or changes its port.
  void set(std::uint32_t program, std::uint32_t version, std::uint16_t port);
  void add_to(server& s);
  [[nodiscard]] const std::vector<mapping>& table() const noexcept { return table_; }

 private:
  std::vector<mapping> table_;
};

/// Asks a port mapper for the TCP port of a program; 0 if it does not know the program. Fails as
/// client::call() does.
[[nodiscard]] task<std::uint16_t> port_of(client& mapper, std::uint32_t program,
                                          std::uint32_t version);
/// All programs that a port mapper knows.
[[nodiscard]] task<std::vector<mapping>> all_mappings(client& mapper);

}  // namespace heddle::rpc
