// SPDX-License-Identifier: MIT
// The reading loop, and streams from their first frame to their last.
#include "web/http2_session.hh"

#include <algorithm>
#include <utility>

#include "heddle/base/sometimes.hh"
#include "heddle/core/yield.hh"
#include "heddle/http/problem.hh"

namespace heddle::http {
namespace {

http2_exchange& exchange_of(http2_stream& s) noexcept { return static_cast<http2_exchange&>(s); }

}  // namespace

task<bool> http2_server_connection::burst(stream& conn, overload_control::credit& credit) {
  http2_session session(*this, conn, credit);
  const bool keep =
      co_await with_scope(&http2_session::run, std::ref(session), std::exchange(early, {}));
  co_return keep;
}

task<> http2_server_connection::leave(stream& conn) {
  if (leaving() || !greeted) co_return;
  goodbye = goodbye_step::said;
  std::string out;
  put_goaway(out, last_stream, http2_error::no_error, {});
  static_cast<void>(co_await as_expected(
      with_timeout(conn.write(byte_view(out)), shared.options.linger_timeout)));
}

task<> http2_server_connection::linger(stream& conn) {
  if (broken || conn.is_cut()) co_return;
  static_cast<void>(
      co_await as_expected(with_timeout(drop_input(conn), shared.options.linger_timeout)));
}

/// The client may send as much as its window allows.
task<> http2_server_connection::drop_input(stream& conn) {
  conn.shutdown_write();  // throws if the client has reset the connection
  std::size_t left = shared.options.drain_bytes_max + bounds.connection_window;
  for (;;) {
    const received in = co_await conn.receive();
    if (in.empty() || in.size() >= left) co_return;
    left -= in.size();
  }
}

task<bool> http2_session::run(scope& tasks, http2_session& self, std::string early) {
  self.tasks_ = &tasks;
  self.out_.begin(tasks, [&self] { self.end_wait_if_idle(); });
  bool keep = false;
  std::exception_ptr error;
  try {
    keep = co_await self.read_all(std::move(early));
  } catch (...) {
    error = std::current_exception();
  }
  // Streams that are still open end with the connection.
  for (http2_stream* const s : self.streams()) {
    s->end_by_reset();
    exchange_of(*s).stop_handler();
  }
  self.out_.flush();
  self.state_.broken = self.out_.broken();
  self.quiet_.reset();
  if (error) std::rethrow_exception(error);
  co_return keep;
}

bool http2_session::idle() const noexcept {
  return streams().empty() && out_.empty() && !has_part() && state_.settings_seen &&
         (state_.goodbye == goodbye_step::none || state_.leaving());
}

task<bool> http2_session::read_all(std::string early) {
  if (!state_.greeted) greet();
  if (!early.empty()) take_bytes(early);
  for (;;) {
    while (!has_failed() && !out_.full()) {
      const received in = conn_.take();
      if (in.empty()) break;
      take_bytes(in.text());
    }
    forget_acknowledgements();
    end_if_drained();
    if (has_failed()) {
      out_.flush();
      while (!out_.empty() && !out_.broken()) co_await out_.changed.wait();
      co_return false;
    }
    co_await yield();  // streams that were opened are answered, and their answers leave together
    out_.flush();
    if (out_.broken()) co_return false;
    if (out_.full()) {
      co_await out_.changed.wait();
      continue;
    }
    if (idle()) co_return !state_.leaving() && !peer_leaves_;
    quiet_.emplace();
    const bool head_due = has_part() || !state_.settings_seen;
    const bool answer_due = state_.goodbye == goodbye_step::announced;
    const nanoseconds patience = answer_due ? state_.shared.options.linger_timeout
                                 : head_due ? state_.shared.options.header_timeout
                                            : std::chrono::hours(24 * 365);
    // When the server begins to stop, GOAWAY leaves at once and does not wait for streams.
    cancel_source& drains = state_.goodbye == goodbye_step::none ? state_.shared.draining : never_;
    auto in = co_await as_expected(
        with_cancel(drains, with_timeout(with_cancel(*quiet_, conn_.receive()), patience)));
    if (in) {
      if (in->empty()) co_return false;  // the peer is gone
      take_bytes(in->text());
    } else if (in.error() == std::errc::timed_out && answer_due) {
      state_.goodbye = goodbye_step::acknowledged;  // the client answers no PING
    } else if (in.error() == std::errc::timed_out) {
      ++state_.shared.counters.header_timeouts;
      fail(http2_error::enhance_your_calm, "a frame took too long");
    } else if (!quiet_->canceled() && !drains.canceled()) {
      throw failure(in.error());
    }
  }
}

/// Ends the wait for bytes if nothing is open any more: the connection may become idle, or end. A
/// broken one is closed at once.
void http2_session::end_wait_if_idle() {
  if ((idle() || out_.broken()) && quiet_) quiet_->cancel();
}

void http2_session::greet() {
  state_.greeted = true;
  std::string settings;
  put_setting(settings, http2_setting::max_concurrent_streams,
              http2_server_connection::streams_max);
  put_setting(settings, http2_setting::initial_window_size, bounds_.stream_window);
  put_setting(settings, http2_setting::max_header_list_size, head_bounds_.header_bytes_max);
  put_setting(settings, http2_setting::no_rfc7540_priorities, 1);
  if (state_.shared.options.extended_connect)
    put_setting(settings, http2_setting::enable_connect_protocol, 1);
  http2_connection::greet(settings);
}

/// Says goodbye in two steps (RFC 9113 section 6.8): requests that are on their way when the first
/// GOAWAY leaves are answered. The answer to a PING tells that the client has read it.
void http2_session::end_if_drained() {
  if (state_.shared.now != server_shared::phase::stopping || has_failed()) return;
  if (state_.goodbye == goodbye_step::none) {
    state_.goodbye = goodbye_step::announced;
    put_goaway(out_.gathered, http2_window_max, http2_error::no_error, {});
    put_http2_head(out_.gathered, 8, http2_type::ping, 0, 0);
    out_.gathered.append("draining");
  } else if (state_.goodbye == goodbye_step::acknowledged) {
    if (!streams().empty())
      HEDDLE_SOMETIMES("an HTTP/2 server names its last stream while requests run");
    state_.goodbye = goodbye_step::said;
    put_goaway(out_.gathered, state_.last_stream, http2_error::no_error, {});
  }
}

void http2_session::on_ping_answer() {
  if (state_.goodbye != goodbye_step::announced) return count_glitch();
  state_.goodbye = goodbye_step::acknowledged;
}

/// Takes the client's preface, then frames.
void http2_session::take_bytes(std::string_view bytes) {
  const std::string_view due = http2_preface.substr(state_.preface_bytes);
  const std::size_t some = std::min(bytes.size(), due.size());
  if (bytes.substr(0, some) != due.substr(0, some))
    return fail(http2_error::protocol_error, "no connection preface");
  state_.preface_bytes = static_cast<std::uint8_t>(state_.preface_bytes + some);
  take(bytes.substr(some));
}

void http2_session::on_failure(std::string_view, http2_flood) {
  state_.goodbye = goodbye_step::said;
  ++state_.shared.counters.bad_heads;
}

void http2_session::on_fault(http2_stream* s, const http2_fault& because) {
  if (s != nullptr) exchange_of(*s).stop_handler();
  if (because.why != http2_error::no_error && !state_.resets.take(worker::running().now))
    fail_flood(http2_flood::resets);
}

void http2_session::on_reset(http2_stream* s, std::uint32_t) {
  if (s != nullptr) exchange_of(*s).stop_handler();
  if (!state_.resets.take(worker::running().now)) fail_flood(http2_flood::resets);
}

/// Notes that the peer opens no more streams. Open streams are answered.
void http2_session::on_goaway(std::uint32_t, std::uint32_t, std::string_view) {
  peer_leaves_ = true;
}

std::string_view http2_session::on_setting(http2_setting name, std::uint32_t value) {
  return name == http2_setting::enable_push && value > 1 ? "ENABLE_PUSH is 0 or 1" : "";
}

/// Takes the new priority of a stream (RFC 9218 section 7.1).
void http2_session::on_priority(std::uint32_t id, std::string_view text) {
  if (id % 2 == 0)  // 0, or a pushed stream: a client may not begin either
    return fail(http2_error::protocol_error, "PRIORITY_UPDATE for a stream that cannot be");
  const http2_priority wanted = read_priority(text);
  if (http2_stream* const s = find(id)) {
    s->sender.priority = wanted;
  } else if (id > state_.last_stream) {
    std::erase_if(early_priorities_, [id](const early_priority& e) { return e.id == id; });
    if (early_priorities_.size() == early_priorities_max)
      early_priorities_.erase(early_priorities_.begin());
    early_priorities_.push_back({id, wanted});
  }
}

/// Gives a stream its early PRIORITY_UPDATE, which goes before the field of the request.
void http2_session::take_early_priority(http2_sender& of) {
  const auto found = std::ranges::find(early_priorities_, of.id, &early_priority::id);
  if (found == early_priorities_.end()) return;
  of.priority = found->wanted;
  early_priorities_.erase(found);
}

void http2_session::on_head(std::uint32_t id, http2_stream*, std::string_view block, bool ends) {
  std::string text, protocol;
  const http2_block what = read_http2_request(state_.decoder, block, head_bounds_, text, protocol);
  if (what == http2_block::broken)
    return fail(http2_error::compression_error, "a header block cannot be decoded");
  if (state_.leaving()) return;  // section 6.8: it may be asked again elsewhere
  state_.last_stream = id;
  allow_late(late_for_stream);
  if (streams().size() >= http2_server_connection::streams_max)
    return reset_stream(id, {http2_error::refused_stream, std::errc::bad_message, {}});
  const bool unasked = !protocol.empty() && !state_.shared.options.extended_connect;
  if (what == http2_block::malformed || unasked) return reset_stream(id, malformed("a bad head"));
  open_stream(id, what, std::move(text), std::move(protocol), ends);
}

void http2_session::open_stream(std::uint32_t id, http2_block what, std::string&& text,
                                std::string&& protocol, bool ends) {
  int refused = 0;
  if (what == http2_block::too_large) {
    ++state_.shared.counters.heads_too_large;
    refused = 431;
  }
  auto x = std::make_unique<http2_exchange>(*this, id, std::move(text));
  x->offer(std::move(protocol));
  const problem wrong = x->begin(ends);
  if (wrong != problem::none) {
    refused = status_of(wrong);
    server_counters& c = state_.shared.counters;
    ++(refused == 414 ? c.uris_too_long : refused == 431 ? c.heads_too_large : c.bad_heads);
    if (refused == 400) return reset_stream(id, malformed("a bad head"));
  }
  if (refused == 0) {
    const std::string_view priority = x->head().value("priority");
    if (!priority.empty()) x->sender.priority = read_priority(priority);
    take_early_priority(x->sender);
  }
  http2_exchange& opened = *x;
  task<> answering = serve(*this, std::move(x), refused);
  add(opened);
  tasks_->spawn(std::move(answering));
}

task<> http2_session::serve(http2_session& self, std::unique_ptr<http2_exchange> owned,
                            int refused) {
  http2_exchange& x = *owned;
  bool whole = false;
  try {
    if (refused != 0) {
      whole = co_await x.refuse(refused, {});
    } else {
      whole = co_await with_cancel(x.stop, x.answer(self.credit_));
    }
    if (whole && !x.has_ended_remote() && !x.had_tunnel())
      co_await with_cancel(x.stop, x.finish_body());
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::operation_canceled) ++self.state_.shared.counters.errors;
  } catch (...) {
    ++self.state_.shared.counters.errors;  // one stream's trouble is no other's
  }
  co_await x.end_tunnel();
  if (!x.is_reset() && !self.has_failed()) {
    if (!whole) {
      self.reset_stream(x.id(), {http2_error::internal_error, std::errc::bad_message, {}});
    } else if (!x.has_ended_remote()) {  // section 8.1: no need to send the rest
      self.reset_stream(x.id(), {http2_error::no_error, std::errc::bad_message, {}});
    }
  }
  self.remove(x);
  self.give_back_unread(x.arrived.size());
  self.end_wait_if_idle();
}

}  // namespace heddle::http
