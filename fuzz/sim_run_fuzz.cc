// SPDX-License-Identifier: MIT
// Run files of simulated clusters: whatever is read is written in a form that is read again, equal;
// and a cluster of two nodes runs what the file says, twice in the same way.
#include <cstdint>
#include <string>
#include <string_view>

#include "fuzz/require.hh"
#include "heddle/base/error.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/core/sleep.hh"
#include "heddle/io/tcp.hh"
#include "heddle/sim/cluster.hh"

namespace {

using namespace heddle;
using heddle::fuzz::require;
using namespace std::chrono_literals;

task<int> serve(sim::node&) {
  for (;;) {
    try {
      const tcp_listener door = tcp_listener::listen(address::any_v4(7));
      for (;;) {
        const tcp_stream caller = co_await door.accept();
        const received in = co_await caller.receive();
        co_await caller.write(in.data());
      }
    } catch (const failure&) {
      // a fault
    }
    co_await sleep_for(100ms);
  }
}

task<> ask_once() {
  const tcp_stream conn = co_await tcp_connect("web", 7);
  co_await conn.write("ask");
  char answer[3];
  const std::size_t count = co_await conn.read(answer);
  require(std::string_view("ask").starts_with(std::string_view(answer, count)));
}

task<int> ask(sim::node&) {
  for (int i = 0; i != 5; ++i) {
    static_cast<void>(co_await as_expected(with_timeout(ask_once(), 1s)));
    co_await sleep_for(300ms);
  }
  co_return 0;
}

std::uint64_t run(const sim::run_file& file) {
  sim::cluster_options options{.turns_max = 20'000};
  options.replay = file;
  sim::cluster all(std::move(options));
  all.add({.name = "web", .program = serve, .service = true});
  all.add({.name = "user", .program = ask});
  static_cast<void>(all.run(1min));
  return all.trace_hash();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  sim::run_file file;
  try {
    file = sim::parse_run_file({reinterpret_cast<const char*>(data), size});
  } catch (const failure& e) {
    require(e.code() == std::errc::invalid_argument);
    return 0;
  }
  const std::string text = sim::to_text(file);
  require(sim::to_text(sim::parse_run_file(text)) == text);
  if (file.troubles.size() + file.faults.size() + file.calm.size() > 50) return 0;
  require(run(file) == run(file));
  return 0;
}
