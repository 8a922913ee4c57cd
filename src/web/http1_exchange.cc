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
constexpr std::size_t copied_part = 4096;  // the same for parts of an answer
constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";

/// Whether a head that could not be parsed is a request of HEAD, whose answer has no body
/// (RFC 9110 section 9.3.2).
bool begins_with_head(std::string_view bytes) noexcept {
  while (bytes.starts_with('\r') || bytes.starts_with('\n')) bytes.remove_prefix(1);
  return bytes.starts_with("HEAD ");
}

}  // namespace

const address& http1_exchange::peer() noexcept {
  if (!peer_) peer_ = client_behind(conn_.peer());
  return peer_;
}

void http1_exchange::begin() {
  in_.head_parsed();
  if (!shared_.options.trusted_proxies.empty()) peer_ = {};  // each request may have another client
  if (!added_.empty()) added_.clear();
  started_status_ = 0;
  body_.begin(head_);
}

task<after_answer> http1_exchange::answer() {
  const time_point since = worker::running().now;  // the turn's start, to include queueing
  begin();
  request asked(*this);
  answer_wait answer;
  shed_ = !shared_.shedding.admit(head_, credit_);
  if (shed_) [[unlikely]] {
    answer.put(shared_.shedding.refusal());
  } else {
    try {
      begin_handler(shared_.answers);
      answer.begin(shared_.answer(asked));
      co_await answer;
      end_handler();
    } catch (...) {
      end_handler();
      // If the end of the connection marks the end of the body, only a reset shows that it is cut.
      if (started_status_ != 0 && end_ == framing::until_close) conn_.cut();
      answer.put(answer_of_failure());
    }
  }
  response& r = answer.value;
  if (started_status_ != 0) [[unlikely]]
    co_return co_await end_stream(r.sent(), since);
  if (!r.sendable(head_.verb() == method::head)) [[unlikely]] {
    r = error(&head_, 500, "");
    r.close();
  }
  // The unread rest of the body is read after the answer has been gathered, so that the client need
  // not wait for an answer that is ready.
  bool keep = head_.keep_alive() && !r.closes() && may_stay();
  const bool unread = !body_.ended();
  const bool lingers = unread && !(keep && body_.worth_reading());
  if (lingers) {
    if (keep && budget_.failed == 0 && !body_.none_sent()) ++shared_.counters.bodies_abandoned;
    keep = false;
  }
  const bool has_body = body_allowed(r.status());
  if (!keep) conn_.end_with_last_write();  // the connection's end is sent with the last bytes
  out_.write_head(r, added_, has_body ? framing::length : framing::none, field_of(keep));
  const std::uint64_t length = head_.verb() == method::head || !has_body ? 0 : r.length();
  count(r.status(), length, since, true);
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
  co_return keep ? after_answer::next : lingers ? after_answer::linger : after_answer::end;
}

void http1_exchange::refuse(int status, std::string_view why) {
  shed_ = false;
  added_.clear();
  const response r = error(nullptr, status, why);
  conn_.end_with_last_write();
  out_.write_head(r, added_, framing::length, connection_field::close);
  const bool asks_head = begins_with_head(in_.rest);
  if (!asks_head) out_.gathered.append(r.body().bytes().text());
  count(status, asks_head ? 0 : r.length(), worker::running().now, false);
}

void http1_exchange::count(int status, std::uint64_t bytes, time_point since, bool parsed) {
  server_counters& c = shared_.counters;
  ++c.requests;
  if (status >= 500 && !shed_) ++c.errors;
  if (!in_.rest.empty() && !shared_.options.log && !shed_ && out_.timed_later(since)) return;
  out_.time_answers();
  const nanoseconds took = shared_.shedding.control().meter().now() - since;
  if (!shed_) c.latency_ns.record(static_cast<std::uint64_t>(took.count()));
  if (shared_.options.log)
    shared_.options.log({parsed ? &head_ : nullptr, &peer(), status, bytes, took});
}

task<> http1_exchange::start(response r) {
  HEDDLE_ASSERT(started_status_ == 0, "this request's answer has been started already");
  if (!r.headers_ok() || !status_final(r.status()))
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "a header of the answer, or its status, must not be sent");
  const request_head& asked = head_;
  started_status_ = r.status();
  muted_ = asked.verb() == method::head || !body_allowed(r.status());
  written_ = 0;
  trailers_.clear();
  keep_ = asked.keep_alive() && !r.closes() && may_stay();
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
  } else if (r.length_promised()) {
    end_ = framing::length;
    left_ = r.length();
  } else if (asked.minor_version() == 0) {
    end_ = framing::until_close;
    keep_ = false;
  } else {
    end_ = framing::chunked;
  }
  out_.write_head(r, added_, end_, field_of(keep_));
  co_return;
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

task<> http1_exchange::write_out() {
  const bool sent = co_await out_.flush();
  if (!sent) throw failure(client_gone(), "the client no longer accepts the answer");
}

task<> http1_exchange::write_part(std::string_view bytes) {
  HEDDLE_ASSERT(started_status_ != 0, "start the answer before you write to it");
  if (out_.broken()) throw failure(client_gone(), "an earlier write was cut short");
  written_ += muted_ ? 0 : bytes.size();
  if (end_ == framing::length) {
    if (bytes.size() > left_)
      throw failure(std::make_error_code(std::errc::message_size),
                    "more was written than response::length() promised");
    left_ -= bytes.size();
  }
  while (!bytes.empty() && !muted_) {
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

void http1_exchange::add_trailer(std::string_view name, std::string_view value) {
  if (!trailer_allowed(name) || !trailers_.add(name, value))
    throw failure(std::make_error_code(std::errc::invalid_argument),
                  "this field must not be sent as a trailer");
}

/// Ends an answer that the handler wrote itself; `whole` if the handler says that it is complete.
task<after_answer> http1_exchange::end_stream(bool whole, time_point since) {
  whole = whole && !out_.broken();  // a handler may not know it
  if (whole) {
    if (end_ == framing::chunked && !muted_)
      out_.gathered.append("0\r\n").append(trailers_.lines()).append("\r\n");
    whole = end_ != framing::length || left_ == 0 || muted_;
  }
  if (!whole) ++shared_.counters.errors;
  count(started_status_, written_, since, true);
  // If the end of the connection marks the end of the body, only a reset shows that the body is
  // cut.
  if (handed_over_) {
    if (whole) co_return after_answer::handed_over;
    handed_over_.reset();  // the handler failed after all
  }
  if (!whole) co_return end_ == framing::until_close ? after_answer::reset : after_answer::end;
  if (!keep_) co_return body_.ended() ? after_answer::end : after_answer::linger;
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
  started_status_ = r.status();
  end_ = framing::none;
  keep_ = false;
  muted_ = true;
  written_ = 0;
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
