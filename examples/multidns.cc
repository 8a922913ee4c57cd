// SPDX-License-Identifier: MIT
// The paper's lookups of many names (Tame, section 3.2), with one signature for three strategies:
// one after the other, all at once, and at most `window` at a time. The resolver here answers from
// a table after a while, so that the difference can be seen on any machine.
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "heddle/core/twait.hh"
#include "heddle/heddle.hh"

using namespace heddle;
using namespace std::chrono_literals;

constexpr std::size_t window = 4;

tamed resolve(std::string name, event<std::string> found) {
  twait { timer(20ms, mkevent()); }
  found("192.0.2." + std::to_string(name.size()));
}

task<> multidns_serial(std::span<const std::string> names, std::span<std::string> out) {
  for (std::size_t i = 0; i < names.size(); ++i) twait {
      resolve(names[i], mkevent(out[i]));
    }
}

task<> multidns_parallel(std::span<const std::string> names, std::span<std::string> out) {
  twait {
    for (std::size_t i = 0; i < names.size(); ++i) resolve(names[i], mkevent(out[i]));
  }
}

task<> multidns_windowed(std::span<const std::string> names, std::span<std::string> out) {
  rendezvous<> r;
  std::size_t sent = 0, received = 0;
  while (received < names.size()) {
    if (sent < names.size() && sent - received < window) {
      resolve(names[sent], r.make_event(out[sent]));
      ++sent;
    } else {
      co_await r;
      ++received;
    }
  }
}

using strategy = task<> (*)(std::span<const std::string>, std::span<std::string>);

task<> show(const char* what, strategy lookup) {
  const std::vector<std::string> names = {"a",     "bb",     "ccc",     "dddd",
                                          "eeeee", "ffffff", "ggggggg", "h"};
  std::vector<std::string> out(names.size());
  const time_point start = clock::now();
  co_await lookup(names, out);
  const auto took = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - start);
  std::printf("%-9s %zu names in %3lld ms, %s is %s\n", what, names.size(),
              static_cast<long long>(took.count()), names[3].c_str(), out[3].c_str());
}

task<> program() {
  co_await show("serial", multidns_serial);
  co_await show("parallel", multidns_parallel);
  co_await show("windowed", multidns_windowed);
}

int main() {
  runtime rt;
  rt.run(program());
}
