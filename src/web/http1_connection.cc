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

/// Whether all bytes that came belong to the preface of HTTP/2, of which a part may still be on its
/// way.
bool begins_preface(std::string_view bytes) noexcept {
  constexpr std::string_view line = http2_preface.substr(0, http2_preface.find('\n') + 1);
  const std::size_t some = std::min(bytes.size(), line.size());
  return bytes.substr(0, some) == line.substr(0, some);
}

}  // namespace

task<burst_end> http1_connection::burst(server_shared& shared, stream& conn,
                                        overload_control::credit& credit) {
  if (shared.options.http2) {
    // RFC 9113 section 3.2: a client that agrees on h2 by ALPN speaks nothing else.
    const stream_layer* const layer = layer_of(conn);
    if (layer != nullptr && layer->application_protocol() == "h2") {
      shared.handed_over.push_back(std::make_unique<handed_over>(
          handed_over{&conn, std::make_unique<http2_server_connection>(shared, &conn, ""), {}, {}}));
      co_return burst_end::handed_over;
    }
  }
  http1_connection x(shared, conn, credit);
  std::size_t in_a_row = 0;
  bool keep = true;
  while (keep) {
    const parse_state state = x.parser_.feed(x.in_.rest);
    if (state == parse_state::failed) {
      // RFC 9113 section 3.3: a client may know that the server speaks HTTP/2.
      if (in_a_row == 0 && shared.options.http2 && begins_preface(x.in_.rest)) {
        std::string early(x.in_.rest);
        x.in_.rest = {};
        x.in_.drop_blocks();
        shared.handed_over.push_back(std::make_unique<handed_over>(handed_over{
            &conn, std::make_unique<http2_server_connection>(shared, &conn, std::move(early)), {}, {}}));
        co_return burst_end::handed_over;
      }
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
        if (x.out_.sent_at_once()) co_return burst_end::rest;
        const bool sent = co_await x.out_.flush();
        co_return sent ? burst_end::rest : burst_end::close;
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
  if (x.after_ == after_answer::handed_over) {
    shared.handed_over.push_back(x.exchange_.take_handed_over());
    co_return burst_end::handed_over;
  }
  if (x.after_ == after_answer::reset) {
    conn.reset_on_close();
    co_return burst_end::close;
  }
  x.out_.time_untimed();  // lingering is not a part of their time
  if (!conn.is_cut() && (x.after_ == after_answer::linger || !x.in_.rest.empty()))
    static_cast<void>(
        co_await as_expected(with_timeout(x.linger(), shared.options.linger_timeout)));
  co_return burst_end::close;
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
