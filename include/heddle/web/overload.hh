// SPDX-License-Identifier: MIT
// Overload control: decides when to refuse requests. A server that gets more work than it can do
// either delays every request, or refuses some at once so that the others are in time. The decision
// depends on how long requests wait before they begin, never on how many wait: a queue that drains
// soon is harmless, a lasting queue is not. docs/guide/overload.md explains it and how to set
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "heddle/web/detail/queue_delay.hh"

namespace heddle::http {

class request_head;

/// Options of the overload control; the counters are in server_counters.
struct overload_options {
  /// How long requests may wait before they begin. If most of them wait longer for a whole
  /// interval, the server refuses requests that wait too long (counter: shed). Zero: never refuse.
  nanoseconds target = std::chrono::milliseconds(100);
  /// If one request takes long, the target becomes the time of 16 requests, but at most this.
  nanoseconds target_max = std::chrono::seconds(1);
  /// How long a queue must persist before the server refuses requests. It grows with the target.
  nanoseconds interval = std::chrono::milliseconds(100);
  /// The longest single pause of accepting new connections under overload (counter: accept_holds).
  nanoseconds accept_hold_max = std::chrono::milliseconds(100);
  std::chrono::seconds retry_after{1};  ///< seconds that Retry-After tells a refused client
  bool close = false;                   ///< close the connection after a refused request
  /// Header fields to add to refusals. If one must not be sent, the server's constructor throws.
  /// server::change_refusals() replaces them.
  std::vector<std::pair<std::string, std::string>> headers = {};
  /// Returns true for requests that are never refused, such as a health check. Called only before a
  /// refusal.
  std::function<bool(const request_head&)> exempt = {};
};

/// Decides for each request whether to begin it or to refuse it.
///
/// In the calm state it refuses nothing. It becomes overloaded when three quarters of an interval's
/// requests waited longer than the target. It becomes calm again when fewer than one of 64 requests
/// had to be refused, or when no request came for an interval. While overloaded, it refuses a
/// request that waited for half of the target. That rule alone would favour the connections that
/// come early in each turn, so capacity is dealt out: each request adds the same fraction to its
/// connection's credit, and a request begins when the credit is whole. The fraction shrinks while
/// many requests are refused although they had credit. A request with full saved credit may wait
/// longer, up to the target.
///
/// Thread: one color. Fails: never; it allocates nothing.
class overload_control {
 public:
  explicit overload_control(const overload_options& options) noexcept;

  [[nodiscard]] bool on() const noexcept { return target_least_ > nanoseconds::zero(); }

  /// A connection's unused share of the capacity, in 256ths of a request.
  using credit = std::uint16_t;
  /// The credit of a new connection. It differs between connections, or else all clients that send
  /// only one request would be refused.
  [[nodiscard]] credit first_credit() noexcept { return first_credit_ += golden_share; }

  /// Decides on a request that is ready to begin in the worker's turn that began at `turn`.
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
  /// How long the request that was just decided had waited.
  [[nodiscard]] nanoseconds latest() const noexcept { return latest_; }
  [[nodiscard]] queue_delay& meter() noexcept { return meter_; }

  /// Whether new connections should wait, because there are as many requests as can begin in time.
  [[nodiscard]] bool holds_accepts(time_point now) const noexcept {
    return overloaded_ && latest_ >= limit() && now - seen_ <= interval_;
  }
  [[nodiscard]] bool overloaded() const noexcept { return overloaded_; }
  /// The time between two probes: often enough to see a queue grow to the target, rarely enough to
  /// cost nothing.
  [[nodiscard]] nanoseconds probe_spacing() const noexcept {
    return std::min<nanoseconds>(target_least_ / 4, std::chrono::milliseconds(1));
  }
  /// How many times it became overloaded.
  [[nodiscard]] std::uint64_t times() const noexcept { return times_; }
  /// How long requests may wait at present.
  [[nodiscard]] nanoseconds target() const noexcept { return target_; }

 private:
  // A window with fewer requests is not judged: with slow handlers, five waiting requests are no
  // overload.
  static constexpr std::uint32_t window_requests_min = 32;
  // At 80 % load one request in thousands waits for 16 others (equal costs, random arrivals).
  static constexpr int services_waited = 16;
  static constexpr int whole = 256;
  static constexpr std::uint8_t golden_share = 159;  // spreads any number of credits evenly

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
  time_point seen_{};  // the turn of the latest request
  time_point window_began_{};
  std::uint32_t seen_count_ = 0;  // in this window
  std::uint32_t late_count_ = 0;
  std::uint32_t refused_count_ = 0;
  std::uint32_t passed_over_count_ = 0;  // refused although they had credit
  std::uint64_t times_ = 0;
  int gain_ = whole;  // the credit that each request adds
  std::uint8_t first_credit_ = 0;
  bool overloaded_ = false;
};

}  // namespace heddle::http
