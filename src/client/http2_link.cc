// SPDX-License-Identifier: MIT
// The life of a connection of HTTP/2: its task, its streams from their first frame to their last.
#include "heddle/client/detail/http2_link.hh"

#include <algorithm>
#include <utility>

#include "heddle/core/expected.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/core/yield.hh"

namespace heddle::http::detail {
namespace {

constexpr nanoseconds goodbye_time = std::chrono::seconds(2);  // for GOAWAY to leave
// Servers of gRPC end a connection that gets PING more often than every five minutes.
constexpr nanoseconds doubt_pause = std::chrono::minutes(5);

/// Bounds a window to the largest that HTTP/2 allows.
std::uint32_t window_in_range(std::uint32_t asked) noexcept {
  return std::min(asked, static_cast<std::uint32_t>(http2_window_max));
}

http2_bounds bounds_of(const client_http2& o) noexcept {
  return {.stream_window = window_in_range(o.stream_window),
          .connection_window = window_in_range(o.connection_window),
          .header_block_bytes_max = o.header_block_bytes_max,
          .continuations_max = o.continuations_max,
          .empty_frames_max = o.empty_frames_max,
          .acknowledgements_max = o.acknowledgements_max};
}

}  // namespace

http2_link::http2_link(stream on, std::shared_ptr<const client_options> options)
    : http2_connection(kept_, out_, limits_, options->bounds),
      permits(std::max<std::uint32_t>(options->http2.streams_max, 1)),
      conn_(std::move(on)),
      options_(std::move(options)),
      limits_(bounds_of(options_->http2)),
      kept_(options_->bounds.header_bytes_max,
            rate_budget(options_->http2.glitches_max, options_->http2.glitches_per_second),
            rate_budget(options_->http2.settings_max, options_->http2.settings_per_second)),
      out_(kept_, conn_,
           {options_->timeouts.transfer, options_->http2.output_bytes_max, sent_bytes_,
            send_errors_, write_timeouts_}),
      allowed_(std::max<std::uint32_t>(options_->http2.streams_max, 1)),
      last_heard_(clock::now()),
      unused_since_(last_heard_) {
  out_.gathered = http2_preface;
  std::string settings;
  put_setting(settings, http2_setting::enable_push, 0);
  put_setting(settings, http2_setting::initial_window_size, limits_.stream_window);
  put_setting(settings, http2_setting::max_header_list_size, options_->bounds.header_bytes_max);
  greet(settings);
}

task<> http2_link::run(std::shared_ptr<http2_link> self) {
  static_cast<void>(co_await as_expected(with_scope(&http2_link::talk, std::ref(*self))));
  self->out_.shut();
  if (self->ended) std::exchange(self->ended, nullptr)();
  self->changed = nullptr;
}

task<> http2_link::talk(scope& tasks, http2_link& self) {
  self.out_.begin(tasks, [&self] {
    if (self.out_.broken()) self.nudge();
  });
  try {
    co_await self.read_all();
  } catch (const std::system_error& e) {
    if (!self.trouble_) self.trouble_ = {e.code(), "the connection broke"};
  } catch (const std::bad_alloc&) {
    self.trouble_ = {std::make_error_code(std::errc::not_enough_memory), "no memory"};
  }
  if (self.over()) co_return;
  self.phase_ = link_phase::over;
  self.end_streams();
  static_cast<void>(co_await as_expected(with_timeout(self.say_goodbye(), goodbye_time)));
  self.conn_.close();
  self.out_.shut();
}

task<> http2_link::say_goodbye() {
  if (out_.broken()) co_return;
  if (!trouble_) put_goaway(out_.gathered, 0, http2_error::no_error, {});
  out_.flush();
  while (!out_.empty() && !out_.broken()) co_await out_.changed.wait();
}

/// Closes a connection without streams: its task does it or, if at_once_ is set, this function.
void http2_link::close_unused() noexcept {
  if (!at_once_) return nudge();
  if (std::exchange(phase_, link_phase::over) == link_phase::over) return;
  put_goaway(out_.gathered, 0, http2_error::no_error, {});
  out_.flush();
  conn_.close();
  out_.shut();
  end_streams();
  nudge();
}

void http2_link::end_streams() {
  const http2_trouble why = trouble_
                                ? *trouble_
                                : http2_trouble{std::make_error_code(std::errc::connection_reset),
                                                "the connection ended"};
  const std::vector<http2_stream*> ended = streams();
  remove_all();
  for (http2_stream* const s : ended) end_stream(static_cast<client_stream&>(*s), why);
  gone.cancel();
  for (const event<>& each : std::exchange(wait_for_settings_, {})) each.trigger();
}

task<> http2_link::read_all() {
  out_.flush();
  while (!trouble_ && !over() && !(is_leaving() && unused())) {
    while (!trouble_ && !out_.full()) {
      const received in = conn_.take();
      if (in.empty()) break;
      take_bytes(in.text());
    }
    forget_acknowledgements();
    co_await yield();  // requests that have news run, and what they send leaves together
    out_.flush();
    if (trouble_ || over()) co_return;
    if (out_.timed_out()) {
      trouble_ = {.code = std::make_error_code(std::errc::timed_out),
                  .text = "the server took no bytes in time; see client_timeouts::transfer",
                  .took_nothing = true};
    } else if (out_.broken()) {
      trouble_ = {std::make_error_code(std::errc::connection_reset), "the connection broke"};
    } else if (out_.full()) {
      co_await out_.changed.wait();
    } else if (!is_leaving() || !unused()) {
      co_await wait_for_bytes();
    }
  }
}

bool http2_link::is_awaited() const noexcept {
  return std::ranges::any_of(wait_for_settings_,
                             [](const event<>& each) { return static_cast<bool>(each); });
}

/// The time at which the connection must be checked even if no bytes come.
time_point http2_link::next_look(time_point now) const noexcept {
  const nanoseconds idle =
      std::max<nanoseconds>(options_->timeouts.idle, std::chrono::milliseconds(1));
  const time_point due = add_saturated(unused() && !is_awaited() ? unused_since_ : now, idle);
  if (pinged_) return std::min(due, add_saturated(pinged_at_, options_->http2.ping_timeout));
  if (unused() || options_->http2.ping_after == nanoseconds::zero()) return due;
  return std::min(due, add_saturated(last_heard_, options_->http2.ping_after));
}

task<> http2_link::wait_for_bytes() {
  waiting_.emplace();
  const time_point due = next_look(clock::now());
  auto in = co_await as_expected(with_deadline(with_cancel(*waiting_, conn_.receive()), due));
  const bool nudged = waiting_->canceled();
  waiting_.reset();
  if (in && in->empty()) {
    trouble_ = {std::make_error_code(std::errc::connection_reset),
                "the server closed the connection" + goodbye_};
    co_return;
  }
  if (in) {
    take_bytes(in->text());
    co_return;
  }
  if (in.error() != std::errc::timed_out || clock::now() < due) {
    if (!nudged || in.error() != std::errc::operation_canceled) throw failure(in.error());
    co_return;
  }
  const time_point now = clock::now();
  if (pinged_ && now >= add_saturated(pinged_at_, options_->http2.ping_timeout)) {
    trouble_ = {std::make_error_code(std::errc::timed_out),
                "the server answered no PING in time; see client_options::http2.ping_timeout"};
  } else if (unused()) {
    if (!is_awaited() && now >= add_saturated(unused_since_, options_->timeouts.idle)) leave();
  } else if (!pinged_ && options_->http2.ping_after != nanoseconds::zero() &&
             now >= add_saturated(last_heard_, options_->http2.ping_after)) {
    send_ping(now);
  }
}

void http2_link::send_ping(time_point now) {
  pinged_ = true;
  pinged_at_ = now;
  ++pings_out_;
  put_http2_head(out_.gathered, 8, http2_type::ping, 0, 0);
  out_.gathered.append("heddle\0\0", 8);
}

/// Sends PING after a request was given up and nothing has come since it was sent: other requests
/// would use the connection, which may be dead.
void http2_link::doubt() noexcept {
  const time_point now = clock::now();
  if (over() || pinged_ || now < no_doubt_before_) return;
  no_doubt_before_ = add_saturated(now, doubt_pause);
  send_ping(now);
  out_.flush_soon();
  nudge();
}

void http2_link::nudge() noexcept {
  if (waiting_) waiting_->cancel();
}

void http2_link::take_bytes(std::string_view bytes) {
  last_heard_ = clock::now();
  pinged_ = false;
  if (!kept_.settings_seen && bytes.starts_with("HTTP/1."))
    fail(http2_error::protocol_error,
         "it speaks HTTP/1.1; prior knowledge (http2.prior_knowledge, h2c://) is for HTTP/2");
  take(bytes);
}

void http2_link::open(client_stream& s, std::string_view block, bool ends) {
  if (!takes_requests()) {
    s.end_by_reset();
    s.trouble = http2_trouble{std::make_error_code(std::errc::connection_reset),
                              "the connection ended" + goodbye_, true};
    return;
  }
  const bool was_unused = unused();
  allow_late(late_for_stream);
  s.sender.id = std::exchange(next_id_, next_id_ + 2);
  s.sender.window = kept_.peer_stream_window;
  s.receive_window = limits_.stream_window;
  s.heard_before = last_heard_;
  if (ends) s.end_local();
  put_header_block(out_.gathered, block, s.id(), ends);
  add(s);
  out_.flush_soon();
  if (!was_unused) return;
  if (changed) changed();
  if (options_->http2.ping_after != nanoseconds::zero()) nudge();
}

void http2_link::release(client_stream& s) noexcept {
  s.stop.cancel();
  const bool listed = s.id() != 0 && find(s.id()) == &s;
  if (listed && !over()) {
    if (!s.is_reset() && s.state() != http2_stream_state::closed) {
      reset_stream(s.id(), {http2_error::cancel, std::errc::operation_canceled, {}});
      if (!s.has_ended_remote() && s.heard_before == last_heard_) doubt();
    }
    give_back_unread(s.arrived.size());
  }
  if (listed) remove(s);
  if (s.permit && to_withhold_ != 0) {
    --to_withhold_;
    withheld_.push_back(std::move(s.permit));
  }
  s.permit.release();
  if (!listed || !unused()) return;
  unused_since_ = clock::now();
  if (changed) changed();
  if (is_leaving()) close_unused();
}

/// Ends a stream. If the whole answer has come, only the request's body is ended.
void http2_link::end_stream(client_stream& s, http2_trouble because) {
  if (!s.trouble && !s.has_ended_remote()) s.trouble = std::move(because);
  s.end_by_reset();
  s.stop.cancel();
}

void http2_link::leave(bool at_once) noexcept {
  stop_opening();
  at_once_ = at_once_ || at_once;
  gone.cancel();
  if (at_once && over()) {  // the connection waits for its last frames to leave
    conn_.close();
    out_.shut();
  } else if (unused()) {
    close_unused();
  }
}

bool http2_link::send_now(client_stream& s, std::string_view& bytes, bool ends) {
  if (!s.may_send() || over()) return false;
  allow_late_for(bytes.size());
  const bool all = out_.send_now(s.sender, bytes, ends);
  if (all && ends) s.end_local();
  out_.flush_soon();
  return all;
}

task<bool> http2_link::send(client_stream& s, std::string_view bytes, bool ends) {
  if (!s.may_send() || over()) co_return false;
  allow_late_for(bytes.size());
  const auto sent = co_await as_expected(with_cancel(s.stop, out_.send(s.sender, bytes, ends)));
  if (!sent && s.stop.canceled()) co_return false;
  if (!sent) throw failure(sent.error());
  if (*sent && ends && s.may_send()) s.end_local();
  co_return *sent;
}

void http2_link::send_trailers(client_stream& s, std::string_view block) {
  if (!s.may_send() || over()) return;
  put_header_block(out_.gathered, block, s.id(), true);
  s.end_local();
  out_.flush_soon();
}

/// Sets the number of allowed streams. A smaller number withholds permits; those in use are
/// withheld when their streams end.
void http2_link::allow_streams(std::uint32_t most) {
  most = std::min(most, std::max<std::uint32_t>(options_->http2.streams_max, 1));
  for (; allowed_ > most; --allowed_) {
    gate::hold one = permits.try_acquire();
    if (one) {
      withheld_.push_back(std::move(one));
    } else {
      ++to_withhold_;
    }
  }
  for (; allowed_ < most; ++allowed_) {
    if (to_withhold_ != 0) {
      --to_withhold_;
    } else {
      withheld_.pop_back();
    }
  }
}

task<bool> http2_link::settled(time_point due) {
  while (!kept_.settings_seen && !over()) {
    rendezvous<> r;
    wait_for_settings_.push_back(r.make_event());
    co_await with_deadline(r, due);
  }
  co_return !over();
}

}  // namespace heddle::http::detail
