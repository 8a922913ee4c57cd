// SPDX-License-Identifier: MIT
// How much of a body each stream may gather, and when gathered frames leave.
#include "heddle/http/detail/http2_output.hh"

#include <algorithm>

#include "heddle/core/deadline.hh"
#include "heddle/core/yield.hh"

namespace heddle::http {

std::size_t http2_output::room_for(const http2_sender& of) const noexcept {
  if (gathered.size() >= bodies_bytes_max) return 0;
  const std::int64_t window = std::min(of.window, state_.send_window);
  if (window <= 0) return 0;
  return std::min<std::size_t>(static_cast<std::size_t>(window),
                               std::min<std::size_t>(state_.peer_frame_bytes_max, turn_bytes));
}

bool http2_output::send_now(http2_sender& of, std::string_view& bytes, bool ends) {
  if (bytes.empty()) {
    if (ends) put_http2_head(gathered, 0, http2_type::data, http2_flag::end_stream, of.id);
    return true;
  }
  if (preceded(of)) return false;
  // Streams that want to be sent side by side have a frame each in turn.
  const bool once = of.priority.incremental && shared_turn(of);
  while (!bytes.empty()) {
    const std::size_t room = room_for(of);
    if (room == 0) return false;
    const std::string_view part = bytes.substr(0, room);
    bytes.remove_prefix(part.size());
    const bool last = ends && bytes.empty();
    put_http2_head(gathered, part.size(), http2_type::data, last ? http2_flag::end_stream : 0,
                   of.id);
    gathered.append(part);
    of.gathered += static_cast<std::uint32_t>(part.size());
    of.window -= static_cast<std::int64_t>(part.size());
    state_.send_window -= static_cast<std::int64_t>(part.size());
    if (once && !bytes.empty()) return false;
  }
  return true;
}

task<bool> http2_output::send(http2_sender& of, std::string_view bytes, bool ends) {
  for (;;) {
    if (broken_) co_return false;
    const bool all = send_now(of, bytes, ends);
    flush_soon();
    if (all) {
      give_turns();
      co_return true;
    }
    enter_line(of);
    give_turns();
    const std::uint64_t moved = moved_;
    const auto turn = co_await as_expected(with_timeout(of.turn.wait(), options_.write_timeout));
    of.unlink();
    if (turn_of_ == &of) turn_of_ = nullptr;
    if (turn) continue;
    give_turns();
    if (turn.error() != std::errc::timed_out) throw failure(turn.error());
    // The peer takes bytes of other streams, and waits for those of this one.
    if (moved_ != moved && of.window > 0) continue;
    ++options_.write_timeouts;
    co_return false;
  }
}

namespace {

/// Whether one sender goes before another (RFC 9218 section 10): the more urgent first; of one
/// urgency, first the streams that a client can use only whole, one after another, then the
/// incremental streams, side by side.
bool before(const http2_sender& a, const http2_sender& b) noexcept {
  if (a.priority.urgency != b.priority.urgency) return a.priority.urgency < b.priority.urgency;
  if (a.priority.incremental != b.priority.incremental) return b.priority.incremental;
  return !a.priority.incremental && a.id < b.id;
}

}  // namespace

bool http2_output::preceded(const http2_sender& of) noexcept {
  bool found = false;
  line_.each([&](http2_sender& s) { found |= &s != &of && s.window > 0 && before(s, of); });
  return found;
}

bool http2_output::shared_turn(const http2_sender& of) noexcept {
  bool found = false;
  line_.each([&](http2_sender& s) {
    found |= &s != &of && s.window > 0 && s.priority.urgency == of.priority.urgency &&
             s.priority.incremental;
  });
  return found;
}

void http2_output::enter_line(http2_sender& s) {
  http2_sender* behind = nullptr;
  line_.each([&](http2_sender& other) {
    if (behind == nullptr && before(s, other)) behind = &other;
  });
  if (behind != nullptr) {
    s.insert_before(*behind);
  } else {
    line_.push_back(s);
  }
}

/// Wakes one stream at a time: the next has its turn when this one has used it.
void http2_output::give_turns() {
  if (broken_) {
    line_.each([](http2_sender& s) { s.turn.wake(); });
    return;
  }
  if (turn_of_ != nullptr || gathered.size() >= bodies_bytes_max || state_.send_window <= 0) return;
  line_.each([&](http2_sender& s) {
    if (turn_of_ != nullptr || s.window <= 0 || !s.turn.awaited()) return;
    turn_of_ = &s;
    s.turn.wake();
  });
}

void http2_output::sent(std::size_t bytes) {
  options_.bytes += bytes;
  moved_ += bytes;
}

void http2_output::flush() {
  flush_due_ = false;
  if (tasks_ == nullptr || writing_ || broken_ || gathered.empty()) return;
  const sent_now went = conn_.try_write(byte_view(gathered));
  sent(went.bytes);
  if (went.complete(gathered.size())) {
    gathered.clear();
    give_turns();
    tell_changed();
    return;
  }
  gathered.erase(0, went.bytes);
  writing_ = true;
  tasks_->spawn(write_all(*this));
}

void http2_output::flush_soon() {
  if (tasks_ == nullptr || flush_due_ || writing_ || broken_ || gathered.empty()) return;
  flush_due_ = true;
  tasks_->spawn(flush_later(*this));
}

task<> http2_output::flush_later(http2_output& self) {
  co_await yield();
  if (self.flush_due_) self.flush();
}

/// Writes all that is gathered. Two buffers take turns. The allocator returns a buffer of this size
/// to the system when it is freed, and a new one would cost page faults.
task<> http2_output::write_all(http2_output& self) {
  std::string part;
  while ((!self.gathered.empty() || self.conn_.flush_due()) && !self.broken_) {
    part.clear();
    part.swap(self.gathered);
    for (std::string_view left = part;
         (!left.empty() || self.conn_.flush_due()) && !self.broken_;) {
      std::size_t count = 0;
      const auto went = co_await as_expected(
          with_timeout(self.conn_.write_some(left, count), self.options_.write_timeout));
      self.sent(count);
      left.remove_prefix(count);
      const bool timed_out = !went && went.error() == std::errc::timed_out;
      if (went || (timed_out && count != 0)) continue;  // a slow peer that takes bytes
      self.broken_ = true;
      self.conn_.cut();  // a part of a frame may have left
      ++self.options_.errors;
      self.timed_out_ = timed_out;
      if (timed_out) ++self.options_.write_timeouts;
    }
    self.give_turns();
  }
  if (self.gathered.empty() && self.gathered.capacity() < part.capacity()) {
    part.clear();
    part.swap(self.gathered);
  }
  self.writing_ = false;
  self.tell_changed();
}

http2_priority read_priority(std::string_view text) noexcept {
  http2_priority all{.urgency = 3, .incremental = false};  // RFC 9218 section 4's defaults
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    if (item.size() == 3 && item.starts_with("u=") && item[2] >= '0' && item[2] <= '7')
      all.urgency = static_cast<std::uint8_t>(item[2] - '0');
    if (item == "i" || item == "i=?1") all.incremental = true;
    if (item == "i=?0") all.incremental = false;
  }
  return all;
}

}  // namespace heddle::http
