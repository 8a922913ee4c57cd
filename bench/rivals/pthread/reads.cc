// SPDX-License-Identifier: MIT
// Figure 17 of Li and Zdancewic, 2007, with a thread each, stacks of 32 KB as in the paper. Threads
// begin together, once all exist.
#include "../reads.hh"

#include <pthread.h>

#include <atomic>
#include <vector>

namespace {

struct crew {
  const rival::reads_job& job;
  std::atomic<long> left;
  pthread_barrier_t start;
};

void* reader(void* arg) {
  crew& all = *static_cast<crew*>(arg);
  void* const into = std::aligned_alloc(rival::block_bytes, rival::block_bytes);
  std::mt19937_64 random(reinterpret_cast<std::uintptr_t>(into));
  ::pthread_barrier_wait(&all.start);
  while (all.left.fetch_sub(1, std::memory_order_relaxed) > 0)
    if (::pread(all.job.fd, into, rival::block_bytes, all.job.place(random)) !=
        static_cast<ssize_t>(rival::block_bytes))
      std::abort();
  std::free(into);
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const rival::reads_job job(argc, argv);
  crew all{job, job.count, {}};
  ::pthread_barrier_init(&all.start, nullptr, static_cast<unsigned>(job.in_flight) + 1);
  pthread_attr_t small;
  ::pthread_attr_init(&small);
  ::pthread_attr_setstacksize(&small, 32 * 1024);
  std::vector<pthread_t> threads(static_cast<std::size_t>(job.in_flight));
  for (std::size_t i = 0; i < threads.size(); ++i)
    if (::pthread_create(&threads[i], &small, reader, &all) != 0) {
      std::fprintf(stderr, "no more threads after %zu\n", i);
      ::_exit(1);
    }
  job.measure([&] {
    ::pthread_barrier_wait(&all.start);
    for (const pthread_t t : threads) ::pthread_join(t, nullptr);
  });
}
