// SPDX-License-Identifier: MIT
// A connection to NATS: messages are published to subjects, and every subscriber of a subject gets
// them. run() connects, and connects again when the connection was lost; subscriptions
// stay.
//
//   nats::connection shop({.servers = {"a.example", "b.example"}});
//   side.spawn(shop.run());
//   nats::subscription orders = shop.subscribe("orders.*");
//   co_await shop.publish("orders.new", "12 cups");
//   while (auto m = co_await orders.next()) use(m->body);
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/core/detail/closure.hh"
#include "heddle/core/task.hh"
#include "heddle/nats/message.hh"
#include "heddle/nats/options.hh"

namespace heddle::nats {

namespace detail {
class connection_core;
class subscription_core;
}  // namespace detail

/// A subscription, until unsubscribe() or its end.
///
/// Thread: the connection's color. Owns: the messages that have come and were not taken.
/// Cancel: next() leaves at once; no message is lost.
class subscription {
 public:
  subscription() noexcept = default;
  explicit subscription(std::shared_ptr<detail::subscription_core> core) noexcept
      : core_(std::move(core)) {}
  subscription(subscription&&) noexcept = default;
  subscription& operator=(subscription&& other) noexcept;
  ~subscription();

  /// The next message; nothing after unsubscribe() and the end of the connection's object.
  [[nodiscard]] task<std::optional<message>> next() const;
  /// Asks for no more messages. Messages that the queue holds can still be taken.
  void unsubscribe() noexcept;
  /// Messages that came beyond subscribe_options and were dropped.
  [[nodiscard]] std::uint64_t dropped() const noexcept;

 private:
  std::shared_ptr<detail::subscription_core> core_;
};

struct connection_counters {
  std::uint64_t connects = 0;   ///< connections that were made
  std::uint64_t published = 0;  ///< messages given to publish()
  std::uint64_t received = 0;   ///< messages for subscriptions
  std::uint64_t dropped = 0;    ///< received messages beyond a subscription's limits
};

/// Thread: one color. Owns: the connection and its unsent messages. It must outlive run().
/// Core NATS delivers a message at most once: messages published shortly before a connection is
/// lost may be lost with it. jetstream (nats/jetstream.hh) keeps messages until they are used.
class connection {
 public:
  explicit connection(connection_options options = connection_options());
  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection();

  /// Works until it is cancelled. Failures to connect go to connection_options::log, and are tried
  /// again.
  /// Fails: invalid_argument for an option that cannot be used; permission_denied if a server
  ///   refuses the identity, which no second try would change.
  [[nodiscard]] task<> run();
  /// Waits until there is a connection.
  [[nodiscard]] task<> ready();
  [[nodiscard]] bool connected() const noexcept;

  /// Queues a message to be sent; waits while too much is queued (connection_options::unsent_max).
  /// Fails: invalid_argument for a subject or field that is none; message_size if the server takes
  ///   none as long.
  [[nodiscard]] task<> publish(std::string subject, std::string body,
                               std::vector<field> fields = std::vector<field>());
  /// As publish(), and names the subject for answers.
  template <class Message = message>
    requires std::same_as<std::remove_cvref_t<Message>, message>
  [[nodiscard]] task<> publish(Message&& m) {
    heddle::detail::check_options<Message>();
    return publish_message(std::forward<Message>(m));
  }
  /// Asks for one answer. Put a time limit around it: with_timeout(c.request(...), 2s).
  /// Fails: connection_refused if the subject has no subscriber; connection_reset if the
  ///   connection was lost before the answer came: the question may have arrived or not.
  [[nodiscard]] task<message> request(std::string subject, std::string body,
                                      std::vector<field> fields = std::vector<field>());
  /// Waits until the server has everything that was published before.
  /// Fails: connection_reset if the connection was lost meanwhile: messages may be lost.
  [[nodiscard]] task<> flush();

  /// Subscribes from now on, also over later connections.
  /// Fails: throws failure(invalid_argument) for a pattern or group that is none, and
  ///   no_buffer_space beyond connection_options::subscriptions_max.
  [[nodiscard]] subscription subscribe(std::string pattern,
                                       subscribe_options with = subscribe_options());
  /// A subject that only this connection uses, for answers.
  [[nodiscard]] std::string new_inbox();

  [[nodiscard]] const connection_counters& counters() const noexcept;
  /// The server of this moment, "a.example:4222"; empty without a connection.
  [[nodiscard]] const std::string& server() const noexcept;

 private:
  friend class jetstream;
  [[nodiscard]] task<> publish_message(message m);
  std::shared_ptr<detail::connection_core> core_;
};

}  // namespace heddle::nats
