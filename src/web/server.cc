// SPDX-License-Identifier: MIT
// Accepts connections, watches idle ones, and drains. http1_connection.cc handles everything
// between the first byte of a request and the last byte of its answer.
#include "heddle/web/server.hh"

#include <algorithm>

#include "heddle/core/combine.hh"
#include "heddle/core/sleep.hh"
#include "heddle/sched/runtime.hh"
#include "web/exchange.hh"
#include "web/handed_over.hh"
#include "web/http1_connection.hh"
#include "web/server_shared.hh"
#include "web/stop_signals.hh"

namespace heddle::http {
namespace {

constexpr nanoseconds accept_pause = std::chrono::milliseconds(50);  // if descriptors run out
constexpr nanoseconds full_pause = std::chrono::milliseconds(10);    // if connections_max are open
constexpr std::size_t takes_after_hold = 64;  // as many as a listener accepts ahead

}  // namespace

server::server(handler answer, server_options options, std::source_location where)
    : shared_(
          std::make_unique<server_shared>(std::move(answer), std::move(options), site_of(where))) {}
server::~server() = default;

const server_counters& server::counters() const noexcept { return shared_->counters; }
std::size_t server::file_bytes_held() const noexcept { return shared_->file_bytes_held; }
bool server::stopping() const noexcept { return shared_->now == server_shared::phase::stopping; }
void server::change_refusals(const std::vector<std::pair<std::string, std::string>>& headers) {
  shared_->shedding.change_headers(headers);
}

/// Idle connections wait in contexts that hold nothing else, so a context's list of waits, oldest
/// first, is the list of idle connections.
struct server::entrance : list_node, connection_taker {
  explicit entrance(server& s)
      : owner(s),
        shared(*s.shared_),
        fresh(context::open(worker::here(), &connections.context_of_tasks())),
        idle(context::open(worker::here(), &connections.context_of_tasks())) {
    s.entrances_.push_back(*this);
  }
  ~entrance() {
    context::close(worker::here(), idle);
    context::close(worker::here(), fresh);
  }

  /// Starts a task of its own for the connection, so that the frame of every other connection needs
  /// no room for that.
  void take_over(stream&& conn, std::uint32_t of_peer, std::unique_ptr<handed_over> next) override {
    connections.spawn(
        next->http2 ? serve_http2(*this, std::move(conn), std::move(next->http2), of_peer)
                    : serve_other(*this, std::move(next->then),
                                  upgraded(std::move(conn), std::move(next->early)), of_peer));
  }

  server& owner;
  server_shared& shared;
  scope connections;
  context& fresh;  // connections without a request yet: the first may be under way
  context& idle;
};

namespace {

// The waits of a connection, made to use few bytes of its frame. They are not inlined, so that
// their temporaries are on the stack and not in the frame.

/// Waits until the connection is readable; an error counts as its end.
class rest_wait {
 public:
  [[gnu::noinline]] explicit rest_wait(const stream& conn) noexcept
      : inner_(conn.readable().operator co_await()) {}
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) noexcept {
    return inner_.await_suspend(h);
  }
  [[nodiscard]] bool await_resume() const noexcept { return inner_.outcome > 0; }

 private:
  heddle::detail::readable_awaiter inner_;
};

/// Waits for the end of a burst of requests.
struct burst_wait : task<burst_end>::awaiter {
  [[gnu::noinline]] burst_wait(server_shared& shared, stream& conn,
                               overload_control::credit& credit, connection_taker& taker,
                               std::uint32_t of_peer, bool fresh)
      : awaiter(http1_connection::burst(shared, {conn, credit, taker, of_peer}, fresh).release()) {}
  [[nodiscard, gnu::noinline]] burst_end await_resume() { return awaiter::await_resume(); }
};

}  // namespace

