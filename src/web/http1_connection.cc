// SPDX-License-Identifier: MIT
// Parses and answers requests one after another, and sends answers to pipelined requests together.
#include "web/http1_connection.hh"

#include <algorithm>

#include "heddle/core/deadline.hh"
#include "heddle/core/yield.hh"
#include "heddle/io/layer.hh"
#include "web/handed_over.hh"

namespace heddle::http {
namespace {

/// Whether these bytes are those of the preface of HTTP/2, or its beginning.
bool may_be_preface(std::string_view bytes) noexcept {
  return !bytes.empty() && http2_preface.starts_with(bytes.substr(0, http2_preface.size()));
}

std::unique_ptr<handed_over> go_on_by_http2(server_shared& shared, std::string early) {
  auto to = std::make_unique<handed_over>();
  to->http2 = std::make_unique<http2_server_connection>(shared, std::move(early));
  return to;
}

burst_end hand_over(const server_connection& of, std::unique_ptr<handed_over> next) {
  of.taker.take_over(std::move(of.conn), of.of_peer, std::move(next));
  return burst_end::handed_over;
}

}  // namespace

task<burst_end> http1_connection::burst(server_shared& shared, server_connection of, bool fresh) {
  const bool chooses = fresh && shared.options.http2;
  if (chooses) {
    // RFC 9113 section 3.2: a client that agrees on h2 by ALPN speaks nothing else.
    const stream_layer* const layer = layer_of(of.conn);
    if (layer != nullptr && layer->application_protocol() == "h2")
      co_return hand_over(of, go_on_by_http2(shared, {}));
  }
  http1_connection x(shared, of);
  if (chooses && may_be_preface(x.in_.rest)) [[unlikely]] {
    auto http2 = co_await x.http2_by_preface();
    if (http2) co_return hand_over(of, std::move(http2));
  }
  std::size_t in_a_row = 0;
  bool keep = true;
  while (keep) {
    const parse_state state = x.parser_.feed(x.in_.rest);
    if (state == parse_state::failed) {
      x.refuse_head();
      keep = false;
    } else if (state == parse_state::need_more) {
      keep = co_await x.more_head();
      if (!keep) break;
    } else {
      x.in_.rest.remove_prefix(x.parser_.consumed());
      x.head_due_ = never;
      x.after_ = co_await x.exchange_.answer();
      keep = x.after_ == after_answer::next;
      if (keep) x.parser_.reset();
      if (keep && x.in_.rest.empty()) {
        if (x.out_.sent_at_once()) co_return burst_end::rests;
        const bool sent = co_await x.out_.flush();
        co_return sent ? burst_end::rests : burst_end::closes;
      }
      if (++in_a_row == shared.options.pipeline_max) {
        in_a_row = 0;
        ++shared.counters.pipeline_pauses;
        if (!x.out_.sent_at_once()) keep &= co_await x.out_.flush();
        if (keep) co_await yield();
      }
    }
    if (!keep || x.out_.gathered.size() >= shared.options.corked_bytes_max) {
      if (!x.out_.sent_at_once()) keep &= co_await x.out_.flush();
    }
  }
  if (x.after_ == after_answer::handed_over)
    co_return hand_over(of, x.exchange_.take_handed_over());
  if (x.after_ == after_answer::reset) {
    of.conn.reset_on_close();
    co_return burst_end::closes;
  }
  x.out_.time_untimed();  // lingering is not a part of their time
  if (!of.conn.is_cut() && (x.after_ == after_answer::linger || !x.in_.rest.empty()))
    static_cast<void>(
        co_await as_expected(with_timeout(x.linger(), shared.options.linger_timeout)));
  co_return burst_end::closes;
}

task<std::unique_ptr<handed_over>> http1_connection::http2_by_preface() {
  while (in_.rest.size() < http2_preface.size()) {
    const bool more = co_await more_head();
    if (!more || !may_be_preface(in_.rest)) co_return nullptr;
  }
  std::string early(in_.rest);
  in_.rest = {};
  in_.drop_blocks();
  co_return go_on_by_http2(shared_, std::move(early));
}

/// Reads and drops what the client still sends, for a while. If the connection were closed at once,
/// the client would get a reset instead of the answer.
task<> http1_connection::linger() {
  in_.drop_blocks();
  conn_.shutdown_write();
  std::size_t left = shared_.options.drain_bytes_max;
  for (;;) {
    const received in = co_await conn_.receive();
    if (in.empty() || in.size() >= left) co_return;
    left -= in.size();
  }
}

/// Reads the missing rest of a head; all of it must arrive before one deadline.
task<bool> http1_connection::more_head() {
  in_.keep_partial_head();
  if (!co_await out_.flush()) co_return false;
  if (head_due_ == never) head_due_ = add_saturated(clock::now(), shared_.options.header_timeout);
  auto in = co_await as_expected(with_deadline(conn_.receive(), head_due_));
  if (!in && in.error() == std::errc::timed_out) {
    ++shared_.counters.header_timeouts;
    // The bytes have moved, and the log reads the fields that came.
    static_cast<void>(parser_.feed(in_.rest));
    exchange_.refuse(408, "the head of the request took too long");
    after_ = after_answer::linger;
  }
  if (!in || in->empty()) {
    co_await out_.flush();
    co_return false;
  }
  in_.append(*in);
  co_return true;
}

void http1_connection::refuse_head() {
  const int status = status_of(parser_.error());
  server_counters& c = shared_.counters;
  ++(status == 414 ? c.uris_too_long : status == 431 ? c.heads_too_large : c.bad_heads);
  exchange_.refuse(status, describe(parser_.error()));
  after_ = after_answer::linger;
}

}  // namespace heddle::http
