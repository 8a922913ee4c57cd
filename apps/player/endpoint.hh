// SPDX-License-Identifier: MIT
// One side of a stream: a bus, the micro-protocols that were chosen, and what they share. It talks
// to the network through a queue of segments and a UDP socket.
#pragma once

#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <typeinfo>
#include <utility>
#include <vector>

#include "composition.hh"
#include "heddle/io/udp.hh"
#include "heddle/sync/channel.hh"
#include "heddle/sync/latch.hh"
#include "options.hh"
#include "player_bus.hh"
#include "times.hh"
#include "topics.hh"

namespace player {

/// Thread: one color. Owns: its micro-protocols, and not the bytes that are sent.
/// Cancel: end its tasks (carry_out, carry_in) before it goes.
///
///   endpoint e(options, session_id);
///   e.add(make_source(e, file));
///   tasks.spawn(e.carry_out(socket, peer)); tasks.spawn(e.carry_in(socket));
///   e.enter<session_opened>();
///   co_await e.closed.wait();
class endpoint {
 public:
  /// With the transport that options.protocols chooses.
  endpoint(const stream_options& o, std::uint32_t session);
  endpoint(const endpoint&) = delete;
  endpoint& operator=(const endpoint&) = delete;

  void add(std::unique_ptr<micro_protocol> p) { parts_.push_back(std::move(p)); }

  /// Sends what stands in the outbox, until it is cancelled; drops options.loss of it.
  [[nodiscard]] heddle::task<> carry_out(heddle::udp_socket socket, heddle::address peer);
  /// Raises segment_from_net for each datagram, until it is cancelled.
  [[nodiscard]] heddle::task<> carry_in(heddle::udp_socket socket);

  /// Raises T from outside of all raises; counts its time if options.times is set.
  template <class T, class... Us>
  auto enter(Us&&... args) -> typename T::signature::answer {
    const timed_raise timed(options.times ? &times : nullptr, typeid(T));
    return bus.raise<T>(std::forward<Us>(args)...);
  }
  /// Raises T later, by enter().
  template <class T>
  void post() {
    if (!options.times) return bus.post<T>();
    bind_later<T>();
    bus.post<later<T>>();
  }
  template <class T>
  [[nodiscard]] heddle::delayed after(heddle::nanoseconds span) {
    if (!options.times) return bus.after<T>(span);
    bind_later<T>();
    return bus.after<later<T>>(span);
  }

  const stream_options options;
  const std::uint32_t session;
  segment_pool segments;
  event_bus bus;
  heddle::channel<kept> outbox;
  heddle::latch closed{1};
  counters count;
  raise_times times;  ///< empty without options.times

  // What more than one micro-protocol needs to know.
  std::uint32_t held = 0;     ///< segments that wait for the window
  std::uint32_t unacked = 0;  ///< segments that may have to be sent again
  bool peer_ended = false;    ///< nothing will come any more
  bool sends_again = false;   ///< a segment that is missing may still come
  heddle::nanoseconds time_out = std::chrono::milliseconds(200);  ///< for an ack

 private:
  template <class T>
  struct later : heddle::topic<> {};
  template <class T>
  void enter_later() {
    enter<T>();
  }
  template <class T>
  void bind_later() {
    if (later_bound_.insert(typeid(T)).second) bus.bind<later<T>, &endpoint::enter_later<T>>(this);
  }

  std::set<std::type_index> later_bound_;
  std::vector<std::unique_ptr<micro_protocol>> parts_;
};

}  // namespace player
