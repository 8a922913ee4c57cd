// SPDX-License-Identifier: MIT
// Prints the addresses of hosts, all asked for at once: lookup HOST...
#include <cstdio>

#include "heddle/heddle.hh"
#include "heddle/names/resolver.hh"

using namespace heddle;

task<int> lookup(std::vector<std::string> hosts) {
  names::resolver resolver;
  std::vector<task<names::outcome>> asked;
  for (const std::string& host : hosts) asked.push_back(resolver.try_lookup(host));
  int missing = 0;
  for (const names::outcome& got : co_await all(std::move(asked))) {
    if (!got) {
      std::printf("%s\n", got.error().text.c_str());
      ++missing;
      continue;
    }
    std::printf("%s:", got->name.c_str());
    for (const address& a : got->addresses) std::printf(" %s", a.host().c_str());
    std::printf("\n");
  }
  std::printf("%s\n", resolver.describe().c_str());
  co_return missing == 0 ? 0 : 1;
}

int main(int argc, char** argv) {
  std::vector<std::string> hosts(argv + 1, argv + argc);
  if (hosts.empty()) hosts = {"localhost"};
  runtime rt;
  return rt.run(lookup(std::move(hosts)));
}
