// SPDX-License-Identifier: MIT
// A topic shared by two programs over NATS: a shop raises orders, and a billing program on another
// machine gets each of them, also if servers or the programs end meanwhile. Its servers run
// `nats-server -js`; with three of them, REPLICAS is 3:
//   nats_orders billing 1000 1 127.0.0.1:4222      nats_orders shop 1000 1 127.0.0.1:4222
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

#include "heddle/bus/bus.hh"
#include "heddle/bus/scoped_binding.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/sleep.hh"
#include "heddle/nats/share.hh"
#include "heddle/sched/runtime.hh"

using namespace heddle;
using namespace std::chrono_literals;

struct ordered : topic<std::uint64_t, std::uint32_t> {};  // number, cups

nats::share_options options_for(const char* name, unsigned replicas) {
  nats::share_options made;
  made.name = name;
  made.replicas = replicas;
  made.ack_wait = 5s;
  made.log = [](std::string_view line) { std::printf("%.*s\n", int(line.size()), line.data()); };
  return made;
}

// Raises each order once; what the servers have stored reaches every billing program.
task<> shop(bus& b, nats::shared_topic<ordered>& orders, std::uint64_t count) {
  for (std::uint64_t number = 1; number <= count; ++number) {
    b.raise<ordered>(number, std::uint32_t(number % 10));
    if (number % 1000 == 0) co_await orders.settled();
  }
  co_await orders.settled();
  std::printf("sold %llu orders\n", static_cast<unsigned long long>(count));
}

// Bills each order once, although it may come twice.
task<> billing(bus& b, nats::shared_topic<ordered>& orders, std::uint64_t count) {
  std::set<std::uint64_t> billed;
  std::uint64_t cups = 0;
  // Orders that come again later, before the program ends, must not reach what lives here.
  const scoped_binding bound(b, b.bind<ordered>([&](std::uint64_t number, std::uint32_t of_order) {
    if (!billed.insert(number).second) return;
    cups += of_order;
    if (number % 10000 == 0) std::printf("billed order %llu\n", (unsigned long long)number);
  }));
  while (billed.size() < count) co_await sleep_for(50ms);
  std::printf("billed %zu orders, %llu cups, %llu came again\n", billed.size(),
              (unsigned long long)cups, (unsigned long long)orders.counters().again);
}

int main(int count, char** words) {
  if (count < 5 || (std::strcmp(words[1], "shop") != 0 && std::strcmp(words[1], "billing") != 0)) {
    std::fputs("usage: nats_orders shop|billing COUNT REPLICAS SERVER...\n", stderr);
    return 2;
  }
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  runtime rt;
  rt.run([&]() -> task<> {
    nats::connection_options to;
    to.servers.assign(words + 4, words + count);
    to.name = words[1];
    to.log = [](std::string_view line) { std::printf("%.*s\n", int(line.size()), line.data()); };
    nats::connection servers(to);
    bus b;
    nats::shared_topic<ordered> orders(b, servers, "shop.orders",
                                       options_for(words[1], unsigned(std::atoi(words[3]))));
    const auto work = std::strcmp(words[1], "shop") == 0 ? shop : billing;
    const auto all = [&](scope& s) -> task<> {
      s.spawn(servers.run());
      s.spawn(orders.run());
      co_await work(b, orders, std::strtoull(words[2], nullptr, 10));
      // The last acknowledgements leave; if one is lost, its order is told apart when it comes
      // again.
      static_cast<void>(co_await as_expected(servers.flush()));
      s.cancel();
    };
    co_await with_scope(all);
  });
}
