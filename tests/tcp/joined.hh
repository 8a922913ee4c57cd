// SPDX-License-Identifier: MIT
// Two stacks on a simulated wire, each with a user that sends a stream of known bytes and checks
// each byte that it receives.
#pragma once

#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "heddle/base/sanitizer.hh"
#include "heddle/tcp/device_sim.hh"

namespace heddle::tcp::test {

/// Divides what a test with many seeds does where a sanitizer makes it ten times slower.
inline constexpr unsigned slower = HEDDLE_ASAN || HEDDLE_TSAN ? 10 : 1;

/// Byte number `at` of the stream that `salt` names.
inline std::byte stream_byte(std::uint64_t salt, std::uint64_t at) {
  std::uint64_t z = (at / 8 + 1) * 0x9e3779b97f4a7c15 + salt;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z ^= z >> 27;
  return static_cast<std::byte>(z >> at % 8 * 8);
}

/// One side: sends `to_send` bytes on each connection, closes its half, and takes what comes.
struct peer final : user, piece_home {
  struct state_of {
    std::uint64_t sent = 0, received = 0, to_send = 0;
    bool finished = false, ended = false;
    ending how = ending::finished;
    std::uint32_t held_back = 0;  // received and not consumed
  };

  stack* on = nullptr;
  std::uint64_t send_salt = 1, receive_salt = 2;
  std::uint64_t bytes_each = 0;
  std::uint32_t piece_bytes = 4096;
  bool consume = true;       // at once
  bool finish_after = true;  // FIN after the last byte
  bool wrong_byte = false;
  std::uint64_t pieces_out = 0;  // written and not released
  std::map<std::pair<std::uint32_t, std::uint16_t>, state_of> all;
  connection last;
  int accepted_count = 0, connected_count = 0, ended_count = 0;
  std::vector<std::vector<std::byte>*> buffers;

  ~peer() {
    for (auto* b : buffers) delete b;
  }
  state_of& of(connection c) { return all[{c.index, c.generation}]; }

  void push(connection c) {
    state_of& s = of(c);
    while (s.sent < s.to_send) {
      const auto n =
          static_cast<std::size_t>(std::min<std::uint64_t>(piece_bytes, s.to_send - s.sent));
      auto* const bytes = new std::vector<std::byte>(n);
      for (std::size_t i = 0; i < n; ++i) (*bytes)[i] = stream_byte(send_salt, s.sent + i);
      if (!on->write(c, {*bytes, this, reinterpret_cast<std::uint64_t>(bytes)})) {
        delete bytes;
        return;
      }
      ++pieces_out;
      s.sent += n;
    }
    if (finish_after && s.sent == s.to_send) on->finish(c);
  }
  void begin(connection c) {
    last = c;
    of(c).to_send = bytes_each;
    push(c);
  }
  void released(std::uint64_t token) noexcept override {
    --pieces_out;
    delete reinterpret_cast<std::vector<std::byte>*>(token);
  }
  void accepted(connection c, std::uint16_t) noexcept override {
    ++accepted_count;
    on->take_accepted(c);
    begin(c);
  }
  void connected(connection c) noexcept override {
    ++connected_count;
    begin(c);
  }
  void received(connection c, std::span<const std::byte> bytes, packet&) noexcept override {
    state_of& s = of(c);
    for (std::byte b : bytes)
      if (b != stream_byte(receive_salt, s.received++)) wrong_byte = true;
    if (consume) {
      on->consumed(c, static_cast<std::uint32_t>(bytes.size()));
    } else {
      s.held_back += static_cast<std::uint32_t>(bytes.size());
    }
  }
  void acknowledged(connection c, std::uint32_t) noexcept override { push(c); }
  void finished(connection c) noexcept override { of(c).finished = true; }
  void ended(connection c, std::uint64_t, ending how) noexcept override {
    ++ended_count;
    of(c).ended = true;
    of(c).how = how;
  }
};

/// Prints each packet of a run: the way to look into a seed that fails.
inline void print_packet(void*, instant at, std::size_t end, std::span<const std::byte> bytes,
                         fate what) {
  static constexpr const char* words[] = {"sent", "delivered", "lost", "queue", "big", "down"};
  ip_head ip;
  segment s;
  std::printf("%10.3f %zu %-9s", static_cast<double>(at) / 1000, end,
              words[static_cast<int>(what)]);
  if (parse_ip(bytes, ip) != drop::none || ip.protocol != protocol_tcp ||
      parse_segment(ip, s) != drop::none) {
    std::printf(" no segment, %zu bytes\n", bytes.size());
    return;
  }
  std::printf(" flags %02x seq %u ack %u win %u len %zu", s.flags, s.seq, s.ack, s.window,
              s.payload.size());
  if (s.has_timestamps) std::printf(" ts %u echo %u", s.ts_value, s.ts_echo);
  for (std::size_t i = 0; i < s.sack_count; ++i)
    std::printf(" sack %u-%u", s.sacks[i].begin, s.sacks[i].end);
  std::printf("\n");
}

inline stack_options options_of(std::uint64_t key) {
  stack_options o;
  o.key = {key * 77 + 5, key ^ 0x5555};
  return o;
}

/// A client at 10.0.0.1 and a server at 10.0.0.2 (or fd00::1 and fd00::2) on port 80.
struct joined {
  device_sim sim;
  std::size_t a;
  peer client_user, server_user;
  stack client, server;
  ip_address client_address, server_address;

  joined(std::uint64_t seed, const wire_options& wire, const stack_options& for_client,
         const stack_options& for_server, bool v6 = false)
      : sim(seed),
        a(sim.join(wire)),
        client(for_client, sim.end(a), client_user),
        server(for_server, sim.end(a + 1), server_user),
        client_address(*ip_address::parse(v6 ? "fd00::1" : "10.0.0.1")),
        server_address(*ip_address::parse(v6 ? "fd00::2" : "10.0.0.2")) {
    client_user.on = &client;
    server_user.on = &server;
    server_user.send_salt = 2;
    server_user.receive_salt = 1;
    client.add_address(client_address);
    server.add_address(server_address);
    sim.attach(a, client);
    sim.attach(a + 1, server);
    server.listen(80);
  }
  joined(std::uint64_t seed, const wire_options& wire)
      : joined(seed, wire, options_of(1), options_of(2)) {}

  connection connect() {
    auto c = client.connect({client_address, 0}, {server_address, 80}, sim.now());
    return *c;
  }
};

}  // namespace heddle::tcp::test
