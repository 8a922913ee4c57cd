// SPDX-License-Identifier: MIT
// The bounds of memory of a stack and of a process: they hold at each step, honest peers get all
// their bytes, and each refusal is counted by reason.
#include <map>
#include <set>

#include "support/test.hh"
#include "tests/tcp/joined.hh"

using namespace heddle::tcp;
using heddle::tcp::test::joined;
using heddle::tcp::test::options_of;
using heddle::tcp::test::stream_byte;

namespace {

constexpr std::size_t million = 1'000'000;

/// Sends a stream on each accepted connection, as fast as room() allows, and checks what it gets.
struct careful final : user, piece_home {
  struct one {
    std::uint64_t sent = 0, received = 0, unread = 0;
    bool ended = false, finished = false;
  };
  stack* on = nullptr;
  std::uint64_t send_each = 0;
  bool reads = true;
  bool wrong_byte = false;
  int eased_count = 0;
  std::map<std::pair<std::uint32_t, std::uint16_t>, one> all;
  std::map<std::pair<std::uint32_t, std::uint16_t>, ending> how;

  void push(connection c) {
    one& x = all[{c.index, c.generation}];
    while (x.sent < send_each) {
      const std::size_t n = std::min<std::size_t>(on->room(c), send_each - x.sent);
      if (n == 0) return;
      auto* const bytes = new std::vector<std::byte>(n);
      for (std::size_t i = 0; i < n; ++i) (*bytes)[i] = stream_byte(1, x.sent + i);
      if (!on->write(c, {*bytes, this, reinterpret_cast<std::uint64_t>(bytes)})) {
        delete bytes;
        return;
      }
      x.sent += n;
    }
    if (send_each != 0) on->finish(c);
  }
  void read_all(connection c) {
    one& x = all[{c.index, c.generation}];
    on->consumed(c, static_cast<std::uint32_t>(std::exchange(x.unread, 0)));
  }
  template <class F>
  void each(F&& f) {
    for (auto& [key, x] : all)
      if (!x.ended) f(connection{key.first, key.second});
  }
  void released(std::uint64_t token) noexcept override {
    delete reinterpret_cast<std::vector<std::byte>*>(token);
  }
  void accepted(connection c, std::uint16_t) noexcept override {
    on->take_accepted(c);
    push(c);
  }
  void connected(connection c) noexcept override { push(c); }
  void received(connection c, std::span<const std::byte> bytes, packet&) noexcept override {
    one& x = all[{c.index, c.generation}];
    for (const std::byte b : bytes)
      if (b != stream_byte(1, x.received++)) wrong_byte = true;
    x.unread += bytes.size();
    if (reads) read_all(c);
  }
  void acknowledged(connection c, std::uint32_t) noexcept override { push(c); }
  void finished(connection c) noexcept override {
    all[{c.index, c.generation}].finished = true;
    on->finish(c);
  }
  void ended(connection c, std::uint64_t, ending e) noexcept override {
    all[{c.index, c.generation}].ended = true;
    how[{c.index, c.generation}] = e;
  }
  void eased() noexcept override {
    ++eased_count;
    each([this](connection c) { push(c); });
  }
};

/// Hostile readers, an honest one, and a server with a bound of memory.
struct besieged {
  device_sim sim{7};
  std::size_t bad_end, good_end;
  careful bad_user, good_user, server_user, second_user;
  stack bad, good, server, second;
  const endpoint bad_at{ip_address::v4(10, 0, 0, 1), 0};
  const endpoint good_at{ip_address::v4(10, 0, 0, 3), 0};
  const endpoint server_at{ip_address::v4(10, 0, 0, 2), 80};
  std::size_t most = 0;
  std::size_t most_of_process = 0;

  explicit besieged(const stack_options& for_server, const stack_options& for_bad = options_of(1))
      : bad_end(sim.join({})),
        good_end(sim.join({})),
        bad(for_bad, sim.end(bad_end), bad_user),
        good(options_of(3), sim.end(good_end), good_user),
        server(for_server, sim.end(bad_end + 1), server_user),
        second(for_server, sim.end(good_end + 1), second_user) {
    bad_user.on = &bad;
    good_user.on = &good;
    server_user.on = &server;
    second_user.on = &second;
    bad.add_address(bad_at.address);
    good.add_address(good_at.address);
    for (stack* s : {&server, &second}) {
      s->add_address(server_at.address);
      s->listen(80);
    }
    sim.attach(bad_end, bad);
    sim.attach(good_end, good);
    sim.attach(bad_end + 1, server);
    sim.attach(good_end + 1, second);
  }
  void run(instant for_us) {
    const instant until = sim.now() + for_us;
    while (sim.now() < until && sim.next_due() <= until) {
      sim.step();
      most = std::max(most, server.memory().used);
      most_of_process = std::max(most_of_process, server.memory().process_used);
    }
    sim.run_until(until);
  }
  connection open(stack& from, const endpoint& at) {
    return *from.connect(at, server_at, sim.now());
  }
};

stack_options bounded(std::size_t bytes) {
  stack_options o = options_of(2);
  o.memory_bytes = bytes;
  o.stalled_us = 3'000'000;
  o.time_wait_us = 1'000;
  return o;
}

}  // namespace