/// Serves one connection. While it is idle, only this frame and the stream's state exist, so every
/// variable here counts (tests/web/idle_test.cc). The work around the wait is in functions, and the
/// data of a request is in the frame of http1_connection::burst().
task<> server::connection(entrance& at, stream conn, std::uint32_t of_peer) {
  overload_control::credit credit = at.shared.shedding.control().first_credit();
  try {
    for (bool fresh = true;; fresh = false) {
      worker::running().context_now = fresh ? at.fresh : at.idle;
      const bool has_data = co_await rest_wait(conn);
      worker::running().context_now = at.connections.context_of_tasks();
      if (!has_data) break;
      const burst_end end = co_await burst_wait(at.shared, conn, credit, at, of_peer, fresh);
      if (end == burst_end::rests) continue;
      if (end == burst_end::handed_over) co_return;
      break;
    }
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::operation_canceled) ++at.shared.counters.errors;
  } catch (...) {
    ++at.shared.counters.errors;  // one connection's error must not affect others
  }
  --at.shared.counters.open;
  at.shared.peers.leave(of_peer);
}

task<> server::serve_other(entrance& at, take_over then, upgraded conn, std::uint32_t of_peer) {
  try {
    co_await then(std::move(conn));
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::operation_canceled) ++at.shared.counters.errors;
    if (e.code() != std::errc::operation_canceled && !is_loss_of_client(e.code()))
      at.shared.report_failure("a connection that was handed over", nullptr);
  } catch (...) {
    ++at.shared.counters.errors;
    at.shared.report_failure("a connection that was handed over", nullptr);
  }
  --at.shared.counters.open;
  at.shared.peers.leave(of_peer);
}

task<> server::serve_http2(entrance& at, stream conn,
                           std::unique_ptr<http2_server_connection> http2, std::uint32_t of_peer) {
  overload_control::credit credit = at.shared.shedding.control().first_credit();
  try {
    while (co_await http2->burst(conn, credit)) {
      worker::running().context_now = at.idle;
      const bool has_data = co_await rest_wait(conn);
      worker::running().context_now = at.connections.context_of_tasks();
      // While the server stops, one more burst says goodbye and answers what is on its way.
      if (!has_data && at.shared.now != server_shared::phase::stopping) break;
    }
    co_await http2->leave(conn);
    co_await http2->linger(conn);
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::operation_canceled) ++at.shared.counters.errors;
  } catch (...) {
    ++at.shared.counters.errors;
  }
  --at.shared.counters.open;
  at.shared.peers.leave(of_peer);
}

task<> server::end_idle_ones(entrance& at) {
  const nanoseconds most = shared_->options.idle_timeout;
  for (;;) {
    worker& w = worker::running();  // after each wait this may be another worker
    time_point due = add_saturated(w.now, most);
    for (context* place : {&at.fresh, &at.idle}) {
      while (!place->waits().empty()) {
        wait& longest = place->waits().front();
        const time_point ends = add_saturated(longest.since, most);
        if (ends > w.now) {
          due = std::min(due, ends);
          break;
        }
        ++shared_->counters.idle_timeouts;
        longest.kind->cancel(longest, w);
      }
    }
    const auto slept = co_await as_expected(with_cancel(shared_->draining, sleep_until(due)));
    if (!slept) co_return;
  }
}

/// While the server drains: ends the connections that have not sent their first request within
/// drain_grace.
task<> server::end_fresh_ones(entrance& at) {
  const time_point end = add_saturated(clock::now(), shared_->options.drain_grace);
  while (!at.fresh.waits().empty() && worker::running().now < end) {
    const auto slept = co_await as_expected(sleep_for(full_pause));
    if (!slept) co_return;
  }
  at.fresh.cancel(worker::running());
}

std::size_t server::most_of(const address& peer) const noexcept {
  if (!peer)
    return shared_->options.connections_max;  // a Unix socket has no peer address: a local client
  for (const auto* trusted : {&shared_->options.trusted, &shared_->options.trusted_proxies})
    for (const network& n : *trusted)
      if (n.contains(peer)) return shared_->options.connections_max;
  const std::size_t asked = shared_->options.connections_per_address_max;
  return asked != 0 ? asked
                    : shared_->options.connections_max - shared_->options.connections_max / 4;
}

