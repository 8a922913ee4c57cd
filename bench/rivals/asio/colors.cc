// SPDX-License-Identifier: MIT
//
// Boost.Asio: a strand is a color. On one worker an io_context, across workers a thread_pool of
// two. Where two cores must take part, each side is an io_context with a thread of its own, because
// a pool may run both ends of a chain on the same thread.
#include "../harness.hh"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <deque>
#include <thread>

namespace {

namespace asio = boost::asio;
using context_strand = asio::strand<asio::io_context::executor_type>;
using pool_strand = asio::strand<asio::thread_pool::executor_type>;

// One message that posts itself, from `here` to `there` and back. Threads of the last hop stop.
template <class Executor>
struct hop {
  Executor* here;
  Executor* there;
  long* left;
  void operator()() {
    if (--*left > 0) asio::post(*there, hop{there, here, left});
  }
};

rival::times post_run(long n) {
  asio::io_context context(1);
  context_strand one(context.get_executor());
  asio::post(one, hop<context_strand>{&one, &one, &n});
  return rival::both_times([&] { context.run(); });
}

rival::times across_one(long n) {
  asio::io_context context(1);
  context_strand a(context.get_executor()), b(context.get_executor());
  asio::post(a, hop<context_strand>{&a, &b, &n});
  return rival::both_times([&] { context.run(); });
}

struct two_cores {
  asio::io_context a{1}, b{1};
  asio::executor_work_guard<asio::io_context::executor_type> keep_a{a.get_executor()},
      keep_b{b.get_executor()};
  rival::times run() {
    return rival::both_times([this] {
      std::thread other([this] { b.run(); });
      a.run();
      other.join();
    });
  }
  void stop() {
    keep_a.reset();
    keep_b.reset();
  }
};

struct bounce {
  two_cores* of;
  bool on_a;
  long left;
  void operator()() {
    if (left == 0) return of->stop();
    asio::post(on_a ? of->b : of->a, bounce{of, !on_a, left - 1});
  }
};

rival::times latency(long n) {
  two_cores both;
  asio::post(both.a, bounce{&both, true, n});
  return both.run();
}

// The producer sends batches, and goes on when the consumer has taken as many.
struct item_stream {
  static constexpr long batch = 256, window = 4096;
  two_cores both;
  long left, on_the_way = 0, sum = 0, taken = 0;

  explicit item_stream(long n) : left(n / batch * batch) {}
  void produce() {
    while (left > 0 && on_the_way < window) {
      for (long i = 0; i < batch; ++i) asio::post(both.b, [this, i] { take(i); });
      left -= batch;
      on_the_way += batch;
    }
    if (left == 0 && on_the_way == 0) both.stop();
  }
  void take(long item) {
    sum += item;
    if (++taken % batch == 0)
      asio::post(both.a, [this] {
        on_the_way -= batch;
        produce();
      });
  }
};

rival::times stream(long n) {
  item_stream all(n);
  asio::post(all.both.a, [&all] { all.produce(); });
  return all.both.run();
}

rival::times unbalanced(long n, unsigned workers) {
  asio::thread_pool pool(workers);
  return rival::both_times([&] {
    asio::post(pool, [&] {
      for (long i = 0; i < n; ++i)
        asio::post(pool, [i] { asm volatile("" : : "r"(rival::work(i + 1))); });
    });
    pool.join();
  });
}

rival::times many(long n) {
  asio::thread_pool pool(2);
  std::deque<pool_strand> strands;
  for (long i = 0; i < rival::many_colors; ++i) strands.emplace_back(pool.get_executor());
  std::vector<long> sums(rival::many_colors);
  return rival::both_times([&] {
    asio::post(pool, [&] {
      for (long i = 0; i < n; ++i) {
        const long color = i % rival::many_colors;
        asio::post(strands[color], [&sums, color] { ++sums[color]; });
      }
    });
    pool.join();
  });
}

}  // namespace

int main(int argc, char** argv) {
  return rival::run_timed(argc, argv,
                          {{"post_run", post_run},
                           {"across_one", across_one},
                           {"stream", stream},
                           {"latency", latency},
                           {"unbalanced_1", [](long n) { return unbalanced(n, 1); }},
                           {"unbalanced_2", [](long n) { return unbalanced(n, 2); }},
                           {"many_colors", many}});
}
