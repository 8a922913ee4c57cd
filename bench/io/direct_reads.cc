// SPDX-License-Identifier: MIT
// Figure 17 of Li and Zdancewic, 2007: tasks read random blocks of 4 KB from a file of 1 GB that is
// open without the page cache: `io/direct_reads_N/heddle_DRIVER`, N tasks at once. What runs out
// first is the disk, so reads_per_s goes by the clock; cpu_us is what a read costs all threads of
// the process. Rivals do the same as `reads N COUNT FILE` (bench/rivals). The file is made at the
// first run, in the folder that HEDDLE_BENCH_DIR names, else in the working folder.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/io/call.hh"
#include "heddle/sched/operation.hh"

namespace {

using namespace heddle;

constexpr std::size_t block_bytes = 4096;
constexpr std::size_t file_bytes = std::size_t{1} << 30;
constexpr std::size_t blocks = file_bytes / block_bytes;

std::string file_name() {
  const char* folder = std::getenv("HEDDLE_BENCH_DIR");
  return std::string(folder != nullptr ? folder : ".") + "/heddle-direct-reads.data";
}

/// Opens the file without the cache; makes it when it is missing. -1 where that is not possible.
int open_data() {
  const std::string name = file_name();
  if (::access(name.c_str(), R_OK) != 0) {
    const int out = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    std::vector<std::uint64_t> piece((std::size_t{1} << 20) / 8);
    std::mt19937_64 random(17);
    for (std::size_t written = 0; out >= 0 && written < file_bytes; written += 1 << 20) {
      for (std::uint64_t& word : piece) word = random();
      if (::write(out, piece.data(), 1 << 20) != 1 << 20) return -1;
    }
    ::fsync(out);
    ::close(out);
  }
  return ::open(name.c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
}

/// Each task takes the next read until all are made.
task<> reader(int fd, std::byte* into, std::int64_t& left, std::mt19937_64& random) {
  while (left-- > 0) {
    one_operation reading(op_code::read, fd, "read");
    reading.data = into;
    reading.len = block_bytes;
    reading.offset = (random() % blocks) * block_bytes;
    const std::int64_t got = co_await reading;
    if (got != static_cast<std::int64_t>(block_bytes)) std::abort();
  }
}

task<> read_all(int fd, std::size_t count, std::byte* memory, std::mt19937_64& random,
                std::int64_t reads) {
  scope s;
  for (std::size_t i = 0; i < count; ++i)
    s.spawn(reader(fd, memory + i * block_bytes, reads, random));
  co_await s.join();
}

struct aligned_free {
  void operator()(void* p) const { std::free(p); }
};

double cpu_s() {
  timespec t;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

void direct_reads(benchmark::State& state, const char* driver, std::size_t count) {
  const int fd = open_data();
  if (fd < 0) {
    state.SkipWithError("no file can be opened without the page cache here");
    return;
  }
  driver_options io;
  io.pool_threads_max = 64;  // epoll reads by the pool
  runtime rt({.driver = driver, .io = io});
  const std::unique_ptr<void, aligned_free> memory(
      std::aligned_alloc(block_bytes, block_bytes * count));
  std::mt19937_64 random(1);
  // Enough to fill what is in flight twice; few where each waits for the one before.
  const std::size_t reads = count == 1 ? 2048 : std::max<std::size_t>(8192, 2 * count);
  const auto begin = std::chrono::steady_clock::now();
  const double cpu_begin = cpu_s();
  for (auto _ : state)
    rt.run(read_all(fd, count, static_cast<std::byte*>(memory.get()), random,
                    static_cast<std::int64_t>(reads)));
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  const double made = static_cast<double>(static_cast<std::size_t>(state.iterations()) * reads);
  state.counters["reads_per_s"] = made / passed.count();
  state.counters["cpu_us"] = (cpu_s() - cpu_begin) / made * 1e6;
  ::close(fd);
}

}  // namespace

int main(int argc, char** argv) {
  for (const char* const driver : {"io_uring", "epoll"})
    for (const std::size_t count : {1, 8, 64, 512, 4096, 16'384, 65'536}) {
      const std::string subject = driver[0] == 'e' ? "heddle_epoll" : "heddle_uring";
      benchmark::RegisterBenchmark(
          ("io/direct_reads_" + std::to_string(count) + "/" + subject).c_str(), direct_reads,
          driver, count)
          ->UseRealTime();
    }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
