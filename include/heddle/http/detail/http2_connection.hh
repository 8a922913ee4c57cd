// SPDX-License-Identifier: MIT
// A connection of HTTP/2 (RFC 9113) as both of its ends have it: frames that arrive, streams,
// windows, settings, and the limits against floods. A role (a server's session, a client's link)
// derives from it and decides what a message means.
//
// The connection is in two parts: http2_rest is the state that an idle connection keeps; the other
// part exists while something happens.
//
// For the parts of the library that speak HTTP/2; not for programs: it may change in any version.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "heddle/base/detail/rate_budget.hh"
#include "heddle/http/detail/hpack.hh"
#include "heddle/http/detail/http2_fields.hh"
#include "heddle/http/detail/http2_frame.hh"
#include "heddle/http/detail/http2_output.hh"
#include "heddle/http/detail/http2_stream.hh"

namespace heddle::http {

/// Limits of an end. A peer that passes one of the last four ends its connection.
struct http2_bounds {
  std::uint32_t stream_window;      ///< bytes of a stream that were not read yet
  std::uint32_t connection_window;  ///< bytes of all streams together
  std::size_t header_block_bytes_max;
  std::uint32_t continuations_max;     ///< CONTINUATION frames of one header block
  std::uint32_t empty_frames_max;      ///< DATA frames without bytes, in a row
  std::uint32_t acknowledgements_max;  ///< PING and SETTINGS frames between two of our writes
};

/// The limits against floods, for a report about the one that was passed.
enum class http2_flood : std::uint8_t {
  none,
  header_block,
  continuations,
  empty_frames,
  pings,
  settings,
  glitches,
  resets,
};
/// The limit in words: "too many PING frames".
[[nodiscard]] std::string_view describe(http2_flood what) noexcept;

/// Why a stream ends with an error.
struct http2_fault {
  http2_error why;
  std::errc code;
  std::string_view text;  ///< names the frames: "a body before its head"
};
[[nodiscard]] inline http2_fault malformed(std::string_view text) noexcept {
  return {http2_error::protocol_error, std::errc::bad_message, text};
}

/// The state that an idle connection keeps.
struct http2_rest : http2_send_state {
  /// `text_bytes_max`: of one name or value in a header block.
  http2_rest(std::size_t text_bytes_max, rate_budget glitch_budget, rate_budget setting_budget)
      : decoder(4096, text_bytes_max), glitches(glitch_budget), settings(setting_budget) {}

  hpack_decoder decoder;
  rate_budget glitches;  // frames that do nothing
  rate_budget settings;  // frames of the peer, behind its first
  std::int64_t receive_window = http2_first_window;
  std::uint32_t to_give_back = 0;  // bytes of the window that were read, of which no frame told yet
  std::uint64_t late_allowed = 0;  // see http2_connection::allow_late()
  bool settings_seen = false;      // the peer's first
  bool own_settings_seen = false;  // the peer has acknowledged ours
};

/// Thread: the connection's color.
class http2_connection {
 public:
  http2_connection(const http2_connection&) = delete;
  http2_connection& operator=(const http2_connection&) = delete;

 protected:
  http2_connection(http2_rest& rest, http2_output& out, const http2_bounds& bounds,
                   const limits& head_bounds)
      : rest_(rest), out_(out), bounds_(bounds), head_bounds_(head_bounds) {}
  ~http2_connection() = default;

  // http2_connection.cc

  /// Reads the frames in these bytes. They continue a frame that the last call kept a part of.
  void take(std::string_view bytes);
  /// Whether a frame or a header block has begun and has not arrived whole.
  [[nodiscard]] bool has_part() const noexcept { return !carry_.empty() || block_stream_ != 0; }
  /// Whether a GOAWAY with an error was gathered: no frame is taken from here on.
  [[nodiscard]] bool has_failed() const noexcept { return failed_; }
  /// Counts PING and SETTINGS frames from 0 again: the answers to the earlier ones may leave.
  void forget_acknowledgements() noexcept { acknowledgements_ = 0; }
  /// Gathers our settings (the entries of a SETTINGS frame), and a window for the connection that
  /// lets several streams fill theirs.
  void greet(std::string_view settings);

  /// Ends the connection with GOAWAY.
  void fail(http2_error why, std::string_view what);
  /// Ends the connection with ENHANCE_YOUR_CALM, because the peer has passed this limit.
  void fail_flood(http2_flood what);
  /// Ends a stream with RST_STREAM, and calls on_fault().
  void reset_stream(std::uint32_t id, const http2_fault& because);

  /// Counts a frame that does nothing, or little.
  void count_glitch();
  /// Counts a frame that an honest peer may send for what we sent: an update of a window, or a
  /// frame of a stream that we have reset. It is a glitch only if there are more of these than
  /// allow_late() allowed.
  void count_late();
  void allow_late(std::uint64_t frames) noexcept { rest_.late_allowed += frames; }
  /// Allows the updates of windows that a peer may send for this much of a body, however small they
  /// are.
  void allow_late_for(std::size_t bytes) noexcept { allow_late(2 + bytes / 512); }

