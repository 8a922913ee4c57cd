// SPDX-License-Identifier: MIT
// The body of a request as DATA frames bring it. A stream's window bounds the unread bytes, so a
// handler that does not read stops its client, and no other stream.
#include <utility>

#include "heddle/core/deadline.hh"
#include "heddle/http/chunked.hh"
#include "heddle/http/headers.hh"
#include "web/http2_exchange.hh"

namespace heddle::http {

http2_error http2_exchange::take_data(std::string_view bytes, std::size_t with_padding, bool ends) {
  if (ended_) return http2_error::stream_closed;
  receive_window_ -= static_cast<std::int64_t>(with_padding);
  if (receive_window_ < 0) return http2_error::flow_control_error;
  if (bytes.empty() && !ends) {
    if (++empty_frames_ > http2_connection::empty_frames_max) return http2_error::enhance_your_calm;
  } else {
    empty_frames_ = 0;
  }
  body_bytes_ += bytes.size();
  ended_ = ends;
  const bool stated = head_.has(header_id::content_length);
  if (stated &&
      (body_bytes_ > head_.content_length() || (ends && body_bytes_ != head_.content_length())))
    return http2_error::protocol_error;
  give_back(with_padding - bytes.size());
  arrived_.append(bytes);
  more_.wake();
  return http2_error::no_error;
}

http2_error http2_exchange::take_trailers(std::string&& lines) {
  if (ended_) return http2_error::stream_closed;
  if (head_.has(header_id::content_length) && body_bytes_ != head_.content_length())
    return http2_error::protocol_error;
  trailer_lines_ = std::move(lines);
  ended_ = true;
  more_.wake();
  return http2_error::no_error;
}

/// The handler has consumed so much: the client may send as much more. A window update is sent when
/// that is half of a window.
void http2_exchange::give_back(std::size_t bytes) {
  state_.to_give_back += static_cast<std::uint32_t>(bytes);
  to_give_back_ += static_cast<std::uint32_t>(bytes);
  if (to_give_back_ >= http2_connection::stream_window / 2 && !ended_) {
    put_window_update(out_.gathered, sender.id, to_give_back_);
    receive_window_ += std::exchange(to_give_back_, 0);
  }
  if (state_.to_give_back >= http2_connection::connection_window / 2) {
    put_window_update(out_.gathered, 0, state_.to_give_back);
    state_.receive_window += std::exchange(state_.to_give_back, 0);
  }
  out_.flush_soon();
}

task<std::string_view> http2_exchange::read_body() {
  if (head_.has(header_id::content_length) && head_.content_length() > budget_.bytes_max &&
      budget_.read == 0)
    budget_.fail_too_large(shared_.counters);
  for (;;) {
    if (!arrived_.empty()) {
      part_.clear();
      std::swap(part_, arrived_);
      budget_.read += part_.size();
      if (budget_.read > budget_.bytes_max) budget_.fail_too_large(shared_.counters);
      give_back(part_.size());
      co_return part_;
    }
    if (ended_) co_return std::string_view{};
    if (std::exchange(continue_due_, false)) {
      put_header_block_by(out_.gathered, sender.id, false,
                          [](std::string& out) { hpack_encode(out, ":status", "100"); });
    }
    out_.flush_soon();
    const time_point began = clock::now();
    const auto came =
        co_await as_expected(with_timeout(more_.wait(), budget_.patience(shared_.options)));
    budget_.waited += clock::now() - began;
    if (came) continue;
    if (came.error() == std::errc::timed_out)
      budget_.fail(shared_.counters, 408, std::errc::timed_out, "the body came too slowly");
    budget_.lose_client(came.error());
  }
}

task<> http2_exchange::finish_body() {
  budget_.bytes_max = ~std::uint64_t{0};
  budget_.pause_max = shared_.options.linger_timeout;
  continue_due_ = false;
  const std::uint64_t most = budget_.read + shared_.options.drain_bytes_max;
  try {
    while (!ended_ && budget_.read <= most) static_cast<void>(co_await read_body());
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::operation_canceled) throw;
  }
}

std::string_view http2_exchange::trailer(std::string_view name) const noexcept {
  std::string_view found;
  if (trailer_allowed(name))
    each_field_line(trailer_lines_, [&](std::string_view key, std::string_view value) {
      if (found.empty() && equal_ignoring_case(key, name)) found = value;
    });
  return found;
}

}  // namespace heddle::http