void server::take(entrance& at, stream conn) {
  const address peer = conn.peer();
  const peer_counts::place of_peer = shared_->peers.enter(peer, most_of(peer));
  if (of_peer == peer_counts::none) {
    ++shared_->counters.refused_connections;
    return;
  }
  ++shared_->counters.connections;
  ++shared_->counters.open;
  at.connections.spawn(connection(at, std::move(conn), of_peer));
}

task<> server::accept_loop(entrance& at, listener& on) {
  std::size_t free_takes = 0;
  for (;;) {
    if (shared_->counters.open >= shared_->options.connections_max) ++shared_->counters.full_waits;
    while (shared_->counters.open >= shared_->options.connections_max)
      co_await with_cancel(shared_->draining, sleep_for(full_pause));
    if (free_takes != 0) {
      --free_takes;
    } else if (shared_->shedding.control().holds_accepts(worker::running().now)) {
      co_await shared_->shedding.hold_accepting(shared_->draining);
      free_takes = takes_after_hold;
    }
    auto conn = co_await as_expected(with_cancel(shared_->draining, on.accept()));
    shared_->counters.accept_pauses = on.pauses();
    if (conn) {
      take(at, std::move(*conn));
    } else if (conn.error() == std::errc::operation_canceled) {
      co_return;
    } else {
      co_await with_cancel(shared_->draining, sleep_for(accept_pause));
    }
  }
}

task<> server::serve(listener on) {
  // Asks the driver, because a runtime's driver may have limits of its own.
  shared_->blocks_max = shared_->options.blocks_max != 0 ? shared_->options.blocks_max
                                                         : runtime::here().io().blocks().count / 4;
  shared_->timed = runtime::here().options().slow_handler > nanoseconds::zero();
  entrance at(*this);
  // If the server has several listeners, only the first call of serve() measures.
  struct measuring {
    load_shedding* of;
    ~measuring() {  // on every way out
      if (of != nullptr) of->stop_measuring();
    }
  } const measures{shared_->shedding.measuring() ? nullptr : &shared_->shedding};
  if (measures.of != nullptr) measures.of->start_measuring(at.connections);
  {
    heddle::detail::context_switch inside(worker::running(), at.connections.context_of_tasks());
    at.connections.spawn(end_idle_ones(at));
    try {
      co_await accept_loop(at, on);
    } catch (const std::system_error&) {
      // Cancelled from outside: the connections share the context, so they end too.
    }
  }
  on.close();
  at.connections.spawn(end_fresh_ones(at));
  co_await at.connections.join();
}

void server::end_kept_connections() noexcept {
  if (shared_->now == server_shared::phase::serving)
    shared_->now = server_shared::phase::ending_kept;
}

void server::stop() noexcept {
  worker& w = worker::here();
  const bool again =
      std::exchange(shared_->now, server_shared::phase::stopping) == server_shared::phase::stopping;
  if (!again) shared_->draining.cancel();
  entrances_.each(
      [&](entrance& at) { (again ? at.connections.context_of_tasks() : at.idle).cancel(w); });
}

task<> detail::serve_with(listener on, handler answer, server_options options, calling_line line) {
  server s(std::move(answer), std::move(options), line.where);
  co_await s.serve(std::move(on));
}

namespace {

task<> stop_at_signals(server& s, stop_signals& signals) {
  for (;;) {
    co_await signals.next();
    s.stop();
  }
}

}  // namespace

task<> detail::serve_and_drain(listener on, handler answer, server_options options,
                               calling_line line) {
  server s(std::move(answer), std::move(options), line.where);
  stop_signals signals;
  co_await any(s.serve(std::move(on)), signals.pass_on(), stop_at_signals(s, signals));
}

}  // namespace heddle::http
