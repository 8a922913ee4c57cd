// SPDX-License-Identifier: MIT
// Two hosts with TCP in the program and a wire between them: a test runs client, TCP, wire, TCP and
// server in one process. Under the simulation driver time is virtual, and one seed gives one run.
//
//   net::simulated both({.wire = {.delay_us = 10'000, .loss = 0.01}, .seed = 7});
//   auto [door, at] = both.server().listen(address::any(80));
//   stream conn = co_await both.client().connect(at);
#pragma once

#include <cstdint>

#include "heddle/net/provider.hh"
#include "heddle/tcp/device_sim.hh"

namespace heddle::net {

struct simulated_options {
  tcp::wire_options wire = {};  ///< options of the wire, in both directions
  std::uint64_t seed = 1;
  tcp::stack_options client = {};  ///< a key of zeros is replaced by a key from the seed
  tcp::stack_options server = {};
};

/// Thread: the color that made it, in a running runtime.
/// Owns: both stacks and the wire, together with their streams and listeners.
class simulated {
 public:
  explicit simulated(const simulated_options& options = simulated_options());

  [[nodiscard]] const provider& client() const noexcept { return client_; }
  [[nodiscard]] const provider& server() const noexcept { return server_; }
  /// The wire from the client, or from the server; may be changed at any time.
  [[nodiscard]] tcp::wire_options& from_client() const;
  [[nodiscard]] tcp::wire_options& from_server() const;
  /// See device_sim::watch().
  void watch(tcp::packet_watcher watcher, void* context) const noexcept;

 private:
  provider client_;
  provider server_;
  std::shared_ptr<tcp::device_sim> sim_;
};

}  // namespace heddle::net
