// SPDX-License-Identifier: MIT
// The options of a connection to NATS: servers, identity, limits, times.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/task.hh"
#include "heddle/io/stream.hh"

namespace heddle::nats {

/// How to be known to a server. Set a token, or a user with a password, or neither.
struct identity {
  std::string user = {};
  std::string password = {};
  std::string token = {};
};

struct connection_options {
  /// Servers of one cluster, "HOST" or "HOST:PORT" (port 4222 if there is none), tried in turn.
  std::vector<std::string> servers = {"127.0.0.1:4222"};
  /// Whether servers that the cluster names are tried too, after those of the list.
  bool learn_servers = true;
  std::size_t servers_max = 64;  ///< in the list and learned
  std::string name = {};         ///< the name of this connection in the server's lists
  identity who = {};
  /// Puts a layer over a connection to a host, after the server's greeting. A server that demands
  /// TLS is refused without it.
  ///   .secure = [trust](stream s, std::string host) {
  ///     return tls::connect(std::move(s), std::move(host), trust); }
  std::function<task<stream>(stream, std::string)> secure = {};
  /// Makes the connection to a host and port; empty: tcp_connect().
  std::function<task<stream>(std::string, std::uint16_t)> dial = {};

  nanoseconds connect_timeout = std::chrono::seconds(2);  ///< name, connection, TLS, greeting
  /// Between two tries after each server has failed once; doubled each round, up to retry_max.
  nanoseconds retry = std::chrono::milliseconds(100);
  nanoseconds retry_max = std::chrono::seconds(2);
  /// A silent server is asked at this distance. One that owes two answers is given up.
  nanoseconds ping_every = std::chrono::seconds(10);

  /// Bytes that are published and have not left, also while there is no connection; then
  /// publish() waits. As many more may be in the hands of the system.
  std::size_t unsent_max = std::size_t{8} << 20;
  std::size_t payload_max = std::size_t{1}
                            << 20;               ///< fields and body, also if the server takes more
  std::size_t control_line_max = 4096;           ///< bytes of a line of the server's
  std::size_t info_max = std::size_t{64} << 10;  ///< bytes of the server's greeting
  std::size_t subscriptions_max = 65536;         ///< at one time

  /// Gets a line when a connection was made, lost or refused. Empty: no lines.
  std::function<void(std::string_view)> log = {};
};

struct subscribe_options {
  /// Subscriptions with one group share its messages: each goes to one of them.
  std::string group = {};
  /// Messages and bytes that wait to be taken; messages beyond are dropped and counted.
  std::size_t messages_max = 65536;
  std::size_t bytes_max = std::size_t{64} << 20;
};

}  // namespace heddle::nats
