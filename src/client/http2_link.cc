// SPDX-License-Identifier: MIT
// The life of a connection of HTTP/2: its task, its streams from their first frame to their last.
#include "client/http2_link.hh"

#include <algorithm>
#include <utility>

#include "heddle/core/expected.hh"
#include "heddle/core/rendezvous.hh"
#include "heddle/core/yield.hh"

namespace heddle::http::detail {
namespace {

constexpr nanoseconds goodbye_time = std::chrono::seconds(2);  // for GOAWAY to leave

// How many frames an honest server may send about a request: a reset, the head and the trailers of
// an answer that is not wanted any more, and windows for parts of its body, however small.
constexpr std::uint64_t late_for_stream = 4;
constexpr std::uint64_t late_for_bytes(std::size_t bytes) noexcept { return 2 + bytes / 512; }

/// A window that both ends can count.
std::uint32_t window_in_range(std::uint32_t asked) noexcept {
  return std::min(asked, static_cast<std::uint32_t>(http2_window_max));
}

}  // namespace

http2_link::http2_link(stream on, std::shared_ptr<const client_options> options)
    : permits(std::max<std::uint32_t>(options->http2.streams_max, 1)),
      conn_(std::move(on)),
      options_(std::move(options)),
      bounds_(options_->http2),
      out_(state_, conn_,
           {options_->timeouts.transfer, bounds_.output_bytes_max, sent_bytes_, send_errors_,
            write_timeouts_}),
      decoder_(4096, options_->bounds.header_bytes_max),
      glitches_(bounds_.glitches_max, bounds_.glitches_per_second),
      settings_(bounds_.settings_max, bounds_.settings_per_second),
      allowed_(std::max<std::uint32_t>(bounds_.streams_max, 1)),
      last_heard_(clock::now()),
      unused_since_(last_heard_) {
  greet();
}

/// The preface, our settings, and a window for the connection that lets several streams fill
/// theirs.
void http2_link::greet() {
  out_.gathered = http2_preface;
  std::string payload;
  put_setting(payload, http2_setting::enable_push, 0);
  put_setting(payload, http2_setting::initial_window_size, window_in_range(bounds_.stream_window));
  put_setting(payload, http2_setting::max_header_list_size, options_->bounds.header_bytes_max);
  put_http2_head(out_.gathered, payload.size(), http2_type::settings, 0, 0);
  out_.gathered.append(payload);
  const std::uint32_t window = window_in_range(bounds_.connection_window);
  if (window <= http2_first_window) return;
  put_window_update(out_.gathered, 0, window - http2_first_window);
  receive_window_ = window;
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
  if (self.over_) co_return;
  self.leaving_ = true;
  self.over_ = true;
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
  if (std::exchange(over_, true)) return;
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
  for (const auto& s : std::exchange(streams_, {})) end_stream(*s, why);
  gone.cancel();
  for (const event<>& each : std::exchange(wait_for_settings_, {})) each.trigger();
}

task<> http2_link::read_all() {
  out_.flush();
  while (!trouble_ && !over_ && !(leaving_ && streams_.empty())) {
    while (!trouble_ && !out_.full()) {
      const received in = conn_.take();
      if (in.empty()) break;
      take(in.text());
    }
    acknowledgements_ = 0;
    co_await yield();  // requests that have news run, and what they send leaves together
    out_.flush();
    if (trouble_ || over_) co_return;
    if (out_.broken()) {
      trouble_ = {std::make_error_code(std::errc::connection_reset), "the connection broke"};
    } else if (out_.full()) {
      co_await out_.changed.wait();
    } else if (!leaving_ || !streams_.empty()) {
      co_await wait_for_bytes();
    }
  }
}

/// When the connection has to be looked at though no bytes come.
time_point http2_link::next_look(time_point now) const noexcept {
  const nanoseconds idle =
      std::max<nanoseconds>(options_->timeouts.idle, std::chrono::milliseconds(1));
  if (streams_.empty()) return add_saturated(unused_since_, idle);
  const time_point due = add_saturated(now, idle);
  if (bounds_.ping_after == nanoseconds::zero()) return due;
  return std::min(due, pinged_ ? add_saturated(pinged_at_, bounds_.ping_timeout)
                               : add_saturated(last_heard_, bounds_.ping_after));
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
    take(in->text());
    co_return;
  }
  if (in.error() != std::errc::timed_out || clock::now() < due) {
    if (!nudged || in.error() != std::errc::operation_canceled) throw failure(in.error());
    co_return;
  }
  const time_point now = clock::now();
  if (streams_.empty()) {
    if (now >= add_saturated(unused_since_, options_->timeouts.idle)) leave();
  } else if (bounds_.ping_after != nanoseconds::zero()) {
    if (pinged_ && now >= add_saturated(pinged_at_, bounds_.ping_timeout)) {
      trouble_ = {std::make_error_code(std::errc::timed_out),
                  "the server answered no PING in time; see client_options::http2.ping_timeout"};
    } else if (!pinged_ && now >= add_saturated(last_heard_, bounds_.ping_after)) {
      pinged_ = true;
      pinged_at_ = now;
      ++pings_out_;
      put_http2_head(out_.gathered, 8, http2_type::ping, 0, 0);
      out_.gathered.append("heddle\0\0", 8);
    }
  }
}

