// SPDX-License-Identifier: MIT
// The reading loop, and streams from their first frame to their last.
#include "web/http2_session.hh"

#include <algorithm>
#include <utility>

#include "heddle/core/yield.hh"

namespace heddle::http {

task<bool> http2_connection::burst(stream& conn, overload_control::credit& credit) {
  http2_session session(*this, conn, credit);
  const bool keep =
      co_await with_scope(&http2_session::run, std::ref(session), std::exchange(early, {}));
  co_return keep;
}

task<> http2_connection::leave(stream& conn) {
  if (leaving || !greeted) co_return;
  leaving = true;
  std::string out;
  put_goaway(out, last_stream, http2_error::no_error, {});
  static_cast<void>(co_await as_expected(
      with_timeout(conn.write(byte_view(out)), shared.options.linger_timeout)));
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
  for (const auto& x : self.streams_) x->reset();
  self.out_.flush();
  self.quiet_.reset();
  if (error) std::rethrow_exception(error);
  co_return keep;
}

bool http2_session::idle() const noexcept {
  return streams_.empty() && out_.empty() && carry_.empty() && block_stream_ == 0 &&
         state_.settings_seen;
}

task<bool> http2_session::read_all(std::string early) {
  if (!state_.greeted) greet();
  if (!early.empty()) take(early);
  for (;;) {
    while (!failed_ && !out_.full()) {
      const received in = conn_.take();
      if (in.empty()) break;
      take(in.text());
    }
    acknowledgements_ = 0;
    end_if_drained();
    if (failed_) {
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
    if (idle()) co_return !state_.leaving && !peer_leaves_;
    quiet_.emplace();
    const bool head_due = !carry_.empty() || block_stream_ != 0 || !state_.settings_seen;
    const nanoseconds patience =
        head_due ? state_.shared.options.header_timeout : std::chrono::hours(24 * 365);
    // When the server begins to stop, GOAWAY leaves at once and does not wait for streams.
    cancel_source& drains = state_.leaving ? never_ : state_.shared.draining;
    auto in = co_await as_expected(
        with_cancel(drains, with_timeout(with_cancel(*quiet_, conn_.receive()), patience)));
    if (in) {
      if (in->empty()) co_return false;  // the peer is gone
      take(in->text());
    } else if (in.error() == std::errc::timed_out) {
      ++state_.shared.counters.header_timeouts;
      fail(http2_error::enhance_your_calm, "a frame took too long");
    } else if (!quiet_->canceled() && !drains.canceled()) {
      throw failure(in.error());
    }
  }
}

/// Nothing is open any more: the connection may rest, or end. A broken one is closed at once.
void http2_session::end_wait_if_idle() {
  if ((idle() || out_.broken()) && quiet_) quiet_->cancel();
}

/// Our settings, and a window for the connection that lets several streams fill theirs.
void http2_session::greet() {
  state_.greeted = true;
  std::string payload;
  put_setting(payload, http2_setting::max_concurrent_streams, http2_connection::streams_max);
  put_setting(payload, http2_setting::initial_window_size, http2_connection::stream_window);
  put_setting(payload, http2_setting::max_header_list_size,
              state_.shared.head_bounds.header_bytes_max);
  put_setting(payload, http2_setting::no_rfc7540_priorities, 1);
  if (state_.shared.options.extended_connect)
    put_setting(payload, http2_setting::enable_connect_protocol, 1);
  put_http2_head(out_.gathered, payload.size(), http2_type::settings, 0, 0);
  out_.gathered.append(payload);
  constexpr auto more = http2_connection::connection_window - http2_first_window;
  put_window_update(out_.gathered, 0, more);
  state_.receive_window += more;
}

void http2_session::end_if_drained() {
  if (state_.shared.now != server_shared::phase::stopping || state_.leaving || failed_) return;
  state_.leaving = true;
  put_goaway(out_.gathered, state_.last_stream, http2_error::no_error, {});
}

bool http2_session::take_preface(std::string_view& bytes) {
  const std::size_t some = std::min(bytes.size(), http2_preface.size());
  if (bytes.substr(0, some) != http2_preface.substr(0, some)) {
    fail(http2_error::protocol_error, "no connection preface");
    return false;
  }
  if (some < http2_preface.size()) return false;
  bytes.remove_prefix(some);
  state_.preface_seen = true;
  return true;
}

/// Frames in these bytes, behind those that were left over.
void http2_session::take(std::string_view bytes) {
  const bool carried = !carry_.empty();
  if (carried) {
    carry_.append(bytes);
    bytes = carry_;
  }
  if (state_.preface_seen || take_preface(bytes)) {
    while (!failed_ && bytes.size() >= http2_head_bytes) {
      const http2_frame_head head = read_http2_head(bytes);
      if (head.length > http2_frame_bytes_max) {
        fail(http2_error::frame_size_error, "a frame is larger than SETTINGS_MAX_FRAME_SIZE");
        break;
      }
      if (bytes.size() < http2_head_bytes + head.length) break;
      take_frame(head, bytes.substr(http2_head_bytes, head.length));
      bytes.remove_prefix(http2_head_bytes + head.length);
    }
  }
  if (failed_) bytes = {};
  if (carried) {
    carry_.erase(0, carry_.size() - bytes.size());
  } else {
    carry_.assign(bytes);
  }
}

void http2_session::fail(http2_error why, std::string_view what) {
  if (failed_) return;
  failed_ = true;
  state_.leaving = true;
  ++state_.shared.counters.bad_heads;
  put_goaway(out_.gathered, state_.last_stream, why, what);
}

void http2_session::count_glitch() {
  if (!state_.glitches.take(worker::running().now))
    fail(http2_error::enhance_your_calm, "too many frames that do nothing");
}

http2_exchange* http2_session::find(std::uint32_t id) noexcept {
  const auto at = std::ranges::lower_bound(
      streams_, id, {}, [](const std::unique_ptr<http2_exchange>& x) { return x->id(); });
  return at != streams_.end() && (*at)->id() == id ? at->get() : nullptr;
}

void http2_session::reset_stream(std::uint32_t id, http2_error why) {
  put_rst_stream(out_.gathered, id, why);
  reset_lately_[reset_count_++ % reset_lately_.size()] = id;
  if (http2_exchange* const x = find(id)) x->reset();
  if (why != http2_error::no_error && !state_.resets.take(worker::running().now))
    fail(http2_error::enhance_your_calm, "too many streams were reset");
  out_.flush_soon();
}

/// One stream's task. `refused`: the status of a head that no handler sees, or 0.
task<> http2_session::serve(http2_session& self, http2_exchange& x, int refused) {
  bool whole = false;
  try {
    if (refused != 0) {
      whole = co_await x.refuse(refused, {});
    } else {
      whole = co_await with_cancel(x.stop, x.answer(self.credit_));
    }
    if (whole && !x.request_ended() && !x.had_tunnel())
      co_await with_cancel(x.stop, x.finish_body());
  } catch (const std::system_error& e) {
    if (e.code() != std::errc::operation_canceled) ++self.state_.shared.counters.errors;
  } catch (...) {
    ++self.state_.shared.counters.errors;  // one stream's trouble is no other's
  }
  co_await x.end_tunnel();
  if (!x.was_reset() && !self.failed_) {
    if (!whole) {
      self.reset_stream(x.id(), http2_error::internal_error);
    } else if (!x.request_ended()) {
      self.reset_stream(x.id(), http2_error::no_error);  // section 8.1: no need to send the rest
    }
  }
  self.forget(x);
}

void http2_session::forget(http2_exchange& x) {
  x.abandon();
  const auto at = std::ranges::lower_bound(
      streams_, x.id(), {}, [](const std::unique_ptr<http2_exchange>& y) { return y->id(); });
  streams_.erase(at);
  end_wait_if_idle();
}

}  // namespace heddle::http