HEDDLE_TEST(tcp_memory, "hostile readers do not take a server beyond a million bytes, and lose") {
  besieged b(bounded(million));
  b.bad_user.reads = false;  // its windows close, and its stack answers probes
  b.server_user.send_each = 1'000'000;
  for (int i = 0; i < 200; ++i) b.open(b.bad, b.bad_at);
  b.run(2'000'000);
  EXPECT_LE(b.most, million);
  EXPECT_GT(b.most, million / 2);
  EXPECT_GT(b.server.counters().refused(refusal::write, bound::shard), 0u);
  EXPECT_EQ(b.server.counters().refused(refusal::write, bound::process), 0u);
  EXPECT_TRUE(b.server.memory().is_short);
  const std::size_t held = b.server.connection_count();
  EXPECT_GT(held, 0u);
  // They hold bytes and read none: the stack resets them, and an honest one gets all of its bytes.
  b.run(4'000'000);
  EXPECT_GT(b.server.counters().refused(refusal::stalled), 0u);
  b.bad_user.reads = true;
  b.bad_user.each([&](connection c) { b.bad.abort(c); });
  b.run(1'000'000);
  const connection honest = b.open(b.bad, b.bad_at);
  b.run(20'000'000);
  EXPECT_EQ((b.bad_user.all[{honest.index, honest.generation}].received), 1'000'000u);
  EXPECT_FALSE(b.bad_user.wrong_byte);
  EXPECT_LE(b.most, million);
  EXPECT_EQ(b.server.connection_count(), 0u);
  EXPECT_EQ(b.server.memory().used, 0u);  // nothing is charged for ever
  EXPECT_FALSE(b.server.memory().is_short);
}

