// SPDX-License-Identifier: MIT
// Accepting, idling, draining. What happens between the first byte of a request and the last byte
// of its answer is exchange.cc's.
#include "heddle/http/server.hh"

#include "heddle/core/sleep.hh"
#include "heddle/http/head_writer.hh"
#include "heddle/http/status.hh"
#include "heddle/sched/runtime.hh"
#include "http/exchange.hh"
#include "http/overload_lines.hh"
#include "http/peer_counts.hh"
#include "http/ready_answers.hh"

namespace heddle::http {
namespace {

constexpr nanoseconds wall_step = std::chrono::milliseconds(100);
constexpr nanoseconds accept_pause = std::chrono::milliseconds(50);  // when descriptors run out
constexpr nanoseconds full_pause = std::chrono::milliseconds(10);    // with connections_max open
constexpr std::size_t takes_after_hold = 64;  // what a listener has accepted ahead, by default

std::string assemble_fixed(std::string_view name) {
  if (name.empty()) return {};
  std::string line(64 + name.size(), '\0');
  head_writer writer(line);
  writer.status(200).field("Server", name);
  const std::string_view text = writer.text();
  return std::string(text.substr(text.find('\n') + 1));
}

}  // namespace

server_counters& server_counters::operator+=(const server_counters& other) noexcept {
  using member = std::uint64_t server_counters::*;
  using counters = server_counters;
  for (const member each : {&counters::connections,
                            &counters::open,
                            &counters::requests,
                            &counters::bytes,
                            &counters::errors,
                            &counters::bad_heads,
                            &counters::uris_too_long,
                            &counters::heads_too_large,
                            &counters::bodies_too_large,
                            &counters::bad_bodies,
                            &counters::bodies_abandoned,
                            &counters::idle_timeouts,
                            &counters::header_timeouts,
                            &counters::body_timeouts,
                            &counters::write_timeouts,
                            &counters::full_waits,
                            &counters::refused_connections,
                            &counters::accept_pauses,
                            &counters::pipeline_pauses,
                            &counters::block_copies,
                            &counters::file_parts_short,
                            &counters::ready_answers,
                            &counters::shed,
                            &counters::overloads,
                            &counters::overloaded,
                            &counters::accept_holds})
    this->*each += other.*each;
  queue_delay_ns.merge(other.queue_delay_ns);
  latency_ns.merge(other.latency_ns);
  return *this;
}
static_assert(sizeof(server_counters) == 26 * sizeof(std::uint64_t) + 2 * sizeof(histogram),
              "a new counter is added up too");

server::server(handler answer, server_options options)
    : answer_(std::move(answer)),
      options_(std::move(options)),
      head_bounds_(options_.bounds),
      peers_(std::make_unique<peer_counts>()),
      control_(options_.overload),
      refusal_lines_(refusal_lines(options_.overload)),
      refusal_body_(std::string(refusal_text)),
      ready_(std::make_unique<ready_answers>(options_.ready_bytes_max)),
      fixed_lines_(assemble_fixed(options_.server_name)) {
  spare_outs_.reserve(spare_outs_max);
  head_bounds_.body_bytes_max = ~std::uint64_t{0};  // a route decides when the handler reads
}

server::~server() = default;

std::string_view server::date_text() noexcept {
  const time_point now = worker::running().now;
  if (wall_read_at_ == time_point::min() || now - wall_read_at_ >= wall_step) {
    wall_read_at_ = now;
    wall_second_ =
        std::chrono::floor<std::chrono::seconds>(runtime::here().io().wall_time()).count();
  }
  return date_.at(wall_second_);
}

std::string_view server::opening() {
  const std::string_view date = date_text();
  if (opening_second_ != wall_second_) {
    ((opening_ = status_line(200)) += fixed_lines_) += date;
    opening_second_ = wall_second_;
  }
  return opening_;
}

/// Connections rest in contexts that hold nothing else, so the waits there, the oldest first, are
/// the list of those that are idle.
struct server::entrance : list_node {
  explicit entrance(server& s)
      : owner(s),
        fresh(context::open(worker::here(), &connections.context_of_tasks())),
        idle(context::open(worker::here(), &connections.context_of_tasks())) {
    s.entrances_.push_back(*this);
  }
  ~entrance() {
    context::close(worker::here(), idle);
    context::close(worker::here(), fresh);
  }

  server& owner;
  scope connections;
  context& fresh;  // of those that have asked nothing yet: their first request may be on its way
  context& idle;
};

namespace {

// What a connection waits for, told in as few bytes of its frame as can be. Where these are not
// inlined, what they need for a moment stands on the stack and not in the frame.

/// readable(), and what goes wrong is the end.
class rest_wait {
 public:
  [[gnu::noinline]] explicit rest_wait(const tcp_stream& conn) noexcept
      : inner_(conn.readable().operator co_await()) {}
  [[nodiscard]] static bool await_ready() noexcept { return false; }
  [[nodiscard]] bool await_suspend(std::coroutine_handle<> h) noexcept {
    return inner_.await_suspend(h);
  }
  [[nodiscard]] bool await_resume() const noexcept { return inner_.outcome > 0; }

