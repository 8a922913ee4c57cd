// SPDX-License-Identifier: MIT
// Bytes into frames, streams by number, windows that grow again, and the ends in an error.
#include "heddle/http/detail/http2_connection.hh"

#include <algorithm>
#include <utility>

#include "heddle/core/worker.hh"

namespace heddle::http {

std::string_view describe(http2_flood what) noexcept {
  switch (what) {
    case http2_flood::none:
      break;
    case http2_flood::header_block:
      return "a header block that is too large";
    case http2_flood::continuations:
      return "too many CONTINUATION frames";
    case http2_flood::empty_frames:
      return "too many empty DATA frames";
    case http2_flood::pings:
      return "too many PING frames";
    case http2_flood::settings:
      return "too many settings";
    case http2_flood::glitches:
      return "too many frames that do nothing";
    case http2_flood::resets:
      return "too many streams that end in an error";
  }
  return {};
}

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

bool http2_connection::reset_numbers::may_have(std::uint32_t id) const noexcept {
  if (count_ > ids_.size() && id < *std::ranges::min_element(ids_)) return true;
  return id != 0 && std::ranges::find(ids_, id) != ids_.end();
}

void http2_connection::greet(std::string_view settings) {
  put_http2_head(out_.gathered, settings.size(), http2_type::settings, 0, 0);
  out_.gathered.append(settings);
  if (bounds_.connection_window <= http2_first_window) return;
  const std::uint32_t more = bounds_.connection_window - http2_first_window;
  put_window_update(out_.gathered, 0, more);
  rest_.receive_window += more;
}

void http2_connection::take(std::string_view bytes) {
  const bool carried = !carry_.empty();
  if (carried) {
    carry_.append(bytes);
    bytes = carry_;
  }
  while (!failed_ && bytes.size() >= http2_head_bytes) {
    const http2_frame_head head = read_http2_head(bytes);
    if (head.length > http2_frame_bytes_max) {
      // The text of another protocol, read as a head, is a large frame.
      if (!rest_.settings_seen) {
        fail(http2_error::protocol_error, "it does not begin with SETTINGS; is it HTTP/2?");
      } else {
        fail(http2_error::frame_size_error, "a frame is larger than SETTINGS_MAX_FRAME_SIZE");
      }
      break;
    }
    if (bytes.size() < http2_head_bytes + head.length) break;
    take_frame(head, bytes.substr(http2_head_bytes, head.length));
    bytes.remove_prefix(http2_head_bytes + head.length);
  }
  if (failed_) bytes = {};
  if (carried) {
    carry_.erase(0, carry_.size() - bytes.size());
  } else {
    carry_.assign(bytes);
  }
}

void http2_connection::fail(http2_error why, std::string_view what) {
  if (std::exchange(failed_, true)) return;
  put_goaway(out_.gathered, last_taken(), why, what);
  on_failure(what, http2_flood::none);
}

void http2_connection::fail_flood(http2_flood what) {
  if (std::exchange(failed_, true)) return;
  put_goaway(out_.gathered, last_taken(), http2_error::enhance_your_calm, describe(what));
  on_failure(describe(what), what);
}

void http2_connection::reset_stream(std::uint32_t id, const http2_fault& because) {
  put_rst_stream(out_.gathered, id, because.why);
  reset_by_us_.add(id);
  http2_stream* const s = find(id);
  if (s != nullptr) s->end_by_reset();
  on_fault(s, because);
  out_.flush_soon();
}

void http2_connection::count_glitch() {
  if (!rest_.glitches.take(worker::running().now)) fail_flood(http2_flood::glitches);
}

void http2_connection::count_late() {
  if (rest_.late_allowed == 0) return count_glitch();
  --rest_.late_allowed;
}

void http2_connection::add(http2_stream& s) { streams_.push_back(&s); }

void http2_connection::remove(const http2_stream& s) noexcept {
  const auto at = std::ranges::lower_bound(streams_, s.id(), {}, &http2_stream::id);
  if (at != streams_.end() && *at == &s) streams_.erase(at);
}

http2_stream* http2_connection::find(std::uint32_t id) noexcept {
  const auto at = std::ranges::lower_bound(streams_, id, {}, &http2_stream::id);
  return at != streams_.end() && (*at)->id() == id ? *at : nullptr;
}

/// Gives bytes of a window back: a frame tells the peer when half of the window has been read.
void http2_connection::give_back_unread(std::size_t bytes) {
  rest_.to_give_back += static_cast<std::uint32_t>(bytes);
  const std::uint32_t window = std::max(bounds_.connection_window, http2_first_window);
  if (rest_.to_give_back < window / 2) return;
  put_window_update(out_.gathered, 0, rest_.to_give_back);
  rest_.receive_window += std::exchange(rest_.to_give_back, 0);
  out_.flush_soon();
}

void http2_connection::give_back(http2_stream& s, std::size_t bytes) {
  s.to_give_back += static_cast<std::uint32_t>(bytes);
  if (s.to_give_back >= bounds_.stream_window / 2 && !s.is_over()) {
    put_window_update(out_.gathered, s.id(), s.to_give_back);
    s.receive_window += std::exchange(s.to_give_back, 0);
    out_.flush_soon();
  }
  give_back_unread(bytes);
}

}  // namespace heddle::http
