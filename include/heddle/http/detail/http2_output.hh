// SPDX-License-Identifier: MIT
// Frames on their way out of an HTTP/2 connection. They are gathered and leave together; bodies
// enter only as far as the windows (RFC 9113 section 5.2) and the space for gathered frames allow,
// the most urgent stream first (RFC 9218). Of one urgency, streams that the peer said are not
// incremental go one after the other, before the others. All others take turns, so that a small
// body does not wait for a large one.
//
// For the parts of the library that speak HTTP/2; not for programs: it may change in any version.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "heddle/base/clock.hh"
#include "heddle/base/list.hh"
#include "heddle/core/scope.hh"
#include "heddle/http/detail/http2_frame.hh"
#include "heddle/io/stream.hh"
#include "heddle/sync/detail/wake_once.hh"

namespace heddle::http {

/// The place of a stream among others (RFC 9218 section 4). A stream whose peer said nothing about
/// it is sent side by side with others.
struct http2_priority {
  std::uint8_t urgency = 3;  ///< 0 is the most urgent
  bool incremental = true;
};
/// Reads a Priority field, such as "u=3, i".
[[nodiscard]] http2_priority read_priority(std::string_view text) noexcept;

/// The sending half of a stream.
struct http2_sender : list_node {
  std::uint32_t id = 0;
  std::uint32_t gathered = 0;  // bytes of bodies so far, modulo 2^32
  std::int64_t window = 0;
  http2_priority priority;
  wake_once turn;
};

/// The peer's limits, which a connection keeps also while nothing is sent.
struct http2_send_state {
  std::int64_t send_window = http2_first_window;
  std::uint32_t peer_stream_window = http2_first_window;
  std::uint32_t peer_frame_bytes_max = http2_frame_bytes_max;
};

/// Limits of an output, and where it counts.
struct http2_output_options {
  nanoseconds write_timeout;     ///< how long the peer may take no byte, of all or of one stream
  std::size_t output_bytes_max;  ///< gathered, before full()
  std::uint64_t& bytes;
  std::uint64_t& errors;
  std::uint64_t& write_timeouts;
};

/// Thread: the connection's color.
class http2_output {
 public:
  http2_output(http2_send_state& state, stream& conn, http2_output_options options)
      : state_(state), conn_(conn), options_(options) {}
  http2_output(const http2_output&) = delete;

  /// Writes run in this scope from here on, and `emptied` is called each time that all has been
  /// sent, and when the connection breaks. Before, frames are gathered only.
  void begin(scope& tasks, std::function<void()> emptied) {
    tasks_ = &tasks;
    emptied_ = std::move(emptied);
  }

  /// The frames are appended here; call flush() or flush_soon() afterwards.
  std::string gathered;

  /// Sends the gathered bytes: at once, or in a task of its own.
  void flush();
  /// Sends the gathered bytes when this turn of the queue ends, so that frames which other tasks
  /// gather in this turn leave with them.
  void flush_soon();

  /// Sends a part of a body, and the end of the stream behind it. False: the peer takes nothing
  /// for write_timeout, or the connection is broken.
  [[nodiscard]] task<bool> send(http2_sender& of, std::string_view bytes, bool ends);
  /// Sends as much of a body as can be gathered without a wait. True if that was all.
  [[nodiscard]] bool send_now(http2_sender& of, std::string_view& bytes, bool ends);

  /// Called when a window has grown: streams that wait may go on.
  void give_turns();

  [[nodiscard]] bool empty() const noexcept { return gathered.empty() && !writing_; }
  [[nodiscard]] bool full() const noexcept { return gathered.size() >= options_.output_bytes_max; }
  [[nodiscard]] bool broken() const noexcept { return broken_; }
  /// Whether it is broken because the peer took no byte for write_timeout.
  [[nodiscard]] bool timed_out() const noexcept { return timed_out_; }
  /// Stops sending: streams that wait are woken, and send() gives false.
  void shut() {
    broken_ = true;
    gathered.clear();
    give_turns();
    changed.wake();
  }
  /// Woken when something was sent, or the connection broke.
  wake_once changed;

 private:
  static constexpr std::size_t turn_bytes = http2_frame_bytes_max;
  static constexpr std::size_t bodies_bytes_max = 128 * 1024;  // gathered, before bodies wait

  [[nodiscard]] std::size_t room_for(const http2_sender& of) const noexcept;
  /// Whether a stream that waits and could send goes before this one.
  [[nodiscard]] bool preceded(const http2_sender& of) noexcept;
  /// Whether another stream waits that is sent side by side with this one.
  [[nodiscard]] bool shared_turn(const http2_sender& of) noexcept;
  void enter_line(http2_sender& s);
  void tell_changed() {
    changed.wake();
    if ((empty() || broken_) && emptied_) emptied_();
  }
  [[nodiscard]] static task<> write_all(http2_output& self);
  [[nodiscard]] static task<> flush_later(http2_output& self);
  void sent(std::size_t bytes);

  http2_send_state& state_;
  stream& conn_;
  http2_output_options options_;
  scope* tasks_ = nullptr;
  std::function<void()> emptied_;
  list<http2_sender> line_;          // senders that wait for a turn, the most urgent first
  http2_sender* turn_of_ = nullptr;  // the sender that was woken and has not run yet
  std::uint64_t moved_ = 0;          // bytes that have left
  bool writing_ = false;
  bool flush_due_ = false;
  bool broken_ = false;
  bool timed_out_ = false;
};

}  // namespace heddle::http
