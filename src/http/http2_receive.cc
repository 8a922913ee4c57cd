// SPDX-License-Identifier: MIT
// The effect of each type of frame (RFC 9113 section 6), for both ends of a connection. Some errors
// end a stream, others the connection (section 5.4).
#include <utility>

#include "heddle/base/sometimes.hh"
#include "heddle/core/worker.hh"
#include "heddle/http/detail/http2_connection.hh"

namespace heddle::http {
namespace {

constexpr std::uint32_t number_mask = 0x7fffffff;  // the highest bit is reserved
constexpr std::size_t settings_max = 32;           // entries of one frame
constexpr std::uint32_t small_update = 1024;  // the least update of a window that nothing waits for
constexpr std::uint32_t frame_size_max = 0xffffff;

}  // namespace

void http2_connection::take_frame(const http2_frame_head& head, std::string_view payload) {
  using enum http2_type;
  if (block_stream_ != 0 && (head.type != continuation || head.stream != block_stream_))
    return fail(http2_error::protocol_error, "a header block was not ended");
  if (!rest_.settings_seen && (head.type != settings || head.has(http2_flag::ack)))
    return fail(http2_error::protocol_error, "the first frame is no SETTINGS");
  switch (head.type) {
    case data:
      return take_data(head, payload);
    case headers:
      return take_headers(head, payload);
    case priority:
      return take_priority(head, payload);
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
    case priority_update:
      if (head.stream != 0) return fail(http2_error::protocol_error, "PRIORITY_UPDATE on a stream");
      if (payload.size() < 4) return fail(http2_error::frame_size_error, "a short PRIORITY_UPDATE");
      on_priority(http2_number(payload) & number_mask, payload.substr(4));
      return count_glitch();
  }
  count_glitch();  // section 4.1: unknown types are ignored
}

void http2_connection::take_data(const http2_frame_head& head, std::string_view payload) {
  if (is_idle(head.stream))
    return fail(http2_error::protocol_error, "DATA on a stream that is not open");
  const std::size_t size = payload.size();
  if (!take_padding(head, payload))
    return fail(http2_error::protocol_error, "more padding than payload");
  rest_.receive_window -= static_cast<std::int64_t>(size);
  if (rest_.receive_window < 0)
    return fail(http2_error::flow_control_error, "more DATA than the connection's window");
  http2_stream* const s = find(head.stream);
  if (s != nullptr && !s->is_over())
    return take_body(*s, payload, size, head.has(http2_flag::end_stream));
  give_back_unread(size);
  if ((s != nullptr && s->is_reset()) || reset_by_us_.may_have(head.stream)) {
    if (size == 0) count_late();
    return;
  }
  if (was_never_taken(head.stream)) return;  // section 6.8: it came behind our GOAWAY
  reset_stream(head.stream, {http2_error::stream_closed, std::errc::bad_message,
                             "DATA behind the end of a stream"});
}

void http2_connection::take_body(http2_stream& s, std::string_view bytes, std::size_t with_padding,
                                 bool ends) {
  if (!s.has_head) return reset_stream(s.id(), malformed("a body before the head"));
  s.receive_window -= static_cast<std::int64_t>(with_padding);
  if (s.receive_window < 0)
    return reset_stream(s.id(), {http2_error::flow_control_error, std::errc::bad_message,
                                 "more DATA than the stream's window"});
  if (!bytes.empty() || ends) {
    s.empty_frames = 0;
  } else if (++s.empty_frames > bounds_.empty_frames_max) {
    return fail_flood(http2_flood::empty_frames);
  }
  s.body_bytes += bytes.size();
  if (s.length && s.body_bytes > *s.length)
    return reset_stream(s.id(), malformed(*s.length == 0 ? "a body where none is allowed"
                                                         : "more of a body than its length"));
  if (with_padding != bytes.size()) give_back(s, with_padding - bytes.size());
  s.arrived.append(bytes);
  if (ends) end_message(s);
  s.news.wake();
}

void http2_connection::end_message(http2_stream& s) {
  if (s.length && s.body_bytes < *s.length)
    return reset_stream(s.id(), {http2_error::protocol_error, std::errc::connection_reset,
                                 "less of a body than its length"});
  s.end_remote();
}

void http2_connection::take_headers(const http2_frame_head& head, std::string_view payload) {
  if (!may_begin(head.stream))
    return fail(http2_error::protocol_error, "HEADERS on a stream that the peer may not open");
  if (!take_padding(head, payload))
    return fail(http2_error::protocol_error, "more padding than payload");
  if (head.has(http2_flag::priority)) {
    if (payload.size() < 5) return fail(http2_error::frame_size_error, "a short HEADERS");
    if ((http2_number(payload) & number_mask) == head.stream)
      return fail(http2_error::protocol_error, "a stream depends on itself");
    payload.remove_prefix(5);
  }
  const bool ends = head.has(http2_flag::end_stream);
  if (head.has(http2_flag::end_headers)) return take_block(head.stream, payload, ends);
  block_stream_ = head.stream;
  block_ends_ = ends;
  block_.assign(payload);
  continuations_ = 0;
}

void http2_connection::take_continuation(const http2_frame_head& head, std::string_view payload) {
  if (block_stream_ == 0)
    return fail(http2_error::protocol_error, "CONTINUATION without a header block");
  if (++continuations_ > bounds_.continuations_max) return fail_flood(http2_flood::continuations);
  if (block_.size() + payload.size() > bounds_.header_block_bytes_max)
    return fail_flood(http2_flood::header_block);
  block_.append(payload);
  if (!head.has(http2_flag::end_headers)) return;
  const std::string block = std::exchange(block_, {});
  take_block(std::exchange(block_stream_, 0), block, block_ends_);
}

void http2_connection::take_block(std::uint32_t id, std::string_view block, bool ends) {
  http2_stream* const s = find(id);
  if (s != nullptr && !s->is_over())
    return s->has_head ? take_trailers(*s, block, ends) : on_head(id, s, block, ends);
  if (s == nullptr && was_never_taken(id)) return on_head(id, nullptr, block, ends);
  // The decoder's table must follow also where the fields mean nothing any more.
  const auto any = [](const hpack_pair&) { return true; };
  if (read_http2_fields(rest_.decoder, block, head_bounds_, any, any) == http2_block::broken)
    return fail(http2_error::compression_error, "a header block cannot be decoded");
  if ((s != nullptr && s->is_reset()) || reset_by_us_.may_have(id)) {
    HEDDLE_SOMETIMES("a head comes for a stream that was reset");
    return count_late();
  }
  if (s == nullptr) return fail(http2_error::stream_closed, "HEADERS on a stream that is closed");
  reset_stream(id, {http2_error::stream_closed, std::errc::bad_message,
                    "HEADERS behind the end of a stream"});
}

void http2_connection::take_trailers(http2_stream& s, std::string_view block, bool ends) {
  switch (read_http2_trailers(rest_.decoder, block, head_bounds_, s.trailers)) {
    case http2_block::broken:
      return fail(http2_error::compression_error, "a header block cannot be decoded");
    case http2_block::too_large:
      return reset_stream(
          s.id(), {http2_error::cancel, std::errc::message_size, "trailers that are too large"});
    case http2_block::malformed:
      return reset_stream(s.id(), malformed("bad trailers"));
    case http2_block::good:
      break;
  }
  if (!ends) return reset_stream(s.id(), malformed("bad trailers"));
  end_message(s);
}

/// RFC 9113 deprecates this signal; its form is checked all the same.
void http2_connection::take_priority(const http2_frame_head& head, std::string_view payload) {
  if (head.stream == 0) return fail(http2_error::protocol_error, "PRIORITY on stream 0");
  if (payload.size() != 5)
    return reset_stream(head.stream,
                        {http2_error::frame_size_error, std::errc::bad_message, "a bad PRIORITY"});
  if ((http2_number(payload) & number_mask) == head.stream)
    return reset_stream(head.stream, malformed("a stream that depends on itself"));
  count_glitch();
}

void http2_connection::take_reset(const http2_frame_head& head, std::string_view payload) {
  if (payload.size() != 4) return fail(http2_error::frame_size_error, "RST_STREAM has four bytes");
  if (is_idle(head.stream))
    return fail(http2_error::protocol_error, "RST_STREAM on a stream that is not open");
  http2_stream* const s = find(head.stream);
  if (s != nullptr && s->has_head) HEDDLE_SOMETIMES("a peer resets a stream behind its head");
  if (s != nullptr && !s->is_reset()) s->end_by_reset();
  on_reset(s, http2_number(payload));
}

void http2_connection::take_settings(const http2_frame_head& head, std::string_view payload) {
  if (head.stream != 0) return fail(http2_error::protocol_error, "SETTINGS on a stream");
  if (head.has(http2_flag::ack)) {
    if (!payload.empty())
      return fail(http2_error::frame_size_error, "an acknowledgement has no payload");
    if (std::exchange(rest_.own_settings_seen, true)) count_glitch();
    return;
  }
  if (payload.size() % 6 != 0) return fail(http2_error::frame_size_error, "half a setting");
  const bool first = !std::exchange(rest_.settings_seen, true);
  if (payload.size() / 6 > settings_max ||
      (!first && !rest_.settings.take(worker::running().now)) ||
      ++acknowledgements_ > bounds_.acknowledgements_max)
    return fail_flood(http2_flood::settings);
  for (; !payload.empty() && !failed_; payload.remove_prefix(6))
    take_setting(static_cast<http2_setting>(static_cast<unsigned char>(payload[0]) << 8 |
                                            static_cast<unsigned char>(payload[1])),
                 http2_number(payload.substr(2)));
  if (failed_) return;
  put_http2_head(out_.gathered, 0, http2_type::settings, http2_flag::ack, 0);
  on_settings();
  out_.give_turns();
}

void http2_connection::take_setting(http2_setting name, std::uint32_t value) {
  if (name == http2_setting::max_frame_size) {
    if (value < http2_frame_bytes_max || value > frame_size_max)
      return fail(http2_error::protocol_error, "MAX_FRAME_SIZE is out of range");
    rest_.peer_frame_bytes_max = value;
  } else if (name == http2_setting::initial_window_size) {
    if (value > http2_window_max)
      return fail(http2_error::flow_control_error, "INITIAL_WINDOW_SIZE is out of range");
    const std::int64_t more = std::int64_t{value} - rest_.peer_stream_window;
    rest_.peer_stream_window = value;
    for (http2_stream* const s : streams_) {
      s->sender.window += more;
      if (s->sender.window > http2_window_max)
        return fail(http2_error::flow_control_error, "a stream's window is too large");
    }
  } else if (const std::string_view wrong = on_setting(name, value); !wrong.empty()) {
    fail(http2_error::protocol_error, wrong);
  }  // section 6.5.2: unknown ones are ignored; our encoder needs no table
}

void http2_connection::take_ping(const http2_frame_head& head, std::string_view payload) {
  if (head.stream != 0) return fail(http2_error::protocol_error, "PING on a stream");
  if (payload.size() != 8) return fail(http2_error::frame_size_error, "PING has eight bytes");
  if (head.has(http2_flag::ack)) return on_ping_answer();
  if (++acknowledgements_ > bounds_.acknowledgements_max) return fail_flood(http2_flood::pings);
  put_http2_head(out_.gathered, 8, http2_type::ping, http2_flag::ack, 0);
  out_.gathered.append(payload);
  count_glitch();
}

void http2_connection::take_goaway(const http2_frame_head& head, std::string_view payload) {
  if (head.stream != 0) return fail(http2_error::protocol_error, "GOAWAY on a stream");
  if (payload.size() < 8) return fail(http2_error::frame_size_error, "a short GOAWAY");
  count_glitch();
  on_goaway(http2_number(payload) & number_mask, http2_number(payload.substr(4)),
            payload.substr(8));
}

void http2_connection::take_window(const http2_frame_head& head, std::string_view payload) {
  if (payload.size() != 4)
    return fail(http2_error::frame_size_error, "WINDOW_UPDATE has four bytes");
  const std::uint32_t more = http2_number(payload) & number_mask;
  if (head.stream == 0) {
    if (more == 0) return fail(http2_error::protocol_error, "a window grows by nothing");
    rest_.send_window += more;
    if (rest_.send_window > http2_window_max)
      return fail(http2_error::flow_control_error, "the connection's window is too large");
    if (more < small_update) count_late();
    return out_.give_turns();
  }
  if (is_idle(head.stream))
    return fail(http2_error::protocol_error, "WINDOW_UPDATE on a stream that is not open");
  http2_stream* const s = find(head.stream);
  if (s == nullptr || s->is_reset()) return count_late();
  if (more == 0) return reset_stream(head.stream, malformed("a WINDOW_UPDATE by nothing"));
  s->sender.window += more;
  if (s->sender.window > http2_window_max)
    return reset_stream(head.stream, {http2_error::flow_control_error, std::errc::bad_message,
                                      "a window that is too large"});
  if (!s->sender.turn.awaited() && more < small_update) count_late();
  out_.give_turns();
}

}  // namespace heddle::http
