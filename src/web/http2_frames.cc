// SPDX-License-Identifier: MIT
// The effect of each type of frame (RFC 9113 section 6). Some errors end a stream, others the
// connection (section 5.4).
#include <algorithm>
#include <utility>

#include "heddle/http/problem.hh"
#include "web/http2_head.hh"
#include "web/http2_session.hh"

namespace heddle::http {

void http2_session::take_frame(const http2_frame_head& head, std::string_view payload) {
  using enum http2_type;
  if (block_stream_ != 0 && (head.type != continuation || head.stream != block_stream_))
    return fail(http2_error::protocol_error, "a header block was not ended");
  if (!state_.settings_seen && head.type != settings)
    return fail(http2_error::protocol_error, "the first frame is no SETTINGS");
  switch (head.type) {
    case data:
      return take_data(head, payload);
    case headers:
      return take_headers(head, payload);
    case priority:
      if (head.stream == 0) return fail(http2_error::protocol_error, "PRIORITY on stream 0");
      if (payload.size() != 5) return reset_stream(head.stream, http2_error::frame_size_error);
      if ((http2_number(payload) & 0x7fffffffu) == head.stream)
        return reset_stream(head.stream, http2_error::protocol_error);
      return count_glitch();
    case rst_stream:
      return take_reset(head, payload);
    case settings:
      return take_settings(head, payload);
    case push_promise:
      return fail(http2_error::protocol_error, "a client pushes nothing");
    case ping:
      return take_ping(head, payload);
    case goaway:
      if (head.stream != 0) return fail(http2_error::protocol_error, "GOAWAY on a stream");
      if (payload.size() < 8) return fail(http2_error::frame_size_error, "a short GOAWAY");
      // The peer opens no more streams. The server still answers the open streams.
      peer_leaves_ = true;
      return;
    case window_update:
      return take_window(head, payload);
    case continuation:
      return take_continuation(head, payload);
    case priority_update:
      if (head.stream != 0) return fail(http2_error::protocol_error, "PRIORITY_UPDATE on a stream");
      take_priority_update(payload);
      return count_glitch();
  }
  count_glitch();  // section 4.1: unknown types are ignored
}

void http2_session::take_data(const http2_frame_head& head, std::string_view payload) {
  if (head.stream == 0) return fail(http2_error::protocol_error, "DATA on stream 0");
  if (head.stream % 2 == 0 || (head.stream > state_.last_stream && !state_.leaving))
    return fail(http2_error::protocol_error, "DATA on a stream that is idle");
  const std::size_t size = payload.size();
  if (!take_padding(head, payload))
    return fail(http2_error::protocol_error, "more padding than payload");
  state_.receive_window -= static_cast<std::int64_t>(size);
  if (state_.receive_window < 0)
    return fail(http2_error::flow_control_error, "more DATA than the connection's window");
  http2_exchange* const x = find(head.stream);
  if (x == nullptr || x->was_reset()) {
    state_.to_give_back += static_cast<std::uint32_t>(size);
    if (state_.to_give_back >= http2_connection::connection_window / 2) {
      put_window_update(out_.gathered, 0, state_.to_give_back);
      state_.receive_window += std::exchange(state_.to_give_back, 0);
    }
    // Section 6.8: behind GOAWAY, frames of streams that came too late are dropped.
    if (was_reset_lately(head.stream) || head.stream > state_.last_stream) return;
    return reset_stream(head.stream, http2_error::stream_closed);
  }
  const http2_error wrong = x->take_data(payload, size, head.has(http2_flag::end_stream));
  if (wrong == http2_error::enhance_your_calm) return fail(wrong, "too many empty frames");
  if (wrong != http2_error::no_error) reset_stream(head.stream, wrong);
}

void http2_session::take_headers(const http2_frame_head& head, std::string_view payload) {
  if (head.stream == 0 || head.stream % 2 == 0)
    return fail(http2_error::protocol_error, "HEADERS on a stream that no client opens");
  if (!take_padding(head, payload))
    return fail(http2_error::protocol_error, "more padding than payload");
  if (head.has(http2_flag::priority)) {
    if (payload.size() < 5) return fail(http2_error::frame_size_error, "a short HEADERS");
    if ((http2_number(payload) & 0x7fffffffu) == head.stream)
      return fail(http2_error::protocol_error, "a stream depends on itself");
    payload.remove_prefix(5);
  }
  const bool ends = head.has(http2_flag::end_stream);
  if (head.has(http2_flag::end_headers)) return take_header_block(head.stream, payload, ends);
  block_stream_ = head.stream;
  block_ends_ = ends;
  block_.assign(payload);
  continuations_ = 0;
}

void http2_session::take_continuation(const http2_frame_head& head, std::string_view payload) {
  if (block_stream_ == 0)
    return fail(http2_error::protocol_error, "CONTINUATION without a header block");
  if (++continuations_ > http2_connection::continuations_max ||
      block_.size() + payload.size() > http2_connection::header_block_bytes_max)
    return fail(http2_error::enhance_your_calm, "a header block is too large");
  block_.append(payload);
  if (!head.has(http2_flag::end_headers)) return;
  const std::string block = std::exchange(block_, {});
  take_header_block(std::exchange(block_stream_, 0), block, block_ends_);
}

void http2_session::take_header_block(std::uint32_t id, std::string_view block, bool ends) {
  if (http2_exchange* const x = find(id)) return take_trailers(*x, block, ends);
  if (was_reset_lately(id)) return drop_trailers(id, block);
  const limits& bounds = state_.shared.head_bounds;
  std::string text, protocol;
  const http2_block what = read_http2_request(state_.decoder, block, bounds, text, protocol);
  if (what == http2_block::broken)
    return fail(http2_error::compression_error, "a header block cannot be decoded");
  if (id <= state_.last_stream)
    return fail(http2_error::stream_closed, "HEADERS on a stream that is closed");
  if (state_.leaving) return;  // section 6.8: it may be asked again elsewhere
  state_.last_stream = id;
  if (streams_.size() >= http2_connection::streams_max)
    return reset_stream(id, http2_error::refused_stream);
  const bool unasked = !protocol.empty() && !state_.shared.options.extended_connect;
  if (what == http2_block::malformed || unasked)
    return reset_stream(id, http2_error::protocol_error);
  open_stream(id, what, std::move(text), std::move(protocol), ends);
}

void http2_session::open_stream(std::uint32_t id, http2_block what, std::string&& text,
                                std::string&& protocol, bool ends) {
  int refused = 0;
  if (what == http2_block::too_large) {
    ++state_.shared.counters.heads_too_large;
    refused = 431;
  }
  auto x = std::make_unique<http2_exchange>(state_, conn_, out_, id, std::move(text));
  x->offer(std::move(protocol));
  const problem wrong = x->begin(ends);
  if (wrong != problem::none) {
    refused = status_of(wrong);
    server_counters& c = state_.shared.counters;
    ++(refused == 414 ? c.uris_too_long : refused == 431 ? c.heads_too_large : c.bad_heads);
    if (refused == 400) return reset_stream(id, http2_error::protocol_error);
  }
  if (refused == 0) {
    const std::string_view priority = x->head().value("priority");
    if (!priority.empty()) x->sender.priority = read_priority(priority);
    take_early_priority(x->sender);
  }
  tasks_->spawn(serve(*this, *x, refused));
  streams_.push_back(std::move(x));
}

void http2_session::take_trailers(http2_exchange& x, std::string_view block, bool ends) {
  std::string lines;
  const http2_block what =
      read_http2_trailers(state_.decoder, block, state_.shared.head_bounds, lines);
  if (what == http2_block::broken)
    return fail(http2_error::compression_error, "a header block cannot be decoded");
  if (x.was_reset()) {
    if (!was_reset_lately(x.id())) reset_stream(x.id(), http2_error::stream_closed);
    return;
  }
  if (x.request_ended()) return reset_stream(x.id(), http2_error::stream_closed);
  if (!ends || what != http2_block::good) return reset_stream(x.id(), http2_error::protocol_error);
  const http2_error wrong = x.take_trailers(std::move(lines));
  if (wrong != http2_error::no_error) reset_stream(x.id(), wrong);
}

/// Trailers of a stream that was answered before its request had ended.
void http2_session::drop_trailers(std::uint32_t id, std::string_view block) {
  std::string lines;
  const http2_block what =
      read_http2_trailers(state_.decoder, block, state_.shared.head_bounds, lines);
  if (what == http2_block::broken)
    return fail(http2_error::compression_error, "a header block cannot be decoded");
  if (what == http2_block::malformed) reset_stream(id, http2_error::protocol_error);
}

void http2_session::take_reset(const http2_frame_head& head, std::string_view payload) {
  if (payload.size() != 4) return fail(http2_error::frame_size_error, "RST_STREAM has four bytes");
  if (head.stream == 0 || (head.stream > state_.last_stream && !state_.leaving))
    return fail(http2_error::protocol_error, "RST_STREAM on a stream that is idle");
  if (http2_exchange* const x = find(head.stream)) x->reset();
  if (!state_.resets.take(worker::running().now))
    fail(http2_error::enhance_your_calm, "too many streams were reset");
}

void http2_session::take_settings(const http2_frame_head& head, std::string_view payload) {
  if (head.stream != 0) return fail(http2_error::protocol_error, "SETTINGS on a stream");
  if (head.has(http2_flag::ack)) {
    if (!payload.empty()) fail(http2_error::frame_size_error, "an acknowledgement has no payload");
    return;
  }
  if (payload.size() % 6 != 0) return fail(http2_error::frame_size_error, "half a setting");
  if (payload.size() / 6 > 32 ||
      (state_.settings_seen && !state_.settings.take(worker::running().now)))
    return fail(http2_error::enhance_your_calm, "too many settings");
  state_.settings_seen = true;
  for (; !payload.empty(); payload.remove_prefix(6)) {
    const auto name = static_cast<http2_setting>(static_cast<unsigned char>(payload[0]) << 8 |
                                                 static_cast<unsigned char>(payload[1]));
    const std::uint32_t value = http2_number(payload.substr(2));
    if (name == http2_setting::enable_push && value > 1)
      return fail(http2_error::protocol_error, "ENABLE_PUSH is 0 or 1");
    if (name == http2_setting::max_frame_size) {
      if (value < http2_frame_bytes_max || value > 0xffffff)
        return fail(http2_error::protocol_error, "MAX_FRAME_SIZE is out of range");
      state_.peer_frame_bytes_max = value;
    }
    if (name == http2_setting::initial_window_size) {
      if (value > http2_window_max)
        return fail(http2_error::flow_control_error, "INITIAL_WINDOW_SIZE is out of range");
      const std::int64_t more = std::int64_t{value} - state_.peer_stream_window;
      state_.peer_stream_window = value;
      for (const auto& x : streams_) {
        x->sender.window += more;
        if (x->sender.window > http2_window_max)
          return fail(http2_error::flow_control_error, "a stream's window is too large");
      }
    }
  }
  put_http2_head(out_.gathered, 0, http2_type::settings, http2_flag::ack, 0);
  out_.give_turns();
}

void http2_session::take_ping(const http2_frame_head& head, std::string_view payload) {
  if (head.stream != 0) return fail(http2_error::protocol_error, "PING on a stream");
  if (payload.size() != 8) return fail(http2_error::frame_size_error, "PING has eight bytes");
  if (head.has(http2_flag::ack)) return count_glitch();
  if (++acknowledgements_ > http2_connection::acknowledgements_max)
    return fail(http2_error::enhance_your_calm, "too many PING frames");
  put_http2_head(out_.gathered, 8, http2_type::ping, http2_flag::ack, 0);
  out_.gathered.append(payload);
  count_glitch();
}

void http2_session::take_window(const http2_frame_head& head, std::string_view payload) {
  if (payload.size() != 4)
    return fail(http2_error::frame_size_error, "WINDOW_UPDATE has four bytes");
  const std::uint32_t more = http2_number(payload) & 0x7fffffffu;
  if (head.stream == 0) {
    if (more == 0) return fail(http2_error::protocol_error, "a window grows by nothing");
    state_.send_window += more;
    if (state_.send_window > http2_window_max)
      return fail(http2_error::flow_control_error, "the connection's window is too large");
    out_.give_turns();
    return;
  }
  if (head.stream % 2 == 0 || (head.stream > state_.last_stream && !state_.leaving))
    return fail(http2_error::protocol_error, "WINDOW_UPDATE on a stream that is idle");
  http2_exchange* const x = find(head.stream);
  if (x == nullptr || x->was_reset()) return count_glitch();
  if (more == 0) return reset_stream(head.stream, http2_error::protocol_error);
  x->sender.window += more;
  if (x->sender.window > http2_window_max)
    return reset_stream(head.stream, http2_error::flow_control_error);
  if (x->sender.turn.awaited()) {
    out_.give_turns();
  } else if (more < 1024) {
    count_glitch();  // a tiny step that nothing waits for
  }
}

/// RFC 9218 section 7.1.
void http2_session::take_priority_update(std::string_view payload) {
  if (payload.size() < 4) return fail(http2_error::frame_size_error, "a short PRIORITY_UPDATE");
  const std::uint32_t id = http2_number(payload) & 0x7fffffffu;
  if (id % 2 == 0)  // 0, or of a pushed stream, which there is none of
    return fail(http2_error::protocol_error, "PRIORITY_UPDATE for a stream that cannot be");
  const http2_priority wanted = read_priority(payload.substr(4));
  if (http2_exchange* const x = find(id)) {
    x->sender.priority = wanted;
  } else if (id > state_.last_stream) {
    std::erase_if(early_priorities_, [id](const early_priority& e) { return e.id == id; });
    if (early_priorities_.size() == early_priorities_max)
      early_priorities_.erase(early_priorities_.begin());
    early_priorities_.push_back({id, wanted});
  }
}

/// Goes before the field of the request.
void http2_session::take_early_priority(http2_sender& of) {
  const auto found = std::ranges::find(early_priorities_, of.id, &early_priority::id);
  if (found == early_priorities_.end()) return;
  of.priority = found->wanted;
  early_priorities_.erase(found);
}

http2_priority read_priority(std::string_view text) noexcept {
  http2_priority all{.urgency = 3, .incremental = false};  // RFC 9218 section 4's defaults
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    if (item.size() == 3 && item.starts_with("u=") && item[2] >= '0' && item[2] <= '7')
      all.urgency = static_cast<std::uint8_t>(item[2] - '0');
    if (item == "i" || item == "i=?1") all.incremental = true;
    if (item == "i=?0") all.incremental = false;
  }
  return all;
}

}  // namespace heddle::http
