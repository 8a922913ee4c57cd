// SPDX-License-Identifier: MIT
//
// Boost.Asio awaitables on one io_context, with the settings found fastest here: built for one
// thread (no locks), and executors by their own type instead of the erased one, which halves
// the cost of a yield.
#define BOOST_ASIO_DISABLE_THREADS 1

#include "../harness.hh"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <chrono>

namespace {

namespace asio = boost::asio;
template <class T>
using awaitable = asio::awaitable<T, asio::io_context::executor_type>;
using value_signature = void(boost::system::error_code, int);
using basic_timer = asio::basic_waitable_timer<std::chrono::steady_clock,
                                               asio::wait_traits<std::chrono::steady_clock>,
                                               asio::io_context::executor_type>;
constexpr asio::use_awaitable_t<asio::io_context::executor_type> use_awaitable;

awaitable<void> yielding(long n) {
  while (n-- > 0) co_await asio::post(use_awaitable);
}
awaitable<void> empty() { co_return; }

awaitable<void> await_many(long n) {
  while (n-- > 0) co_await empty();
}
awaitable<void> spawn_many(long n) {
  const auto ex = co_await asio::this_coro::executor;
  while (n-- > 0) co_await asio::co_spawn(ex, empty(), use_awaitable);
}

// The nearest thing to an event: a channel of one value, used once.
awaitable<void> event_many(long n) {
  const auto ex = co_await asio::this_coro::executor;
  while (n-- > 0) {
    asio::experimental::channel<asio::io_context::executor_type, value_signature> event(ex, 1);
    event.try_send(boost::system::error_code{}, 1);
    co_await event.async_receive(use_awaitable);
  }
}

// A timer of zero, waited for.
awaitable<void> zero_timers(long n) {
  basic_timer timer(co_await asio::this_coro::executor);
  while (n-- > 0) {
    timer.expires_after(std::chrono::seconds(0));
    co_await timer.async_wait(use_awaitable);
  }
}

// An empty child with a timeout that does not fire: a timer armed, the child awaited, the timer
// cancelled. The handler that the cancel queues is part of the price.
awaitable<void> timeouts(long n) {
  basic_timer timer(co_await asio::this_coro::executor);
  while (n-- > 0) {
    timer.expires_after(std::chrono::hours(1));
    timer.async_wait([](boost::system::error_code) {});
    co_await empty();
    timer.cancel();
  }
}

using int_channel = asio::experimental::channel<asio::io_context::executor_type, value_signature>;

awaitable<void> sends(int_channel& to, long n) {
  while (n-- > 0) co_await to.async_send(boost::system::error_code{}, 1, use_awaitable);
}
awaitable<void> receives(int_channel& from, long n) {
  while (n-- > 0) co_await from.async_receive(use_awaitable);
}

double timed(asio::io_context& context) {
  const double begin = rival::cpu_ns();
  context.run();
  return rival::cpu_ns() - begin;
}

double one(awaitable<void> body) {
  asio::io_context context(1);
  asio::co_spawn(context, std::move(body), asio::detached);
  return timed(context);
}

double yields(long count, long threads) {
  asio::io_context context(1);
  for (long i = 0; i < threads; ++i)
    asio::co_spawn(context, yielding(count / threads), asio::detached);
  return timed(context) * count / (count / threads * threads);
}

// Every thread yields once before its memory is counted.
double parked(long count) {
  static asio::io_context context(1);
  const double begin = rival::resident_bytes();
  for (long i = 0; i < count; ++i) asio::co_spawn(context, yielding(1000), asio::detached);
  for (long i = 0; i < 2 * count; ++i) context.poll_one();
  return rival::resident_bytes() - begin;
}

double channels(long n, std::size_t capacity) {
  asio::io_context context(1);
  int_channel c(context.get_executor(), capacity);
  asio::co_spawn(context, receives(c, n), asio::detached);
  asio::co_spawn(context, sends(c, n), asio::detached);
  return timed(context);
}

}  // namespace

int main(int argc, char** argv) {
  return rival::run(argc, argv,
                    {{"yield_2", [](long n) { return yields(n, 2); }},
                     {"yield_10000", [](long n) { return yields(n, 10000); }},
                     {"await_empty_child", [](long n) { return one(await_many(n)); }},
                     {"spawn_join", [](long n) { return one(spawn_many(n)); }},
                     {"event", [](long n) { return one(event_many(n)); }},
                     {"benchfn_explicit", [](long n) { return one(zero_timers(n)); }},
                     {"task_timeout", [](long n) { return one(timeouts(n)); }},
                     {"channel_1", [](long n) { return channels(n, 1); }},
                     {"channel_128", [](long n) { return channels(n, 128); }},
                     {"parked_bytes", parked}});
}
