// SPDX-License-Identifier: MIT
// The state of a connection to NATS, which its subscriptions and requests share. A connection made
// is a session: tasks that read, write and ask whether the server is alive. The first of them to
// fail ends the session, and run() makes the next.
#pragma once

#include <deque>
#include <exception>
#include <memory>
#include <string>
#include <unordered_map>

#include "heddle/core/event.hh"
#include "heddle/http/detail/json.hh"
#include "heddle/nats/connection.hh"
#include "heddle/sync/condition.hh"
#include "nats/servers.hh"
#include "nats/wire.hh"

namespace heddle::nats::detail {

using json_value = http::detail::json;

class connection_core;

/// A subscription and the messages that have come for it. It outlives the connection if the program
/// still holds it.
class subscription_core {
 public:
  subscription_core(std::weak_ptr<connection_core> owner, std::uint64_t number, std::string pattern,
                    subscribe_options with)
      : pattern(std::move(pattern)),
        options(std::move(with)),
        number(number),
        owner_(std::move(owner)) {}

  /// Queues a message for next(); false if there is no room.
  bool take(message&& m);
  [[nodiscard]] std::optional<message> pop();
  void close() noexcept;
  /// Ends the subscription with the server.
  void leave() noexcept;

  const std::string pattern;
  const subscribe_options options;
  const std::uint64_t number;
  condition changed;  ///< a message came, the connection was made or lost, or all has ended
  bool closed = false;
  std::uint64_t dropped = 0;

 private:
  std::weak_ptr<connection_core> owner_;
  std::deque<message> queue_;
  std::size_t bytes_ = 0;
};

class connection_core : public std::enable_shared_from_this<connection_core> {
 public:
  /// idle: run() is not running; leaving: the server says that it will end; closed: the program's
  /// object has ended.
  enum class phase : std::uint8_t { idle, connecting, connected, leaving, closed };

  explicit connection_core(connection_options with);

  // session.cc
  [[nodiscard]] task<> run();

  // core.cc
  [[nodiscard]] task<> ready();
  [[nodiscard]] task<> publish(message m);
  [[nodiscard]] task<message> request(message m);
  [[nodiscard]] task<> flush();
  [[nodiscard]] std::shared_ptr<subscription_core> subscribe(std::string pattern,
                                                             subscribe_options with);
  void unsubscribe(std::uint64_t number) noexcept;
  [[nodiscard]] std::string new_inbox();
  /// Ends all subscriptions, and fails what waits.
  void close() noexcept;

  [[nodiscard]] bool connected() const noexcept {
    return phase_ == phase::connected || phase_ == phase::leaving;
  }

  const connection_options options;
  connection_counters counters;
  std::string server;  // the one of this session

 private:
  // session.cc
  [[nodiscard]] task<stream> open(server_place at, wire_reader& in);
  [[nodiscard]] std::string connect_line() const;
  [[nodiscard]] task<> session(stream s, wire_reader& in);
  [[nodiscard]] task<> read(stream s, wire_reader& in);
  [[nodiscard]] task<> write(stream s);
  [[nodiscard]] task<> watch();
  void take(wire_item&& item);
  void take_info(std::string_view text);
  void take_error(const std::string& text) const;
  void begin_session();
  void end_session() noexcept;
  void tell(const std::string& text) const;

  void send_ping(event<bool> answered);
  void deliver(wire_item&& item);
  void wake_all() noexcept;

  server_list servers_;
  std::string unsent_;        // messages and PINGs, in order; the rest of a session is for the next
  std::string control_;       // SUB, UNSUB, PONG: for this session, and before unsent_
  condition changed_;         // a session began, or all has ended
  condition unsent_changed_;  // there is something to send
  condition room_;            // less waits to be sent
  std::unordered_map<std::uint64_t, std::shared_ptr<subscription_core>> subscriptions_;
  std::uint64_t last_number_ = 0;
  std::deque<event<bool>> pings_;  // in the order of PINGs; an empty one is the watch's own
  std::size_t unsent_pings_ = 0;   // the last ones, whose PINGs are in unsent_
  std::string inbox_;              // before the number of a request; empty before the first
  std::shared_ptr<subscription_core> answers_;  // to requests
  std::unordered_map<std::string, event<message>> requests_;
  std::uint64_t last_request_ = 0;
  std::size_t payload_max_;
  unsigned silent_ = 0;       // times that the watch has asked since the server sent something
  bool in_doubt_ = false;     // bytes were given to the system, and no PONG has confirmed them
  std::uint32_t losses_ = 0;  // sessions that ended with bytes in doubt, since the last flush
  phase phase_ = phase::idle;
};

}  // namespace heddle::nats::detail
