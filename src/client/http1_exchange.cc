// SPDX-License-Identifier: MIT
// Sends a request in the form of HTTP/1.1, reads the head of its answer, and undoes the framing of
// its body.
#include "client/http1_exchange.hh"

#include <algorithm>
#include <utility>

#include "heddle/core/expected.hh"
#include "heddle/http/field_list.hh"

namespace heddle::http::detail {
namespace {

/// A request of so many bytes is written before its answer is read: the systems of both ends take
/// that much even if no end reads. A longer one must not wait for a server that does not read on
/// before its answer is read.
constexpr std::size_t one_write_max = 4 * 1024;
constexpr std::size_t try_max = 64 * 1024;  // most sockets take it at once

class http1_upload final : public body_upload {
 public:
  /// Sends the body, but for its first `skipped` bytes, behind this head.
  http1_upload(const outgoing& what, stream to, std::string head, std::size_t skipped,
               nanoseconds patience)
      : body_upload(what), to_(std::move(to)), head_(std::move(head)), patience_(patience) {
    skip(skipped);
  }

 private:
  task<bool> begin() override { return write(head_); }
  task<bool> put(std::string_view bytes) override {
    if (length_known()) co_return co_await write(bytes);
    std::string framed(chunk_head(bytes.size()).text());
    framed.append(bytes).append(chunk_end);
    co_return co_await write(framed);
  }
  task<bool> finish() override {
    if (length_known()) co_return true;
    co_return co_await write(last_chunk);
  }
  void abandon() noexcept override {
    to_.reset_on_close();
    to_.close();
  }
  task<bool> write(std::string_view bytes) {
    const auto done = co_await as_expected(with_timeout(to_.write(byte_view(bytes)), patience_));
    if (!done && done.error() == std::errc::operation_canceled) throw failure(done.error());
    if (!done && done.error() == std::errc::timed_out) note_stall();
    co_return done.has_value();
  }

  stream to_;
  std::string head_;
  nanoseconds patience_;
};

}  // namespace

task<> exchange_over_http1::send(const outgoing& what, std::string head) {
  const std::size_t head_bytes = head.size(), body_bytes = what.bytes().size();
  if (!what.parts() && (body_bytes == 0 || head_bytes + body_bytes <= one_write_max)) {
    head += what.bytes();
    const time_point due = limit_of(options_->timeouts.transfer);
    const auto done = co_await as_expected(
        with_deadline(lease_.on.write(byte_view(std::string_view(head))), due));
    // A connection that takes no more bytes may still hold an answer.
    if (!done && !connection_gone(done.error())) fail(done.error(), "the request cannot be sent");
    co_return;
  }
  std::size_t skipped = 0;
  if (!what.parts() && body_bytes <= try_max) {
    head += what.bytes();
    const sent_now sent = lease_.on.try_write(byte_view(std::string_view(head)));
    if (sent.complete(head.size())) co_return;
    if (sent.bytes > head_bytes) skipped = sent.bytes - head_bytes;
    head.resize(head_bytes);
    head.erase(0, sent.bytes - skipped);
  }
  upload_ = std::make_shared<http1_upload>(what, lease_.on, std::move(head), skipped,
                                           options_->timeouts.transfer);
  body_upload::start(upload_);
}

/// Waits for further bytes. False at the end of the connection.
task<bool> exchange_over_http1::more(nanoseconds patience, const char* where) {
  answer_.drop_block();
  auto in = co_await as_expected(with_deadline(lease_.on.receive(), limit_of(patience)));
  if (!in) fail_wait(in.error(), where);
  answer_.add(std::move(*in));
  co_return !answer_.rest().empty();
}

/// more() for bytes of the head, which has to be whole at `due`.
task<bool> exchange_over_http1::more_head(time_point& due) {
  if (upload_ != nullptr && !upload_->ended()) {
    answer_.drop_block();
    // However this ends, more() finds out why.
    const auto known = co_await as_expected(
        with_deadline(with_cancel(upload_->over(), lease_.on.readable()), due_));
    if (!known && upload_->stalled() && !answer_.head_begun()) {
      answer_.add(lease_.on.take());  // an answer may have come in this moment
      if (!answer_.rest().empty()) co_return true;
      check_upload();
    }
    due = head_due();
  }
  co_return co_await more(std::max(span_between(clock::now(), due), nanoseconds(0)),
                          "before the end of the answer's head");
}

task<> exchange_over_http1::read_one_head() {
  time_point due = head_due();
  for (;;) {
    const parse_state now = answer_.read_head(head_);
    if (now == parse_state::done) break;
    if (now == parse_state::failed)
      fail(std::make_error_code(std::errc::bad_message),
           "the server sent a bad head: " + std::string(describe(answer_.head_fault())));
    const bool came = co_await more_head(due);
    if (!came)
      fail(std::make_error_code(std::errc::connection_reset),
           answer_.head_begun() ? "the connection ended inside the head of the answer"
                                : "the server closed the connection without an answer");
  }
}

task<> exchange_over_http1::read_head() {
  for (std::uint32_t early = 0;; ++early) {
    co_await read_one_head();
    if (!head_.informational()) co_return;
    if (head_.status() == 101)
      fail(std::make_error_code(std::errc::protocol_error),
           "the server switched to a protocol that was not asked for");
    if (early == options_->informational_max) fail_informational();
  }
}

bool exchange_over_http1::begin_body() {
  answer_.begin_body(head_, method_of(verb_));
  return !answer_.body.ended();
}

/// Ends the body. The connection is used again only if both sides have sent everything and nothing
/// else.
void exchange_over_http1::end_of_body() {
  if (std::exchange(ended_, true)) return;
  const bool sent = upload_ == nullptr || upload_->sent();
  const bool clean = sent && answer_.leaves_clean(head_);
  if (upload_ != nullptr) upload_->cancel();
  if (clean)
    lease_.keep();
  else
    lease_.end();
}

task<std::string_view> exchange_over_http1::read_raw() {
  while (!ended_) {
    const std::string_view part = answer_.next_part();
    if (!part.empty()) co_return part;
    if (const problem what = answer_.body.error(); what != problem::none)
      fail(std::make_error_code(what == problem::body_too_large ? std::errc::message_size
                                                                : std::errc::bad_message),
           "the server sent a bad body: " + std::string(describe(what)));
    if (answer_.body.ended()) {
      end_of_body();
      break;
    }
    const bool came = co_await more(options_->timeouts.transfer, "inside the body of the answer");
    if (!came && !answer_.body.end_of_input())
      fail(std::make_error_code(std::errc::connection_reset),
           "the answer is incomplete: the connection ended " + answer_.missing());
  }
  co_return std::string_view{};
}

std::string_view exchange_over_http1::trailer(std::string_view name) const noexcept {
  return find_trailer(answer_.body.trailers(), name);
}

}  // namespace heddle::http::detail
