// SPDX-License-Identifier: MIT
// The answer of a stream: HEADERS, DATA, trailers.
#include "web/http2_exchange.hh"

#include <algorithm>
#include <utility>

#include "heddle/core/expected.hh"
#include "heddle/http/chunked.hh"
#include "heddle/http/status.hh"
#include "heddle/web/incoming.hh"
#include "heddle/web/problem_details.hh"
#include "web/answer_wait.hh"
#include "web/driver_call.hh"
#include "web/file_share.hh"
#include "web/http2_head.hh"
#include "web/http2_session.hh"

namespace heddle::http {
namespace {

constexpr std::size_t file_part = 64 * 1024;

}  // namespace

/// Sets the properties in which a head of HTTP/2 differs from its text in the form of HTTP/1.1.
struct http2_meaning {
  static void set(request_head& head, bool ends) noexcept {
    head.major_version_ = 2;
    head.keep_alive_ = true;
    head.upgrade_ = false;
    if (ends) {
      head.body_ = framing::none;
    } else if (head.body_ == framing::none) {
      head.body_ = framing::chunked;  // the end is a flag, the length unknown
    }
  }
};

http2_exchange::http2_exchange(http2_session& on, std::uint32_t id, std::string&& head_text)
    : http2_request(on.shared(), std::move(head_text)),
      exchange(on.shared(), parser.head()),
      on_(on),
      out_(on.output()) {
  sender.id = id;
  sender.window = on.peer_stream_window();
  receive_window = http2_server_connection::bounds.stream_window;
  has_head = true;
}

address http2_exchange::socket_peer() noexcept { return on_.connection().peer(); }

problem http2_exchange::begin(bool ends) {
  begin_request();
  if (ends) end_remote();
  const parse_state state = parser.feed(text);
  if (state == parse_state::failed) return parser.error();
  HEDDLE_ASSERT(state == parse_state::done, "the text of a head is whole");
  continue_due_ = head_.expects_continue();
  http2_meaning::set(parser.head(), ends);
  if (head_.has(header_id::content_length)) length = head_.content_length();
  if (ends && length.value_or(0) != 0) return problem::length_malformed;
  budget_.begin(shared_.options, !ends);
  return problem::none;
}

task<bool> http2_exchange::answer(overload_control::credit& credit) {
  answer_wait answer(*this, credit);
  response& r = co_await answer;
  if (had_tunnel()) co_return co_await run_tunnel(r.sent());
  if (started_status_ != 0) [[unlikely]]
    co_return co_await end_started(r.sent());
  co_return co_await send_body(r);
}

task<bool> http2_exchange::refuse(int status, std::string_view why) {
  const response r = error(nullptr, status, why);
  co_return co_await send_body(r);
}

/// Sends the head of an answer that is known whole, and its body.
task<bool> http2_exchange::send_body(const response& r) {
  const bool has_body = body_allowed(r.status());
  // Not the head's verb: a head that is refused may not have been parsed so far.
  const bool headless = text.starts_with("HEAD ");
  const std::uint64_t length = headless || !has_body ? 0 : r.length();
  put_head(r, has_body, length == 0);
  count(&head_, r.status(), length);
  if (length == 0) {
    out_.flush_soon();
    co_return true;
  }
  if (!r.file()) {
    std::string_view bytes = r.body().bytes().text();
    if (out_.send_now(sender, bytes, true)) {
      note_end();
      on_.allow_late_for(r.body().size());
      out_.flush_soon();
      co_return true;
    }
    co_return co_await send_part(bytes, true);
  }
  file_share share(shared_.file_bytes_held, shared_.options.file_bytes_max);
  std::string part;
  std::uint64_t at = r.file_offset();
  for (std::uint64_t left = length; left != 0;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(left, file_part));
    const std::size_t granted = share.take(wanted);
    if (granted < wanted) {
      ++shared_.counters.file_parts_short;
      std::string().swap(part);  // the part's memory counts no longer
    }
    part.resize(granted);
    const std::int64_t got =
        co_await read_uninterrupted(r.file().number(), part.data(), part.size(), at);
    if (got <= 0) {  // the file shrank: the promised length cannot be kept
      ++shared_.counters.errors;
      co_return false;
    }
    left -= static_cast<std::uint64_t>(got);
    at += static_cast<std::uint64_t>(got);
    const std::string_view bytes = std::string_view(part).substr(0, static_cast<std::size_t>(got));
    if (!co_await send_part(bytes, left == 0)) co_return false;
  }
  co_return true;
}

void http2_exchange::put_head(const response& r, bool length, bool ends) {
  put_header_block_by(out_.gathered, sender.id, ends, [&](std::string& out) {
    put_http2_answer(out, r, added_, length, shared_.opening, shared_.packed);
  });
  if (ends) note_end();
}

task<bool> http2_exchange::send_part(std::string_view bytes, bool ends) {
  on_.allow_late_for(bytes.size());
  const bool sent = co_await out_.send(sender, bytes, ends);
  if (sent && ends) note_end();
  co_return sent;
}

time_point http2_exchange::answered_at() {
  const time_point now = worker::running().sched.read_clock();
  shared_.shedding.control().meter().note_time(now);
  return now;
}

void http2_exchange::put_started(const response& r) {
  // 100 Continue may not follow the answer; a handler that starts one first still reads the body.
  if (r.status() < 400) put_continue();
  continue_due_ = false;
  put_head(r, length_said_, muted_);
  out_.flush_soon();
}

task<> http2_exchange::inform(const response& r) {
  put_header_block_by(out_.gathered, sender.id, false,
                      [&](std::string& out) { put_http2_interim(out, r); });
  out_.flush_soon();
  co_return;
}

/// Gives false at once: the end of a stream cancels its handler.
task<bool> http2_exchange::client_ended() { co_return false; }

task<> http2_exchange::write_part(std::string_view bytes) {
  if (!take_part(bytes, cut_)) co_return;
  const auto sent = co_await as_expected(send_part(bytes, false));
  cut_ = cut_ || !sent || !*sent;  // a part of it may have left
  if (!sent) throw failure(sent.error());
  if (!*sent) throw failure(client_gone(), "the client takes no more of the answer");
}

task<> http2_exchange::write_out() {
  out_.flush();
  if (out_.broken()) throw failure(client_gone(), "the client takes no more of the answer");
  co_return;
}

/// Ends a started answer, because its handler has ended. `whole`: the handler says that it has
/// written all of it.
task<bool> http2_exchange::end_started(bool whole) {
  whole = end_parts(whole && !cut_);
  if (!whole || muted_) co_return whole;
  if (trailers_.empty()) {
    put_http2_head(out_.gathered, 0, http2_type::data, http2_flag::end_stream, sender.id);
  } else {
    put_header_block_by(out_.gathered, sender.id, true,
                        [&](std::string& out) { put_http2_trailers(out, trailers_); });
  }
  note_end();
  out_.flush_soon();
  co_return true;
}

}  // namespace heddle::http
