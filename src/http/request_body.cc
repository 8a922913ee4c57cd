// SPDX-License-Identifier: MIT
// The body of a request as it comes in: by length or in chunks, within its limit and its time, and
// what a handler left of it.
#include <algorithm>
#include <utility>

#include "heddle/core/deadline.hh"
#include "http/exchange.hh"

namespace heddle::http {

void exchange::begin_body() {
  // The head that was just parsed may stand in the last block of the body before it.
  if (!body_block_.empty()) {
    let_go(block_);
    block_ = std::move(body_block_);
  } else if (!body_copy_.empty()) {
    std::swap(carry_, body_copy_);
    body_copy_.clear();
  }
  const request_head& head = parser_.head();
  body_ = head.body();
  continue_due_ = head.expects_continue();
  if (!added_lines_.empty()) added_lines_.clear();
  head_due_ = never;
  body_failed_ = 0;
  body_max_ = owner_.options_.bounds.body_bytes_max;
  if (body_ == framing::none) return;
  body_left_ = head.content_length();
  body_read_ = 0;
  body_waited_ = {};
  body_pause_max_ = owner_.options_.body_timeout;
  trailers_.clear();
  chunks_.reset();
}

void exchange::fail_body(int status, std::errc code, std::string_view why) {
  body_failed_ = status;
  server_counters& c = owner_.counters_;
  ++(status == 413 ? c.bodies_too_large : status == 408 ? c.body_timeouts : c.bad_bodies);
  throw failure(std::make_error_code(code), std::string(why));
}

/// The next part of what has arrived; empty when that is used up, or the body has ended.
std::string_view exchange::take_part() {
  // The end may be known only when the decoder is asked again: trailers are a piece of their own.
  for (bool ask = !rest_.empty(); ask && body_ == framing::chunked;) {
    const chunk_piece piece = chunks_.feed(rest_);
    ask = piece.what != chunk_piece::kind::need_more;
    rest_.remove_prefix(piece.consumed);
    if (piece.what == chunk_piece::kind::data) {
      body_read_ += piece.bytes.size();
      if (body_read_ > body_max_) break;
      return piece.bytes;
    }
    if (piece.what == chunk_piece::kind::trailer) trailers_.append(piece.bytes);
    if (piece.what == chunk_piece::kind::done) body_ = framing::none;
    if (piece.what == chunk_piece::kind::failed) {
      const problem what = chunks_.error();
      if (what == problem::body_too_large) break;
      fail_body(status_of(what), std::errc::bad_message, describe(what));
    }
  }
  if (body_ == framing::chunked && (body_read_ > body_max_ || chunks_.error() != problem::none))
    fail_body(413, std::errc::message_size, "the body is larger than this resource takes");
  if (body_ != framing::length) return {};
  const std::uint64_t size = std::min<std::uint64_t>(rest_.size(), body_left_);
  const std::string_view part = rest_.substr(0, static_cast<std::size_t>(size));
  rest_.remove_prefix(part.size());
  body_left_ -= part.size();
  body_read_ += part.size();
  return part;
}

/// How long the client may now send nothing. Only time spent waiting for it counts, and what it
/// has sent gives it more.
nanoseconds exchange::body_patience() const {
  const double rate = std::max(owner_.options_.body_bytes_per_second_min, 1u);
  const double earned_s = std::min(static_cast<double>(body_read_) / rate, 1e9);
  const nanoseconds earned(static_cast<std::int64_t>(earned_s * 1e9));
  return std::min(body_pause_max_, body_pause_max_ + earned - body_waited_);
}

task<std::string_view> exchange::read_body() {
  if (body_ == framing::length && body_left_ > body_max_ && body_read_ == 0)
    fail_body(413, std::errc::message_size, "the body is larger than this resource takes");
  for (;;) {
    if (body_ == framing::length && body_left_ == 0) body_ = framing::none;
    if (body_ == framing::none) co_return std::string_view{};
    const std::string_view part = take_part();
    if (!part.empty()) {
      continue_due_ = false;  // it did not wait to be told
      co_return part;
    }
    if (body_ == framing::none) co_return std::string_view{};
    if (std::exchange(continue_due_, false)) out_ += "HTTP/1.1 100 Continue\r\n\r\n";
    const bool sent = co_await flush();
    if (!sent) throw failure(std::make_error_code(std::errc::connection_reset));
    let_go(body_block_);
    body_copy_.clear();
    const time_point began = worker::running().now;
    auto in = co_await as_expected(with_timeout(conn_.receive(), body_patience()));
    body_waited_ += worker::running().now - began;
    if (!in && in.error() == std::errc::timed_out)
      fail_body(408, std::errc::timed_out, "the body came too slowly");
    if (!in) throw failure(in.error());
    if (in->empty()) {
      fail_body(400, std::errc::connection_reset,
                "the connection ended inside the body of the request");
    }
    rest_ = hold(body_block_, std::move(*in), body_copy_);
  }
}

/// Whether the connection should outlive a body that the handler did not read to its end.
bool exchange::worth_reading() const noexcept {
  if (body_failed_ != 0) return false;
  // A client that still waits for 100 Continue has sent nothing, and need not.
  if (continue_due_ && rest_.empty()) return false;
  return body_ != framing::length || body_left_ <= owner_.options_.drain_bytes_max;
}

/// Reads what the handler left, for it stands before the next request. False: it was too much.
task<bool> exchange::finish_body() {
  if (body_ == framing::none) co_return true;
  if (!worth_reading()) co_return false;
  const std::uint64_t most = owner_.options_.drain_bytes_max;
  continue_due_ = false;
  body_max_ = ~std::uint64_t{0};
  const std::uint64_t before = body_read_;
  try {
    while (body_ != framing::none) {
      const std::string_view part = co_await read_body();
      if (body_read_ - before > most) {
        ++owner_.counters_.bodies_abandoned;
        co_return false;
      }
      if (part.empty()) break;
    }
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::operation_canceled) throw;
    co_return false;
  }
  co_return true;
}

std::string_view exchange::trailer(std::string_view name) const noexcept {
  if (!trailer_allowed(name)) return {};
  std::string_view rest = trailers_;
  while (!rest.empty()) {
    const std::size_t end = rest.find("\r\n");
    if (end == rest.npos) break;
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 2);
    const std::size_t colon = line.find(':');
    if (colon == line.npos || !equal_ignoring_case(line.substr(0, colon), name)) continue;
    std::string_view value = line.substr(colon + 1);
    while (!value.empty() && (value.front() == ' ' || value.front() == '\t'))
      value.remove_prefix(1);
    while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
    return value;
  }
  return {};
}

}  // namespace heddle::http
