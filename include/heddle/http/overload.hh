// SPDX-License-Identifier: MIT
// When to refuse work. A server that is asked for more than it can do has two ways: everything
// becomes late, or some of it is refused at once and the rest is in time. What decides is how long
// requests wait before they are begun, never how many there are: a queue that drains is none of
// our business, a queue that stands is. docs/guide/overload.md tells why and how to set it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/http/queue_delay.hh"

namespace heddle::http {

class request_head;

/// Limits of the overload control; counters in server_counters.
struct overload_options {
  /// Requests may wait so long before they are begun. When most of them wait longer for an
  /// interval on end, those that waited longer are refused: shed. Zero: never.
  nanoseconds target = std::chrono::milliseconds(100);
  /// Where one request takes long, the target is 16 of them, but at most this.
  nanoseconds target_max = std::chrono::seconds(1);
  /// How long a queue must stand before anything is refused. It grows with the target.
  nanoseconds interval = std::chrono::milliseconds(100);
  /// New connections are left to the kernel for so long at a time: accept_holds.
  nanoseconds accept_hold_max = std::chrono::milliseconds(100);
  std::chrono::seconds retry_after{1};  ///< what a refused client is told
  bool close = false;                   ///< a refused request ends its connection
  /// More fields of refusals, as of all the program's answers; one that cannot be sent is an
  /// exception of the server's constructor. server::change_refusals() changes them.
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// Requests that are answered in any case: a health check, say. Asked only before a refusal.
  std::function<bool(const request_head&)> exempt = {};
};

/// Decides for each request whether it is begun.
///
/// Calm, nothing is refused. It becomes overloaded when three quarters of an interval's requests
/// had waited longer than the target, and calm again when fewer than one of 64 had to be refused,
/// or nobody asked for an interval. While overloaded a request is refused that has waited for half
/// of the target. That alone would favour whoever stands early in each turn, so what can be begun
/// is dealt out: each request gives its connection the same part of a turn, and one is begun when a
/// turn is whole. The part is made smaller while many are refused although it was their turn; those
/// may wait longer, up to the target.
///
/// Thread: one color. Fails: never; it allocates nothing.
class overload_control {
 public:
  explicit overload_control(const overload_options& options) noexcept;

  [[nodiscard]] bool on() const noexcept { return target_least_ > nanoseconds::zero(); }

  /// What of its share a connection has not had yet, in 256ths of a request.
  using credit = std::uint16_t;
  /// Of a new connection. Different for each, or those that ask once would all be refused.
  [[nodiscard]] credit first_credit() noexcept { return first_credit_ += golden_share; }

  /// A request could begin in the worker's turn that began at `turn`.
  [[nodiscard]] bool admit(time_point turn, credit& of_connection) noexcept {
    if (turn - seen_ > interval_) [[unlikely]]
      rest(turn);
    seen_ = turn;
    latest_ = meter_.of_next(turn);
    ++seen_count_;
    if (meter_.now() - window_began_ >= interval_ && seen_count_ > window_requests_min) [[unlikely]]
      judge();
    if (!overloaded_) [[likely]] {
      late_count_ += latest_ >= target_;
      return true;
    }
    return admit_under_load(of_connection);
  }
  /// What the request just admitted or refused had waited.
  [[nodiscard]] nanoseconds latest() const noexcept { return latest_; }
  [[nodiscard]] queue_delay& meter() noexcept { return meter_; }

  /// New connections should wait: as many requests as can be begun in time are here.
  [[nodiscard]] bool holds_accepts(time_point now) const noexcept {
    return overloaded_ && latest_ >= limit() && now - seen_ <= interval_;
  }
  [[nodiscard]] bool overloaded() const noexcept { return overloaded_; }
  /// Often enough to see a queue grow to the target, rarely enough to cost nothing.
  [[nodiscard]] nanoseconds probe_spacing() const noexcept {
    return std::min<nanoseconds>(target_least_ / 4, std::chrono::milliseconds(1));
  }
  /// How often it became overloaded.
  [[nodiscard]] std::uint64_t times() const noexcept { return times_; }
  /// What requests may wait at present.
  [[nodiscard]] nanoseconds target() const noexcept { return target_; }

 private:
  // Fewer requests say little: with slow handlers, five that wait are no overload.
  static constexpr std::uint32_t window_requests_min = 32;
  // At 80 % load one request in thousands waits for 16 others (equal costs, random arrivals).
  static constexpr int services_waited = 16;
  static constexpr int whole = 256;
  static constexpr std::uint8_t golden_share = 159;  // spreads evenly however many are taken

  [[nodiscard]] nanoseconds limit() const noexcept { return target_ / 2; }
  [[nodiscard]] bool admit_under_load(credit& of_connection) noexcept;
  void judge() noexcept;
  void rest(time_point now) noexcept;

  queue_delay meter_;
  nanoseconds target_least_;
  nanoseconds target_max_;
  nanoseconds interval_least_;
  nanoseconds target_;
  nanoseconds interval_;
  nanoseconds latest_{};
  time_point seen_{};  // the turn of the last request
  time_point window_began_{};
  std::uint32_t seen_count_ = 0;  // in this window
  std::uint32_t late_count_ = 0;
  std::uint32_t refused_count_ = 0;
  std::uint32_t passed_over_count_ = 0;  // refused although it was their turn
  std::uint64_t times_ = 0;
  int gain_ = whole;  // what each request adds to its connection's credit
  std::uint8_t first_credit_ = 0;
  bool overloaded_ = false;
};

}  // namespace heddle::http
