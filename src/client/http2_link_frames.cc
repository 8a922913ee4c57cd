// SPDX-License-Identifier: MIT
// The effect of each type of frame of a server (RFC 9113 section 6). Some errors end a stream,
// others the connection (section 5.4).
#include <algorithm>
#include <array>
#include <utility>

#include "client/http2_link.hh"
#include "heddle/http/http2_client_head.hh"
#include "heddle/http/problem.hh"

namespace heddle::http::detail {
namespace {

std::error_code bad_message() noexcept { return std::make_error_code(std::errc::bad_message); }

/// Text of a server for people: printable, and short.
std::string printed(std::string_view text) {
  constexpr std::size_t shown_max = 100;
  std::string shown(text.substr(0, shown_max));
  for (char& c : shown)
    if (c < ' ' || c > '~') c = '?';
  return shown;
}

}  // namespace

std::string_view http2_error_name(std::uint32_t code) noexcept {
  static constexpr std::array<std::string_view, 14> names = {"NO_ERROR",
                                                             "PROTOCOL_ERROR",
                                                             "INTERNAL_ERROR",
                                                             "FLOW_CONTROL_ERROR",
                                                             "SETTINGS_TIMEOUT",
                                                             "STREAM_CLOSED",
                                                             "FRAME_SIZE_ERROR",
                                                             "REFUSED_STREAM",
                                                             "CANCEL",
                                                             "COMPRESSION_ERROR",
                                                             "CONNECT_ERROR",
                                                             "ENHANCE_YOUR_CALM",
                                                             "INADEQUATE_SECURITY",
                                                             "HTTP_1_1_REQUIRED"};
  return code < names.size() ? names[code] : "an unknown error";
}

void http2_link::fail(http2_error why, std::string_view what) {
  if (trouble_) return;
  leaving_ = true;
  put_goaway(out_.gathered, 0, why, what);
  trouble_ = {bad_message(), "the server breaks the rules of HTTP/2: " + std::string(what)};
}

void http2_link::fail_limit(std::string_view what, std::string_view option) {
  if (trouble_) return;
  leaving_ = true;
  put_goaway(out_.gathered, 0, http2_error::enhance_your_calm, what);
  trouble_ = {
      std::make_error_code(std::errc::message_size),
      "the server sent " + std::string(what) + " (client_options::" + std::string(option) + ")"};
}

void http2_link::malformed(http2_stream& s, std::string_view what) {
  reset(s, http2_error::protocol_error, {bad_message(), "the server sent " + std::string(what)});
}

void http2_link::count_glitch() {
  if (!glitches_.take(worker::running().now))
    fail_limit("too many frames that do nothing", "http2.glitches_max");
}

void http2_link::count_late() {
  if (late_allowed_ == 0) return count_glitch();
  --late_allowed_;
}

void http2_link::take_frame(const http2_frame_head& head, std::string_view payload) {
  using enum http2_type;
  if (block_stream_ != 0 && (head.type != continuation || head.stream != block_stream_))
    return fail(http2_error::protocol_error, "a header block was not ended");
  if (!settings_seen_ && (head.type != settings || head.has(http2_flag::ack)))
    return fail(http2_error::protocol_error, "the first frame is no SETTINGS");
  switch (head.type) {
    case data:
      return take_data(head, payload);
    case headers:
      return take_headers(head, payload);
    case rst_stream:
      return take_reset(head, payload);
    case settings:
      return take_settings(head, payload);
    case push_promise:
      return fail(http2_error::protocol_error, "PUSH_PROMISE, which our settings forbid");
    case ping:
      return take_ping(head, payload);
    case goaway:
      return take_goaway(head, payload);
    case window_update:
      return take_window(head, payload);
    case continuation:
      return take_continuation(head, payload);
    case priority:
      if (head.stream == 0) return fail(http2_error::protocol_error, "PRIORITY on stream 0");
      if (payload.size() != 5) return fail(http2_error::frame_size_error, "a short PRIORITY");
      return count_glitch();
    case priority_update:
      return fail(http2_error::protocol_error, "PRIORITY_UPDATE of a server");
  }
  count_glitch();  // section 4.1: unknown types are ignored
}

void http2_link::take_data(const http2_frame_head& head, std::string_view payload) {
  if (head.stream % 2 == 0 || head.stream >= next_id_)
    return fail(http2_error::protocol_error, "DATA on a stream that is not open");
  const std::size_t size = payload.size();
  if (!take_padding(head, payload))
    return fail(http2_error::protocol_error, "more padding than payload");
  receive_window_ -= static_cast<std::int64_t>(size);
  if (receive_window_ < 0)
    return fail(http2_error::flow_control_error, "more DATA than the connection's window");
  http2_stream* const s = find(head.stream);
  if (s == nullptr || s->trouble) {  // it was reset, which the server may not have seen yet
    give_back_unread(size);
    return size == 0 ? count_late() : void();
  }
  if (s->server_ended) return fail(http2_error::stream_closed, "DATA behind the end of a stream");
  if (!s->has_head) return malformed(*s, "a body before the head of the answer");
  s->receive_window -= static_cast<std::int64_t>(size);
  if (s->receive_window < 0)
    return reset(*s, http2_error::flow_control_error,
                 {bad_message(), "the server sent more DATA than the stream's window"});
  const bool ends = head.has(http2_flag::end_stream);
  if (!payload.empty() || ends) {
    s->empty_frames = 0;
  } else if (++s->empty_frames > bounds_.empty_frames_max) {
    return fail_limit("too many empty DATA frames", "http2.empty_frames_max");
  }
  if (size != payload.size()) give_back(*s, size - payload.size());
  s->body_bytes += payload.size();
  if (s->bodyless && !payload.empty()) return malformed(*s, "a body where none is allowed");
  if (s->length && s->body_bytes > *s->length)
    return malformed(*s, "more of a body than its Content-Length");
  s->arrived.append(payload);
  if (ends) server_ended(*s);
  s->news.wake();
}

/// The last frame of an answer has come.
void http2_link::server_ended(http2_stream& s) {
  const std::uint64_t length = s.length.value_or(0);
  if (s.body_bytes < length)
    return reset(s, http2_error::protocol_error,
                 {std::make_error_code(std::errc::connection_reset),
                  "the stream ended " + std::to_string(length - s.body_bytes) +
                      " bytes before the end of its body"});
  s.server_ended = true;
  s.news.wake();
}

void http2_link::take_headers(const http2_frame_head& head, std::string_view payload) {
  if (head.stream % 2 == 0 || head.stream >= next_id_)
    return fail(http2_error::protocol_error, "HEADERS on a stream that is not open");
  if (!take_padding(head, payload))
    return fail(http2_error::protocol_error, "more padding than payload");
  if (head.has(http2_flag::priority)) {
    if (payload.size() < 5) return fail(http2_error::frame_size_error, "a short HEADERS");
    payload.remove_prefix(5);
  }
  const bool ends = head.has(http2_flag::end_stream);
  if (head.has(http2_flag::end_headers)) return take_header_block(head.stream, payload, ends);
  block_stream_ = head.stream;
  block_ends_ = ends;
  block_.assign(payload);
  continuations_ = 0;
}

void http2_link::take_continuation(const http2_frame_head& head, std::string_view payload) {
  if (block_stream_ == 0)
    return fail(http2_error::protocol_error, "CONTINUATION without a header block");
  if (++continuations_ > bounds_.continuations_max)
    return fail_limit("too many CONTINUATION frames", "http2.continuations_max");
  if (block_.size() + payload.size() > bounds_.header_block_bytes_max)
    return fail_limit("a header block that is too large", "http2.header_block_bytes_max");
  block_.append(payload);
  if (!head.has(http2_flag::end_headers)) return;
  const std::string block = std::exchange(block_, {});
  take_header_block(std::exchange(block_stream_, 0), block, block_ends_);
}

void http2_link::take_header_block(std::uint32_t id, std::string_view block, bool ends) {
  http2_stream* const s = find(id);
  if (s != nullptr && !s->trouble && !s->server_ended) {
    s->heard = true;
    if (s->has_head) return take_trailers(*s, block, ends);
    return take_head(*s, block, ends);
  }
  // Of a stream that was reset. The decoder's table must follow all the same.
  const auto any = [](const hpack_pair&) { return true; };
  if (read_http2_fields(decoder_, block, options_->bounds, any, any) == http2_block::broken)
    return fail(http2_error::compression_error, "a header block cannot be decoded");
  if (s != nullptr && s->server_ended)
    return fail(http2_error::stream_closed, "HEADERS behind the end of a stream");
  count_late();
}

void http2_link::take_head(http2_stream& s, std::string_view block, bool ends) {
  problem why = problem::none;
  const http2_block what = read_http2_answer(decoder_, block, options_->bounds, ends, s.head, why);
  switch (what) {
    case http2_block::broken:
      return fail(http2_error::compression_error, "a header block cannot be decoded");
    case http2_block::too_large:
      return reset(s, http2_error::cancel,
                   {std::make_error_code(std::errc::message_size),
                    "the server sent a bad head: " + std::string(describe(why))});
    case http2_block::malformed:
      return malformed(s, "a bad head: " + std::string(describe(why)));
    case http2_block::good:
      break;
  }
  if (s.head.informational()) {
    if (ends) return malformed(s, "an informational answer that ends its stream");
    if (++s.informational > options_->informational_max)
      reset(s, http2_error::cancel,
            {std::make_error_code(std::errc::message_size),
             "the server sent too many informational answers "
             "(client_options::informational_max)"});
    return;
  }
  s.has_head = true;
  const bool named = s.head.has("content-length") && !s.tunnel;
  s.bodyless = s.bodyless || (!ends && s.head.body(method::get) == answer_body::none);
  if (named && !s.bodyless && s.head.status() != 304) s.length = s.head.content_length();
  if (ends) server_ended(s);
  s.news.wake();
}

void http2_link::take_trailers(http2_stream& s, std::string_view block, bool ends) {
  const http2_block what = read_http2_trailers(decoder_, block, options_->bounds, s.trailers);
  if (what == http2_block::broken)
    return fail(http2_error::compression_error, "a header block cannot be decoded");
  if (what == http2_block::too_large)
    return reset(s, http2_error::cancel,
                 {std::make_error_code(std::errc::message_size),
                  "the server sent trailers beyond client_options::bounds"});
  if (what == http2_block::malformed || !ends) return malformed(s, "bad trailers");
  server_ended(s);
}

void http2_link::take_reset(const http2_frame_head& head, std::string_view payload) {
  if (payload.size() != 4) return fail(http2_error::frame_size_error, "RST_STREAM has four bytes");
  if (head.stream % 2 == 0 || head.stream >= next_id_)
    return fail(http2_error::protocol_error, "RST_STREAM on a stream that is not open");
  count_late();
  http2_stream* const s = find(head.stream);
  if (s == nullptr || s->trouble) return;
  const std::uint32_t code = http2_number(payload);
  const auto why = static_cast<http2_error>(code);
  s->client_ended = true;  // section 8.1: the server may need no more of the request
  const bool refused = why == http2_error::refused_stream && !s->heard;
  const bool other = why == http2_error::http_1_1_required && !s->heard;
  if (!refused && !other) s->heard = true;
  end_stream(*s, {std::make_error_code(std::errc::connection_reset),
                  "the server reset the stream (" + std::string(http2_error_name(code)) + ")",
                  refused || other, other});
}

void http2_link::take_settings(const http2_frame_head& head, std::string_view payload) {
  if (head.stream != 0) return fail(http2_error::protocol_error, "SETTINGS on a stream");
  if (head.has(http2_flag::ack)) {
    if (!payload.empty())
      return fail(http2_error::frame_size_error, "an acknowledgement has no payload");
    if (std::exchange(our_settings_seen_, true)) count_glitch();
    return;
  }
  if (payload.size() % 6 != 0) return fail(http2_error::frame_size_error, "half a setting");
  constexpr std::size_t entries_max = 32;
  if (payload.size() / 6 > entries_max || !settings_.take(worker::running().now) ||
      ++acknowledgements_ > bounds_.acknowledgements_max)
    return fail_limit("too many settings", "http2.settings_max");
  for (; !payload.empty() && !trouble_; payload.remove_prefix(6))
    take_setting(static_cast<http2_setting>(static_cast<unsigned char>(payload[0]) << 8 |
                                            static_cast<unsigned char>(payload[1])),
                 http2_number(payload.substr(2)));
  if (trouble_) return;
  put_http2_head(out_.gathered, 0, http2_type::settings, http2_flag::ack, 0);
  if (!std::exchange(settings_seen_, true))
    for (const event<>& each : std::exchange(wait_for_settings_, {})) each.trigger();
  out_.give_turns();
}

void http2_link::take_setting(http2_setting name, std::uint32_t value) {
  switch (name) {
    case http2_setting::enable_push:
      if (value != 0) fail(http2_error::protocol_error, "ENABLE_PUSH of a server is 0");
      return;
    case http2_setting::max_concurrent_streams:
      return allow_streams(value);
    case http2_setting::max_frame_size:
      if (value < http2_frame_bytes_max || value > 0xffffff)
        return fail(http2_error::protocol_error, "MAX_FRAME_SIZE is out of range");
      state_.peer_frame_bytes_max = value;
      return;
    case http2_setting::initial_window_size: {
      if (value > http2_window_max)
        return fail(http2_error::flow_control_error, "INITIAL_WINDOW_SIZE is out of range");
      const std::int64_t more = std::int64_t{value} - state_.peer_stream_window;
      state_.peer_stream_window = value;
      for (const auto& s : streams_) {
        s->sender.window += more;
        if (s->sender.window > http2_window_max)
          return fail(http2_error::flow_control_error, "a stream's window is too large");
      }
      return;
    }
    case http2_setting::enable_connect_protocol:
      if (value > 1 || (extended_connect_ && value == 0))
        return fail(http2_error::protocol_error, "ENABLE_CONNECT_PROTOCOL is 0 or 1, and stays 1");
      extended_connect_ = value == 1;
      return;
    default:
      return;  // section 6.5.2: unknown ones are ignored; our encoder needs no table
  }
}

void http2_link::take_ping(const http2_frame_head& head, std::string_view payload) {
  if (head.stream != 0) return fail(http2_error::protocol_error, "PING on a stream");
  if (payload.size() != 8) return fail(http2_error::frame_size_error, "PING has eight bytes");
  if (head.has(http2_flag::ack)) {
    if (pings_out_ == 0) return count_glitch();
    --pings_out_;
    return;
  }
  if (++acknowledgements_ > bounds_.acknowledgements_max)
    return fail_limit("too many PING frames", "http2.acknowledgements_max");
  put_http2_head(out_.gathered, 8, http2_type::ping, http2_flag::ack, 0);
  out_.gathered.append(payload);
  count_glitch();
}

void http2_link::take_goaway(const http2_frame_head& head, std::string_view payload) {
  if (head.stream != 0) return fail(http2_error::protocol_error, "GOAWAY on a stream");
  if (payload.size() < 8) return fail(http2_error::frame_size_error, "a short GOAWAY");
  const std::uint32_t last = http2_number(payload) & 0x7fffffffu;
  const std::uint32_t code = http2_number(payload.substr(4));
  goodbye_ = " (" + std::string(http2_error_name(code));
  if (payload.size() > 8) goodbye_ += ": " + printed(payload.substr(8));
  goodbye_ += ")";
  count_glitch();
  leaving_ = true;
  const std::vector<std::shared_ptr<http2_stream>> open = streams_;
  for (const auto& s : open)
    if (s->id() > last)
      end_stream(*s, {std::make_error_code(std::errc::connection_reset),
                      "the server did not take the request" + goodbye_, !s->heard});
  gone.cancel();
}

void http2_link::take_window(const http2_frame_head& head, std::string_view payload) {
  if (payload.size() != 4)
    return fail(http2_error::frame_size_error, "WINDOW_UPDATE has four bytes");
  const std::uint32_t more = http2_number(payload) & 0x7fffffffu;
  count_late();
  if (head.stream == 0) {
    if (more == 0) return fail(http2_error::protocol_error, "a window grows by nothing");
    state_.send_window += more;
    if (state_.send_window > http2_window_max)
      return fail(http2_error::flow_control_error, "the connection's window is too large");
    return out_.give_turns();
  }
  if (head.stream % 2 == 0 || head.stream >= next_id_)
    return fail(http2_error::protocol_error, "WINDOW_UPDATE on a stream that is not open");
  http2_stream* const s = find(head.stream);
  if (s == nullptr || s->trouble) return;
  if (more == 0) return malformed(*s, "a WINDOW_UPDATE by nothing");
  s->sender.window += more;
  if (s->sender.window > http2_window_max)
    return reset(*s, http2_error::flow_control_error,
                 {bad_message(), "the server sent a window that is too large"});
  out_.give_turns();
}

}  // namespace heddle::http::detail
