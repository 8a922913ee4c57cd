// SPDX-License-Identifier: MIT
// Bytes of a request and of its answer, in the form of HTTP/1.1 and as a stream of HTTP/2.
#include "proxy/upstream_exchange.hh"

#include <algorithm>
#include <chrono>
#include <utility>

#include "heddle/core/deadline.hh"
#include "heddle/core/expected.hh"
#include "heddle/http/detail/http2_client_head.hh"

namespace heddle::http::detail {
namespace {

// Nearly every request leaves at once; beside the rest of another, its answer is read.
constexpr nanoseconds soon = std::chrono::milliseconds(200);
constexpr std::size_t one_write_bytes = 16 * 1024;  // a layer such as TLS takes it whole

}  // namespace

// HTTP/1.1.

/// Writes until all bytes have left, or none has for this long; `bytes` is then the rest.
/// A write that fails says nothing yet: the upstream may have answered before it closed.
task<exchange_by_http1::written> exchange_by_http1::write_within(std::string_view& bytes,
                                                                 nanoseconds patience) {
  const sent_now sent = on_.try_write(byte_view(bytes));
  moved_ += sent.bytes;
  const bool all = sent.complete(bytes.size());
  bytes.remove_prefix(sent.bytes);
  if (all) co_return written::all;
  while (!bytes.empty() || on_.flush_due()) {
    std::size_t count = 0;
    const std::string_view part = bytes.substr(0, one_write_bytes);
    const auto done =
        co_await as_expected(with_timeout(on_.write(byte_view(part), count), patience));
    moved_ += count;
    bytes.remove_prefix(count);
    if (done) continue;
    if (done.error() == std::errc::timed_out) {
      if (count != 0 && !on_.flush_due()) continue;
      co_return written::part;
    }
    const bool canceled = done.error() == std::errc::operation_canceled && on_;
    on_.cut();  // a part may have left
    if (canceled) throw failure(done.error());
    co_return written::failed;
  }
  co_return written::all;
}

task<bool> exchange_by_http1::write(std::string_view bytes) {
  const written how = co_await write_within(bytes, patience_);
  if (how == written::part) {
    stalled_ = true;
    on_.cut();
  }
  co_return how == written::all;
}

task<bool> exchange_by_http1::send(std::string_view text, std::size_t, sending how) {
  chunked_ = how == sending::chunked;
  rest_ = text;
  const written now = co_await write_within(rest_, std::min(patience_, soon));
  co_return now != written::part;
}

task<bool> exchange_by_http1::put(std::string_view part) {
  if (!chunked_) return write(part);
  framed_.assign(chunk_head(part.size()).text()).append(part).append(chunk_end);
  return write(framed_);
}

task<bool> exchange_by_http1::finish(std::string_view trailers) {
  if (!chunked_) co_return true;
  framed_.assign("0\r\n").append(trailers).append("\r\n");
  co_return co_await write(framed_);
}

void exchange_by_http1::abandon() noexcept {
  on_.reset_on_close();
  on_.close();
}

task<bool> exchange_by_http1::arrive() {
  answer_.drop_block();
  answer_.add(co_await on_.receive());
  co_return !answer_.rest().empty();
}

parse_state exchange_by_http1::read_head(response_head& to) { return answer_.read_head(to); }

std::optional<std::string_view> exchange_by_http1::take_whole_body() {
  const body_decoder& body = answer_.body;
  const bool stated = answer_.body_framing() == framing::length;
  if (!stated || body.left() > answer_.rest().size()) return std::nullopt;
  return answer_.next_part();
}

bool exchange_by_http1::fill(std::string& to, std::size_t most) {
  while (!answer_.rest().empty()) {
    for (std::string_view part = answer_.next_part(); !part.empty(); part = answer_.next_part())
      to.append(part);
    if (answer_.body.error() != problem::none || answer_.body.ended()) return false;
    if (to.size() >= most) return true;
    answer_.add(on_.take());
  }
  return false;
}

std::string exchange_by_http1::fault() const {
  if (const problem what = answer_.head_fault(); what != problem::none)
    return "its answer is malformed: " + std::string(describe(what)) +
           (what == problem::answer_of_http2 ? "; if it speaks HTTP/2 alone, name it with h2c://"
                                             : "");
  if (const problem what = answer_.body.error(); what != problem::none)
    return "its body is malformed: " + std::string(describe(what));
  return {};
}

// HTTP/2.

exchange_by_http2::exchange_by_http2(std::shared_ptr<http2_link> link, gate::hold permit,
                                     bool secure)
    : link_(std::move(link)), secure_(secure) {
  stream_.permit = std::move(permit);
  stream_.keeps_early = true;
}

void exchange_by_http2::end() noexcept {
  if (!std::exchange(ended_, true)) link_->release(stream_);
}

task<bool> exchange_by_http2::send(std::string_view text, std::size_t head_bytes, sending how) {
  const std::string_view head = text.substr(0, head_bytes);
  rest_ = text.substr(head_bytes);
  std::string block;
  http2_request_kind kind;
  kind.secure = secure_;
  put_http2_request(block, head, kind);
  stream_.bodyless = head.starts_with("HEAD ");
  ends_with_rest_ = how == sending::whole;
  link_->open(stream_, block, ends_with_rest_ && rest_.empty());
  if (stream_.trouble || rest_.empty()) co_return true;
  co_return link_->send_now(stream_, rest_, ends_with_rest_);
}

task<bool> exchange_by_http2::send_part(std::string_view part, bool ends) {
  const bool taken = co_await link_->send(stream_, part, ends);
  if (!taken) stalled_ = link_->took_nothing(stream_);
  co_return taken;
}

task<bool> exchange_by_http2::send_rest() { return send_part(rest_, ends_with_rest_); }

task<bool> exchange_by_http2::put(std::string_view part) { return send_part(part, false); }

task<bool> exchange_by_http2::finish(std::string_view trailers) {
  if (ends_with_rest_) co_return true;
  if (trailers.empty()) co_return co_await link_->send(stream_, {}, true);
  std::string block;
  put_http2_lines(block, trailers);
  link_->send_trailers(stream_, block);
  co_return true;
}

void exchange_by_http2::abandon() noexcept {
  link_->reset(stream_, {http2_error::cancel, std::errc::operation_canceled, {}});
}

bool exchange_by_http2::has_news() const noexcept {
  return !stream_.early.empty() || (stream_.has_head && !head_taken_) || !stream_.arrived.empty() ||
         stream_.is_over();
}

task<bool> exchange_by_http2::arrive() {
  while (!has_news()) co_await stream_.news.wait();
  co_return true;
}

parse_state exchange_by_http2::read_head(response_head& to) {
  if (!stream_.early.empty()) {
    to = std::move(stream_.early.front());
    stream_.early.erase(stream_.early.begin());
    return parse_state::done;
  }
  if (stream_.has_head && !head_taken_) {
    head_taken_ = true;
    to = std::move(stream_.head);
    return parse_state::done;
  }
  return stream_.trouble ? parse_state::failed : parse_state::need_more;
}

std::optional<std::string_view> exchange_by_http2::take_whole_body() {
  if (!stream_.has_ended_remote()) return std::nullopt;
  stream_.part.clear();
  std::swap(stream_.part, stream_.arrived);
  link_->give_back(stream_, stream_.part.size());
  return stream_.part;
}

bool exchange_by_http2::fill(std::string& to, std::size_t) {
  if (stream_.arrived.empty()) return false;
  to.append(stream_.arrived);
  link_->give_back(stream_, std::exchange(stream_.arrived, {}).size());
  return false;
}

std::string exchange_by_http2::fault() const {
  return stream_.trouble ? stream_.trouble->text : std::string();
}

}  // namespace heddle::http::detail
