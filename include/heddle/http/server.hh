// SPDX-License-Identifier: MIT
// An HTTP/1.1 server: a handler is a function from a request to a task that gives a response. One
// connection is one straight-line task; while it is idle it is one small frame that waits for data,
// and the frames that parse and answer exist only while there is something to parse and answer.
//
//   task<http::response> hello(http::request& r) {
//     co_return http::response(200).text("hello " + std::string(r.path()) + "\n");
//   }
//   co_await http::serve(tcp_listener::listen(address::loopback(8080)), hello);
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/deadline.hh"
#include "heddle/core/scope.hh"
#include "heddle/http/date.hh"
#include "heddle/http/incoming.hh"
#include "heddle/http/limits.hh"
#include "heddle/http/overload.hh"
#include "heddle/http/parser.hh"
#include "heddle/http/response.hh"
#include "heddle/io/network.hh"
#include "heddle/io/tcp.hh"
#include "heddle/io/unix.hh"
#include "heddle/probe/histogram.hh"

namespace heddle::http {

class exchange;
class peer_counts;
class ready_answers;

using handler = std::function<task<response>(request&)>;

/// One answered request, for logs.
struct access {
  const request_head* head = nullptr;  ///< null when the request could not be parsed
  const address* peer = nullptr;
  int status = 0;
  std::uint64_t bytes = 0;  ///< of the body
  nanoseconds took{};
};

/// Every limit is safe on a public network as it stands. Which counter grows when one is reached
/// stands beside it; those of `bounds` count as bad_heads, uris_too_long, heads_too_large.
struct server_options {
  limits bounds = {};  ///< of heads and bodies; a route may have another limit for its bodies
  nanoseconds idle_timeout = std::chrono::seconds(75);    ///< between requests: idle_timeouts
  nanoseconds header_timeout = std::chrono::seconds(10);  ///< of a whole head: header_timeouts
  nanoseconds body_timeout = std::chrono::seconds(30);    ///< between two parts: body_timeouts
  /// A body that comes slower than this, with body_timeout in advance, is given up the same way.
  std::uint32_t body_bytes_per_second_min = 240;
  nanoseconds write_timeout = std::chrono::seconds(30);  ///< of one send: write_timeouts
  std::size_t send_bytes_max = 256 * 1024;               ///< what one send may hold
  /// Memory for files that are read and sent in parts, of all connections together; with more, the
  /// parts are of 4 KiB: file_parts_short.
  std::size_t file_bytes_max = 16 * 1024 * 1024;
  /// Memory for whole answers: one of 16 KiB and more that is sent often stands ready, its head
  /// before its body, for one call to send it: ready_answers. 0: none; whole 2 MiB are large pages.
  std::size_t ready_bytes_max = 2 * 1024 * 1024;
  std::size_t connections_max = 16384;  ///< further ones wait in the listener's queue: full_waits
  /// Of one IPv4 address or IPv6 /64 network; further ones are closed: refused_connections. 0:
  /// three quarters of connections_max. Behind a proxy all clients have the proxy's address.
  std::size_t connections_per_address_max = 0;
  std::vector<network> trusted = {};         ///< peers that may have connections_max: a proxy, say
  std::size_t corked_bytes_max = 64 * 1024;  ///< answers to pipelined requests gathered in one send
  std::size_t pipeline_max = 64;             ///< answered before others get a turn: pipeline_pauses
  /// Of a body that the handler did not read; with more the connection ends: bodies_abandoned.
  std::size_t drain_bytes_max = 256 * 1024;
  /// How long, and for drain_bytes_max, a client that was refused may go on sending, so that it
  /// reads the answer before it sees the connection close.
  nanoseconds linger_timeout = std::chrono::seconds(2);
  nanoseconds drain_grace = std::chrono::seconds(1);  ///< for first requests when draining begins
  /// Receive blocks of the driver that requests in progress may hold; further ones are copied.
  /// 0: a quarter of what the driver has. Block_copies counts.
  std::size_t blocks_max = 0;
  /// Requests that would be late are refused with 503, and new connections wait: shed, overloads.
  overload_options overload = {};
  std::string_view server_name = "heddle";
  std::function<void(const access&)> log = {};
  /// Shows an error: the status, and what to tell the client. The head is null when the request
  /// could not be parsed. Without it, clients that ask for text get text, all others a problem
  /// document.
  std::function<response(const request_head*, int, std::string_view)> error_page = {};
};

/// Counters of one server; they only grow, but for `open` and `overloaded`.
struct server_counters {
  std::uint64_t connections = 0;
  std::uint64_t open = 0;
  std::uint64_t requests = 0;
  std::uint64_t bytes = 0;  ///< sent, heads included
  /// Answers of 500 and above, but for those that were shed; connections that broke in an answer.
  std::uint64_t errors = 0;
  std::uint64_t bad_heads = 0;
  std::uint64_t uris_too_long = 0;
  std::uint64_t heads_too_large = 0;
  std::uint64_t bodies_too_large = 0;
  std::uint64_t bad_bodies = 0;
  std::uint64_t bodies_abandoned = 0;
  std::uint64_t idle_timeouts = 0;
  std::uint64_t header_timeouts = 0;
  std::uint64_t body_timeouts = 0;
  std::uint64_t write_timeouts = 0;
  std::uint64_t full_waits = 0;
  std::uint64_t refused_connections = 0;
  std::uint64_t accept_pauses = 0;  ///< descriptors or memory ran out
  std::uint64_t pipeline_pauses = 0;
  std::uint64_t block_copies = 0;
  std::uint64_t file_parts_short = 0;
  std::uint64_t ready_answers = 0;
  std::uint64_t shed = 0;          ///< refused, because they had waited too long
  std::uint64_t overloads = 0;     ///< times at which shedding began
  std::uint64_t overloaded = 0;    ///< 1 while it goes on
  std::uint64_t accept_holds = 0;  ///< pauses of accepting because of it
  histogram queue_delay_ns;        ///< how long requests waited before they were begun, or shed
  histogram latency_ns;  ///< from a parsed head to an answer that is ready to be sent; not of shed

