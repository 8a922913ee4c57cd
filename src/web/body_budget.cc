// SPDX-License-Identifier: MIT
// The minimum rate of a request body, and the failures of bodies.
#include "web/body_budget.hh"

#include <algorithm>
#include <string>

#include "heddle/base/error.hh"
#include "heddle/web/server_counters.hh"
#include "heddle/web/server_options.hh"

namespace heddle::http {

nanoseconds body_budget::patience(const server_options& options) const noexcept {
  if (options.body_bytes_per_second_min == 0) return pause_max;
  const double rate = options.body_bytes_per_second_min;
  const double earned_s = std::min(static_cast<double>(read) / rate, 1e9);
  const nanoseconds earned(static_cast<std::int64_t>(earned_s * 1e9));
  return std::min(pause_max, pause_max + earned - waited);
}

void body_budget::fail(server_counters& c, int status, std::errc code, std::string_view why) {
  failed = status;
  ++(status == 413 ? c.bodies_too_large : status == 408 ? c.body_timeouts : c.bad_bodies);
  throw failure(std::make_error_code(code), std::string(why));
}

void body_budget::lose_client(std::error_code why) {
  lost_client = true;
  throw failure(why);
}

void body_budget::fail_too_large(server_counters& counters) {
  fail(counters, 413, std::errc::message_size, "the body is larger than this resource takes");
}

}  // namespace heddle::http
