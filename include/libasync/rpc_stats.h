/* SPDX-License-Identifier: MIT
 * Counts and times of answered calls, by procedure: get_rpc_stats().end_call(call, begun) at the
 * end of each handler. If active, a line of all is written to standard error each interval.
 */
#pragma once

#include <ctime>
#include <map>
#include <tuple>

#include "arpc.h"

namespace rpc_stats {

/// Times are in microseconds.
struct rpc_stats_t {
  u_int32_t count = 0;
  u_int64_t time_sum = 0;
  u_int64_t time_squared_sum = 0;
  u_int64_t min_time = 0;
  u_int64_t max_time = 0;
};

class rpc_stat_collector_t {
 public:
  /// Call it before the reply, which frees the call. `begun` is a time of CLOCK_REALTIME.
  void end_call(const svccb* call, const timespec& begun);
  /// `program.version.procedure count mean minimum maximum` for each procedure.
  [[nodiscard]] str get_stat_line() const;
  void print_info() const;
  void reset() { all_.clear(); }
  rpc_stat_collector_t& set_active(bool on) noexcept { return active_ = on, *this; }
  rpc_stat_collector_t& set_interval(u_int32_t seconds) noexcept {
    return interval_ = seconds, *this;
  }
  [[nodiscard]] const rpc_stats_t* find(u_int32_t prog, u_int32_t vers, u_int32_t proc) const;

 private:
  std::map<std::tuple<u_int32_t, u_int32_t, u_int32_t>, rpc_stats_t> all_;
  bool active_ = false;
  u_int32_t interval_ = 60;
  time_t printed_ = 0;
};

}  // namespace rpc_stats

[[nodiscard]] rpc_stats::rpc_stat_collector_t& get_rpc_stats();