  /// Those of several servers together.
  server_counters& operator+=(const server_counters& other) noexcept;
};

/// Thread: one color. Owns: nothing of the listener's; it lives as long as serve() runs.
class server {
 public:
  server(handler answer, server_options options = {});
  server(const server&) = delete;
  server& operator=(const server&) = delete;
  ~server();

  /// Accepts until it is cancelled or stop() is called; then no new connection is taken, idle ones
  /// are closed, those in the middle of a request finish it, and those whose first request has not
  /// come yet have drain_grace for it.
  [[nodiscard]] task<> serve(tcp_listener on);
  /// Begins to drain. The second call closes what is left.
  void stop() noexcept;
  /// What overload_options::headers says, from now on. Throws, and changes nothing, where one
  /// cannot be sent.
  void change_refusals(const std::vector<std::pair<std::string, std::string>>& headers);

  [[nodiscard]] const server_counters& counters() const noexcept { return counters_; }
  [[nodiscard]] bool stopping() const noexcept { return stopping_; }
  /// Memory that parts of files on their way take at present.
  [[nodiscard]] std::size_t file_bytes_held() const noexcept { return file_bytes_held_; }

 private:
  friend class exchange;
  /// One call of serve(): where its connections rest. One task looks after all that do, so that
  /// none needs a timer, a context or a list of its own.
  struct entrance;
  [[nodiscard]] static task<> connection(entrance& at, tcp_stream conn, std::uint32_t of_peer);
  [[nodiscard]] task<> accept_loop(entrance& at, tcp_listener& on);
  [[nodiscard]] task<> end_idle_ones(entrance& at);
  [[nodiscard]] task<> end_fresh_ones(entrance& at);
  /// How many connections this address may have.
  [[nodiscard]] std::size_t most_of(const address& peer) const noexcept;
  void take(entrance& at, tcp_stream conn);
  // overload_shed.cc
  [[nodiscard]] bool admit(const request_head& head, overload_control::credit& of_connection);
  [[nodiscard]] response refusal() const;
  [[nodiscard]] task<> hold_accepting();
  void open_probe();
  [[nodiscard]] static task<> watch_turn(server& self);

  handler answer_;
  server_options options_;
  server_counters counters_;
  limits head_bounds_;                  // what the parser holds to: bodies are limited by route
  std::unique_ptr<peer_counts> peers_;  // open connections of each address
  std::size_t blocks_held_ = 0;
  std::size_t blocks_max_ = 0;
  std::size_t file_bytes_held_ = 0;
  list<entrance> entrances_;  // that are open
  cancel_source no_more_;     // ends accepting
  scope* tasks_ = nullptr;    // while it serves
  overload_control control_;
  unix_stream probe_in_;  // both ends of the meter's probe
  unix_stream probe_out_;
  piece refusal_lines_;  // what those get that are shed
  piece refusal_body_;
  bool stopping_ = false;
  /// "Date: ...", made once a second; the wall clock is read ten times a second at most.
  [[nodiscard]] std::string_view date_text() noexcept;
  /// What most answers begin with, made once a second: status 200, the fixed lines, the date.
  [[nodiscard]] std::string_view opening();

  std::vector<std::string> spare_outs_;  // memory for answers, between bursts of requests
  std::size_t spare_out_bytes_ = 0;      // of all of them
  std::unique_ptr<ready_answers> ready_;
  known_authority host_;     // that was asked for last
  std::string fixed_lines_;  // header lines that every answer has
  std::string opening_;
  std::int64_t opening_second_ = -1;
  date_line date_;
  std::int64_t wall_second_ = 0;
  time_point wall_read_at_ = time_point::min();
};

/// Serves until cancelled.
[[nodiscard]] task<> serve(tcp_listener on, handler answer, server_options options = {});

}  // namespace heddle::http
