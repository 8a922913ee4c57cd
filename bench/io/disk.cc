// SPDX-License-Identifier: MIT
// Suite io: N tasks read blocks of 4 KB at random places of a file of 1 GiB, past the page cache
// (Li and Zdancewic, 2007, figure 17), beside N threads that do the same. Bytes a second, by the
// clock. The file is HEDDLE_BENCH_DISK, or /var/tmp/heddle_bench_disk; it is made when it is
// missing.
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "heddle/heddle.hh"
#include "heddle/io/file.hh"

namespace {

using namespace heddle;

constexpr std::size_t block = 4096;
constexpr std::uint64_t file_bytes = std::uint64_t{1} << 30;

/// HEDDLE_BENCH_DISK_MB megabytes are read in one measurement; the paper reads 512.
std::uint64_t blocks_wanted() {
  const char* const text = std::getenv("HEDDLE_BENCH_DISK_MB");
  return (text != nullptr ? std::strtoull(text, nullptr, 10) : 128) * (1 << 20) / block;
}

std::string disk_file() {
  const char* const named = std::getenv("HEDDLE_BENCH_DISK");
  const std::string path = named != nullptr ? named : "/var/tmp/heddle_bench_disk";
  struct stat now{};
  if (::stat(path.c_str(), &now) == 0 && static_cast<std::uint64_t>(now.st_size) == file_bytes)
    return path;
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const std::vector<char> part(1 << 20, 'd');
  for (std::uint64_t at = 0; fd >= 0 && at < file_bytes; at += part.size())
    if (::write(fd, part.data(), part.size()) != static_cast<ssize_t>(part.size())) break;
  const bool whole = fd >= 0 && ::fsync(fd) == 0 && ::lseek(fd, 0, SEEK_CUR) == file_bytes;
  if (fd >= 0) ::close(fd);
  if (!whole) throw std::runtime_error(path + ": 1 GiB cannot be written there");
  return path;
}

struct block_free {
  void operator()(void* p) const noexcept { std::free(p); }
};
using block_memory = std::unique_ptr<void, block_free>;
block_memory aligned_block() { return block_memory(std::aligned_alloc(block, block)); }

std::uint64_t place(std::minstd_rand& random) {
  return std::uniform_int_distribution<std::uint64_t>(0, file_bytes / block - 1)(random) * block;
}

task<> reads(const file& f, unsigned seed, std::uint64_t& left) {
  std::minstd_rand random(seed);
  const block_memory memory = aligned_block();
  const byte_span into(static_cast<std::byte*>(memory.get()), block);
  while (left > 0) {
    --left;
    const std::size_t n = co_await f.read_at(place(random), into);
    if (n != block) throw std::runtime_error("a short read");
  }
}

task<> program(std::string path, long count, double& seconds) {
  file f = co_await open_file(path);
  if (::fcntl(f.number(), F_SETFL, O_DIRECT) != 0)
    throw std::system_error(errno, std::generic_category(), "O_DIRECT");
  std::uint64_t left = blocks_wanted();
  const auto begin = std::chrono::steady_clock::now();
  scope readers;
  for (long i = 0; i < count; ++i) readers.spawn(reads(f, static_cast<unsigned>(i) + 1, left));
  co_await readers.join();
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void report(benchmark::State& state, double seconds) {
  state.counters["bytes_per_s"] = static_cast<double>(blocks_wanted() * block) / seconds;
}

void tasks(benchmark::State& state, const char* driver) {
  double seconds = 1;
  const std::string path = disk_file();
  for (auto _ : state) {
    runtime rt({.driver = driver, .workers = 1});
    rt.run(program(path, state.range(0), seconds));
  }
  report(state, seconds);
}

void threads(benchmark::State& state) {
  const int fd = ::open(disk_file().c_str(), O_RDONLY | O_DIRECT | O_CLOEXEC);
  double seconds = 1;
  for (auto _ : state) {
    std::atomic<std::int64_t> left = static_cast<std::int64_t>(blocks_wanted());
    std::atomic<bool> failed = false;
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::jthread> all;
    for (long i = 0; i < state.range(0); ++i)
      all.emplace_back([&, i] {
        std::minstd_rand random(static_cast<unsigned>(i) + 1);
        const block_memory memory = aligned_block();
        while (left.fetch_sub(1) > 0)
          if (::pread(fd, memory.get(), block, static_cast<off_t>(place(random))) != block)
            failed = true;
      });
    all.clear();
    seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (failed) state.SkipWithError("a read failed");
  }
  ::close(fd);
  report(state, seconds);
}

#define DISK(READERS)                                   \
  BENCHMARK_CAPTURE(tasks, uring_##READERS, "io_uring") \
      ->Name("io/disk_" #READERS "/heddle_uring")       \
      ->Arg(READERS)                                    \
      ->Iterations(1);                                  \
  BENCHMARK_CAPTURE(tasks, epoll_##READERS, "epoll")    \
      ->Name("io/disk_" #READERS "/heddle_epoll")       \
      ->Arg(READERS)                                    \
      ->Iterations(1)
#define DISK_AND_THREADS(READERS) \
  DISK(READERS);                  \
  BENCHMARK(threads)->Name("io/disk_" #READERS "/nptl")->Arg(READERS)->Iterations(1)
DISK_AND_THREADS(1);
DISK_AND_THREADS(16);
DISK_AND_THREADS(256);
DISK_AND_THREADS(4096);
DISK(65536);

}  // namespace

BENCHMARK_MAIN();