void http2_link::nudge() noexcept {
  if (waiting_) waiting_->cancel();
}

/// Frames in these bytes, behind those that were left over.
void http2_link::take(std::string_view bytes) {
  last_heard_ = clock::now();
  pinged_ = false;
  const bool carried = !carry_.empty();
  if (carried) {
    carry_.append(bytes);
    bytes = carry_;
  }
  if (!settings_seen_ && bytes.starts_with("HTTP/1."))
    fail(http2_error::protocol_error,
         "it speaks HTTP/1.1; client_options::http2.prior_knowledge is for servers of HTTP/2");
  while (!trouble_ && bytes.size() >= http2_head_bytes) {
    const http2_frame_head head = read_http2_head(bytes);
    if (head.length > http2_frame_bytes_max) {
      fail(http2_error::frame_size_error, "a frame is larger than SETTINGS_MAX_FRAME_SIZE");
      break;
    }
    if (bytes.size() < http2_head_bytes + head.length) break;
    take_frame(head, bytes.substr(http2_head_bytes, head.length));
    bytes.remove_prefix(http2_head_bytes + head.length);
  }
  if (trouble_) bytes = {};
  if (carried) {
    carry_.erase(0, carry_.size() - bytes.size());
  } else {
    carry_.assign(bytes);
  }
}

http2_stream* http2_link::find(std::uint32_t id) noexcept {
  const auto at = std::ranges::lower_bound(
      streams_, id, {}, [](const std::shared_ptr<http2_stream>& s) { return s->id(); });
  return at != streams_.end() && (*at)->id() == id ? at->get() : nullptr;
}

void http2_link::open(const std::shared_ptr<http2_stream>& s, std::string_view block, bool ends) {
  if (!takes_requests()) {
    s->trouble = http2_trouble{std::make_error_code(std::errc::connection_reset),
                               "the connection ended" + goodbye_, true};
    return;
  }
  const bool was_unused = streams_.empty();
  late_allowed_ += late_for_stream;
  s->sender.id = std::exchange(next_id_, next_id_ + 2);
  s->sender.window = state_.peer_stream_window;
  s->receive_window = window_in_range(bounds_.stream_window);
  s->client_ended = ends;
  put_header_block(out_.gathered, block, s->id(), ends);
  streams_.push_back(s);
  out_.flush_soon();
  if (!was_unused) return;
  if (changed) changed();
  if (bounds_.ping_after != nanoseconds::zero()) nudge();
}

