// SPDX-License-Identifier: MIT
// Programs for the nodes of a cluster: a service that echoes, and one that asks it.
#pragma once

#include <chrono>
#include <string>

#include "heddle/core/scope.hh"
#include "heddle/core/sleep.hh"
#include "heddle/core/task.hh"
#include "heddle/io/tcp.hh"
#include "heddle/sim/cluster.hh"

namespace heddle::test {

inline constexpr std::uint16_t echo_port = 7;

inline task<> echo_to(tcp_stream peer) {
  try {
    while (received in = co_await peer.receive()) co_await peer.write(in.data());
  } catch (const failure&) {
    // The peer has gone.
  }
}

/// Echoes to every connection, until its process ends.
inline task<int> echo_service(sim::node&) {
  const tcp_listener listener = tcp_listener::listen(address::any_v4(echo_port));
  for (;;) {
    tcp_stream peer = co_await listener.accept();
    runtime::here().spawn(echo_to(std::move(peer)));
  }
}

/// Sends a text to a node, in parts of this size with pauses, and gives what comes back: as much as
/// was sent, or less at the end.
inline task<std::string> echo(std::string host, std::string text, std::size_t part = 1024) {
  const tcp_stream conn = co_await tcp_connect(host, echo_port);
  for (std::size_t at = 0; at < text.size(); at += part) {
    if (at != 0) co_await sleep_for(std::chrono::milliseconds(50));
    co_await conn.write(std::string_view(text).substr(at, part));
  }
  std::string back(text.size(), '\0');
  const std::size_t count = co_await conn.read(back);
  back.resize(count);
  co_return back;
}

/// How a run ended, as a word.
inline const char* word(const sim::outcome& end) {
  static constexpr const char* words[] = {"finished", "time over", "nothing left", "too many turns",
                                          "failed"};
  return words[static_cast<std::size_t>(end.how)];
}

}  // namespace heddle::test
