// SPDX-License-Identifier: MIT
// The paper's lookup with a timeout (Tame, section 3), three ways: by hand with a rendezvous, with
// an adapter that a user writes in a few lines, and with the library's. The resolver answers from a
// table after a while; one of its names is slow.
#include <cstdio>
#include <optional>
#include <string>

#include "heddle/core/notify.hh"
#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"

using namespace heddle;
using namespace std::chrono_literals;

tamed resolve(std::string name, event<std::string> found) {
  const nanoseconds takes = name == "slow.example" ? 200ms : 5ms;
  twait { timer(takes, mkevent()); }
  found("192.0.2." + std::to_string(name.size()));
}

/// By hand: two events on one rendezvous, told apart by their ids.
task<std::optional<std::string>> by_hand(std::string name) {
  rendezvous<bool> r;
  std::string address;
  timer(50ms, r.make_event(false));
  resolve(name, r.make_event(true, address));
  const bool answered = co_await r;  // the loser is empty when r goes
  if (!answered) co_return std::nullopt;
  co_return address;
}

/// The user's own: stands between a call and its event, and says which of two came first.
tamed add_timeout(nanoseconds span, event<std::string> done, event<std::string>& started) {
  rendezvous<bool> r;
  std::string value;
  started = r.make_event(true, value);
  timer(span, r.make_event(false));
  const bool answered = co_await r;
  done(answered ? value : "nobody");
}

task<std::optional<std::string>> by_own_adapter(std::string name) {
  std::string address;
  twait {
    event<std::string> answer;
    add_timeout(50ms, mkevent(address), answer);
    resolve(name, answer);
  }
  if (address == "nobody") co_return std::nullopt;
  co_return address;
}

task<std::optional<std::string>> by_library(std::string name) {
  std::string address;
  std::error_code outcome;
  twait { resolve(name, with_timeout(mkevent(address), 50ms, outcome)); }
  if (outcome) co_return std::nullopt;
  co_return address;
}

task<> show(const char* how, task<std::optional<std::string>> lookup, const char* name) {
  const time_point start = clock::now();
  const std::optional<std::string> address = co_await std::move(lookup);
  const bool late = clock::now() - start > 45ms;
  std::printf("%-12s %-13s %s%s\n", how, name, address ? address->c_str() : "timed out",
              late ? ", after 50 ms" : "");
}

task<> program() {
  for (const char* name : {"fast.example", "slow.example"}) {
    co_await show("by hand", by_hand(name), name);
    co_await show("own adapter", by_own_adapter(name), name);
    co_await show("library", by_library(name), name);
  }
}

int main() {
  runtime rt;
  rt.run(program());
}
