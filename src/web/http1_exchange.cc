// SPDX-License-Identifier: MIT
// Turns a parsed head into an answer that is gathered or sent.
#include "web/http1_exchange.hh"

#include <utility>

#include "heddle/core/deadline.hh"
#include "heddle/http/status.hh"
#include "heddle/web/incoming.hh"
#include "heddle/web/problem_details.hh"
#include "web/answer_wait.hh"

namespace heddle::http {
namespace {

// Bodies up to this size are copied behind their heads. For a larger body a second piece in the
// same send is cheaper: the copies of a whole batch would be alive at once, and the allocator
// returns such memory to the system each time.
constexpr std::size_t small_body = 4 * 1024;
constexpr std::size_t copied_part = 4096;  // the largest part of an answer that is copied
constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";

/// Whether a head that could not be parsed is a request of HEAD, whose answer has no body
/// (RFC 9110 section 9.3.2).
bool begins_with_head(std::string_view bytes) noexcept {
  while (bytes.starts_with('\r') || bytes.starts_with('\n')) bytes.remove_prefix(1);
  return bytes.starts_with("HEAD ");
}

}  // namespace

task<after_answer> http1_exchange::answer() {
  begin_request();
  in_.head_parsed();
  body_.begin(head_);
  answer_wait answer(*this, credit_);
  response& r = co_await answer;
  if (started_status_ != 0) [[unlikely]]
    co_return co_await end_stream(r.sent());
  // The unread rest of the body is read after the answer has been gathered, so that the client need
  // not wait for an answer that is ready.
  bool keep = head_.keep_alive() && !r.closes() && may_stay();
  const bool unread = !body_.ended();
  if (unread && !(keep && body_.worth_reading())) {
    if (keep && budget_.failed == 0 && !body_.none_sent()) ++shared_.counters.bodies_abandoned;
    keep = false;
  }
  const bool has_body = body_allowed(r.status());
  if (!keep) conn_.end_with_last_write();  // the connection's end is sent with the last bytes
  out_.write_head(r, added_, has_body ? framing::length : framing::none, field_of(keep));
  const std::uint64_t length = head_.verb() == method::head || !has_body ? 0 : r.length();
  count(&head_, r.status(), length);
  if (length != 0) {
    if (r.file()) {
      keep = co_await out_.send_file(r.file().number(), r.file_offset(), r.file_length()) && keep;
    } else if (r.body().size() <= small_body) {
      out_.gathered.append(r.body().bytes().text());
    } else {
      const piece rest = r.body().slice(out_.body_sent_at_once(r.body()));
      if (!rest.empty() || out_.unsent()) keep = co_await out_.send_body(rest) && keep;
    }
  }
  if (unread && keep) {
    const bool read = co_await body_.finish();
    co_return read ? after_answer::next : after_answer::linger;
  }
  co_return keep ? after_answer::next : closing();
}

after_answer http1_exchange::closing() const noexcept {
  const bool more = head_.keep_alive() || !body_.ended();
  return more ? after_answer::linger : after_answer::end;
}

void http1_exchange::refuse(int status, std::string_view why) {
  shed_ = false;
  added_.clear();
  since_ = worker::running().now;
  const response r = error(nullptr, status, why);
  conn_.end_with_last_write();
  out_.write_head(r, added_, framing::length, connection_field::close);
  const bool asks_head = begins_with_head(in_.rest);
  if (!asks_head) out_.gathered.append(r.body().bytes().text());
  count(nullptr, status, asks_head ? 0 : r.length());
}

time_point http1_exchange::answered_at() {
  if (!in_.rest.empty() && !shared_.options.log && !shed_ && out_.timed_later(since_)) return never;
  out_.time_answers();
  return shared_.shedding.control().meter().now();
}

void http1_exchange::put_started(const response& r) {
  keep_ = head_.keep_alive() && !r.closes() && may_stay();
  // The client waits for 100 Continue before it sends its body. A handler that starts an answer
  // first will still read the body, unless the answer is an error; 100 may not follow the answer.
  if (body_.take_continue()) {
    if (r.status() < 400) {
      out_.gathered += go_on;
    } else {
      keep_ = false;
    }
  }
  if (!body_allowed(r.status())) {
    end_ = framing::none;
  } else if (length_said_) {
    end_ = framing::length;
  } else if (head_.minor_version() == 0) {
    end_ = framing::until_close;
    keep_ = false;
  } else {
    end_ = framing::chunked;
  }
  out_.write_head(r, added_, end_, field_of(keep_));
}

task<> http1_exchange::inform(const response& r) {
  if (head_.minor_version() == 0) co_return;  // HTTP/1.0 has no such answers
  out_.gathered.append("HTTP/1.1 ").append(std::to_string(r.status())).append(" ");
  out_.gathered.append(reason_of(r.status())).append("\r\n");
  out_.gathered.append(r.shared_lines()).append(r.fields().lines()).append("\r\n");
  co_await write_out();
}

task<bool> http1_exchange::client_ended() {
  // Behind bytes that were not read the end cannot be seen.
  if (!in_.rest.empty() || !body_.ended()) co_return false;
  const auto readable = co_await as_expected(conn_.readable());
  if (!readable && readable.error() == std::errc::operation_canceled)
    throw failure(readable.error());
  co_return !readable || !*readable;
}

client_side http1_exchange::look_at_client() const noexcept {
  const unread_input left = conn_.unread();
  if (left.over) return client_side::lost;
  if (!left.ended) return client_side::open;
  const auto missing = body_.missing();
  if (!missing || !left.bytes) return client_side::ended;
  const std::uint64_t here = in_.rest.size() + *left.bytes;
  if (here < *missing) return client_side::lost;
  // Behind the body there are bytes of a further request.
  return here > *missing ? client_side::open : client_side::ended;
}

task<> http1_exchange::write_out() {
  const bool sent = co_await out_.flush();
  if (!sent) throw failure(client_gone(), "the client no longer accepts the answer");
}

task<> http1_exchange::write_part(std::string_view bytes) {
  if (!take_part(bytes, out_.broken())) co_return;
  while (!bytes.empty()) {
    const std::string_view part = bytes.substr(0, shared_.options.send_bytes_max);
    bytes.remove_prefix(part.size());
    const bool chunked = end_ == framing::chunked;
    if (chunked) out_.gathered.append(chunk_head(part.size()).text());
    if (part.size() <= copied_part) {
      out_.gathered.append(part);
      if (chunked) out_.gathered.append(chunk_end);
      co_await write_out();
      continue;
    }
    // A handler may gather more meanwhile.
    const std::string before = std::exchange(out_.gathered, {});
    const bool sent = co_await out_.send_views(before, part, chunked ? chunk_end : "");
    if (!sent) throw failure(client_gone(), "the client no longer accepts the answer");
  }
}

/// Ends an answer that the handler wrote itself; `whole` if the handler says that it is complete.
task<after_answer> http1_exchange::end_stream(bool whole) {
  whole = end_parts(whole && !out_.broken());  // a handler may not know it
  if (whole && end_ == framing::chunked && !muted_)
    out_.gathered.append("0\r\n").append(trailers_.lines()).append("\r\n");
  // If the end of the connection marks the end of the body, only a reset shows that the body is
  // cut.
  if (handed_over_) {
    if (whole) co_return after_answer::handed_over;
    handed_over_.reset();  // the handler failed after all
  }
  if (!whole) co_return end_ == framing::until_close ? after_answer::reset : closing();
  if (!keep_) co_return closing();
  const bool read = co_await body_.finish();
  co_return read ? after_answer::next : after_answer::linger;
}

task<upgraded> http1_exchange::upgrade(std::string_view protocol, response r) {
  const request_head& asked = head_;
  if (!asked.upgrade() || !list_has_token(asked.value(header_id::upgrade), protocol)) {
    add_field("Upgrade", protocol);
    static_cast<void>(added_.add("Connection", "Upgrade"));  // RFC 9110 section 7.8
    throw status_error(426, "this resource uses another protocol: see Upgrade");
  }
  // RFC 9110 section 7.8: the protocol changes behind the request, so the rest of its body is read.
  while (!body_.ended()) static_cast<void>(co_await body_.read());
  r.header("Upgrade", protocol);
  begin_parts(r.status(), true);
  end_ = framing::none;
  keep_ = false;
  out_.write_head(r, added_, framing::none, connection_field::upgrade);
  co_await write_out();
  std::string early(in_.rest);
  in_.rest = {};
  co_return upgraded(conn_, std::move(early));
}

task<response> http1_exchange::hand_over(std::string_view protocol, response head, take_over then) {
  upgraded to = co_await upgrade(protocol, std::move(head));
  handed_over_ = std::make_unique<handed_over>();
  handed_over_->then = std::move(then);
  handed_over_->early = std::move(to.early);
  co_return to.done();
}

}  // namespace heddle::http