 private:
  detail::readable_awaiter inner_;
};

/// The end of a burst of requests.
struct burst_wait : task<bool>::awaiter {
  [[gnu::noinline]] burst_wait(server& owner, tcp_stream& conn, overload_control::credit& credit)
      : awaiter(exchange::run(owner, conn, credit).release()) {}
  [[nodiscard, gnu::noinline]] bool await_resume() { return awaiter::await_resume(); }
};

}  // namespace

/// One connection. While it rests, this frame and the stream's state are all there is: every
/// variable here counts (tests/http/idle_test.cc). What happens around the wait happens in
/// functions, and what a request needs is in the frame of exchange::run().
task<> server::connection(entrance& at, tcp_stream conn, std::uint32_t of_peer) {
  overload_control::credit credit = at.owner.control_.first_credit();
  try {
    for (bool fresh = true;; fresh = false) {
      worker::running().context_now = fresh ? at.fresh : at.idle;
      const bool has_data = co_await rest_wait(conn);
      worker::running().context_now = at.connections.context_of_tasks();
      if (!has_data) break;
      if (!co_await burst_wait(at.owner, conn, credit)) break;
    }
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::operation_canceled) ++at.owner.counters_.errors;
  } catch (...) {
    ++at.owner.counters_.errors;  // one connection's trouble is no other's
  }
  --at.owner.counters_.open;
  at.owner.peers_->leave(of_peer);
}

task<> server::end_idle_ones(entrance& at) {
  const nanoseconds most = options_.idle_timeout;
  for (;;) {
    worker& w = worker::running();  // another one after each wait, perhaps
    time_point due = add_saturated(w.now, most);
    for (context* place : {&at.fresh, &at.idle}) {
      while (!place->waits().empty()) {
        wait& longest = place->waits().front();
        const time_point ends = add_saturated(longest.since, most);
        if (ends > w.now) {
          due = std::min(due, ends);
          break;
        }
        ++counters_.idle_timeouts;
        longest.kind->cancel(longest, w);
      }
    }
    const auto slept = co_await as_expected(with_cancel(no_more_, sleep_until(due)));
    if (!slept) co_return;
  }
}

/// While it drains: connections that have asked nothing yet may still do so.
task<> server::end_fresh_ones(entrance& at) {
  const time_point end = add_saturated(worker::running().now, options_.drain_grace);
  while (!at.fresh.waits().empty() && worker::running().now < end) {
    const auto slept = co_await as_expected(sleep_for(full_pause));
    if (!slept) co_return;
  }
  at.fresh.cancel(worker::running());
}

std::size_t server::most_of(const address& peer) const noexcept {
  for (const network& n : options_.trusted)
    if (n.contains(peer)) return options_.connections_max;
  const std::size_t asked = options_.connections_per_address_max;
  return asked != 0 ? asked : options_.connections_max - options_.connections_max / 4;
}

void server::take(entrance& at, tcp_stream conn) {
  const address peer = conn.peer();
  const peer_counts::place of_peer = peers_->enter(peer, most_of(peer));
  if (of_peer == peer_counts::none) {
    ++counters_.refused_connections;
    return;
  }
  ++counters_.connections;
  ++counters_.open;
  at.connections.spawn(connection(at, std::move(conn), of_peer));
}

task<> server::accept_loop(entrance& at, tcp_listener& on) {
  std::size_t free_takes = 0;
  for (;;) {
    if (counters_.open >= options_.connections_max) ++counters_.full_waits;
    while (counters_.open >= options_.connections_max)
      co_await with_cancel(no_more_, sleep_for(full_pause));
    if (free_takes != 0) {
      --free_takes;
    } else if (control_.holds_accepts(worker::running().now)) {
      co_await hold_accepting();
      free_takes = takes_after_hold;
    }
    auto conn = co_await as_expected(with_cancel(no_more_, on.accept()));
    counters_.accept_pauses = on.pauses();
    if (conn) {
      take(at, std::move(*conn));
    } else if (conn.error() == std::errc::operation_canceled) {
      co_return;
    } else {
      co_await with_cancel(no_more_, sleep_for(accept_pause));
    }
  }
}

task<> server::serve(tcp_listener on) {
  // Asked of the driver: a runtime may have been given one with limits of its own.
  blocks_max_ =
      options_.blocks_max != 0 ? options_.blocks_max : runtime::here().io().blocks().count / 4;
  entrance at(*this);
  // A second listener of this server leaves the measuring to the first.
  struct measuring {
    server* of;
    ~measuring() {  // however this ends
      if (of == nullptr) return;
      of->tasks_ = nullptr;
      of->probe_in_.close();
      of->probe_out_.close();
    }
  } const measures{tasks_ == nullptr ? this : nullptr};
  if (measures.of != nullptr) {
    tasks_ = &at.connections;
    open_probe();
  }
  {
    heddle::detail::context_switch inside(worker::running(), at.connections.context_of_tasks());
    at.connections.spawn(end_idle_ones(at));
    try {
      co_await accept_loop(at, on);
    } catch (const std::system_error&) {
      // Cancelled from outside: the connections are in the same context and end too.
    }
  }
  on.close();
  at.connections.spawn(end_fresh_ones(at));
  co_await at.connections.join();
}

void server::stop() noexcept {
  worker& w = worker::here();
  const bool again = std::exchange(stopping_, true);
  if (!again) no_more_.cancel();
  entrances_.each(
      [&](entrance& at) { (again ? at.connections.context_of_tasks() : at.idle).cancel(w); });
}

namespace {
task<> serve_with(tcp_listener on, handler answer, server_options options) {
  server s(std::move(answer), std::move(options));
  co_await s.serve(std::move(on));
}
}  // namespace

task<> serve(tcp_listener on, handler answer, server_options options) {
  return serve_with(std::move(on), std::move(answer), std::move(options));
}

}  // namespace heddle::http
