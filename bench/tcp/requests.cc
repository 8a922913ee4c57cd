// SPDX-License-Identifier: MIT
// The stack by itself, in memory: a request of 100 bytes and its answer on one of many open
// connections, a connection opened and closed, a SYN answered by a cookie, and large answers. The
// peer is a few numbers a connection, so the time is the stack's and that of writing one packet.
#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "heddle/tcp/stack.hh"

namespace {

using namespace heddle::tcp;

/// Packets are counted, and the numbers that the peer needs are read from them.
struct peer_of_stack final : network, user, packet::home {
  std::uint64_t packets = 0;
  std::uint32_t last_seq = 0, last_ack = 0, last_bytes = 0;
  stack* on = nullptr;
  std::span<const std::byte> answer;
  connection last;

  void transmit(const outgoing& p) noexcept override {
    ++packets;
    const std::byte* const t = p.header.data() + 20;
    last_seq = get32(t + 4);
    last_ack = get32(t + 8);
    last_bytes = p.payload_bytes;
  }
  void accepted(connection c, std::uint16_t) noexcept override {
    last = c;
    on->take_accepted(c);
  }
  void connected(connection) noexcept override {}
  void received(connection c, std::span<const std::byte> bytes, packet&) noexcept override {
    on->consumed(c, static_cast<std::uint32_t>(bytes.size()));
    (void)on->write(c, {answer, nullptr, 0});
  }
  void acknowledged(connection, std::uint32_t) noexcept override {}
  void finished(connection c) noexcept override { on->close(c); }
  void ended(connection, std::uint64_t, ending) noexcept override {}
  void take_back(packet&) noexcept override {}
};

struct client {
  std::uint32_t seq = 0, ack = 0;
  endpoint at;
};

class bench_world {
 public:
  explicit bench_world(std::size_t connections, std::size_t answer_bytes, bool cookies = true)
      : answer(answer_bytes), it(options(cookies), peer, peer) {
    peer.on = &it;
    peer.answer = answer;
    it.add_address(server.address);
    it.listen(80, UINT32_MAX);
    for (std::size_t n = 0; n < connections; ++n) open(clients.emplace_back(), n);
  }

  void open(client& c, std::size_t n) {
    const auto high = static_cast<std::uint8_t>(1 + n / 50'000);
    c.at = {ip_address::v4(10, 1, high, 1), static_cast<std::uint16_t>(1000 + n % 50'000)};
    c.seq = static_cast<std::uint32_t>(n * 7919);
    give(c, flag_syn, 0, 0);
    ++c.seq;
    c.ack = peer.last_seq + 1;
    give(c, flag_ack, 0, c.ack);
  }
  void give(const client& c, std::uint8_t flags, std::size_t bytes, std::uint32_t ack) {
    segment s;
    s.source = c.at;
    s.destination = server;
    s.flags = flags;
    s.seq = c.seq;
    s.ack = ack;
    s.window = 65535;
    if ((flags & flag_syn) != 0) s.mss = 1460;
    const std::span<const std::byte> none;
    std::byte header[header_bytes_max];
    const std::size_t n = write_headers(s, {&none, 1}, header);
    std::memcpy(memory, header, n);
    put16(memory + 2, static_cast<std::uint32_t>(n + bytes));
    packet p({memory, n + bytes}, peer);
    p.sums_verified = true;
    it.input(p, now);
    it.flush(now);
    p.release();
  }
  void request(client& c) {
    give(c, flag_ack | flag_psh, 100, c.ack);
    c.seq += 100;
    c.ack = peer.last_seq + peer.last_bytes;
  }

  static stack_options options(bool cookies) {
    stack_options o;
    o.key = {1, 2};
    o.half_open_max = cookies ? 0 : 1000;
    o.connections_max = 2'000'000;
    return o;
  }
  endpoint server{ip_address::v4(10, 0, 0, 1), 80};
  std::vector<std::byte> answer;
  peer_of_stack peer;
  stack it;
  std::vector<client> clients;
  instant now = 1'000'000;
  std::byte memory[2048] = {};
};

void keep_alive_request(benchmark::State& state) {
  bench_world w(static_cast<std::size_t>(state.range(0)), 100);
  std::size_t n = 0;
  for (auto _ : state) {
    w.request(w.clients[n]);
    n = (n + 7919) % w.clients.size();
    w.now += 1;
  }
  state.counters["packets"] = static_cast<double>(w.peer.packets);
}
BENCHMARK(keep_alive_request)->Arg(50)->Arg(1000)->Arg(200'000);

/// What the peer costs here: a packet written.
void packet_of_peer(benchmark::State& state) {
  segment s;
  s.source = {ip_address::v4(10, 1, 1, 1), 1000};
  s.destination = {ip_address::v4(10, 0, 0, 1), 80};
  s.flags = flag_ack | flag_psh;
  std::byte header[header_bytes_max];
  for (auto _ : state) {
    ++s.seq;
    benchmark::DoNotOptimize(write_headers(s, {}, header));
  }
}
BENCHMARK(packet_of_peer);

void syn_with_cookie(benchmark::State& state) {
  bench_world w(0, 100);
  client c;
  std::uint32_t n = 0;
  for (auto _ : state) {
    c.at = {ip_address::v4(10, 1, static_cast<std::uint8_t>(n >> 16), 7),
            static_cast<std::uint16_t>(1 + n % 65'535)};
    c.seq = ++n;
    w.give(c, flag_syn, 0, 0);
  }
  state.counters["connections"] = static_cast<double>(w.it.connection_count());
}
BENCHMARK(syn_with_cookie);

void open_request_close(benchmark::State& state) {
  bench_world w(0, 100);
  client c;
  std::size_t n = 0;
  for (auto _ : state) {
    w.open(c, n);
    n = (n + 1) % 400'000;
    w.request(c);
    w.give(c, flag_ack | flag_fin, 0, c.ack);
    c.seq += 1;
    w.give(c, flag_ack, 0, w.peer.last_seq + 1);
    w.now += 1;
  }
  state.counters["connections"] = static_cast<double>(w.it.connection_count());
}
BENCHMARK(open_request_close);

}  // namespace
