// SPDX-License-Identifier: MIT
//
// Boost.Asio awaitables on one io_context, with the settings found fastest here: built for one
// thread (no locks), and executors by their own type instead of the erased one, which halves
// the cost of a yield.
#define BOOST_ASIO_DISABLE_THREADS 1

#include "../harness.hh"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace {

namespace asio = boost::asio;
template <class T>
using awaitable = asio::awaitable<T, asio::io_context::executor_type>;
using value_signature = void(boost::system::error_code, int);
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

}  // namespace

int main(int argc, char** argv) {
  return rival::run(argc, argv,
                    {{"yield_2", [](long n) { return yields(n, 2); }},
                     {"yield_10000", [](long n) { return yields(n, 10000); }},
                     {"await_empty_child", [](long n) { return one(await_many(n)); }},
                     {"spawn_join", [](long n) { return one(spawn_many(n)); }},
                     {"event", [](long n) { return one(event_many(n)); }},
                     {"parked_bytes", parked}});
}
