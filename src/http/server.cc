// SPDX-License-Identifier: MIT
// Accepting, idling, draining. What happens between the first byte of a request and the last byte
// of its answer is exchange.cc's.
#include "heddle/http/server.hh"

#include "heddle/core/sleep.hh"
#include "heddle/http/head_writer.hh"
#include "heddle/sched/runtime.hh"
#include "http/exchange.hh"
#include "http/peer_counts.hh"

namespace heddle::http {
namespace {

constexpr nanoseconds wall_step = std::chrono::milliseconds(100);
constexpr nanoseconds accept_pause = std::chrono::milliseconds(50);  // when descriptors run out
constexpr nanoseconds full_pause = std::chrono::milliseconds(10);    // with connections_max open

std::string assemble_fixed(std::string_view name) {
  if (name.empty()) return {};
  std::string line(64 + name.size(), '\0');
  head_writer writer(line);
  writer.status(200).field("Server", name);
  const std::string_view text = writer.text();
  return std::string(text.substr(text.find('\n') + 1));
}

}  // namespace

server::server(handler answer, server_options options)
    : answer_(std::move(answer)),
      options_(std::move(options)),
      head_bounds_(options_.bounds),
      peers_(std::make_unique<peer_counts>()),
      fixed_lines_(assemble_fixed(options_.server_name)) {
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

/// One connection. While it is idle this frame and the stream's state are all there is.
task<> server::connection(tcp_stream conn, std::uint32_t* of_peer) {
  burst_end end = burst_end::idle;
  try {
    while (end == burst_end::idle && !stopping_) {
      auto first = co_await as_expected(
          with_timeout(with_cancel(no_more_, conn.receive()), options_.idle_timeout));
      if (!first || first->empty()) {
        if (!first && first.error() == std::errc::timed_out) ++counters_.idle_timeouts;
        break;
      }
      end = co_await exchange::run(*this, conn, std::move(*first));
    }
    if (end == burst_end::linger)
      static_cast<void>(co_await as_expected(with_timeout(linger(conn), options_.linger_timeout)));
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::operation_canceled) ++counters_.errors;
  } catch (...) {
    ++counters_.errors;  // one connection's trouble is no other's
  }
  --counters_.open;
  peers_->leave(of_peer);
}

task<> server::linger(tcp_stream& conn) {
  conn.shutdown_write();
  std::size_t left = options_.drain_bytes_max;
  for (;;) {
    const received in = co_await conn.receive();
    if (in.empty() || in.size() >= left) co_return;
    left -= in.size();
  }
}

void server::take(scope& connections, tcp_stream conn) {
  std::uint32_t* const of_peer = peers_->enter(conn.peer(), options_.connections_per_address_max);
  if (of_peer == nullptr) {
    ++counters_.refused_connections;
    return;
  }
  ++counters_.connections;
  ++counters_.open;
  connections.spawn(connection(std::move(conn), of_peer));
}

task<> server::accept_loop(scope& connections, tcp_listener& on) {
  for (;;) {
    if (counters_.open >= options_.connections_max) ++counters_.full_waits;
    while (counters_.open >= options_.connections_max)
      co_await with_cancel(no_more_, sleep_for(full_pause));
    auto conn = co_await as_expected(with_cancel(no_more_, on.accept()));
    counters_.accept_pauses = on.pauses();
    if (conn) {
      take(connections, std::move(*conn));
    } else if (conn.error() == std::errc::operation_canceled) {
      co_return;
    } else {
      co_await with_cancel(no_more_, sleep_for(accept_pause));
    }
  }
}

task<> server::serve(tcp_listener on) {
  blocks_max_ =
      options_.blocks_max != 0 ? options_.blocks_max : runtime::here().options().io.block_count / 4;
  scope connections;
  {
    detail::context_switch inside(worker::running(), connections.context_of_tasks());
    try {
      co_await accept_loop(connections, on);
    } catch (const std::system_error&) {
      // Cancelled from outside: the connections are in the same context and end too.
    }
  }
  on.close();
  connections_ = &connections;
  co_await connections.join();
  connections_ = nullptr;
}

void server::stop() noexcept {
  if (!std::exchange(stopping_, true)) {
    no_more_.cancel();
  } else if (connections_ != nullptr) {
    connections_->cancel();
  }
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
