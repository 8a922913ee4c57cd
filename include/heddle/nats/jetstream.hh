// SPDX-License-Identifier: MIT
// Messages that the servers keep until they were used: streams on as many servers as one asks for,
// and consumers that remember the acknowledged ones. After publish() has returned, a message is
// stored, and it is delivered at least once.
//
//   nats::jetstream kept(shop);
//   co_await kept.add_stream({.name = "ORDERS", .subjects = {"orders.>"}, .replicas = 3});
//   co_await kept.publish("orders.new", "12 cups", order_id);
//   nats::puller todo = co_await kept.pull("ORDERS", {.name = "billing"});
//   for (;;) { auto m = co_await todo.next(); bill(m.content().body); co_await m.ack(); }
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/core/detail/closure.hh"
#include "heddle/core/task.hh"
#include "heddle/nats/connection.hh"

namespace heddle::nats {

struct jetstream_options {
  /// A server that does not answer in this time is asked again; the second question can go to
  /// another server, because the connection is made anew if its server has gone.
  nanoseconds each_try = std::chrono::seconds(2);
  /// Then the call fails. Servers that are still coming together are asked again until then.
  nanoseconds all_tries = std::chrono::seconds(30);
  std::string prefix = "$JS.API";  ///< the beginning of the servers' own subjects
};

enum class stream_storage : std::uint8_t { file, memory };
enum class stream_retention : std::uint8_t {
  limits,     ///< until a limit of the stream
  interest,   ///< until each consumer has acknowledged it
  work_queue  ///< until it was acknowledged once
};

/// The settings of a stream. A number of 0 is no limit.
struct stream_config {
  std::string name;
  std::vector<std::string> subjects = {};
  unsigned replicas = 1;  ///< servers that store each message: 1, 3 or 5
  stream_storage storage = stream_storage::file;
  stream_retention retention = stream_retention::limits;
  nanoseconds age_max = nanoseconds::zero();
  std::uint64_t bytes_max = 0;
  std::uint64_t messages_max = 0;
  /// A second message with the same id within this time is dropped. More than
  /// jetstream_options::all_tries, or a repeated try could store a message twice.
  nanoseconds duplicate_window = std::chrono::minutes(2);
};

struct stream_state {
  std::uint64_t messages = 0;
  std::uint64_t bytes = 0;
  std::uint64_t first = 0;  ///< the number of the oldest message
  std::uint64_t last = 0;   ///< the number of the newest one
};

/// Where a message was stored.
struct stored {
  std::string stream;
  std::uint64_t sequence = 0;
  bool duplicate = false;  ///< a message with this id was there already
};

enum class start_at : std::uint8_t { all, new_only };

struct pull_options {
  std::string name;         ///< the consumer's; programs with one name share its messages
  std::string filter = {};  ///< only messages of this subject or pattern
  start_at from = start_at::all;
  /// A message that is not acknowledged in this time is delivered again.
  nanoseconds ack_wait = std::chrono::seconds(30);
  int deliveries_max = -1;  ///< the times that one message is delivered; -1: no limit
  std::uint32_t unacknowledged_max = 65536;  ///< delivered to all programs of this name
  std::uint32_t batch = 256;                 ///< messages asked for at once
};

/// A message of a stream, to be acknowledged.
///
/// Thread: the connection's color. It must not outlive the connection.
class delivered {
 public:
  delivered(message m, std::weak_ptr<detail::connection_core> of);

  [[nodiscard]] const message& content() const noexcept { return content_; }
  [[nodiscard]] std::uint64_t sequence() const noexcept { return sequence_; }  ///< in the stream
  [[nodiscard]] std::uint64_t deliveries() const noexcept { return deliveries_; }  ///< this one too

  /// The message was used. If the acknowledgement is lost, the message comes again.
  [[nodiscard]] task<> ack() const { return answer("+ACK"); }
  /// The message comes again, after this span.
  [[nodiscard]] task<> nak(nanoseconds after = nanoseconds::zero()) const;
  /// The message never comes again, although it was not used.
  [[nodiscard]] task<> drop() const { return answer("+TERM"); }
  /// More time: ack_wait begins anew.
  [[nodiscard]] task<> in_progress() const { return answer("+WPI"); }

 private:
  [[nodiscard]] task<> answer(std::string text) const;

  message content_;
  std::weak_ptr<detail::connection_core> of_;
  std::uint64_t sequence_ = 0;
  std::uint64_t deliveries_ = 0;
};

/// Takes the messages of a consumer, some at once, so that next() seldom waits for the network.
///
/// Thread: the connection's color. Cancel: next() leaves at once, and loses nothing.
class puller {
 public:
  puller(puller&&) noexcept;
  puller& operator=(puller&&) noexcept;
  ~puller();

  /// The next message. It asks again whenever the servers change.
  /// Fails: no_such_file_or_directory if the consumer or its stream was deleted.
  [[nodiscard]] task<delivered> next();

 private:
  friend class jetstream;
  struct state;
  explicit puller(std::unique_ptr<state> s) noexcept;
  std::unique_ptr<state> state_;
};

/// Thread: the connection's color. The connection must outlive it, and run.
/// Fails: every call throws failure. timed_out after jetstream_options::all_tries;
///   no_such_file_or_directory for a stream or consumer that is missing; file_exists for one with
///   other settings that cannot be changed; invalid_argument for what the server does not take.
class jetstream {
 public:
  explicit jetstream(connection& over, jetstream_options options = jetstream_options());

  /// Makes the stream, or gives an existing one these settings.
  template <class Config = stream_config>
    requires std::same_as<std::remove_cvref_t<Config>, stream_config>
  [[nodiscard]] task<> add_stream(Config&& with) {
    heddle::detail::check_options<Config>();
    return make_stream(std::forward<Config>(with));
  }
  [[nodiscard]] task<stream_state> state_of(std::string stream);
  [[nodiscard]] task<> delete_stream(std::string stream);

  /// Stores a message, and tries again until a server has said that it is stored. The id makes a
  /// repeated try harmless; without one, a message may be stored twice.
  [[nodiscard]] task<stored> publish(std::string subject, std::string body, std::string id,
                                     std::vector<field> fields = std::vector<field>());

  /// The consumer of this name, made if it is missing.
  template <class Options = pull_options>
    requires std::same_as<std::remove_cvref_t<Options>, pull_options>
  [[nodiscard]] task<puller> pull(std::string stream, Options&& with) {
    heddle::detail::check_options<Options>();
    return make_puller(std::move(stream), std::forward<Options>(with));
  }
  [[nodiscard]] task<> delete_consumer(std::string stream, std::string name);

 private:
  [[nodiscard]] task<> make_stream(stream_config with);
  [[nodiscard]] task<puller> make_puller(std::string stream, pull_options with);

  std::shared_ptr<detail::connection_core> core_;
  jetstream_options options_;
};

}  // namespace heddle::nats
