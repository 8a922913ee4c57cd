// SPDX-License-Identifier: MIT
// Topics of a bus across machines: a raise in one program is a raise in the others too, at least
// once, also if servers, connections or programs end meanwhile. Arguments travel as XDR (RFC 4506),
// so they are numbers, texts, lists, or structs with a describe() (xdr/types.hh). (Rajagopalan and
// others, 2002, section 2: events whose handlers are in another process.)
//
//   struct ordered : topic<order> {};
//   nats::shared_topic<ordered> orders(b, connection, "shop.orders", {.name = "billing"});
//   side.spawn(orders.run());
//   b.raise<ordered>(cups);           // handlers here run now, those of other programs soon
//   co_await orders.settled();        // the servers have stored the raise
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "heddle/bus/bus.hh"
#include "heddle/nats/jetstream.hh"
#include "heddle/xdr/reader.hh"
#include "heddle/xdr/writer.hh"

namespace heddle::nats {

struct share_options {
  /// This program's name among the programs that share the topic: letters, digits, '-' and '_'. The
  /// program gets the raises from the time while it was away, and never its own raises. Programs
  /// with one name share the raises of others. Empty: it only tells others.
  std::string name = {};
  /// The stream that keeps the raises, made if it is missing. Empty: the subject, with '_' for '.'.
  std::string stream = {};
  unsigned replicas = 1;  ///< servers that store each raise: 1, 3 or 5
  /// Raises that no server has stored yet; beyond these, raise() throws no_buffer_space.
  std::size_t unstored_max = 65536;
  std::size_t unstored_bytes_max = std::size_t{64} << 20;
  std::size_t at_once = 64;  ///< raises on their way to the servers; with more, less order
  nanoseconds ack_wait = std::chrono::seconds(30);  ///< see pull_options
  /// After a handler has thrown, the raise comes again when this span has passed.
  nanoseconds raise_again = std::chrono::seconds(1);
  jetstream_options servers = {};
  /// Gets a line about each raise that came and could not be used. Empty: no lines.
  std::function<void(std::string_view)> log = {};
};

struct share_counters {
  std::uint64_t stored = 0;      ///< raised here, and stored by the servers
  std::uint64_t raised = 0;      ///< raised by others, and then here
  std::uint64_t again = 0;       ///< raises of others that came more than once
  std::uint64_t unreadable = 0;  ///< messages whose bytes are not the topic's arguments; dropped
};

namespace detail {

/// All of a shared topic that does not depend on its type.
class share_core {
 public:
  /// raise() reads the arguments and raises the topic; false if the bytes are none.
  share_core(connection& over, std::string subject, share_options options,
             std::function<bool(const std::string&)> raise);
  ~share_core();

  /// Called for each raise: queues it, unless it came from others.
  void raised(const std::function<std::string()>& encode);
  [[nodiscard]] task<> run();
  [[nodiscard]] task<> settled();
  [[nodiscard]] std::size_t unstored() const noexcept;
  [[nodiscard]] const share_counters& counters() const noexcept;

 private:
  struct parts;
  std::unique_ptr<parts> parts_;
};

[[nodiscard]] chain chain_of(const std::string& bytes);

}  // namespace detail

/// Thread: the color of the bus and of the connection, which is one. Bus and connection must
///   outlive it.
/// A raise is queued before the handlers of this program run, and they cannot stop it. It keeps
///   its order among raises of this program as long as no server fails.
/// A raise of others is acknowledged when raise() has returned, so handlers that are tasks have
///   begun and not ended. A handler that throws gets the raise again.
/// Cancel: run() ends; raises that are not stored stay queued, and the next run() sends them.
/// Fails: run() throws what jetstream does, timed_out for one; bus::raise() throws no_buffer_space.
template <copyable_topic T>
class shared_topic {
 public:
  shared_topic(bus& b, connection& over, std::string subject,
               share_options options = share_options())
      : bus_(b),
        core_(over, std::move(subject), std::move(options),
              [this](const std::string& bytes) { return read_and_raise(bytes); }),
        binding_(bind(typename T::signature())) {}
  shared_topic(const shared_topic&) = delete;
  shared_topic& operator=(const shared_topic&) = delete;
  ~shared_topic() { bus_.unbind(binding_); }

  /// Sends and receives until it is cancelled.
  [[nodiscard]] task<> run() { return core_.run(); }
  /// Waits until the servers have stored everything that was raised here before.
  [[nodiscard]] task<> settled() { return core_.settled(); }
  /// Raises that the servers have not stored.
  [[nodiscard]] std::size_t unstored() const noexcept { return core_.unstored(); }
  [[nodiscard]] const share_counters& counters() const noexcept { return core_.counters(); }

 private:
  using copies = typename T::signature::copies;

  /// The first of all handlers: it sees a raise before a handler raises the topic again.
  template <class R, class... Args>
  [[nodiscard]] binding bind(topic_signature<R, Args...>) {
    return bus_.bind<T>(
        [this](heddle::detail::pass_t<Args>... args) -> R {
          core_.raised([&]() -> std::string {
            xdr::writer out;
            (out.write(std::as_const(args)), ...);
            return out.take().to_string();
          });
          if constexpr (!std::is_void_v<R>) return flow::go_on;
        },
        std::numeric_limits<int>::min());
  }

  [[nodiscard]] bool read_and_raise(const std::string& bytes) {
    copies args;
    const chain all = detail::chain_of(bytes);
    xdr::reader in(all);
    const bool whole =
        std::apply([&](auto&... each) { return (in.read(each) && ...); }, args) && in.left() == 0;
    if (!whole) return false;
    std::apply([&](auto&... each) { static_cast<void>(bus_.template raise<T>(each...)); }, args);
    return true;
  }

  bus& bus_;
  detail::share_core core_;
  binding binding_;
};

}  // namespace heddle::nats
