// SPDX-License-Identifier: MIT
//
// What the closed-loop client can be told. Several paths are asked for in turn; each connection
// begins with another one of them, so that at any moment all kinds are under way.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace load {

struct options {
  int port = 0;
  std::size_t connections = 50;
  std::size_t pipeline = 1;
  std::uint64_t requests = 0;  // 0: bounded by time alone
  double seconds = 2;
  double warmup = 0.3;
  bool burst = false;    // all connections ask at once, then all answers are awaited
  bool close = false;    // a new connection for each request
  std::size_t echo = 0;  // bytes of a message; 0: HTTP
  std::vector<std::string> paths;
  std::vector<int> servers;

  // False where they make no sense together, or a name is unknown.
  bool read(int argc, char** argv) {
    for (int i = 1; i + 1 < argc; i += 2) {
      const std::string_view name = argv[i];
      const char* const value = argv[i + 1];
      if (name == "--port")
        port = std::atoi(value);
      else if (name == "--connections")
        connections = std::strtoul(value, nullptr, 10);
      else if (name == "--pipeline")
        pipeline = std::strtoul(value, nullptr, 10);
      else if (name == "--requests")
        requests = std::strtoul(value, nullptr, 10);
      else if (name == "--seconds")
        seconds = std::atof(value);
      else if (name == "--warmup")
        warmup = std::atof(value);
      else if (name == "--burst")
        burst = std::atoi(value) != 0;
      else if (name == "--close")
        close = std::atoi(value) != 0;
      else if (name == "--echo")
        echo = std::strtoul(value, nullptr, 10);
      else if (name == "--path")
        paths.emplace_back(value);
      else if (name == "--server")
        servers.push_back(std::atoi(value));
      else
        return false;
    }
    if (paths.empty()) paths.emplace_back("/");
    const bool one_a_time = pipeline == 1 || (paths.size() == 1 && !close);
    return argc % 2 == 1 && port > 0 && connections > 0 && pipeline > 0 && one_a_time &&
           !(close && echo != 0);
  }

  static void usage() {
    std::fprintf(stderr,
                 "usage: load --port P [--connections N] [--path /P]... [--seconds S]\n"
                 "            [--requests K] [--warmup S] [--burst 1] [--server PID]...\n"
                 "            [--pipeline D | --close 1 | --echo BYTES]\n"
                 "--pipeline takes one path only\n");
  }
};

}  // namespace load
