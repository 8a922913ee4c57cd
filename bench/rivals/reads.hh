// SPDX-License-Identifier: MIT
// What the rivals of figure 17 share: `reads IN_FLIGHT COUNT FILE` makes COUNT reads of random
// blocks of 4 KB, without the page cache, IN_FLIGHT at once, and prints one JSON line.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "harness.hh"

namespace rival {

inline constexpr std::size_t block_bytes = 4096;

struct reads_job {
  long in_flight = 0, count = 0;
  int fd = -1;
  std::size_t blocks = 0;

  reads_job(int argc, char** argv) {
    if (argc == 4) {
      in_flight = std::atol(argv[1]);
      count = std::atol(argv[2]);
    }
    if (in_flight <= 0 || count <= 0) {
      std::fprintf(stderr, "usage: %s IN_FLIGHT COUNT FILE\n", argv[0]);
      std::exit(2);
    }
    fd = ::open(argv[3], O_RDONLY | O_DIRECT | O_CLOEXEC);
    struct stat s{};
    if (fd < 0 || ::fstat(fd, &s) != 0) {
      std::perror(argv[3]);
      std::exit(1);
    }
    blocks = static_cast<std::size_t>(s.st_size) / block_bytes;
  }
  [[nodiscard]] off_t place(std::mt19937_64& random) const {
    return static_cast<off_t>((random() % blocks) * block_bytes);
  }
  template <class F>
  void measure(F&& body) const {
    const double cpu = cpu_ns(), wall = wall_ns();
    body();
    const double passed = wall_ns() - wall, used = cpu_ns() - cpu;
    const double made = static_cast<double>(count);
    std::printf("{\"in_flight\":%ld,\"reads_per_s\":%.1f,\"cpu_us\":%.4f}\n", in_flight,
                made / passed * 1e9, used / made * 1e-3);
    std::fflush(stdout);
  }
};

}  // namespace rival
