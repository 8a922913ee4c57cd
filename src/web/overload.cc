// SPDX-License-Identifier: MIT
// The cold half of the overload control: the end of a window, and decisions under load.
#include "heddle/web/overload.hh"

namespace heddle::http {

overload_control::overload_control(const overload_options& options) noexcept
    : target_least_(options.target),
      target_max_(std::max(options.target_max, options.target)),
      interval_least_(std::max(options.interval, nanoseconds(1))),
      target_(options.target),
      interval_(interval_least_) {}

bool overload_control::admit_under_load(credit& of_connection) noexcept {
  const int saved = std::min(of_connection + gain_, 2 * whole);
  // If requests hardly wait, refusing one would help no other request.
  const bool free = latest_ < target_ / 8;
  // A request with full credit comes late in each turn by its position, so it may wait longer.
  const nanoseconds most = saved == 2 * whole ? target_ : limit();
  if (!free && (saved < whole || latest_ >= most)) {
    of_connection = static_cast<credit>(saved);
    passed_over_count_ += saved >= whole;
    ++refused_count_;
    return false;
  }
  of_connection = static_cast<credit>(std::max(saved - whole, 0));
  return true;
}

/// Becomes calm, because no request came for a whole interval: any earlier queue has drained.
void overload_control::rest(time_point now) noexcept {
  overloaded_ = false;
  gain_ = whole;
  window_began_ = now;
  seen_count_ = late_count_ = refused_count_ = passed_over_count_ = 0;
  static_cast<void>(meter_.take_busy());
}

void overload_control::judge() noexcept {
  const std::uint32_t count = seen_count_ - 1;
  const nanoseconds busy = meter_.take_busy();
  if (overloaded_) {
    // Not "none", because a machine with other work stalls now and then.
    overloaded_ = refused_count_ >= count / 64 + 1;
    // Adjusts the credit that each request adds. If many were passed over, it shrinks; otherwise it
    // grows by a tenth, so that the worker never lacks work.
    const std::uint64_t begun = count - refused_count_;
    const auto gain = static_cast<std::uint64_t>(gain_);
    gain_ = static_cast<int>(passed_over_count_ > count / 32
                                 ? gain * begun / (begun + passed_over_count_) + 1
                                 : std::min<std::uint64_t>(gain * 11 / 10 + 1, whole));
    if (!overloaded_) gain_ = whole;
  } else if (late_count_ >= count - count / 4) {
    // Not "all": an occasional low measurement must not hide a persistent queue.
    overloaded_ = true;
    ++times_;
  }
  // Estimates the time of one request while the loop is busy. Under low load the estimate is too
  // low; the target is then target_least_.
  if (const std::uint32_t done = count - refused_count_; done != 0) {
    target_ = std::clamp(services_waited * (busy / done), target_least_, target_max_);
    // In doubles, because the product of two times would overflow.
    const double longer = static_cast<double>(target_.count()) /
                          static_cast<double>(std::max<std::int64_t>(target_least_.count(), 1));
    const double span = static_cast<double>(interval_least_.count()) * longer;
    interval_ = nanoseconds(static_cast<std::int64_t>(std::min(span, 60e9)));
  }
  window_began_ = meter_.now();
  seen_count_ = 1;  // the current request
  late_count_ = refused_count_ = passed_over_count_ = 0;
}

}  // namespace heddle::http
