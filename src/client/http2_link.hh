// SPDX-License-Identifier: MIT
// A connection of HTTP/2 as a client has it (RFC 9113): many requests at once, each a stream. One
// task reads frames as long as the connection lives; requests write their frames into its output.
//
// States: open -> leaving (no new streams: the server or the pool said so, or numbers have run out)
// -> over (the connection is closed, and every stream has ended).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/http2_stream.hh"
#include "heddle/client/options.hh"
#include "heddle/core/scope.hh"
#include "heddle/http/hpack.hh"
#include "heddle/http/http2_fields.hh"
#include "heddle/http/http2_output.hh"
#include "heddle/http/rate_budget.hh"
#include "heddle/io/stream.hh"

namespace heddle::http::detail {

/// Thread: the client's color. Owns: the connection. Streams are shared with their exchanges.
class http2_link : public std::enable_shared_from_this<http2_link> {
 public:
  http2_link(stream on, std::shared_ptr<const client_options> options);
  http2_link(const http2_link&) = delete;

  /// Reads until the connection is over, then calls `ended`. `changed` is called when it becomes
  /// used or unused.
  [[nodiscard]] static task<> run(std::shared_ptr<http2_link> self);
  std::function<void()> changed;
  std::function<void()> ended;

  /// New streams may be opened: take a permit first.
  [[nodiscard]] bool takes_requests() const noexcept {
    return !leaving_ && !over_ && next_id_ < last_id_possible;
  }
  /// One for each stream that may be open. When `gone` is cancelled, none will be given any more.
  semaphore permits;
  cancel_source gone;

  /// Opens a stream, which must have a permit, with this header block.
  void open(const std::shared_ptr<http2_stream>& s, std::string_view block, bool ends);
  /// The exchange needs it no more: if one half has not ended, the stream is reset.
  void release(http2_stream& s) noexcept;
  /// Ends a stream with an error code that is sent to the server.
  void reset(http2_stream& s, http2_error why, http2_trouble because);
  /// Sends a part of a body. False: the server takes nothing for client_timeouts::transfer, the
  /// stream has ended, or the connection has.
  [[nodiscard]] task<bool> send(http2_stream& s, std::string_view bytes, bool ends);
  /// As much of it as can be gathered without a wait; true: all of it.
  [[nodiscard]] bool send_now(http2_stream& s, std::string_view& bytes, bool ends);
  /// Bytes of a body have been read: the server may send as many more.
  void give_back(http2_stream& s, std::size_t bytes);
  /// Waits for the server's first SETTINGS. False: the connection is over.
  [[nodiscard]] task<bool> settled(time_point due);
  /// The server takes an extended CONNECT (RFC 8441).
  [[nodiscard]] bool extended_connect() const noexcept { return extended_connect_; }

  /// No new streams; the connection ends when those that are open have. `at_once`: then it is
  /// closed without a wait for the last frames to leave.
  void leave(bool at_once = false) noexcept;
  [[nodiscard]] bool unused() const noexcept { return streams_.empty(); }
  [[nodiscard]] bool over() const noexcept { return over_; }
  /// Bytes for a window, or others, are to be sent.
  void flush_soon() { out_.flush_soon(); }
  [[nodiscard]] const stream& connection() const noexcept { return conn_; }

 private:
  static constexpr std::uint32_t last_id_possible = 0x7ffffffe;

  // http2_link.cc
  [[nodiscard]] static task<> talk(scope& tasks, http2_link& self);
  [[nodiscard]] task<> read_all();
  [[nodiscard]] task<> wait_for_bytes();
  [[nodiscard]] task<> say_goodbye();
  [[nodiscard]] time_point next_look(time_point now) const noexcept;
  void close_unused() noexcept;
  void end_streams();
  void greet();
  void take(std::string_view bytes);
  void nudge() noexcept;
  [[nodiscard]] http2_stream* find(std::uint32_t id) noexcept;
  [[nodiscard]] std::shared_ptr<http2_stream> forget(std::uint32_t id) noexcept;
  void give_back_unread(std::size_t bytes);
  void allow_streams(std::uint32_t most);

  // http2_link_frames.cc: frames, each in its own function
  void take_frame(const http2_frame_head& head, std::string_view payload);
  void take_data(const http2_frame_head& head, std::string_view payload);
  void take_headers(const http2_frame_head& head, std::string_view payload);
  void take_continuation(const http2_frame_head& head, std::string_view payload);
  void take_header_block(std::uint32_t id, std::string_view block, bool ends);
  void take_head(http2_stream& s, std::string_view block, bool ends);
  void take_trailers(http2_stream& s, std::string_view block, bool ends);
  void take_reset(const http2_frame_head& head, std::string_view payload);
  void take_settings(const http2_frame_head& head, std::string_view payload);
  void take_setting(http2_setting name, std::uint32_t value);
  void take_ping(const http2_frame_head& head, std::string_view payload);
  void take_goaway(const http2_frame_head& head, std::string_view payload);
  void take_window(const http2_frame_head& head, std::string_view payload);
  void server_ended(http2_stream& s);
  /// A frame that does nothing, or little.
  void count_glitch();
  /// The same for one that an honest server sends for what we sent: windows, resets, and frames of
  /// streams that we have reset.
  void count_late();

  // Errors. fail() ends the connection, the others a stream.
  void fail(http2_error why, std::string_view what);
  void fail_limit(std::string_view what, std::string_view option);
  void malformed(http2_stream& s, std::string_view what);
  void end_stream(http2_stream& s, http2_trouble because);

  stream conn_;
  std::shared_ptr<const client_options> options_;
  const client_http2& bounds_;
  http2_send_state state_;
  std::uint64_t sent_bytes_ = 0, send_errors_ = 0, write_timeouts_ = 0;
  http2_output out_;
  hpack_decoder decoder_;
  rate_budget glitches_;
  rate_budget settings_;
  std::vector<std::shared_ptr<http2_stream>> streams_;  // by number
  std::vector<gate::hold> withheld_;                    // permits that the server does not allow
  std::uint32_t to_withhold_ = 0;                       // further ones, which are in use
  std::uint32_t allowed_;                               // streams at once
  std::uint32_t next_id_ = 1;
  std::int64_t receive_window_ = http2_first_window;
  std::uint32_t to_give_back_ = 0;
  std::string carry_;  // a frame that has not arrived whole
  std::string block_;  // a header block that has not
  std::uint32_t block_stream_ = 0;
  std::uint32_t continuations_ = 0;
  std::uint64_t late_allowed_ = 0;        // see count_late()
  std::uint32_t acknowledgements_ = 0;    // gathered since the last flush
  std::optional<http2_trouble> trouble_;  // of the connection
  std::string goodbye_;                   // of the server, in words
  std::optional<cancel_source> waiting_;  // for bytes
  std::vector<event<>> wait_for_settings_;
  time_point last_heard_{};
  time_point unused_since_{};
  time_point pinged_at_{};
  std::uint32_t pings_out_ = 0;  // that were not answered yet
  bool pinged_ = false;          // and nothing has come since
  bool block_ends_ = false;
  bool settings_seen_ = false;
  bool our_settings_seen_ = false;  // acknowledged
  bool extended_connect_ = false;
  bool leaving_ = false;
  bool at_once_ = false;
  bool over_ = false;
};

/// The name of an error of RFC 9113 section 7.
[[nodiscard]] std::string_view http2_error_name(std::uint32_t code) noexcept;

}  // namespace heddle::http::detail
