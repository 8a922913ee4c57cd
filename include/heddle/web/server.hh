// SPDX-License-Identifier: MIT
// An HTTP/1.1 server. A handler is a function from a request to a task that gives a response. Each
// connection is one task. While the connection is idle, it is one small frame that waits for data;
// the frames that parse and answer exist only while there is a request.
//
//   task<http::response> hello(http::request& r) {
//     co_return http::response(200).text("hello " + std::string(r.path()) + "\n");
//   }
//   co_await http::serve_until_signal(tcp_listener::listen(address::loopback(8080)), hello);
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "heddle/base/list.hh"
#include "heddle/core/deadline.hh"
#include "heddle/core/detail/closure.hh"
#include "heddle/core/scope.hh"
#include "heddle/core/task.hh"
#include "heddle/http/response.hh"
#include "heddle/io/tcp.hh"
#include "heddle/web/incoming.hh"
#include "heddle/web/server_counters.hh"
#include "heddle/web/server_options.hh"

namespace heddle::http {

struct server_shared;
struct http2_server_connection;

/// Thread: one color. Owns: its connections. A listener belongs to the call of serve() that got it.
class server {
 public:
  server(handler answer, server_options options = server_options(),
         std::source_location where = std::source_location::current());
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  ~server();

  /// Accepts connections until stop() is called. It then drains: it accepts no more and closes idle
  /// connections; connections in the middle of a request finish it, and those that have not yet
  /// sent their first request have drain_grace for it.
  /// Cancel: requests in progress are cancelled, too.
  [[nodiscard]] task<> serve(listener on);
  /// From now on, answers close their connections and say so (Connection: close), unless the next
  /// request has already arrived. A connection that waits for a request stays open until stop(), so
  /// that a request under way is answered. Call it some time before stop() if clients must not lose
  /// a request.
  void end_kept_connections() noexcept;
  /// Begins to drain. The second call closes the remaining connections.
  void stop() noexcept;
  /// Replaces overload_options::headers. If a field must not be sent, throws and changes nothing.
  void change_refusals(const std::vector<std::pair<std::string, std::string>>& headers);

  [[nodiscard]] const server_counters& counters() const noexcept;
  [[nodiscard]] bool stopping() const noexcept;
  /// Memory in use for parts of files that are being sent.
  [[nodiscard]] std::size_t file_bytes_held() const noexcept;

 private:
  /// One call of serve() and its idle connections. One task watches over all of them, so that none
  /// needs a timer, a context or a list of its own.
  struct entrance;
  [[nodiscard]] static task<> connection(entrance& at, stream conn, std::uint32_t of_peer);
  [[nodiscard]] static task<> serve_other(entrance& at, take_over then, upgraded conn,
                                          std::uint32_t of_peer);
  [[nodiscard]] static task<> serve_http2(entrance& at, stream conn,
                                          std::unique_ptr<http2_server_connection> http2,
                                          std::uint32_t of_peer);
  [[nodiscard]] task<> accept_loop(entrance& at, listener& on);
  [[nodiscard]] task<> end_idle_ones(entrance& at);
  [[nodiscard]] task<> end_fresh_ones(entrance& at);
  /// How many connections this address may open.
  [[nodiscard]] std::size_t most_of(const address& peer) const noexcept;
  void take(entrance& at, stream conn);

  std::unique_ptr<server_shared> shared_;  // between all connections
  list<entrance> entrances_;               // the open ones
};

namespace detail {
/// A caller's line as a last argument. Unlike std::source_location, it is not made of `{}`, which
/// means options.
struct calling_line {
  constexpr calling_line(std::source_location at) noexcept : where(at) {}
  std::source_location where;
};
[[nodiscard]] task<> serve_with(listener on, handler answer, server_options options,
                                calling_line line);
[[nodiscard]] task<> serve_and_drain(listener on, handler answer, server_options options,
                                     calling_line line);
}  // namespace detail

/// Serves until SIGINT or SIGTERM arrives, then drains as server::stop() does: requests in progress
/// are answered. The next of these signals closes the remaining connections. This is the one line
/// for a program that is a server; of several such calls, each hears each signal. Options are
/// server_options, or its members in braces. Cancel: as with serve().
template <class Answer>
  requires std::constructible_from<handler, Answer>
[[nodiscard]] task<> serve_until_signal(
    listener on, Answer&& answer, detail::calling_line line = std::source_location::current()) {
  heddle::detail::check_closures<Answer>();
  return detail::serve_and_drain(std::move(on), handler(std::forward<Answer>(answer)),
                                 server_options(), line);
}
template <class Answer, class Options = server_options>
  requires std::constructible_from<handler, Answer> &&
           std::constructible_from<server_options, Options>
[[nodiscard]] task<> serve_until_signal(
    listener on, Answer&& answer, Options&& options,
    detail::calling_line line = std::source_location::current()) {
  heddle::detail::check_closures<Answer>();
  heddle::detail::check_options<Options>();
  return detail::serve_and_drain(std::move(on), handler(std::forward<Answer>(answer)),
                                 std::forward<Options>(options), line);
}

/// Serves until cancelled, which cancels requests in progress, too. For tests, and for servers that
/// something else ends.
template <class Answer>
  requires std::constructible_from<handler, Answer>
[[nodiscard]] task<> serve(listener on, Answer&& answer,
                           detail::calling_line line = std::source_location::current()) {
  heddle::detail::check_closures<Answer>();
  return detail::serve_with(std::move(on), handler(std::forward<Answer>(answer)), server_options(),
                            line);
}
template <class Answer, class Options = server_options>
  requires std::constructible_from<handler, Answer> &&
           std::constructible_from<server_options, Options>
[[nodiscard]] task<> serve(listener on, Answer&& answer, Options&& options,
                           detail::calling_line line = std::source_location::current()) {
  heddle::detail::check_closures<Answer>();
  heddle::detail::check_options<Options>();
  return detail::serve_with(std::move(on), handler(std::forward<Answer>(answer)),
                            std::forward<Options>(options), line);
}

}  // namespace heddle::http