HEDDLE_TEST(tcp_memory, "windows shrink for a program that does not read, and open again") {
  besieged b(bounded(million));
  b.server_user.reads = false;
  b.bad_user.send_each = 100'000;
  for (int i = 0; i < 60; ++i) b.open(b.bad, b.bad_at);
  b.run(5'000'000);
  EXPECT_LE(b.most, million);
  EXPECT_GT(b.server.counters().refused(refusal::window), 0u);
  b.server_user.reads = true;
  b.server_user.each([&](connection c) { b.server_user.read_all(c); });
  b.run(100'000'000);
  EXPECT_LE(b.most, million);
  EXPECT_FALSE(b.server_user.wrong_byte);
  EXPECT_EQ(b.server_user.all.size(), 60u);
  for (const auto& [key, x] : b.server_user.all) EXPECT_EQ(x.received, 100'000u);
  EXPECT_EQ(b.server.memory().used, 0u);
}

HEDDLE_TEST(tcp_memory, "bytes beyond gaps stay within the bound, and all arrive at the end") {
  besieged b(bounded(200'000));
  for (std::size_t end : {b.bad_end, b.bad_end + 1}) {
    b.sim.wire(end).loss = 0.05;
    b.sim.wire(end).delay_us = 5000;
  }
  b.bad_user.send_each = 50'000;
  for (int i = 0; i < 30; ++i) b.open(b.bad, b.bad_at);
  b.run(200'000'000);
  EXPECT_LE(b.most, 200'000u);
  EXPECT_GT(b.server.counters().refused(refusal::out_of_order), 0u);
  EXPECT_GT(b.server.counters().dropped(drop::memory), 0u);
  EXPECT_FALSE(b.server_user.wrong_byte);
  EXPECT_EQ(b.server_user.all.size(), 30u);
  for (const auto& [key, x] : b.server_user.all) EXPECT_EQ(x.received, 50'000u);
}

HEDDLE_TEST(tcp_memory, "a full stack lets new connections wait, or refuses them, as it is told") {
  for (const memory_policy policy : {memory_policy::wait, memory_policy::refuse}) {
    stack_options o = bounded(65'536);
    o.when_full = policy;
    o.half_open_max = 1'000'000;
    besieged b(o);
    for (int i = 0; i < 1000; ++i) b.open(b.bad, b.bad_at);
    b.run(500'000);
    EXPECT_LE(b.most, 65'536u);
    const std::size_t held = b.server.connection_count();
    EXPECT_GT(held, 300u);
    EXPECT_LT(held, 450u);
    EXPECT_GE(b.server.counters().refused(refusal::accept, bound::shard), 1000 - held);
    EXPECT_EQ(b.bad_user.how.size(), policy == memory_policy::refuse ? 1000 - held : 0);
    for (const auto& [key, e] : b.bad_user.how) EXPECT_EQ(e, ending::refused);
    // The stack's own connections have no room either.
    const auto c = b.server.connect({b.server_at.address, 0}, {b.bad_at.address, 7}, b.sim.now());
    ASSERT_FALSE(c);
    EXPECT_EQ(c.error(), std::errc::not_enough_memory);
    EXPECT_EQ(b.server.counters().refused(refusal::connect), 1u);
    if (policy == memory_policy::refuse) continue;
    // Those that wait get in when there is room.
    b.server_user.each([&](connection each) { b.server.abort(each); });
    b.run(20'000'000);
    EXPECT_GT(b.server.connection_count(), 100u);
  }
}

HEDDLE_TEST(tcp_memory, "a peer that reports single bytes makes no record of each") {
  joined l(1, {.delay_us = 10'000});
  std::vector<segment> sent;  // the server's data
  const auto watch = [](void* out, instant, std::size_t end, std::span<const std::byte> bytes,
                        fate what) {
    ip_head ip;
    segment s;
    if (end == 1 && what == fate::sent && parse_ip(bytes, ip) == drop::none &&
        parse_segment(ip, s) == drop::none && !s.payload.empty())
      static_cast<std::vector<segment>*>(out)->push_back(s);
  };
  l.sim.watch(watch, &sent);
  l.server_user.bytes_each = 10'000;
  l.connect();
  l.sim.run_until(l.sim.now() + 35'000);
  ASSERT_GT(sent.size(), 5u);
  l.sim.watch(nullptr, nullptr);
  const std::size_t before_it = l.server.memory().used;
  segment a;
  a.source = sent.front().destination;
  a.destination = sent.front().source;
  a.seq = sent.front().ack;
  a.ack = sent.front().seq;
  a.flags = flag_ack;
  a.window = 1000;
  a.has_timestamps = true;
  a.ts_value = sent.front().ts_echo;
  a.ts_echo = sent.front().ts_value;
  a.sack_count = 3;
  for (sequence at = a.ack + 2; at + 6 < sent.back().end(); at += 6) {
    a.sacks = {sack_block{at, at + 1}, {at + 2, at + 3}, {at + 4, at + 5}};
    std::byte header[header_bytes_max];
    l.sim.inject(l.a + 1, {header, write_headers(a, {}, header)});
  }
  EXPECT_EQ(l.server.counters().dropped(drop::bad_ack), 0u);
  EXPECT_LT(l.server.memory().used, before_it + 200 * 24);
  l.sim.run(l.sim.now() + 60'000'000);
  EXPECT_FALSE(l.client_user.wrong_byte);
}

HEDDLE_TEST(tcp_memory, "stacks share the bound of a process, and say which bound was reached") {
  stack_options o = bounded(million);
  o.process_memory = std::make_shared<memory_budget>(400'000);
  {
    besieged b(o);
    b.bad_user.reads = b.good_user.reads = false;
    b.server_user.send_each = b.second_user.send_each = 1'000'000;
    for (int i = 0; i < 20; ++i) {
      b.open(b.bad, b.bad_at);
      b.open(b.good, b.good_at);
    }
    b.run(2'000'000);
    EXPECT_LE(b.server.memory().used + b.second.memory().used, 400'000u);
    EXPECT_LE(b.most_of_process, 400'000u + 2 * (400'000 / 256));
    EXPECT_GT(b.most_of_process, 300'000u);
    EXPECT_EQ(b.server.memory().process_limit, 400'000u);
    const stack_counters& n = b.server.counters();
    EXPECT_GT(n.refused(refusal::write, bound::process), 0u);
    EXPECT_EQ(n.refused(refusal::write, bound::shard), 0u);
    // What one stack gives back, the other one takes: its readers get all that they were owed.
    b.good_user.each([&](connection c) { b.good.abort(c); });
    b.second_user.send_each = 0;
    b.run(100'000);
    b.bad_user.reads = true;
    b.bad_user.each([&](connection c) { b.bad_user.read_all(c); });
    b.run(200'000'000);
    std::size_t whole = 0;
    for (const auto& [key, x] : b.bad_user.all) whole += x.received == 1'000'000 ? 1 : 0;
    EXPECT_GT(whole, 0u);
    EXPECT_FALSE(b.bad_user.wrong_byte);
    EXPECT_EQ(b.server.connection_count(), 0u);
  }
  EXPECT_EQ(o.process_memory->used(), 0u);
}