  /// Streams by number; a new one has the highest.
  void add(http2_stream& s);
  void remove(const http2_stream& s) noexcept;
  void remove_all() noexcept { streams_.clear(); }
  [[nodiscard]] http2_stream* find(std::uint32_t id) noexcept;
  [[nodiscard]] const std::vector<http2_stream*>& streams() const noexcept { return streams_; }

  /// Notes that bytes of a body have been read, so the peer may send that many more.
  void give_back(http2_stream& s, std::size_t bytes);
  /// Notes that bytes of a body are dropped, because no reader takes them, so the peer may send
  /// that many more.
  void give_back_unread(std::size_t bytes);

  static constexpr std::uint64_t late_for_stream = 4;  // a reset, a head, trailers, a window

  /// Ends a message: its last frame has come.
  void end_message(http2_stream& s);

  // Decisions of the role. Each function may end the connection or the stream.

  /// Whether no end has opened this stream. A frame of it is then an error, except HEADERS that may
  /// open it.
  [[nodiscard]] virtual bool is_idle(std::uint32_t id) const noexcept = 0;
  /// Whether the peer may send HEADERS with this number: of its own streams, or of ours that are
  /// open.
  [[nodiscard]] virtual bool may_begin(std::uint32_t id) const noexcept = 0;
  /// Whether the number is higher than that of each stream of the peer that we have taken.
  [[nodiscard]] virtual bool was_never_taken(std::uint32_t id) const noexcept = 0;
  /// The highest number of the peer's streams that we have taken, for GOAWAY.
  [[nodiscard]] virtual std::uint32_t last_taken() const noexcept = 0;
  /// Called for the head of a message; `s` is null if there is no such stream. Every block must be
  /// decoded.
  virtual void on_head(std::uint32_t id, http2_stream* s, std::string_view block, bool ends) = 0;
  /// Called when RST_STREAM was gathered; `s` is null if there is no such stream.
  virtual void on_fault(http2_stream* s, const http2_fault& because) = 0;
  /// Called when RST_STREAM has come; `s` is null if there is no such stream.
  virtual void on_reset(http2_stream* s, std::uint32_t code) = 0;
  virtual void on_goaway(std::uint32_t last, std::uint32_t code, std::string_view debug) = 0;
  /// Reads a setting that means something to this role alone. Gives its fault in words, or "".
  [[nodiscard]] virtual std::string_view on_setting(http2_setting name, std::uint32_t value) = 0;
  /// Called when all entries of a SETTINGS frame have been read.
  virtual void on_settings() = 0;
  virtual void on_ping_answer() = 0;
  virtual void on_priority(std::uint32_t id, std::string_view text) = 0;
  /// Called when the connection has failed. `flood` names the limit that the peer has passed, if
  /// any.
  virtual void on_failure(std::string_view what, http2_flood flood) = 0;

  http2_rest& rest_;
  http2_output& out_;
  const http2_bounds& bounds_;
  const limits& head_bounds_;

 private:
  /// Numbers of streams that we have reset lately: the peer may not know it yet, so its frames are
  /// dropped. Frames of other streams that are closed are errors.
  class reset_numbers {
   public:
    void add(std::uint32_t id) noexcept { ids_[count_++ % ids_.size()] = id; }
    /// Whether the number may be among them; also true if it is so old that no number is kept.
    [[nodiscard]] bool may_have(std::uint32_t id) const noexcept;

   private:
    std::array<std::uint32_t, 64> ids_{};
    std::size_t count_ = 0;
  };

  // http2_receive.cc: frames, each in its own function
  void take_frame(const http2_frame_head& head, std::string_view payload);
  void take_data(const http2_frame_head& head, std::string_view payload);
  void take_body(http2_stream& s, std::string_view bytes, std::size_t with_padding, bool ends);
  void take_headers(const http2_frame_head& head, std::string_view payload);
  void take_continuation(const http2_frame_head& head, std::string_view payload);
  void take_block(std::uint32_t id, std::string_view block, bool ends);
  void take_trailers(http2_stream& s, std::string_view block, bool ends);
  void take_priority(const http2_frame_head& head, std::string_view payload);
  void take_reset(const http2_frame_head& head, std::string_view payload);
  void take_settings(const http2_frame_head& head, std::string_view payload);
  void take_setting(http2_setting name, std::uint32_t value);
  void take_ping(const http2_frame_head& head, std::string_view payload);
  void take_goaway(const http2_frame_head& head, std::string_view payload);
  void take_window(const http2_frame_head& head, std::string_view payload);

  std::vector<http2_stream*> streams_;  // by number
  reset_numbers reset_by_us_;
  std::string carry_;  // a frame that has not arrived whole
  std::string block_;  // a header block that has not arrived whole
  std::uint32_t block_stream_ = 0;
  std::uint32_t continuations_ = 0;
  std::uint32_t acknowledgements_ = 0;  // gathered since forget_acknowledgements()
  bool block_ends_ = false;
  bool failed_ = false;
};

/// The name of an error of RFC 9113 section 7.
[[nodiscard]] std::string_view http2_error_name(std::uint32_t code) noexcept;

}  // namespace heddle::http
