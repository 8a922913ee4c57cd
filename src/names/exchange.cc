// SPDX-License-Identifier: MIT
// Asking one server over UDP, and over TCP if that is needed.
#include "names/exchange.hh"

#include <algorithm>
#include <array>

#include "heddle/base/sometimes.hh"
#include "heddle/io/call.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/udp.hh"

namespace heddle::names::detail {
namespace {

constexpr std::size_t plain_udp_bytes = 512;  // RFC 1035 section 4.2.1

/// Connects the socket: it takes datagrams of this server only, and reports an unreachable server.
task<> connect_to_server(const udp_socket& on, const address& server) {
  one_operation connecting(op_code::connect, on.number(), "connect");
  connecting.data = const_cast<::sockaddr*>(server.native());
  connecting.len = server.native_len();
  const std::int64_t got = co_await connecting;
  if (got < 0) throw failure(kernel_error(static_cast<int>(got)));
}

task<reply> ask_over_udp(const address& server, const question& q, bool edns,
                         const resolver_options& options, const reply_limits& limits,
                         resolver_counters& counters) {
  const udp_socket on = udp_socket::bind(server.is_v6() ? address::any(0) : address::any_v4(0));
  co_await connect_to_server(on, server);
  const std::vector<std::byte> asked = write_question(q, edns ? options.udp_bytes : 0);
  co_await on.send_to(server, asked);
  std::vector<std::byte> room(edns ? std::max<std::size_t>(options.udp_bytes, plain_udp_bytes)
                                   : plain_udp_bytes);
  for (std::uint32_t mismatches = 0; mismatches <= options.mismatches_max; ++mismatches) {
    const datagram got = co_await on.receive_from(room);
    reply r;
    if (got.from == server) r = read_reply({room.data(), got.size}, q, limits);
    if (r.is == reply::kind::mismatch) {
      ++counters.mismatches;
      continue;
    }
    // The datagram was larger than the size that was asked for: its rest is lost.
    if (got.truncated) r.is = reply::kind::truncated;
    co_return r;
  }
  reply flooded;
  flooded.is = reply::kind::truncated;
  co_return flooded;
}

task<reply> ask_over_tcp(const address& server, const question& q, const reply_limits& limits) {
  const tcp_stream on = co_await tcp_connect(server);
  std::vector<std::byte> asked = write_question(q, 0);
  const std::array<std::byte, 2> size{static_cast<std::byte>(asked.size() >> 8),
                                      static_cast<std::byte>(asked.size())};
  asked.insert(asked.begin(), size.begin(), size.end());
  co_await on.write(asked);
  std::array<std::byte, 2> head{};
  reply r;
  r.is = reply::kind::damaged;
  r.why = "the connection ended before the end of its answer";
  if (co_await on.read(head) != head.size()) co_return r;
  std::vector<std::byte> room(std::to_integer<std::size_t>(head[0]) << 8 |
                              std::to_integer<std::size_t>(head[1]));
  if (co_await on.read(room) != room.size()) co_return r;
  r = read_reply(room, q, limits);
  if (r.is == reply::kind::mismatch || r.is == reply::kind::truncated) {
    r.why = r.is == reply::kind::mismatch ? "over TCP it answers another question"
                                          : "its answer is truncated over TCP, too";
    r.is = reply::kind::damaged;
  }
  co_return r;
}

}  // namespace

task<reply> ask_server(address server, question q, bool edns, const resolver_options& options,
                       bool tcp_only, resolver_counters& counters) {
  reply_limits limits;
  limits.addresses_max = std::max<std::uint32_t>(options.addresses_max, 1);
  limits.aliases_max = options.aliases_max;
  if (!tcp_only) {
    limits.edns_sent = edns;
    reply r = co_await ask_over_udp(server, q, edns, options, limits, counters);
    if (r.is != reply::kind::truncated) co_return r;
    HEDDLE_SOMETIMES("an answer of a name server does not fit into a datagram");
  }
  ++counters.over_tcp;
  limits.edns_sent = false;
  co_return co_await ask_over_tcp(server, q, limits);
}

}  // namespace heddle::names::detail
