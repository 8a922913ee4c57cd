// SPDX-License-Identifier: MIT
// Accepting, idling, draining. What happens between the first byte of a request and the last byte
// of its answer is exchange.cc's.
#include "heddle/http/server.hh"

#include "heddle/core/sleep.hh"
#include "heddle/http/head_writer.hh"
#include "heddle/sched/runtime.hh"
#include "http/exchange.hh"

namespace heddle::http {
namespace {

constexpr nanoseconds wall_step = std::chrono::milliseconds(100);
constexpr nanoseconds accept_pause = std::chrono::milliseconds(50);  // when descriptors run out

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
      fixed_lines_(assemble_fixed(options_.server_name)) {}

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
task<> server::connection(tcp_stream conn) {
  ++counters_.connections;
  ++counters_.open;
  try {
    for (;;) {
      auto first = co_await as_expected(
          with_timeout(with_cancel(no_more_, conn.receive()), options_.idle_timeout));
      if (!first || first->empty()) break;
      exchange burst(*this, conn, std::move(*first));
      if (!co_await burst.run() || stopping_) break;
    }
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::operation_canceled) ++counters_.errors;
  }
  --counters_.open;
}

task<> server::accept_loop(scope& connections, tcp_listener& on) {
  for (;;) {
    while (counters_.open >= options_.connections_max)
      co_await with_cancel(no_more_, sleep_for(std::chrono::milliseconds(10)));
    auto conn = co_await as_expected(with_cancel(no_more_, on.accept()));
    if (conn) {
      connections.spawn(connection(std::move(*conn)));
    } else if (conn.error() == std::errc::operation_canceled) {
      co_return;
    } else {
      co_await with_cancel(no_more_, sleep_for(accept_pause));
    }
  }
}

task<> server::serve(tcp_listener on) {
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
task<> serve_default(tcp_listener on, handler answer) {
  server s(std::move(answer));
  co_await s.serve(std::move(on));
}
}  // namespace

task<> serve(tcp_listener on, handler answer) {
  return serve_default(std::move(on), std::move(answer));
}

}  // namespace heddle::http