void http2_link::release(http2_stream& s) noexcept {
  s.stop.cancel();
  const std::shared_ptr<http2_stream> kept = find(s.id()) == &s ? forget(s.id()) : nullptr;
  if (kept != nullptr && !over_) {
    if (!s.trouble && !(s.server_ended && s.client_ended)) {
      put_rst_stream(out_.gathered, s.id(), http2_error::cancel);
      out_.flush_soon();
    }
    give_back_unread(s.arrived.size());
  }
  if (s.permit && to_withhold_ != 0) {
    --to_withhold_;
    withheld_.push_back(std::move(s.permit));
  }
  s.permit.release();
  if (kept == nullptr || !streams_.empty()) return;
  unused_since_ = clock::now();
  if (changed) changed();
  if (leaving_) close_unused();
}

std::shared_ptr<http2_stream> http2_link::forget(std::uint32_t id) noexcept {
  const auto at = std::ranges::lower_bound(
      streams_, id, {}, [](const std::shared_ptr<http2_stream>& s) { return s->id(); });
  std::shared_ptr<http2_stream> kept = std::move(*at);
  streams_.erase(at);
  return kept;
}

void http2_link::end_stream(http2_stream& s, http2_trouble because) {
  if (!s.trouble && !s.server_ended) s.trouble = std::move(because);
  s.stop.cancel();
  s.news.wake();
}

void http2_link::reset(http2_stream& s, http2_error why, http2_trouble because) {
  if (s.trouble || find(s.id()) != &s) return;
  put_rst_stream(out_.gathered, s.id(), why);
  out_.flush_soon();
  end_stream(s, std::move(because));
}

void http2_link::leave(bool at_once) noexcept {
  leaving_ = true;
  at_once_ = at_once_ || at_once;
  gone.cancel();
  if (at_once && over_) {  // it waits for its last frames to leave
    conn_.close();
    out_.shut();
  } else if (streams_.empty()) {
    close_unused();
  }
}

bool http2_link::send_now(http2_stream& s, std::string_view& bytes, bool ends) {
  if (s.trouble || s.client_ended || over_) return false;
  late_allowed_ += late_for_bytes(bytes.size());
  const bool all = out_.send_now(s.sender, bytes, ends);
  if (all && ends) s.client_ended = true;
  out_.flush_soon();
  return all;
}

task<bool> http2_link::send(http2_stream& s, std::string_view bytes, bool ends) {
  if (s.trouble || s.client_ended || over_) co_return false;
  late_allowed_ += late_for_bytes(bytes.size());
  const auto sent = co_await as_expected(with_cancel(s.stop, out_.send(s.sender, bytes, ends)));
  if (!sent && s.stop.canceled()) co_return false;
  if (!sent) throw failure(sent.error());
  if (*sent && ends) s.client_ended = true;
  co_return *sent;
}

void http2_link::give_back_unread(std::size_t bytes) {
  to_give_back_ += static_cast<std::uint32_t>(bytes);
  const std::uint32_t window =
      std::max(window_in_range(bounds_.connection_window), http2_first_window);
  if (to_give_back_ < window / 2) return;
  put_window_update(out_.gathered, 0, to_give_back_);
  receive_window_ += std::exchange(to_give_back_, 0);
  out_.flush_soon();
}

void http2_link::give_back(http2_stream& s, std::size_t bytes) {
  if (over_) return;
  s.to_give_back += static_cast<std::uint32_t>(bytes);
  if (s.to_give_back >= window_in_range(bounds_.stream_window) / 2 && !s.over()) {
    put_window_update(out_.gathered, s.id(), s.to_give_back);
    s.receive_window += std::exchange(s.to_give_back, 0);
    out_.flush_soon();
  }
  give_back_unread(bytes);
}

/// A smaller number withholds permits; those in use are withheld when their streams end.
void http2_link::allow_streams(std::uint32_t most) {
  most = std::min(most, std::max<std::uint32_t>(bounds_.streams_max, 1));
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
  while (!settings_seen_ && !over_) {
    rendezvous<> r;
    wait_for_settings_.push_back(r.make_event());
    co_await with_deadline(r, due);
  }
  co_return !over_;
}

}  // namespace heddle::http::detail
