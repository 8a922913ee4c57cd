// SPDX-License-Identifier: MIT
// Figure 17 of paper 003: tasks read random blocks of 4 KB from a file of 1 GB that is open without
// the page cache. The number is how many tasks read at once; one item is one block. What runs out
// first is the disk, so the time that counts is the clock's. The file is made at the first run, in
// the folder that HEDDLE_BENCH_DIR names, else in the working folder.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/sched/operation.hh"
#include "io/one_operation.hh"

namespace {

using namespace heddle;

constexpr std::size_t block_bytes = 4096;
constexpr std::size_t file_bytes = std::size_t{1} << 30;
constexpr std::size_t blocks = file_bytes / block_bytes;
constexpr std::int64_t reads_each_run = 16384;

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
    detail::one_operation reading(op_code::read, fd, "read");
    reading.data = into;
    reading.len = block_bytes;
    reading.offset = (random() % blocks) * block_bytes;
    const std::int64_t got = co_await reading;
    if (got != static_cast<std::int64_t>(block_bytes)) std::abort();
  }
}

task<> read_all(int fd, std::size_t count, std::byte* memory, std::mt19937_64& random) {
  std::int64_t left = reads_each_run;
  scope s;
  for (std::size_t i = 0; i < count; ++i)
    s.spawn(reader(fd, memory + i * block_bytes, left, random));
  co_await s.join();
}

struct aligned_free {
  void operator()(void* p) const { std::free(p); }
};

void direct_reads(benchmark::State& state, const char* driver) {
  const int fd = open_data();
  if (fd < 0) {
    state.SkipWithError("no file can be opened without the page cache here");
    return;
  }
  driver_options io;
  io.pool_threads_max = 64;  // epoll reads by the pool
  runtime rt({.driver = driver, .io = io});
  const auto count = static_cast<std::size_t>(state.range(0));
  const std::unique_ptr<void, aligned_free> memory(
      std::aligned_alloc(block_bytes, block_bytes * count));
  std::mt19937_64 random(1);
  for (auto _ : state) rt.run(read_all(fd, count, static_cast<std::byte*>(memory.get()), random));
  state.SetItemsProcessed(state.iterations() * reads_each_run);
  ::close(fd);
}

BENCHMARK_CAPTURE(direct_reads, io_uring, "io_uring")
    ->Name("direct_reads/io_uring")
    ->RangeMultiplier(8)
    ->Range(1, 65536)
    ->UseRealTime();
BENCHMARK_CAPTURE(direct_reads, epoll, "epoll")
    ->Name("direct_reads/epoll")
    ->RangeMultiplier(8)
    ->Range(1, 65536)
    ->UseRealTime();

/// The same with a thread each, as far as there are threads.
void threads(benchmark::State& state) {
  const int fd = open_data();
  if (fd < 0) {
    state.SkipWithError("no file can be opened without the page cache here");
    return;
  }
  for (auto _ : state) {
    std::atomic<std::int64_t> left = reads_each_run;
    std::vector<std::thread> all;
    for (std::int64_t i = 0; i < state.range(0); ++i)
      all.emplace_back([&, i] {
        const std::unique_ptr<void, aligned_free> into(
            std::aligned_alloc(block_bytes, block_bytes));
        std::mt19937_64 random(static_cast<std::uint64_t>(i));
        while (left.fetch_sub(1) > 0)
          if (::pread(fd, into.get(), block_bytes,
                      static_cast<off_t>((random() % blocks) * block_bytes)) != block_bytes)
            std::abort();
      });
    for (std::thread& t : all) t.join();
  }
  state.SetItemsProcessed(state.iterations() * reads_each_run);
  ::close(fd);
}
BENCHMARK(threads)->Name("direct_reads/threads")->RangeMultiplier(8)->Range(1, 4096)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
